use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

/// Shortest time between frames.
pub const INTERVAL_MIN: Duration = Duration::from_millis(100);
/// Longest time between frames.
pub const INTERVAL_MAX: Duration = Duration::from_secs(60);
/// Slowest and fastest replay.
const FACTOR_RANGE: RangeInclusive<f64> = 0.01..=1000.0;
/// Shares of a memory.
const SHARE_RANGE: RangeInclusive<f64> = 0.01..=1.0;
/// Shares that make sense as noise.
const PERCENT_RANGE: RangeInclusive<f64> = 0.0..=50.0;
/// Widest and highest drawing.
const CELLS_MAX: u16 = 1000;

/// What a value may be, on the command line, in the environment and in the file alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// On or off.
    Switch,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Any of these words, each once or more.
    AnyOf(&'static [&'static str]),
    /// Any text.
    Text,
    /// Any number of texts.
    List,
    /// Devices by number or UUID; [`ALL`] of them where none is named.
    Devices,
    /// A file name.
    Path,
    /// A time between frames.
    Interval,
    /// A length of time.
    Span,
    /// A number of bytes.
    Size,
    /// A whole number.
    Count,
    /// A factor against real time.
    Factor,
    /// A share of the whole.
    Share,
    /// A number of columns and lines.
    Cells,
    /// Rows, columns and inner dimension of a product.
    Shape,
    /// Any number of file names.
    Paths,
    /// Any number of folders, in one text separated by commas.
    Folders,
    /// A share in per cent.
    Percent,
    /// Any number of words, taken as they are.
    Words,
}

/// What stands for every device.
pub const ALL: &str = "all";

/// Values of one layer by the id of their argument.
pub type Values = BTreeMap<&'static str, Value>;

/// A value that was understood.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of [`Kind::Switch`].
    Switch(bool),
    /// Of [`Kind::OneOf`] and [`Kind::Text`].
    Text(String),
    /// Of [`Kind::AnyOf`], [`Kind::List`], [`Kind::Devices`] and [`Kind::Words`].
    List(Vec<String>),
    /// Of [`Kind::Path`].
    Path(PathBuf),
    /// Of [`Kind::Paths`] and [`Kind::Folders`].
    Paths(Vec<PathBuf>),
    /// Of [`Kind::Interval`] and [`Kind::Span`].
    Span(Duration),
    /// Of [`Kind::Size`].
    Size(u64),
    /// Of [`Kind::Count`].
    Count(u64),
    /// Of [`Kind::Factor`] and [`Kind::Share`].
    Factor(f64),
    /// Of [`Kind::Cells`]: columns, lines.
    Cells(u16, u16),
    /// Of [`Kind::Percent`].
    Percent(f64),
    /// Of [`Kind::Shape`].
    Shape([u32; 3]),
}

/// Byte units and their factors, in lower case.
const SIZE_UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("b", 1),
    ("kb", 1_000),
    ("k", 1 << 10),
    ("kib", 1 << 10),
    ("mb", 1_000_000),
    ("m", 1 << 20),
    ("mib", 1 << 20),
    ("gb", 1_000_000_000),
    ("g", 1 << 30),
    ("gib", 1 << 30),
];

impl Kind {
    /// Understands a text that need not be UTF-8 where it names files.
    pub fn parse_os(self, text: &OsStr) -> Result<Value, String> {
        let parsed = match self {
            Self::Path => (!text.is_empty()).then(|| Value::Path(text.into())),
            Self::Paths => (!text.is_empty()).then(|| Value::Paths(vec![text.into()])),
            Self::Folders => {
                let parts = text.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
                let parts = parts.filter(|part| !part.is_empty());
                let folder = |part| PathBuf::from(OsStr::from_bytes(part));
                Some(Value::Paths(parts.map(folder).collect()))
            }
            _ => return self.parse(text.to_str().ok_or_else(|| self.allowed())?),
        };
        parsed.ok_or_else(|| self.allowed())
    }

