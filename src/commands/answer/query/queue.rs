//! Words that wait to be read, of which those ahead can be seen.

/// Words, and how many of them were taken.
pub(super) struct Queue {
    words: Vec<String>,
    at: usize,
}

impl Queue {
    pub(super) fn new(words: Vec<String>) -> Self {
        Self { words, at: 0 }
    }

    pub(super) fn next(&mut self) -> Option<String> {
        let word = self.words.get(self.at).cloned();
        self.at += usize::from(word.is_some());
        word
    }

    pub(super) fn next_if(&mut self, takes: impl FnOnce(&String) -> bool) -> Option<String> {
        let word = self.words.get(self.at).filter(|word| takes(word)).cloned();
        self.at += usize::from(word.is_some());
        word
    }

    pub(super) fn peek(&self) -> Option<&str> {
        self.words.get(self.at).map(String::as_str)
    }

    pub(super) fn second(&self) -> Option<&str> {
        self.words.get(self.at + 1).map(String::as_str)
    }

    /// The word that was taken last, and those that wait.
    pub(super) fn since_last(&self) -> &[String] {
        &self.words[self.at.saturating_sub(1)..]
    }

    /// Takes so many words, that which was taken last among them, as they were typed.
    pub(super) fn take_since_last(&mut self, count: usize) -> String {
        let first = self.at.saturating_sub(1);
        self.at = (first + count).min(self.words.len());
        self.words[first..self.at].join(" ").trim_end_matches([',', ';']).to_owned()
    }
}
