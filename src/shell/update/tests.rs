use std::sync::Arc;

use warpscope_probes::driver::DriverState;
use warpscope_probes::inspect::ScanProgress;
use warpscope_probes::process::{Process, Visibility};
use warpscope_probes::rules::RuleBase;
use warpscope_probes::units::Percent;
use warpscope_probes::{Gpu, Origin, Timestamp};

use super::*;
use crate::features::bench::device::Task;
use crate::features::bench::devices::Devices;
use crate::features::bench::panel::why;
use crate::features::compat::view::{ONLY, ORDERS};
use crate::features::processes::{self, Popup, SORTS, SortBy};
use crate::features::what_if::WhatIf;
use crate::features::{Cursor, Recorded, bench, compat};
use crate::io::source::{Position, Seek};
use crate::shell::keymap::Keymap;
use crate::shell::keys::{Row, Scope};
use crate::shell::overlay::Overlay;
use crate::shell::tabs::{TABS, Tab};
use crate::shell::{Hit, Settings};
use crate::worker::cpu::CPU;
use crate::worker::scheduler::{BenchMode, Budget};
use crate::worker::{Death, Ending, Hello, Update, WorkerEvent};
use std::time::Duration;
use warpscope_probes::gpu::Presence;

mod options;
mod paste;

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

fn sort_by_pid() -> Hit {
    Hit::Sort(SORTS.iter().position(|spec| spec.by == SortBy::Pid).expect("is a column"))
}

