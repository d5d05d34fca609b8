//! A comparison for people.

use super::Shown;
use crate::io::sink::table::Style;
use crate::runs::compare::{Call, Effect, Row, Side};
use crate::text::clean;

pub(crate) fn text(shown: &Shown<'_>, style: Style) -> String {
    let Shown { comparison, names, .. } = shown;
    let mut text = String::new();
    for run in 0..names.len().saturating_sub(1) {
        let rows: Vec<&Row> = comparison.rows.iter().filter(|row| row.run == run).collect();
        text += &format!(
            "{} against {}\n\n",
            clean(&names[run + 1], style.ascii),
            clean(&names[0], style.ascii)
        );
        text += &table(&rows, style);
    }
    if !comparison.alone.is_empty() {
        text += "not compared\n";
    }
    for one in &comparison.alone {
        text += &format!("  {}\n", clean(&one.line(names), style.ascii));
    }
    for why in shown.errors {
        text += &format!("error: {}\n", clean(why, style.ascii));
    }
    let calls = [Call::Slower, Call::Faster, Call::Same, Call::Ambiguous];
    let counts =
        calls.map(|call| format!("{} {}", comparison.count(call), call.to_string().to_lowercase()));
    text + &counts.join(", ") + "\n"
}

fn table(rows: &[&Row], style: Style) -> String {
    let names: Vec<String> = rows
        .iter()
        .map(|row| clean(format!("{} {}", row.key, row.config).trim(), style.ascii).into_owned())
        .collect();
    let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(48);
    let mut text = format!(
        "{:9}  {:widest$}  {:>10}  {:>10}  {:>8}  {:19}  {:>9}\n",
        "call", "kernel", "before", "after", "change", "95% interval", "processes"
    );
    for (row, name) in rows.iter().zip(&names) {
        let time = row.judgement.time;
        let line = format!(
            "{:9}  {name:widest$}  {:>10}  {:>10}  {:>8}  {:19}  {:>9}",
            row.judgement.call,
            median(&row.sides.0),
            median(&row.sides.1),
            time.map_or_else(|| "-".to_owned(), |time| percent(time.change)),
            time.and_then(interval).unwrap_or_default(),
            format!("{}/{}", row.sides.0.processes, row.sides.1.processes),
        );
        text += line.trim_end();
        text += &format!("\n           {}{}\n", row.judgement.reason, left_out(row, style));
    }
    text.push('\n');
    text
}

fn left_out(row: &Row, style: Style) -> String {
    let (before, after) = &row.sides;
    let drawn = if before.all > before.samples || after.all > after.samples {
        format!("; drawn from {}/{}", before.all, after.all)
    } else {
        String::new()
    };
    let count = before.tainted + after.tainted;
    if count == 0 {
        return drawn;
    }
    let mut why: Vec<&str> =
        before.taints.iter().chain(&after.taints).map(String::as_str).collect();
    why.sort_unstable();
    why.dedup();
    let text = format!("{drawn}; {count} tainted samples left out: {}", why.join(", "));
    clean(&text, style.ascii).into_owned()
}

/// The median of one side.
pub(crate) fn median(side: &Side) -> String {
    side.quartiles.map_or_else(|| "-".to_owned(), |all| duration(all.median))
}

/// A share with its sign.
pub(crate) fn percent(share: f64) -> String {
    format!("{:+.2}%", share * 100.0)
}

/// Both ends of an interval.
pub(crate) fn interval(time: Effect) -> Option<String> {
    let interval = time.interval?;
    Some(format!("{} to {}", percent(interval.low), percent(interval.high)))
}

/// Nanoseconds in the unit a person would use.
pub(crate) fn duration(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")];
    let (size, unit) = units.into_iter().find(|(size, _)| ns >= *size).unwrap_or((1.0, "ns"));
    format!("{:.4} {unit}", ns / size)
}
