use std::time::Duration;

use warpscope_kernels::Sm;
use warpscope_probes::driver::DriverState;
use warpscope_probes::gpu::Presence;
use warpscope_probes::model::Model;
use warpscope_probes::rules::Settings as Configuration;
use warpscope_probes::units::Bytes;
use warpscope_probes::{Frame, Gpu};

use super::model::{Choice, Dialog, State};
use super::view::{CompatView, Only, Order};
use super::*;
use crate::engine::installed::Installed;
use crate::engine::plan::Fits;
use crate::engine::{
    AssumedVersion, Evidence, Finding, Level, Origin, Outcome, Scope, versions_of,
};
use crate::features::what_if::WhatIf;
use crate::features::{Input, compat};
use crate::shell::keymap::Keymap;
use crate::shell::tabs::Tab;
use crate::shell::update::update;
use crate::shell::{App, Cmd, Hit, Msg, Settings};

/// A framework of two rows: fp16 runs from `needs` on and only from version 1.5, fp32 everywhere.
fn framework(id: &str, name: &str, needs: &str) -> String {
    let source = "reason = \"because\"\nsource = \"a page\"\nretrieved = \"2026-11\"\nconfidence = \"high\"\n";
    format!(
        "framework = \"{id}\"\nname = \"{name}\"\nversion = \"2.0\"\n\
         [[config]]\nid = \"half\"\nlabel = \"half precision\"\nset = {{ dtype = \"fp16\" }}\n\
         [[config]]\nid = \"full\"\nlabel = \"full precision\"\nset = {{ dtype = \"fp32\" }}\n\
         [[rule]]\nid = \"{id}.old\"\nversions = \">=1.0,<1.5\"\nfor = {{ dtype = \"fp16\" }}\nstage = \"gate\"\noutcome = \"fails\"\nneeds = \"1.5\"\n{source}\
         [[rule]]\nid = \"{id}.half\"\nversions = \">=1.5\"\nfor = {{ dtype = \"fp16\" }}\non = {{ sm = \">={needs}\" }}\nstage = \"gate\"\noutside = \"fails\"\ninside = \"works\"\nneeds = \"more\"\n{source}\
         [[rule]]\nid = \"{id}.full\"\nversions = \"all\"\nfor = {{ dtype = \"fp32\" }}\nstage = \"gate\"\noutcome = \"works\"\n{source}"
    )
}

/// Zeta and Vllm fail on all but Blackwell, Alpha on what is older than Turing.
fn base() -> Arc<RuleBase> {
    let files = [
        ("zeta.toml", framework("zeta", "Zeta", "10.0")),
        ("alpha.toml", framework("alpha", "Alpha", "7.5")),
        ("vllm.toml", framework("vllm", "Vllm", "10.0")),
    ];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    Arc::new(RuleBase::parse(&files).expect("reads"))
}

/// A Volta, a Turing and a Hopper.
fn frame() -> Frame {
    let gpus = [("V100", Sm::new(7, 0)), ("T4", Sm::new(7, 5)), ("H100", Sm::new(9, 0))];
    let mut frame = Frame { gpus: gpus.map(|(name, sm)| gpu(name, sm)).into(), ..Frame::default() };
    frame.driver.status = DriverState::Ready;
    frame
}

fn compat() -> Verdicts {
    let mut compat = Verdicts::new(base());
    compat.renew(&frame());
    compat
}

/// The lines of a view as text: heads in capitals, with the number of rows below them where they are folded.
fn text(compat: &Verdicts, view: &CompatView) -> Vec<String> {
    let line = |line: Line| match line {
        Line::Head { group, rows, folded } => {
            let name = compat.groups()[group].name.to_uppercase();
            if folded { format!("{name} {}", rows.len()) } else { name }
        }
        Line::Row(row) => compat.all_rows()[row].config.clone(),
    };
    compat.lines(view).into_iter().map(line).collect()
}

