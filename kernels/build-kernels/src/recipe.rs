//! `kernels/kernels.toml`: what is compiled for what, and what it may cost.

use std::collections::BTreeMap;

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
    /// What the innermost loops of its kernels may cost.
    #[serde(default, rename = "loop")]
    pub inner: Vec<InnerBudget>,
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
    pub needs: BTreeMap<String, u32>,
    /// Instructions that may occur at most so often: `BAR = 0`.
    #[serde(default)]
    pub at_most: BTreeMap<String, u32>,
    /// Loads of which so many must be on their way before the first is used, without a jump in between: `"LDG.128.NA" = 8`.
    #[serde(default)]
    pub ahead: BTreeMap<String, u32>,
}

/// The innermost loop of some kernels on some targets: what work is in it, and what it may cost.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InnerBudget {
    /// Names of kernels; one that ends with `*` stands for all that begin so.
    pub entries: Vec<String>,
    /// Targets; all where there are none.
    #[serde(default)]
    pub on: Vec<Sm>,
    /// Weights that all lanes of a warp take by one of each of these: `"LDG.128.NA" = 1024`.
    #[serde(default)]
    pub weights: BTreeMap<String, u32>,
    /// Instructions the loop is looked for by where no weights are counted; without any, products of tensor cores.
    #[serde(default)]
    pub around: Vec<String>,
    /// Most instructions of all lanes for a weight.
    #[serde(default)]
    pub lane_instructions_per_weight_max: Limits,
    /// Most loads from shared memory and shuffles of all lanes for a weight.
    #[serde(default)]
    pub shared_per_weight_max: Limits,
    /// Most instructions for a product of tiles.
    #[serde(default)]
    pub instructions_per_mma_max: Limits,
    /// Most bytes of shared memory for a product of tiles.
    #[serde(default)]
    pub shared_bytes_per_mma_max: Limits,
    /// Instructions that must occur in it at least so often.
    #[serde(default)]
    pub needs: BTreeMap<String, u32>,
    /// Instructions that may occur in it at most so often: `HMMA = 0`.
    #[serde(default)]
    pub at_most: BTreeMap<String, u32>,
    /// Instructions that must occur at least so often between its first wait for products of a warpgroup and the next: what goes on beside them.
    #[serde(default)]
    pub meanwhile: BTreeMap<String, u32>,
}

/// Limits by target, each from its target on to the next.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct Limits(BTreeMap<String, f64>);

impl Limits {
    /// The limit for a target.
    pub(crate) fn on(&self, target: Sm) -> Option<f64> {
        let rows = self.0.iter().filter_map(|(from, most)| Some((from.parse::<Sm>().ok()?, *most)));
        rows.filter(|(from, _)| *from <= target).max_by_key(|row| row.0).map(|row| row.1)
    }

    fn mistakes(&self) -> impl Iterator<Item = String> {
        let wrong = self.0.keys().filter(|from| from.parse::<Sm>().is_err());
        wrong.map(|from| format!("{from:?} is no target, such as sm_80"))
    }
}

impl Budget {
    /// Whether it speaks of a kernel on a target.
    pub(crate) fn covers(&self, entry: &str, target: Sm) -> bool {
        covers(&self.entries, &self.on, entry, target)
    }
}

impl InnerBudget {
    /// Whether it speaks of a kernel on a target.
    pub(crate) fn covers(&self, entry: &str, target: Sm) -> bool {
        covers(&self.entries, &self.on, entry, target)
    }

    /// Every instruction it names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let tables = [&self.weights, &self.needs, &self.at_most];
        tables.into_iter().flat_map(|table| table.keys().map(String::as_str))
    }

    fn mistakes(&self) -> Vec<String> {
        let limits = [
            &self.lane_instructions_per_weight_max,
            &self.shared_per_weight_max,
            &self.instructions_per_mma_max,
            &self.shared_bytes_per_mma_max,
        ];
        limits.into_iter().flat_map(Limits::mistakes).collect()
    }
}

fn covers(entries: &[String], on: &[Sm], entry: &str, target: Sm) -> bool {
    let named = |pattern: &String| match pattern.strip_suffix('*') {
        Some(start) => entry.starts_with(start),
        None => entry == pattern,
    };
    (on.is_empty() || on.contains(&target)) && entries.iter().any(named)
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
        let limits = self.inner.iter().flat_map(InnerBudget::mistakes);
        wrong.extend(limits.map(|mistake| format!("{}: {mistake}", self.name)));
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
    fn a_limit_holds_from_its_target_on() {
        let text =
            "entries = []\nshared_per_weight_max = { sm_75 = 1.5, sm_80 = 1.0, sm_90a = 0.5 }";
        let limits = toml::from_str::<InnerBudget>(text).unwrap().shared_per_weight_max;
        let found =
            ["sm_70", "sm_75", "sm_89", "sm_90", "sm_90a", "sm_120"].map(|at| limits.on(sm(at)));
        assert_eq!(found, [None, Some(1.5), Some(1.0), Some(1.0), Some(0.5), Some(0.5)]);
        let text = "entries = []\nshared_per_weight_max = { ampere = 1 }";
        assert_eq!(toml::from_str::<InnerBudget>(text).unwrap().mistakes().len(), 1);
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
