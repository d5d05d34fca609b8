//! What a device did under `warpscope bench`, for a person.

use std::io::{self, Write};

use warpscope_kernels::gpu::{Limiter, Route};

use crate::commands::bench::table::{figure, write_head, write_row as write_path};
use crate::commands::bench::timing::GpuResult;
use crate::commands::gpu::{heading, route_text};
use crate::text::clean;
use crate::worker::gpu::size;
use crate::worker::{
    Convergence, KernelReport, PathDtype, PathReport, PathSamples, Spread, TimingMode,
};

/// What stands behind the device's name.
pub(crate) fn regime_words(regime: TimingMode) -> &'static str {
    match regime {
        TimingMode::Burst => {
            "in pulses: clocks may be on their way up; --full for figures to quote"
        }
        TimingMode::Sustained => "warm",
    }
}

/// A table of what a device did. Where a stand-in computed it has no speeds.
pub(crate) fn write_table(result: &GpuResult, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{} · {}", heading(&result.here), regime_words(result.regime))?;
    if let Some(context) = result.holding.as_ref().and_then(|holding| holding.context_bytes) {
        writeln!(out, "context {} MiB", context >> 20)?;
    }
    if let Some(line) = result.tuned.line() {
        writeln!(out, "{}", clean(&line, false))?;
    }
    writeln!(out)?;
    let rows = result.rows();
    if !rows.is_empty() {
        write_head(out)?;
        rows.iter().try_for_each(|row| write_path(row, out))?;
        writeln!(out)?;
        write_rooflines(&rows, result.here.device.simulated, out)?;
        write_clocks(&result.samples, out)?;
    }
    for (path, why) in &result.absent_paths {
        writeln!(out, "micro decoder {path}: not run: {why}")?;
    }
    write_kernels(result, out)?;
    write_skipped(result, out)?;
    write_headroom(result, out)?;
    result.outcome.write(out)
}

/// Sizes at which nothing was run, a line for each kernel, below the reason they share.
fn write_skipped(result: &GpuResult, out: &mut dyn Write) -> io::Result<()> {
    let width = result.skipped.iter().map(|one| one.kernel.len()).max().unwrap_or(0);
    let mut why = "";
    let mut rest = &result.skipped[..];
    while let Some(first) = rest.first() {
        let count =
            rest.iter().take_while(|one| (&one.kernel, &one.why) == (&first.kernel, &first.why));
        let (of_kernel, others) = rest.split_at(count.count());
        if why != first.why {
            why = &first.why;
            writeln!(out, "not run, since {}:", clean(why, false))?;
        }
        let sizes: Vec<_> = of_kernel.iter().map(|one| size(one.shape)).collect();
        writeln!(out, "  {:<width$}  {}", first.kernel, sizes.join(", "))?;
        rest = others;
    }
    if result.skipped.is_empty() { Ok(()) } else { writeln!(out) }
}

/// How far products reach: the first amplitude, a power of two, at which a result is not finite.
fn write_headroom(result: &GpuResult, out: &mut dyn Write) -> io::Result<()> {
    if result.headroom.is_empty() {
        return Ok(());
    }
    let width = result.headroom.iter().map(|row| row.path.len()).max().unwrap_or(0).max(8);
    writeln!(
        out,
        "{:<width$}  amplitude up to which results are finite; fp16 ends at 65 504",
        "headroom"
    )?;
    for row in &result.headroom {
        writeln!(out, "{:<width$}  {}", row.path, row.words())?;
    }
    writeln!(out)
}

/// What the memory leaves of a decode rate: D16 for 16-bit weights, D4 for 4-bit ones.
fn write_rooflines(rows: &[PathReport], simulated: bool, out: &mut dyn Write) -> io::Result<()> {
    if simulated {
        return writeln!(out, "decode against its roofline: simulated, no ratio\n");
    }
    let mut any = false;
    for row in rows {
        let (Some(bytes), Some(read)) = (row.decode_bytes, row.read_gb_per_s) else { continue };
        let Some(share) = row.read_bandwidth_share else { continue };
        let (gb, most) = (bytes / 1e9, read * 1e9 / bytes);
        let star = if row.cache_resident == Some(true) { "*" } else { "" };
        let (name, path) = (roofline_name(row.dtype), row.label());
        write!(
            out,
            "{name} {share:.2}{star} ({path}): {gb:.3} GB a token at {read:.1} GB/s read "
        )?;
        writeln!(out, "in the same run is {most:.0} tok/s at most")?;
        any = true;
    }
    if any { writeln!(out) } else { Ok(()) }
}

