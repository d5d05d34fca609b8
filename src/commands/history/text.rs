//! The history as text: every kernel on a line, or one kernel run by run.

use crate::io::sink::table::{Column, Style, grid};
use crate::runs::run_log::Identity;
use crate::store::trends::{ChangePoint, Difference, RunMedian, Trend, commit};
use crate::text::clean;
use crate::widgets::format;
use crate::widgets::glyphs::Glyphs;

/// A kernel and its last change.
struct Line<'a> {
    trend: &'a Trend,
    last: Option<&'a ChangePoint>,
}

fn lines<'a>() -> [Column<Line<'a>>; 6] {
    [
        Column::left("KERNEL", 0, |line, _| line.trend.name()),
        Column::left("ON", 2, |line, _| line.trend.circumstances()),
        Column::right("RUNS", 3, |line, _| line.trend.run_medians.len().to_string()),
        Column::right("MEDIAN", 0, |line, style| median(line.trend.newest(), style)),
        Column::right("CHANGE", 0, |line, _| {
            line.last.map_or("-".to_owned(), |shift| format::change(shift.change).to_string())
        }),
        Column::left("SINCE", 1, |line, _| {
            line.last.map_or(String::new(), |shift| since(line.trend, shift))
        }),
    ]
}

/// Every kernel on a line.
pub(crate) fn overview(trends: &[&Trend], weak: bool, style: Style) -> String {
    let rows: Vec<_> =
        trends.iter().map(|trend| Line { trend, last: trend.change_points(weak).last() }).collect();
    grid(&lines(), &rows, style)
        + "\nwarpscope history WORD shows the kernels with that word run by run.\n"
}

fn since(trend: &Trend, shift: &ChangePoint) -> String {
    let Some(run) = trend.run_medians.get(shift.at).map(|moment| &moment.run.identity) else {
        return String::new();
    };
    format!("{} {}", date(run), commit(run).unwrap_or_default()).trim_end().to_owned()
}

/// A run of a kernel, with the change that begins with it.
struct Run<'a> {
    moment: &'a RunMedian,
    shift: Option<&'a ChangePoint>,
}

fn runs<'a>() -> [Column<Run<'a>>; 9] {
    [
        Column::left("DATE", 0, |run, _| date(identity(run))),
        Column::left("NAME", 5, |run, _| word(&identity(run).name)),
        Column::left("COMMIT", 1, |run, _| word(&commit(identity(run)))),
        Column::left("DRIVER", 2, |run, _| word(&identity(run).driver)),
        Column::right("MEDIAN", 0, |run, style| median(Some(run.moment), style)),
        Column::left("QUARTILES", 4, quartiles),
        Column::right("SAMPLES", 3, |run, _| run.moment.clean.to_string()),
        Column::right("TAINTED", 6, |run, _| match run.moment.tainted {
            0 => String::new(),
            count => count.to_string(),
        }),
        Column::right("CHANGE", 0, |run, _| {
            run.shift.map_or(String::new(), |shift| format::change(shift.change).to_string())
        }),
    ]
}

/// Each kernel run by run, and its changes in words.
pub(crate) fn details(trends: &[&Trend], weak: bool, style: Style) -> String {
    let one = |trend: &&Trend| {
        let change_points = trend.change_points(weak);
        let rows = trend.run_medians.iter().enumerate().map(|(at, moment)| Run {
            moment,
            shift: change_points.iter().find(|shift| shift.at == at),
        });
        let head = format!(
            "{}\n{}",
            clean(&trend.name(), style.ascii),
            clean(&trend.circumstances(), style.ascii)
        );
        let rows: Vec<_> = rows.collect();
        let words: String = change_points
            .iter()
            .map(|shift| clean(&sentence(trend, shift, style), style.ascii).into_owned() + "\n")
            .collect();
        let none =
            || match trend.run_medians.iter().filter(|moment| moment.quartiles.is_some()).count() {
                few if few < crate::store::trends::LEAST_RUNS => format!(
                    "{few} runs with clean samples; change points need at least {}\n",
                    crate::store::trends::LEAST_RUNS
                ),
                _ => "no lasting change\n".to_owned(),
            };
        let words = if words.is_empty() { none() } else { words };
        format!("{head}\n\n{}\n{words}", grid(&runs(), &rows, style))
    };
    trends.iter().map(one).collect::<Vec<_>>().join("\n\n")
}

/// A change in words: when, how much, and what changed beside it.
fn sentence(trend: &Trend, shift: &ChangePoint, style: Style) -> String {
    let word = if shift.change > 0.0 { "slower" } else { "faster" };
    let weak = if shift.weak { ", weak" } else { "" };
    let when = trend.run_medians.get(shift.at).map(|moment| date(&moment.run.identity));
    format!(
        "from {} on {:.1}% {word}{weak} (p {}), {} after {}: {}",
        when.unwrap_or_default(),
        shift.change.abs() * 100.0,
        format::error(shift.p),
        time(shift.after, style),
        time(shift.before, style),
        beside(&trend.beside(shift), if style.ascii { "to" } else { "→" })
    )
}

/// What changed with it, in words.
pub(crate) fn beside(differences: &[Difference], arrow: &str) -> String {
    if differences.is_empty() {
        return "same commit, driver and environment".to_owned();
    }
    let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "none".to_owned());
    let told = |one: &Difference| {
        format!("{} {} {arrow} {}", one.what, side(&one.before), side(&one.after))
    };
    differences.iter().map(told).collect::<Vec<_>>().join(", ")
}

fn identity<'a>(run: &'a Run<'_>) -> &'a Identity {
    &run.moment.run.identity
}

fn word(text: &Option<String>) -> String {
    text.clone().unwrap_or_else(|| "-".to_owned())
}

/// Day and minute, UTC.
fn date(identity: &Identity) -> String {
    format::minute(identity.at_ms).to_string()
}

fn time(ns: f64, style: Style) -> String {
    format::nanoseconds(ns, Glyphs::choose(style.ascii)).to_string()
}

fn median(moment: Option<&RunMedian>, style: Style) -> String {
    moment.and_then(RunMedian::median).map_or_else(|| "-".to_owned(), |median| time(median, style))
}

fn quartiles(run: &Run<'_>, style: Style) -> String {
    run.moment.quartiles.map_or(String::new(), |all| {
        format!("{} to {}", time(all.lower, style), time(all.upper, style))
    })
}
