//! Models planned on the GPUs that are marked.

use warpscope_probes::Timestamp;
use warpscope_probes::units::Bytes;

use super::*;
use crate::engine::plan::Fits;

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
    press(&mut app, "m / x enter");
    let model = Model::known(model).expect("is in the table");
    update(&mut app, Msg::Compat(compat::Msg::Model("/x".into(), Ok(Box::new(model)))));
    app
}

/// Two of these boards hold the weights of `QWEN`, one does not.
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
    assert_eq!(app.tabs.compat.view.column.at, 0, "the cursor goes to the group");
    press(&mut app, "space");
    assert!(app.toast.as_ref().is_some_and(|toast| toast.0.contains("Group of 2 GPUs: 2×")));
    assert_eq!(fits(&app), Some(Fits::Fits));
    let verdicts = &app.tabs.compat.verdicts;
    let row = verdicts.all_rows().iter().position(|row| row.question.framework == "vllm");
    let start = row.and_then(|row| verdicts.start(row, 0)).expect("runs");
    assert!(start.contains("--tensor-parallel-size 2"), "{start}");
    press(&mut app, "backspace");
    assert_eq!(fits(&app), Some(Fits::DoesNotFit), "one is left");
    press(&mut app, "space space space");
    assert!(!app.tabs.compat.verdicts.columns.has_group(), "there are three");
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
    press(&mut app, "f m enter");
    assert_eq!(app.tabs.compat.view.order, Order::Given);
}

#[test]
fn free_memory_counts_for_a_model_only_and_only_when_it_changes_much() {
    let mut app = planning(&[TURING; 2], QWEN);
    for (second, gib, want) in [
        (1, 2, Fits::DoesNotFit),
        (2, 15, Fits::DoesNotFit),
        (60, 15, Fits::DoesNotFit),
        (62, 15, Fits::Fits),
    ] {
        free(&mut app, second, gib);
        assert_eq!(fits(&app), Some(want), "{gib} GiB in second {second}");
    }
}

/// A second in which so much is free on the second GPU.
fn free(app: &mut App, second: u64, gib: u64) {
    let mut frame = app.shared.frame.clone();
    frame.at = Timestamp(second * 1000);
    frame.gpus[1].vitals.memory_free_bytes = Bytes(gib << 30).into();
    update(app, Msg::Frame(Box::new(frame)));
}

#[test]
fn the_cursor_begins_at_the_best_row_and_goes_where_its_row_goes() {
    let mut app = planning(&[("NVIDIA H100 80GB HBM3", Sm::new(9, 0), 80); 4], QWEN);
    assert!(matches!(app.tabs.compat.lines()[..], [Line::Head { .. }, Line::Row(_), ..]));
    assert_eq!(app.tabs.compat.view.row.at, 1);
    press(&mut app, "down down");
    let selected = app.tabs.compat.selected_line();
    assert!(matches!(selected, Some(Line::Row(_))));
    press(&mut app, "space");
    assert_eq!(app.tabs.compat.selected_line(), selected, "a group stands before it");
    free(&mut app, 1, 1);
    assert_eq!(app.tabs.compat.selected_line(), selected, "less is free");
    press(&mut app, "backspace");
    assert!(!app.tabs.compat.verdicts.columns.has_group());
    assert_eq!(app.tabs.compat.selected_line(), selected, "the group is taken apart");
}

#[test]
fn the_same_is_copied_of_a_row_and_of_its_answer() {
    let mut app = planning(&[TURING; 2], QWEN);
    let outside = press(&mut app, "y");
    assert!(matches!(outside[..], [Cmd::Copy(_)]), "{outside:?}");
    assert_eq!(press(&mut app, "enter y"), outside);
}

/// Published as 42.5 GB in Q4_K_M: 39.6 GiB.
const LLAMA: &str = "meta-llama/Llama-3.3-70B-Instruct";
const HOPPER: (&str, Sm, u64) = ("NVIDIA H100 80GB HBM3", Sm::new(9, 0), 80);
const GIB: f64 = 1073741824.0;

/// The first row of a framework.
fn row(app: &App, framework: &str) -> usize {
    let rows = app.tabs.compat.verdicts.all_rows();
    rows.iter().position(|row| row.question.framework == framework).expect("has a row")
}

#[test]
fn what_main_memory_does_not_hold_does_not_start() {
    let mut app = planning(&[("NVIDIA GeForce RTX 3090", Sm::new(8, 6), 24)], LLAMA);
    for (gib, starts) in [(8, false), (64, true)] {
        let mut frame = app.shared.frame.clone();
        frame.host.machine.memory_total_bytes = Bytes(gib << 30).into();
        update(&mut app, Msg::Frame(Box::new(frame)));
        let (verdicts, row) = (&app.tabs.compat.verdicts, row(&app, "ollama"));
        let plan = verdicts.planned.way(row, 0).and_then(|way| way.plan.clone()).expect("planned");
        let host = plan.offload.expect("24 GiB hold half of it").host / GIB;
        assert!((15.0..30.0).contains(&host), "{host}");
        let outcome = verdicts.cell(row, 0).map(|cell| cell.outcome);
        assert_eq!(outcome != Some(Outcome::Fails), starts, "beside {gib} GiB");
        assert_eq!(verdicts.start(row, 0).is_some(), starts);
    }
}

