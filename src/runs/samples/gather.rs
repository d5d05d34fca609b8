//! Numbers, units and rows as other tools write them, gathered into points.

use std::collections::HashMap;

use super::{Key, Point, Points};

/// Nanoseconds of one unit of time, by its names.
const UNITS: &[(&[&str], f64)] = &[
    (&["ps", "picosecond"], 1e-3),
    (&["ns", "nsecond", "nanosecond"], 1.0),
    (&["us", "µs", "μs", "usecond", "microsecond"], 1e3),
    (&["ms", "msecond", "millisecond"], 1e6),
    (&["s", "second", "sec"], 1e9),
];

/// Nanoseconds of one unit: `us`, `usecond`, `µs`.
pub(super) fn unit_ns(unit: &str) -> Option<f64> {
    let unit = unit.trim().trim_end_matches("(s)");
    let row = UNITS.iter().find(|row| row.0.contains(&unit));
    row.map(|row| row.1)
}

/// A number that is a measurement, with or without separated thousands: `1234.5`, `1,234.5`.
pub(super) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let whole = text.split(['.', 'e', 'E']).next().unwrap_or_default();
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let separated = whole.contains(',');
    if separated && (first.len() > 3 || !groups.all(|group| group.len() == 3)) {
        return None;
    }
    let number: f64 = text.replacen(',', "", whole.matches(',').count()).parse().ok()?;
    good(number).then_some(number)
}

pub(super) fn good(number: f64) -> bool {
    number.is_finite() && number > 0.0
}

/// `a=1 b=2`; nothing where there is no pair.
pub(super) fn pairs<N: AsRef<str>, V: AsRef<str>>(
    pairs: impl IntoIterator<Item = (N, V)>,
) -> Option<String> {
    let words: Vec<String> = pairs
        .into_iter()
        .filter(|(_, value)| !value.as_ref().is_empty())
        .map(|(name, value)| format!("{}={}", name.as_ref(), value.as_ref()))
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Points of a text; samples of one key and configuration become one point.
#[derive(Default)]
pub(super) struct Gather {
    all: Points,
    at: HashMap<(Key, Option<String>), usize>,
}

impl Gather {
    /// Adds the times that are measurements; an entry without one is left out.
    pub(super) fn add(
        &mut self,
        key: Key,
        config: Option<String>,
        t_ns: impl IntoIterator<Item = f64>,
    ) {
        let t_ns: Vec<f64> = t_ns.into_iter().filter(|ns| good(*ns)).collect();
        if t_ns.is_empty() {
            return self.leave_out(|| format!("{key} has no time"));
        }
        let points = &mut self.all.points;
        let at = *self.at.entry((key.clone(), config.clone())).or_insert(points.len());
        match points.get_mut(at) {
            Some(point) => point.t_ns.extend(t_ns),
            None => points.push(Point { key, config, t_ns, ..Point::default() }),
        }
    }

    /// Counts an entry that is no measurement; the first one's reason is kept.
    pub(super) fn leave_out(&mut self, why: impl FnOnce() -> String) {
        self.all.left_out += 1;
        self.all.damaged.get_or_insert_with(why);
    }

    /// Counts an entry that holds no samples by its kind, which is no fault.
    pub(super) fn pass_over(&mut self) {
        self.all.left_out += 1;
    }

    pub(super) fn points(self) -> Points {
        self.all
    }
}

/// A key that is a name alone.
pub(super) fn named(name: impl Into<String>) -> Key {
    Key { name: name.into(), ..Key::default() }
}

/// One row of a table, with the names of its columns.
pub(super) struct Row<'a> {
    pub(super) names: &'a [String],
    pub(super) values: &'a [String],
}

impl Row<'_> {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let at = self.names.iter().position(|one| one == name)?;
        self.values.get(at).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        number(self.get(name)?)
    }

    /// Names and values, in order.
    pub(super) fn cells(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names.iter().zip(self.values).map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Reads tables of comma-separated values: what stands before the first header is a program's prose, and a second header begins another table.
pub(super) fn csv_rows(
    text: &str,
    is_header: impl Fn(&[String]) -> bool,
    mut take: impl FnMut(&Row<'_>),
) {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut names = Vec::new();
    for record in reader.records().map_while(Result::ok) {
        let values: Vec<String> = record.iter().map(str::to_owned).collect();
        if is_header(&values) {
            names = values;
        } else if values.len() == names.len() {
            take(&Row { names: &names, values: &values });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_may_be_separated_but_not_anyhow() {
        let cases = [
            ("1,234.5", Some(1234.5)),
            ("10,196,000", Some(10_196_000.0)),
            ("41.5", Some(41.5)),
            ("1.5e3", Some(1500.0)),
            ("1,5", None),
            ("1234,567", None),
            ("n/a", None),
            ("inf", None),
            ("-1", None),
        ];
        for (text, want) in cases {
            assert_eq!(number(text), want, "{text}");
        }
    }

    #[test]
    fn units_are_known_by_the_names_tools_give_them() {
        let units = ["nsecond", "us", "µs", "ms", "s", "parsec"];
        let want = [Some(1.0), Some(1e3), Some(1e3), Some(1e6), Some(1e9), None];
        assert_eq!(units.map(unit_ns), want);
    }
}
