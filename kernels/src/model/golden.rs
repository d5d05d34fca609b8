//! What the fp64 reference says, kept as data so that no run has to compute it.
//!
//! Every step keeps the token, its lead over the second-best, and each 16th logit: enough to estimate the error of all
//! logits, at a sixteenth of their size.

use std::fmt;
use std::sync::OnceLock;

use super::shape::{M0, Profile};
use crate::cpu::Format;

/// Every so many logits one is kept.
const STRIDE: usize = 16;
/// Logits kept per step.
const KEPT: usize = M0.vocab / STRIDE;

/// Largest relative Frobenius error of the logits a sound path may have: about four times what rounding every stored
/// activation costs in each format.
pub fn error_limit(format: Format) -> f64 {
    match format {
        Format::Fp32 => 1e-5,
        Format::Fp16 | Format::Int4 => 5e-3,
        Format::Bf16 => 3e-2,
    }
}

/// One greedy step of the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct GoldenStep {
    /// The token with the largest logit.
    pub token: u32,
    /// Its lead over the second largest.
    pub gap: f64,
    /// Logits 0, 16, 32, …
    pub logits: Vec<f64>,
}

impl GoldenStep {
    /// Digest of finite logits.
    pub(crate) fn new(logits: &[f64]) -> Self {
        let best = (0..logits.len()).fold(0, |b, i| if logits[i] > logits[b] { i } else { b });
        let rest = logits.iter().enumerate().filter(|(i, _)| *i != best).map(|(_, v)| *v);
        let second = rest.fold(f64::NEG_INFINITY, f64::max);
        Self {
            token: best as u32,
            gap: logits[best] - second,
            logits: logits.iter().copied().step_by(STRIDE).collect(),
        }
    }

    /// Squared distance and squared norm of the kept logits; the quotient's root is the relative error.
    pub fn distance(&self, logits: &[f32]) -> (f64, f64) {
        let pairs = self.logits.iter().zip(logits.iter().step_by(STRIDE));
        pairs.fold((0.0, 0.0), |(d, n), (want, got)| {
            (d + (f64::from(*got) - want).powi(2), n + want * want)
        })
    }
}

/// The greedy continuation of the prompt in fp64.
#[derive(Clone, Debug, PartialEq)]
pub struct Golden {
    /// One entry per decoded token.
    pub steps: Vec<GoldenStep>,
}

impl Golden {
    /// The expected tokens.
    pub fn tokens(&self) -> Vec<u32> {
        self.steps.iter().map(|step| step.token).collect()
    }
}

impl fmt::Display for Golden {
    /// One line per step: token, gap, logits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            write!(f, "{} {:.9}", step.token, step.gap)?;
            for logit in &step.logits {
                write!(f, " {logit:.9}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// A line of golden data that is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("golden data, line {line}: want a token, a gap and {} logits", KEPT)]
pub struct ParseGoldenError {
    /// Line, from 1.
    pub line: usize,
}

impl std::str::FromStr for Golden {
    type Err = ParseGoldenError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let step =
            |(i, line): (usize, &str)| parse_step(line).ok_or(ParseGoldenError { line: i + 1 });
        let steps = text.lines().enumerate().map(step).collect::<Result<_, _>>()?;
        Ok(Self { steps })
    }
}

fn parse_step(line: &str) -> Option<GoldenStep> {
    let mut words = line.split_ascii_whitespace();
    let token = words.next()?.parse().ok()?;
    let gap = words.next()?.parse().ok()?;
    let logits: Vec<f64> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
    (logits.len() == KEPT).then_some(GoldenStep { token, gap, logits })
}

/// The golden data of M0 as it is, and of every profile that leaves the function unchanged; read on first use.
pub fn golden() -> &'static Golden {
    golden_of(Profile::Clean)
}

/// The golden data of a profile; read on first use.
pub fn golden_of(profile: Profile) -> &'static Golden {
    static SAME: OnceLock<Golden> = OnceLock::new();
    static CANCEL: OnceLock<Golden> = OnceLock::new();
    let (cell, text) = match profile {
        Profile::Cancel => (&CANCEL, include_str!("golden-cancel.txt")),
        _ => (&SAME, include_str!("golden.txt")),
    };
    cell.get_or_init(|| {
        text.parse().expect("the embedded golden data is well-formed, as a test shows")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_data_names_its_line() {
        let good = golden().steps[0].clone();
        let text = Golden { steps: vec![good.clone(), good] }.to_string();
        assert_eq!(text.parse::<Golden>().map(|g| g.steps.len()), Ok(2));
        let short = &text[..text.len() - 20];
        assert_eq!(short.parse::<Golden>(), Err(ParseGoldenError { line: 2 }));
        assert_eq!("x".parse::<Golden>(), Err(ParseGoldenError { line: 1 }));
    }

    #[test]
    fn the_digest_finds_token_gap_and_distance() {
        let mut logits = vec![0.0; M0.vocab];
        (logits[7], logits[16], logits[900]) = (3.0, 1.0, 2.5);
        let step = GoldenStep::new(&logits);
        assert_eq!((step.token, step.gap, step.logits.len()), (7, 0.5, KEPT));
        let mut other: Vec<f32> = logits.iter().map(|l| *l as f32).collect();
        other[16] = 1.5;
        assert_eq!(step.distance(&other), (0.25, 1.0));
    }
}
