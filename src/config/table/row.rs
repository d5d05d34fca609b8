//! A row of the table: how an option is given, where else its value may stand, and what is said of it.

use super::id::Id;
use crate::config::value::Kind;

/// How an option is given on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// With dashes.
    Option,
    /// By its place, may be left out.
    Operand,
    /// By its place, must be there.
    RequiredOperand,
    /// Everything behind `--`.
    Rest,
}

/// How an environment variable is read. An empty one counts as unset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvRule {
    /// Its content is the value.
    Value,
    /// Being set at all means this value.
    Means(&'static str),
    /// Being set to anything but `0` means this value, for everything but the dashboard.
    OneShotMeans(&'static str),
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct ArgSpec {
    /// Its name in the code.
    pub id: Id,
    /// How it is given on the command line.
    pub form: Form,
    /// Long flag, without dashes.
    pub long: Option<&'static str>,
    /// Short flag.
    pub short: Option<char>,
    /// Flags without a value and what they mean; only the first is shown in the help.
    pub shorthands: &'static [(&'static str, &'static str)],
    /// Placeholder in the help.
    pub value_name: &'static str,
    /// What the value may be.
    pub kind: Kind,
    /// The value nobody gave, as text.
    pub default: Option<&'static str>,
    /// Environment variables, the stronger first.
    pub env: &'static [(&'static str, EnvRule)],
    /// Key in the configuration file.
    pub key: Option<&'static str>,
    /// What the key means, one sentence without its full stop.
    pub key_help: &'static str,
    /// Flags it cannot stand beside.
    pub apart: &'static [&'static str],
    /// Whether the help leaves it out.
    pub hidden: bool,
    /// One sentence or two.
    pub help: &'static str,
}

impl ArgSpec {
    const BASE: Self = Self {
        id: Id::File,
        form: Form::Option,
        long: None,
        short: None,
        shorthands: &[],
        value_name: "",
        kind: Kind::Switch,
        default: None,
        env: &[],
        key: None,
        key_help: "",
        apart: &[],
        hidden: false,
        help: "",
    };

    pub(super) const fn switch(
        id: Id,
        shorthands: &'static [(&'static str, &'static str)],
        help: &'static str,
    ) -> Self {
        Self { id, shorthands, default: Some("off"), help, ..Self::BASE }
    }

    pub(super) const fn option(
        id: Id,
        long: &'static str,
        value_name: &'static str,
        kind: Kind,
    ) -> Self {
        Self { id, long: Some(long), value_name, kind, ..Self::BASE }
    }

    pub(super) const fn operand(id: Id, form: Form, value_name: &'static str, kind: Kind) -> Self {
        Self { id, form, value_name, kind, ..Self::BASE }
    }

    /// What error messages call it.
    pub fn name(&self) -> &'static str {
        let flag = self.long.or(self.shorthands.first().map(|row| row.0));
        flag.or(self.key).unwrap_or(self.value_name)
    }
}
