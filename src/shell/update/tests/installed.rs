//! When this machine is inspected and the rules are read.

use warpscope_probes::inspect::ScanProgress;

use super::*;
use crate::features::compat;

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
        [Cmd::Compat(compat::Cmd::Inspect(vec![], compat::inspect::SETTLING))]
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
    let start = [Cmd::Compat(compat::Cmd::Inspect(vec![], compat::inspect::SETTLING))];
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
    app.tabs.compat = compat::Compat::default();
    update(&mut app, frame(1, &["a"], &[]));
    assert!(app.shared.judged[0].counts.is_empty());
    update(&mut app, Msg::Compat(compat::Msg::Rules(rules())));
    let judged: usize = app.shared.judged[0].counts.iter().map(|row| row.1).sum();
    assert_eq!(judged, rules().configs().len());
}
