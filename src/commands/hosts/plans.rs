//! What several hosts answer to `plan`, as one table: the best way on each.

use serde::Deserialize;
use serde_json::Value;

use super::there::Outcome;
use crate::io::sink::table::{Column, Style, grid};
use crate::io::source::hosts::HostName;
use crate::widgets::format::{bytes, bytes_of};

/// The part of a host's answer that the table shows.
#[derive(Deserialize)]
struct Planned {
    candidates: Vec<Candidate>,
}

#[derive(Deserialize)]
struct Candidate {
    framework: String,
    #[serde(default)]
    config: String,
    gpus: Vec<String>,
    fits: String,
    verdict: Option<String>,
    reason: Option<String>,
    memory_bytes: Option<Memory>,
    gpu_memory_bytes: Option<f64>,
    tokens_per_s: Option<Value>,
}

#[derive(Deserialize)]
struct Memory {
    total: Range,
}

#[derive(Deserialize)]
struct Range {
    mid: f64,
}

/// The best way of a host, or why there is none.
struct Row<'a> {
    host: &'a str,
    best: Option<Candidate>,
    why: String,
}

/// One line for each host.
pub(super) fn table(outcomes: &[(&HostName, Outcome)], style: Style) -> String {
    let rows: Vec<Row<'_>> = outcomes.iter().map(|(host, outcome)| row(host, outcome)).collect();
    grid(&columns(), &rows, style)
}

fn row<'a>(host: &'a HostName, outcome: &Outcome) -> Row<'a> {
    let host = host.as_str();
    let answer = match outcome {
        Ok(answer) => answer,
        Err(trouble) => return Row { host, best: None, why: trouble.what.clone() },
    };
    let planned = serde_json::from_slice::<Planned>(&answer.output);
    let best = planned.ok().and_then(|planned| planned.candidates.into_iter().next());
    let why = match &best {
        Some(best) => best.reason.clone().unwrap_or_default(),
        None => answer.words.lines().last().unwrap_or("no way is known there").to_owned(),
    };
    Row { host, best, why }
}

impl Candidate {
    fn way(&self) -> String {
        format!("{} {}", self.framework, self.config).trim_end().to_owned()
    }

    /// Equal GPUs are counted.
    fn gpus(&self) -> String {
        match &self.gpus[..] {
            [] => "-".to_owned(),
            [one] => one.clone(),
            [first, rest @ ..] if rest.iter().all(|gpu| gpu == first) => {
                format!("{} x {first}", self.gpus.len())
            }
            all => all.join(", "),
        }
    }

    fn memory(&self) -> String {
        match (&self.memory_bytes, self.gpu_memory_bytes) {
            (Some(memory), Some(total)) => bytes_of(Some(memory.total.mid), total).to_string(),
            (Some(memory), None) => bytes(memory.total.mid).to_string(),
            (None, _) => "-".to_owned(),
        }
    }

    /// Predicted, of all requests.
    fn rate(&self) -> String {
        let of = |key: &str| self.tokens_per_s.as_ref()?.get(key)?.as_f64();
        match (of("low"), of("high")) {
            (Some(low), Some(high)) => format!("{low:.0}-{high:.0}"),
            _ => "-".to_owned(),
        }
    }
}

fn columns<'a>() -> [Column<Row<'a>>; 7] {
    fn of(row: &Row<'_>, text: fn(&Candidate) -> String) -> String {
        row.best.as_ref().map_or_else(|| "-".to_owned(), text)
    }
    [
        Column::left("HOST", 0, |row, _| row.host.to_owned()),
        Column::left("GPU", 0, |row, _| of(row, Candidate::gpus)),
        Column::left("BEST WAY", 0, |row, _| of(row, Candidate::way)),
        Column::left("FITS", 0, |row, _| match &row.best {
            Some(best) => best.fits.replace('_', " "),
            None => "no answer".to_owned(),
        }),
        Column::right("MEMORY", 1, |row, _| of(row, Candidate::memory)),
        Column::right("TOKENS/S", 2, |row, _| of(row, Candidate::rate)),
        Column::left("WHY", 3, |row, _| {
            let fine =
                row.best.as_ref().is_some_and(|best| best.verdict.as_deref() == Some("works"));
            if fine { String::new() } else { row.why.clone() }
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::hosts::Answer;
    use crate::io::source::hosts::Trouble;

    #[test]
    fn the_best_way_of_each_host_is_a_line_and_a_silent_host_is_told() {
        let hosts: Vec<HostName> =
            ["gpu1", "gpu2", "gpu3"].map(|name| name.parse().expect("a name")).into();
        let output = r#"{"candidates":[{"framework":"vLLM","config":"AWQ","gpus":["T4","T4"],"fits":"does_not_fit","verdict":"fails","reason":"too old",
            "memory_bytes":{"total":{"low":1,"mid":1073741824,"high":3}},"gpu_memory_bytes":16106127360,"tokens_per_s":{"low":10.2,"high":30}}]}"#;
        let answer = |output: &str| Answer {
            hello: None,
            output: output.as_bytes().to_vec(),
            words: "model not found".to_owned(),
            code: 0,
        };
        let trouble = Trouble { what: "not connected".to_owned(), remedy: String::new() };
        let outcomes = [
            (&hosts[0], Ok(answer(output))),
            (&hosts[1], Ok(answer(""))),
            (&hosts[2], Err(trouble)),
        ];
        let style = Style { width: None, color: false, ascii: true };
        let text = table(&outcomes, style);
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
            .collect();
        assert_eq!(
            lines[1],
            ["gpu1", "2 x T4", "vLLM AWQ", "does not fit", "1.0 / 15.0 GiB", "10-30", "too old"]
        );
        assert_eq!(lines[2].last(), Some(&"model not found"));
        assert_eq!(lines[3].last(), Some(&"not connected"));
    }
}