#[test]
fn rows_stand_under_their_framework_and_can_be_folded_filtered_and_sorted() {
    let compat = compat();
    let (half, full) = ("half precision", "full precision");
    let mut view = CompatView::default();
    let all = ["ZETA", half, full, "ALPHA", half, full, "VLLM", half, full];
    assert_eq!(text(&compat, &view), all);
    view.only = Only::Problems;
    assert_eq!(text(&compat, &view), ["ZETA", half, "ALPHA", half, "VLLM", half]);
    view.folded.insert("alpha".into());
    view.only = Only::All;
    assert_eq!(text(&compat, &view), ["ZETA", half, full, "ALPHA 2", "VLLM", half, full]);
    view.order = Order::Name;
    assert_eq!(text(&compat, &view), ["ALPHA 2", "VLLM", full, half, "ZETA", full, half]);
    view.order = Order::Failing;
    assert_eq!(text(&compat, &view), ["ZETA", half, full, "VLLM", half, full, "ALPHA 2"]);
    view.order = Order::Given;
    for (typed, want) in [
        ("alpha", vec!["ALPHA", half, full]),
        ("vllm fails", vec!["VLLM", half]),
        ("FULL 2.0 zeta", vec!["ZETA", full]),
        ("no such thing", vec![]),
    ] {
        view.filter = Input { text: typed.into() };
        assert_eq!(text(&compat, &view), want, "{typed}");
    }
}

#[test]
fn a_folded_framework_tells_the_worst_and_how_often() {
    let compat = compat();
    let rows = &compat.groups()[1].rows;
    assert_eq!(compat.gist(rows, 0), Some((Outcome::Fails, 1)));
    assert_eq!(compat.gist(rows, 1), Some((Outcome::Works, 2)));
    let counts = compat.counts(compat.passing(&CompatView::default()), 1);
    assert_eq!(counts, [(Outcome::Works, 4), (Outcome::Fails, 2)]);
}

#[test]
fn what_most_people_run_is_told_first() {
    let worst =
        |gpu: usize| compat().judged()[gpu].worst.as_ref().map(|verdict| verdict.framework.clone());
    assert_eq!(worst(0).as_deref(), Some("Vllm"));
    let mut compat = Verdicts::new(base());
    compat.renew(&Frame { gpus: vec![gpu("B200", Sm::new(10, 0))], ..Frame::default() });
    assert_eq!(compat.judged()[0].worst, None);
}

#[test]
fn versions_are_those_at_which_answers_change() {
    assert_eq!(versions_of(&base(), "alpha"), ["1.0", "1.5", "2.0"]);
    for framework in RuleBase::builtin().frameworks() {
        let versions = versions_of(RuleBase::builtin(), &framework.id);
        let unique: std::collections::BTreeSet<_> = versions.iter().collect();
        assert_eq!(unique.len(), versions.len(), "{}", framework.id);
    }
}

#[test]
fn a_chosen_version_goes_before_an_installed_one_and_gives_way_to_it_again() {
    let mut compat = compat();
    let (row, gpu) = (2, 1);
    let now = |compat: &Verdicts| {
        let question = &compat.all_rows()[row].question;
        let outcome = compat.cell(row, gpu).map(|cell| cell.outcome);
        (question.version.clone().expect("has one"), question.origin, outcome.expect("is there"))
    };
    assert_eq!(now(&compat), ("2.0".into(), Origin::Known, Outcome::Works));
    let given = |text: &str| AssumedVersion { version: text.into(), origin: Origin::Installed };
    let versions = |given: AssumedVersion| Installed {
        versions: [("alpha".to_owned(), given)].into(),
        ..Installed::default()
    };
    compat.set_installed(versions(given("1.2")));
    assert_eq!(now(&compat), ("1.2".into(), Origin::Installed, Outcome::Fails));
    assert!(compat.step_version("alpha", Some("1.2"), 1));
    assert_eq!(now(&compat), ("1.5".into(), Origin::Asked, Outcome::Works));
    compat.set_installed(versions(given("1.3")));
    assert_eq!(now(&compat).1, Origin::Asked, "what was chosen stays");
    assert!(compat.reset_version("alpha") && !compat.reset_version("alpha"));
    assert_eq!(now(&compat), ("1.3".into(), Origin::Installed, Outcome::Fails));
    assert!(!compat.step_version("alpha", Some("1.0"), -1));
    compat.set_installed(Installed::default());
    assert_eq!(now(&compat), ("2.0".into(), Origin::Known, Outcome::Works));
}

