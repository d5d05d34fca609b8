//! Values of the table by their type.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::{Id, Settings, Value};

/// Values by the type the table gives them.
pub(crate) struct Typed<'a>(pub(crate) &'a Settings);

impl Typed<'_> {
    pub(crate) fn switch(&self, id: Id) -> bool {
        matches!(self.0.get(id), Some(Value::Switch(true)))
    }

    pub(crate) fn word(&self, id: Id) -> Option<String> {
        match self.0.get(id) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    pub(crate) fn text(&self, id: Id) -> String {
        self.word(id).unwrap_or_default()
    }

    pub(crate) fn list(&self, id: Id) -> Vec<String> {
        match self.0.get(id) {
            Some(Value::List(texts)) => texts.clone(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn path(&self, id: Id) -> Option<PathBuf> {
        match self.0.get(id) {
            Some(Value::Path(path)) => Some(path.clone()),
            _ => None,
        }
    }

    pub(crate) fn paths(&self, id: Id) -> Vec<PathBuf> {
        match self.0.get(id) {
            Some(Value::Paths(paths)) => paths.clone(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn span(&self, id: Id) -> Option<Duration> {
        match self.0.get(id) {
            Some(Value::Span(span)) => Some(*span),
            _ => None,
        }
    }

    pub(crate) fn percent(&self, id: Id) -> Option<f64> {
        match self.0.get(id) {
            Some(Value::Percent(share)) => Some(*share / 100.0),
            _ => None,
        }
    }

    pub(crate) fn number(&self, id: Id) -> Option<u64> {
        match self.0.get(id) {
            Some(Value::Size(number) | Value::Count(number)) => Some(*number),
            _ => None,
        }
    }

    pub(crate) fn factor(&self, id: Id) -> Option<f64> {
        match self.0.get(id) {
            Some(Value::Factor(factor)) => Some(*factor),
            _ => None,
        }
    }
}
