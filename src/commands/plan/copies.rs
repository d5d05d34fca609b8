//! Quantised copies of a model, where it does not fit as it is.

use std::path::PathBuf;

use warpscope_probes::model::Model;
use warpscope_probes::rules::RuleBase;

use super::candidate::{Candidate, candidates};
use super::request::PlanRequest;
use crate::commands::answer::query::{Words, asked};
use crate::engine::{Assumptions, Target};

/// So many are offered.
const OFFERED: usize = 3;
/// So many are planned.
const TRIED: usize = 12;

/// A copy of the model, and the best way to run it.
pub(crate) struct Copy {
    /// Its hub id; of a GGUF file nobody is known to have published, what it would be called.
    pub(crate) name: String,
    /// Whether it is only known that such files are made, not that anyone publishes this one.
    pub(crate) is_usual: bool,
    /// How it runs.
    pub(crate) way: Candidate,
}

/// Copies that run on the group with everything on its GPUs, one for each framework, best first.
pub(crate) fn copies(base: &RuleBase, request: &PlanRequest, group: &[Target]) -> Vec<Copy> {
    let name = &request.model.name;
    let published = Model::known_copies(name).into_iter().map(|id| (id.to_owned(), false));
    let gguf = std::iter::once(match Model::published_gguf(name) {
        Some(file) => (file.to_owned(), false),
        None => (format!("{name}-GGUF:Q4_K_M"), true),
    });
    let ways = gguf.chain(published).take(TRIED).filter_map(|(name, is_usual)| {
        let way = best(base, request, group, &name)?;
        Some(Copy { name, is_usual, way })
    });
    let mut kept: Vec<Copy> = Vec::new();
    for copy in ways {
        let twin = |one: &Copy| one.way.question.framework == copy.way.question.framework;
        if !kept.iter().any(twin) {
            kept.push(copy);
        }
    }
    kept.sort_by_key(|copy| copy.way.rank());
    kept.truncate(OFFERED);
    kept
}

fn best(base: &RuleBase, request: &PlanRequest, group: &[Target], name: &str) -> Option<Candidate> {
    let model = Model::known(name)?;
    let assumptions = Assumptions { model: Some(model.clone()), ..request.assumptions.clone() };
    let named = PathBuf::from(name);
    let request = PlanRequest { named, model, assumptions, is_usual: false, ..request.clone() };
    let words = Words { words: &request.queries, dtype: request.dtype.as_deref() };
    let questions = asked(base, words, &request.assumptions).ok()?;
    let ways = candidates(base, &request, group, &questions);
    ways.into_iter().find(Candidate::is_all_on_gpus)
}
