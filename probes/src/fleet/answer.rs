//! Answers of Prometheus' API: vectors of one moment, and matrices of the past.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

/// Longest name, label or value that is believed.
const LONGEST: usize = 256;

/// A series: its labels and its values, each with its time in seconds since the epoch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series<'a> {
    labels: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// Time and value, oldest first.
    pub values: Vec<(f64, f64)>,
}

impl Series<'_> {
    /// The value of a label; none where it is empty.
    pub fn label(&self, name: &str) -> Option<&str> {
        let found = self.labels.iter().find(|label| label.0 == name);
        found.map(|label| label.1.as_ref()).filter(|value| !value.is_empty())
    }

    /// The newest value.
    pub fn last(&self) -> Option<f64> {
        self.values.last().map(|value| value.1)
    }
}

#[derive(Deserialize)]
struct Answer<'a> {
    status: &'a str,
    #[serde(borrow, default)]
    data: Option<Data<'a>>,
    #[serde(default)]
    error: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow, default)]
    result: Vec<Raw<'a>>,
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow, default)]
    metric: Labels<'a>,
    #[serde(borrow)]
    value: Option<Point<'a>>,
    #[serde(borrow, default)]
    values: Vec<Point<'a>>,
}

#[derive(Deserialize)]
struct Point<'a>(f64, #[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Default)]
struct Labels<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Labels<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Labels<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("labels")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Labels<'de>, M::Error> {
                let mut labels = Vec::with_capacity(map.size_hint().unwrap_or(4));
                while let Some(Text(name)) = map.next_key()? {
                    if name.len() > LONGEST {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    let Text(value) = map.next_value()?;
                    if value.len() <= LONGEST {
                        labels.push((name, value));
                    }
                }
                Ok(Labels(labels))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// The series of an answer; an error is the server's, or says that this is no answer of such a server. Values that are no finite numbers are
/// left out.
pub fn parse(body: &[u8]) -> Result<Vec<Series<'_>>, String> {
    let no_answer = |error| format!("this is no answer of Prometheus' API: {error}");
    let answer: Answer<'_> =
        serde_json::from_slice(body).map_err(|error| no_answer(error.to_string()))?;
    match (answer.status, answer.data) {
        ("success", Some(data)) => Ok(data.result.into_iter().map(series).collect()),
        ("success", None) => Err(no_answer("no data".to_owned())),
        _ => Err(answer.error.map_or_else(|| "an error without words".to_owned(), short)),
    }
}

fn short(words: Cow<'_, str>) -> String {
    words.chars().take(LONGEST).collect()
}

fn series(raw: Raw<'_>) -> Series<'_> {
    let points = raw.values.into_iter().chain(raw.value);
    let values = points.filter_map(|Point(at, value)| {
        let value: f64 = value.parse().ok()?;
        (value.is_finite() && at.is_finite()).then_some((at, value))
    });
    Series { labels: raw.metric.0, values: values.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shapes as prometheus.io/docs/prometheus/latest/querying/api gives them, read 2026-11-23.
    #[test]
    fn vectors_matrices_and_errors_are_told_apart() {
        let vector = br#"{"status":"success","data":{"resultType":"vector","result":[
            {"metric":{"__name__":"up","job":"prometheus","instance":"localhost:9090"},"value":[1435781451.781,"1"]},
            {"metric":{"instance":"no\"de"},"value":[1435781451.781,"NaN"]}]}}"#;
        let series = parse(vector).expect("a vector");
        assert_eq!(series[0].label("job"), Some("prometheus"));
        assert_eq!(series[0].last(), Some(1.0));
        assert_eq!((series[1].label("instance"), series[1].last()), (Some("no\"de"), None));
        let matrix = br#"{"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{},"values":[[1435781430.781,"1"],[1435781445.781,"2.5"]]}]}}"#;
        let series = parse(matrix).expect("a matrix");
        assert_eq!(series[0].values, [(1_435_781_430.781, 1.0), (1_435_781_445.781, 2.5)]);
        let error = br#"{"status":"error","errorType":"bad_data","error":"parse error"}"#;
        assert_eq!(parse(error), Err("parse error".to_owned()));
        assert!(parse(b"<html>").is_err_and(|why| why.starts_with("this is no answer")));
    }
}
