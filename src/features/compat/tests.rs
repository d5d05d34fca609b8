//! The table of verdicts, without and with the keys that change it.

use std::time::Duration;

use warpscope_kernels::Sm;
use warpscope_probes::driver::DriverState;
use warpscope_probes::model::Model;
use warpscope_probes::rules::Settings as Configuration;
use warpscope_probes::{Frame, Gpu};

use super::view::{CompatView, Only, Order};
use super::*;
use crate::engine::installed::Installed;
use crate::engine::{
    AssumedVersion, Evidence, Finding, Level, Origin, Outcome, Scope, versions_of,
};
use crate::features::what_if::WhatIf;
use crate::features::{Input, compat};
use crate::shell::keymap::Keymap;
use crate::shell::tabs::Tab;
use crate::shell::update::update;
use crate::shell::{App, Cmd, Hit, Msg, Settings};

mod dialog;
mod keys;
mod planning;

/// 18 GiB of weights, 40 heads.
const QWEN: &str = "Qwen/Qwen2.5-32B-Instruct-AWQ";

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
        repair: None,
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
