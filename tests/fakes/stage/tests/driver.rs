//! The device layer of the program on the stand-in driver: what goes wrong there must come out here, and nothing else.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use stage::{CUDA, Stage};
use warpscope_kernels::cuda::{Cap, Cuda};
use warpscope_kernels::gpu::{Launch, Machine, MachineError};

/// Adds 1 to the word of every thread.
const COUNT_UP: &str = "\
.version 6.0
.target sm_60
.address_size 64
.visible .entry count_up(.param .u64 words)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [words];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    add.s32 %r3, %r2, 1;
    st.global.u32 [%rd3], %r3;
    ret;
}
";

/// What is done, step by step; each says its name before it starts.
const STEPS: [&str; 7] = ["open", "device", "context", "allocate", "load", "run", "read"];

fn say(step: &str) {
    println!("step {step}");
}

/// All the steps, on whatever driver there is.
fn routine() -> Result<Vec<u8>, MachineError> {
    say("open");
    let cuda = Cuda::open()?;
    say("device");
    let (uuid, facts) = cuda.devices()?.swap_remove(0);
    assert!(facts.simulated && cuda.simulated(), "a stand-in says that it is one");
    say("context");
    let cap = Cap { arena_bytes: 1 << 30, stop: Arc::new(AtomicBool::new(false)) };
    let mut machine = cuda.machine(&uuid, cap)?;
    say("allocate");
    let buffer = machine.allocate(128)?;
    machine.write(buffer.into(), &[7; 128])?;
    say("load");
    machine.load_image("counting", COUNT_UP.as_bytes()).0?;
    say("run");
    let launch = Launch {
        family: "counting",
        entry: "count_up",
        grid: [1, 1, 1],
        block: [32, 1, 1],
        shared_bytes: 0,
        args: vec![warpscope_kernels::gpu::Arg::Slot(buffer.into())],
    };
    machine.run(std::slice::from_ref(&launch))?;
    let graph = machine.record(&[launch])?;
    machine.replay(graph, 2)?;
    say("read");
    let mut bytes = vec![0; 128];
    machine.read(buffer.into(), &mut bytes)?;
    machine.free(buffer)?;
    Ok(bytes)
}

/// Not a test of its own: what the tests below start on their stages.
#[test]
#[ignore = "started by the other tests on a stage"]
fn on_stage() {
    match routine() {
        Ok(bytes) => println!("bytes {bytes:?}"),
        Err(error) => println!("error {}", serde_json::to_string(&error).expect("plain data")),
    }
}

/// How the routine ended: the last step that started, and the error or the bytes.
#[derive(Debug, PartialEq)]
struct Ending {
    step: String,
    error: Option<MachineError>,
    bytes: Option<String>,
    signal: Option<i32>,
    said: String,
}

fn play(stage: &Stage) -> Ending {
    let output = stage.again("on_stage").output().expect("the test binary starts");
    let text = String::from_utf8_lossy(&output.stdout);
    // The harness writes the name of the test before the first line.
    let lines = || text.lines().map(|line| line.split_once(" ... ").map_or(line, |split| split.1));
    let last = |word: &str| lines().filter_map(|line| line.strip_prefix(word)).last();
    Ending {
        step: last("step ").unwrap_or_default().to_owned(),
        error: last("error ").map(|json| serde_json::from_str(json).expect("an error")),
        bytes: last("bytes ").map(str::to_owned),
        signal: output.status.signal(),
        said: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn driver_error(call: &str, code: u32) -> Option<MachineError> {
    let name = warpscope_kernels::cuda::status(code)
        .map_or_else(|| code.to_string(), |status| format!("CUDA_ERROR_{}", status.name));
    Some(MachineError::Driver { call: call.to_owned(), code, name })
}

/// Every board does the whole routine, and the kernel counts.
#[test]
fn every_board_runs_a_kernel_and_a_recording() {
    for board in ["gtx1060", "p100", "v100", "t4", "a100", "rtx4090", "h200", "b200", "rtx5090"] {
        let ending = play(&Stage::new(board));
        let counted = [7 + 3, 7, 7, 7].repeat(32);
        assert_eq!(ending.bytes, Some(format!("{counted:?}")), "{board}: {ending:?}");
    }
}

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
        let mut command: Command = stage.again("on_stage");
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
