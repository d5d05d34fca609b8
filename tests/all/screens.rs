//! Every panel and popup on every size, theme and recording; whole screens under snapshot; and a walk
//! through every key.

use std::cell::LazyCell;
use std::fs::File;
use std::io::BufReader;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use warpscope::engine::OUTCOMES;
use warpscope::features::bench::devices::Devices;
use warpscope::features::what_if::{Policy, WhatIf};
use warpscope::features::{bench, history as runs};
use warpscope::io::sink::FrameReader;
use warpscope::io::sink::history::History;
use warpscope::io::source::Position;
use warpscope::runs::compare::{Spread, Terms, compare_groups};
use warpscope::runs::live::LiveRun;
use warpscope::runs::run_log::Reader;
use warpscope::runs::samples::Key;
use warpscope::shell::draw::{Appearance, LookOptions, draw};
use warpscope::shell::keymap::{Chord, Keymap};
use warpscope::shell::keys::{Row, Scope, rows};
use warpscope::shell::tabs::{TABS, Tab};
use warpscope::shell::update::update;
use warpscope::shell::{App, Cmd, Msg, Settings};
use warpscope::store::trends::Trend;
use warpscope::widgets::svg;
use warpscope::widgets::theme::{BUILTIN, ColorDepth};
use warpscope::worker::cpu::CPU;
use warpscope::worker::scheduler::{BenchMode, Budget};
use warpscope::worker::{Update, parse};
use warpscope_probes::catalogue::{Catalogue, DEFAULT_WHAT_IF, what_if};
use warpscope_probes::gpu::Presence;
use warpscope_probes::process::Process;
use warpscope_probes::rules::RuleBase;
use warpscope_probes::units::Bytes;
use warpscope_probes::{Frame, Gpu, Origin};

use crate::{frames, history};

mod contrast;
mod film;
mod tour;

/// From nothing to a wall of text; thin, flat, usual and odd.
const SIZES: &[(u16, u16)] = &[
    (0, 0),
    (0, 24),
    (80, 0),
    (1, 1),
    (1, 50),
    (200, 1),
    (2, 2),
    (5, 200),
    (19, 5),
    (20, 4),
    (20, 5),
    (21, 6),
    (25, 10),
    (30, 8),
    (33, 33),
    (40, 12),
    (50, 20),
    (59, 19),
    (60, 15),
    (77, 23),
    (80, 24),
    (81, 25),
    (100, 30),
    (120, 36),
    (132, 43),
    (157, 44),
    (160, 50),
    (200, 60),
    (240, 70),
    (300, 100),
];

static RULES: LazyLock<Arc<RuleBase>> = LazyLock::new(|| Arc::new(RuleBase::builtin().clone()));

const RECORDINGS: &[&str] = &["synthetic-t4", "synthetic-h100x8", "synthetic-16", "synthetic-none"];

pub(crate) fn empty() -> App {
    let settings = Settings {
        interval: Duration::from_secs(1),
        readonly: false,
        inspect: false,
        theme: "dark".into(),
    };
    let defaults = || {
        let parts = DEFAULT_WHAT_IF.iter().filter_map(|name| Catalogue::load().find(name).ok());
        parts.zip(0..).map(|(part, ordinal)| what_if(part, ordinal)).collect()
    };
    let what_if =
        WhatIf { policy: Policy::Auto, named: Vec::new(), defaults: LazyCell::new(defaults) };
    App::new(settings, Keymap::default(), what_if, Arc::clone(&RULES))
}

fn recorded(name: &str) -> Vec<Frame> {
    let file = File::open(frames::path(&format!("{name}.jsonl"))).expect("is there");
    let mut reader = FrameReader::new(BufReader::new(file));
    std::iter::from_fn(|| reader.next_frame().expect("is readable")).collect()
}

/// The state after every frame of a recording.
fn played(name: &str) -> App {
    let mut app = empty();
    for frame in recorded(name) {
        update(&mut app, Msg::Frame(Box::new(frame)));
    }
    app
}

/// What the store says of so many synthetic runs.
fn trends(runs: usize) -> Vec<Trend> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), history::build(runs)).expect("writes");
    let store = History::temporary().expect("a store");
    if runs > 0 {
        store.import(file.path()).expect("imports");
    }
    store.trends().expect("reads")
}

static TRENDS: LazyLock<Vec<Trend>> = LazyLock::new(|| trends(history::RUNS));

