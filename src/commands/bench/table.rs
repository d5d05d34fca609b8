//! Precision configs of the micro decoder for people: a table, and what is wrong with one.

use std::io::{self, Write};

use warpscope_kernels::model::Profile;

use crate::commands::bench::decoder::BenchResult;
use crate::worker::PathReport;
use crate::worker::precision::holds;

/// Whether the arithmetic of a path can hold its profile's numbers.
pub(crate) fn should_be_right(report: &PathReport) -> bool {
    let (config, profile) = (report.precision(), report.profile.parse::<Profile>());
    config.zip(profile.ok()).is_none_or(|(config, profile)| holds(config, profile))
}

/// Whether a path did what the reference does.
pub(crate) fn is_right(report: &PathReport) -> bool {
    report.complete
        && report.tokens == report.expected_tokens
        && report.non_finite == 0
        && report.error.is_some_and(|error| error <= report.error_limit)
}

/// What is wrong with a path, the cause first.
pub(crate) fn fault(report: &PathReport) -> String {
    if let Some(bad) = &report.first_bad {
        return format!(
            "not finite from layer {} {}, token {}, channel {} on",
            bad.layer, bad.op, bad.token, bad.channel
        );
    }
    let right = agreeing(report);
    match report.error {
        _ if !report.complete => format!("ended after {} tokens", report.tokens.len()),
        _ if right < report.expected_tokens.len() => format!("token {right} differs from fp64"),
        Some(error) => format!("error {error:.1e} above {:.0e}", report.error_limit),
        None => "error unknown".to_owned(),
    }
}

/// Tokens equal to the reference's.
fn agreeing(report: &PathReport) -> usize {
    report.tokens.iter().zip(&report.expected_tokens).filter(|(got, want)| got == want).count()
}

pub(crate) fn write_table(result: &BenchResult, out: &mut dyn Write) -> io::Result<()> {
    if let Some(hello) = &result.hello {
        writeln!(out, "{} · {} · threads {}", hello.device, hello.device_name, hello.threads)?;
    }
    if let Some(ceiling) = &result.ceiling {
        let read = ceiling.read_bytes_per_s.map_or_else(
            || "unknown, since other work interrupted it".to_owned(),
            |read| format!("{:.1} GB/s", read / 1e9),
        );
        let fma = ceiling.fp32_flop_per_s / 1e9;
        writeln!(out, "ceiling: read {read} · fp32 multiply-add {fma:.1} GFLOP/s\n")?;
    }
    if result.reports.is_empty() {
        return Ok(());
    }
    write_head(out)?;
    result.reports.iter().try_for_each(|report| write_row(report, out))?;
    let resident = result.reports.iter().any(|r| r.cache_resident == Some(true));
    if resident {
        writeln!(out, "\n* fits the last-level cache, so it may read faster than memory")?;
    }
    Ok(())
}

/// Width of the longest name of a path.
const PATH: usize = 9;

/// The line above the paths.
pub(crate) fn write_head(out: &mut dyn Write) -> io::Result<()> {
    let head =
        ["path", "profile", "decode tok/s", "±", "prefill GFLOP/s", "GB/s", "of read", "error"];
    let [path, profile, decode, mad, prefill, gb, share, error] = head;
    write!(out, "{path:<PATH$} {profile:<7} {decode:>12} {mad:>7} {prefill:>15} {gb:>6} ")?;
    writeln!(out, "{share:>8} {error:>8}  tokens  text")
}

/// A number with so many digits, or a dash.
pub(crate) fn figure(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
}

pub(crate) fn write_row(report: &PathReport, out: &mut dyn Write) -> io::Result<()> {
    let star = if report.cache_resident == Some(true) { "*" } else { " " };
    let share = figure(report.read_bandwidth_share, 2) + star;
    let error = report.error.map_or_else(|| "–".to_owned(), |error| format!("{error:.1e}"));
    write!(
        out,
        "{:<PATH$} {:<7} {:>12} {:>7} {:>15} {:>6} {share:>8} {error:>8}  ",
        report.label(),
        report.profile,
        figure(report.decode_tokens_per_s, 1),
        figure(report.decode_mad_tokens_per_s, 1),
        figure(report.prefill_gflop_per_s, 1),
        figure(report.gb_per_s, 1),
    )?;
    let count = format!("{}/{}", agreeing(report), report.expected_tokens.len());
    let text: String =
        report.text.trim_start().chars().filter(|c| !c.is_control()).take(32).collect();
    write!(out, "{count:<6}  {text}")?;
    match &report.first_bad {
        Some(_) => writeln!(out, "  {}", fault(report)),
        None => writeln!(out),
    }
}
