//! Keys, clicks and messages against the whole application.

use std::sync::Arc;
use std::time::Duration;

use warpscope_probes::driver::DriverState;
use warpscope_probes::gpu::Presence;
use warpscope_probes::process::{Process, Visibility};
use warpscope_probes::rules::RuleBase;
use warpscope_probes::units::Percent;
use warpscope_probes::{Gpu, Timestamp};

use super::*;
use crate::features::compat::view::{ONLY, ORDERS};
use crate::features::processes::Popup;
use crate::features::what_if::WhatIf;
use crate::features::{Cursor, Recorded};
use crate::io::source::{Position, Seek};
use crate::shell::keymap::Keymap;
use crate::shell::keys::{Row, Scope};
use crate::shell::overlay::Overlay;
use crate::shell::tabs::{TABS, Tab};
use crate::shell::{Hit, Settings};

mod benchmark;
mod cursors;
mod filter;
mod installed;
mod options;
mod paste;
mod signals;

fn app() -> App {
    let settings = Settings {
        interval: Duration::from_secs(1),
        readonly: false,
        inspect: false,
        theme: "dark".into(),
    };
    App::new(settings, Keymap::default(), WhatIf::default(), rules())
}

fn rules() -> Arc<RuleBase> {
    Arc::new(RuleBase::builtin().clone())
}

fn gpu(key: &str) -> Gpu {
    let mut gpu = Gpu { key: key.into(), presence: Presence::Present, ..Gpu::default() };
    gpu.identity.name = key.to_owned().into();
    gpu.vitals.util_gpu_pct = Percent(50.0).into();
    gpu
}

fn process(pid: u32) -> Process {
    let mut process = Process {
        pid,
        gpu: "a".into(),
        visibility: Visibility::Visible,
        started_at: Some(Timestamp(u64::from(pid) * 1000)),
        ..Process::default()
    };
    process.host.name = "python".to_owned().into();
    process.host.command = format!("python train.py --rank {pid}").into();
    process
}

/// A frame with these GPUs and processes.
fn frame(seq: u64, gpus: &[&str], pids: &[u32]) -> Msg {
    let mut frame = Frame { seq, ..Frame::default() };
    frame.driver.status = DriverState::Ready;
    frame.gpus = gpus.iter().map(|key| gpu(key)).collect();
    frame.processes = pids.iter().map(|pid| process(*pid)).collect();
    Msg::Frame(Box::new(frame))
}

/// Two GPUs, three processes.
fn filled() -> App {
    let mut app = app();
    update(&mut app, frame(1, &["a", "b"], &[10, 11, 12]));
    app
}

fn press(app: &mut App, key: &str) -> Vec<Cmd> {
    update(app, Msg::Key(key.parse().expect("is a key")))
}

fn type_in(app: &mut App, text: &str) -> Vec<Cmd> {
    text.chars().flat_map(|character| press(app, &character.to_string())).collect()
}

fn recording() -> Msg {
    Msg::Position(Position { at_s: 5.0, length_s: 60.0, paused: false, speed: 1.0, damaged: 0 })
}

/// What lies over the tab, to be told apart in messages.
fn popup(app: &App) -> String {
    format!("{:?} {:?} {:?}", app.overlay, app.tabs.overview.details, app.tabs.processes.popup)
}

fn rows(app: &App) -> usize {
    app.tabs.processes.rows(&app.shared.frame).len()
}

/// Everything a popup can be, opened as a user would.
fn with_popups() -> Vec<App> {
    let open = |tab: &str, keys: &[&str]| {
        let mut app = filled();
        press(&mut app, tab);
        keys.iter().for_each(|key| drop(press(&mut app, key)));
        assert!(app.has_popup(), "{tab} {keys:?}");
        app
    };
    vec![
        open("1", &["?"]),
        open("1", &["n"]),
        open("1", &["w"]),
        open("1", &["o"]),
        open("1", &[":"]),
        open("1", &["H"]),
        open("1", &["enter"]),
        open("4", &["enter"]),
        open("4", &["K"]),
        open("4", &["K", "enter"]),
    ]
}

