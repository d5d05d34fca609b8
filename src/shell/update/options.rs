//! What can be set while the dashboard runs: rows of the one table of options, read from the state and applied to it. Pure.

use std::time::Duration;

use crate::config::args::{self, ArgSpec};
use crate::config::{ArgValue, Kind, Value};
use crate::features::display::{span, span_word};
use crate::features::{Cmd, Effect, say};
use crate::shell::App;
use crate::widgets::format::Units;
use crate::widgets::theme;
use crate::worker::scheduler::BenchMode;

/// Intervals that keys walk through.
const INTERVALS: &[&str] = &["100ms", "200ms", "500ms", "1s", "2s", "5s", "10s", "30s", "1m"];
/// Of a list without a word.
const NONE: &str = "none";

/// One thing that can be set: an option, or a word of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionRow {
    /// The option.
    pub(crate) spec: &'static ArgSpec,
    /// What it is called.
    pub(crate) label: &'static str,
    /// Of a list: the word that comes and goes.
    pub(crate) word: Option<&'static str>,
}

/// Everything that can be set; columns in the order they have.
pub(crate) fn rows(app: &App) -> Vec<OptionRow> {
    let options: [(&ArgSpec, &str); 11] = [
        (&args::THEME.spec, "Theme"),
        (&args::INTERVAL.spec, "Interval"),
        (&args::BENCH.spec, "Benchmark"),
        (&args::MOUSE.spec, "Mouse"),
        (&args::CLOCK.spec, "Clock"),
        (&args::UNITS.spec, "Memory in"),
        (&args::TEMPERATURE.spec, "Temperature in"),
        (&args::GRAPH_SPAN.spec, "Graph span"),
        (&args::PANELS.spec, "Panel"),
        (&args::GRAPHS.spec, "Graph"),
        (&args::COLUMNS.spec, "Column"),
    ];
    let place = |word: &str| {
        let columns = &app.shared.display.columns;
        columns.iter().position(|column| column == word).unwrap_or(usize::MAX)
    };
    let rows = options.into_iter().flat_map(|(spec, label)| {
        let mut words: Vec<Option<&str>> = match spec.kind {
            Kind::AnyOf(words) => {
                words.iter().filter(|word| **word != NONE).map(|word| Some(*word)).collect()
            }
            _ => vec![None],
        };
        if *spec == args::COLUMNS.spec {
            words.sort_by_key(|word| word.map(place));
        }
        words.into_iter().map(move |word| OptionRow { spec, label, word })
    });
    rows.collect()
}

impl OptionRow {
    /// Its value now, for the screen.
    pub(crate) fn value(&self, app: &App) -> String {
        let value = value(app, self.spec);
        match self.word {
            Some(word) if value.split(',').any(|one| one == word) => "on".into(),
            Some(_) => "off".into(),
            None => value,
        }
    }
}

/// Words of the configuration that people write otherwise.
const SPELT: &[(&str, &str)] = &[
    ("utc", "UTC"),
    ("binary", "GiB"),
    ("decimal", "GB"),
    ("celsius", "Celsius"),
    ("fahrenheit", "Fahrenheit"),
    ("gpu", "GPU"),
    ("cpu", "CPU"),
    ("pid", "PID"),
    ("sm", "SM"),
    ("pcie", "PCIe"),
    ("nvlink", "NVLink"),
];

/// A word of the configuration as people write it: `gpu-memory` is GPU memory, `5min` is 5 min. A path stays one.
pub(crate) fn spelt(word: &str) -> String {
    if word.contains(['/', '.']) {
        return word.to_owned();
    }
    let part = |part: &str| {
        let unit = part.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(0);
        let known = SPELT.iter().find(|row| row.0 == part).map(|row| row.1.to_owned());
        let (number, unit) = part.split_at(unit);
        let gap = if number.is_empty() { "" } else { " " };
        known.unwrap_or_else(|| format!("{number}{gap}{unit}"))
    };
    word.split(['-', '_']).map(part).collect::<Vec<_>>().join(" ")
}

/// A sentence's first word.
fn capital(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(rest).collect()
}

/// The values of an option that keys walk through.
pub(crate) fn choices(spec: &ArgSpec) -> Vec<&'static str> {
    match spec.kind {
        Kind::OneOf(words) => words.to_vec(),
        Kind::Switch => vec!["off", "on"],
        Kind::Interval => INTERVALS.to_vec(),
        Kind::Path => theme::BUILTIN.iter().map(|row| row.0).collect(),
        _ => Vec::new(),
    }
}

/// The value of an option, as its text in the configuration.
fn value(app: &App, spec: &ArgSpec) -> String {
    let display = &app.shared.display;
    let pick = |second, words: [&str; 2]| words[usize::from(second)].to_owned();
    match spec.id {
        "THEME" => app.shared.settings.theme.to_string_lossy().into_owned(),
        "INTERVAL" => Value::Span(app.shared.settings.interval).text(),
        "BENCH" => match app.tabs.bench.devices.mode() {
            BenchMode::Off => "off",
            BenchMode::Ask => "ask",
            BenchMode::Auto => "auto",
            BenchMode::On => "on",
        }
        .to_owned(),
        "MOUSE" => pick(display.mouse, ["off", "on"]),
        "CLOCK" => pick(display.is_local_time, ["utc", "local"]),
        "UNITS" => pick(display.units.decimal, ["binary", "decimal"]),
        "TEMPERATURE" => pick(display.units.fahrenheit, ["celsius", "fahrenheit"]),
        "GRAPH_SPAN" => span_word(display.span),
        "COLUMNS" => display.columns.join(","),
        "PANELS" => display.panels.join(","),
        "GRAPHS" => display.graphs.join(","),
        _ => String::new(),
    }
}