/// The History tab after reading so many synthetic runs.
fn recorded_runs(runs: usize) -> App {
    let mut app = played("synthetic-none");
    press(&mut app, "5");
    update(&mut app, Msg::History(runs::Msg::Read(Ok(trends(runs)))));
    app
}

/// The same, with a measured benchmark, recorded runs and a place in the recording.
fn complete(name: &str) -> App {
    let mut app = played(name);
    app.tabs.bench.toggle();
    let events = std::fs::read_to_string(frames::path("bench-cpu.jsonl")).expect("is there");
    for (line, number) in events.lines().zip(1..) {
        let event = parse(number, line.as_bytes()).expect("is an event");
        let msg = bench::Msg::Worker(CPU.to_owned(), Update::Event(event));
        update(&mut app, msg.into());
    }
    update(&mut app, Msg::History(runs::Msg::Read(Ok(TRENDS.clone()))));
    let position = Position { at_s: 5.0, length_s: 60.0, paused: false, speed: 1.0, damaged: 0 };
    update(&mut app, Msg::Position(position));
    app
}

pub(crate) fn appearance(theme: &str, depth: ColorDepth, ascii: bool) -> Appearance {
    Appearance::new(&LookOptions { depth, ascii, paint: true, folders: Vec::new() }, theme)
}

pub(crate) fn plain() -> Appearance {
    appearance("dark", ColorDepth::TrueColor, false)
}

/// Draws into a part of a larger buffer, and asserts that nothing outside of it has changed.
fn drawn(app: &App, appearance: &Appearance, (width, height): (u16, u16)) -> Buffer {
    const MARGIN: u16 = 2;
    let area = Rect::new(MARGIN, MARGIN, width, height);
    let whole = Rect::new(0, 0, width + 2 * MARGIN, height + 2 * MARGIN);
    let mut buffer = Buffer::filled(whole, ratatui::buffer::Cell::new("~"));
    area.positions().for_each(|at| buffer[at].reset());
    draw(app, appearance, area, &mut buffer);
    let outside = |x, y| !area.contains((x, y).into());
    for y in whole.rows().map(|row| row.y) {
        for x in whole.columns().map(|column| column.x) {
            let untouched = buffer[(x, y)] == ratatui::buffer::Cell::new("~");
            assert!(untouched || !outside(x, y), "{width}×{height}: wrote at {x},{y}");
        }
    }
    let mut inner = Buffer::empty(Rect::new(0, 0, width, height));
    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
        inner[(x, y)] = buffer[(x + MARGIN, y + MARGIN)].clone();
    }
    inner
}

fn press(app: &mut App, key: &str) {
    update(app, Msg::Key(key.parse::<Chord>().expect("is a key")));
}

fn on(mut app: App, tab: Tab) -> App {
    app.tab = tab;
    app
}

/// Every popup on a state, opened as a user would.
fn with_popups(name: &str) -> Vec<App> {
    let rows: &[&[&str]] = &[
        &["?"],
        &["?", "end"],
        &["n"],
        &["w"],
        &["w", "z", "z", "z"],
        &["1", "enter"],
        &["1", "enter", "pgdn", "pgdn"],
        &["2", "enter"],
        &["4", "enter"],
        &["4", "K"],
        &["4", "K", "end", "enter"],
        &["4", "/"],
        &["2", "m", "/", "m"],
        &["2", "enter", "end"],
    ];
    let opened = rows.iter().map(|keys| {
        let mut app = played(name);
        // Signals are for the processes of this machine.
        app.shared.frame.origin = Origin::Local;
        keys.iter().for_each(|key| press(&mut app, key));
        app
    });
    opened.collect()
}

#[test]
fn there_are_thirty_sizes_and_each_once() {
    let unique: std::collections::BTreeSet<_> = SIZES.iter().collect();
    assert_eq!((SIZES.len(), unique.len()), (30, 30));
}

#[test]
fn every_panel_draws_inside_its_area_at_every_size() {
    for name in RECORDINGS {
        let mut app = complete(name);
        for (tab, ..) in TABS {
            app.tab = *tab;
            for ascii in [false, true] {
                let appearance = appearance("dark", ColorDepth::TrueColor, ascii);
                for size in SIZES {
                    let buffer = drawn(&app, &appearance, *size);
                    let text = svg::text(&buffer);
                    assert!(!ascii || text.is_ascii(), "{size:?}\n{text}");
                }
            }
        }
    }
}

