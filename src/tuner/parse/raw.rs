//! A spec as TOML has it, and what is wrong at a place of it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

/// A text or a list of texts.
#[derive(Deserialize)]
#[serde(untagged, expecting = "must be a text or a list of texts")]
pub(super) enum Words {
    Text(String),
    List(Vec<String>),
}

/// A value of a parameter or a size.
#[derive(Deserialize)]
#[serde(untagged, expecting = "must be a text, a number, true or false")]
pub(super) enum Scalar {
    Switch(bool),
    Whole(i64),
    Number(f64),
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(on) => on.fmt(f),
            Self::Whole(number) => number.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

pub(super) type Scalars = BTreeMap<String, Scalar>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    pub(super) name: Spanned<String>,
    pub(super) kind: Option<Spanned<String>>,
    pub(super) source: Option<Words>,
    pub(super) build: Option<Spanned<Words>>,
    pub(super) build_timeout: Option<Spanned<Scalar>>,
    pub(super) run: Option<Spanned<Words>>,
    #[serde(default)]
    pub(super) shell: bool,
    pub(super) timeout: Option<Spanned<Scalar>>,
    pub(super) contract: Spanned<RawContract>,
    #[serde(default)]
    pub(super) shape: Vec<Spanned<Scalars>>,
    pub(super) dtypes: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    pub(super) params: BTreeMap<String, Spanned<Vec<Scalar>>>,
    pub(super) restrictions: Option<Spanned<Vec<String>>>,
    pub(super) strategy: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) metrics: BTreeMap<String, Spanned<String>>,
    pub(super) objective: Option<Spanned<RawObjective>>,
    pub(super) budget: Option<Spanned<i64>>,
    pub(super) baseline: Option<Spanned<Scalars>>,
    pub(super) samples: Option<Spanned<i64>>,
    pub(super) blocks: Option<Spanned<i64>>,
    pub(super) warmup: Option<Spanned<i64>>,
    pub(super) early_stop: Option<Spanned<Scalar>>,
    pub(super) device: Option<String>,
    pub(super) roof: Option<Spanned<String>>,
    pub(super) entry: Option<Spanned<String>>,
    pub(super) image: Option<Spanned<String>>,
    pub(super) options: Option<Spanned<Vec<String>>>,
    pub(super) launch: Option<RawLaunch>,
    pub(super) nvrtc: Option<PathBuf>,
    pub(super) cublas: Option<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawObjective {
    pub(super) minimize: Option<String>,
    pub(super) maximize: Option<String>,
}

/// What is wrong at a place of the text.
pub(super) struct Wrong(pub(super) Range<usize>, pub(super) String);

pub(super) type Checked<T> = Result<T, Wrong>;

pub(super) fn wrong<T>(at: &Range<usize>, message: impl Into<String>) -> Checked<T> {
    Err(Wrong(at.clone(), message.into()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawContract {
    pub(super) kind: Spanned<String>,
    pub(super) reference: Option<Spanned<Words>>,
    pub(super) output: Option<Spanned<String>>,
    pub(super) tolerance: Option<Spanned<f64>>,
    pub(super) abs: Option<Spanned<f64>>,
    pub(super) rel: Option<Spanned<f64>>,
    pub(super) function: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLaunch {
    pub(super) grid: Spanned<Vec<Scalar>>,
    pub(super) block: Spanned<Vec<Scalar>>,
    pub(super) shared: Option<Spanned<Scalar>>,
    pub(super) args: Spanned<Vec<Scalar>>,
}

impl RawLaunch {
    /// Where it stands.
    pub(super) fn place(&self) -> std::ops::Range<usize> {
        self.grid.span()
    }
}