    /// Understands a text, or says what is allowed.
    pub fn parse(self, text: &str) -> Result<Value, String> {
        let parsed = match self {
            Self::Switch => switch(text).map(Value::Switch),
            Self::OneOf(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
            Self::AnyOf(words) => {
                let parts = split(text);
                let known = parts.iter().all(|part| words.contains(&part.as_str()));
                (known && !parts.is_empty()).then_some(Value::List(parts))
            }
            Self::Text => (!text.is_empty()).then(|| Value::Text(text.to_owned())),
            Self::List | Self::Devices => Some(Value::List(split(text))),
            Self::Path | Self::Paths | Self::Folders => return self.parse_os(text.as_ref()),
            Self::Interval => span(text)
                .filter(|span| (INTERVAL_MIN..=INTERVAL_MAX).contains(span))
                .map(Value::Span),
            Self::Span => span(text).map(Value::Span),
            Self::Size => size(text).filter(|bytes| *bytes > 0).map(Value::Size),
            Self::Count => text.parse().ok().map(Value::Count),
            Self::Factor => number(text, FACTOR_RANGE).map(Value::Factor),
            Self::Share => number(text, SHARE_RANGE).map(Value::Factor),
            Self::Cells => cells(text),
            Self::Shape => shape(text).map(Value::Shape),
            Self::Words => Some(Value::List(vec![text.to_owned()])),
            Self::Percent => {
                let text = text.trim().trim_end_matches('%').trim_end();
                number(text, PERCENT_RANGE).map(Value::Percent)
            }
        };
        parsed.ok_or_else(|| self.allowed())
    }

    /// What is allowed, as a phrase.
    pub fn allowed(self) -> String {
        match self {
            Self::Switch => "on or off (true or false)".to_owned(),
            Self::OneOf(words) => format!("one of: {}", words.join(", ")),
            Self::AnyOf(words) => format!("any of: {}", words.join(", ")),
            Self::Percent => "a share from 0% to 50%, such as 1.5%".to_owned(),
            Self::Text | Self::Path | Self::Paths => {
                "a text in quotes that is not empty".to_owned()
            }
            Self::List | Self::Words | Self::Folders => "a list of texts".to_owned(),
            Self::Devices => "numbers or UUIDs of devices".to_owned(),
            Self::Interval => "a time from 0.1s to 60s, such as 500ms, 2s or 1.5".to_owned(),
            Self::Span => "a time such as 500ms, 30s, 5m or 1h".to_owned(),
            Self::Size => "a size above 0 such as 500KiB, 64MiB or 2GB".to_owned(),
            Self::Count => "a whole number from 0".to_owned(),
            Self::Factor => "a number from 0.01 to 1000".to_owned(),
            Self::Share => "a share from 0.01 to 1, such as 0.95".to_owned(),
            Self::Shape => "three whole numbers, such as 16,4096,4096".to_owned(),
            Self::Cells => format!("COLUMNSxLINES up to {CELLS_MAX}x{CELLS_MAX}, such as 120x36"),
        }
    }

    /// Words a shell may complete.
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Self::OneOf(words) | Self::AnyOf(words) => words,
            _ => &[],
        }
    }

    /// Whether a bare number can stand for it.
    pub fn is_number(self) -> bool {
        matches!(
            self,
            Self::Interval
                | Self::Span
                | Self::Size
                | Self::Count
                | Self::Factor
                | Self::Share
                | Self::Percent
        )
    }

    /// Whether giving it again adds to it.
    pub fn adds_up(self) -> bool {
        matches!(
            self,
            Self::List | Self::Devices | Self::AnyOf(_) | Self::Paths | Self::Folders | Self::Words
        )
    }
}

