//! The stand-in driver and the stand-in NVML tell of one machine: the same boards, and what a process does to them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use stage::{Stage, said, tell};
use warpscope_kernels::cuda::{Cap, Cuda};
use warpscope_kernels::gpu::{Arg, Launch, Machine};
use warpscope_probes::gpu::Presence;
use warpscope_probes::nvml::{NvmlOptions, NvmlProvider};
use warpscope_probes::provider::{Context, GpuSection, Provider, Section};

/// A kernel that does nothing.
const NOTHING: &str = ".version 6.0\n.target sm_60\n.address_size 64\n\
                       .visible .entry nothing(.param .u64 place)\n{\nret;\n}\n";

fn poll(provider: &mut NvmlProvider) -> GpuSection {
    match provider.poll(&Context::default()) {
        Section::Gpu(section) => *section,
        other => panic!("not a GPU section: {other:?}"),
    }
}

/// What both libraries tell, one fact a line, while a process uses the first board.
fn told() {
    let options = NvmlOptions { sysfs_root: "/nonexistent".into(), ..NvmlOptions::default() };
    let mut provider = NvmlProvider::new(options);
    let mut look = |when: &str| {
        let section = poll(&mut provider);
        let used = section.gpus[0].vitals.memory_used_bytes.last().map_or(0, |used| used.0 >> 20);
        let present = section.gpus[0].presence == Presence::Present;
        let own = section.processes.iter().any(|it| it.pid == std::process::id());
        tell(format_args!("{when}: {used} MiB, present {present}, own process {own}"));
        section
    };
    let section = look("before");
    let by_nvml: Vec<_> = section.gpus.iter().map(|gpu| gpu.key.to_ascii_lowercase()).collect();
    let cuda = Cuda::open().expect("the stand-in");
    let devices = cuda.devices().expect("devices");
    let by_driver: Vec<_> = devices.iter().map(|device| device.0.to_ascii_lowercase()).collect();
    tell(format_args!("same boards: {}", by_nvml == by_driver));
    let cap = Cap { arena_bytes: 2 << 30, stop: Arc::new(AtomicBool::new(false)) };
    let mut machine = cuda.machine(&devices[0].0, cap).expect("a context");
    look("context");
    let buffer = machine.allocate(1 << 30).expect("room");
    look("arena");
    machine.load_image("own", NOTHING.as_bytes()).0.expect("it loads");
    let launch = Launch {
        family: "own",
        entry: "nothing",
        grid: [1; 3],
        block: [32, 1, 1],
        shared_bytes: 0,
        args: vec![Arg::Slot(buffer.into())],
        early: false,
    };
    let ran = machine.run(&[launch]);
    tell(format_args!("ran: {}", ran.is_ok()));
    look("after");
    drop(machine);
    look("end");
}

/// Not a test of its own: what the others start on their stages.
#[test]
#[ignore = "started by the other tests on a stage"]
fn on_stage() {
    told();
}

fn lines(stage: &Stage) -> Vec<String> {
    let output = stage.again("simulated::on_stage").output().expect("the test binary starts");
    assert!(output.status.success(), "{output:?}");
    said(&output)
}

/// A tenth of 16 GiB is others'; a context takes 300 MiB, the arena 1 GiB, and all is given back.
#[test]
fn nvml_shows_what_a_process_takes_of_a_board_through_the_driver() {
    assert_eq!(
        lines(&Stage::new("t4x2+v100+idle")),
        [
            "before: 1638 MiB, present true, own process false",
            "same boards: true",
            "context: 1938 MiB, present true, own process true",
            "arena: 2962 MiB, present true, own process true",
            "ran: true",
            "after: 2962 MiB, present true, own process true",
            "end: 1638 MiB, present true, own process false",
        ]
    );
}

#[test]
fn a_board_lost_under_the_driver_is_lost_to_nvml() {
    let told = lines(&Stage::new("h200+idle").fault("device_lost"));
    assert!(told.contains(&"ran: false".to_owned()), "{told:#?}");
    assert!(told.last().is_some_and(|line| line.contains("present false")), "{told:#?}");
}