#[test]
fn a_screen_before_anything_has_happened_draws_at_every_size() {
    for (tab, ..) in TABS {
        let app = on(empty(), *tab);
        SIZES.iter().for_each(|size| drop(drawn(&app, &plain(), *size)));
    }
}

#[test]
fn every_popup_draws_inside_its_area_at_every_size() {
    for name in ["synthetic-h100x8", "synthetic-t4", "synthetic-none"] {
        for app in with_popups(name) {
            for ascii in [false, true] {
                let appearance = appearance("dark", ColorDepth::TrueColor, ascii);
                SIZES.iter().for_each(|size| drop(drawn(&app, &appearance, *size)));
            }
        }
    }
}

#[test]
fn every_theme_draws_every_panel_at_every_depth() {
    let depths =
        [ColorDepth::TrueColor, ColorDepth::Indexed256, ColorDepth::Ansi16, ColorDepth::None];
    let mut app = complete("synthetic-h100x8");
    for (theme, _) in BUILTIN {
        for depth in depths {
            let appearance = appearance(theme, depth, false);
            for (tab, ..) in TABS {
                app.tab = *tab;
                for size in [(80, 24), (200, 60)] {
                    let buffer = drawn(&app, &appearance, size);
                    for cell in &buffer.content {
                        assert!(allowed(cell.fg, depth), "{theme} {depth:?}: {:?}", cell.fg);
                        assert!(allowed(cell.bg, depth), "{theme} {depth:?}: {:?}", cell.bg);
                    }
                }
            }
        }
    }
}

/// Whether a terminal of this depth can be given the colour.
fn allowed(color: Color, depth: ColorDepth) -> bool {
    match color {
        Color::Reset => true,
        Color::Rgb(..) => depth == ColorDepth::TrueColor,
        Color::Indexed(_) => depth >= ColorDepth::Indexed256,
        _ => depth >= ColorDepth::Ansi16,
    }
}

#[test]
fn only_bad_symbols_of_hostile_names_are_replaced() {
    let app = on(played("synthetic-t4"), Tab::Processes);
    for size in SIZES {
        let text = svg::text(&drawn(&app, &plain(), *size));
        let harmful = |letter: char| letter.is_control() && letter != '\n';
        assert!(!text.contains(harmful) && !text.contains('\u{202e}'), "{size:?}");
    }
}

/// Tabs that show what frames say.
fn panels_of_frames() -> impl Iterator<Item = &'static (Tab, &'static str, &'static str)> {
    TABS.iter().filter(|row| !matches!(row.0, Tab::Bench | Tab::History))
}

#[test]
fn panels_from_recordings() {
    for name in RECORDINGS {
        let mut app = played(name);
        for (tab, id, _) in panels_of_frames() {
            app.tab = *tab;
            for size in [(80, 24), (200, 60)] {
                let label = format!("{id}-{}-{}x{}", &name["synthetic-".len()..], size.0, size.1);
                insta::assert_snapshot!(label, svg::text(&drawn(&app, &plain(), size)));
            }
        }
    }
}

#[test]
fn the_benchmark_from_its_recorded_events() {
    let app = on(complete("synthetic-none"), Tab::Bench);
    for size in [(80, 24), (200, 60)] {
        let label = format!("bench-{}x{}", size.0, size.1);
        insta::assert_snapshot!(label, svg::text(&drawn(&app, &plain(), size)));
    }
}

