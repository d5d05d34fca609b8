//! What the tab shows, as plain text and numbers.

use crate::features::history::History;
use crate::store::trends::{ChangePoint, RunMedian, Trend, commit};
use crate::widgets::theme::Role;
use crate::widgets::{Level, Look, Step, format};

/// A kernel in the list.
#[derive(Debug, PartialEq)]
pub(crate) struct Row {
    /// Texts in the order of the columns.
    pub(crate) cells: [String; 7],
    /// Colour of the change.
    pub(crate) change: Role,
}

/// The selected kernel and the run under the cursor.
#[derive(Debug, PartialEq)]
pub(crate) struct Details {
    pub(crate) name: String,
    pub(crate) on: String,
    pub(crate) levels: Vec<Option<Level>>,
    pub(crate) cursor: usize,
    pub(crate) marked: Vec<(usize, &'static str)>,
    pub(crate) ends: (String, String),
    /// Label, text and colour.
    pub(crate) facts: Vec<(&'static str, String, Role)>,
}

/// Everything the tab shows.
#[derive(Debug, PartialEq)]
pub(crate) struct Model {
    pub(crate) count: String,
    pub(crate) rows: Vec<Row>,
    pub(crate) steps: Vec<Step>,
    pub(crate) details: Option<Details>,
}

impl Model {
    pub(crate) fn of(state: &History, look: Look<'_>) -> Self {
        let trends = &state.trends;
        let rows: Vec<Row> =
            state.rows().into_iter().map(|at| row(&trends[at], state.weak, look)).collect();
        let trend = state.selected_trend();
        let steps = trend.map_or(Vec::new(), |trend| {
            trend.change_points(state.weak).iter().map(|shift| step(trend, shift)).collect()
        });
        let details = trend.and_then(|trend| details(state, trend, look));
        let count = format::part(rows.len(), trends.len(), "kernel");
        Self { count, rows, steps, details }
    }
}

/// Less time is good, more is bad; what may be chance is neither.
fn role(shift: &ChangePoint) -> Role {
    match () {
        () if shift.weak => Role::Muted,
        () if shift.change > 0.0 => Role::Bad,
        () => Role::Good,
    }
}

fn row(trend: &Trend, weak: bool, look: Look<'_>) -> Row {
    let last = trend.change_points(weak).last();
    let run = last.and_then(|shift| trend.run_medians.get(shift.at));
    let median = trend.newest().and_then(RunMedian::median);
    let absent = || look.glyphs.dash.to_owned();
    let cells = [
        trend.name(),
        trend.circumstances(),
        trend.run_medians.len().to_string(),
        median.map_or_else(absent, |ns| format::nanoseconds(ns, look.glyphs).to_string()),
        last.map_or_else(absent, |shift| format::change(shift.change).to_string()),
        run.map_or(String::new(), |run| format::minute(run.run.identity.at_ms).to_string()),
        run.and_then(|run| commit(&run.run.identity)).unwrap_or_default(),
    ];
    Row { cells, change: last.map_or(Role::Faint, role) }
}

/// A change with the commit and driver that came with it.
fn step(trend: &Trend, shift: &ChangePoint) -> Step {
    let beside = trend.beside(shift).into_iter();
    let after = |what: &str, text: String| match what {
        "commit" => text,
        _ => format!("{what} {text}"),
    };
    let causes: Vec<String> =
        beside.filter_map(|one| Some(after(&one.what, one.after?))).take(2).collect();
    let label = format!("{} {}", format::change(shift.change), causes.join(", "));
    Step { at: shift.at, label: label.trim_end().to_owned(), role: role(shift) }
}

fn details(state: &History, trend: &Trend, look: Look<'_>) -> Option<Details> {
    let cursor = state.moment(trend);
    let level = |moment: &RunMedian| {
        let all = moment.quartiles?;
        Some(Level { lower: all.lower, median: all.median, upper: all.upper })
    };
    let place = |hash: &i64| trend.run_medians.iter().position(|moment| moment.run.hash == *hash);
    let mut marked: Vec<usize> = state.marked.iter().filter_map(place).collect();
    // The letters say which one a comparison starts from.
    marked.sort_unstable();
    let day = |moment: &RunMedian| {
        let text = format::minute(moment.run.identity.at_ms);
        text.get(..10).unwrap_or(&text).to_owned()
    };
    Some(Details {
        name: trend.name(),
        on: trend.circumstances(),
        levels: trend.run_medians.iter().map(level).collect(),
        cursor,
        marked: marked.into_iter().zip(["A", "B"]).collect(),
        ends: (day(trend.run_medians.first()?), day(trend.run_medians.last()?)),
        facts: facts(trend, cursor, state.weak, look),
    })
}

/// What is known of a run and of the kernel in it.
fn facts(
    trend: &Trend,
    at: usize,
    weak: bool,
    look: Look<'_>,
) -> Vec<(&'static str, String, Role)> {
    let Some(moment) = trend.run_medians.get(at) else { return Vec::new() };
    let identity = &moment.run.identity;
    let mut facts = Vec::new();
    let mut tell = |label, text: Option<String>, role| {
        facts.extend(text.filter(|text| !text.is_empty()).map(|text| (label, text, role)));
    };
    let name = identity.name.as_ref().map_or(String::new(), |name| format!(", {name}"));
    tell("run", Some(format!("{} of {}{name}", at + 1, trend.run_medians.len())), Role::Text);
    let date = (identity.at_ms > 0).then(|| format!("{} UTC", format::minute(identity.at_ms)));
    tell("date", date, Role::Text);
    let time = |ns| format::nanoseconds(ns, look.glyphs);
    let median = moment.median().map(|median| time(median).to_string());
    tell("time", median.or(Some("no clean sample".to_owned())), Role::Text);
    let quartiles =
        moment.quartiles.map(|all| format!("{} to {}", time(all.lower), time(all.upper)));
    tell("quartiles", quartiles, Role::Text);
    let tainted = match moment.tainted {
        0 => String::new(),
        count => format!(", {count} tainted and left out"),
    };
    let samples = format!("{}{tainted}", moment.clean);
    tell("samples", Some(samples), if moment.tainted > 0 { Role::Warn } else { Role::Text });
    tell("commit", commit(identity), Role::Text);
    tell("driver", identity.driver.clone(), Role::Text);
    tell("CUDA", identity.cuda.clone(), Role::Text);
    let shift = trend.change_points(weak).iter().find(|shift| shift.at == at);
    tell("change", shift.map(|shift| sentence(trend, shift, look)), shift.map_or(Role::Text, role));
    for mark in &moment.run.marks {
        tell("remark", Some(mark.text.clone()), Role::Info);
    }
    tell("command", Some(identity.command.join(" ")), Role::Muted);
    let killed = (!moment.run.ended).then(|| "did not come to its end".to_owned());
    tell("ended", killed, Role::Warn);
    facts
}

/// A change and what came with it, in words.
fn sentence(trend: &Trend, shift: &ChangePoint, look: Look<'_>) -> String {
    let word = if shift.change > 0.0 { "slower" } else { "faster" };
    let weak = if shift.weak { ", small or chance" } else { "" };
    let side = |side: Option<String>| side.unwrap_or_else(|| "none".to_owned());
    let arrow = look.glyphs.right;
    let beside = trend
        .beside(shift)
        .into_iter()
        .map(|one| format!("{} {} {arrow} {}", one.what, side(one.before), side(one.after)));
    let beside: Vec<String> = beside.collect();
    let beside = match beside.as_slice() {
        [] => "same commit, driver and environment".to_owned(),
        some => some.join(", "),
    };
    let percent = shift.change.abs() * 100.0;
    format!("{percent:.1}% {word} from here on{weak}: {beside}")
}
