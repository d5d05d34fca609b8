//! What is tuned.

use std::collections::BTreeMap;
use std::time::Duration;

use super::command_line::CommandLine;
use super::contract::Contract;
use super::cuda::{Code, Cuda, Expression};
use super::parameters::Parameters;
use super::strategy::Strategy;

/// What the candidates are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any program that prints points.
    Command,
    /// warpscope's own matrix-vector kernels for the CPU, on one thread.
    Cpu,
    /// A kernel of the user's own for a GPU.
    Cuda(Code),
}

/// Name of the energy of a launch, joules, and of the power drawn meanwhile, watts, in metrics.
pub const ENERGY: &str = "energy_j";
pub(super) const POWER: &str = "power_w";

/// What a search looks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// What is to be least or most.
    pub expression: Expression,
    /// Whether more is better.
    pub is_maximized: bool,
}

/// A spec that was understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Name of the kernel in journals.
    pub name: String,
    /// What the candidates are.
    pub kind: Kind,
    /// Patterns of the files a save of which begins anew.
    pub sources: Vec<String>,
    /// What makes the program.
    pub build: Option<CommandLine>,
    /// Longest a build may take.
    pub build_timeout: Duration,
    /// The program; no words where a kernel is launched.
    pub run: CommandLine,
    /// How the kernel is launched, where the candidates are kernels for a GPU.
    pub cuda: Option<Cuda>,
    /// Longest one run may take.
    pub timeout: Duration,
    /// What it has to compute.
    pub contract: Contract,
    /// Sizes to try, each a problem of its own.
    pub shapes: Vec<BTreeMap<String, String>>,
    /// Number formats to try; empty where there is nothing to say about them.
    pub dtypes: Vec<String>,
    /// Values of each parameter, in the order written.
    pub params: BTreeMap<String, Vec<String>>,
    /// What a combination of values must fulfil to be a candidate.
    pub restrictions: Vec<Expression>,
    /// In which order candidates are tried.
    pub strategy: Strategy,
    /// Most candidates tried on each problem; all of them when nothing is said.
    pub budget: Option<usize>,
    /// Numbers computed for every candidate.
    pub metrics: BTreeMap<String, Expression>,
    /// What is to be least or most; the time where nothing is said.
    pub objective: Option<Objective>,
    /// What candidates are timed against; the first that is right when nothing is said.
    pub baseline: Option<Parameters>,
    /// Samples of each candidate.
    pub samples: usize,
    /// Blocks they are taken in.
    pub blocks: usize,
    /// Runs before the first that is timed.
    pub warmup: usize,
    /// A candidate this many times slower than the best in its first two blocks is given up; never when nothing is said.
    pub early_stop: Option<f64>,
    /// Device the programs run on, where their lines do not say.
    pub device: Option<String>,
    /// Whether times are held against what the CPU can do.
    pub cpu_roof: bool,
}

/// Most combinations of values that restrictions choose from.
pub(super) const MOST_COMBINATIONS: usize = 200_000;
/// Most candidates.
pub(super) const MOST_CANDIDATES: usize = 10_000;

impl Spec {
    /// Whether a metric or the objective asks for the energy of a launch, or the power.
    pub fn uses_energy(&self) -> bool {
        let objective = self.objective.iter().map(|objective| &objective.expression);
        let mut names = self.metrics.values().chain(objective).flat_map(Expression::names);
        names.any(|name| [ENERGY, POWER].contains(&name))
    }

    /// How many candidates the grid has; `None` where that is beyond counting.
    pub fn grid_size(&self) -> Option<usize> {
        self.params.values().try_fold(1_usize, |all, values| all.checked_mul(values.len()))
    }

    /// The grid: every value of every parameter with every other, the last parameter changing fastest. One candidate without
    /// parameters where there are none.
    pub fn candidates(&self) -> Vec<Parameters> {
        let mut all = vec![Parameters::default()];
        for (name, values) in &self.params {
            let with = |base: &Parameters| {
                let one = |value: &String| {
                    let mut more = base.clone();
                    more.0.insert(name.clone(), value.clone());
                    more
                };
                values.iter().map(one).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(with).filter(|one| self.allows(one)).collect();
        }
        all
    }

    /// Whether no restriction whose parameters all have a value excludes these.
    fn allows(&self, parameters: &Parameters) -> bool {
        self.restrictions.iter().all(|one| {
            let is_known = one.names().iter().all(|name| parameters.0.contains_key(*name));
            !is_known || one.value(&parameters.0).is_ok_and(|value| value != 0)
        })
    }

    /// Samples of one block.
    pub fn block_samples(&self) -> usize {
        self.samples.div_ceil(self.blocks.max(1)).max(1)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn spec(more: &str) -> Spec {
        let text = format!(
            "name = \"k\"\nrun = [\"x\"]\n{more}\n[contract]\nkind = \"reference\"\ntolerance = 0\n"
        );
        super::super::parse("k.toml", &text).expect("a spec")
    }

    #[test]
    fn the_grid_holds_every_combination_once() {
        let mut spec = spec("");
        assert_eq!(spec.candidates(), [Parameters::default()]);
        let values = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        spec.params.insert("b".into(), values(&["64", "32"]));
        spec.params.insert("a".into(), values(&["x y", "z"]));
        let all: Vec<String> = spec.candidates().iter().map(ToString::to_string).collect();
        assert_eq!(all, ["a=x_y b=64", "a=x_y b=32", "a=z b=64", "a=z b=32"]);
        assert_eq!(spec.grid_size(), Some(4));
    }

    #[test]
    fn restrictions_leave_combinations_out() {
        let grid = "[params]\nx = [1, 2, 4, 8]\ny = [1, 2, 4, 8]\n";
        let text = |restrictions: &str| {
            format!(
                "name = \"k\"\nrun = [\"x\"]\nrestrictions = [{restrictions}]\n{grid}[contract]\nkind = \"reference\"\ntolerance = 0\n"
            )
        };
        let spec = |restrictions: &str| super::super::parse("k.toml", &text(restrictions));
        let all = spec("\"x * y <= 8\", \"y > 1 || x == 8\"").expect("a spec").candidates();
        let all: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(
            all,
            ["x=1 y=2", "x=1 y=4", "x=1 y=8", "x=2 y=2", "x=2 y=4", "x=4 y=2", "x=8 y=1"]
        );
        let wrong = |restrictions| spec(restrictions).expect_err("wrong").message;
        assert!(wrong("\"z > 1\"").contains("no parameter is named z"));
        assert!(wrong("\"x > 99\"").contains("leave no candidate"));
    }
}