/// A run log as far as it was written when somebody looked.
fn live(kernels: usize) -> LiveRun {
    let mut run = LiveRun::new("run.jsonl".to_owned());
    let begun = r#"{"type":"run","schema":1,"at_ms":1000,"command":["python","tune.py"]}"#;
    let point = |at: usize| {
        let (n, time) = (512 << (at % kernels), 400.0 + (at * 37 % 50) as f64);
        let kernel = format!(r#""name":"gemm","shape":{{"n":"{n}"}},"t_ns":[{time}]"#);
        format!(r#"{{"type":"point","at_ms":{},{kernel}}}"#, 1000 + 500 * at)
    };
    let around = r#"{"type":"around","at_ms":70000,"points":2,"tainted":["throttled"]}"#;
    let lines = [begun.to_owned()].into_iter().chain((0..90).map(point)).chain([around.to_owned()]);
    let text = lines.collect::<Vec<_>>().join("\n");
    let mut reader = Reader::new(text.as_bytes());
    while let Some(record) = reader.record().expect("memory does not fail") {
        run.take(record);
    }
    run
}

#[test]
fn a_recording_that_runs_is_on_the_history_tab() {
    for (count, size, kernels) in
        [(0, (80, 24), 1), (history::RUNS, (120, 36), 3), (history::RUNS, (60, 20), 3)]
    {
        let mut app = recorded_runs(count);
        update(&mut app, Msg::History(runs::Msg::Live(vec![live(kernels)])));
        let label = format!("history-live-{}x{}", size.0, size.1);
        insta::assert_snapshot!(label, svg::text(&drawn(&app, &plain(), size)));
    }
    let mut app = recorded_runs(0);
    let over = LiveRun { is_over: true, ..LiveRun::new("gone.jsonl".to_owned()) };
    update(&mut app, Msg::History(runs::Msg::Live(vec![live(2), over])));
    let text = svg::text(&drawn(&app, &plain(), (80, 24)));
    assert!(text.contains("Recording python tune.py"), "{text}");
    assert!(text.contains("Recorded gone.jsonl") && text.contains("stopped before"), "{text}");
}

#[test]
fn the_history_from_synthetic_runs() {
    let mut app = recorded_runs(history::RUNS);
    ["down", "m", "left", "left", "left", "left", "left", "left", "left", "left", "left", "m"]
        .iter()
        .for_each(|key| press(&mut app, key));
    for size in [(80, 24), (120, 36), (200, 60)] {
        let label = format!("history-{}x{}", size.0, size.1);
        insta::assert_snapshot!(label, svg::text(&drawn(&app, &plain(), size)));
    }
    let ascii = appearance("dark", ColorDepth::None, true);
    insta::assert_snapshot!("history-ascii-80x24", svg::text(&drawn(&app, &ascii, (80, 24))));
    for runs in [0, 1, 200] {
        let app = recorded_runs(runs);
        let label = format!("history-{runs}-runs-80x24");
        insta::assert_snapshot!(label, svg::text(&drawn(&app, &plain(), (80, 24))));
        for size in SIZES {
            drawn(&app, &plain(), *size);
            drawn(&app, &ascii, *size);
        }
    }
}

/// The two marked runs beside each other, as the runtime would compare them.
fn compared() -> App {
    let mut app = recorded_runs(history::RUNS);
    ["down", "m", "home", "right", "down"].iter().for_each(|key| press(&mut app, key));
    (0..11).for_each(|_| press(&mut app, "left"));
    press(&mut app, "m");
    let cmds = update(&mut app, Msg::Key("c".parse().expect("is a key")));
    let [Cmd::History(runs::Cmd::Compare(before, after))] = cmds.as_slice() else {
        panic!("{cmds:?}")
    };
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), history::build(history::RUNS)).expect("writes");
    let store = History::temporary().expect("a store");
    store.import(file.path()).expect("imports");
    let samples = |run| store.samples(run).expect("reads");
    let known = |_: &Key| Some(Spread { deviation: 0.005, freedom: 20.0 });
    let terms = Terms { known: &known, ..Terms::default() };
    let result = compare_groups(vec![samples(*before), samples(*after)], &terms);
    update(&mut app, Msg::History(runs::Msg::Compared((*before, *after), Ok(result))));
    app
}

#[test]
fn two_runs_beside_each_other_and_one_alone() {
    let mut app = compared();
    let text = svg::text(&drawn(&app, &plain(), (80, 24)));
    assert!(text.contains("SLOWER: +6.") && text.contains("95% interval"), "{text}");
    insta::assert_snapshot!("history-compared-80x24", text);
    SIZES.iter().for_each(|size| drop(drawn(&app, &plain(), *size)));
    press(&mut app, "esc");
    press(&mut app, "enter");
    let text = svg::text(&drawn(&app, &plain(), (80, 24)));
    assert!(text.contains("Run night 13") && text.contains("python tune.py"), "{text}");
    SIZES.iter().for_each(|size| drop(drawn(&app, &plain(), *size)));
}

#[test]
fn a_history_that_cannot_be_read_says_why() {
    let mut app = played("synthetic-none");
    press(&mut app, "5");
    let waits = svg::text(&drawn(&app, &plain(), (80, 24)));
    assert!(waits.contains("Reading the history"), "{waits}");
    let why = "/data/history/1.json is damaged (EOF)";
    update(&mut app, Msg::History(runs::Msg::Read(Err(why.into()))));
    let text = svg::text(&drawn(&app, &plain(), (80, 24)));
    assert!(text.contains("/data/history/1.json is damaged"), "{text}");
}

