//! What several hosts answer to `check`, as one table.

use serde::Deserialize;

use super::there::Outcome;
use crate::engine;
use crate::io::sink::table::{Column, Style, grid};
use crate::io::source::hosts::HostName;

/// The part of a host's answer that the table shows.
#[derive(Deserialize)]
struct Checked {
    verdicts: Vec<Verdict>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Verdict {
    gpu: String,
    framework: String,
    #[serde(default)]
    config: String,
    outcome: String,
    #[serde(default)]
    reason: Option<String>,
}

/// A verdict on equal GPUs of a host, or why there is none.
struct Row<'a> {
    host: &'a str,
    count: usize,
    verdict: Option<Verdict>,
    why: String,
}

/// One line for each host and kind of GPU.
pub(super) fn table(outcomes: &[(&HostName, Outcome)], style: Style) -> String {
    let rows: Vec<Row<'_>> =
        outcomes.iter().flat_map(|(host, outcome)| rows(host, outcome)).collect();
    grid(&columns(), &rows, style)
}

fn rows<'a>(host: &'a HostName, outcome: &Outcome) -> Vec<Row<'a>> {
    let host = host.as_str();
    let none = |why: String| vec![Row { host, count: 0, verdict: None, why }];
    let answer = match outcome {
        Ok(answer) => answer,
        Err(trouble) => return none(trouble.what.clone()),
    };
    let Ok(checked) = serde_json::from_slice::<Checked>(&answer.output) else {
        return none(answer.words.lines().last().unwrap_or("no answer is understood").to_owned());
    };
    let mut rows: Vec<Row<'a>> = Vec::new();
    for verdict in checked.verdicts {
        match rows.iter_mut().find(|row| row.verdict.as_ref() == Some(&verdict)) {
            Some(row) => row.count += 1,
            None => {
                let why = verdict.reason.clone().unwrap_or_default();
                rows.push(Row { host, count: 1, verdict: Some(verdict), why });
            }
        }
    }
    rows
}

fn columns<'a>() -> [Column<Row<'a>>; 5] {
    [
        Column::left("HOST", 0, |row, _| row.host.to_owned()),
        Column::left("GPU", 0, |row, _| match (&row.verdict, row.count) {
            (Some(verdict), 1) => verdict.gpu.clone(),
            (Some(verdict), count) => format!("{count} x {}", verdict.gpu),
            (None, _) => "-".to_owned(),
        }),
        Column::left("CONFIGURATION", 0, |row, _| {
            let verdict = row.verdict.as_ref();
            verdict.map_or_else(String::new, |it| format!("{} {}", it.framework, it.config))
        }),
        Column::left("VERDICT", 0, |row, style| {
            let verdict = row.verdict.as_ref();
            verdict.map_or_else(|| "no answer".to_owned(), |it| shown(&it.outcome, style))
        }),
        Column::left("WHY", 1, |row, _| row.why.clone()),
    ]
}

/// An outcome as `check` shows it; one of a newer version by its name.
fn shown(outcome: &str, style: Style) -> String {
    match serde_json::from_value::<engine::Outcome>(outcome.into()) {
        Ok(known) => format!("{} {}", known.symbol(style.ascii), known.words()),
        Err(_) => outcome.replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::hosts::Answer;
    use crate::io::source::hosts::Trouble;

    #[test]
    fn equal_gpus_are_one_line_and_a_silent_host_is_told() {
        let hosts: Vec<HostName> =
            ["gpu1", "gpu2"].map(|name| name.parse().expect("a name")).into();
        let verdict = r#"{"gpu":"T4","framework":"vLLM","config":"AWQ","outcome":"no_known_obstacle","reason":"r"}"#;
        let output = format!("{{\"verdicts\":[{verdict},{verdict}]}}").into_bytes();
        let answer = Answer { hello: None, output, words: String::new(), code: 0 };
        let trouble = Trouble { what: "not connected".to_owned(), remedy: String::new() };
        let outcomes = [(&hosts[0], Ok(answer)), (&hosts[1], Err(trouble))];
        let style = Style { width: None, color: false, ascii: true };
        let text = table(&outcomes, style);
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "HOST  GPU     CONFIGURATION  VERDICT              WHY",
                "gpu1  2 x T4  vLLM AWQ       o no known obstacle  r",
                "gpu2  -                      no answer            not connected",
            ]
        );
    }
}
