//! One value, or why there is none; structs of them, and their JSON.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One measured value, or why there is none. There is no sentinel number.
#[derive(Debug, Default)]
pub enum Reading<T> {
    /// The value, as of this frame.
    Value(T),
    /// This device or driver does not offer it.
    #[default]
    Unsupported,
    /// It exists, and we may not read it.
    Denied,
    /// The attempt failed; the text names the error.
    Failed(Box<str>),
    /// No answer yet; the last known value if there was one.
    Late(Option<T>),
}

// Derived, these would be inlined into structs of sixty readings: 20 kB of code that is cold each time a second has passed.
impl<T: Clone> Clone for Reading<T> {
    #[inline(never)]
    fn clone(&self) -> Self {
        match self {
            Self::Value(value) => Self::Value(value.clone()),
            Self::Unsupported => Self::Unsupported,
            Self::Denied => Self::Denied,
            Self::Failed(why) => Self::Failed(why.clone()),
            Self::Late(value) => Self::Late(value.clone()),
        }
    }
}

impl<T: PartialEq> PartialEq for Reading<T> {
    #[inline(never)]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Value(one), Self::Value(other)) => one == other,
            (Self::Failed(one), Self::Failed(other)) => one == other,
            (Self::Late(one), Self::Late(other)) => one == other,
            (Self::Unsupported, Self::Unsupported) | (Self::Denied, Self::Denied) => true,
            _ => false,
        }
    }
}

impl<T> Reading<T> {
    /// The value of this very frame.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }

    /// The value to draw: this frame's, or the last known one while late.
    pub fn last(&self) -> Option<&T> {
        match self {
            Self::Value(value) | Self::Late(Some(value)) => Some(value),
            _ => None,
        }
    }

    /// Whether the answer is overdue.
    pub fn is_late(&self) -> bool {
        matches!(self, Self::Late(_))
    }

    /// The same reading of another type.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Reading<U> {
        self.and_then(|value| Reading::Value(f(value)))
    }

    /// What a value leads to; an absence stays as it is.
    pub fn and_then<U>(self, f: impl FnOnce(T) -> Reading<U>) -> Reading<U> {
        match self {
            Self::Value(value) => f(value),
            Self::Unsupported => Reading::Unsupported,
            Self::Denied => Reading::Denied,
            Self::Failed(why) => Reading::Failed(why),
            Self::Late(last) => Reading::Late(last.and_then(|last| match f(last) {
                Reading::Value(value) => Some(value),
                _ => None,
            })),
        }
    }

    /// A value that may not be there.
    pub fn of(value: Option<T>) -> Self {
        value.map_or(Self::Unsupported, Self::Value)
    }

    /// What became of a value that did not arrive in time.
    pub fn make_late(&mut self) {
        if let Self::Value(_) = self
            && let Self::Value(value) = std::mem::take(self)
        {
            *self = Self::Late(Some(value));
        }
    }

    /// Why there is no value, if there is none.
    pub fn absence(&self) -> Option<Absence> {
        match self {
            Self::Value(_) => None,
            Self::Unsupported => Some(Absence::Unsupported),
            Self::Denied => Some(Absence::Denied),
            Self::Failed(why) => Some(Absence::Failed(why.to_string())),
            Self::Late(_) => Some(Absence::Late),
        }
    }

    /// Rebuilds a reading from its serialised halves.
    pub fn from_parts(value: Option<T>, absence: Option<Absence>) -> Self {
        match (value, absence) {
            (Some(value), None) => Self::Value(value),
            (value, Some(Absence::Late)) => Self::Late(value),
            (_, Some(Absence::Denied)) => Self::Denied,
            (_, Some(Absence::Failed(why))) => Self::Failed(why.into()),
            (_, None | Some(Absence::Unsupported)) => Self::Unsupported,
        }
    }
}

impl<T> From<T> for Reading<T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

/// The absent half of a [`Reading`], as written beside the values in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// See [`Reading::Unsupported`].
    Unsupported,
    /// See [`Reading::Denied`].
    Denied,
    /// See [`Reading::Failed`].
    Failed(String),
    /// See [`Reading::Late`].
    Late,
}

impl Absence {
    /// One word for the screen.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Unsupported => "n/a",
            Self::Denied => "denied",
            Self::Failed(_) => "failed",
            Self::Late => "late",
        }
    }
}

