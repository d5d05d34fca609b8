//! What a rule advises, read as a configuration the engine can be asked about.
//!
//! A rule's text is written once for every GPU. What it asks for is looked for in it: versions behind `pip install`, arguments of the
//! framework's own command, another framework's command. Advice that the engine says fails here is not given.

use warpscope_probes::rules::{
    Cost, Framework, Launch, Rule, RuleBase, Settings, Side, Version, VersionRange, dtype_id,
};

use super::paste::is_pasteable;
use super::{Attempt, frameworks, launch, options};
use crate::engine::explanation::remedy;
use crate::engine::question::Question;
use crate::engine::verdict::{Fix, Outcome};
use crate::engine::versions::versions_of;
use crate::engine::words::Filler;

/// Variables that say which GPUs a build of one's own is for. No rule answers for such a build.
const BUILDS_FOR: &[&str] = &["CMAKE_CUDA_ARCHITECTURES", "CUDAARCHS", "TORCH_CUDA_ARCH_LIST"];

/// The advice of the rule that decided, unless it is known to fail here.
pub(super) fn of(attempt: &Attempt<'_>) -> Option<Fix> {
    let answer = attempt.answer;
    let rule = remedy(answer)?;
    let text = Filler::of_rule(answer.target, answer.question, rule).command(rule.fix.as_deref()?);
    let text = text.replace(launch::ANY_MODEL, launch::model(answer.question));
    let (text, comment) = without_comments(&text);
    let (text, comment) = after_words(text, comment);
    let outcome = outcome(attempt, &text);
    if outcome.is_some_and(Outcome::is_bad) {
        return None;
    }
    let better = |one: &Outcome| one.severity() < answer.decision.outcome.severity();
    let then = outcome.filter(|one| one.runs()).filter(better);
    let title = match rule.fix_cost {
        Cost::Flag => "recommended by the rule",
        Cost::Kernel => "another kernel, recommended by the rule",
        Cost::Build => "another version or build, recommended by the rule",
        Cost::Format => "another model format, recommended by the rule",
        Cost::Hardware => "another GPU, recommended by the rule",
    };
    let title = if comment.is_empty() { title.to_owned() } else { format!("{title}: {comment}") };
    Some(Fix { cost: rule.fix_cost, title, text, then })
}

/// A text to paste without its comments, and the comments.
fn without_comments(text: &str) -> (String, String) {
    let (mut code, mut comments) = (Vec::new(), Vec::new());
    for line in text.lines() {
        match line.split_once("   #") {
            _ if line.starts_with("# ") => comments.push(line.trim_start_matches('#').trim()),
            Some((before, comment)) => {
                code.push(before.trim_end());
                comments.push(comment.trim());
            }
            None => code.push(line),
        }
    }
    if code.iter().all(|line| line.trim().is_empty()) {
        return (comments.join("\n"), String::new());
    }
    (code.join("\n").trim_matches('\n').to_owned(), comments.join("; "))
}

/// A command behind words that introduce it, and those words: `take the CUDA 12 variant: pip install …`.
fn after_words(text: String, comment: String) -> (String, String) {
    let Some((words, command)) = text.split_once(": ") else { return (text, comment) };
    if text.contains('\n') || is_pasteable(&text) || !is_pasteable(command) {
        return (text, comment);
    }
    let comment = if comment.is_empty() { words.to_owned() } else { format!("{words}; {comment}") };
    (command.to_owned(), comment)
}

/// What the engine says of the configuration the text asks for; none where it does not understand the text.
fn outcome(attempt: &Attempt<'_>, text: &str) -> Option<Outcome> {
    let (base, question) = (attempt.answer.base, attempt.answer.question);
    if BUILDS_FOR.iter().any(|variable| text.contains(variable)) {
        return None;
    }
    if let Some(other) = other_framework(base, question, text) {
        let rows = frameworks::carried(base, question, &other.id);
        let outcomes = rows.map(|row| attempt.outcome_of(&row));
        return outcomes.min_by_key(|one| one.severity());
    }
    let mut changed = question.clone();
    versions(attempt, &mut changed, text);
    let own = base.framework(&question.framework).filter(|one| one.launch.is_some());
    let started = own.or_else(|| started_by(base, text));
    if let Some(launch) = started.and_then(|one| one.launch.as_ref()) {
        arguments(launch, &mut changed, text);
    }
    (!changed.is_same(question)).then(|| attempt.outcome_of(&changed))
}

/// The framework whose command this is, where it has no part in the question.
fn other_framework<'a>(
    base: &'a RuleBase,
    question: &Question,
    text: &str,
) -> Option<&'a Framework> {
    let part =
        |one: &&Framework| one.id == question.framework || question.config.get(&one.id).is_some();
    started_by(base, text).filter(|one| !part(one))
}

