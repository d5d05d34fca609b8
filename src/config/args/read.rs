//! Values of arguments as the types that commands work with.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use strum::VariantNames as _;
use warpscope_kernels::gpu::Shape;

use super::{
    BenchDevice, ColorChoice, ConfigAction, Detail, HostAction, Install, Installed, LineFormat,
    Only, PictureFormat, Train, WhatIf,
};
use crate::config::value::{ALL, Kind, Value};
use crate::worker::precision::{Precision, precision, precisions};
use crate::worker::scheduler::BenchMode;
use crate::worker::{Globs, PathDtype};

/// A type that arguments may have.
pub trait ArgValue: Sized {
    /// The value as this type; `None` stands for an argument that was not given and has no default.
    fn read(value: Option<&Value>) -> Option<Self>;
}

impl<T: ArgValue> ArgValue for Option<T> {
    fn read(value: Option<&Value>) -> Option<Self> {
        match value {
            None => Some(None),
            some => T::read(some).map(Some),
        }
    }
}

macro_rules! read {
    ($($type:ty: $($pattern:pat => $read:expr),+;)+) => {
        $(impl ArgValue for $type {
            fn read(value: Option<&Value>) -> Option<Self> {
                match value {
                    $($pattern => Some($read),)+
                    _ => None,
                }
            }
        })+
    };
}

read! {
    bool: Some(Value::Switch(on)) => *on;
    String: Some(Value::Text(text)) => text.clone();
    OsString: Some(Value::Path(path)) => path.clone().into_os_string();
    PathBuf: Some(Value::Path(path)) => path.clone();
    Vec<String>: Some(Value::List(texts)) => texts.clone(), None => Vec::new();
    Vec<PathBuf>: Some(Value::Paths(paths)) => paths.clone(), None => Vec::new();
    Duration: Some(Value::Span(span)) => *span;
    u64: Some(Value::Size(number) | Value::Count(number)) => *number;
    f64: Some(Value::Percent(share)) => *share / 100.0, Some(Value::Factor(factor)) => *factor;
    (u16, u16): Some(Value::Cells(columns, lines)) => (*columns, *lines);
    Shape: Some(Value::Shape([m, n, k])) => Self { m: *m, n: *n, k: *k, ..Self::default() };
    Globs: Some(Value::List(texts)) => Self::from(texts.join(",").as_str()), None => Self::default();
}

/// Enums whose variants are the words an argument allows.
macro_rules! words {
    ($($type:ty),+) => {
        $(impl $type {
            pub(super) const KIND: Kind = Kind::OneOf(Self::VARIANTS);
        }

        impl ArgValue for $type {
            fn read(value: Option<&Value>) -> Option<Self> {
                String::read(value)?.parse().ok()
            }
        })+
    };
}

words!(
    BenchDevice,
    ColorChoice,
    ConfigAction,
    HostAction,
    Install,
    Detail,
    Installed,
    LineFormat,
    Only,
    PictureFormat,
    Train,
    WhatIf
);

impl ArgValue for BenchMode {
    fn read(value: Option<&Value>) -> Option<Self> {
        match String::read(value)?.as_str() {
            "off" => Some(Self::Off),
            "ask" => Some(Self::Ask),
            "auto" => Some(Self::Auto),
            "on" => Some(Self::On),
            _ => None,
        }
    }
}

impl ArgValue for Vec<PathDtype> {
    fn read(value: Option<&Value>) -> Option<Self> {
        let id = |word: String| serde_json::from_value(serde_json::Value::String(word)).ok();
        unique(Vec::<String>::read(value)?.into_iter().map(id))
    }
}

impl ArgValue for Vec<Precision> {
    fn read(value: Option<&Value>) -> Option<Self> {
        let words = Vec::<String>::read(value)?;
        if words.iter().any(|word| word == ALL) {
            return Some(precisions().collect());
        }
        unique(words.iter().map(|word| precision(word)))
    }
}

/// Each once, in the order named.
fn unique<T: PartialEq>(named: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    let mut unique = Vec::new();
    for one in named {
        let one = one?;
        if !unique.contains(&one) {
            unique.push(one);
        }
    }
    Some(unique)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_configs_are_those_of_the_decoder_each_once_and_in_the_order_named() {
        let read = |text: &str| {
            let value = super::super::PATHS.spec.kind.parse(text).expect("is allowed");
            let ways = Vec::<Precision>::read(Some(&value)).expect("is known");
            ways.into_iter().map(|way| way.id).collect::<Vec<_>>()
        };
        assert_eq!(read("nf4,awq,nf4"), ["nf4", "awq"]);
        assert_eq!(read("awq,all"), super::super::PATHS.spec.kind.words()[1..]);
    }
}
