use std::sync::Arc;
use std::time::Duration;

use warpscope_kernels::Sm;
use warpscope_probes::Reading;
use warpscope_probes::driver::DriverState;
use warpscope_probes::rules::RuleBase;
use warpscope_probes::units::{Bytes, Percent};

use super::*;
use crate::engine::Level;
use crate::features::compat;
use crate::features::what_if::WhatIf;
use crate::shell::keymap::Keymap;
use crate::shell::tabs::Tab;
use crate::shell::update::update;
use crate::shell::{App, Cmd, Msg, Settings};

const UUID: &str = "GPU-1";

fn app(utilization: f32) -> App {
    let settings = Settings {
        interval: Duration::from_secs(1),
        readonly: false,
        inspect: false,
        theme: "dark".into(),
    };
    let base = Arc::new(RuleBase::builtin().clone());
    let mut app = App::new(settings, Keymap::default(), WhatIf::default(), base);
    let mut gpu = Gpu { key: UUID.into(), presence: Presence::Present, ..Gpu::default() };
    gpu.identity.uuid = Reading::Value(UUID.into());
    gpu.identity.sm = Reading::Value(Sm::new(7, 5));
    gpu.identity.compute_mode = Reading::Value("default".into());
    gpu.identity.mig_mode = Reading::Value(false);
    gpu.vitals.util_gpu_pct = Reading::Value(Percent(utilization));
    gpu.vitals.memory_free_bytes = Reading::Value(Bytes(14 << 30));
    let mut frame = Frame { gpus: vec![gpu], ..Frame::default() };
    frame.driver.status = DriverState::Ready;
    frame.driver.versions.driver = Reading::Value("570.124.06".into());
    let recalled = update(&mut app, Msg::Frame(Box::new(frame)));
    assert_eq!(
        recalled,
        [Cmd::Compat(compat::Cmd::ReadProbes(vec![(UUID.into(), "570.124.06".into())]))]
    );
    app.tab = Tab::Compat;
    app
}

fn press(app: &mut App) -> Vec<Cmd> {
    update(app, Msg::Key("p".parse().expect("a key")))
}

fn report(answer: Answer, simulated: bool) -> ProbeReport {
    let probe = warpscope_probes::live::probe("gate.mma_bf16").expect("is in the table");
    ProbeReport {
        id: probe.id.into(),
        answer,
        detail: "it ran".into(),
        facts: Vec::new(),
        settles: probe.settles.iter().map(|id| (*id).to_owned()).collect(),
        uuid: UUID.into(),
        driver: Some("570.124.06".into()),
        ran: "gate cubin sm_75".into(),
        measured: "2026-11-21".into(),
        took_ms: 1.0,
        simulated,
    }
}

/// The answer of the row about bf16 products.
fn bf16(app: &App) -> (Option<Level>, bool) {
    let rows = app.tabs.compat.verdicts.all_rows();
    let row = rows.iter().position(|row| {
        row.question.framework == "hardware"
            && row.question.config.get("instruction") == Some("mma_bf16")
    });
    let cell = app
        .tabs
        .compat
        .verdicts
        .cell(row.expect("there is such a row"), 0)
        .expect("there is a GPU");
    (cell.level, cell.disputed)
}

#[test]
fn an_idle_gpu_is_probed_and_a_busy_one_is_left_alone() {
    let mut idle = app(0.0);
    let cmds = press(&mut idle);
    let want =
        Probing { uuid: UUID.into(), driver: "570.124.06".into(), cublas: CublasCopies::default() };
    assert_eq!(cmds, [Cmd::Compat(compat::Cmd::Probe(want))]);
    assert_eq!(press(&mut idle), [], "once is enough");
    let mut busy = app(60.0);
    assert_eq!(press(&mut busy), []);
    let said = busy.toast.as_ref().map(|toast| toast.0.clone());
    assert_eq!(said.as_deref(), Some("Not probed: busy: 60% in use."));
}

/// What will be loaded is said before, what is left alone again at the end: by then the first line may be gone.
#[test]
fn libraries_are_named_before_they_are_loaded() {
    let mut app = app(0.0);
    press(&mut app);
    let cublas = Vetted {
        load: vec!["/usr/lib/libcublas.so.12".into()],
        refused: vec![(
            "/tmp/.venv/libcublas.so.12".into(),
            "its folder /tmp/.venv is shared".into(),
        )],
    };
    let toast = |app: &App| app.toast.as_ref().map(|toast| toast.0.clone()).expect("is said");
    update(&mut app, Msg::Compat(compat::Msg::ProbeLibraries(cublas)));
    let said = toast(&app);
    assert!(said.starts_with("loads cuBLAS from /usr/lib/libcublas.so.12; not loaded: "), "{said}");
    assert!(said.contains("warpscope probe --cublas PATH"), "{said}");
    update(
        &mut app,
        Msg::Compat(compat::Msg::Probed(UUID.into(), Ok(vec![report(Answer::Works, true)]))),
    );
    let left = "not loaded: /tmp/.venv/libcublas.so.12 (its folder /tmp/.venv is shared)";
    assert!(
        toast(&app).starts_with("1 probes: ") && toast(&app).ends_with(left),
        "{}",
        toast(&app)
    );
    press(&mut app);
    update(&mut app, Msg::Compat(compat::Msg::ProbeLibraries(Vetted::default())));
    update(
        &mut app,
        Msg::Compat(compat::Msg::Probed(UUID.into(), Ok(vec![report(Answer::Works, true)]))),
    );
    assert!(!toast(&app).contains("not loaded"), "of that round alone");
}

/// A T4 has no bf16 products by the rules: what a probe finds decides, and a contradiction is shown as one.
#[test]
fn what_is_found_goes_before_the_rules() {
    let mut app = app(0.0);
    assert_eq!(bf16(&app), (Some(Level::Rule), false));
    press(&mut app);
    update(
        &mut app,
        Msg::Compat(compat::Msg::Probed(UUID.into(), Ok(vec![report(Answer::Fails, false)]))),
    );
    assert_eq!(bf16(&app), (Some(Level::Live), false));
    assert_eq!(app.tabs.compat.probed.running, None);
    update(
        &mut app,
        Msg::Compat(compat::Msg::Probed(UUID.into(), Ok(vec![report(Answer::Works, false)]))),
    );
    assert!(bf16(&app).1, "both sides are shown");
}

#[test]
fn a_stand_in_and_a_failure_change_nothing() {
    let mut app = app(0.0);
    let before = bf16(&app);
    press(&mut app);
    update(
        &mut app,
        Msg::Compat(compat::Msg::Probed(UUID.into(), Ok(vec![report(Answer::Works, true)]))),
    );
    assert_eq!(bf16(&app), before);
    press(&mut app);
    update(
        &mut app,
        Msg::Compat(compat::Msg::Probed(UUID.into(), Err("The process did not start.".into()))),
    );
    assert_eq!((bf16(&app), app.tabs.compat.probed.running.clone()), (before, None));
}
