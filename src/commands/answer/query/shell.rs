//! A command line cut into words, as a shell would: quotes hold together, and so does what stands in braces.

/// The words of what was typed. What the shell cut already is cut again at blanks, since questions are quoted as a whole.
pub(super) fn words(typed: &[String]) -> Vec<String> {
    typed
        .iter()
        .flat_map(|typed| Cut::default().all(typed))
        .filter(|word| !word.is_empty())
        .collect()
}

#[derive(Default)]
struct Cut {
    words: Vec<String>,
    word: String,
    quote: Option<char>,
    depth: usize,
}

impl Cut {
    fn all(mut self, typed: &str) -> Vec<String> {
        for letter in typed.chars() {
            self.take(letter);
        }
        self.words.push(self.word);
        self.words
    }

    fn take(&mut self, letter: char) {
        let begins = self.word.is_empty() || self.word.ends_with('=');
        match (letter, self.quote) {
            ('{', _) if begins || self.depth > 0 => self.depth += 1,
            ('}', _) if self.depth > 0 => self.depth -= 1,
            _ if self.depth > 0 => {}
            (quote, Some(open)) if quote == open => {
                self.quote = None;
                return;
            }
            ('"' | '\'', None) if begins => {
                self.quote = Some(letter);
                return;
            }
            (blank, None) if blank.is_whitespace() => {
                self.words.push(std::mem::take(&mut self.word));
                return;
            }
            _ => {}
        }
        self.word.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_braces_hold_together() {
        for (typed, want) in [
            ("vllm  awq", "vllm|awq"),
            ("docker run --gpus '\"device=0\"' x", "docker|run|--gpus|\"device=0\"|x"),
            ("--prompt \"two words\" awq", "--prompt|two words|awq"),
            ("--spec='{\"n\": 3}' awq", "--spec={\"n\": 3}|awq"),
            ("--spec {\"n\": {\"m\": 3}} awq", "--spec|{\"n\": {\"m\": 3}}|awq"),
            ("it's", "it's"),
        ] {
            assert_eq!(words(&[typed.to_owned()]).join("|"), want);
        }
    }
}
