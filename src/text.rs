//! Words and numbers for people: cleaned of what a terminal obeys, measured in cells.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use warpscope_probes::text::{is_hostile, shown_as};

/// Signs of texts of the program, and what stands for them in ASCII.
const SIGNS: &[(char, char)] = &[('·', '-'), ('–', '-'), ('×', 'x'), ('µ', 'u')];

/// A text from outside with every hostile character replaced by `\u{fffd}`; in ASCII mode a sign by what is typed for
/// it, and everything else beyond ASCII by `?`.
pub fn clean(text: &str, ascii: bool) -> Cow<'_, str> {
    let fine = |letter: char| !is_hostile(letter) && (!ascii || letter.is_ascii());
    if text.chars().all(fine) {
        return Cow::Borrowed(text);
    }
    let typed = |letter| SIGNS.iter().find(|row| row.0 == letter).map_or('?', |row| row.1);
    let shown = text.chars().map(shown_as);
    let shown =
        shown.map(|letter| if ascii && !letter.is_ascii() { typed(letter) } else { letter });
    Cow::Owned(shown.collect())
}

/// Text without the escape sequences that programs write to a terminal.
pub fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains(['\x1b', '\u{9b}']) {
        return Cow::Borrowed(text);
    }
    // One character begins a control sequence as two do.
    let text = text.replace('\u{9b}', "\x1b[");
    let mut pieces = text.split('\x1b');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    plain.extend(pieces.map(after_sequence));
    Cow::Owned(plain)
}

/// What follows an escape sequence: a control sequence ends with a byte from `@` to `~`, a command to
/// the terminal with a bell or the next escape.
fn after_sequence(rest: &str) -> &str {
    let end = match rest.as_bytes().first() {
        Some(b'[') => rest.char_indices().skip(1).find(|(_, one)| ('@'..='~').contains(one)),
        Some(b']') => rest.char_indices().find(|(_, one)| *one == '\x07'),
        Some(b'(' | b')') => rest.char_indices().nth(1),
        _ => rest.char_indices().next(),
    };
    end.map_or("", |(at, last)| &rest[at + last.len_utf8()..])
}

/// A text of several lines, which stay lines; each is cleaned.
pub fn clean_lines(text: &str) -> String {
    text.chars().map(|letter| if letter == '\n' { letter } else { shown_as(letter) }).collect()
}

/// A text from outside for Markdown, which shows it as it is: no markup, and no entity that stands for a hostile character.
pub fn markdown(text: &str) -> String {
    let mut escaped = String::new();
    for letter in clean(text, false).chars() {
        if "&|\\`*_~<>[]".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// Cells a text takes on the screen.
pub fn width(text: &str) -> usize {
    text.width()
}

/// At most so many cells of a text, its last one `…` (or `~`) where something is cut off.
pub fn fit(text: &str, cells: usize, ascii: bool) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    let Some(room) = cells.checked_sub(1) else { return Cow::Borrowed("") };
    let mut used = 0;
    let kept = text.char_indices().find(|(_, letter)| {
        used += letter.width().unwrap_or(0);
        used > room
    });
    let end = kept.map_or(text.len(), |(at, _)| at);
    Cow::Owned(format!("{}{}", &text[..end], if ascii { "~" } else { "…" }))
}

/// A text on lines of so many cells, from the second on set in by two; a word that is longer is cut.
pub fn wrap(text: &str, cells: usize, ascii: bool) -> String {
    let cells = cells.max(10);
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is one");
        let is_empty = last.trim().is_empty();
        if is_empty || width(last) + 1 + width(word) <= cells {
            last.push_str(if is_empty { "" } else { " " });
            last.push_str(&fit(word, cells - 2, ascii));
        } else {
            lines.push(format!("  {}", fit(word, cells - 2, ascii)));
        }
    }
    lines.join("\n")
}

/// Bytes with a binary unit: `1.5 GiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let place = (count.max(1).ilog2() / 10).min(4);
    let value = count as f64 / 2f64.powi(10 * place.cast_signed());
    match place {
        0 => format!("{count} B"),
        _ => format!("{value:.1} {}", UNITS[place as usize]),
    }
}

/// Whether a name fits a pattern in which `*` stands for any letters and `?` for one. Goes back to the last `*` only, so time is at most
/// the product of the lengths.
pub fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    p = at + 1;
                    n = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_are_printed_with_the_unit_that_fits() {
        for (count, want) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (15 << 30, "15.0 GiB"),
            (u64::MAX, "16777216.0 TiB"),
        ] {
            assert_eq!(bytes(count), want);
        }
    }

    #[test]
    fn escapes_from_outside_are_shown_and_not_obeyed() {
        let name = "py\u{1b}]0;x\u{7}\n\u{9b}";
        assert_eq!(clean(name, false), "py\u{fffd}]0;x\u{fffd} \u{fffd}");
        assert_eq!(clean(name, true), "py?]0;x? ?");
        assert_eq!(clean("é", false), "é");
        assert_eq!(clean("é", true), "?");
    }

    #[test]
    fn markdown_shows_what_is_there() {
        assert_eq!(markdown("a|b<c\n&#x202e;"), "a\\|b\\<c \\&#x202e;");
    }

    proptest! {
        #[test]
        fn a_fitted_text_is_never_wider(text in "\\PC{0,40}", cells in 0usize..50) {
            let cleaned = clean(&text, false);
            prop_assert!(width(&fit(&cleaned, cells, false)) <= cells);
        }
    }
}
