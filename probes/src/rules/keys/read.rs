//! Settings and selectors as files write them.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::selector::{Choice, Selector};
use super::settings::Settings;
use super::{Kind, UNSET, check_value, kind_of, row_of};

struct Pairs<T, F>(F, std::marker::PhantomData<T>);

impl<'de, T, F> Visitor<'de> for Pairs<T, F>
where
    F: FnMut(&str, Vec<String>) -> Result<T, String>,
{
    type Value = Vec<(&'static str, T)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of configuration keys")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(Key(key)) = map.next_key()? {
            let values: OneOrMany = map.next_value()?;
            let value = (self.0)(key, values.0).map_err(A::Error::custom)?;
            pairs.push((key, value));
        }
        pairs.shrink_to_fit();
        Ok(pairs)
    }
}

struct Key(&'static str);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = Cow::<'de, str>::deserialize(deserializer)?;
        row_of(&key).map(|row| Self(row.0)).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let single = |key: &str, values: Vec<String>| match values.as_slice() {
            [value] => check_value(key, value).map(|()| value.as_str().into()),
            _ => Err(format!("{key}: a configuration has one value for each key")),
        };
        let pairs = deserializer.deserialize_map(Pairs(single, std::marker::PhantomData))?;
        Ok(Self::of_pairs(pairs))
    }
}

impl serde::Serialize for Settings {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let choice = |key: &str, values: Vec<String>| match (kind_of(key)?, values.as_slice()) {
            (Kind::Package, [range]) => range.parse().map(Choice::Within),
            (Kind::Package, _) => Err(format!("{key}: write one version range")),
            _ => {
                let named = || values.iter().filter(|value| *value != UNSET);
                if named().next().is_none() {
                    return Err(format!("{key}: name a value beside {UNSET}"));
                }
                named().try_for_each(|value| check_value(key, value))?;
                Ok(Choice::OneOf(values))
            }
        };
        deserializer.deserialize_map(Pairs(choice, std::marker::PhantomData)).map(Self)
    }
}

struct OneOrMany(Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        one_or_many(deserializer).map(Self)
    }
}

/// Reads `"a"` as well as `["a", "b"]`, never an empty list.
pub(in crate::rules) fn one_or_many<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    struct Either;

    impl<'de> Visitor<'de> for Either {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("text or a list of texts")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(vec![text.to_owned()])
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(
            self,
            mut list: A,
        ) -> Result<Self::Value, A::Error> {
            let mut texts = Vec::new();
            while let Some(text) = list.next_element()? {
                texts.push(text);
            }
            if texts.is_empty() {
                Err(A::Error::custom("an empty list accepts nothing"))
            } else {
                texts.shrink_to_fit();
                Ok(texts)
            }
        }
    }

    deserializer.deserialize_any(Either)
}
