//! A selected row and a line of text: what most tabs and popups are operated by.

/// A selected row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Selected row.
    pub at: usize,
}

impl Cursor {
    /// Moves by `step`, within `count` rows.
    pub fn step(&mut self, step: isize, count: usize) {
        self.at = self.at.saturating_add_signed(step).min(count.saturating_sub(1));
    }

    /// Goes to a row that was clicked; true: it was there already, and is to be opened.
    pub fn hit(&mut self, row: usize) -> bool {
        std::mem::replace(&mut self.at, row) == row
    }
}

/// Text being typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// What was typed so far.
    pub text: String,
}

impl Input {
    /// Longest text that is taken.
    pub const LIMIT: usize = 80;

    /// Appends a character; control characters and what is over the limit are left out.
    pub fn push(&mut self, character: char) {
        self.push_within(character, Self::LIMIT);
    }

    /// The same with another limit.
    pub fn push_within(&mut self, character: char, limit: usize) {
        if !character.is_control() && self.text.chars().count() < limit {
            self.text.push(character);
        }
    }

    /// Takes the last character back.
    pub fn erase(&mut self) {
        self.text.pop();
    }

    /// Whether every word typed occurs in `haystack`, case aside.
    pub fn matches(&self, haystack: &str) -> bool {
        let haystack = haystack.to_lowercase();
        self.text.split_whitespace().all(|word| haystack.contains(&word.to_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_wants_every_word() {
        let input = Input { text: "LLM awq".into() };
        assert!(input.matches("vLLM · AWQ"));
        assert!(!input.matches("vLLM · gptq"));
        let mut long = Input::default();
        "x\x1by".repeat(90).chars().for_each(|c| long.push(c));
        assert_eq!(long.text.len(), Input::LIMIT);
        assert!(!long.text.contains('\x1b'));
    }
}
