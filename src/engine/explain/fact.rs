//! Facts: numbers and words that decide between causes, each with where it comes from.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::text::bytes;

/// Where a fact comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The text states it, or it follows from what the text states.
    Text,
    /// It was named beside the text, such as a GPU.
    Named,
    /// It was read on this machine.
    Here,
}

impl Origin {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Text => "from the text",
            Self::Named => "named",
            Self::Here => "of this machine",
        }
    }
}

/// One fact.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// As people write it.
    pub shown: String,
    /// As a number that can be compared.
    pub number: Option<f64>,
    /// Compute capabilities of a list, ascending.
    pub list: Vec<f64>,
    /// Where it comes from.
    pub origin: Origin,
}

/// Facts by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts(BTreeMap<String, Fact>);

impl Facts {
    /// The fact of this name.
    pub fn get(&self, name: &str) -> Option<&Fact> {
        self.0.get(name)
    }

    /// Its number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.number
    }

    /// Every fact by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Fact)> {
        self.0.iter().map(|(name, fact)| (name.as_str(), fact))
    }

    /// Adds a fact as it was written; one that is known already stays. What cannot be read as its name demands is left out.
    pub fn state(&mut self, name: &str, written: &str, origin: Origin) {
        if let Some(fact) = read(name, written.trim(), origin) {
            self.0.entry(name.to_owned()).or_insert(fact);
        }
    }

    /// Adds a number that was worked out; one that is known already stays.
    pub fn count(&mut self, name: &str, number: f64, origin: Origin) {
        let fact = Fact { shown: shown(name, number), number: Some(number), list: vec![], origin };
        self.0.entry(name.to_owned()).or_insert(fact);
    }

    /// Adds what the other knows besides.
    pub fn join(&mut self, other: &Self) {
        for (name, fact) in &other.0 {
            self.0.entry(name.clone()).or_insert_with(|| fact.clone());
        }
    }
}

fn shown(name: &str, number: f64) -> String {
    match () {
        () if name.ends_with("_bytes") => bytes(number.max(0.0) as u64),
        () if is_capability(name) => format!("{number:.1}"),
        () => format!("{}", (number * 10.0).round() / 10.0),
    }
}

fn is_capability(name: &str) -> bool {
    name == "cc" || name.ends_with("_cc") || matches!(name, "arch_min" | "arch_max")
}

fn read(name: &str, written: &str, origin: Origin) -> Option<Fact> {
    let fact = |shown: String, number| Some(Fact { shown, number, list: vec![], origin });
    match () {
        () if written.is_empty() => None,
        () if name.ends_with("_bytes") => {
            let number = size(written)?;
            fact(bytes(number as u64), Some(number))
        }
        () if name.ends_with("_list") => {
            let list = capabilities(written);
            let shown = list.iter().map(|cc| format!("{cc:.1}")).collect::<Vec<_>>().join(", ");
            (!list.is_empty()).then_some(Fact { shown, number: None, list, origin })
        }
        () if is_capability(name) => {
            let cc = capability(written)?;
            fact(format!("{cc:.1}"), Some(cc))
        }
        () if name.ends_with("_cuda") => {
            let shown = toolkit(written);
            let number = version(&shown);
            fact(shown, number)
        }
        () if name.ends_with("_version") => fact(written.to_owned(), version(written)),
        () => fact(written.to_owned(), written.replace(',', "").parse().ok()),
    }
}

/// A size with its unit; without one, bytes. Makers of GPUs and their libraries mean powers of two by GB too.
fn size(written: &str) -> Option<f64> {
    let end = written.find(|letter: char| !letter.is_ascii_digit() && !".,".contains(letter));
    let (number, unit) = written.split_at(end.unwrap_or(written.len()));
    let number: f64 = number.replace(',', "").parse().ok()?;
    let power = match unit.trim().chars().next().map(|letter| letter.to_ascii_uppercase()) {
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        Some('T') => 40,
        _ => 0,
    };
    Some(number * 2f64.powi(power)).filter(|bytes| bytes.is_finite())
}

/// A compute capability: `8.6`, `86`, `sm_120a`, `compute_90`, `(8, 6)`.
pub(super) fn capability(written: &str) -> Option<f64> {
    let text: String = written
        .chars()
        .map(|letter| if letter == ',' { '.' } else { letter })
        .filter(|letter| letter.is_ascii_digit() || *letter == '.')
        .collect();
    let (major, minor) = match text.split_once('.') {
        Some((major, minor)) => (major.to_owned(), minor.get(..1)?.to_owned()),
        // Some count in hundreds: 520, 1200.
        None if text.parse::<u32>().is_ok_and(|number| (300..3000).contains(&number)) => {
            (text[..text.len() - 2].to_owned(), text[text.len() - 2..text.len() - 1].to_owned())
        }
        None if (2..=3).contains(&text.len()) => {
            (text[..text.len() - 1].to_owned(), text[text.len() - 1..].to_owned())
        }
        None => (text.clone(), "0".to_owned()),
    };
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (1..=30).contains(&major).then(|| (f64::from(major * 10 + minor)) / 10.0)
}

fn capabilities(written: &str) -> Vec<f64> {
    let words =
        written.split(|letter: char| letter.is_whitespace() || ",;[]'\"()".contains(letter));
    let mut found: Vec<f64> = words.filter_map(capability).filter(|cc| *cc >= 2.0).collect();
    found.sort_by(f64::total_cmp);
    found.dedup();
    found
}

/// A CUDA version: `12.8`, or as the driver counts, `12080`.
fn toolkit(written: &str) -> String {
    match written.parse::<u32>() {
        Ok(code @ 90..=199) => format!("{}.{}", code / 10, code % 10),
        Ok(code) if code >= 1000 => format!("{}.{}", code / 1000, code % 1000 / 10),
        _ => written.to_owned(),
    }
}

/// A version as a number that orders like it.
pub(super) fn version(written: &str) -> Option<f64> {
    let parts = written.split('.').map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<f64>().ok()
    });
    let mut parts = parts.take_while(Option::is_some).flatten().take(3);
    let major = parts.next()?;
    Some(major * 1e6 + parts.next().unwrap_or(0.0) * 1e3 + parts.next().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(name: &str, written: &str) -> Option<f64> {
        read(name, written, Origin::Text).and_then(|fact| fact.number)
    }

    #[test]
    fn what_is_written_is_read_as_its_name_demands() {
        assert_eq!(number("tried_bytes", "1.50 GiB"), Some(1.5 * 2f64.powi(30)));
        assert_eq!(number("limit_bytes", "101376"), Some(101_376.0));
        for written in ["8.6", "86", "sm_86", "compute_86", "(8, 6)"] {
            assert_eq!(number("cc", written), Some(8.6), "{written}");
        }
        assert_eq!((number("cc", "1200"), number("cc", "520")), (Some(12.0), Some(5.2)));
        assert_eq!(number("build_cuda", "128"), number("build_cuda", "12.8"));
        assert_eq!(number("cc", "sm_121a"), Some(12.1));
        assert_eq!(number("driver_cuda", "12080"), number("driver_cuda", "12.8"));
        assert!(number("torch_version", "2.10.0") > number("torch_version", "2.9.1+cu128"));
        let list = read("arch_list", "sm_90 sm_50 compute_120", Origin::Text).expect("a list");
        assert_eq!((list.list, list.shown.as_str()), (vec![5.0, 9.0, 12.0], "5.0, 9.0, 12.0"));
        assert_eq!(number("cc", "none"), None);
    }
}
