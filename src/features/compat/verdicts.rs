//! Verdicts on every GPU in view, and what they take as given.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use warpscope_kernels::Dtype;
use warpscope_probes::Frame;
use warpscope_probes::catalogue::{Catalogue, How};
use warpscope_probes::inspect::EnvironmentScan;
use warpscope_probes::live::ProbeReport;
use warpscope_probes::model::Model;
use warpscope_probes::rules::RuleBase;

use super::columns::{Column, Columns, News};
use super::lines::{Group, Rank, groups};
use super::planned::Planned;
use super::versions;
use crate::engine::installed::{Installed, known};
use crate::engine::plan::{Alternative, Demand, Fits, Framework, Way, alternatives};
use crate::engine::{
    AssumedVersion, Assumptions, Cell, Level, Matrix, Origin, Outcome, Question, Row, Target,
    Verdict, at_version, evaluate, evaluate_without_fixes, importance, live_findings, matrix,
    start_command, versions_of,
};
use crate::features::Rules;
use crate::features::shared::Judged;

/// Verdicts on every GPU in view, worked out anew only when the GPUs or the assumptions change, and once for GPUs that
/// differ in nothing a rule asks for.
#[derive(Debug, Default)]
pub struct Verdicts {
    rules: Rules,
    /// The GPUs in view, and the columns they share.
    pub(super) columns: Columns,
    pub(super) matrix: Matrix,
    pub(super) groups: Vec<Group>,
    assumptions: Assumptions,
    /// What is installed on this machine, and the day it was looked at.
    survey: Option<(Arc<EnvironmentScan>, String)>,
    /// What probes found on GPUs here, before or now.
    measured: Vec<ProbeReport>,
    /// Versions found on this machine; what the user chooses goes before them.
    installed: BTreeMap<String, AssumedVersion>,
    /// Everything about each kind, in short.
    judged: Vec<Arc<Judged>>,
    /// How the model runs in each row on the GPUs of each column.
    pub(super) planned: Planned,
    /// Cells that are refused for memory on the fullest GPU, where the plan takes others of the column: by row and kind.
    fitting: BTreeMap<(usize, usize), Cell>,
    /// Place of each row in each column, as it was when a key last asked for an order.
    pub(super) ranks: Vec<Vec<Rank>>,
    /// The last answer given in full, by row and kind: every drawing asks for the same again.
    pub(super) last: RefCell<Option<(usize, usize, Arc<Verdict>)>>,
}

impl Verdicts {
    /// Nothing is asked yet of these rules.
    pub fn new(base: Arc<RuleBase>) -> Self {
        Self { rules: base.into(), ..Self::default() }
    }

    /// Answers from now on by these rules.
    pub fn set_rules(&mut self, base: Arc<RuleBase>) {
        self.rules = base.into();
        self.lay_survey();
        self.answer();
    }

    /// Forgets the rules until they are asked again, unless free memory counts: that may ask them with any frame.
    pub(super) fn let_rules_go(&self) {
        if !self.has_model() {
            self.rules.let_go();
        }
    }

    /// Whether a model is chosen, so that free memory counts.
    pub fn has_model(&self) -> bool {
        self.assumptions.model.is_some()
    }

    #[cfg(test)]
    pub(super) fn renew(&mut self, frame: &Frame) {
        if let Some(news) = self.look(frame) {
            self.take(news);
        }
    }

    /// Looks at the GPUs of a frame; none where they change no answer.
    pub(super) fn look(&mut self, frame: &Frame) -> Option<News> {
        self.columns.look(frame, self.has_model())
    }

    /// Answers from now on for other GPUs. Rows stay where they are as long as nothing but free memory is new.
    pub(super) fn take(&mut self, news: News) {
        let stay = news.is_only_memory && self.has_model();
        let ranks = std::mem::take(&mut self.ranks);
        self.columns.take(news, self.has_model());
        self.lay_survey();
        self.answer();
        if stay && ranks.len() == self.ranks.len() {
            self.ranks = ranks;
        }
    }

