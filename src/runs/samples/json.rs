//! JSON documents of other tools. Only what is needed is named; everything else may be there or not.

use serde::Deserialize;
use serde_json::{Deserializer, Value};

use super::PointsError;

pub(super) fn document<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, PointsError> {
    serde_json::from_str(text).map_err(damaged)
}

/// Several documents, one behind the other.
pub(super) fn documents<'a, T: Deserialize<'a> + 'a>(
    text: &'a str,
) -> impl Iterator<Item = Result<T, PointsError>> {
    Deserializer::from_str(text).into_iter().map(|document| document.map_err(damaged))
}

fn damaged(error: serde_json::Error) -> PointsError {
    PointsError(format!("damaged JSON: {error}"))
}

/// A value as a person writes it.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