/// One column of a struct made by [`readings!`](crate::readings).
pub struct Field<S> {
    /// JSON key, unit included: `power_w`.
    pub key: &'static str,
    /// Short label for the screen.
    pub label: &'static str,
    /// One sentence: what it is and where it comes from.
    pub doc: &'static str,
    /// Unit as printed, empty for counts and text.
    pub unit: &'static str,
    /// The value of this frame as a number, for sinks and graphs.
    pub number: fn(&S) -> Option<f64>,
    /// The value as text, with absence as one word.
    pub text: fn(&S) -> Result<String, Absence>,
    /// Why there is no value of this frame.
    pub absence: fn(&S) -> Option<Absence>,
    /// Marks a value late in place.
    pub make_late: fn(&mut S),
}

/// A struct made by [`readings!`](crate::readings).
pub trait Readings: Sized {
    /// The fields that were written of one, as they are read back.
    type Written: DeserializeOwned;

    /// Writes the fields that differ from those of another.
    fn write_since<S: Serializer>(&self, before: &Self, to: S) -> Result<S::Ok, S::Error>;

    /// Takes the fields that were written over.
    fn take(&mut self, written: Self::Written);
}

/// What differs between two structs of [`Readings`], on both ends of a wire.
pub enum Difference<'a, R: Readings> {
    /// At the end that knows both.
    Between(&'a R, &'a R),
    /// At the other.
    Written(Box<R::Written>),
}

impl<R: Readings> Difference<'_, R> {
    /// Brings what was known at the other end up to date.
    pub fn apply(self, to: &mut R) {
        if let Self::Written(written) = self {
            to.take(*written);
        }
    }
}

impl<R: Readings> Serialize for Difference<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Between(before, now) => now.write_since(before, serializer),
            Self::Written(_) => Err(S::Error::custom("read, not made")),
        }
    }
}

impl<'de, R: Readings> Deserialize<'de> for Difference<'_, R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        R::Written::deserialize(deserializer).map(|written| Self::Written(Box::new(written)))
    }
}

/// The JSON of a struct of readings while it is written.
#[doc(hidden)]
pub struct Writing<M> {
    map: M,
    absent: BTreeMap<&'static str, Absence>,
}

impl<M: SerializeMap> Writing<M> {
    /// Begins a map.
    pub fn begin<S: Serializer<SerializeMap = M, Error = M::Error>>(
        to: S,
    ) -> Result<Self, M::Error> {
        Ok(Self { map: to.serialize_map(None)?, absent: BTreeMap::new() })
    }

    /// Writes a field, unless it is as before.
    #[inline(never)]
    pub fn field<T: Serialize + PartialEq>(
        &mut self,
        key: &'static str,
        before: Option<&Reading<T>>,
        now: &Reading<T>,
    ) -> Result<(), M::Error> {
        if before == Some(now) {
            return Ok(());
        }
        match now.absence() {
            None | Some(Absence::Unsupported) => {}
            Some(why) => drop(self.absent.insert(key, why)),
        }
        self.map.serialize_entry(key, &now.last())
    }

    /// Writes why values are absent.
    pub fn end(mut self) -> Result<M::Ok, M::Error> {
        if !self.absent.is_empty() {
            self.map.serialize_entry("absent", &self.absent)?;
        }
        self.map.end()
    }
}

