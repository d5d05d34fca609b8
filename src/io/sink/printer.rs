//! The last gate before a terminal: whatever a command forgot to clean is replaced here.
//!
//! Texts carry colours as marks, not as escape sequences: an escape sequence in a text came from outside. Marks are
//! noncharacters, which [`clean`](crate::text::clean) replaces, so that no text from outside can hold one. Only
//! [`Printer`] makes sequences of them.

use std::io::{self, Write};

use warpscope_probes::text::is_hostile;

/// How a part of a text is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextColor {
    /// Heads of tables.
    Bold,
    /// What fails.
    Red,
    /// What works.
    Green,
    /// What works in another way.
    Yellow,
    /// What is not known.
    Magenta,
}

/// Marks, and the sequences (SGR) a terminal gets in their place.
const MARKS: &[(TextColor, char, &str)] = &[
    (TextColor::Bold, '\u{FDD1}', "\x1b[1m"),
    (TextColor::Red, '\u{FDD2}', "\x1b[31m"),
    (TextColor::Green, '\u{FDD3}', "\x1b[32m"),
    (TextColor::Yellow, '\u{FDD4}', "\x1b[33m"),
    (TextColor::Magenta, '\u{FDD5}', "\x1b[35m"),
];
/// The mark behind an colored part.
const END: char = '\u{FDD0}';
const RESET: &str = "\x1b[0m";

/// A text between the marks of an color.
pub fn colored(color: TextColor, text: &str) -> String {
    let mark = MARKS.iter().find(|row| row.0 == color).map_or(END, |row| row.1);
    format!("{mark}{text}{END}")
}

/// Whether a character is a mark, which takes no room on the screen.
pub fn is_mark(letter: char) -> bool {
    (END..='\u{FDD5}').contains(&letter)
}

/// A writer to a terminal, or to what may be shown on one. Line feeds, tabs and marks pass; other hostile characters and
/// bytes that are no text are replaced.
pub struct Printer<W: Write> {
    out: W,
    /// The first bytes of a character of which the rest has not come.
    begun: Vec<u8>,
}

impl<W: Write> Printer<W> {
    /// A printer onto a writer.
    pub fn new(out: W) -> Self {
        Self { out, begun: Vec::new() }
    }

    /// Erases the line of the cursor.
    pub fn erase_line(&mut self) -> io::Result<()> {
        self.out.write_all(b"\r\x1b[K")
    }

    /// Goes up so many lines, and erases everything from there on.
    pub fn erase_lines(&mut self, lines: usize) -> io::Result<()> {
        if lines > 0 {
            write!(self.out, "\x1b[{lines}A")?;
        }
        self.out.write_all(b"\r\x1b[J")
    }

    fn filtered(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let mut safe = String::with_capacity(all.len());
        for chunk in all.utf8_chunks() {
            chunk.valid().chars().for_each(|letter| push(&mut safe, letter));
            match std::str::from_utf8(chunk.invalid()) {
                Ok(_) => {}
                Err(error) if error.error_len().is_none() => self.begun = chunk.invalid().to_vec(),
                Err(_) => safe.push(char::REPLACEMENT_CHARACTER),
            }
        }
        safe
    }
}

fn push(safe: &mut String, letter: char) {
    match letter {
        '\n' | '\t' => safe.push(letter),
        END => safe.push_str(RESET),
        _ => match MARKS.iter().find(|row| row.1 == letter) {
            Some(row) => safe.push_str(row.2),
            None if is_hostile(letter) => safe.push(char::REPLACEMENT_CHARACTER),
            None => safe.push(letter),
        },
    }
}

impl<W: Write> Write for Printer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let plain = |byte: &u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
        if self.begun.is_empty() && bytes.iter().all(plain) {
            return self.out.write(bytes);
        }
        let safe = self.filtered(bytes);
        self.out.write_all(safe.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn printed(parts: &[&[u8]]) -> String {
        let mut printer = Printer::new(Vec::new());
        parts.iter().for_each(|part| printer.write_all(part).expect("takes everything"));
        String::from_utf8(printer.out).expect("is text")
    }

    #[test]
    fn what_is_obeyed_is_replaced_and_what_is_shown_passes() {
        assert_eq!(printed(&[b"a\x1b[31m\r\x9b\tb\n"]), "a\u{fffd}[31m\u{fffd}\u{fffd}\tb\n");
        assert_eq!(printed(&["推論 é ✔\u{202e}".as_bytes()]), "推論 é ✔\u{fffd}");
    }

    #[test]
    fn a_sequence_comes_from_a_mark_and_from_nothing_else() {
        let text = format!("{} \x1b[32mx", colored(TextColor::Green, "works"));
        assert_eq!(printed(&[text.as_bytes()]), "\x1b[32mworks\x1b[0m \u{fffd}[32mx");
        let cleaned = crate::text::clean(&text, false).into_owned();
        assert_eq!(printed(&[cleaned.as_bytes()]), "\u{fffd}works\u{fffd} \u{fffd}[32mx");
        assert!(MARKS.iter().all(|row| is_mark(row.1)) && is_mark(END));
    }

    proptest! {
        #[test]
        fn bytes_may_be_cut_anywhere(text in "\\PC{0,20}[\u{1}-\u{2ff}]{0,10}", at in 0..100_usize) {
            let bytes = text.as_bytes();
            let (head, tail) = bytes.split_at(at.min(bytes.len()));
            prop_assert_eq!(printed(&[head, tail]), printed(&[bytes]));
        }

        #[test]
        fn no_hostile_character_passes(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let marked = String::from_utf8_lossy(&bytes).contains(is_mark);
            let hostile = |letter: char| is_hostile(letter) && !"\n\t".contains(letter);
            prop_assert!(marked || !printed(&[&bytes]).contains(hostile));
        }
    }
}
