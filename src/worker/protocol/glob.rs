use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::fits;

/// Names with `*` for any letters and `?` for one, separated by commas. None at all means everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Globs(String);

impl Globs {
    /// Whether a name is meant.
    pub fn matches(&self, name: &str) -> bool {
        let mut words = self.words().peekable();
        words.peek().is_none() || words.any(|word| fits(word, name))
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split(',').map(str::trim).filter(|word| !word.is_empty())
    }
}

impl From<&str> for Globs {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Globs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.words().collect();
        f.write_str(
            if words.is_empty() { "everything".to_owned() } else { words.join(", ") }.as_str(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_letters() {
        for (globs, name, want) in [
            ("", "gemm.f16", true),
            (" , ", "gemm.f16", true),
            ("gemm.f16", "gemm.f16", true),
            ("gemm.f1", "gemm.f16", false),
            ("gemm.*", "gemm.f16", true),
            ("gemm*", "gemv.f16", false),
            ("*16", "gemm.bf16", true),
            ("*.f*6*", "gemm.f16", true),
            ("gem?.f16", "gemv.f16", true),
            ("gem?.f16", "gem.f16", false),
            ("attn.*, gemv.*", "gemv.f16", true),
            ("*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
            ("*", "", true),
        ] {
            assert_eq!(Globs::from(globs).matches(name), want, "{globs:?} {name:?}");
        }
        assert_eq!(Globs::from("").to_string(), "everything");
        assert_eq!(Globs::from("a*,b").to_string(), "a*, b");
    }
}
