//! Text in lines of a width.

use std::borrow::Cow;

use ratatui::text::{Line, Span};

use super::{Look, text_width};
use crate::text::{clean, clean_lines};
use crate::widgets::theme::Role;

/// A blank at which no line ends; drawn as any other.
pub(crate) const NO_BREAK: char = '\u{a0}';

/// Breaks text into lines of at most `width` cells between words; a word that is longer is cut.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for paragraph in clean_lines(text).lines() {
        let mut line = String::new();
        let is_between = |letter: char| letter.is_whitespace() && letter != NO_BREAK;
        for word in paragraph.split(is_between).filter(|word| !word.is_empty()) {
            let mut word = word.replace(NO_BREAK, " ");
            if !line.is_empty() && cells(&line) + 1 + cells(&word) > width {
                lines.push(std::mem::take(&mut line));
            }
            while cells(&word) > width {
                let cut: String = word.chars().take(width).collect();
                word = word.chars().skip(width).collect();
                lines.push(cut);
            }
            if !line.is_empty() && !word.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        lines.push(line);
    }
    lines
}

fn cells(text: &str) -> usize {
    Span::raw(text).width()
}

/// A labelled paragraph, wrapped and indented under its label.
pub(crate) fn section(
    look: Look<'_>,
    label: &str,
    text: &str,
    role: Role,
    width: usize,
) -> Vec<Line<'static>> {
    const INDENT: usize = 10;
    let wrapped = wrap(text, width.saturating_sub(INDENT)).into_iter().enumerate();
    let line = |(at, text): (usize, String)| {
        let label = if at == 0 { clean(label, false) } else { Cow::default() };
        Line::from(vec![
            Span::styled(format!("{label:<INDENT$}"), look.style(Role::Muted)),
            Span::styled(text, look.style(role)),
        ])
    };
    wrapped.map(line).collect()
}

/// Breaks a line after blanks where there are some, keeping every character.
pub(crate) fn chop(line: &str, width: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = line;
    while usize::from(text_width(rest)) > width {
        let fits = |at: &usize| usize::from(text_width(&rest[..*at])) <= width;
        let ends = rest.char_indices().map(|(at, _)| at).skip(1);
        let most = ends.take_while(fits).last();
        let Some(most) = most.or(rest.chars().next().map(char::len_utf8)) else { break };
        let blank = rest[..most].rfind(' ').map(|at| at + 1);
        let end = blank.filter(|end| !rest[..*end].trim().is_empty()).unwrap_or(most);
        parts.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    parts.push(rest.to_owned());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_between_words_and_cuts_what_has_none() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("a\n\nb", 5), ["a", "", "b"]);
        assert_eq!(wrap("x abcdef", 3), ["x", "abc", "def"]);
        assert_eq!(wrap("at 63\u{a0}W now", 8), ["at 63 W", "now"]);
        assert_eq!(wrap("at 63\u{a0}W", 5), ["at", "63 W"]);
    }

    #[test]
    fn text_to_paste_loses_nothing_but_the_line_it_is_on() {
        assert_eq!(chop("  run --x   # y", 8), ["  run ", "--x   # ", "y"]);
        assert_eq!(chop("    deep", 6), ["    de", "ep"]);
        assert_eq!(chop("abcdef", 4), ["abcd", "ef"]);
        assert_eq!(chop("\u{6f22}\u{6f22}", 1).concat(), "\u{6f22}\u{6f22}");
        assert_eq!(chop("", 4), [""]);
    }
}
