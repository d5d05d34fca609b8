//! The rule base: files parsed, checked, joined and indexed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use super::builtin;
use super::condition::Part;
use super::entry::{ConfigRow, Framework, Launch, Lever, Rule};
use super::file::{ConfigEntry, File, RuleEntry, check_launch, check_lever};
use super::keys::check_value;
use super::source::Source;
use super::text::{Placed, Text, Words};

/// Rules of this framework speak of every question: facts about models.
pub const MODELS: &str = "models";

/// What is wrong in a rule file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct RuleError {
    /// File name.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong and what would be right.
    pub message: String,
}

/// Everything the rule files say.
#[derive(Clone, Debug, Default)]
pub struct RuleBase {
    frameworks: Vec<Framework>,
    configs: Vec<ConfigRow>,
    rules: Vec<Rule>,
    parts: Vec<Part>,
    by_framework: BTreeMap<Text, Vec<usize>>,
    by_id: HashMap<Text, usize>,
}

impl RuleBase {
    /// The rules compiled into the program, parsed on first use.
    pub fn builtin() -> &'static Self {
        static BASE: LazyLock<Arc<RuleBase>> = LazyLock::new(RuleBase::shared);
        &BASE
    }

    /// The same, counted: they stay in memory as long as any reference does.
    pub fn shared() -> Arc<Self> {
        let mut held = Self::held();
        held.upgrade().unwrap_or_else(|| {
            let base = Self::read_builtin().expect("the tests parse the built-in rule files");
            let base = Arc::new(base);
            *held = Arc::downgrade(&base);
            base
        })
    }

    /// Whether these are the rules of [`RuleBase::shared`].
    pub fn is_shared(self: &Arc<Self>) -> bool {
        Weak::ptr_eq(&Self::held(), &Arc::downgrade(self))
    }

    fn held() -> MutexGuard<'static, Weak<Self>> {
        static HELD: Mutex<Weak<RuleBase>> = Mutex::new(Weak::new());
        HELD.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the rules compiled into the program anew; [`RuleBase::builtin`] does so once.
    pub fn read_builtin() -> Result<Self, RuleError> {
        let mut base = Self::default();
        base.add(builtin::FILES.iter().map(|(name, text)| Source::built(name, text)), false)?;
        Ok(base)
    }

    /// Parses and checks files given as name and text.
    pub fn parse(files: &[(&str, &str)]) -> Result<Self, RuleError> {
        let mut base = Self::default();
        base.add(files.iter().map(|(name, text)| Source::new(name, text, false)), false)?;
        Ok(base)
    }

    /// This base with the user's files on top: a rule, part or row of theirs replaces ours of the same id, and is marked.
    pub fn with_user(&self, files: &[(&str, &str)]) -> Result<Self, RuleError> {
        let mut base = self.clone();
        base.add(files.iter().map(|(name, text)| Source::new(name, text, true)), true)?;
        Ok(base)
    }

    /// Every framework, in order of the files.
    pub fn frameworks(&self) -> &[Framework] {
        &self.frameworks
    }

    /// The framework of this id.
    pub fn framework(&self, id: &str) -> Option<&Framework> {
        self.frameworks.iter().find(|framework| framework.id == id)
    }

    /// Rows of the matrix, in order of the files.
    pub fn configs(&self) -> &[ConfigRow] {
        &self.configs
    }

    /// Every rule.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Rules of one framework.
    pub fn rules_of(&self, framework: &str) -> impl Iterator<Item = &Rule> {
        self.by_framework.get(framework).into_iter().flatten().map(|at| &self.rules[*at])
    }

    /// The rule of this id.
    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.by_id.get(id).map(|at| &self.rules[*at])
    }

    /// Groups of parts.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    fn add<'a>(
        &mut self,
        sources: impl Iterator<Item = Source<'a>>,
        user: bool,
    ) -> Result<(), RuleError> {
        let mut came_from = HashMap::new();
        for source in sources {
            came_from.insert(source.add_to(self)?, source.name);
        }
        self.rules.shrink_to_fit();
        self.configs.shrink_to_fit();
        self.index();
        let added = self.rules.iter().filter(|rule| rule.user == user);
        added.filter_map(|rule| Some((rule, came_from.get(&rule.framework)?))).try_for_each(
            |(rule, file)| {
                let message = self.dangling(rule).map_or(Ok(()), Err);
                message.map_err(|message| RuleError {
                    file: (*file).to_owned(),
                    line: rule.line,
                    message,
                })
            },
        )
    }

    fn index(&mut self) {
        self.by_framework.clear();
        self.by_id.clear();
        for (at, rule) in self.rules.iter().enumerate() {
            self.by_framework.entry(rule.framework.clone()).or_default().push(at);
            self.by_id.insert(rule.id.clone(), at);
        }
    }

    /// A name in the rule that points at nothing.
    fn dangling(&self, rule: &Rule) -> Option<String> {
        let part = rule.on.part_ids().find(|id| !self.parts.iter().any(|part| part.id == **id));
        let part = part.map(|id| format!("{}: there is no part {id:?}", rule.id));
        let other = rule.overrides.iter().find(|id| self.rule(id).is_none());
        part.or_else(|| {
            other.map(|id| format!("{}: overrides {id:?}, which is not there", rule.id))
        })
    }
}

