use std::collections::BTreeMap;

use super::*;
use crate::config::args;
use crate::features::bench::devices::Devices;
use crate::shell::update::options::{OptionRow, rows};
use crate::worker::scheduler::{BenchMode, Budget};

fn name(row: &OptionRow) -> String {
    format!("{} {:?}", row.spec.id, row.word)
}

fn values(app: &App) -> BTreeMap<String, String> {
    rows(app).iter().map(|row| (name(row), row.value(app))).collect()
}

#[test]
fn every_option_changes_at_once_alone_and_back() {
    let mut app = filled();
    for row in rows(&app) {
        let before = values(&app);
        for (by, is_new) in [(1, true), (-1, false)] {
            crate::shell::update::options::step(&mut app, row.spec, row.word, by);
            let now = values(&app);
            let differs = |id: &&String| now[*id] != before[*id];
            let changed: Vec<_> = before.keys().filter(differs).cloned().collect();
            let wanted = if is_new { vec![name(&row)] } else { vec![] };
            assert_eq!(changed, wanted);
            let keys: Vec<_> = app.shared.display.changed.keys().copied().map(Some).collect();
            assert_eq!(keys, if is_new { vec![row.spec.key] } else { vec![] });
        }
    }
}

#[test]
fn the_last_word_of_a_list_leaves_none() {
    let mut app = filled();
    for word in ["host", "formats", "processes"] {
        crate::shell::update::options::step(&mut app, &args::PANELS.spec, Some(word), 1);
    }
    assert_eq!(app.shared.display.panels, ["none"]);
    crate::shell::update::options::step(&mut app, &args::PANELS.spec, Some("host"), 1);
    assert_eq!(app.shared.display.panels, ["host"]);
}

#[test]
fn layouts_are_walked_through_and_found_by_name() {
    let mut app = filled();
    press(&mut app, "L");
    assert_eq!(app.shared.display.layout, None);
    let text =
        "[layouts.a]\npanels = \"host\"\n[layouts.b]\ngraphs = \"power\"\ngraph_span = \"1h\"\n";
    let file = crate::config::parse("f", text).expect("loads");
    app.shared.display.layouts = file.layouts.into_iter().collect();
    press(&mut app, "L");
    assert_eq!(app.shared.display.panels, ["host"]);
    go(&mut app, "layout b");
    assert_eq!(
        (app.shared.display.span, &app.shared.display.graphs[..]),
        (3, &["power".to_owned()][..])
    );
    press(&mut app, "L");
    assert_eq!(app.shared.display.layout, Some(0), "after the last the first");
}

#[test]
fn columns_come_go_and_move() {
    let mut app = filled();
    let step = crate::shell::update::options::step;
    let pid = Some("pid");
    step(&mut app, &args::COLUMNS.spec, pid, 1);
    assert_eq!(app.shared.display.columns[..2], ["gpu", "user"]);
    step(&mut app, &args::COLUMNS.spec, pid, 1);
    let at = rows(&app).iter().position(|row| row.word == pid).expect("is listed");
    press(&mut app, "o");
    (0..at).for_each(|_| drop(press(&mut app, "down")));
    for key in [">", ">", "<"] {
        press(&mut app, key);
    }
    assert_eq!(app.shared.display.columns[..3], ["gpu", "user", "pid"]);
    (0..20).for_each(|_| drop(press(&mut app, "<")));
    assert_eq!(app.shared.display.columns[0], "pid");
}

#[test]
fn the_options_screen_changes_the_theme_and_writes_only_when_asked() {
    let mut app = filled();
    press(&mut app, "o");
    assert!(press(&mut app, "right").is_empty());
    assert_eq!(app.shared.settings.theme, "light");
    let written = press(&mut app, "w");
    let [Cmd::SaveOptions(values)] = &written[..] else { panic!("{written:?}") };
    assert_eq!(values.keys().collect::<Vec<_>>(), [&"theme"]);
    press(&mut app, "esc");
    assert_eq!(app.overlay, None);
    assert!(!app.shared.display.changed.is_empty(), "not written yet");
    update(&mut app, Msg::Saved(values.clone()));
    assert_eq!(app.shared.display.changed, BTreeMap::new());
    crate::shell::update::options::step(&mut app, &args::THEME.spec, None, -1);
    assert!(app.shared.display.changed.contains_key("theme"), "the file has the new one");
}