/// Which times of the decoder are to be doubted.
fn write_clocks(samples: &[PathSamples], out: &mut dyn Write) -> io::Result<()> {
    for of in samples {
        let path = of.path.as_deref().unwrap_or(of.dtype.id());
        for (step, clocks) in [("decode", &of.decode_clocks), ("prefill", &of.prefill_clocks)] {
            if let Some(words) = clocks.words() {
                writeln!(out, "{path} {step}: {words}")?;
            }
        }
    }
    Ok(())
}

/// Short name of a decode rate against its roofline, by the bits of a weight.
fn roofline_name(dtype: PathDtype) -> &'static str {
    match dtype {
        PathDtype::Fp32 => "D32",
        PathDtype::Fp16 | PathDtype::Bf16 => "D16",
        PathDtype::Int4 => "D4",
    }
}

fn write_kernels(result: &GpuResult, out: &mut dyn Write) -> io::Result<()> {
    if result.kernels.is_empty() {
        return Ok(());
    }
    let width = result.kernels.iter().map(|row| row.kernel.len()).max().unwrap_or(0).max(6);
    let names = result.kernels.iter().filter_map(|row| row.variant.as_ref());
    // Where every kernel has one way only there is nothing to tell apart.
    let variant = names.map(|name| name.len().max(7) + 1).max().unwrap_or(0);
    let head = if variant > 0 { "variant" } else { "" };
    write!(out, "{:<width$}  {:<22} {head:<variant$}{:>10} ", "kernel", "size", "µs")?;
    writeln!(out, "{:>6} {:>8} {:>8} {:>5}  by", "±", "GB/s", "TOP/s", "MHz")?;
    let missing: Vec<_> = result.kernels.iter().filter(|report| is_absent(report)).collect();
    for report in result.kernels.iter().filter(|report| !is_absent(report)) {
        write_row(report, (width, variant), out)?;
    }
    writeln!(out)?;
    for report in missing {
        writeln!(out, "{}: {}", report.kernel, route_text(&report.route))?;
    }
    if result.kernels.iter().any(|report| report.l2_resident && !report.samples_ns.is_empty()) {
        writeln!(out, "* fits the second-level cache: no figure of the memory")?;
    }
    result.kernels.iter().try_for_each(|report| write_sampling(report, out))
}

/// How a long measurement ended, and which samples are to be doubted.
fn write_sampling(report: &KernelReport, out: &mut dyn Write) -> io::Result<()> {
    let ended = report.convergence.map(|Convergence { noise, interval_ns, stopped_by }| {
        let mut ended = format!("{} samples", report.samples_ns.len());
        ended += &noise.map_or(String::new(), |noise| format!(", noise {:.2}%", noise * 100.0));
        ended += &interval_ns.map_or(String::new(), |(low, high)| {
            format!(", median within {:.2}–{:.2} µs (95%)", low / 1e3, high / 1e3)
        });
        format!("{ended}, stopped by {}", stopped_by.words())
    });
    let held_by = report.strain.iter().filter(|strain| !strain.held_by.is_empty());
    let held_by = held_by.map(|strain| format!("held down by {}", strain.held_by.join(", ")));
    let said: Vec<String> = ended.into_iter().chain(report.clocks.words()).chain(held_by).collect();
    if said.is_empty() {
        return Ok(());
    }
    writeln!(out, "{} {}: {}", report.kernel, size(report.shape), said.join("; "))
}

fn is_absent(report: &KernelReport) -> bool {
    matches!(report.route, Route::Absent { .. })
}

fn write_row(
    report: &KernelReport,
    (width, variant): (usize, usize),
    out: &mut dyn Write,
) -> io::Result<()> {
    let spread = Spread::of(report.samples_ns.iter().copied());
    let rate = |amount: f64, unit: f64| {
        spread.filter(|_| amount > 0.0).map(|spread| amount / spread.median * 1e9 / unit)
    };
    let star = if report.l2_resident { "*" } else { " " };
    let bytes = figure(rate(report.bytes, 1e9), 1) + star;
    let flops = match report.limiter {
        Limiter::Arithmetic => figure(rate(report.flops, 1e12), 2),
        Limiter::Memory | Limiter::Latency => "–".to_owned(),
    };
    let time = figure(spread.map(|spread| spread.median / 1e3), 2);
    let mad = figure(spread.map(|spread| spread.mad / 1e3), 2);
    let mhz = figure(report.sm_mhz.filter(|_| spread.is_some()), 0);
    let name = report.variant.as_deref().unwrap_or_default();
    write!(out, "{:<width$}  {:<22} ", report.kernel, size(report.shape))?;
    write!(out, "{name:<variant$}{time:>10} ")?;
    writeln!(out, "{mad:>6} {bytes:>9}{flops:>8} {mhz:>5}  {}", route_text(&report.route))
}
