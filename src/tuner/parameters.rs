//! The parameters of a candidate.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Values by parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parameters(pub BTreeMap<String, String>);

impl fmt::Display for Parameters {
    /// `block=64 unroll=2`; blanks in a value become underlines, so that words stay words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |(name, value): (&String, &String)| {
            let value: Vec<&str> = value.split_whitespace().collect();
            format!("{name}={}", value.join("_"))
        };
        f.pad(&self.0.iter().map(word).collect::<Vec<_>>().join(" "))
    }
}