#[test]
fn what_loads_gguf_alone_is_planned_with_such_a_file() {
    let app = planning(&[HOPPER; 2], LLAMA);
    let (verdicts, row) = (&app.tabs.compat.verdicts, row(&app, "ollama"));
    let plan = verdicts.planned.way(row, 0).and_then(|way| way.plan.clone()).expect("planned");
    let weights = 2.0 * plan.weights.bytes.mid / GIB;
    assert!((37.0..43.0).contains(&weights), "{weights}");
    assert_eq!((plan.fits, plan.offload), (Fits::Fits, None));
    let copy = verdicts.planned.copy("ollama").map(|copy| copy.model.name.as_str());
    assert_eq!(copy, Some("MaziyarPanahi/Llama-3.3-70B-Instruct-GGUF:Q4_K_M"));
    assert_eq!(verdicts.planned.copy("vllm"), None);
}

#[test]
fn what_is_not_planned_is_not_said_to_work() {
    let mut app = planning(&[HOPPER; 2], LLAMA);
    for keys in ["", "c c c u u u u"] {
        press(&mut app, keys);
        let verdicts = &app.tabs.compat.verdicts;
        for (at, row) in verdicts.all_rows().iter().enumerate() {
            let outcome = verdicts.cell(at, 0).expect("is there").outcome;
            let planned = verdicts.planned.way(at, 0).is_some();
            assert!(planned || !outcome.runs(), "{}: {outcome}", row.name());
        }
    }
}

/// Whether a row and its answer say the same, and none is refused for memory that its plan has found.
fn assert_agreed(app: &App) {
    let verdicts = &app.tabs.compat.verdicts;
    for (at, row) in verdicts.all_rows().iter().enumerate() {
        let (cell, verdict) = (verdicts.cell(at, 0), verdicts.verdict(at, 0));
        let (cell, verdict) = (cell.expect("is there"), verdict.expect("is there"));
        let fits = verdicts.planned.fits(at, 0);
        let said = verdicts.with_memory(verdict.outcome, fits);
        assert_eq!(cell.outcome, said, "{}", row.name());
        let refused = verdict.evidence.iter().any(|one| one.id.starts_with("memory."));
        assert!(!(refused && fits == Some(Fits::Fits)), "{}: {}", row.name(), verdict.reason);
    }
}

#[test]
fn the_answer_and_the_plan_of_a_row_agree_where_others_hold_memory() {
    let mut app = planning(&[HOPPER; 2], LLAMA);
    assert_agreed(&app);
    let mut frame = app.shared.frame.clone();
    for gpu in &mut frame.gpus {
        gpu.vitals.memory_free_bytes = Bytes(52 << 30).into();
    }
    update(&mut app, Msg::Frame(Box::new(frame)));
    assert_agreed(&app);
    let verdicts = &app.tabs.compat.verdicts;
    let fp8 = verdicts.all_rows().iter().position(|row| {
        let question = &row.question;
        question.framework == "vllm" && question.config.get("quantization") == Some("fp8")
    });
    let fp8 = fp8.expect("has a row");
    let start = verdicts.start(fp8, 0).expect("starts with less");
    assert!(start.contains("--gpu-memory-utilization 0.6"), "{start}");
    let reason = verdicts.verdict(fp8, 0).map(|verdict| verdict.reason.clone());
    assert!(reason.is_some_and(|reason| reason.contains("--gpu-memory-utilization 0.6")));
}

#[test]
fn one_full_gpu_of_many_does_not_refuse_what_the_others_hold() {
    let mut app = planning(&[HOPPER; 8], QWEN);
    free(&mut app, 1, 1);
    assert_eq!(fits(&app), Some(Fits::Fits), "seven are empty");
    assert_agreed(&app);
}

#[test]
fn rows_stay_where_they_are_and_an_open_answer_as_it_is_while_memory_comes_and_goes() {
    let mut app = planning(&[TURING; 2], QWEN);
    let before = app.tabs.compat.lines();
    press(&mut app, "enter");
    free(&mut app, 1, 2);
    assert_eq!(fits(&app), Some(Fits::Fits), "somebody reads");
    press(&mut app, "esc");
    free(&mut app, 2, 2);
    assert_eq!(fits(&app), Some(Fits::DoesNotFit));
    assert_eq!(app.tabs.compat.lines(), before, "until a key asks for an order");
    press(&mut app, "s s s s");
    assert_eq!(app.tabs.compat.view.order, Order::Fitting);
    assert_ne!(app.tabs.compat.lines(), before);
}