    /// Takes one more GPU of a column into the group, or all of its kind out of it.
    pub fn mark(&mut self, column: usize) {
        self.columns.mark(column, self.has_model());
        self.lay_survey();
        self.answer();
    }

    /// Takes a GPU out of the group.
    pub(super) fn unmark(&mut self) {
        self.columns.unmark(self.has_model());
        self.lay_survey();
        self.answer();
    }

    /// Answers from now on with what is installed on this machine.
    pub fn set_survey(&mut self, mut survey: Arc<EnvironmentScan>, today: String) {
        // Laid anew with every new GPU, and never shown: what the rules know of is all that is needed.
        Arc::make_mut(&mut survey).keep(|package| known(&self.rules.get(), package));
        self.survey = Some((survey, today));
        self.lay_survey();
        self.answer();
    }

    /// Adds what processes use that were looked at since.
    pub fn join_survey(&mut self, seen: &EnvironmentScan, today: String) {
        if let Some((survey, day)) = &mut self.survey {
            Arc::make_mut(survey).join(seen.clone());
            *day = today;
            self.lay_survey();
            self.answer();
        }
    }

    /// What is installed on this machine, once somebody has looked.
    pub fn survey(&self) -> Option<&Arc<EnvironmentScan>> {
        self.survey.as_ref().map(|(survey, _)| survey)
    }

    /// Brings what was found in line with the GPUs in view.
    fn lay_survey(&mut self) {
        if let Some((survey, today)) = &self.survey {
            let installed =
                Installed::new(&self.rules.get(), survey, self.columns.targets(), today);
            self.assumptions = self.with_installed(installed);
        }
        self.lay_measured();
    }

    /// Answers from now on with what probes found, in the place of what the same ones found before.
    pub fn set_measured(&mut self, found: Vec<ProbeReport>) {
        let is_new = |old: &ProbeReport| {
            found.iter().any(|new| (&new.id, &new.uuid) == (&old.id, &old.uuid))
        };
        self.measured.retain(|old| !is_new(old));
        self.measured.extend(found);
        self.lay_measured();
        self.answer();
    }

    /// Brings what probes found in line with the rules and the GPUs in view. What holds for one GPU holds for its kind.
    fn lay_measured(&mut self) {
        let findings = &mut self.assumptions.findings;
        findings.retain(|finding| finding.evidence.level != Level::Live);
        for report in &self.measured {
            let kind = self.columns.kind_with(&report.uuid);
            let of_kind = ProbeReport {
                uuid: kind.and_then(|kind| kind.uuid.clone()).unwrap_or(report.uuid.clone()),
                ..report.clone()
            };
            findings.extend(live_findings(
                &self.rules.get(),
                &of_kind,
                kind.and_then(|kind| kind.sm),
            ));
        }
    }

    /// Works out every answer.
    fn answer(&mut self) {
        self.last.take();
        let targets = self.columns.targets();
        self.matrix = matrix(&self.rules.get(), targets, &self.assumptions);
        self.groups = groups(&self.matrix.rows);
        self.judged = (0..targets.len()).map(|kind| Arc::new(self.judge(kind))).collect();
        self.plan();
    }

    /// Plans every row on every column anew.
    fn plan(&mut self) {
        self.last.take();
        let model = self.assumptions.model.as_ref();
        self.planned.renew(model, &self.matrix.rows, &self.columns);
        self.fitting = self.refused_but_fitting();
        self.settle();
    }

