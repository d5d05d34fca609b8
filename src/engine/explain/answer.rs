//! What is answered: causes with how sure they are, what was excluded, and what to do.

use std::collections::HashSet;

use serde::Serialize;
use warpscope_probes::errors::Question;

use super::condition::{plain_name, words};
use super::ending;
use super::fact::{Facts, Origin};
use super::reader::Digest;
use super::signatures::Signatures;
use super::template::{command, filled};
use super::weigh::{Candidate, probed};

/// How sure an answer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Facts decided: no look-alike is left.
    Settled,
    /// The text fits this cause best; a deciding fact is unknown.
    Fits,
    /// Another cause fits nearly as well.
    OneOfTwo,
    /// The text says little: several causes leave it, and this is the likeliest.
    #[default]
    OneOfSeveral,
}

impl Confidence {
    /// Whether the text and the facts leave one cause.
    pub fn is_sure(self) -> bool {
        matches!(self, Self::Settled | Self::Fits)
    }
}

/// A cause that was not taken, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excluded {
    /// Its class.
    pub class: String,
    /// Its name within the class.
    pub subkind: String,
    /// Why not.
    pub why: String,
}

/// A fact an answer rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UsedFact {
    /// Its name.
    pub name: String,
    /// Its value as people write it.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// What tells a cause from another that fits as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// What has to be known.
    pub fact: String,
    /// Command that shows it.
    pub command: String,
}

/// A fix that is none here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refuted {
    /// What would be done.
    pub fix: String,
    /// Why it fails.
    pub why: String,
}

/// One problem with its cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Class of the cause.
    pub class: String,
    /// Its name within the class.
    pub subkind: String,
    /// The class in words.
    pub title: String,
    /// The cause in one sentence.
    pub cause: String,
    /// How sure that is.
    pub confidence: Confidence,
    /// The other cause where it is one of two.
    pub or: Option<String>,
    /// The first of that one's fixes.
    pub or_fix: Option<String>,
    /// What would settle it, where it is not settled.
    pub ask: Option<Asked>,
    /// Line of the text, from 1.
    pub line: u64,
    /// That line.
    pub quote: String,
    /// Look-alikes and why they are out.
    pub excluded: Vec<Excluded>,
    /// What decided.
    pub facts: Vec<UsedFact>,
    /// Live probes that would tell more, by id.
    pub probes: Vec<String>,
    /// What to do.
    pub fix: Vec<String>,
    /// Fixes of the cause that fail on this GPU by the rules.
    pub refuted: Vec<Refuted>,
    /// Where it can be read again.
    pub sources: Vec<String>,
    /// Ids of rules with this message.
    pub rules: Vec<String>,
    /// Commands that show what those rules say about a GPU.
    pub why: Vec<String>,
}

/// What is known about a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Problems, the cause of the failure first; empty where nothing is known.
    pub problems: Vec<Problem>,
    /// Where to look where only a line that reports another failure was found.
    pub look: Option<String>,
    /// Lines of the text.
    pub lines: u64,
}

/// Scores closer than this are told as one of two.
const CLOSE: f64 = 1.5;
/// A text alone that is worth less does not tell its cause from others. Chosen on the settled threads of `tests/explain`.
const TELLING: f64 = 5.5;
/// The least score worth an answer.
const LEAST: f64 = 2.5;
/// The same where single words are all there is: more than one thing has to speak for it.
const LEAST_OF_A_WORD: f64 = 4.4;
/// The least score of another problem in the same text.
const LEAST_BESIDE: f64 = 8.0;
/// Problems and look-alikes told.
const MOST: usize = 4;

/// Problems of groups of candidates.
pub(super) fn problems(mut groups: Vec<Vec<Candidate>>, digest: &Digest) -> Vec<Problem> {
    let least = |best: &Candidate| if best.is_weak { LEAST_OF_A_WORD } else { LEAST };
    groups.retain(|group| group.first().is_some_and(|best| best.rank() >= least(best)));
    let earliest = groups.iter().map(|group| group[0].first_line()).min().unwrap_or_default();
    let rank = |group: &[Candidate]| {
        group[0].rank() + f64::from(u8::from(group[0].first_line() == earliest))
    };
    groups.sort_by(|one, other| rank(other).total_cmp(&rank(one)));
    let mut problems: Vec<Problem> = Vec::new();
    let mut explained: Vec<&str> = Vec::new();
    for group in &groups {
        let class = group[0].cause.class.as_str();
        let is_first = problems.is_empty();
        if !is_first && (group[0].rank() < LEAST_BESIDE || explained.contains(&class)) {
            continue;
        }
        explained.extend(group.iter().map(|one| one.cause.class.as_str()));
        problems.push(problem(group, digest));
        if problems.len() == MOST {
            break;
        }
    }
    problems
}

