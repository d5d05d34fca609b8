//! Starting, pausing and losing the live benchmark.

use super::*;
use crate::features::bench;
use crate::features::bench::device::Task;
use crate::features::bench::devices::Devices;
use crate::features::bench::panel::why;
use crate::worker::cpu::CPU;
use crate::worker::scheduler::{BenchMode, Budget};
use crate::worker::{Death, Ending, Hello, Update, WorkerEvent};

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