#[test]
fn what_was_found_here_decides_and_shows_its_level() {
    let mut compat = compat();
    let evidence = Evidence {
        level: Level::Inspected,
        outcome: Outcome::Fails,
        id: "found".into(),
        detail: "no image".into(),
        source: "libx.so".into(),
        retrieved: "2026-11-21".into(),
    };
    let finding = Finding {
        framework: "alpha".into(),
        sm: None,
        uuid: None,
        settles: Scope::Whole,
        only: Configuration::default(),
        evidence,
    };
    compat.set_installed(Installed { findings: vec![finding], ..Installed::default() });
    let cell = compat.cell(2, 2).expect("is there");
    assert_eq!((cell.outcome, cell.level), (Outcome::Fails, Some(Level::Inspected)));
    assert_eq!(compat.cell(0, 2).map(|cell| cell.level), Some(Some(Level::Rule)));
}

#[test]
fn answers_are_worked_out_anew_only_when_gpus_or_premises_change() {
    let mut compat = compat();
    let before = compat.verdict(0, 0).expect("is there");
    compat.renew(&frame());
    compat.set_installed(Installed::default());
    compat.set_model(None);
    assert!(Arc::ptr_eq(&before, &compat.verdict(0, 0).expect("is there")));
    compat.set_model(Some(Model { name: "m".into(), ..Model::default() }));
    assert!(!Arc::ptr_eq(&before, &compat.verdict(0, 0).expect("is there")));
}

fn app() -> App {
    let settings = Settings {
        interval: Duration::from_secs(1),
        readonly: false,
        inspect: false,
        theme: "dark".into(),
    };
    let mut app = App::new(settings, Keymap::default(), WhatIf::default(), base());
    update(&mut app, Msg::Frame(Box::new(frame())));
    app.tab = Tab::Compat;
    app
}

fn press(app: &mut App, keys: &str) -> Vec<Cmd> {
    let mut cmds = Vec::new();
    for key in keys.split_whitespace() {
        cmds.extend(update(app, Msg::Key(key.parse().expect("is a key"))));
    }
    cmds
}

/// The line the cursor is on, as text.
fn here(app: &App) -> String {
    text(&app.tabs.compat.verdicts, &app.tabs.compat.view)[app.tabs.compat.view.row.at].clone()
}

#[test]
fn the_cursor_begins_on_a_row_and_stays_on_it_whatever_is_hidden_around_it() {
    let mut app = app();
    assert_eq!((here(&app).as_str(), app.tabs.compat.view.row.at), ("half precision", 1));
    press(&mut app, "l j j j");
    assert_eq!(app.tabs.compat.selected_line(), Some(Line::Row(2)));
    for keys in ["f", "s", "s", "s", "s", "f", "f", "/ a l enter", "esc"] {
        press(&mut app, keys);
        assert_eq!(app.tabs.compat.selected_line(), Some(Line::Row(2)), "{keys}");
    }
    press(&mut app, "z");
    assert_eq!(here(&app), "ALPHA 2");
    press(&mut app, "Z");
    assert_eq!(
        text(&app.tabs.compat.verdicts, &app.tabs.compat.view),
        ["ZETA 2", "ALPHA 2", "VLLM 2"]
    );
    assert_eq!(here(&app), "ALPHA 2");
    press(&mut app, "Z enter");
    assert_eq!(here(&app), "ALPHA 2", "enter folds a head");
    press(&mut app, "enter j enter");
    assert!(matches!(app.tabs.compat.popup, Some(Popup::Why(_))), "and opens a row");
}

#[test]
fn a_click_on_a_head_folds_it_and_the_second_on_a_cell_opens_it() {
    let mut app = app();
    let click = |app: &mut App, hit| drop(update(app, Msg::Click(hit)));
    click(&mut app, Hit::Cell { row: 0, column: 0 });
    assert_eq!(here(&app), "ZETA 2");
    click(&mut app, Hit::Cell { row: 2, column: 1 });
    assert_eq!((here(&app).as_str(), app.tabs.compat.view.column.at), ("half precision", 1));
    assert_eq!(app.tabs.compat.popup, None);
    click(&mut app, Hit::Cell { row: 2, column: 1 });
    assert!(matches!(app.tabs.compat.popup, Some(Popup::Why(_))));
    press(&mut app, "esc");
    click(&mut app, Hit::Gpu(2));
    assert_eq!(app.tabs.compat.view.column.at, 2);
}

