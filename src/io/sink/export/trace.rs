//! Trace events, as Perfetto and chrome://tracing read them: a slice per point, counters of the machine around it, remarks.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::{Measured, Recorded};
use crate::io::sink::jsonl;
use crate::runs::compare::Series;
use crate::runs::run_log::{Span, Window};
use crate::runs::samples::Key;

/// Counter tracks: name, unit, value of a window.
type Counter = (&'static str, &'static str, fn(&Window) -> Option<Span>);
const COUNTERS: &[Counter] = &[
    ("SM clock", "MHz", |window| window.sm_mhz),
    ("memory clock", "MHz", |window| window.memory_mhz),
    ("power", "W", |window| window.power_w),
    ("temperature", "°C", |window| window.temperature_c),
];

/// One process per run, one track per kernel, number format, size and candidate. Events are written one by one: a trace is larger than its journal.
pub(super) fn trace(runs: &[Recorded], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
    let mut first = true;
    let mut event = |value: &Value| -> io::Result<()> {
        if !std::mem::take(&mut first) {
            out.write_all(b",")?;
        }
        out.write_all(b"\n")?;
        out.write_all(jsonl::line(value).map_err(io::Error::other)?.trim_ascii_end())
    };
    for (at, run) in runs.iter().enumerate() {
        run_events(run, at + 1, &mut event)?;
    }
    writeln!(out, "\n]}}")
}

type Emit<'a> = dyn FnMut(&Value) -> io::Result<()> + 'a;

fn run_events(run: &Recorded, process: usize, event: &mut Emit<'_>) -> io::Result<()> {
    let command = run.identity.command.join(" ");
    let name = run.identity.name.as_deref().unwrap_or(&command);
    event(&json!({"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}))?;
    let mut tracks: HashMap<(&Key, Option<&str>), usize> = HashMap::new();
    for one in &run.measured {
        let (key, config) = (&one.point.key, one.point.config.as_deref());
        let new = tracks.len() + 1;
        let thread = *tracks.entry((key, config)).or_insert(new);
        if thread == new {
            let args = json!({"name": track(key, config)});
            event(
                &json!({"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": args}),
            )?;
        }
        point_events(one, process, thread, event)?;
    }
    for mark in &run.marks {
        let at_us = mark.at_ms as f64 * 1e3;
        event(
            &json!({"ph": "i", "s": "p", "name": mark.text, "pid": process, "tid": 0, "ts": at_us}),
        )?;
    }
    Ok(())
}

fn track(key: &Key, config: Option<&str>) -> String {
    config.map_or_else(|| key.to_string(), |config| format!("{key}: {config}"))
}

/// A point without a time has no place in a trace.
fn point_events(
    one: &Measured,
    process: usize,
    thread: usize,
    event: &mut Emit<'_>,
) -> io::Result<()> {
    let Some(at_ms) = one.at_ms else { return Ok(()) };
    let (end_us, took_us) = (at_ms as f64 * 1e3, one.point.t_ns.iter().sum::<f64>() / 1e3);
    let median = Series::new(one.point.t_ns.iter().copied()).median();
    event(&json!({
        "ph": "X",
        "name": one.point.key.to_string(),
        "cat": if one.point.tainted.is_empty() { "clean" } else { "tainted" },
        "pid": process,
        "tid": thread,
        "ts": end_us - took_us,
        "dur": took_us,
        "args": {
            "config": one.point.config,
            "samples": one.point.t_ns.len(),
            "median_ns": median,
            "tainted": one.point.tainted,
        },
    }))?;
    let Some(window) = &one.window else { return Ok(()) };
    for (name, unit, span) in COUNTERS {
        if let Some(span) = span(window) {
            let args = json!({*unit: span.median});
            event(&json!({"ph": "C", "name": name, "pid": process, "ts": end_us, "args": args}))?;
        }
    }
    Ok(())
}
