//! Faults by the scenario: the step they strike, and what the program makes of them.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use stage::{CUDA, Stage};
use warpscope_kernels::gpu::MachineError;

use crate::play::{ROUTINE, STEPS, driver_error, play};

/// The fault, the step it strikes, the call and the status the program must name.
const FAULTS: &[(&str, &str, &str, u32)] = &[
    ("no_device", "open", "cuInit", 100),
    ("stub", "open", "cuInit", 34),
    ("driver_mismatch", "open", "cuInit", 803),
    ("4242", "open", "cuInit", 4242),
    ("cuDeviceGetCount=999", "device", "cuDeviceGetCount", 999),
    ("unavailable", "context", "cuDevicePrimaryCtxRetain", 46),
    ("mps_max_clients", "context", "cuDevicePrimaryCtxRetain", 808),
    ("cuStreamCreateWithPriority=4242", "context", "cuStreamCreateWithPriority", 4242),
    ("no_binary", "load", "cuModuleLoadDataEx", 209),
    ("unsupported_ptx", "load", "cuModuleLoadDataEx", 222),
    ("invalid_ptx", "load", "cuModuleLoadDataEx", 218),
    ("no_jit", "load", "cuModuleLoadDataEx", 221),
    ("out_of_resources", "run", "cuLaunchKernel", 701),
    ("cuLaunchKernel=917", "run", "cuLaunchKernel", 917),
    ("illegal_address", "run", "cuStreamSynchronize", 700),
    ("misaligned", "run", "cuStreamSynchronize", 716),
    ("launch_failed", "run", "cuStreamSynchronize", 719),
    ("launch_timeout", "run", "cuStreamSynchronize", 702),
    ("ecc", "run", "cuStreamSynchronize", 214),
    ("nvlink", "run", "cuStreamSynchronize", 220),
    ("device_lost", "run", "cuStreamSynchronize", 999),
    ("cuMemcpyDtoHAsync_v2=4242", "read", "cuMemcpyDtoHAsync_v2", 4242),
];

#[test]
fn every_fault_comes_out_where_it_struck() {
    for (fault, step, call, code) in FAULTS {
        let ending = play(&Stage::new("t4").fault(fault));
        assert!(STEPS.contains(step));
        assert_eq!(
            (ending.step.as_str(), ending.error),
            (*step, driver_error(call, *code)),
            "{fault}: {}",
            ending.said
        );
        assert_eq!(ending.signal, None, "{fault}");
    }
    let ending = play(&Stage::new("t4").fault("oom"));
    assert_eq!(
        (ending.step.as_str(), ending.error),
        ("allocate", Some(MachineError::OutOfMemory { asked: 256 }))
    );
}

/// CUDA driver API reference: what initialisation and contexts return on machines like these.
#[test]
fn machines_on_which_nothing_can_run_say_why() {
    for (machine, step, call, code) in [
        ("none", "open", "cuInit", 100),
        ("t4+lost:0", "open", "cuInit", 100),
        ("mismatch", "open", "cuInit", 803),
        ("t4+exclusive", "context", "cuDevicePrimaryCtxRetain", 46),
        ("t4+prohibited", "context", "cuDevicePrimaryCtxRetain", 46),
        ("t4+used:99", "context", "cuDevicePrimaryCtxRetain", 2),
        ("h200+dying:0", "run", "cuStreamSynchronize", 999),
    ] {
        let ending = play(&Stage::new(machine));
        let error = driver_error(call, code);
        assert_eq!(
            (ending.step.as_str(), ending.error),
            (step, error),
            "{machine}: {}",
            ending.said
        );
    }
}

#[test]
fn what_a_driver_lacks_is_missing_and_not_a_crash() {
    for (function, step) in [
        ("cuInit", "open"),
        ("cuDeviceGetAttribute", "device"),
        ("cuStreamCreateWithPriority", "context"),
        ("cuModuleLoadDataEx", "load"),
        ("cuLaunchKernel", "run"),
    ] {
        let ending = play(&Stage::new("t4").before(CUDA, &[function]));
        let missing = MachineError::Missing { what: function.to_owned() };
        assert_eq!((ending.step.as_str(), ending.error), (step, Some(missing)), "{}", ending.said);
    }
    // Graphs, parameters and lookups by name came later: an older driver does without.
    let old = [
        "cuGetProcAddress_v2",
        "cuGraphInstantiateWithFlags",
        "cuGraphLaunch",
        "cuFuncGetParamInfo",
        "cuDeviceGetUuid_v2",
    ];
    let ending = play(&Stage::new("v100").before(CUDA, &old));
    assert!(ending.bytes.is_some(), "{ending:?}");
}

#[test]
fn a_machine_without_a_driver_says_so() {
    let ending = play(&Stage::new("t4").without(CUDA));
    let missing = MachineError::Missing { what: CUDA.to_owned() };
    assert_eq!((ending.step.as_str(), ending.error), ("open", Some(missing)));
}

#[test]
fn a_driver_that_is_too_old_or_a_board_for_the_image_refuses_it() {
    let ending = play(&Stage::new("t4").driver(8000));
    assert_eq!(ending.error, driver_error("cuModuleLoadDataEx", 222));
}

#[test]
fn a_call_that_kills_the_process_kills_this_one_only() {
    for (fault, step, signal) in [
        ("crash:cuLaunchKernel", "run", libc::SIGILL),
        ("abort:cuModuleLoadDataEx", "load", libc::SIGABRT),
        ("crash:cuInit", "open", libc::SIGILL),
    ] {
        let ending = play(&Stage::new("t4").fault(fault));
        assert_eq!((ending.step.as_str(), ending.signal), (step, Some(signal)), "{fault}");
    }
}

/// The process is alive after its last words for as long as anyone waits; nothing here waits for it to end.
#[test]
fn a_call_that_hangs_hangs_until_the_process_is_killed() {
    for (fault, last) in [
        ("hang:cuLaunchKernel", "step run"),
        ("hang:cuStreamSynchronize@2", "step run"),
        ("hang:cuDevicePrimaryCtxRetain", "step context"),
    ] {
        let stage = Stage::new("t4").fault(fault);
        let mut command = stage.again(ROUTINE);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let found = lines.any(|line| line.is_ok_and(|line| line.ends_with(last)));
        assert!(found, "{fault} is reached");
        assert_eq!(child.try_wait().expect("a child"), None, "{fault}");
        child.kill().expect("it can be killed");
        let rest: Vec<_> = lines.map_while(Result::ok).collect();
        assert_eq!(rest, [""; 0], "{fault}: nothing came after");
        assert_eq!(child.wait().expect("it ends").signal(), Some(libc::SIGKILL));
    }
}