#[test]
fn popups_from_recordings() {
    for (app, number) in with_popups("synthetic-h100x8").iter().zip(1..) {
        let label = format!("popup-{number:02}-80x24");
        insta::assert_snapshot!(label, svg::text(&drawn(app, &plain(), (80, 24))));
    }
}

/// The screen and, beneath each line, one letter per cell for its style; the letters are explained at the end.
fn styled(buffer: &Buffer) -> String {
    let mut legend = Vec::new();
    let mut out = String::new();
    let text = svg::text(buffer);
    for (line, row) in text.lines().zip(buffer.content.chunks(usize::from(buffer.area.width))) {
        let letters: String = row
            .iter()
            .map(|cell| {
                let style = format!("{} on {} {:?}", cell.fg, cell.bg, cell.modifier);
                let at = legend.iter().position(|known| *known == style).unwrap_or_else(|| {
                    legend.push(style);
                    legend.len() - 1
                });
                char::from_u32(u32::from('a') + at as u32).expect("few styles")
            })
            .collect();
        out += &format!("{line}\n{letters}\n");
    }
    for (style, letter) in legend.iter().zip('a'..) {
        out += &format!("{letter}: {style}\n");
    }
    out
}

#[test]
fn the_overview_in_every_theme() {
    let app = played("synthetic-t4");
    for (theme, _) in BUILTIN {
        let buffer = drawn(&app, &appearance(theme, ColorDepth::TrueColor, false), (80, 24));
        insta::assert_snapshot!(format!("theme-{theme}"), styled(&buffer));
    }
}

#[test]
fn without_colour_words_and_symbols_tell_the_state() {
    let appearance = appearance("dark", ColorDepth::None, false);
    let text = |app: &App, size| svg::text(&drawn(app, &appearance, size));
    let mut app = complete("synthetic-16");
    let overview = text(&app, (120, 36));
    assert!(overview.contains("lost"), "a lost GPU is called so\n{overview}");
    app = on(complete("synthetic-none"), Tab::Overview);
    let overview = text(&app, (120, 36));
    assert!(overview.contains("what-if") && overview.contains("▲ "), "{overview}");
    press(&mut app, "n");
    assert!(text(&app, (120, 36)).contains("warning"));
    let bench = text(&on(complete("synthetic-none"), Tab::Bench), (120, 36));
    assert!(bench.contains("not finite") && bench.contains("right"), "{bench}");
    let mut processes = on(played("synthetic-h100x8"), Tab::Processes);
    assert!(text(&processes, (120, 36)).contains("in another pid namespace"));
    press(&mut processes, "space");
    assert!(text(&processes, (120, 36)).contains("frozen"));
}

#[test]
fn without_colour_the_selection_and_the_tab_are_reversed() {
    let appearance = appearance("dark", ColorDepth::None, false);
    let mut app = on(played("synthetic-h100x8"), Tab::Processes);
    press(&mut app, "down");
    let buffer = drawn(&app, &appearance, (120, 36));
    let reversed = |y: u16| {
        let row = (0..120).filter(|x| buffer[(*x, y)].modifier.contains(Modifier::REVERSED));
        row.count()
    };
    assert!((5..30).contains(&reversed(0)), "one tab: {}", reversed(0));
    let rows: Vec<u16> = (1..36).filter(|y| reversed(*y) > 60).collect();
    assert_eq!(rows, [4], "one row");
}

#[test]
fn what_changes_the_meaning_of_values_is_shown_before_titles() {
    for width in [60, 80, 100] {
        let mut app = empty();
        for mut frame in recorded("synthetic-t4") {
            frame.origin = Origin::Replay { file: "t4.jsonl".into(), host: None };
            update(&mut app, Msg::Frame(Box::new(frame)));
        }
        press(&mut app, "space");
        let text = svg::text(&drawn(&app, &plain(), (width, 24)));
        let head = text.lines().next().expect("a header");
        assert!(head.contains("replay") && head.contains("frozen"), "{width}: {head}");
        let foot = text.lines().last().expect("a footer");
        assert!(foot.contains("space go on"), "{width}: {foot}");
    }
}