    /// What the rules say where a plan has room that the fullest GPU of its column has not.
    fn refused_but_fitting(&self) -> BTreeMap<(usize, usize), Cell> {
        let columns = || self.columns.all().iter().enumerate();
        let places = (0..self.matrix.rows.len()).flat_map(|row| {
            let of = move |(at, column): (usize, &Column)| {
                let targets = column.targets.clone().into_iter();
                targets.map(move |target| (row, at, target))
            };
            columns().flat_map(of)
        });
        let fits = |fits: Option<Fits>| matches!(fits, Some(Fits::Fits | Fits::Tight));
        let refused = |(row, column, target): &(usize, usize, usize)| {
            let cell = self.matrix.cells[*row].get(*target);
            cell.is_some_and(|cell| cell.outcome.is_bad()) && fits(self.planned.fits(*row, *column))
        };
        let cell = |(row, _, target): (usize, usize, usize)| {
            let question = without_size(&self.matrix.rows[row].question);
            let on = self.columns.targets().get(target)?;
            let found = self.assumptions.about(&self.rules.get(), on, &question);
            let verdict = evaluate_without_fixes(&self.rules.get(), on, &question, &found);
            let Verdict { outcome, level, disputed, confidence, .. } = verdict;
            let cell = Cell { outcome, level, disputed, confidence };
            (!outcome.is_bad()).then_some(((row, target), cell))
        };
        places.filter(refused).filter_map(cell).collect()
    }

    /// Asks for another context, or for more requests at once.
    pub fn ask_for(&mut self, demand: Demand) {
        self.planned.demand = demand;
        self.plan();
    }

    /// A version the user chose goes before an installed one.
    fn with_installed(&mut self, found: Installed) -> Assumptions {
        let Installed { versions, beside, findings } = found;
        let mut assumptions = Assumptions { findings, beside, ..self.assumptions.clone() };
        versions::install(&mut assumptions, &versions);
        self.installed = versions;
        assumptions
    }

    /// Answers from now on for a model, or for none in particular.
    pub fn set_model(&mut self, model: Option<Model>) {
        let assumptions = Assumptions { model, ..self.assumptions.clone() };
        // What is free counts only for a model.
        self.columns.count_free(assumptions.model.is_some());
        self.assume(assumptions);
    }

    /// Asks about a version of a framework.
    pub(super) fn choose_version(&mut self, framework: &str, version: &str) {
        self.assume(self.assumptions.choosing(framework, version));
    }

    /// The outcome of a row in a column at another version of its framework.
    pub(super) fn at_version(&self, row: usize, column: usize, version: &str) -> Option<Outcome> {
        let (rules, about) = (self.rules.get(), &self.matrix.rows.get(row)?.question);
        let target = self.columns.targets().get(self.worst_target(row, column)?)?;
        let question = at_version(&rules, &self.assumptions, about, version)?;
        let assumptions = self.assumptions.choosing(&about.framework, version);
        let plan = self.planned.plan(&question, &self.columns, column);
        let fits = plan.as_ref().map(Way::fits);
        let question = match fits {
            Some(Fits::Fits | Fits::Tight) => without_size(&question),
            _ => question,
        };
        let found = assumptions.about(&rules, target, &question);
        let outcome = evaluate_without_fixes(&rules, target, &question, &found).outcome;
        Some(self.with_memory(outcome, fits))
    }

    /// Asks about the next older or newer version of a framework than that of a row; false: there is none.
    pub fn step_version(&mut self, framework: &str, now: Option<&str>, step: isize) -> bool {
        let known = versions_of(&self.rules.get(), framework);
        let Some(version) = versions::step_from(&known, now, step) else { return false };
        self.choose_version(framework, &version);
        true
    }

    /// Takes back the choice of a version; false: there was none.
    pub fn reset_version(&mut self, framework: &str) -> bool {
        let chosen = |given: &AssumedVersion| given.origin == Origin::Asked;
        if !self.assumptions.versions.get(framework).is_some_and(chosen) {
            return false;
        }
        let mut assumptions = self.assumptions.clone();
        assumptions.versions.remove(framework);
        if let Some(given) = self.installed.get(framework) {
            assumptions.versions.insert(framework.to_owned(), given.clone());
        }
        self.assume(assumptions);
        true
    }

