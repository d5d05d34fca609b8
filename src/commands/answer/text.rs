//! Verdicts as text for people: blocks, tables, wrapped prose. Nothing from outside reaches the terminal with control characters.

use std::fmt::Write as _;

use crate::engine::{Confidence, Origin, Outcome, Question, Verdict};
use crate::io::sink::printer::{TextColor, colored, is_mark};
pub(crate) use crate::io::sink::table::Style;
use crate::text::clean;

/// Columns that prose is wrapped at where there is no terminal.
const PROSE: usize = 100;

impl Style {
    /// Columns to wrap prose at.
    pub(crate) fn prose_width(self) -> usize {
        self.width.unwrap_or(PROSE).max(40)
    }

    /// The outcome's symbol, coloured where colours are on.
    pub(crate) fn symbol(self, outcome: Outcome) -> String {
        self.paint(outcome, outcome.symbol(self.ascii))
    }

    pub(crate) fn paint(self, outcome: Outcome, text: &str) -> String {
        let color = match outcome {
            Outcome::Works => TextColor::Green,
            Outcome::Fallback | Outcome::Slow => TextColor::Yellow,
            Outcome::Partial | Outcome::WrongOutput | Outcome::Fails => TextColor::Red,
            Outcome::NoObstacle | Outcome::Unknown => TextColor::Magenta,
        };
        if self.color { colored(color, text) } else { text.to_owned() }
    }

    /// Separator between the parts of a title.
    pub(crate) fn dot(self) -> &'static str {
        if self.ascii { "-" } else { "·" }
    }

    /// One line of text from outside, or made of such.
    pub(crate) fn clean(self, text: &str) -> String {
        clean(text, self.ascii).into_owned()
    }
}

/// First line of a verdict.
pub(crate) fn title(verdict: &Verdict, style: Style) -> String {
    let Verdict { gpu, framework, config, outcome, .. } = verdict;
    let (dot, version) = (style.dot(), version(verdict));
    let name = style.clean(&format!("{gpu} {dot} {framework} {version} {dot} {config}"));
    let (symbol, words) = (style.symbol(*outcome), style.paint(*outcome, outcome.words()));
    format!("{symbol} {name}: {words} ({})", verdict.told_by())
}

/// The version a verdict speaks of, in words.
pub(crate) fn version(verdict: &Verdict) -> &str {
    if verdict.version == "any" { "(any version)" } else { &verdict.version }
}

/// The whole verdict as a block of lines, with the cheapest way out.
pub(crate) fn block(verdict: &Verdict, style: Style) -> String {
    let mut text = format!("{}\n", title(verdict, style));
    reasons(&mut text, verdict, style);
    verbatim(&mut text, "fix", verdict.fix.as_deref(), style);
    evidence(&mut text, verdict, style);
    text
}

/// Why, what it needs, what the GPU has, and the message people meet.
pub(crate) fn reasons(text: &mut String, verdict: &Verdict, style: Style) {
    field(text, "as of", verdict.as_of.as_deref().unwrap_or_default(), style);
    field(text, "why", &verdict.reason, style);
    field(text, "needs", &verdict.needs, style);
    field(text, "has", &verdict.has, style);
    field(text, "doubt", &verdict.doubts.join("; "), style);
    verbatim(
        text,
        "the message you would see (`warpscope explain` reads it)",
        verdict.symptom.as_deref(),
        style,
    );
}

/// Everything that is known, each with its level, source and date.
pub(crate) fn evidence(text: &mut String, verdict: &Verdict, style: Style) {
    if !verdict.evidence.is_empty() {
        text.push_str("  evidence\n");
    }
    for one in &verdict.evidence {
        let line =
            format!("{} {}: {}", style.symbol(one.outcome), one.id, style.clean(&one.detail));
        wrapped(text, &line, 4, 6, style);
        let level = one.level.words();
        let source = format!("{}; {level}, {}", style.clean(&one.source), one.retrieved);
        wrapped(text, &source, 6, 6, style);
    }
}

/// Where the version of a question comes from: as an id, and for people.
pub(crate) fn origin(question: &Question) -> (&'static str, &'static str) {
    match question.origin {
        Origin::Known => ("known", "the version the rules cover"),
        Origin::Asked => ("asked", "as asked"),
        Origin::Installed => ("installed", "installed here"),
    }
}

/// A short fact behind its name.
pub(crate) fn field(text: &mut String, name: &str, value: &str, style: Style) {
    if !value.is_empty() {
        wrapped(text, &format!("{name:<6} {}", style.clean(value)), 2, 9, style);
    }
}

/// Lines to be read or pasted as they are: indented by four, never wrapped.
pub(crate) fn verbatim(text: &mut String, name: &str, value: Option<&str>, style: Style) {
    let Some(value) = value.filter(|value| !value.trim().is_empty()) else { return };
    let _ = writeln!(text, "  {name}");
    lines(text, value, style);
}

/// The lines alone.
pub(crate) fn lines(text: &mut String, value: &str, style: Style) {
    for line in value.trim_matches('\n').lines() {
        let _ = writeln!(text, "{}", format!("    {}", style.clean(line)).trim_end());
    }
}

/// The words that change no verdict, on a line of their own.
pub(crate) fn not_considered(words: &[String], style: Style) -> String {
    match words {
        [] => String::new(),
        words => style.clean(&format!("not considered: {}", words.join(", "))) + "\n\n",
    }
}

/// Prose wrapped at the style's width, with one indent for the first line and one for the rest.
pub(crate) fn wrapped(text: &mut String, prose: &str, first: usize, rest: usize, style: Style) {
    let width = style.prose_width();
    let mut line = " ".repeat(first);
    let mut empty = true;
    for word in prose.split_inclusive(' ') {
        let length = columns(&line) + columns(word.trim_end());
        if !empty && length > width {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(rest);
        }
        line.push_str(word);
        empty = false;
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Columns of a text: colours take none.
fn columns(text: &str) -> usize {
    text.chars().filter(|letter| !is_mark(*letter)).count()
}

/// How many of which outcome: `6 checked: 2 works, 3 fails, 1 unknown; 2 of medium confidence`.
pub(crate) fn summary(verdicts: &[Verdict]) -> String {
    let counts = crate::engine::OUTCOMES.iter().filter_map(|row| {
        let count = verdicts.iter().filter(|verdict| verdict.outcome == row.0).count();
        (count > 0).then(|| format!("{count} {}", row.4))
    });
    let medium = verdicts.iter().filter(|one| one.confidence == Some(Confidence::Medium)).count();
    let medium =
        if medium > 0 { format!("; {medium} of medium confidence") } else { String::new() };
    format!("{} checked: {}{medium}", verdicts.len(), counts.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_wraps_between_words_and_keeps_long_words_whole() {
        let mut text = String::new();
        let style = Style { width: Some(40), ..Style::default() };
        wrapped(
            &mut text,
            "one two three four five six seven eight https://example.org/a/very/long/address/that/stays",
            2,
            4,
            style,
        );
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "  one two three four five six seven");
        assert_eq!(lines[1], "    eight");
        assert_eq!(lines[2], "    https://example.org/a/very/long/address/that/stays");
    }

    #[test]
    fn nothing_from_outside_moves_the_cursor() {
        let style = Style { ascii: true, ..Style::default() };
        assert_eq!(style.clean("a\u{1b}[2Jb\r·é\u{9b}"), "a?[2Jb -??");
        assert_eq!(style.clean("a tile of 128×128"), "a tile of 128x128");
    }
}