#[test]
fn keys_step_through_versions_and_take_the_choice_back() {
    let mut app = app();
    press(&mut app, "<");
    assert_eq!(
        app.tabs.compat.verdicts.given("zeta").map(|given| given.version.as_str()),
        Some("1.5")
    );
    press(&mut app, "< <");
    assert_eq!(
        app.tabs.compat.verdicts.given("zeta").map(|given| given.version.as_str()),
        Some("1.0")
    );
    assert!(app.toast.as_ref().is_some_and(|toast| toast.0.contains("no older version")));
    press(&mut app, "> v");
    assert_eq!(app.tabs.compat.verdicts.given("zeta"), None);
    press(&mut app, "v");
    assert!(app.toast.is_some());
}

#[test]
fn a_what_if_gpu_comes_with_its_column_selected_and_goes_again() {
    let mut app = app();
    press(&mut app, "w b 2 0 0 enter");
    assert_eq!((app.shared.frame.gpus.len(), app.tabs.compat.view.column.at), (4, 3));
    assert_eq!(app.shared.frame.gpus[3].presence, Presence::WhatIf);
    assert_eq!(app.tabs.compat.verdicts.cell(0, 3).map(|cell| cell.outcome), Some(Outcome::Works));
    press(&mut app, "x");
    assert_eq!((app.shared.frame.gpus.len(), app.tabs.compat.view.column.at), (3, 2));
    press(&mut app, "x");
    assert_eq!(app.shared.frame.gpus.len(), 3, "a real one stays");
}

fn model(name: &str) -> Model {
    let settings = Configuration::new([("dtype", "fp32")]).expect("reads");
    Model { name: name.into(), settings, ..Model::default() }
}

#[test]
fn a_model_is_named_in_a_dialog_and_every_row_asks_about_it() {
    let mut app = app();
    let asked = [compat::Cmd::ListModels, compat::Cmd::ReadModel("/m".into())];
    assert_eq!(press(&mut app, "m / m enter"), asked.map(Cmd::Compat));
    let failed = Err("there is none".to_owned());
    update(&mut app, Msg::Compat(compat::Msg::Model("/m".into(), failed)));
    let failed = |app: &App| match &app.tabs.compat.popup {
        Some(Popup::Model(Dialog { state: State::Failed(why), .. })) => Some(why.clone()),
        _ => None,
    };
    assert_eq!(failed(&app).as_deref(), Some("there is none"));
    assert_eq!(press(&mut app, "2 enter"), [Cmd::Compat(compat::Cmd::ReadModel("/m2".into()))]);
    update(&mut app, Msg::Compat(compat::Msg::Model("/m".into(), Ok(Box::new(model("late"))))));
    assert_eq!(
        app.tabs.compat.verdicts.assumptions().model,
        None,
        "an answer nobody waits for is left out"
    );
    update(&mut app, Msg::Compat(compat::Msg::Model("/m2".into(), Ok(Box::new(model("m2"))))));
    assert_eq!(
        (&app.tabs.compat.popup, app.tabs.compat.verdicts.assumptions().model.is_some()),
        (&None, true)
    );
    assert_eq!(app.tabs.compat.verdicts.cell(0, 0).map(|cell| cell.outcome), Some(Outcome::Works));
    press(&mut app, "esc");
    assert_eq!(app.tabs.compat.verdicts.assumptions().model, None);
    assert_eq!(app.tabs.compat.verdicts.cell(0, 0).map(|cell| cell.outcome), Some(Outcome::Fails));
}

#[test]
fn an_empty_line_takes_the_model_back_and_a_closed_dialog_changes_nothing() {
    let mut app = app();
    press(&mut app, "m a enter");
    update(&mut app, Msg::Compat(compat::Msg::Model("a".into(), Ok(Box::new(model("a"))))));
    press(&mut app, "m b enter esc");
    update(&mut app, Msg::Compat(compat::Msg::Model("b".into(), Ok(Box::new(model("b"))))));
    let name = |app: &App| {
        app.tabs.compat.verdicts.assumptions().model.as_ref().map(|model| model.name.clone())
    };
    assert_eq!(name(&app).as_deref(), Some("a"));
    press(&mut app, "m enter");
    assert_eq!((name(&app), &app.tabs.compat.popup), (None, &None));
}

