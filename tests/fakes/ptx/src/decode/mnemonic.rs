//! Modifiers of a mnemonic. Each must be asked for: what nobody took is an error, never passed over.

/// The modifiers not taken yet, in order.
#[derive(Clone, Debug)]
pub(super) struct Modifiers<'a> {
    rest: Vec<&'a str>,
}

impl<'a> Modifiers<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text.split('.').filter(|part| !part.is_empty()).collect() }
    }

    /// Takes a modifier, wherever it stands.
    pub(super) fn take(&mut self, modifier: &str) -> bool {
        match self.rest.iter().position(|part| *part == modifier) {
            Some(at) => {
                self.rest.remove(at);
                true
            }
            None => false,
        }
    }

    /// Takes the first of some modifiers that is there.
    pub(super) fn take_any(&mut self, some: &[&str]) -> Option<&'a str> {
        let at = self.rest.iter().position(|part| some.contains(part))?;
        Some(self.rest.remove(at))
    }

    /// Takes all of these, and all with these beginnings.
    pub(super) fn drop(&mut self, some: &[&str], beginnings: &[&str]) {
        self.rest.retain(|part| {
            !some.contains(part) && !beginnings.iter().any(|beginning| part.starts_with(beginning))
        });
    }

    /// Takes the last: the type.
    pub(super) fn last(&mut self) -> Option<&'a str> {
        self.rest.pop()
    }

    /// The type, left where it is.
    pub(super) fn peek_last(&self) -> &'a str {
        self.rest.last().copied().unwrap_or_default()
    }

    /// Takes the first.
    pub(super) fn first(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() { None } else { Some(self.rest.remove(0)) }
    }

    pub(super) fn rest(&self) -> &[&'a str] {
        &self.rest
    }

    /// What is left, dotted.
    pub(super) fn joined(&self) -> String {
        self.rest.join(".")
    }
}