pub(super) fn problem(group: &[Candidate], digest: &Digest) -> Problem {
    let best = &group[0];
    let rival = group[1..].iter().find(|one| one.cause.class != best.cause.class);
    let is_close = rival.is_some_and(|rival| best.rank() - rival.rank() < CLOSE);
    let confidence = match () {
        () if is_close => Confidence::OneOfTwo,
        () if is_outdone(best, digest) => Confidence::OneOfSeveral,
        () if best.is_decided => Confidence::Settled,
        () if best.is_weak || best.rank() < TELLING => Confidence::OneOfSeveral,
        () => Confidence::Fits,
    };
    let rival = rival.filter(|_| is_close);
    let line = digest.lines.get(best.first_line());
    Problem {
        class: best.cause.class.clone(),
        subkind: best.cause.subkind.clone(),
        title: title(&best.cause.class),
        cause: sentence(best),
        confidence,
        or: rival.map(|rival| format!("{}: {}", rival.cause.class, sentence(rival))),
        or_fix: rival.and_then(|rival| command(rival.fixes.first()?, &rival.facts)),
        ask: asked(best, rival).filter(|_| confidence != Confidence::Settled),
        line: line.map_or(0, |line| line.number),
        quote: line.map(|line| line.text.chars().take(300).collect()).unwrap_or_default(),
        excluded: excluded(group, rival),
        facts: used(best),
        fix: best.fixes.iter().filter_map(|one| command(one, &best.facts)).collect(),
        probes: best.cause.probe.clone(),
        sources: best.cause.source.clone(),
        ..Problem::default()
    }
}

/// Whether the text ends in an exception that this cause does not explain, while only logged lines speak for the cause.
fn is_outdone(best: &Candidate, digest: &Digest) -> bool {
    let Some(last) = ending::exception(digest) else { return false };
    let is_raised = |line: &usize| *line >= last || ending::is_exception(&digest.lines[*line].text);
    !best.lines.iter().any(is_raised)
}

fn title(class: &str) -> String {
    Signatures::builtin().base.class(class).map(|class| class.title.clone()).unwrap_or_default()
}

fn sentence(candidate: &Candidate) -> String {
    filled(&candidate.cause.because, &candidate.facts)
        .unwrap_or_else(|| title(&candidate.cause.class))
}

fn asked(best: &Candidate, rival: Option<&Candidate>) -> Option<Asked> {
    let own = best.cause.ask.as_ref();
    let question: &Question = own.or_else(|| rival.and_then(|rival| rival.cause.ask.as_ref()))?;
    // A question of a cause may name what only its rival's text has.
    let told = command(&question.command, &best.facts);
    let command = told.unwrap_or_else(|| question.command.clone());
    let probe = match &best.cause.probe[..] {
        [] => String::new(),
        probes => format!("; warpscope probe --only {}", probes.join(",")),
    };
    Some(Asked { fact: question.fact.clone(), command: command + &probe })
}

fn excluded(group: &[Candidate], rival: Option<&Candidate>) -> Vec<Excluded> {
    let best = &group[0];
    let others = group[1..].iter().filter(|one| {
        one.cause.class != best.cause.class && rival.is_none_or(|rival| !std::ptr::eq(rival, *one))
    });
    let mut seen = HashSet::new();
    let others = others.filter(|one| seen.insert(&one.cause.class));
    let told = others.filter_map(|one| {
        let why = match (&one.contradiction, one.against.first()) {
            (Some(why), _) => format!("it would need otherwise: {why}"),
            (None, Some(why)) => why.clone(),
            (None, None) => return None,
        };
        Some(Excluded { class: one.cause.class.clone(), subkind: one.cause.subkind.clone(), why })
    });
    told.take(MOST).collect()
}

/// Facts the sentence and the conditions name.
fn used(candidate: &Candidate) -> Vec<UsedFact> {
    let cause = candidate.cause;
    let conditions = cause.when.iter().chain(cause.more.keys()).chain(cause.less.keys());
    let conditions: Vec<&String> = conditions.filter(|one| words(one).is_none()).collect();
    let is_used = |name: &str| {
        cause.because.contains(&format!("{{{name}}}"))
            || cause.probe.iter().any(|probe| probed(probe) == name)
            || conditions.iter().any(|one| one.split_whitespace().any(|word| word == name))
    };
    let fact = |(name, fact): (&str, &super::fact::Fact)| UsedFact {
        name: plain_name(name),
        value: fact.shown.clone(),
        origin: fact.origin,
    };
    let facts: &Facts = &candidate.facts;
    facts.iter().filter(|(name, _)| is_used(name)).map(fact).collect()
}
