use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::features::{Scroll, history};
use crate::runs::compare::Quartiles;
use crate::runs::run_log::{Identity, SampleMode};
use crate::runs::samples::Key;
use crate::shell::keymap::Keymap;
use crate::shell::update::update;
use crate::shell::{App, Cmd, Msg, Settings};
use crate::store::trends::{Summary, trends};

fn app() -> App {
    let settings = Settings {
        interval: Duration::from_secs(1),
        readonly: false,
        inspect: false,
        theme: "dark".into(),
    };
    let rules = Arc::new(warpscope_probes::rules::RuleBase::default());
    App::new(settings, Keymap::default(), crate::features::what_if::WhatIf::default(), rules)
}

/// Two kernels in three runs; the second kernel is not in the first run.
fn read() -> Vec<Trend> {
    let past = |at: u64| RecordedRun {
        hash: at as i64,
        identity: Identity {
            at_ms: at,
            regime: if at == 3 { SampleMode::Pulse } else { SampleMode::External },
            ..Identity::default()
        },
        ..RecordedRun::default()
    };
    let summary = |run: i64, name: &str| Summary {
        run,
        key: Key { name: name.into(), ..Key::default() },
        clean: 1,
        quartiles: Some(Quartiles { lower: 1.0, median: 1.0, upper: 1.0 }),
        ..Summary::default()
    };
    let summaries = [(1, "a"), (2, "a"), (2, "b"), (3, "a")];
    trends((1..=3).map(past).collect(), summaries.map(|(run, name)| summary(run, name)).into())
}

fn press(app: &mut App, key: &str) -> Vec<Cmd> {
    update(app, Msg::Key(key.parse().expect("is a key")))
}

fn filled() -> App {
    let mut app = app();
    assert_eq!(press(&mut app, "5"), [Cmd::History(history::Cmd::Read)]);
    update(&mut app, Msg::History(history::Msg::Read(Ok(read()))));
    app
}

#[test]
fn the_store_is_read_on_every_visit_and_once_at_a_time() {
    let mut app = app();
    assert_eq!(press(&mut app, "4"), []);
    assert_eq!(press(&mut app, "tab"), [Cmd::History(history::Cmd::Read)]);
    assert_eq!((press(&mut app, "1"), press(&mut app, "5")), (vec![], vec![]), "still reading");
    update(&mut app, Msg::History(history::Msg::Read(Err("locked".into()))));
    assert_eq!(app.tabs.history.state, State::Failed("locked".into()));
    assert_eq!(press(&mut app, "down"), []);
    press(&mut app, "1");
    assert_eq!(press(&mut app, "5"), [Cmd::History(history::Cmd::Read)]);
}

#[test]
fn the_cursor_is_on_the_newest_run_and_stays_on_its_run() {
    let mut app = filled();
    let at = |app: &App| app.tabs.history.selected_run().map(|run| run.hash);
    // External comes before pulse: the first trend has the runs 1 and 2.
    assert_eq!(at(&app), Some(2));
    press(&mut app, "left");
    press(&mut app, "left");
    assert_eq!(at(&app), Some(1));
    press(&mut app, "right");
    press(&mut app, "end");
    assert_eq!(at(&app), Some(2), "the same run of another kernel");
    press(&mut app, "home");
    press(&mut app, "right");
    assert_eq!(at(&app), Some(2));
}

#[test]
fn two_runs_are_marked_and_compared() {
    let mut app = filled();
    assert_eq!(press(&mut app, "c"), []);
    assert!(app.toast.as_ref().is_some_and(|said| said.0.contains("Mark two runs")));
    press(&mut app, "m");
    press(&mut app, "left");
    press(&mut app, "m");
    assert_eq!(app.tabs.history.marked, [2, 1]);
    assert_eq!(
        press(&mut app, "c"),
        [Cmd::History(history::Cmd::Compare(1, 2))],
        "the older first"
    );
    assert_eq!(app.tabs.history.popup, Some(Popup::Compared(Scroll(0))));
    update(&mut app, Msg::History(history::Msg::Compared((7, 8), Err("others".into()))));
    assert_eq!(app.tabs.history.compared, Compared::Waiting(1, 2));
    update(&mut app, Msg::History(history::Msg::Compared((1, 2), Ok(Comparison::default()))));
    assert_eq!(app.tabs.history.compared, Compared::Done(Box::default()));
    press(&mut app, "esc");
    press(&mut app, "m");
    assert_eq!(app.tabs.history.marked, [2]);
}

#[test]
fn runs_of_two_regimes_are_not_compared() {
    let mut app = filled();
    press(&mut app, "m");
    app.tabs.history.marked.push(3);
    assert_eq!(press(&mut app, "c"), []);
    let Compared::Failed(why) = &app.tabs.history.compared else {
        panic!("{:?}", app.tabs.history.compared)
    };
    assert!(why.contains("external") && why.contains("pulse"), "{why}");
}

#[test]
fn the_filter_and_the_order_keep_the_kernel() {
    let mut app = filled();
    press(&mut app, "end");
    let name = |app: &App| app.tabs.history.selected_trend().map(Trend::name);
    assert_eq!(name(&app).as_deref(), Some("b"));
    press(&mut app, "s");
    assert_eq!(name(&app).as_deref(), Some("b"));
    press(&mut app, "/");
    for key in ["p", "u", "l", "s", "e", "enter"] {
        press(&mut app, key);
    }
    assert_eq!(name(&app).as_deref(), Some("a"), "the only run in pulses");
    press(&mut app, "esc");
    assert_eq!(app.tabs.history.rows().len(), 3);
}

#[test]
fn marks_of_runs_that_are_gone_go_too() {
    let mut app = filled();
    press(&mut app, "m");
    update(&mut app, Msg::History(history::Msg::Read(Ok(Vec::new()))));
    assert!(app.tabs.history.marked.is_empty());
    for key in ["m", "c", "left", "enter", "s", "W", "y"] {
        press(&mut app, key);
    }
}