#[test]
fn the_selected_fix_is_copied() {
    let mut app = app();
    let mut verdict = app.tabs.compat.selected_verdict().expect("is there").as_ref().clone();
    let fix = |text: &str| crate::engine::Fix {
        cost: warpscope_probes::rules::Cost::Flag,
        title: "do".into(),
        text: text.into(),
        then: None,
    };
    let harm = "pip a\u{1b}[201~\r\u{9b}\u{202e}b\npip c";
    verdict.fixes = vec![fix(harm)];
    app.tabs.compat.verdicts.last.replace(Some((0, 0, Arc::new(verdict.clone()))));
    let shown = "pip a\u{fffd}[201~ \u{fffd}\u{fffd}b\npip c".to_owned();
    assert_eq!(press(&mut app, "y"), [Cmd::Copy(shown)], "its lines stay lines");
    let sentence = fix("use another GPU, such as a T4");
    verdict.fixes = vec![sentence, fix("pip first"), fix("pip second")];
    app.tabs.compat.verdicts.last.replace(Some((0, 0, Arc::new(verdict))));
    let copied = |text: &str| [Cmd::Copy(text.to_owned())];
    assert_eq!(press(&mut app, "y"), copied("pip first"), "a sentence is no command");
    assert_eq!(press(&mut app, "enter y"), copied("pip first"));
    assert_eq!(press(&mut app, "3 y"), copied("pip second"));
    assert_eq!(press(&mut app, "h y"), copied("pip first"));
    assert_eq!(press(&mut app, "9 y"), copied("pip second"), "the last there is");
    update(&mut app, Msg::Click(Hit::Row(0)));
    assert_eq!(press(&mut app, "y"), copied("pip first"));
}

fn gpu(name: &str, sm: Sm) -> Gpu {
    let mut gpu = Gpu { key: name.into(), ..Gpu::default() };
    gpu.identity.name = name.to_owned().into();
    gpu.identity.sm = sm.into();
    gpu
}

#[test]
fn gpus_of_one_kind_share_a_column() {
    let (old, new) = (gpu("T4", Sm::new(7, 5)), gpu("H100", Sm::new(9, 0)));
    let gpus = vec![new.clone(), old.clone(), new.clone(), old];
    let mut compat = Verdicts::new(Arc::new(RuleBase::builtin().clone()));
    compat.renew(&Frame { gpus, ..Frame::default() });
    let places: Vec<_> = compat.columns.all().iter().map(|one| one.gpus.clone()).collect();
    assert_eq!(places, [[0, 2], [1, 3]]);
    let name =
        |compat: &Verdicts, column| compat.verdict(0, column).map(|verdict| verdict.gpu.clone());
    assert_eq!((name(&compat, 1).as_deref(), name(&compat, 2)), (Some("T4"), None));
    let judged = compat.judged();
    let known: usize = judged[1].counts.iter().map(|row| row.1).sum();
    assert!(known > 20 && judged.len() == 4);
    assert_eq!(judged[0].dtypes, judged[2].dtypes);
    assert_ne!(judged[0].dtypes, judged[1].dtypes);

    compat.renew(&Frame { gpus: vec![new], ..Frame::default() });
    assert_eq!((name(&compat, 0).as_deref(), name(&compat, 1)), (Some("H100"), None));
}

/// The app with the built-in rules, GPUs of these names and memories, and a model of the table.
fn planning(gpus: &[(&str, Sm, u64)], model: &str) -> App {
    let mut app = app();
    update(&mut app, Msg::Compat(compat::Msg::Rules(Arc::new(RuleBase::builtin().clone()))));
    let gpu = |(at, (name, sm, gib)): (usize, &(&str, Sm, u64))| {
        let mut gpu = gpu(name, *sm);
        gpu.identity.uuid = format!("GPU-{at}").into();
        gpu.vitals.memory_total_bytes = Bytes(gib << 30).into();
        gpu.vitals.memory_free_bytes = Bytes(gib << 30).into();
        gpu
    };
    let gpus = gpus.iter().enumerate().map(gpu).collect();
    let mut frame = Frame { gpus, ..frame() };
    frame.driver.status = DriverState::Ready;
    update(&mut app, Msg::Frame(Box::new(frame)));
    press(&mut app, "m x enter");
    let model = Model::known(model).expect("is in the table");
    update(&mut app, Msg::Compat(compat::Msg::Model("x".into(), Ok(Box::new(model)))));
    app
}

