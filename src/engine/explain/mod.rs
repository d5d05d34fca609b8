//! From the text of an error to its cause: signatures × facts → an answer. Pure: files, processes and the machine are the caller's.
//!
//! A text is read into a [`Digest`], expressions of the signatures propose causes, and facts decide between those that leave the same text:
//! first what the text states, then what was named beside it, then what is true on this machine. Causes are weighed rather than ordered by
//! hand, since most texts have several and what decides is often missing.

mod answer;
#[cfg(test)]
mod audit;
mod condition;
mod ending;
mod fact;
mod line;
mod literal;
mod matching;
mod reader;
mod signatures;
mod symptoms;
mod template;
mod text_facts;
mod verify;
mod weigh;

use warpscope_probes::rules::{Effect, Rule, RuleBase, Stage};

pub use answer::{Answer, Asked, Confidence, Excluded, Problem, Refuted, UsedFact};
pub use fact::{Fact, Facts, Origin};
pub use line::Line;
pub use reader::{Digest, Reader};

use matching::Hit;
use signatures::{Owner, Signatures};

/// What can be said about a text, given facts besides those it states.
pub fn explain(digest: &Digest, given: &Facts, rules: &RuleBase) -> Answer {
    let hits = matching::hits(digest);
    let mut facts = Facts::default();
    named_first(&mut facts, given);
    facts.join(&text_facts::stated(digest, &hits));
    facts.join(given);
    text_facts::derive(&mut facts);
    let text: String = digest.lines.iter().map(|line| line.text.clone() + "\n").collect();
    let candidates = weigh::candidates(&hits, &text, &facts);
    let mut problems = answer::problems(weigh::groups(candidates), digest);
    let found = symptoms::rules(digest, rules);
    match problems.first_mut() {
        Some(first) => {
            first.rules = found.iter().map(|rule| rule.id.to_string()).collect();
            first.why = why(&found);
        }
        None => problems.extend(found.first().map(|rule| by_rule(rule, &found, &facts))),
    }
    let verified = verify::Rules { base: rules, facts: &facts, text: &text.to_lowercase() };
    problems.iter_mut().for_each(|problem| verified.verify(problem));
    let look = echo(&hits).filter(|_| problems.is_empty());
    Answer { problems, look, lines: digest.total }
}

/// Causes whose facts are all true on a machine, before anything has failed there.
pub fn foreseen(here: &Facts) -> Vec<Problem> {
    let mut facts = here.clone();
    text_facts::derive(&mut facts);
    let certain = weigh::certain(&facts);
    certain.into_iter().map(|one| answer::problem(&[one], &Digest::default())).collect()
}

/// Adds what live probes answered, each by its id.
pub fn state_probes<'a>(facts: &mut Facts, answers: impl Iterator<Item = (&'a str, bool)>) {
    for (probe, works) in answers {
        facts.count(&weigh::probed(probe), f64::from(u8::from(works)), Origin::Here);
    }
}

/// What the user named stands above what is concluded from words.
fn named_first(facts: &mut Facts, given: &Facts) {
    for (name, fact) in given.iter().filter(|(_, fact)| fact.origin == Origin::Named) {
        facts.state(name, &fact.shown, Origin::Named);
    }
}

/// Whether the text reads like one of a machine with this GPU: it names none, or this one.
pub fn names_another_gpu(digest: &Digest, cc: f64) -> bool {
    let hits = matching::hits(digest);
    text_facts::stated(digest, &hits).number("cc").is_some_and(|stated| (stated - cc).abs() > 0.01)
}

/// Where a line that only reports a failure says to look.
fn echo(hits: &[Hit]) -> Option<String> {
    let echoes = &Signatures::builtin().base.echoes;
    hits.iter().find_map(|hit| match hit.owner {
        Owner::Echo(at) => Some(echoes[at].look.clone()),
        _ => None,
    })
}

/// Class of what a rule speaks of, by the moment at which it speaks.
fn class_of(rule: &Rule) -> &'static str {
    match (rule.stage, rule.effect) {
        (_, Effect::WrongOutput) => "fp16_overflow",
        (Stage::Device, _) => "driver_too_old",
        // A release that ended lacked code for GPUs that came later; one that goes on has dropped some.
        (Stage::Kernels, _) if rule.versions.is_open_above() => "arch_older_gpu",
        (Stage::Kernels, _) => "arch_newer_gpu",
        (Stage::Memory, _) => "kernel_resource_limit",
        _ => "capability_gate",
    }
}

/// A problem of which only a rule knows.
fn by_rule(rule: &Rule, found: &[&Rule], facts: &Facts) -> Problem {
    let class = class_of(rule);
    let is_on_known_gpu = facts.number("cc").is_some();
    let title = Signatures::builtin().base.class(class).map(|class| class.title.clone());
    Problem {
        class: class.to_owned(),
        subkind: "rule".to_owned(),
        title: title.unwrap_or_default(),
        cause: format!("{}: {}", rule.framework, rule.reason),
        confidence: if is_on_known_gpu { Confidence::Fits } else { Confidence::OneOfSeveral },
        ask: why(&[rule]).pop().map(|command| Asked {
            fact: "the verdict for this GPU and version".to_owned(),
            command,
        }),
        fix: rule.fix.iter().map(ToString::to_string).collect(),
        sources: vec![rule.source.to_string()],
        rules: found.iter().map(|rule| rule.id.to_string()).collect(),
        why: why(found),
        ..Problem::default()
    }
}

/// The commands that tell what rules say.
fn why(rules: &[&Rule]) -> Vec<String> {
    let mut all: Vec<String> =
        rules.iter().map(|rule| format!("warpscope why {}", rule.framework)).collect();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn foreseen_with(known: &[(&str, f64)]) -> Vec<String> {
        let mut facts = Facts::default();
        for (name, number) in known {
            facts.count(name, *number, Origin::Here);
        }
        foreseen(&facts).into_iter().map(|one| format!("{}.{}", one.class, one.subkind)).collect()
    }

    #[test]
    fn what_would_fail_follows_from_facts_and_unknown_facts_foretell_nothing() {
        assert_eq!(foreseen_with(&[]), [""; 0]);
        let healthy = [
            ("gpu_count", 1.0),
            ("nvml_mismatch", 0.0),
            ("visible_wrong", 0.0),
            ("shm_bytes", 16e9),
            ("driver_cuda", 12.4),
            ("wanted_cuda", 12.8),
            ("torch_cuda_build", 1.0),
        ];
        assert_eq!(foreseen_with(&healthy), [""; 0]);
        for (name, number, want) in [
            ("nvml_mismatch", 1.0, "driver_module_state.nvml_mismatch"),
            ("visible_wrong", 1.0, "device_visibility.env_wrong_index"),
            ("mig_without_slice", 1.0, "device_visibility.mig_without_slice"),
            ("shm_bytes", 67_108_864.0, "nccl_shm_small.docker_64mb"),
            ("wanted_cuda", 13.0, "driver_too_old.runtime_35"),
            ("torch_cuda_build", 0.0, "cpu_only_build.no_cuda_dist"),
            ("loader_copies", 1.0, "lib_conflict_loader_path.cublas"),
        ] {
            let others = healthy.iter().filter(|(other, _)| *other != name).copied();
            let known: Vec<_> = others.chain([(name, number)]).collect();
            assert_eq!(foreseen_with(&known), [want]);
        }
    }
}
