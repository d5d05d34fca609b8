//! One argument: how it is given on the command line, where else its value may come from, and its help.

use std::marker::PhantomData;

use super::read::ArgValue;
use crate::config::value::{Kind, Value};

/// How an argument is given on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// With dashes.
    Option,
    /// By position, optional.
    Operand,
    /// By position, required.
    RequiredOperand,
    /// Everything after `--`.
    Rest,
}

/// What a variable that many programs honour implies. An empty one counts as unset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvRule {
    /// Set at all, it means this value.
    Means(&'static str),
    /// Set to anything but `0`, it means this value, except for the dashboard.
    OneShotMeans(&'static str),
}

/// An argument whose value has the type `T`.
pub struct Arg<T> {
    /// Everything about it but its type.
    pub spec: ArgSpec,
    value: PhantomData<fn() -> T>,
}

impl<T: ArgValue> Arg<T> {
    pub(super) const fn new(id: &'static str, spec: ArgSpec) -> Self {
        let readable = |value: Option<&Value>| T::read(value).is_some();
        Self { spec: ArgSpec { id, readable, ..spec }, value: PhantomData }
    }
}

/// An argument of any type, for lists of them.
pub trait AnyArg: Sync {
    /// Everything about it but its type.
    fn spec(&'static self) -> &'static ArgSpec;
}

impl<T> AnyArg for Arg<T> {
    fn spec(&'static self) -> &'static ArgSpec {
        &self.spec
    }
}

/// Everything about an argument but the type of its value.
#[derive(Clone, Copy, Debug)]
pub struct ArgSpec {
    /// The name of its declaration, unique.
    pub id: &'static str,
    /// How it is given on the command line.
    pub form: Form,
    /// Long flag, without dashes.
    pub long: Option<&'static str>,
    /// Short flag.
    pub short: Option<char>,
    /// Flags without a value and what they mean; the help shows only the first.
    pub shorthands: &'static [(&'static str, &'static str)],
    /// Placeholder in the help.
    pub value_name: &'static str,
    /// What the value may be.
    pub kind: Kind,
    /// The default value, as text.
    pub default: Option<&'static str>,
    /// Environment variable with the value.
    pub variable: Option<&'static str>,
    /// Further variables that imply a value, the strongest first.
    pub implied_by: &'static [(&'static str, EnvRule)],
    /// Key in the configuration file.
    pub key: Option<&'static str>,
    /// What the key means, where the help of the flag does not say it.
    pub key_help: Option<&'static str>,
    /// Flags it cannot be combined with.
    pub conflicts: &'static [&'static str],
    /// Whether one flag takes several values.
    pub several: bool,
    /// Whether the help leaves it out.
    pub hidden: bool,
    /// One sentence or two, without the last full stop.
    pub help: &'static str,
    /// Whether the type of the argument can hold a value.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test of the table asks it"))]
    pub(super) readable: fn(Option<&Value>) -> bool,
}

/// Two declarations are the same if their names are.
impl PartialEq for ArgSpec {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

const BASE: ArgSpec = ArgSpec {
    id: "",
    form: Form::Option,
    long: None,
    short: None,
    shorthands: &[],
    value_name: "",
    kind: Kind::Switch,
    default: None,
    variable: None,
    implied_by: &[],
    key: None,
    key_help: None,
    conflicts: &[],
    several: false,
    hidden: false,
    help: "",
    readable: |_| false,
};

/// Flags that turn something on or off.
pub(super) const fn switch(shorthands: &'static [(&'static str, &'static str)]) -> ArgSpec {
    ArgSpec { shorthands, default: Some("off"), ..BASE }
}

/// A flag with a value.
pub(super) const fn option(long: &'static str, value_name: &'static str, kind: Kind) -> ArgSpec {
    ArgSpec { long: Some(long), value_name, kind, ..BASE }
}

/// A value given by position.
pub(super) const fn operand(form: Form, value_name: &'static str, kind: Kind) -> ArgSpec {
    ArgSpec { form, value_name, kind, ..BASE }
}

impl ArgSpec {
    /// Its environment variable and its key in the configuration file.
    pub(super) const fn setting(self, variable: &'static str, key: &'static str) -> Self {
        Self { variable: Some(variable), key: Some(key), ..self }
    }
}

/// One method for each field of [`ArgSpec`] that most arguments leave alone.
macro_rules! setters {
    ($($field:ident: $type:ty => $value:expr;)+) => {
        impl ArgSpec {
            $(pub(super) const fn $field(self, $field: $type) -> Self {
                Self { $field: $value, ..self }
            })+
        }
    };
}

setters! {
    short: char => Some(short);
    shorthands: &'static [(&'static str, &'static str)] => shorthands;
    default: &'static str => Some(default);
    variable: &'static str => Some(variable);
    implied_by: &'static [(&'static str, EnvRule)] => implied_by;
    key_help: &'static str => Some(key_help);
    conflicts: &'static [&'static str] => conflicts;
    several: bool => several;
    hidden: bool => hidden;
    help: &'static str => help;
}

impl ArgSpec {
    /// What error messages call it.
    pub fn name(&self) -> &'static str {
        let flag = self.long.or(self.shorthands.first().map(|row| row.0));
        flag.or(self.key).unwrap_or(self.value_name)
    }

    /// Every variable it is read from, the strongest first.
    pub(in crate::config) fn variables(&self) -> impl Iterator<Item = &'static str> {
        self.variable.into_iter().chain(self.implied_by.iter().map(|row| row.0))
    }
}