    fn assume(&mut self, assumptions: Assumptions) {
        if assumptions != self.assumptions {
            self.assumptions = assumptions;
            self.answer();
        }
    }

    /// What answers take as given.
    pub fn assumptions(&self) -> &Assumptions {
        &self.assumptions
    }

    /// The version a framework is asked about, and where it comes from; nothing where each row has its own.
    pub fn given(&self, framework: &str) -> Option<&AssumedVersion> {
        self.assumptions.versions.get(framework)
    }

    /// Version of a framework when no other is given: the newest its rules know.
    pub fn known_version(&self, framework: &str) -> Option<String> {
        self.rules.get().framework(framework)?.version.clone()
    }

    /// Versions of a framework at which answers may change.
    pub fn versions(&self, framework: &str) -> Vec<String> {
        versions_of(&self.rules.get(), framework)
    }

    /// Every row of the matrix.
    pub fn all_rows(&self) -> &[Row] {
        &self.matrix.rows
    }

    /// The outcome in a row of [`Verdicts::all_rows`] in a column: on the GPU where it is worst, and with the model that has to fit.
    pub fn cell(&self, row: usize, column: usize) -> Option<Cell> {
        let mut cell = self.target_cell(row, self.worst_target(row, column)?)?.clone();
        let outcome = self.with_memory(cell.outcome, self.planned.fits(row, column));
        if outcome == Outcome::NoObstacle {
            cell.confidence = None;
        }
        cell.outcome = outcome;
        Some(cell)
    }

    /// An outcome of the rules once the plan has its say: what does not fit fails, and of what is not planned nobody knows that it fits.
    pub(super) fn with_memory(&self, outcome: Outcome, fits: Option<Fits>) -> Outcome {
        match fits {
            Some(Fits::DoesNotFit) if !outcome.is_bad() => Outcome::Fails,
            None | Some(Fits::Unknown) if self.planned.is_there() && outcome.runs() => {
                Outcome::NoObstacle
            }
            _ => outcome,
        }
    }

    fn target_cell(&self, row: usize, target: usize) -> Option<&Cell> {
        let refused = || self.matrix.cells.get(row)?.get(target);
        self.fitting.get(&(row, target)).or_else(refused)
    }

    /// The kind of GPU in a column on which a row does worst.
    fn worst_target(&self, row: usize, column: usize) -> Option<usize> {
        let severity =
            |target: &&usize| self.target_cell(row, **target).map(|cell| cell.outcome.severity());
        self.columns.all().get(column)?.targets.iter().max_by_key(severity).copied()
    }

    /// The whole answer of a row of [`Verdicts::all_rows`] in a column, worked out when asked for.
    pub fn verdict(&self, row: usize, column: usize) -> Option<Arc<Verdict>> {
        let target = self.worst_target(row, column)?;
        if let Some((.., verdict)) =
            self.last.borrow().as_ref().filter(|last| (last.0, last.1) == (row, target))
        {
            return Some(Arc::clone(verdict));
        }
        let verdict = Arc::new(self.ask(row, target)?);
        self.last.replace(Some((row, target, Arc::clone(&verdict))));
        Some(verdict)
    }

    fn ask(&self, row: usize, target: usize) -> Option<Verdict> {
        let question = &self.matrix.rows.get(row)?.question;
        let question = match self.fitting.contains_key(&(row, target)) {
            true => without_size(question),
            false => question.clone(),
        };
        let target = self.columns.targets().get(target)?;
        let found = self.assumptions.about(&self.rules.get(), target, &question);
        Some(evaluate(&self.rules.get(), target, &question, &found))
    }

