//! One row per GPU and frame: identity, then every column of the vitals. Absent is an empty cell.

use std::fmt::Write as _;

use warpscope_probes::gpu::Vitals;
use warpscope_probes::{Frame, Gpu, Origin};

type Cell = fn(&Frame, &Gpu) -> String;

/// Columns before the vitals.
const FIRST: &[(&str, Cell)] = &[
    ("at", |frame, _| frame.at.to_string()),
    ("seq", |frame, _| frame.seq.to_string()),
    ("host", host),
    ("index", |_, gpu| gpu.index.to_string()),
    ("key", |_, gpu| gpu.key.clone()),
    ("name", |_, gpu| gpu.identity.name.last().cloned().unwrap_or_default()),
    ("presence", |_, gpu| super::table::presence(gpu.presence).to_owned()),
];

/// The name by which a machine was asked for, or its own.
fn host(frame: &Frame, _: &Gpu) -> String {
    match &frame.origin {
        Origin::Remote { host } | Origin::Replay { host: Some(host), .. } => host.clone(),
        _ => frame.host.machine.hostname.last().cloned().unwrap_or_default(),
    }
}

/// The line of column names.
pub fn head() -> String {
    let names = FIRST.iter().map(|row| row.0).chain(Vitals::FIELDS.iter().map(|field| field.key));
    names.collect::<Vec<_>>().join(",") + "\n"
}

/// The lines of one frame; none when it has no GPU.
pub fn rows(frame: &Frame) -> String {
    let mut text = String::new();
    for gpu in &frame.gpus {
        let first = FIRST.iter().map(|row| quoted(&(row.1)(frame, gpu)));
        let vitals = Vitals::FIELDS.iter().map(|field| {
            (field.number)(&gpu.vitals).map(|number| number.to_string()).unwrap_or_default()
        });
        let cells: Vec<_> = first.chain(vitals).collect();
        writeln!(text, "{}", cells.join(",")).expect("a String takes everything");
    }
    text
}

/// What a spreadsheet takes for the beginning of a formula, as some do when it is full-width.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// Quotes as RFC 4180 asks; cleans what a terminal obeys, and defuses what a spreadsheet would compute.
pub fn quoted(text: &str) -> String {
    let text = crate::text::clean(text, false);
    let formula = text.starts_with(FORMULA);
    let defused = if formula { format!("'{text}") } else { text.into_owned() };
    if defused.contains([',', '"']) {
        return format!("\"{}\"", defused.replace('"', "\"\""));
    }
    defused
}

#[cfg(test)]
mod tests {
    use warpscope_probes::Reading;
    use warpscope_probes::units::Watts;

    use super::*;

    #[test]
    fn rows_have_the_columns_of_the_head_and_absent_is_empty() {
        let mut gpu = Gpu { key: "k".into(), ..Gpu::default() };
        gpu.identity.name = "a,\"b\"\u{9b}".to_owned().into();
        gpu.vitals.power_w = Watts(7.5).into();
        gpu.vitals.fan_pct = Reading::Denied;
        let origin = Origin::Remote { host: "ana@gpu1".into() };
        let frame = Frame { gpus: vec![gpu], origin, ..Frame::default() };
        let head = head();
        let rows = rows(&frame);
        assert!(rows.contains(",\"a,\"\"b\"\"\u{fffd}\","), "{rows}");
        let cells: Vec<_> = rows.trim_end().rsplit(',').collect();
        let names: Vec<_> = head.trim_end().rsplit(',').collect();
        let of = |name| cells[names.iter().position(|other| *other == name).expect("a column")];
        assert_eq!((of("power_w"), of("fan_pct")), ("7.5", ""));
        assert!(rows.split(',').nth(2) == Some("ana@gpu1") && head.starts_with("at,seq,host,"));
    }

    #[test]
    fn a_spreadsheet_is_given_nothing_to_compute() {
        assert_eq!(quoted("=1+1"), "'=1+1");
        assert_eq!(quoted("＝1+1"), "'＝1+1");
        assert_eq!(quoted("T4"), "T4");
    }
}
