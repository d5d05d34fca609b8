//! One routine that uses every kind of call, played on a stage by this test binary started again.

use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use stage::{Stage, said, tell};
use warpscope_kernels::cuda::{Cap, Cuda, CudaMachine};
use warpscope_kernels::gpu::{Arg, Launch, Machine, MachineError};

/// Names the routine in this binary.
pub(crate) const ROUTINE: &str = "play::on_stage";

/// What is done, step by step; each says its name before it starts.
pub(crate) const STEPS: [&str; 7] =
    ["open", "device", "context", "allocate", "load", "run", "read"];

/// Kernels the routine may run, by the body between its loads and its end. Each is called with the address of 32 words in
/// `%rd1`, and with its thread's place of them in `%rd3`.
pub(crate) const BODIES: &[(&str, &str)] = &[
    ("count", "ld.global.u32 %r2, [%rd3]; add.s32 %r3, %r2, 1; st.global.u32 [%rd3], %r3;"),
    ("stray", "ld.global.u32 %r2, [%rd3+128];"),
    ("askew", "ld.global.u32 %r2, [%rd3+2];"),
    ("trap", "trap;"),
    ("endless", "again: add.s32 %r3, %r3, 1; bra again;"),
    ("race", "st.shared.u32 [tile], %r1; ld.shared.u32 %r2, [tile];"),
];

/// The PTX of a kernel.
pub(crate) fn ptx(body: &str) -> String {
    format!(
        ".version 6.0\n.target sm_60\n.address_size 64\n\
         .visible .entry work(.param .u64 words)\n{{\n\
         .reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n.shared .align 4 .b8 tile[4];\n\
         ld.param.u64 %rd1, [words];\ncvta.to.global.u64 %rd1, %rd1;\nmov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n{}\nret;\n}}\n",
        body.replace("; ", ";\n")
    )
}

fn say(step: &str) {
    tell(format_args!("step {step}"));
}

/// A machine on the first device there is.
fn machine() -> Result<CudaMachine, MachineError> {
    say("open");
    let cuda = Cuda::open()?;
    say("device");
    let (uuid, facts) = cuda.devices()?.swap_remove(0);
    assert!(facts.simulated && cuda.simulated(), "a stand-in says that it is one");
    say("context");
    let cap = Cap { arena_bytes: 1 << 30, stop: Arc::new(AtomicBool::new(false)) };
    cuda.machine(&uuid, cap)
}

/// All the steps with a kernel, on whatever driver there is.
fn routine(body: &str) -> Result<Vec<u8>, MachineError> {
    let mut machine = machine()?;
    say("allocate");
    let buffer = machine.allocate(256)?;
    machine.write(buffer.into(), &[7; 128])?;
    say("load");
    machine.load_image("own", ptx(body).as_bytes()).0?;
    say("run");
    let launch = Launch {
        family: "own",
        entry: "work",
        grid: [1, 1, 1],
        block: [64, 1, 1],
        shared_bytes: 0,
        args: vec![Arg::Slot(buffer.into())],
        early: false,
    };
    let ran = machine.run(std::slice::from_ref(&launch));
    if let Err(error) = ran {
        // What ends a context ends it for every later call.
        let later = machine.allocate(16).err();
        tell(format_args!("later {}", later.as_ref() == Some(&error)));
        return Err(error);
    }
    let graph = machine.record(&[launch])?;
    machine.replay(graph, 2)?;
    say("read");
    let mut bytes = vec![0; 128];
    machine.read(buffer.into(), &mut bytes)?;
    machine.free(buffer)?;
    Ok(bytes)
}

/// Not a test of its own: what the others start on their stages.
#[test]
#[ignore = "started by the other tests on a stage"]
fn on_stage() {
    let wanted = std::env::var("STAGE_KERNEL").unwrap_or_else(|_| "count".to_owned());
    let body = BODIES.iter().find(|body| body.0 == wanted).expect("a kernel of the table").1;
    match routine(body) {
        Ok(bytes) => tell(format_args!("bytes {bytes:?}")),
        Err(error) => {
            let json = serde_json::to_string(&error).expect("plain data");
            tell(format_args!("error {json}"));
        }
    }
}

/// How the routine ended.
#[derive(Debug)]
pub(crate) struct Ending {
    /// The last step that started.
    pub(crate) step: String,
    /// The error, if it was one.
    pub(crate) error: Option<MachineError>,
    /// Whether a call after a failed run fails the same way.
    pub(crate) sticky: Option<bool>,
    /// What was read, if it came so far.
    pub(crate) bytes: Option<String>,
    /// What killed it, if something did.
    pub(crate) signal: Option<i32>,
    /// Its standard error.
    pub(crate) said: String,
}

/// Plays the routine with a kernel.
pub(crate) fn play_kernel(stage: &Stage, kernel: &str) -> Ending {
    let output = stage.again(ROUTINE).env("STAGE_KERNEL", kernel).output();
    let output = output.expect("the test binary starts");
    let lines = said(&output);
    let last = |word: &str| lines.iter().filter_map(|line| line.strip_prefix(word)).next_back();
    Ending {
        step: last("step ").unwrap_or_default().to_owned(),
        error: last("error ").map(|json| serde_json::from_str(json).expect("an error")),
        sticky: last("later ").map(|sticky| sticky == "true"),
        bytes: last("bytes ").map(str::to_owned),
        signal: output.status.signal(),
        said: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Plays the routine.
pub(crate) fn play(stage: &Stage) -> Ending {
    play_kernel(stage, "count")
}

/// The error of a call of the driver.
pub(crate) fn driver_error(call: &str, code: u32) -> Option<MachineError> {
    let name = warpscope_kernels::cuda::status(code)
        .map_or_else(|| code.to_string(), |status| format!("CUDA_ERROR_{}", status.name));
    Some(MachineError::Driver { call: call.to_owned(), code, name })
}