/// The framework whose command this is: `vllm serve`.
fn started_by<'a>(base: &'a RuleBase, text: &str) -> Option<&'a Framework> {
    let starts = |one: &&Framework| {
        let command = one.launch.as_ref().and_then(|launch| launch.text.split('{').next());
        command.map(str::trim).is_some_and(|command| {
            command.split(' ').count() > 1 && text.trim_start().starts_with(command)
        })
    };
    base.frameworks().iter().find(starts)
}

/// Versions behind `pip install`.
fn versions(attempt: &Attempt<'_>, question: &mut Question, text: &str) {
    let base = attempt.answer.base;
    let install = |line: &&str| line.contains("pip install");
    let words = || text.lines().filter(install).flat_map(str::split_whitespace);
    let wheel = words().find_map(|word| {
        let (_, wheel) = word.trim_matches(['\'', '"']).split_once("/whl/")?;
        wheel.starts_with("cu").then_some(wheel)
    });
    if let Some(wheel) = wheel {
        let key = if question.framework == "torch" { "wheel" } else { "torch.wheel" };
        let part = question.framework == "torch" || question.config.get("torch").is_some();
        let _ = part.then(|| question.config.set(key, wheel));
    }
    for word in words().map(|word| word.trim_matches(['\'', '"'])) {
        let name = word.split(['<', '>', '=', '!', '[']).next().unwrap_or_default();
        let named = |one: &&Framework| one.id == name || one.packages.iter().any(|own| own == name);
        let Some(framework) = base.frameworks().iter().find(named) else { continue };
        let bounds = word.trim_start_matches(|c: char| !"<>=!".contains(c));
        let wheel = wheel.filter(|_| framework.id == "torch");
        let Some(version) = newest_within(attempt, framework, bounds, wheel) else { continue };
        if framework.id == question.framework {
            question.version = Some(version);
        } else if question.config.get(&framework.id).is_some() {
            *question =
                options::with(question, &framework.id, &version).unwrap_or(question.clone());
        }
    }
}

/// The newest version the rules know in this range, of those with this wheel; a bound itself where they know none.
fn newest_within(
    attempt: &Attempt<'_>,
    framework: &Framework,
    bounds: &str,
    wheel: Option<&str>,
) -> Option<String> {
    let base = attempt.answer.base;
    if bounds.is_empty() && wheel.is_none() {
        return framework.version.clone();
    }
    let range: VersionRange = if bounds.is_empty() { "all" } else { bounds }.parse().ok()?;
    let within = |text: &&String| {
        let version: Option<Version> = text.parse().ok();
        range.contains(version.as_ref()) == Some(true)
            && wheel.is_none_or(|wheel| is_published(attempt, framework, version.as_ref(), wheel))
    };
    let known = versions_of(base, &framework.id);
    known
        .iter()
        .rev()
        .find(within)
        .cloned()
        .or_else(|| range.bound_texts().next().map(str::to_owned))
}

/// Whether no rule says of a wheel, whatever else is asked, that this version has none.
fn is_published(
    attempt: &Attempt<'_>,
    framework: &Framework,
    version: Option<&Version>,
    wheel: &str,
) -> bool {
    let Ok(alone) = Settings::new([("wheel", wheel)]) else { return false };
    let (facts, parts) = (&attempt.answer.facts, attempt.answer.base.parts());
    let missing = |rule: &Rule| {
        rule.side == Side::Inside
            && rule.effect.is_bad()
            && rule.selector.matches(&alone) == Some(true)
            && rule.versions.contains(version) == Some(true)
            && rule.on.holds(facts, parts) == Some(true)
    };
    !attempt.answer.base.rules_of(&framework.id).any(missing)
}

/// Arguments of the framework's own command.
fn arguments(launch: &Launch, question: &mut Question, text: &str) {
    for arg in &launch.arg {
        let before = arg.write.split_once("{value}").map(|one| one.0);
        let Some(before) = before.filter(|one| one.len() > 2) else { continue };
        let Some((_, after)) = text.split_once(before) else { continue };
        let end = |c: char| c.is_whitespace() || "'\",)".contains(c);
        let word = after.split(end).next().unwrap_or_default();
        let named =
            arg.names.iter().find(|(_, spelt)| *spelt == word).map(|(value, _)| value.as_str());
        let value = named.or_else(|| dtype_id(word).filter(|_| arg.key == "dtype")).unwrap_or(word);
        *question = options::with(question, &arg.key, value).unwrap_or(question.clone());
    }
}