impl Source<'_> {
    /// Adds what was read of the file, and returns the framework it speaks of.
    pub(super) fn add<T: Words>(
        &self,
        base: &mut RuleBase,
        mut file: File<T>,
    ) -> Result<Text, RuleError> {
        let id = Text::from(file.framework.value.clone());
        self.add_framework(base, &mut file, &id)?;
        for part in file.part {
            let part = part.value;
            base.parts.retain(|old| old.id != part.id);
            base.parts.push(part);
        }
        for row in file.config {
            self.add_config(base, row, &id)?;
        }
        for rule in file.rule {
            self.add_rule(base, (rule.at, rule.value), &id)?;
        }
        Ok(id)
    }

    fn add_framework<T>(
        &self,
        base: &mut RuleBase,
        file: &mut File<T>,
        id: &str,
    ) -> Result<(), RuleError> {
        if let Some(version) = &file.version {
            let checked = check_value("torch", &version.value);
            checked.map_err(|message| self.error(version.at, message))?;
        }
        let old = base
            .frameworks
            .iter()
            .position(|one| one.id == id)
            .map(|at| base.frameworks.remove(at));
        if old.is_some() && !self.user {
            return Err(self.error(file.framework.at, format!("{id:?} has a file already")));
        }
        let (launch, levers) = self.launch_and_levers(file)?;
        let mut framework =
            old.unwrap_or_else(|| Framework { id: id.to_owned(), ..Framework::default() });
        let version = file.version.as_ref().map(|version| version.value.clone());
        let name = file.name.clone();
        framework.name = name.unwrap_or(std::mem::take(&mut framework.name));
        if framework.name.is_empty() {
            framework.name = id.to_owned();
        }
        framework.aliases.extend(file.aliases.iter().cloned());
        framework.dependents.append(&mut file.dependent);
        framework.packages.extend(file.packages.iter().cloned());
        framework.version = version.or(framework.version);
        framework.spills = file.spills.unwrap_or(framework.spills);
        framework.common_models.extend(file.common_models.iter().cloned());
        framework.draft_layers.extend(file.draft_layers.iter().cloned());
        for (key, values) in &file.names {
            framework.names.entry(key.clone()).or_default().extend(values.iter().cloned());
        }
        framework.launch = launch.or(framework.launch);
        framework.levers.extend(levers);
        if !file.own_kernels.is_empty() {
            framework.own_kernels = file.own_kernels.clone();
        }
        base.frameworks.push(framework);
        Ok(())
    }

    /// How the framework is started and what can be changed, checked.
    fn launch_and_levers<T>(
        &self,
        file: &mut File<T>,
    ) -> Result<(Option<Launch>, Vec<Lever>), RuleError> {
        if let Some(launch) = &file.launch {
            check_launch(&launch.value).map_err(|message| self.error(launch.at, message))?;
        }
        for lever in &file.lever {
            check_lever(&lever.value).map_err(|message| self.error(lever.at, message))?;
        }
        let levers = std::mem::take(&mut file.lever).into_iter().map(|one| one.value);
        Ok((file.launch.take().map(|one| one.value), levers.collect()))
    }

    fn add_config<T>(
        &self,
        base: &mut RuleBase,
        row: Placed<T, ConfigEntry>,
        framework: &str,
    ) -> Result<(), RuleError> {
        let Placed { at, value: ConfigEntry { id, label, version, versions, set }, .. } = row;
        let twin = |old: &ConfigRow| old.framework == framework && old.id == id;
        if base.configs.iter().any(twin) && !self.user {
            return Err(self.error(at, format!("config {id:?} is there twice")));
        }
        if let Some(version) = &version {
            check_value("torch", version).map_err(|message| self.error(at, message))?;
        }
        base.configs.retain(|old| !twin(old));
        base.configs.push(ConfigRow {
            framework: framework.to_owned(),
            id,
            label,
            version,
            versions,
            settings: set,
        });
        Ok(())
    }

    /// Adds a rule, which stands at this place.
    pub(super) fn add_rule<T: Words>(
        &self,
        base: &mut RuleBase,
        (at, entry): (usize, RuleEntry<T>),
        framework: &Text,
    ) -> Result<(), RuleError> {
        entry.check(framework).map_err(|message| self.error(at, message))?;
        if self.user {
            // Theirs replaces both halves of ours.
            let id = entry.id.as_ref();
            let inside = format!("{id}.inside");
            base.rules.retain(|old| old.id != id && old.id != inside);
            base.index();
        }
        for rule in entry.rules(framework, self.user, self.line(at)) {
            if base.rule(&rule.id).is_some() {
                return Err(self.error(at, format!("id {:?} is there twice", rule.id)));
            }
            base.by_id.insert(rule.id.clone(), base.rules.len());
            base.rules.push(rule);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