#[test]
fn a_suspended_gpu_is_not_called_idle() {
    let mut frame = recorded("synthetic-t4").remove(0);
    frame.gpus[0].presence = Presence::Suspended;
    let mut app = empty();
    update(&mut app, Msg::Frame(Box::new(frame)));
    let text = svg::text(&drawn(&app, &plain(), (80, 24)));
    assert!(text.contains("suspended by the kernel to save power; not woken"), "{text}");
    assert!(!text.contains('%') || !text.contains("gpu "), "{text}");
}

#[test]
fn late_values_stay_and_are_marked() {
    let mut app = empty();
    for mut frame in recorded("synthetic-t4").into_iter().take(2) {
        if frame.seq == 2 {
            frame.gpus.iter_mut().for_each(warpscope_probes::Gpu::make_late);
        }
        update(&mut app, Msg::Frame(Box::new(frame)));
    }
    let fresh = svg::text(&drawn(&app, &plain(), (120, 36)));
    assert!(fresh.contains("/70 W"), "{fresh}");
}

#[test]
fn sixteen_gpus_fit_120_by_36() {
    let text = svg::text(&drawn(&played("synthetic-16"), &plain(), (120, 36)));
    for index in 0..16 {
        assert!(text.lines().any(|line| line.contains(&format!("{index} T4"))), "{index}");
    }
}

#[test]
fn the_title_of_the_tab_in_view_is_never_cut() {
    for (width, (tab, _, title)) in
        (26..100).flat_map(|width| TABS.iter().map(move |row| (width, row)))
    {
        let text = svg::text(&drawn(&on(played("synthetic-t4"), *tab), &plain(), (width, 12)));
        let head = text.lines().next().expect("a header");
        assert!(head.contains(title), "{width}: {head}");
        // Of one machine, that of many is shown only where it is in view.
        let shown = TABS.len() - usize::from(*tab != Tab::Fleet);
        assert!((1..=shown).all(|number| head.contains(&number.to_string())), "{width}: {head}");
    }
}

#[test]
fn the_selected_gpu_is_in_view_whatever_the_number_of_gpus() {
    for at in 0..16 {
        let mut app = played("synthetic-16");
        (0..at).for_each(|_| press(&mut app, "down"));
        for size in [(60, 20), (80, 24), (120, 36), (200, 60), (320, 80)] {
            let text = svg::text(&drawn(&app, &plain(), size));
            assert!(
                text.lines().any(|line| line.contains(&format!("{at} T4")))
                    || text.contains(&format!(" {at} Tesla T4 ")),
                "{at} {size:?}: {text}"
            );
        }
    }
}

/// A machine with so many GPUs.
fn with_gpus(count: usize) -> App {
    let mut app = empty();
    for mut frame in recorded("synthetic-16").into_iter().take(3) {
        let gpus = frame.gpus.iter().cycle().take(count).cloned().zip(0..);
        let numbered = gpus.map(|(gpu, index)| Gpu { index, key: format!("GPU-{index}"), ..gpu });
        frame.gpus = numbered.collect();
        update(&mut app, Msg::Frame(Box::new(frame)));
    }
    app
}

#[test]
fn every_tab_uses_its_lines_whatever_the_number_of_gpus() {
    for count in [0, 1, 2, 8, 16, 64] {
        for size in [(60, 20), (80, 24), (120, 36), (200, 60), (320, 80)] {
            for (tab, _, title) in TABS {
                let text = svg::text(&drawn(&on(with_gpus(count), *tab), &plain(), size));
                let head = text.lines().next().expect("a header");
                assert!(head.contains(title), "{count} {size:?}: {head}");
                if *tab != Tab::Overview {
                    continue;
                }
                let is_shown = |at: &usize| {
                    text.lines().any(|line| line.contains(&format!(" {at} T4")))
                        || text.contains(&format!(" {at} Tesla T4 "))
                };
                let shown = (0..count).filter(is_shown).count();
                let blank = text.lines().filter(|line| line.trim().is_empty()).count();
                assert!(shown == count || blank == 0, "{shown} of {count} {size:?}: {text}");
                assert!(shown >= count.min(1), "{count} {size:?}: {text}");
            }
        }
    }
}

