//! Rules: documented requirements as data, one file per framework in `probes/rules/`.
//!
//! This module reads and checks them; the engine decides with them. TOML instead of code, so that a rule can be added, reviewed and
//! tested by somebody who writes no Rust, and so that a user can keep a folder of their own.

mod base;
mod builtin;
mod condition;
mod entry;
mod file;
mod keys;
mod range;
mod source;
mod text;
mod version;

pub use base::{MODELS, RuleBase, RuleError};
pub use condition::{Condition, DeviceFacts, Part};
pub use entry::{
    COSTS, Confidence, ConfigRow, Cost, Dependent, Effect, Framework, Launch, LaunchArg, Lever,
    Report, Rule, STAGES, Side, Stage,
};
pub use file::PLACEHOLDERS;
pub use keys::{
    ANY_VERSION, Choice, KEYS, Kind, OTHER_MODEL, Selector, Settings, check_value, dtype_id,
    kind_of,
};
pub use range::{NumberRange, SmSet, VersionRange};
pub use text::Text;
pub use version::{ParseVersionError, Version, build_of};
