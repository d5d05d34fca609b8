//! `kernels/forge.toml`: what is compiled for what, and what it may cost.

use serde::Deserialize;
use warpscope_kernels::image::{CLASSES, class_of};
use warpscope_kernels::{Sm, Suffix};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    /// What every family is assembled for, from its lowest class on.
    pub targets: Vec<Sm>,
    /// One per source.
    #[serde(default)]
    pub family: Vec<FamilyRecipe>,
}

/// One source.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FamilyRecipe {
    /// The source without `.cu`.
    pub name: String,
    /// Compiled to PTX for these.
    pub classes: Vec<Sm>,
    /// Targets beside those of every family: `sm_90a`.
    #[serde(default)]
    pub also: Vec<Sm>,
    /// What its kernels may cost and must contain.
    #[serde(default)]
    pub budget: Vec<Budget>,
}

/// What some kernels may cost on some targets, and must contain.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Budget {
    /// Names of kernels; one that ends with `*` stands for all that begin so.
    pub entries: Vec<String>,
    /// Targets; all where there are none.
    #[serde(default)]
    pub on: Vec<Sm>,
    /// Most registers per thread.
    pub registers_max: Option<u32>,
    /// Most static shared memory, bytes.
    pub shared_max: Option<u32>,
    /// Most bytes spilled. Without it: none.
    pub spill_bytes: Option<u32>,
    /// Most instructions.
    pub instructions_max: Option<u32>,
    /// Instructions that must occur at least so often: `HMMA = 1`, `LDG.128 = 4`.
    #[serde(default)]
    pub needs: std::collections::BTreeMap<String, u32>,
    /// Instructions that may occur at most so often: `BAR = 0`.
    #[serde(default)]
    pub at_most: std::collections::BTreeMap<String, u32>,
}

impl Budget {
    /// Whether it speaks of a kernel on a target.
    pub(crate) fn covers(&self, entry: &str, target: Sm) -> bool {
        let named = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => entry.starts_with(start),
            None => entry == pattern,
        };
        (self.on.is_empty() || self.on.contains(&target)) && self.entries.iter().any(named)
    }
}

impl FamilyRecipe {
    /// The class a target is assembled from: its own `a` or `f` class, or else the newest generic one not above it.
    pub(crate) fn class_for(&self, target: Sm) -> Option<Sm> {
        if self.classes.contains(&target) && target.suffix != Suffix::None {
            return Some(target);
        }
        let generic = self.classes.iter().filter(|class| class.suffix == Suffix::None);
        class_of(target, &generic.copied().collect::<Vec<_>>())
    }

    /// Every target with its class, in order.
    pub(crate) fn targets(&self, of_all: &[Sm]) -> Vec<(Sm, Sm)> {
        let mut targets: Vec<Sm> = of_all.iter().chain(&self.also).copied().collect();
        targets.sort_unstable();
        targets.dedup();
        targets.into_iter().filter_map(|target| Some((target, self.class_for(target)?))).collect()
    }

    /// What makes no sense in it.
    fn mistakes(&self) -> Vec<String> {
        let unknown = |class: &&Sm| class.suffix == Suffix::None && !CLASSES.contains(class);
        let mut wrong: Vec<String> = self
            .classes
            .iter()
            .filter(unknown)
            .map(|class| {
                format!("{}: {class} is not among the classes of image::CLASSES", self.name)
            })
            .collect();
        if self.classes.is_empty() || !self.classes.is_sorted_by(|a, b| a < b) {
            wrong.push(format!("{}: classes must be named, in order, each once", self.name));
        }
        for target in self.also.iter().filter(|target| self.class_for(**target).is_none()) {
            wrong.push(format!("{}: no class for {target}", self.name));
        }
        wrong
    }
}

impl Recipe {
    /// Reads the file; everything wrong with it is the error.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let recipe: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut wrong: Vec<String> =
            recipe.family.iter().flat_map(FamilyRecipe::mistakes).collect();
        if !recipe.family.is_sorted_by(|a, b| a.name < b.name) {
            wrong.push("families must stand in order of their names, each once".to_owned());
        }
        if wrong.is_empty() { Ok(recipe) } else { Err(wrong.join("\n")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sm(text: &str) -> Sm {
        text.parse().unwrap()
    }

    const RECIPE: &str = r#"
targets = ["sm_60", "sm_75", "sm_86", "sm_120"]
[[family]]
name = "mix"
classes = ["sm_70", "sm_80", "sm_90a"]
also = ["sm_90a"]
[[family.budget]]
entries = ["mix_*", "one"]
on = ["sm_86"]
registers_max = 64
"#;

    #[test]
    fn a_target_is_assembled_from_its_own_class_or_the_one_below() {
        let recipe = Recipe::parse(RECIPE).unwrap();
        let targets: Vec<String> = recipe.family[0]
            .targets(&recipe.targets)
            .iter()
            .map(|(target, class)| format!("{target} {class}"))
            .collect();
        assert_eq!(
            targets,
            ["sm_75 sm_70", "sm_86 sm_80", "sm_90a sm_90a", "sm_120 sm_80"],
            "what is below the lowest class gets nothing"
        );
    }

    #[test]
    fn a_budget_covers_what_it_names() {
        let recipe = Recipe::parse(RECIPE).unwrap();
        let budget = &recipe.family[0].budget[0];
        assert!(budget.covers("mix_f16", sm("sm_86")) && budget.covers("one", sm("sm_86")));
        assert!(!budget.covers("one_more", sm("sm_86")) && !budget.covers("one", sm("sm_75")));
    }

    #[test]
    fn mistakes_are_named() {
        for (change, with, said) in [
            ("[\"sm_70\", \"sm_80\", \"sm_90a\"]", "[\"sm_86\"]", "sm_86 is not among the classes"),
            ("[\"sm_70\", \"sm_80\", \"sm_90a\"]", "[]", "classes must be named"),
            ("\"sm_90a\"]\n[[", "\"sm_61\"]\n[[", "no class for sm_61"),
            ("registers_max", "registers_most", "registers_most"),
        ] {
            let error = Recipe::parse(&RECIPE.replace(change, with)).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