/// Eight GPUs with this many processes on the first, the largest first.
fn with_processes(count: u32) -> App {
    let mut frame = recorded("synthetic-h100x8").pop().expect("has frames");
    let gpu = frame.gpus[0].key.clone();
    frame.processes = (0..count)
        .map(|at| {
            let mut process = Process { pid: 7000 + at, gpu: gpu.clone(), ..Process::default() };
            process.usage.gpu_memory_bytes = Bytes(u64::from(count - at) << 30).into();
            process
        })
        .collect();
    let mut app = played("synthetic-h100x8");
    update(&mut app, Msg::Frame(Box::new(frame)));
    app
}

fn pids(app: &App, size: (u16, u16)) -> Vec<u32> {
    let text = svg::text(&drawn(app, &plain(), size));
    let words = text.split_whitespace().filter_map(|word| word.parse().ok());
    words.filter(|word| (7000..8000).contains(word)).collect()
}

#[test]
fn no_process_is_left_out_while_lines_are_free() {
    for size in [(80, 24), (120, 36), (200, 60), (320, 80)] {
        let app = with_processes(40);
        let text = svg::text(&drawn(&app, &plain(), size));
        let is_blank = |line: &&str| line.chars().all(char::is_whitespace);
        assert_eq!(text.lines().filter(is_blank).count(), 0, "{size:?}: {text}");
        assert!(pids(&app, size).starts_with(&[7000, 7001, 7002]), "{size:?}: {text}");
    }
}

#[test]
fn processes_scroll_to_the_last_and_back() {
    let mut app = with_processes(40);
    (0..50).for_each(|_| press(&mut app, "}"));
    assert_eq!(pids(&app, (80, 24)).last(), Some(&7039));
    (0..50).for_each(|_| press(&mut app, "{"));
    assert_eq!(pids(&app, (80, 24)).first(), Some(&7000));
}

#[test]
fn the_question_about_the_benchmark_leaves_room_for_help() {
    let mut app = empty();
    app.tabs.bench.devices = Devices::new(BenchMode::Ask, Budget::default());
    for frame in recorded("synthetic-h100x8") {
        update(&mut app, Msg::Frame(Box::new(frame)));
    }
    for size in [(60, 20), (80, 24), (120, 36)] {
        let text = svg::text(&drawn(&app, &plain(), size));
        let keys = text.lines().last().expect("a footer");
        assert!(
            ["Benchmark", "Y yes", "N only", "? help"].iter().all(|one| keys.contains(one)),
            "{keys}"
        );
    }
}

#[test]
fn a_note_stands_below_the_benchmark_only_where_its_mark_is_seen() {
    let app = on(complete("synthetic-none"), Tab::Bench);
    for size in [(80, 24), (200, 60)] {
        let text = svg::text(&drawn(&app, &plain(), size));
        let is_marked = text.lines().any(|line| line.contains("%*"));
        assert_eq!(is_marked, text.contains("* fits"), "{text}");
    }
}

#[test]
fn a_gpu_without_a_process_says_so_in_whole_sentences() {
    let mut frame = recorded("synthetic-h100x8").pop().expect("has frames");
    frame.gpus.truncate(2);
    frame.processes.clear();
    frame.host.machine.container = "docker".to_owned().into();
    let mut app = empty();
    update(&mut app, Msg::Frame(Box::new(frame)));
    for (size, end) in [((60, 20), "outside it."), ((60, 24), "a container hides th…")] {
        let text = svg::text(&drawn(&app, &plain(), size));
        assert!(text.contains(end), "{text}");
    }
}

#[test]
fn a_lost_gpu_is_not_asked_what_it_runs() {
    let mut frame = recorded("synthetic-h100x8").pop().expect("has frames");
    frame.gpus.truncate(2);
    frame.gpus[1] = Gpu { index: 1, key: "lost".into(), ..Gpu::default() };
    frame.gpus[1].presence = Presence::Lost;
    let mut app = empty();
    update(&mut app, Msg::Frame(Box::new(frame)));
    let mut app = on(app, Tab::Compat);
    press(&mut app, "right");
    for size in [(80, 24), (120, 36), (200, 60)] {
        let text = svg::text(&drawn(&app, &plain(), size));
        assert!(!text.contains("sm_?") && text.contains("no longer reach"), "{text}");
        assert!(!text.contains("start (y)"), "{text}");
    }
    press(&mut app, "enter");
    let text = svg::text(&drawn(&app, &plain(), (120, 36)));
    assert!(text.contains("no longer reach") && !text.contains("start (y)"), "{text}");
}

