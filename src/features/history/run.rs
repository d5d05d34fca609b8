use std::cmp::Reverse;

use ratatui::text::Line;
use warpscope_probes::text::printable;

use crate::features::history::{Compared, History, again};
use crate::runs::compare::{Call, Comparison, Row, Side};
use crate::runs::run_log::Dirty;
use crate::store::trends::{RecordedRun, Trend, differences, regime_word};
use crate::widgets::theme::Role;
use crate::widgets::{Look, Titled, format, section};

/// Everything about one recorded run.
pub(crate) fn page(state: &History, look: Look<'_>, run: i64, width: usize) -> Titled {
    let Some(run) = state.run(run) else {
        let text = "This run is no longer in the history.";
        return ("Run".into(), vec![Line::styled(text, look.style(Role::Warn))]);
    };
    let identity = &run.identity;
    let mut lines = Vec::new();
    let mut tell = |label: &str, text: &str| {
        let known = !text.is_empty();
        let (text, role) = if known { (text, Role::Text) } else { (format::ABSENT, Role::Absent) };
        lines.extend(section(look, label, text, role, width));
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    tell("started", &format::minute(identity.at_ms));
    tell("command", &identity.command.join(" "));
    tell("commit", &text(&identity.commit));
    match &identity.dirty {
        Dirty::No => {}
        Dirty::Hash(hash) => tell("", &format!("with changes on top, hash {hash}")),
        Dirty::NotHashed => tell("", "with changes on top, too large to be hashed"),
        Dirty::Unknown => tell("", "not known whether with changes on top"),
    }
    tell("driver", &text(&identity.driver));
    tell("CUDA", &text(&identity.cuda));
    let devices: Vec<&str> = identity.devices.iter().map(|gpu| gpu.name.as_str()).collect();
    tell("devices", &devices.join(", "));
    tell("regime", regime_word(identity.regime));
    let pairs = identity.environment.iter().chain(&identity.libraries);
    for (name, value) in pairs {
        tell("with", &format!("{name}={value}"));
    }
    for mark in &run.marks {
        tell("remark", &format!("{} {}", format::minute(mark.at_ms), mark.text));
    }
    tell("ended", if run.ended { "yes" } else { "no: it was stopped before its end" });
    tell("journal", &run.file);
    (name(run), lines)
}

fn name(run: &RecordedRun) -> String {
    let date = format::minute(run.identity.at_ms);
    run.identity
        .name
        .as_ref()
        .map_or_else(|| format!("Run of {date}"), |name| format!("Run {name}"))
}

/// The two marked runs beside each other, the selected kernel first.
pub(crate) fn compared(state: &History, look: Look<'_>, width: usize) -> Titled {
    let title = "Two runs".to_owned();
    let line = |text: &str, role| {
        let wrapped = crate::widgets::wrap(text, width).into_iter();
        wrapped.map(|text| Line::styled(text, look.style(role))).collect()
    };
    let comparison = match &state.compared {
        Compared::Done(comparison) => comparison,
        Compared::Failed(why) => return (title, line(why, Role::Bad)),
        Compared::Waiting(..) | Compared::Not => {
            return (title, line("Reading the samples of both runs.", Role::Info));
        }
    };
    let mut lines = sides(state, look, width);
    let selected = state.selected_trend().map(Trend::name);
    let mut rows: Vec<&Row> = comparison.rows.iter().collect();
    rows.sort_by_key(|row| Reverse(selected.as_ref() == Some(&row_name(row))));
    let shared = shared_heads(&rows);
    for (head, role) in &shared {
        lines.push(Line::default());
        let wrapped = crate::widgets::wrap(head, width).into_iter();
        lines.extend(wrapped.map(|text| Line::styled(text, look.style(*role))));
    }
    rows.iter().for_each(|row| lines.extend(block(look, row, &shared, width)));
    lines.extend(left_out(look, comparison, width));
    (title, lines)
}

fn row_name(row: &Row) -> String {
    let key = crate::runs::samples::Key { device: None, ..row.key.clone() };
    format!("{key} {}", row.config).trim_end().to_owned()
}

/// The marked runs, the older first.
fn marked(state: &History) -> Vec<&RecordedRun> {
    let marked = state.marked.iter().filter_map(|hash| state.run(*hash));
    let mut runs: Vec<&RecordedRun> = marked.collect();
    runs.sort_by_key(|run| (run.identity.at_ms, run.hash));
    runs
}

/// The command that measures the marked runs once more, in turn.
pub(crate) fn in_turn(state: &History) -> Option<String> {
    match marked(state).as_slice() {
        [a, b] => again::in_turn(&a.identity, &b.identity).map(|text| printable(&text)),
        _ => None,
    }
}

/// Which runs they are, and what is different about them.
fn sides(state: &History, look: Look<'_>, width: usize) -> Vec<Line<'static>> {
    let runs = marked(state);
    let mut lines = Vec::new();
    for (letter, run) in ["A", "B"].into_iter().zip(&runs) {
        let text = format!("{}, {}", name(run), format::minute(run.identity.at_ms));
        lines.extend(section(look, letter, &text, Role::Text, width));
    }
    if let [a, b] = runs.as_slice() {
        let side = |side: Option<String>| side.unwrap_or_else(|| "none".to_owned());
        for one in differences(&a.identity, &b.identity) {
            let text = format!("{} {} {}", side(one.before), look.glyphs.right, side(one.after));
            // A variable's name is longer than the column of labels.
            let (label, text) = match one.what.len() {
                ..9 => (one.what.as_str(), text),
                _ => ("with", format!("{} {text}", one.what)),
            };
            lines.extend(section(look, label, &text, Role::Muted, width));
        }
    }
    if let Some(command) = in_turn(state) {
        lines.extend(section(look, "again (y)", &command, Role::Good, width));
    }
    lines
}

/// What is said of a row, and its meaning.
fn head(row: &Row) -> (String, Role) {
    let judgement = &row.judgement;
    let role = match judgement.call {
        Call::Same => Role::Info,
        Call::Faster => Role::Good,
        Call::Slower => Role::Bad,
        Call::Ambiguous => Role::Warn,
    };
    (format!("{}: {}", judgement.call, judgement.reason), role)
}

/// What is said of several rows alike, to be told once above them.
fn shared_heads(rows: &[&Row]) -> Vec<(String, Role)> {
    let heads: Vec<_> = rows.iter().map(|row| head(row)).collect();
    let is_repeated = |(at, one): &(usize, &(String, Role))| {
        heads[..*at].iter().filter(|two| two == one).count() == 1
    };
    heads.iter().enumerate().filter(is_repeated).map(|(_, head)| head.clone()).collect()
}

fn block(look: Look<'_>, row: &Row, shared: &[(String, Role)], width: usize) -> Vec<Line<'static>> {
    let judgement = &row.judgement;
    let mut lines =
        vec![Line::default(), Line::styled(printable(&row_name(row)), look.style(Role::Header))];
    let (head, role) = head(row);
    let is_told = shared.iter().any(|one| one.0 == head);
    let head = if is_told { judgement.call.to_string() } else { head };
    lines.extend(
        crate::widgets::wrap(&head, width)
            .into_iter()
            .map(|text| Line::styled(text, look.style(role))),
    );
    let time = |ns| format::nanoseconds(ns, look.glyphs);
    let side = |side: &Side| match side.quartiles {
        Some(all) => {
            let tainted = match side.tainted {
                0 => String::new(),
                count => format!(", {count} tainted left out"),
            };
            format!(
                "{}, quartiles {} to {}, {}{tainted}",
                time(all.median),
                time(all.lower),
                time(all.upper),
                format::counted(side.samples, "sample")
            )
        }
        None => "no clean sample".to_owned(),
    };
    lines.extend(section(look, "A", &side(&row.sides.0), Role::Text, width));
    lines.extend(section(look, "B", &side(&row.sides.1), Role::Text, width));
    if let Some(effect) = judgement.time {
        let interval = effect.interval.map_or_else(String::new, |interval| {
            let (low, high) = (format::change(interval.low), format::change(interval.high));
            format!(", 95% interval {low} to {high}")
        });
        let text = format!("{}{interval}", format::change(effect.change));
        lines.extend(section(look, "change", &text, Role::Text, width));
    }
    lines
}

fn left_out(look: Look<'_>, comparison: &Comparison, width: usize) -> Vec<Line<'static>> {
    if comparison.alone.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line::default(), Line::styled("Not compared", look.style(Role::Header))];
    for one in &comparison.alone {
        let letter = if one.is_missing { "A" } else { "B" };
        let what = format!("{} {}", one.key, one.config);
        let text = format!("{}: {}", what.trim_end(), one.why);
        lines.extend(section(look, letter, &text, Role::Muted, width));
    }
    lines
}