    /// The command that starts a row on the GPUs of a column, where nothing is known to stand in its way.
    pub fn start(&self, row: usize, column: usize) -> Option<String> {
        if self.cell(row, column)?.outcome.is_bad() {
            return None;
        }
        let (about, target) = (self.matrix.rows.get(row)?, self.worst_target(row, column)?);
        let target = self.columns.targets().get(target)?;
        let copy = self.planned.copy(&about.question.framework);
        let model = copy.map(|copy| copy.model.name.clone()).or(about.question.model.clone());
        let question = Question { model, ..about.question.clone() };
        let text = start_command(&self.rules.get(), target, &question)?;
        let way = self.planned.way(row, column);
        let framework = Framework::find(&about.question.framework);
        Some(
            way.zip(framework)
                .map_or(text.clone(), |(way, framework)| way.command(&text, framework)),
        )
    }

    /// The change that makes most of what was asked fit in a row and column, of those that no rule refuses.
    pub fn helps(&self, row: usize, column: usize) -> Option<Alternative> {
        let (way, about) = (self.planned.way(row, column)?, self.matrix.rows.get(row)?);
        let framework = Framework::find(&about.question.framework)?;
        let shape = self.planned.shape(framework)?;
        let devices = self.columns.devices(column)?;
        let used = devices.get(..way.gpus)?;
        let plan = way.plan.as_ref()?;
        let host = self.columns.host_memory(column);
        let ways = alternatives(shape, used, framework, &way.demand, plan);
        let beside = |one: Alternative| Alternative { plan: one.plan.beside(host), ..one };
        ways.into_iter()
            .map(beside)
            .find(|one| one.plan.fits < plan.fits && self.is_allowed(row, column, one))
    }

    fn is_allowed(&self, row: usize, column: usize, way: &Alternative) -> bool {
        let Some((key, value)) = way.setting else { return true };
        let asked = || {
            let target = self.columns.targets().get(self.worst_target(row, column)?)?;
            let mut question = self.matrix.rows.get(row)?.question.clone();
            question.config.set(key, value).ok()?;
            let found = self.assumptions.about(&self.rules.get(), target, &question);
            Some(evaluate_without_fixes(&self.rules.get(), target, &question, &found).outcome)
        };
        asked().is_some_and(|outcome| !outcome.is_bad())
    }

    /// The most important failure on one kind of GPU.
    fn worst_of(&self, kind: usize) -> Option<Verdict> {
        let rows = 0..self.matrix.rows.len();
        let bad = rows.filter(|row| self.matrix.cells[*row][kind].outcome.is_bad());
        let first =
            bad.min_by_key(|row| importance::place(&self.matrix.rows[*row].question.framework));
        let (row, kind) =
            (&self.matrix.rows.get(first?)?.question, self.columns.targets().get(kind)?);
        let found = self.assumptions.about(&self.rules.get(), kind, row);
        Some(evaluate_without_fixes(&self.rules.get(), kind, row, &found))
    }

    fn judge(&self, kind: usize) -> Judged {
        let mut counts = BTreeMap::new();
        for cells in &self.matrix.cells {
            *counts.entry(cells[kind].outcome).or_insert(0) += 1;
        }
        Judged {
            dtypes: support(&self.columns.targets()[kind]),
            counts: counts.into_iter().collect(),
            worst: self.worst_of(kind),
        }
    }

    /// The verdicts on each GPU in short, by its place in the frame.
    pub fn judged(&self) -> Vec<Arc<Judged>> {
        let kinds = (0..).map_while(|gpu| self.columns.kind_of(gpu));
        kinds.filter_map(|kind| self.judged.get(kind).cloned()).collect()
    }
}

/// A question of which memory is no part: a plan says more of it.
fn without_size(question: &Question) -> Question {
    Question { weight_bytes: None, shape: None, ..question.clone() }
}

fn support(target: &Target) -> Vec<(Dtype, How)> {
    let Some(sm) = target.sm else { return Vec::new() };
    let rows = Catalogue::load().dtype_support(sm, target.pci_device_id);
    rows.into_iter().map(|(dtype, support)| (dtype, support.how)).collect()
}

#[cfg(test)]
impl Verdicts {
    pub(super) fn set_installed(&mut self, found: Installed) {
        let assumptions = self.with_installed(found);
        self.assume(assumptions);
    }
}
