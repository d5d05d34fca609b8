//! The 1024 pieces of text: syllables, and `!` for token 0.
//!
//! Token 0 is `!` in the vocabularies of GPT-2 and its heirs; that is why an argmax over NaN prints exclamation marks.

const ONSETS: [&str; 16] =
    [" b", " d", " f", " g", " h", " l", " m", " s", "l", "m", "n", "r", "s", "t", "v", "w"];
const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ai", "ea", "ou"];
const ENDS: [&str; 8] = ["", "l", "n", "nd", "r", "rn", "st", "th"];

/// The text of one token; `?` for a number outside the vocabulary.
pub fn piece(token: u32) -> String {
    match token {
        0 => "!".to_owned(),
        1..1024 => {
            let digit = |shift: u32, count: u32| (token >> shift) as usize % count as usize;
            [ONSETS[digit(0, 16)], VOWELS[digit(4, 8)], ENDS[digit(7, 8)]].concat()
        }
        _ => "?".to_owned(),
    }
}

/// The text of a sequence.
pub fn text(tokens: &[u32]) -> String {
    tokens.iter().map(|&token| piece(token)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::model::M0;

    #[test]
    fn pieces_are_distinct_short_and_printable() {
        let pieces: HashSet<String> = (0..M0.vocab as u32).map(piece).collect();
        assert_eq!(pieces.len(), M0.vocab);
        assert!(pieces.iter().all(|p| (1..=6).contains(&p.len())));
        assert!(pieces.iter().all(|p| p.bytes().all(|b| (b' '..=b'~').contains(&b))));
        assert_eq!(pieces.iter().filter(|p| p.contains('!')).count(), 1);
    }

    #[test]
    fn token_zero_is_the_exclamation_mark() {
        assert_eq!(text(&[0, 0, 0, 1024]), "!!!?");
    }
}