/// The next value of an option, or the one before; of a list this word comes or goes.
pub(crate) fn step(
    app: &mut App,
    spec: &'static ArgSpec,
    word: Option<&'static str>,
    by: isize,
) -> Vec<Effect> {
    let now = value(app, spec);
    let next = match word {
        Some(word) => toggled(spec.kind.words(), &now, word),
        None => beside(spec, &now, by),
    };
    set(app, spec, &next)
}

/// A list with a word less, or more: before the first that follows it in the table.
fn toggled(words: &[&'static str], now: &str, word: &str) -> String {
    let rank = |one: &str| words.iter().position(|other| *other == one);
    let before: Vec<&str> = now.split(',').filter(|one| *one != NONE).collect();
    let mut kept: Vec<&str> = before.iter().copied().filter(|one| *one != word).collect();
    if kept.len() == before.len() {
        let place = kept.iter().position(|one| rank(one) > rank(word));
        kept.insert(place.unwrap_or(kept.len()), word);
    }
    if kept.is_empty() { NONE.to_owned() } else { kept.join(",") }
}

/// A list in which a word stands one place further; none where it cannot.
pub(crate) fn moved(app: &App, row: &OptionRow, by: isize) -> Option<String> {
    let text = value(app, row.spec);
    let mut words: Vec<&str> = text.split(',').collect();
    let at = words.iter().position(|word| Some(*word) == row.word)?;
    let to = at.checked_add_signed(by).filter(|to| *to < words.len())?;
    words.swap(at, to);
    Some(words.join(","))
}

/// The value beside the one an option has. Intervals end where the longest and the shortest are, the others go around.
fn beside(spec: &ArgSpec, now: &str, by: isize) -> String {
    let choices = choices(spec);
    if spec.kind == Kind::Interval {
        let length = |text: &str| {
            Kind::Interval.parse(text).ok().and_then(|value| Duration::read(Some(&value)))
        };
        let now = length(now);
        let mut further: Box<dyn Iterator<Item = &&str>> =
            if by < 0 { Box::new(choices.iter().rev()) } else { Box::new(choices.iter()) };
        let next =
            further.find(|text| if by < 0 { length(text) < now } else { length(text) > now });
        return next.map_or_else(String::new, |text| (*text).to_owned());
    }
    let at = choices.iter().position(|word| *word == now);
    let count = choices.len().cast_signed().max(1);
    let next = at.map_or(0, |at| (at.cast_signed() + by).rem_euclid(count).unsigned_abs());
    choices.get(next).map_or_else(String::new, |word| (*word).to_owned())
}

/// Gives an option a value, at once.
pub(crate) fn set(app: &mut App, spec: &'static ArgSpec, text: &str) -> Vec<Effect> {
    let Ok(value) = spec.kind.parse(text) else { return Vec::new() };
    let before = self::value(app, spec);
    let mut effects = apply(app, spec, &value);
    if let Some(key) = spec.key {
        let words: Vec<String> = text.split(',').map(spelt).collect();
        effects.extend(say(format!("{}: {}.", capital(&spelt(key)), words.join(", "))));
        app.shared.display.set(key, before, value);
    }
    effects
}

/// Gives the options of a layout their values.
pub(crate) fn set_layout(app: &mut App, at: usize) -> Vec<Effect> {
    let Some((name, values)) = app.shared.display.layouts.get(at).cloned() else {
        return Vec::new();
    };
    app.shared.display.layout = Some(at);
    for spec in args::all() {
        if let Some(value) = values.get(spec.id) {
            set(app, spec, &value.text());
        }
    }
    say(format!("Layout: {name}."))
}

fn apply(app: &mut App, spec: &ArgSpec, value: &Value) -> Vec<Effect> {
    let display = &mut app.shared.display;
    let text = value.text();
    match (spec.id, value) {
        ("THEME", _) => app.shared.settings.theme = text.into(),
        ("INTERVAL", Value::Span(interval)) => {
            app.shared.settings.interval = *interval;
            return vec![Cmd::SetInterval(*interval).into()];
        }
        ("BENCH", _) => {
            let mode = BenchMode::read(Some(value)).unwrap_or_default();
            return app.tabs.bench.set_mode(mode);
        }
        ("MOUSE", Value::Switch(on)) => {
            display.mouse = *on;
            return vec![Cmd::Mouse(*on).into()];
        }
        ("CLOCK", _) => display.is_local_time = text == "local",
        ("UNITS", _) => display.units = Units { decimal: text == "decimal", ..display.units },
        ("TEMPERATURE", _) => {
            display.units = Units { fahrenheit: text == "fahrenheit", ..display.units };
        }
        ("GRAPH_SPAN", _) => display.span = span(&text).unwrap_or_default(),
        ("COLUMNS", Value::List(words)) => display.columns.clone_from(words),
        ("PANELS", Value::List(words)) => display.panels.clone_from(words),
        ("GRAPHS", Value::List(words)) => display.graphs.clone_from(words),
        _ => {}
    }
    Vec::new()
}
