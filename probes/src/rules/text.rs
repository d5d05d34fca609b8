//! Texts of rules. Those compiled into the program stay where they lie in it: copying them cost half a megabyte of every dashboard.

use std::borrow::Cow;

use serde::Deserialize;

/// Text of a rule: borrowed from the program where it was compiled in, owned where a user wrote it.
pub type Text = Cow<'static, str>;

/// Text on its way from a file into a rule.
pub(super) trait Words: Into<Text> + AsRef<str> + Default {}

impl<T: Into<Text> + AsRef<str> + Default> Words for T {}

/// Text of the program's own JSON; only one with escapes in it is copied.
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub(super) struct BuiltIn(#[serde(borrow)] Cow<'static, str>);

impl From<BuiltIn> for Text {
    fn from(text: BuiltIn) -> Self {
        text.0
    }
}

impl AsRef<str> for BuiltIn {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_with_escapes_is_copied() {
        let read = |json| serde_json::from_str::<BuiltIn>(json).map(Text::from).expect("is text");
        assert!(matches!(read(r#""as it lies""#), Cow::Borrowed("as it lies")));
        assert!(matches!(read(r#""two\nlines""#), Cow::Owned(text) if text == "two\nlines"));
    }
}