/// Reads what is there, be it null, so that it differs from what is not there.
#[doc(hidden)]
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Defines a struct of [`Reading`]s together with its table of [`Field`]s and its JSON form:
/// one key per field with a number, text or null, and an `absent` map that says why.
#[macro_export]
macro_rules! readings {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($field:ident : $ty:ty = $label:literal, $doc:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        $vis struct $name { $(#[doc = $doc] $vis $field: $crate::Reading<$ty>,)* }

        impl $name {
            /// Every field: key, label, unit, sentence and accessors.
            $vis const FIELDS: &'static [$crate::Field<$name>] = &[$($crate::Field {
                key: stringify!($field),
                label: $label,
                doc: $doc,
                unit: <$ty as $crate::Scalar>::UNIT,
                number: |all| all.$field.value().and_then($crate::Scalar::number),
                text: |all| match (all.$field.last(), all.$field.absence()) {
                    (Some(value), _) => Ok($crate::Scalar::text(value)),
                    (None, Some(absence)) => Err(absence),
                    (None, None) => Err($crate::Absence::Unsupported),
                },
                absence: |all| all.$field.absence(),
                make_late: |all| all.$field.make_late(),
            },)*];
        }

        impl $name {
            /// Writes the fields that differ from those of another, or all.
            fn write<S: serde::Serializer>(&self, before: Option<&Self>, to: S) -> Result<S::Ok, S::Error> {
                let mut writing = $crate::reading::Writing::begin(to)?;
                $(writing.field(stringify!($field), before.map(|before| &before.$field), &self.$field)?;)*
                writing.end()
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.write(None, serializer)
            }
        }

        const _: () = {
            use $crate::reading::present;

            /// Fields that were written.
            #[derive(serde::Deserialize)]
            $vis struct Written {
                $(#[serde(default = "Option::default", deserialize_with = "present")]
                $field: Option<Option<$ty>>,)*
                #[serde(default)]
                absent: std::collections::HashMap<String, $crate::Absence>,
            }

            impl $crate::reading::Readings for $name {
                type Written = Written;

                fn write_since<S: serde::Serializer>(&self, before: &Self, to: S) -> Result<S::Ok, S::Error> {
                    self.write(Some(before), to)
                }

                fn take(&mut self, mut written: Written) {
                    $(if let Some(value) = written.$field {
                        let absence = written.absent.remove(stringify!($field));
                        self.$field = $crate::Reading::from_parts(value, absence);
                    })*
                }
            }

            impl<'de> serde::Deserialize<'de> for $name {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    let mut all = Self::default();
                    $crate::reading::Readings::take(&mut all, Written::deserialize(deserializer)?);
                    Ok(all)
                }
            }
        };
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Percent, Watts};

    readings! {
        /// Two readings.
        struct Two {
            power_w: Watts = "power", "Board power.";
            util_pct: Percent = "gpu", "Time with a kernel running.";
        }
    }

    #[test]
    fn absent_is_null_and_says_why() {
        let two = Two { power_w: Reading::Denied, util_pct: Percent(82.0).into() };
        let json = serde_json::to_string(&two).expect("serialises");
        assert_eq!(json, r#"{"power_w":null,"util_pct":82.0,"absent":{"power_w":"denied"}}"#);
        assert_eq!(serde_json::from_str::<Two>(&json).expect("reads back"), two);
    }

    #[test]
    fn every_kind_of_absence_survives_the_wire() {
        for power_w in [
            Reading::Value(Watts(1.5)),
            Reading::Unsupported,
            Reading::Denied,
            Reading::Failed("NVML error 31".into()),
            Reading::Late(None),
            Reading::Late(Some(Watts(3.0))),
        ] {
            let two = Two { power_w, ..Two::default() };
            let json = serde_json::to_string(&two).expect("serialises");
            assert_eq!(serde_json::from_str::<Two>(&json).expect("reads back"), two, "{json}");
        }
    }

    #[test]
    fn what_differs_is_all_that_is_written_and_brings_the_other_end_up_to_date() {
        let states = [
            Reading::Value(Watts(1.5)),
            Reading::Unsupported,
            Reading::Denied,
            Reading::Late(None),
            Reading::Late(Some(Watts(3.0))),
        ];
        let two = |power_w: &Reading<Watts>| Two {
            power_w: power_w.clone(),
            util_pct: Percent(8.0).into(),
        };
        for (before, now) in
            states.iter().flat_map(|before| states.iter().map(move |now| (two(before), two(now))))
        {
            let json =
                serde_json::to_string(&Difference::Between(&before, &now)).expect("serialises");
            assert_eq!(json == "{}", before == now, "{json}");
            assert!(!json.contains("util_pct"), "{json}");
            let mut there = before;
            serde_json::from_str::<Difference<'_, Two>>(&json)
                .expect("reads back")
                .apply(&mut there);
            assert_eq!(there, now, "{json}");
        }
    }

    #[test]
    fn a_newer_field_is_ignored_and_a_missing_one_is_unsupported() {
        let two: Two = serde_json::from_str(r#"{"power_w":7,"smell":3}"#).expect("reads");
        assert_eq!(two, Two { power_w: Watts(7.0).into(), util_pct: Reading::Unsupported });
    }

    #[test]
    fn late_keeps_the_last_value_but_not_as_a_number_of_this_frame() {
        let mut two = Two { power_w: Watts(7.0).into(), util_pct: Reading::Denied };
        for field in Two::FIELDS {
            (field.make_late)(&mut two);
        }
        assert_eq!(
            two,
            Two { power_w: Reading::Late(Some(Watts(7.0))), util_pct: Reading::Denied }
        );
        assert_eq!((Two::FIELDS[0].number)(&two), None);
        assert_eq!((Two::FIELDS[0].text)(&two), Ok("7.0".into()));
        assert_eq!((Two::FIELDS[1].text)(&two), Err(Absence::Denied));
    }
}
