//! The filter: words that must occur, and comparisons such as `util<5`, `mem>=90`.

use warpscope_probes::fleet::Fleet;

use super::metrics::METRICS;
use super::problems;

/// Names of values in comparisons, with their place among the metrics.
const NAMES: &[(&str, usize)] = &[("util", 0), ("mem", 1), ("temp", 2), ("power", 3)];

/// What has to hold of a GPU.
#[derive(Debug)]
enum Term {
    Word(String),
    Compare { metric: usize, sign: Sign, than: f64 },
}

#[derive(Clone, Copy, Debug)]
enum Sign {
    Less,
    AtMost,
    More,
    AtLeast,
}

const SIGNS: &[(&str, Sign)] =
    &[("<=", Sign::AtMost), (">=", Sign::AtLeast), ("<", Sign::Less), (">", Sign::More)];

/// A filter that was typed.
#[derive(Debug)]
pub(super) struct Filter(Vec<Term>);

impl Filter {
    /// What was typed so far; a comparison that is not finished is a word.
    pub(super) fn new(text: &str) -> Self {
        Self(text.split_whitespace().map(term).collect())
    }

    /// Whether everything is let through.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether everything holds of a GPU.
    pub(super) fn fits(&self, fleet: &Fleet, gpu: usize) -> bool {
        self.0.iter().all(|term| match term {
            Term::Word(word) => has_word(fleet, gpu, word),
            Term::Compare { metric, sign, than } => (METRICS[*metric].value)(fleet, gpu)
                .is_some_and(|value| match sign {
                    Sign::Less => value < *than,
                    Sign::AtMost => value <= *than,
                    Sign::More => value > *than,
                    Sign::AtLeast => value >= *than,
                }),
        })
    }
}

fn term(word: &str) -> Term {
    let compared = SIGNS.iter().find_map(|(sign, meaning)| {
        let (name, number) = word.split_once(sign)?;
        let metric = NAMES.iter().find(|row| row.0 == name.to_lowercase())?.1;
        Some(Term::Compare { metric, sign: *meaning, than: number.parse().ok()? })
    });
    compared.unwrap_or_else(|| Term::Word(word.to_lowercase()))
}

fn has_word(fleet: &Fleet, gpu: usize, word: &str) -> bool {
    let has = |text: Option<&str>| text.is_some_and(|text| text.to_lowercase().contains(word));
    let machine = &fleet.machines[fleet.gpus[gpu].machine];
    has(Some(&machine.name))
        || has(fleet.model(gpu))
        || has(fleet.owner(gpu))
        || has(machine.driver.as_deref())
        || problems::PROBLEMS
            .iter()
            .any(|(_, name, check)| *name == word && check(fleet, gpu).is_some())
}