/// Whether the menu of signals asks again; none: it is not open.
fn confirms(app: &App) -> Option<bool> {
    match &app.tabs.processes.popup {
        Some(Popup::Signal(menu)) => Some(menu.confirm),
        _ => None,
    }
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
fn a_filter_swallows_every_letter_but_ctrl_c_still_leaves() {
    let mut app = filled();
    press(&mut app, "4");
    press(&mut app, "/");
    assert_eq!(type_in(&mut app, "q?x bKT1"), []);
    assert_eq!(app.tabs.processes.filter.text, "q?x bKT1");
    assert_eq!((app.tab, app.has_popup()), (Tab::Processes, false));
    press(&mut app, "backspace");
    assert_eq!(app.tabs.processes.filter.text, "q?x bKT");
    assert_eq!(press(&mut app, "ctrl-c"), [Cmd::Quit]);
}

#[test]
fn a_filter_narrows_while_it_is_typed_stays_with_enter_and_goes_with_esc() {
    let mut app = filled();
    press(&mut app, "4");
    press(&mut app, "end");
    assert_eq!(app.tabs.processes.cursor.at, 2);
    press(&mut app, "/");
    type_in(&mut app, "rank 11");
    assert_eq!((rows(&app), app.tabs.processes.cursor.at), (1, 0));
    press(&mut app, "enter");
    assert!(!app.typing);
    assert_eq!(app.tabs.processes.selected(&app.shared.frame).map(|process| process.pid), Some(11));
    press(&mut app, "esc");
    assert_eq!((rows(&app), app.tabs.processes.filter.text.as_str()), (3, ""));
}

#[test]
fn a_filter_exists_only_where_there_are_rows_to_filter() {
    let mut app = filled();
    press(&mut app, "/");
    assert!(!app.typing);
    assert_eq!(press(&mut app, "q"), [Cmd::Quit]);
}

#[test]
fn esc_never_leaves_and_closes_every_popup() {
    let mut states = with_popups();
    states.extend(TABS.iter().map(|(tab, ..)| {
        let mut app = filled();
        app.tab = *tab;
        press(&mut app, "/");
        app
    }));
    for mut app in states {
        let before = popup(&app);
        for _ in 0..3 {
            assert_eq!(press(&mut app, "esc"), [], "{before}");
        }
        assert_eq!((app.has_popup(), app.typing), (false, false), "{before}");
    }
}

#[test]
fn ctrl_c_leaves_from_everywhere() {
    for mut app in with_popups() {
        let before = popup(&app);
        assert_eq!(press(&mut app, "ctrl-c"), [Cmd::Quit], "{before}");
    }
}

#[test]
fn a_signal_is_sent_after_choosing_and_confirming_only() {
    let mut app = filled();
    press(&mut app, "4");
    press(&mut app, "end");
    let pid = app.tabs.processes.selected(&app.shared.frame).expect("is selected").pid;
    assert_eq!(press(&mut app, "K"), []);
    // A confirmation before the choice is none.
    assert_eq!(press(&mut app, "y"), []);
    press(&mut app, "down");
    assert_eq!(press(&mut app, "enter"), []);
    let sent = Cmd::Processes(processes::Cmd::Signal {
        pid,
        signal: 2,
        started_at: Some(u64::from(pid) * 1000),
    });
    assert_eq!(press(&mut app, "y"), [sent]);
    assert!(!app.has_popup());
}

#[test]
fn anything_but_y_sends_no_signal() {
    for key in ["n", "enter", "q", "esc", "x", "space"] {
        let mut app = filled();
        press(&mut app, "4");
        press(&mut app, "f9");
        press(&mut app, "enter");
        assert_eq!(press(&mut app, key), [], "{key}");
        assert!(!app.has_popup(), "{key}");
    }
}

#[test]
fn no_signal_is_offered_read_only_or_to_what_cannot_be_seen() {
    let said = |app: &App| app.toast.clone().expect("is answered").0;
    let mut app = filled();
    app.shared.settings.readonly = true;
    press(&mut app, "4");
    press(&mut app, "K");
    assert!(!app.has_popup());
    assert!(said(&app).contains("--readonly"));
    for visibility in [Visibility::OtherNamespace, Visibility::Gone, Visibility::Unknown] {
        let mut app = filled();
        app.shared.frame.processes.iter_mut().for_each(|process| process.visibility = visibility);
        press(&mut app, "4");
        press(&mut app, "K");
        assert!(!app.has_popup(), "{visibility:?}");
        assert!(!said(&app).is_empty());
    }
}

#[test]
fn processes_of_a_recording_or_another_host_get_no_signal() {
    let file = Origin::Replay { file: "a.jsonl".into(), host: None };
    for origin in [file, Origin::Remote { host: "far".into() }] {
        let mut app = filled();
        app.shared.frame.origin = origin;
        press(&mut app, "4");
        press(&mut app, "K");
        assert!(!app.has_popup());
        assert!(app.toast.is_some());
    }
}

#[test]
fn a_click_in_the_signal_menu_still_needs_the_confirmation() {
    let mut app = filled();
    press(&mut app, "4");
    press(&mut app, "K");
    assert_eq!(update(&mut app, Msg::Click(Hit::Row(8))), []);
    assert_eq!(confirms(&app), Some(false));
    assert_eq!(update(&mut app, Msg::Click(Hit::Row(8))), []);
    assert_eq!(confirms(&app), Some(true));
    assert_eq!(update(&mut app, Msg::Click(Hit::Row(99))), []);
    assert!(matches!(
        press(&mut app, "y")[..],
        [Cmd::Processes(processes::Cmd::Signal { signal: 9, .. })]
    ));
}

#[test]
fn details_of_a_process_stay_with_it_when_the_rows_move() {
    let mut app = filled();
    press(&mut app, "4");
    press(&mut app, "enter");
    let shown = app.tabs.processes.popup.clone();
    update(&mut app, frame(2, &["a", "b"], &[12]));
    assert!(matches!(shown, Some(Popup::Process { pid: 10, .. })), "{shown:?}");
    assert_eq!(app.tabs.processes.popup, shown);
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

fn worker(update: Update) -> Msg {
    bench::Msg::Worker(CPU.to_owned(), update).into()
}

fn hello() -> Msg {
    let hello = Hello { pid: 7, ..Hello::default() };
    worker(Update::Event(Box::new(WorkerEvent::Hello(hello))))
}

/// Whether the only thing to do is to start the CPU's worker; or to end it.
fn starts(cmds: &[Cmd]) -> bool {
    matches!(cmds, [Cmd::Bench(bench::Cmd::Worker(key, Task::Send(_)))] if key == CPU)
}

fn end() -> [Cmd; 1] {
    [Cmd::Bench(bench::Cmd::Worker(CPU.to_owned(), Task::End))]
}

#[test]
fn the_benchmark_key_starts_pauses_and_continues() {
    let mut app = filled();
    assert!(starts(&press(&mut app, "b")));
    assert!(app.tabs.bench.devices.cpu().is_starting());
    update(&mut app, hello());
    assert!(
        app.tabs.bench.devices.cpu().is_measuring() && !app.tabs.bench.devices.cpu().is_starting()
    );
    assert_eq!(press(&mut app, "b"), end());
    assert!(!app.tabs.bench.devices.cpu().is_measuring());
    assert!(starts(&press(&mut app, "b")));
}

#[test]
fn the_benchmark_starts_with_the_dashboard_whatever_its_key_does() {
    let change = |id: &str, key: &str| (id.to_owned(), vec![key.to_owned()]);
    let keys = [change("quit", "b"), change("toggle_bench", "B")].into();
    let mut app = app();
    app.keymap = Keymap::new(&keys).expect("no key twice");
    app.tabs.bench.devices = Devices::new(BenchMode::Auto, Budget::default());
    let cmds = update(&mut app, Msg::Frame(Box::default()));
    assert!(cmds.iter().any(|cmd| starts(std::slice::from_ref(cmd))), "{cmds:?}");
    assert_eq!(press(&mut app, "b"), [Cmd::Quit]);
}

#[test]
fn a_benchmark_that_dies_is_told_and_can_be_started_again() {
    let mut app = filled();
    press(&mut app, "b");
    update(&mut app, hello());
    let (ending, sentence) =
        (Ending::Signal { signal: 9 }, "the process died of SIGKILL".to_owned());
    let death = Death { doing: None, ending, sentence, given_up: true };
    assert_eq!(update(&mut app, worker(Update::Died(death))), end());
    let cpu = app.tabs.bench.devices.cpu();
    assert!(why(cpu, app.tabs.bench.devices.now()).contains("died of SIGKILL"));
    assert!(starts(&press(&mut app, "b")));
}

#[test]
fn cursors_stay_on_something_when_gpus_and_processes_vanish() {
    let mut app = filled();
    press(&mut app, "end");
    press(&mut app, "4");
    press(&mut app, "end");
    update(&mut app, frame(2, &["a"], &[10]));
    assert_eq!((app.tabs.overview.cursor.at, app.tabs.processes.cursor.at), (0, 0));
    update(&mut app, frame(3, &[], &[]));
    assert!(
        app.tabs.overview.selected(&app.shared.frame).is_none()
            && app.tabs.processes.selected(&app.shared.frame).is_none()
    );
    for key in ["enter", "K", "y", "x", "down", "end", "pgdn", "right"] {
        press(&mut app, key);
    }
    assert_eq!((app.tabs.overview.cursor.at, app.tabs.processes.cursor.at), (0, 0));
}

#[test]
fn no_step_is_too_long() {
    for (tab, ..) in TABS {
        let mut app = filled();
        app.tab = *tab;
        app.tabs.bench.cursor.at = 0;
        for step in [isize::MIN, isize::MAX, -1, 1, 0, isize::MAX, isize::MAX, isize::MIN] {
            update(&mut app, Msg::Scroll(step));
        }
        assert_eq!(
            app.tabs.overview.cursor.at + app.tabs.bench.cursor.at + app.tabs.processes.cursor.at,
            0
        );
        for rows in [0, 1, usize::MAX] {
            update(&mut app, Msg::Resize { rows });
            ["pgdn", "pgup", "pgdn", "end", "home"]
                .iter()
                .for_each(|key| drop(press(&mut app, key)));
        }
    }
    for mut app in with_popups() {
        for step in [isize::MAX, isize::MAX, isize::MIN, isize::MIN, 1] {
            update(&mut app, Msg::Scroll(step));
        }
        update(&mut app, Msg::Click(Hit::Row(usize::MAX)));
        ["down", "up", "enter", "enter", "y"].iter().for_each(|key| drop(press(&mut app, key)));
    }
}

#[test]
fn clicks_on_what_is_no_longer_there_hit_nothing() {
    for (tab, ..) in TABS {
        for hit in [
            Hit::Row(usize::MAX),
            Hit::Cell { row: usize::MAX, column: usize::MAX },
            sort_by_pid(),
            Hit::Tab(2),
        ] {
            let mut app = filled();
            app.tab = *tab;
            update(&mut app, Msg::Click(hit));
            update(&mut app, Msg::Click(hit));
            assert!(app.tabs.overview.cursor.at < 2 && app.tabs.processes.cursor.at < 3);
        }
    }
}

#[test]
fn a_click_on_a_column_head_sorts_and_another_turns_it_around() {
    let mut app = filled();
    press(&mut app, "4");
    update(&mut app, Msg::Click(sort_by_pid()));
    assert_eq!(app.tabs.processes.selected(&app.shared.frame).map(|process| process.pid), Some(10));
    update(&mut app, Msg::Click(sort_by_pid()));
    assert_eq!(app.tabs.processes.selected(&app.shared.frame).map(|process| process.pid), Some(12));
    assert!(app.tabs.processes.reverse);
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
fn the_benchmark_waits_while_the_machine_runs_on_battery() {
    let on = |battery: bool| {
        let mut frame = Frame::default();
        frame.host.machine.on_battery = battery.into();
        Msg::Frame(Box::new(frame))
    };
    let mut app = app();
    press(&mut app, "b");
    update(&mut app, hello());
    assert_eq!(update(&mut app, on(false)), []);
    assert_eq!(update(&mut app, on(true)), end());
    assert!(starts(&press(&mut app, "b")), "who lets it run on");
    assert_eq!(update(&mut app, on(true)), [], "is not asked again");
    update(&mut app, on(false));
    assert_eq!(update(&mut app, on(true)), end());
    press(&mut app, "b");
    assert_eq!(press(&mut app, "b"), end());
    assert_eq!(update(&mut app, on(false)), [], "a pause by key ends by key");
}

#[test]
fn the_recording_key_starts_and_stops_and_trouble_is_told_once() {
    let mut app = app();
    assert_eq!(update(&mut app, Msg::Key("R".parse().expect("a key"))), [Cmd::Record(true)]);
    let at = |bytes, trouble: Option<&str>| Recorded {
        path: "/state/x.jsonl".into(),
        bytes,
        trouble: trouble.map(str::to_owned),
    };
    update(&mut app, Msg::Recorded(Ok(Some(at(0, None)))));
    assert!(app.toast.as_ref().is_some_and(|(text, _)| text.contains("/state/x.jsonl")));
    app.toast = None;
    update(&mut app, Msg::Recorded(Ok(Some(at(10, None)))));
    assert_eq!(app.toast, None);
    for (said, trouble) in [(true, "disk full"), (false, "disk full")] {
        update(&mut app, Msg::Recorded(Ok(Some(at(10, Some(trouble))))));
        assert_eq!(app.toast.take().is_some(), said);
    }
    assert_eq!(update(&mut app, Msg::Key("R".parse().expect("a key"))), [Cmd::Record(false)]);
    update(&mut app, Msg::Recorded(Ok(None)));
    assert!(app.recorded.is_none());
    update(&mut app, Msg::Recorded(Err("no home".into())));
    assert!(app.toast.as_ref().is_some_and(|(text, _)| text.contains("no home")));
}

/// An application that looks around, and a frame of a machine that is ready.
fn looking() -> (App, impl Fn(bool) -> Msg) {
    let mut app = app();
    app.shared.settings.inspect = true;
    let on = |battery: bool| {
        let mut frame = Frame::default();
        frame.driver.status = DriverState::Ready;
        frame.host.machine.on_battery = battery.into();
        Msg::Frame(Box::new(frame))
    };
    (app, on)
}

#[test]
fn what_is_installed_is_looked_at_once_and_not_before_the_first_screens_are_drawn() {
    let (mut app, on) = looking();
    assert_eq!(update(&mut app, Msg::Frame(Box::default())), [], "the driver has not answered yet");
    assert_eq!(
        update(&mut app, on(false)),
        [Cmd::Compat(compat::Cmd::Inspect(vec![], crate::features::compat::inspect::SETTLING))]
    );
    assert_eq!(update(&mut app, on(false)), [], "it is under way");
    update(
        &mut app,
        Msg::Compat(compat::Msg::EnvironmentScan(Arc::default(), "2026-11-21".into())),
    );
    assert_eq!(update(&mut app, on(false)), [], "it is done");
    app.tab = Tab::Compat;
    assert_eq!(press(&mut app, "i"), [Cmd::Compat(compat::Cmd::Inspect(vec![], Duration::ZERO))]);
}

#[test]
fn the_look_at_what_is_installed_waits_while_the_machine_runs_on_battery() {
    let (mut app, on) = looking();
    assert_eq!(update(&mut app, on(true)), []);
    let start =
        [Cmd::Compat(compat::Cmd::Inspect(vec![], crate::features::compat::inspect::SETTLING))];
    assert_eq!(update(&mut app, on(false)), start);
    assert_eq!(update(&mut app, on(true)), [Cmd::Compat(compat::Cmd::StopInspecting)]);
    update(&mut app, Msg::Compat(compat::Msg::Inspecting(ScanProgress::default())));
    assert!(app.tabs.compat.looking.is_none(), "a late report starts nothing");
    assert_eq!(update(&mut app, on(false)), start);
}

#[test]
fn nobody_looks_at_this_machine_for_a_recording() {
    let (mut app, on) = looking();
    update(&mut app, recording());
    assert_eq!(update(&mut app, on(false)), []);
    app.tab = Tab::Compat;
    assert_eq!(press(&mut app, "i"), []);
    assert!(app.toast.is_some());
}

#[test]
fn rules_that_come_after_the_first_frame_answer_for_it() {
    let mut app = app();
    app.tabs.compat = crate::features::compat::Compat::default();
    update(&mut app, frame(1, &["a"], &[]));
    assert!(app.shared.judged[0].counts.is_empty());
    update(&mut app, Msg::Compat(compat::Msg::Rules(rules())));
    let judged: usize = app.shared.judged[0].counts.iter().map(|row| row.1).sum();
    assert_eq!(judged, rules().configs().len());
}