#[test]
fn a_frozen_screen_keeps_its_frame_and_thaws_with_the_next_one() {
    let mut app = filled();
    press(&mut app, "space");
    update(&mut app, frame(2, &["a"], &[]));
    assert_eq!((app.shared.frame.seq, app.shared.frame.gpus.len()), (1, 2));
    press(&mut app, "space");
    assert_eq!(app.shared.frame.seq, 1);
    update(&mut app, frame(3, &["a"], &[]));
    assert_eq!(app.shared.frame.seq, 3);
}

#[test]
fn a_frozen_screen_alerts_once_and_without_one_as_well() {
    let mut app = filled();
    app.alerts.rules.events = vec!["process".into()];
    press(&mut app, "space");
    let left = [&[10, 11][..], &[10, 11], &[10]];
    let told = (2..).zip(left).map(|(seq, pids)| {
        let Msg::Frame(mut frame) = frame(seq, &["a"], pids) else { panic!("is a frame") };
        frame.at = Timestamp(seq * 1000);
        update(&mut app, Msg::Frame(frame)).len()
    });
    assert_eq!(told.collect::<Vec<_>>(), [1, 0, 1]);
}

#[test]
fn an_alert_stays_in_view_until_it_is_read() {
    let mut app = filled();
    app.alerts.rules.events = vec!["hardware".into()];
    let Msg::Frame(mut newer) = frame(2, &["a", "b"], &[]) else { panic!("is a frame") };
    newer.at = Timestamp(2000);
    newer.gpus[1].xids = vec![warpscope_probes::xid::XidCount { xid: 79, count: 1 }];
    update(&mut app, Msg::Frame(newer));
    let notices = |app: &App| {
        let hints = crate::shell::chrome::hints(app);
        hints.into_iter().find(|hint| hint.0 == "n").map(|hint| hint.1)
    };
    (3..20).for_each(|seq| drop(update(&mut app, frame(seq, &["a", "b"], &[]))));
    assert_eq!(notices(&app).as_deref(), Some("notices (1)"));
    assert_eq!(app.shared.unread[0].gpu.as_ref(), Some(&app.shared.frame.gpus[1].key));
    press(&mut app, "n");
    press(&mut app, "esc");
    assert_eq!((notices(&app).as_deref(), app.shared.unread.len()), (Some("notices"), 0));
}

#[test]
fn two_keys_work_over_everything_and_are_text_where_they_are_characters() {
    for app in &mut with_popups() {
        press(app, "down");
        let before = popup(app);
        assert_eq!(press(app, "ctrl-l"), [Cmd::Repaint]);
        assert_eq!(press(app, "ctrl-z"), [Cmd::Suspend]);
        assert_eq!(popup(app), before);
    }
    let mut app = filled();
    app.keymap =
        Keymap::new(&[("repaint".to_owned(), vec!["X".to_owned()])].into()).expect("no key twice");
    press(&mut app, ":");
    assert_eq!(press(&mut app, "X"), []);
    assert!(popup(&app).contains("\"X\""), "{}", popup(&app));
}

#[test]
fn the_picker_finds_adds_and_x_removes() {
    let mut app = filled();
    press(&mut app, "w");
    type_in(&mut app, "q zzz");
    assert_eq!(press(&mut app, "enter"), []);
    assert!(matches!(app.overlay, Some(Overlay::Picker(_))), "nothing to add stays open");
    (0..5).for_each(|_| drop(press(&mut app, "backspace")));
    type_in(&mut app, "v100");
    press(&mut app, "enter");
    assert!(!app.has_popup());
    let added = app.tabs.overview.selected(&app.shared.frame).expect("is selected");
    assert_eq!((app.shared.frame.gpus.len(), added.presence), (3, Presence::WhatIf));
    assert!(added.identity.name.last().is_some_and(|name| name.contains("V100")));
    press(&mut app, "x");
    assert_eq!((app.shared.frame.gpus.len(), app.tabs.overview.cursor.at), (2, 1));
    press(&mut app, "x");
    assert_eq!(app.shared.frame.gpus.len(), 2, "a real one stays");
    assert!(app.toast.is_some());
}

