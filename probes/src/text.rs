//! Text from outside, made safe to print.
//!
//! Device and process names come from drivers and from other people's programs. A name with an escape
//! sequence in it must not move the cursor, and one with a bidirectional override must not read as another.
//! Hostile characters are replaced, not dropped, so that two different names stay different in length and look.

use std::ops::RangeInclusive;

/// Longest text kept, in characters; longer ones end in `…`.
pub const LONGEST: usize = 4096;

/// The text with everything a terminal or a reader could be fooled by replaced: controls (C0, DEL, C1),
/// bidirectional overrides and isolates, zero-width and invisible characters. Line breaks and tabs become blanks.
pub fn printable(text: &str) -> String {
    let mut safe: String = text.chars().take(LONGEST).map(shown_as).collect();
    if text.chars().nth(LONGEST).is_some() {
        safe.pop();
        safe.push('…');
    }
    safe
}

/// What is printed in place of a character: itself, if it is not hostile.
pub fn shown_as(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' => ' ',
        _ if is_hostile(c) => char::REPLACEMENT_CHARACTER,
        _ => c,
    }
}

/// Whether a terminal may obey a character instead of showing it, or a reader be fooled by it.
pub fn is_hostile(c: char) -> bool {
    match c {
        ' '..='~' => false,
        ..='\u{9F}' => true,
        _ => u32::from(c) & 0xFFFE == 0xFFFE || INVISIBLE.iter().any(|range| range.contains(&c)),
    }
}

/// Characters that cannot be seen, or that change how their neighbours are read: all that Unicode calls
/// `Default_Ignorable_Code_Point`, separators of lines, annotations, and the characters that are none.
const INVISIBLE: &[RangeInclusive<char>] = &[
    '\u{00AD}'..='\u{00AD}',   // soft hyphen
    '\u{034F}'..='\u{034F}',   // combining grapheme joiner
    '\u{061C}'..='\u{061C}',   // Arabic letter mark
    '\u{115F}'..='\u{1160}',   // Hangul fillers
    '\u{17B4}'..='\u{17B5}',   // Khmer inherent vowels
    '\u{180B}'..='\u{180F}',   // Mongolian variation selectors and vowel separator
    '\u{200B}'..='\u{200F}',   // zero-width space and joiners, direction marks
    '\u{2028}'..='\u{202E}',   // line and paragraph separators, embeddings and overrides
    '\u{2060}'..='\u{206F}',   // word joiner, invisible operators, isolates
    '\u{3164}'..='\u{3164}',   // Hangul filler
    '\u{FDD0}'..='\u{FDEF}',   // noncharacters
    '\u{FE00}'..='\u{FE0F}',   // variation selectors
    '\u{FEFF}'..='\u{FEFF}',   // byte-order mark
    '\u{FFA0}'..='\u{FFA0}',   // halfwidth Hangul filler
    '\u{FFF0}'..='\u{FFFB}',   // reserved, interlinear annotations
    '\u{1BCA0}'..='\u{1BCA3}', // shorthand format controls
    '\u{1D173}'..='\u{1D17A}', // musical format controls
    '\u{E0000}'..='\u{E0FFF}', // tags, more variation selectors
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_of_any_script_are_left_alone() {
        for name in [
            "NVIDIA H100 80GB HBM3",
            "python3 train.py --épochs=3",
            "推論サーバー",
            "🚀 run",
            "e\u{301}",
        ] {
            assert_eq!(printable(name), name);
        }
    }

    #[test]
    fn nothing_a_terminal_obeys_passes() {
        let every_control = (0..=0x1F).chain(0x7F..=0x9F).filter_map(char::from_u32);
        for c in every_control {
            let text = printable(&format!("a{c}b"));
            assert!(!text.chars().any(char::is_control), "{:x}", u32::from(c));
            assert_eq!(text.chars().count(), 3);
        }
        assert_eq!(printable("\x1b]0;owned\x07\x1b[2J"), "�]0;owned��[2J");
        assert_eq!(printable("one\ntwo\tthree\r"), "one two three ");
    }

    #[test]
    fn nothing_that_reorders_or_hides_passes() {
        let hostile = "\u{FE0F}\u{E0100}\u{FDD1}\u{1FFFF}\u{202A}\u{202B}\u{202C}\u{202D}\u{202E}\u{2066}\u{2067}\u{2068}\u{2069}\u{200B}\u{200D}\u{200E}\u{FEFF}\u{2060}\u{E0041}";
        assert!(printable(hostile).chars().all(|c| c == char::REPLACEMENT_CHARACTER));
    }

    #[test]
    fn a_flood_is_cut_and_says_so() {
        let exact = "x".repeat(LONGEST);
        assert_eq!(printable(&exact), exact);
        let cut = printable(&"é".repeat(LONGEST + 1));
        assert_eq!(cut.chars().count(), LONGEST);
        assert!(cut.ends_with("é…"));
    }
}