/// 18 GiB of weights, 40 heads: two of these boards hold them, one does not.
const QWEN: &str = "Qwen/Qwen2.5-32B-Instruct-AWQ";
const TURING: (&str, Sm, u64) = ("Tesla T4", Sm::new(7, 5), 15);

/// How the model fits vLLM in the first column.
fn fits(app: &App) -> Option<Fits> {
    let verdicts = &app.tabs.compat.verdicts;
    let row = verdicts.all_rows().iter().position(|row| row.question.framework == "vllm")?;
    verdicts.planned.fits(row, 0)
}

#[test]
fn a_model_is_planned_on_the_gpus_that_are_marked() {
    let mut app = planning(&[TURING; 3], QWEN);
    assert_eq!(fits(&app), Some(Fits::Fits), "two of the three");
    press(&mut app, "space");
    assert_eq!(fits(&app), Some(Fits::DoesNotFit), "one is marked");
    assert_eq!(app.tabs.compat.view.column.at, 1, "the cursor stays on the kind");
    press(&mut app, "space");
    assert_eq!(fits(&app), Some(Fits::Fits));
    let verdicts = &app.tabs.compat.verdicts;
    let row = verdicts.all_rows().iter().position(|row| row.question.framework == "vllm");
    let start = row.and_then(|row| verdicts.start(row, 0)).expect("runs");
    assert!(start.contains("--tensor-parallel-size 2"), "{start}");
    press(&mut app, "left space");
    assert!(!app.tabs.compat.verdicts.columns.has_group());
}

#[test]
fn context_and_requests_change_the_plan_and_what_runs_comes_first() {
    let mut app = planning(&[TURING; 2], QWEN);
    assert_eq!(app.tabs.compat.view.order, Order::Fitting);
    let first = app.tabs.compat.lines().into_iter().find_map(|line| match line {
        Line::Row(row) => Some(row),
        Line::Head { .. } => None,
    });
    let cell = first.and_then(|row| app.tabs.compat.verdicts.cell(row, 0)).expect("is there");
    assert!(!cell.outcome.is_bad());
    let demand = |app: &App| {
        let demand = &app.tabs.compat.verdicts.planned.demand;
        (demand.context, demand.concurrency)
    };
    press(&mut app, "c u u U");
    assert_eq!(demand(&app), (16_384, 2));
    press(&mut app, "c c c c c u u u u u u");
    assert_eq!(fits(&app), Some(Fits::DoesNotFit));
    press(&mut app, "f f f");
    assert_eq!(app.tabs.compat.view.only, Only::Fits);
    press(&mut app, "f esc");
    assert_eq!(app.tabs.compat.view.order, Order::Given);
}

#[test]
fn free_memory_counts_for_a_model_only_and_only_when_it_changes_much() {
    let mut app = planning(&[TURING; 2], QWEN);
    let mut frame = app.shared.frame.clone();
    frame.gpus[1].vitals.memory_free_bytes = Bytes(2 << 30).into();
    update(&mut app, Msg::Frame(Box::new(frame.clone())));
    assert_eq!(fits(&app), Some(Fits::DoesNotFit));
    frame.gpus[1].vitals.memory_free_bytes = Bytes(15 << 30).into();
    update(&mut app, Msg::Frame(Box::new(frame)));
    assert_eq!(fits(&app), Some(Fits::Fits));
}

#[test]
fn models_found_here_are_picked_and_names_are_completed() {
    let mut app = app();
    assert_eq!(press(&mut app, "m"), [Cmd::Compat(compat::Cmd::ListModels)]);
    let choice = |name: &str| Choice { name: name.into(), detail: "2 GiB".into() };
    let found = vec![choice("llama3.1:8b"), choice("me/own-model")];
    update(&mut app, Msg::Compat(compat::Msg::Models(found)));
    let read = |name: &str| [Cmd::Compat(compat::Cmd::ReadModel(name.into()))];
    assert_eq!(press(&mut app, "down down enter"), read("me/own-model"));
    assert_eq!(press(&mut app, "l l a m a 3 . 1 : tab enter"), read("llama3.1:8b"));
    press(&mut app, "esc m");
    assert_eq!(
        press(&mut app, "q w e n 2 . 5 - 3 2 b - i n s t r u c t - a w q tab enter"),
        read(QWEN)
    );
}