#[test]
fn the_words_of_outcomes_stand_beside_their_symbols_where_they_fit() {
    let text = svg::text(&drawn(&on(played("synthetic-16"), Tab::Compat), &plain(), (120, 36)));
    assert!(text.contains(" works ") && text.contains(" wrong output "), "{text}");
    let text = svg::text(&drawn(&on(played("synthetic-16"), Tab::Compat), &plain(), (80, 24)));
    assert!(text.contains("16×T4  ✔ "), "{text}");
}

#[test]
fn the_details_of_a_gpu_lead_to_its_processes() {
    let mut app = with_processes(3);
    (0..2).for_each(|_| press(&mut app, "down"));
    ["enter", "K"].iter().for_each(|key| press(&mut app, key));
    assert_eq!((app.tab, app.tabs.processes.filter.text.as_str()), (Tab::Processes, "gpu 2"));
    let mut app = with_processes(3);
    ["enter", "/", "K"].iter().for_each(|key| press(&mut app, key));
    assert_eq!(app.tab, Tab::Overview, "it is a letter of what is searched");
}

#[test]
fn the_palette_keeps_the_keys_of_long_names() {
    let mut app = played("synthetic-h100x8");
    press(&mut app, ":");
    for size in [(60, 20), (80, 24)] {
        let text = svg::text(&drawn(&app, &plain(), size));
        let line = text.lines().find(|line| line.contains("Fleet: the machines"));
        let line = line.unwrap_or_else(|| panic!("{text}"));
        assert!(line.trim_end_matches(['│', '┃', ' ']).ends_with('6'), "{line}");
    }
}

#[test]
fn sixteen_equal_gpus_share_one_column() {
    let text = svg::text(&drawn(&on(played("synthetic-16"), Tab::Compat), &plain(), (120, 36)));
    assert!(text.contains("16×T4"), "{text}");
    let row = text.lines().find(|line| line.contains("AWQ · fp16")).expect("a row");
    let outcomes = OUTCOMES.iter().map(|outcome| row.matches(outcome.2).count());
    assert_eq!(outcomes.sum::<usize>(), 1, "{text}");
}

#[test]
fn without_colour_the_matrix_says_what_is_not_there_and_what_was_chosen() {
    let appearance = appearance("dark", ColorDepth::None, false);
    let mut app = on(complete("synthetic-none"), Tab::Compat);
    press(&mut app, "<");
    for size in [(80, 24), (120, 36), (200, 60)] {
        let text = svg::text(&drawn(&app, &appearance, size));
        assert!(text.contains("what-if") && text.contains(" chosen"), "{text}");
    }
    press(&mut app, "z");
    let text = svg::text(&drawn(&app, &appearance, (120, 36)));
    assert!(text.contains("▸ vLLM") && text.contains(" rows"), "{text}");
}

#[test]
fn every_action_on_every_tab_leaves_something_that_can_be_drawn() {
    for name in RECORDINGS {
        for (tab, ..) in TABS {
            let acts = |row: &&Row| match row.scope {
                Scope::On(one) => one == *tab,
                Scope::Off(one) => one != *tab,
                _ => true,
            };
            for Row { spec, .. } in rows().iter().filter(acts) {
                let mut app = on(complete(name), *tab);
                for key in spec.keys {
                    press(&mut app, key);
                    drawn(&app, &plain(), (80, 24));
                    press(&mut app, key);
                    drawn(&app, &plain(), (33, 12));
                }
            }
        }
    }
}

#[test]
fn every_action_in_a_row_and_then_back_home() {
    let mut app = complete("synthetic-h100x8");
    for _ in 0..3 {
        for Row { spec, .. } in rows().iter().filter(|row| row.scope != Scope::Replay) {
            press(&mut app, spec.keys[0]);
            drawn(&app, &plain(), (100, 30));
        }
        (0..3).for_each(|_| press(&mut app, "esc"));
        press(&mut app, "1");
        assert_eq!((app.tab, app.has_popup()), (Tab::Overview, false));
    }
}

#[test]
fn help_names_every_action_and_its_keys() {
    let mut app = played("synthetic-none");
    press(&mut app, "?");
    let text = svg::text(&drawn(&app, &plain(), (200, 250)));
    // Long sentences go on below the keys, inside the frame.
    let words = text.split(|c: char| c.is_whitespace() || c == '\u{2502}');
    let text = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    for Row { spec, .. } in rows() {
        assert!(text.contains(spec.help), "{}", spec.id);
        assert!(text.contains(&spec.keys.join(" ")), "{}", spec.id);
    }
}
