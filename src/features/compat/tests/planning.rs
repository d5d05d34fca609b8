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
    press(&mut app, "m x enter");
    let model = Model::known(model).expect("is in the table");
    update(&mut app, Msg::Compat(compat::Msg::Model("x".into(), Ok(Box::new(model)))));
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
    press(&mut app, "left");
    free(&mut app, 1, 1);
    assert_eq!(app.tabs.compat.selected_line(), selected, "less is free");
    press(&mut app, "space");
    assert_eq!(app.tabs.compat.selected_line(), selected, "the group is taken apart");
}

#[test]
fn the_same_is_copied_of_a_row_and_of_its_answer() {
    let mut app = planning(&[TURING; 2], QWEN);
    let outside = press(&mut app, "y");
    assert!(matches!(outside[..], [Cmd::Copy(_)]), "{outside:?}");
    assert_eq!(press(&mut app, "enter y"), outside);
}
