//! An answer for people, and as an issue report.

use std::fmt::Write as _;

use crate::config::Environment;
use crate::engine::explain::{Answer, Confidence, Digest, Problem};
use crate::io::sink::table::Style;
use crate::io::sink::without_homes;
use crate::text::clean;

/// Lines of the text that a report quotes.
const QUOTED: usize = 40;

/// How sure, in words.
fn words(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Settled => "settled",
        Confidence::Fits => "fits",
        Confidence::OneOfTwo => "one of two",
        Confidence::OneOfSeveral => "one of several",
    }
}

/// The answer as text.
pub(super) fn text(answer: &Answer, style: Style) -> String {
    let mut text = String::new();
    for (at, problem) in answer.problems.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        one(&mut text, problem);
    }
    if answer.problems.is_empty() {
        text += &unknown(answer);
    }
    text.lines().map(|line| clean(line, style.ascii).into_owned() + "\n").collect()
}

fn unknown(answer: &Answer) -> String {
    let mut text = match answer.lines {
        1 => "Cause unknown: the line fits no known error.\n".to_owned(),
        lines => format!("Cause unknown: none of {lines} lines fits a known error.\n"),
    };
    if let Some(look) = &answer.look {
        _ = writeln!(text, "The text only reports a failure elsewhere: {look}.");
    }
    text +=
        "For a report with the facts of this machine: warpscope explain FILE --here --markdown\n";
    text
}

fn one(text: &mut String, problem: &Problem) {
    _ = writeln!(text, "{} ({}.{})", problem.title, problem.class, problem.subkind);
    if !problem.quote.is_empty() {
        _ = writeln!(text, "  line {}: {}", problem.line, problem.quote);
    }
    _ = writeln!(text, "\nCause ({}): {}", words(problem.confidence), problem.cause);
    if let Some(other) = &problem.or {
        _ = writeln!(text, "Or: {other}");
    }
    if let Some(ask) = &problem.ask {
        _ = writeln!(text, "To settle it: {}\n  {}", ask.fact, ask.command);
    }
    for fact in &problem.facts {
        _ = writeln!(text, "  {} = {} ({})", fact.name, fact.value, fact.origin.words());
    }
    for out in &problem.excluded {
        _ = writeln!(text, "Not {}: {}", out.class, out.why);
    }
    text.push_str("\nFix:\n");
    for fix in &problem.fix {
        _ = writeln!(text, "  {fix}");
    }
    if let Some(fix) = &problem.or_fix {
        _ = writeln!(text, "For the other cause:\n  {fix}");
    }
    for refuted in &problem.refuted {
        _ = writeln!(text, "Not a fix here: {}\n  {}", refuted.fix, refuted.why);
    }
    list(text, "Rules", &problem.rules);
    list(text, "See also", &problem.why);
    list(text, "Sources", &problem.sources);
}

fn list(text: &mut String, title: &str, all: &[String]) {
    if !all.is_empty() {
        _ = writeln!(text, "{title}: {}", all.join(", "));
    }
}

/// A report to paste into an issue; names of the user, the host and homes are hidden.
pub(super) fn markdown(answer: &Answer, digest: &Digest, env: &Environment) -> String {
    let mut text = format!("## Error\n\nwarpscope {}\n\n```text\n", env!("CARGO_PKG_VERSION"));
    let first = answer.problems.first().map_or(0, |problem| problem.line);
    let begin = digest.lines.partition_point(|line| line.number + 10 < first);
    for line in digest.lines.iter().skip(begin).take(QUOTED) {
        text += &line.text.replace("```", "'''");
        text.push('\n');
    }
    text += "```\n";
    for problem in &answer.problems {
        section(&mut text, problem);
    }
    if answer.problems.is_empty() {
        text += "\nCause unknown.\n";
    }
    hidden(text, env)
}

fn section(text: &mut String, problem: &Problem) {
    let (class, kind) = (&problem.class, &problem.subkind);
    _ = writeln!(text, "\n## {}\n", problem.title);
    _ = writeln!(text, "`{class}.{kind}`, {}: {}\n", words(problem.confidence), problem.cause);
    for fact in &problem.facts {
        _ = writeln!(text, "- {}: {} ({})", fact.name, fact.value, fact.origin.words());
    }
    text.push_str("\n```sh\n");
    for fix in &problem.fix {
        _ = writeln!(text, "{fix}");
    }
    text.push_str("```\n");
    for source in &problem.sources {
        _ = writeln!(text, "- {source}");
    }
}

fn hidden(mut text: String, env: &Environment) -> String {
    for (name, place) in
        [("HOME", "~"), ("USER", "user-1"), ("LOGNAME", "user-1"), ("HOSTNAME", "host-1")]
    {
        if let Some(secret) = env.text(name).filter(|secret| secret.len() > 3) {
            text = text.replace(&secret, place);
        }
    }
    without_homes(&text)
}
