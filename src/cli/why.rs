//! `warpscope why`: one verdict with the whole chain that led to it.

use std::io::{self, Write};

use warpscope_probes::rules::RuleBase;

use super::check::exit_code;
use super::query::questions;
use super::verdict_text::{Style, block, wrapped};
use crate::engine::{StepKind, Target, Verdict, evaluate};

/// What to explain, and how.
#[derive(Clone, Debug, Default)]
pub struct WhyRequest {
    /// The device.
    pub gpu: Target,
    /// Words that name a framework and a configuration.
    pub queries: Vec<String>,
    /// Only the fix, as it is.
    pub fix_only: bool,
    /// JSON instead of text.
    pub json: bool,
    /// Columns to wrap at; 100 where unknown.
    pub width: Option<u16>,
    /// Only ASCII symbols.
    pub ascii: bool,
    /// Whether outcomes are coloured.
    pub color: bool,
}

/// Explains. Answers go to `out`, a misunderstanding to `err`; returns the exit code of `check`.
pub fn run(
    base: &RuleBase,
    request: &WhyRequest,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let asked = if request.queries.is_empty() {
        Err(super::query::UsageError(
            "name a framework and a configuration: why lmdeploy pytorch".to_owned(),
        ))
    } else {
        questions(base, &request.queries)
    };
    let asked = match asked {
        Ok(asked) => asked,
        Err(error) => {
            writeln!(err, "warpscope why: {error}")?;
            return Ok(2);
        }
    };
    let verdicts: Vec<_> =
        asked.iter().map(|question| evaluate(base, &request.gpu, question, &[])).collect();
    let style =
        Style { width: request.width.unwrap_or(100), ascii: request.ascii, color: request.color };
    for verdict in &verdicts {
        match (request.fix_only, request.json) {
            (true, _) => fix(verdict, style, out)?,
            (_, true) => {
                serde_json::to_writer(&mut *out, verdict)?;
                writeln!(out)?;
            }
            _ => writeln!(out, "{}{}", block(verdict, style), chain(verdict, style))?,
        }
    }
    Ok(exit_code(&verdicts))
}

fn fix(verdict: &Verdict, style: Style, out: &mut dyn Write) -> io::Result<()> {
    match &verdict.fix {
        Some(fix) => writeln!(out, "{}", style.clean(fix.trim_matches('\n'))),
        None => Ok(()),
    }
}

/// The steps, numbered, each with what it did.
fn chain(verdict: &Verdict, style: Style) -> String {
    let mut text = String::from("  steps\n");
    if verdict.steps.is_empty() {
        text.push_str("    none: no rule speaks of this\n");
    }
    for (number, step) in verdict.steps.iter().enumerate() {
        let what = match step.kind {
            StepKind::Passes => "passes",
            StepKind::Rerouted => "rerouted",
            StepKind::Stops => "stops too",
            StepKind::Decides => "decides",
            StepKind::Undecided => "open",
        };
        let rule = step.rule.as_deref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
        let line =
            format!("{}. {} {what}: {}{rule}", number + 1, step.stage, style.clean(&step.text));
        wrapped(&mut text, &line, 4, 7, style);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpscope_kernels::Sm;

    fn why(gpu: (&str, u8, u8), words: &[&str], fix_only: bool) -> (u8, String) {
        let request = WhyRequest {
            gpu: Target::of_sm(gpu.0, Sm::new(gpu.1, gpu.2)),
            queries: words.iter().map(|word| (*word).to_owned()).collect(),
            fix_only,
            ..WhyRequest::default()
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code =
            run(RuleBase::builtin(), &request, &mut out, &mut err).expect("writes to memory");
        out.extend(err);
        (code, String::from_utf8(out).expect("text"))
    }

    #[test]
    fn the_chain_shows_the_detour_and_where_it_ends() {
        let (code, text) = why(("V100", 7, 0), &["glm-4", "auto"], false);
        assert_eq!(code, 0, "{text}");
        insta::assert_snapshot!(text.split("  steps\n").nth(1).expect("has steps"));
    }

    #[test]
    fn the_fix_alone_is_nothing_but_the_fix() {
        let (code, text) = why(("Tesla T4", 7, 5), &["ktransformers", "docker", "0.1.1"], true);
        assert_eq!((code, text.contains("no configuration of ktransformers")), (2, true), "{text}");
        let (code, text) = why(("Tesla T4", 7, 5), &["ktransformers@0.1.1", "image"], true);
        assert_eq!(code, 1);
        assert!(text.starts_with("# 1. build for this GPU\n"), "{text}");
        assert!(text.ends_with("prefill_op: \"QuantizedLinearTorch\"\n"), "{text}");
    }

    #[test]
    fn why_without_words_asks_for_them() {
        assert_eq!(why(("V100", 7, 0), &[], false).0, 2);
    }
}