#[test]
fn what_if_gpus_survive_the_next_frame_and_each_has_a_key_of_its_own() {
    let mut app = filled();
    let add = |app: &mut App| {
        press(app, "w");
        type_in(app, "tesla t4");
        press(app, "enter");
    };
    add(&mut app);
    add(&mut app);
    app.tabs.overview.cursor.at = 2;
    press(&mut app, "x");
    add(&mut app);
    update(&mut app, frame(2, &["a", "b"], &[]));
    let keys: std::collections::BTreeSet<_> =
        app.shared.frame.gpus.iter().map(|gpu| &gpu.key).collect();
    assert_eq!((app.shared.frame.gpus.len(), keys.len()), (4, 4), "{keys:?}");
}

#[test]
fn keys_of_a_recording_pause_seek_and_pace_it() {
    let mut app = filled();
    assert_eq!(press(&mut app, "]"), [], "nothing to seek in on a live source");
    update(&mut app, recording());
    assert_eq!(press(&mut app, "]"), [Cmd::Seek(Seek::By(10.0))]);
    assert_eq!(press(&mut app, "["), [Cmd::Seek(Seek::By(-10.0))]);
    assert_eq!(press(&mut app, "space"), [Cmd::PauseReplay(true)]);
    assert_eq!(press(&mut app, "space"), [Cmd::PauseReplay(false)]);
    assert!(!app.frozen);
    assert_eq!(press(&mut app, "+"), [Cmd::ReplaySpeed(2.0)]);
    assert_eq!(press(&mut app, "-"), [Cmd::ReplaySpeed(1.0)]);
    (0..40).for_each(|_| drop(press(&mut app, "+")));
    assert_eq!(press(&mut app, "+"), [Cmd::ReplaySpeed(64.0)]);
    assert_eq!(app.shared.settings.interval, Duration::from_secs(1));
}

#[test]
fn the_interval_stays_between_a_tenth_of_a_second_and_a_minute() {
    let mut app = filled();
    assert_eq!(press(&mut app, "+"), [Cmd::SetInterval(Duration::from_millis(500))]);
    (0..20).for_each(|_| drop(press(&mut app, "+")));
    assert_eq!(app.shared.settings.interval, Duration::from_millis(100));
    assert_eq!(press(&mut app, "+"), []);
    (0..20).for_each(|_| drop(press(&mut app, "-")));
    assert_eq!(app.shared.settings.interval, Duration::from_secs(60));
    app.shared.settings.interval = Duration::from_millis(1500);
    assert_eq!(press(&mut app, "-"), [Cmd::SetInterval(Duration::from_secs(2))]);
}

#[test]
fn an_answer_stays_for_some_frames_and_goes_with_the_next_key() {
    let mut app = filled();
    update(&mut app, Msg::Answer("Sent SIGTERM to 10.".into()));
    update(&mut app, frame(2, &["a"], &[]));
    assert!(app.toast.is_some());
    press(&mut app, "j");
    assert!(app.toast.is_none());
    update(&mut app, Msg::Answer("again".into()));
    (3..20).for_each(|seq| drop(update(&mut app, frame(seq, &["a"], &[]))));
    assert!(app.toast.is_none());
}

#[test]
fn y_copies_what_is_selected_and_says_so() {
    let mut app = filled();
    assert!(matches!(&press(&mut app, "y")[..], [Cmd::Copy(text)] if text.contains('a')));
    press(&mut app, "4");
    let command = "python train.py --rank 10".to_owned();
    assert_eq!(press(&mut app, "y"), [Cmd::Copy(command)]);
    assert!(app.toast.is_some());
    app.shared.frame.processes.iter_mut().for_each(|process| {
        process.host.command = "a\nreboot\r\u{1b}[201~\u{202e}".to_owned().into();
    });
    let shown = "a reboot \u{fffd}[201~\u{fffd}".to_owned();
    assert_eq!(press(&mut app, "y"), [Cmd::Copy(shown)], "a name does not press Enter");
}