impl Value {
    /// The value as text that [`Kind::parse`] reads back, for people and for the layers of `doctor`.
    pub fn text(&self) -> String {
        match self {
            Self::Switch(on) => if *on { "on" } else { "off" }.to_owned(),
            Self::Text(text) => text.clone(),
            Self::List(texts) => texts.join(","),
            Self::Path(path) => path.display().to_string(),
            Self::Paths(paths) => {
                let texts: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
                texts.join(",")
            }
            Self::Span(span) => humantime::format_duration(*span).to_string().replace(' ', ""),
            Self::Size(number) | Self::Count(number) => number.to_string(),
            Self::Factor(factor) => factor.to_string(),
            Self::Cells(columns, lines) => format!("{columns}x{lines}"),
            Self::Percent(share) => format!("{share}%"),
            Self::Shape(sizes) => sizes.map(|size| size.to_string()).join(","),
        }
    }
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

fn split(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// A bare number is seconds; otherwise numbers with units, fractions allowed.
fn span(text: &str) -> Option<Duration> {
    let seconds = |number: &str, unit: f64| {
        let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let number: f64 = plain.then(|| number.parse().ok()).flatten()?;
        Duration::try_from_secs_f64(number * unit).ok()
    };
    let text = text.trim();
    [("ms", 1e-3), ("s", 1.0), ("", 1.0)]
        .iter()
        .find_map(|(suffix, unit)| seconds(text.strip_suffix(suffix)?.trim_end(), *unit))
        .or_else(|| humantime::parse_duration(text).ok())
}

fn number(text: &str, range: RangeInclusive<f64>) -> Option<f64> {
    text.parse().ok().filter(|number| range.contains(number))
}

fn shape(text: &str) -> Option<[u32; 3]> {
    let sizes: Option<Vec<u32>> = text.split(',').map(|size| size.trim().parse().ok()).collect();
    sizes?.try_into().ok()
}

fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim_start().to_ascii_lowercase();
    let factor = SIZE_UNITS.iter().find(|row| row.0 == unit)?.1;
    number.parse::<u64>().ok()?.checked_mul(factor)
}

fn cells(text: &str) -> Option<Value> {
    let (columns, lines) = text.split_once(['x', 'X'])?;
    let side = |text: &str| text.parse().ok().filter(|side| (1..=CELLS_MAX).contains(side));
    Some(Value::Cells(side(columns)?, side(lines)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(text: &str) -> Option<u128> {
        match Kind::Interval.parse(text) {
            Ok(Value::Span(span)) => Some(span.as_millis()),
            _ => None,
        }
    }

    #[test]
    fn names_of_files_need_not_be_utf_8_and_other_values_must() {
        let odd = OsStr::from_bytes(b"a \xff");
        assert_eq!(Kind::Path.parse_os(odd), Ok(Value::Path(odd.into())));
        assert_eq!(Kind::Paths.parse_os(odd), Ok(Value::Paths(vec![odd.into()])));
        let two = OsStr::from_bytes(b" a \xff, /b,");
        assert_eq!(Kind::Folders.parse_os(two), Ok(Value::Paths(vec![odd.into(), "/b".into()])));
        for kind in [Kind::Text, Kind::List, Kind::Switch, Kind::Count] {
            assert_eq!(kind.parse_os(odd), Err(kind.allowed()));
        }
    }

    #[test]
    fn an_interval_is_seconds_unless_it_names_a_unit() {
        for (text, want) in [
            ("1", 1000),
            ("0.1", 100),
            ("1.5", 1500),
            ("500ms", 500),
            ("2s", 2000),
            ("1.5s", 1500),
            ("60", 60_000),
            ("1m", 60_000),
            ("1min", 60_000),
            (" 2 s", 2000),
        ] {
            assert_eq!(millis(text), Some(want), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_interval_is_refused() {
        for text in ["", "0", "99ms", "61", "-1", "1e1", "inf", "nan", "NaN", "1h", "two", ".", "s"]
        {
            assert_eq!(millis(text), None, "{text:?}");
        }
    }

    #[test]
    fn sizes_know_both_kinds_of_units_and_do_not_overflow() {
        for (text, want) in [
            ("1", Some(1)),
            ("64MiB", Some(64 << 20)),
            ("64 mib", Some(64 << 20)),
            ("2GB", Some(2_000_000_000)),
            ("1k", Some(1024)),
            ("0", None),
            ("", None),
            ("MiB", None),
            ("1.5G", None),
            ("99999999999G", None),
            ("1 parsec", None),
        ] {
            assert_eq!(Kind::Size.parse(text).ok(), want.map(Value::Size), "{text:?}");
        }
    }

    #[test]
    fn cells_are_two_sides() {
        assert_eq!(Kind::Cells.parse("120x36"), Ok(Value::Cells(120, 36)));
        for text in ["", "120", "0x10", "10x0", "x", "-1x5", "1001x1", "70000x1"] {
            assert!(Kind::Cells.parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_share_of_memory_of_a_plan_is_at_most_all_of_it() {
        for text in ["0", "0.005", "1.01", "95", "95%", "nan", "-0.5", ""] {
            assert_eq!(Kind::Share.parse(text), Err(Kind::Share.allowed()), "{text:?}");
        }
        assert_eq!(Kind::Share.parse("1"), Ok(Value::Factor(1.0)));
    }

    #[test]
    fn printed_values_read_back() {
        for (kind, text) in [
            (Kind::Switch, "on"),
            (Kind::List, "T4,RTX 3090"),
            (Kind::Interval, "500ms"),
            (Kind::Span, "1h30m"),
            (Kind::Size, "1048576"),
            (Kind::Factor, "0.5"),
            (Kind::Share, "0.95"),
            (Kind::Cells, "80x24"),
            (Kind::Percent, "1.5%"),
            (Kind::Shape, "16,4096,4096"),
        ] {
            let value = kind.parse(text).expect("is allowed");
            assert_eq!(kind.parse(&value.text()), Ok(value), "{text}");
        }
    }
}
