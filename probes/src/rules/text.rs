//! Texts of rules. Those compiled into the program stay where they lie in it: copying them cost half a megabyte of every dashboard.

use std::borrow::Cow;

use std::marker::PhantomData;

use serde::{Deserialize, Deserializer};
use toml::Spanned;

/// Text of a rule: borrowed from the program where it was compiled in, owned where a user wrote it.
pub type Text = Cow<'static, str>;

/// Text on its way from a file into a rule; its type tells which form the file has.
pub(super) trait Words: Into<Text> + AsRef<str> + Default {
    /// Reads a value and where it stands.
    fn place<'de, D: Deserializer<'de>, V: Deserialize<'de>>(
        from: D,
    ) -> Result<(usize, V), D::Error>;
}

/// TOML tells the byte at which a value begins.
impl Words for String {
    fn place<'de, D: Deserializer<'de>, V: Deserialize<'de>>(
        from: D,
    ) -> Result<(usize, V), D::Error> {
        let spanned = Spanned::<V>::deserialize(from)?;
        Ok((spanned.span().start, spanned.into_inner()))
    }
}

/// The build script writes pairs of line and value.
impl Words for BuiltIn {
    fn place<'de, D: Deserializer<'de>, V: Deserialize<'de>>(
        from: D,
    ) -> Result<(usize, V), D::Error> {
        Deserialize::deserialize(from)
    }
}

/// A value of a file whose texts are `T`, and where it stands there.
pub(super) struct Placed<T, V> {
    pub(super) at: usize,
    pub(super) value: V,
    texts: PhantomData<T>,
}

impl<'de, T: Words, V: Deserialize<'de>> Deserialize<'de> for Placed<T, V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (at, value) = T::place(from)?;
        Ok(Self { at, value, texts: PhantomData })
    }
}

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