#[test]
fn every_mode_key_pressed_as_often_as_it_has_states_comes_back() {
    let modes = [
        "freeze",
        "only",
        "fold",
        "fold_all",
        "sort_compat",
        "tree",
        "reverse",
        "help",
        "notices",
        "next_tab",
        "theme",
    ];
    // A cursor on what a mode hides goes elsewhere; everything else comes back.
    let state = |app: &mut App| {
        app.tabs.compat.view.row = Cursor::default();
        let view = (app.tab, &app.overlay, app.frozen, &app.tabs.compat.view, &app.tabs.processes);
        (format!("{view:?}"), app.shared.settings.theme.clone())
    };
    let times = |id: &str| match id {
        "sort_compat" => ORDERS.len(),
        "only" => ONLY.len() - 1,
        // That of many machines is passed over on one.
        "next_tab" => TABS.len() - 1,
        "theme" => crate::widgets::theme::BUILTIN.len(),
        _ => 2,
    };
    let rows = crate::shell::keys::rows().iter();
    for Row { spec, scope, .. } in rows.filter(|row| modes.contains(&row.spec.id)) {
        let mut app = filled();
        if let Scope::On(tab) = *scope {
            app.tab = tab;
        }
        let before = state(&mut app);
        for _ in 0..times(spec.id) {
            press(&mut app, spec.keys[0]);
        }
        app.toast = None;
        assert_eq!(state(&mut app), before, "{}", spec.id);
    }
}

#[test]
fn the_recording_key_starts_and_stops_and_trouble_is_told_once() {
    let mut app = app();
    assert_eq!(update(&mut app, Msg::Key("R".parse().expect("a key"))), [Cmd::Record(true)]);
    update(&mut app, recorded(0, 0, None));
    assert!(app.toast.take().is_some_and(|(text, _)| text.contains("/state/x.jsonl")));
    update(&mut app, recorded(10, 0, None));
    assert_eq!(app.toast, None);
    for said in [true, false] {
        update(&mut app, recorded(10, 1, Some("disk full")));
        assert_eq!(app.toast.take().is_some(), said);
    }
    assert_eq!(update(&mut app, Msg::Key("R".parse().expect("a key"))), [Cmd::Record(false)]);
    update(&mut app, Msg::Recorded(Ok(None)));
    assert!(app.recorded.is_none());
    update(&mut app, Msg::Recorded(Err("no home".into())));
    assert!(app.toast.as_ref().is_some_and(|(text, _)| text.contains("no home")));
}

fn recorded(bytes: u64, missed: u64, trouble: Option<&str>) -> Msg {
    let path = "/state/x.jsonl".into();
    Msg::Recorded(Ok(Some(Recorded { path, bytes, missed, trouble: trouble.map(str::to_owned) })))
}

#[test]
fn a_recording_that_ends_says_what_is_in_it() {
    for (bytes, missed, trouble, want) in [
        (0, 0, None, "Nothing was recorded into"),
        (0, 9, Some("disk full"), "Nothing was recorded into"),
        (10, 9, Some("disk full"), "lacks 9 frames"),
        (10, 9, None, "lacks 9 frames"),
        (10, 0, None, "Recorded into"),
    ] {
        let mut app = app();
        update(&mut app, recorded(bytes, missed, trouble));
        update(&mut app, Msg::Recorded(Ok(None)));
        let said = app.toast.map(|(text, _)| text).expect("is said");
        assert!(said.contains(want), "{said}");
    }
}

#[test]
fn frames_that_cannot_be_recorded_are_a_notice_while_it_lasts() {
    let mut app = app();
    let mut noticed = Vec::new();
    for (seq, trouble) in (1..).zip([None, Some("disk full"), None]) {
        update(&mut app, recorded(10, 0, trouble));
        update(&mut app, frame(seq, &["a"], &[]));
        let mut notices = app.shared.frame.notices.iter();
        noticed.push(notices.any(|notice| notice.what.contains("disk full")));
    }
    assert_eq!(noticed, [false, true, false]);
}

#[test]
fn the_palette_does_not_begin_with_the_way_out() {
    let mut app = filled();
    let cmds = press(&mut app, ":").into_iter().chain(press(&mut app, "enter"));
    assert!(!cmds.collect::<Vec<_>>().contains(&Cmd::Quit));
    assert_eq!(app.overlay, None);
}

#[test]
fn commands_of_a_notice_are_copied() {
    use warpscope_probes::driver::DriverState;
    let mut app = filled();
    app.shared.frame.notices = DriverState::NoDevice.explain().into_iter().collect();
    press(&mut app, "n");
    let copied = press(&mut app, "y");
    let [Cmd::Copy(text)] = &copied[..] else { panic!("{copied:?}") };
    assert_eq!(text.lines().next(), Some("lspci -d 10de:"));
    assert_eq!(text.lines().count(), 3);
}