fn go(app: &mut App, name: &str) {
    press(app, ":");
    type_in(app, name);
    press(app, "enter");
    assert_eq!(app.overlay, None, "{name}");
}

#[test]
fn the_command_line_finds_options_gpus_frameworks_and_actions() {
    let mut app = filled();
    go(&mut app, "gpu 1");
    assert_eq!(app.tabs.overview.cursor.at, 1);
    go(&mut app, "theme dusk");
    assert_eq!(app.shared.settings.theme, "dusk");
    go(&mut app, "freeze");
    assert!(app.frozen);
    go(&mut app, "framework vllm");
    assert_eq!(app.tab, Tab::Compat);
    assert_eq!(app.tabs.get(Tab::Compat).filter().map(|filter| filter.text.as_str()), Some("vLLM"));
    go(&mut app, "rtx 3090");
    let last = app.shared.frame.gpus.last().expect("was added");
    assert_eq!(last.presence, Presence::WhatIf);
    press(&mut app, ":");
    press(&mut app, "t");
    press(&mut app, "tab");
    press(&mut app, "esc");
    assert_eq!(app.overlay, None);
}

#[test]
fn left_and_right_read_the_graphs_and_move_in_a_recording() {
    let mut app = filled();
    press(&mut app, "right");
    assert_eq!(app.tabs.overview.reading, None, "now is the end");
    press(&mut app, "left");
    press(&mut app, "left");
    assert!(app.tabs.overview.reading.is_some_and(|back| back > 0));
    press(&mut app, "esc");
    assert_eq!(app.tabs.overview.reading, None);
    update(&mut app, recording());
    assert_eq!(press(&mut app, "left"), [Cmd::Seek(Seek::By(-10.0))]);
    assert_eq!(press(&mut app, "right"), [Cmd::Seek(Seek::By(10.0))]);
}

/// With a GPU that nobody has said may be measured.
fn asking() -> App {
    let mut app = filled();
    app.tabs.bench.devices = Devices::new(BenchMode::Ask, Budget::default());
    update(&mut app, frame(2, &["GPU-a"], &[]));
    assert!(app.asks_about_bench());
    app
}

#[test]
fn measuring_gpus_is_asked_once_and_the_answer_kept() {
    for (key, mode) in [("Y", BenchMode::On), ("N", BenchMode::Off)] {
        assert!(!filled().asks_about_bench(), "no GPU was seen");
        let mut app = asking();
        let cmds = press(&mut app, key);
        let kept = cmds.iter().find_map(|cmd| match cmd {
            Cmd::SaveOptions(values) => Some(values.keys().copied().collect::<Vec<_>>()),
            _ => None,
        });
        assert_eq!(kept, Some(vec!["bench"]), "{cmds:?}");
        assert_eq!(app.tabs.bench.devices.mode(), mode);
        assert!(!app.asks_about_bench());
        assert_eq!(press(&mut app, key), [], "there is no question any more");
    }
}

#[test]
fn the_question_leaves_other_keys_alone_and_names_its_own() {
    let mut app = asking();
    let shown = |app: &App| crate::shell::chrome::hints(app)[..2].to_vec();
    let hints = |allow: &str| {
        let pairs = [(allow, "yes"), ("N", "only on request")];
        pairs.map(|(key, words)| (key.to_owned(), words.to_owned()))
    };
    assert_eq!(shown(&app), hints("Y"));
    assert_eq!(press(&mut app, "n"), []);
    assert!(matches!(app.overlay, Some(Overlay::Notices(_))));
    press(&mut app, "esc");
    assert!(app.asks_about_bench());
    app.keymap = Keymap::new(&[("allow_bench".to_owned(), vec!["f12".to_owned()])].into())
        .expect("no key twice");
    assert_eq!(shown(&app), hints("f12"));
}

#[test]
fn words_of_the_configuration_are_spelt_as_people_write_them() {
    for (word, want) in [
        ("gpu-memory", "GPU memory"),
        ("graph_span", "graph span"),
        ("utc", "UTC"),
        ("15min", "15 min"),
        ("binary", "GiB"),
        ("high-contrast", "high contrast"),
        ("/home/me/my-theme.toml", "/home/me/my-theme.toml"),
    ] {
        assert_eq!(crate::shell::update::options::spelt(word), want);
    }
}
