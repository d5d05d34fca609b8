//! Children: what they answer, and that they end when their parent is gone while what they do does not return.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use stage::Stage;
use warpscope::worker::{Command as WorkerCommand, WorkerTarget};
use warpscope_probes::nvml::{NvmlOptions, NvmlProvider};
use warpscope_probes::provider::{Context, GpuSection, Provider, Section};

use crate::fake::OwnNvml;
use crate::processes::wait_until;

/// Starts a child, writes a request, reads so many lines and closes its input; it has to end by its own kill.
fn abandon(mut command: Command, request: &str, lines: usize) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("starts");
    let mut input = child.stdin.take().expect("is piped");
    writeln!(input, "{request}").expect("listens");
    let output = BufReader::new(child.stdout.take().expect("is piped"));
    assert_eq!(output.lines().take(lines).filter(Result::is_ok).count(), lines);
    assert!(child.try_wait().expect("is asked").is_none(), "it hangs");
    drop(input);
    let mut ended = None;
    wait_until("the child ends", || {
        ended = child.try_wait().expect("is asked");
        ended.is_some()
    });
    assert_eq!(ended.and_then(|status| status.signal()), Some(9));
}

#[test]
fn a_gpu_child_that_hangs_in_the_driver_ends_after_its_input() {
    let stage = Stage::new("t4").fault("hang:cuInit");
    let mut command = WorkerTarget::AnyGpu.worker(Path::new(env!("CARGO_BIN_EXE_warpscope")));
    command.envs(stage.variables());
    let request = serde_json::to_string(&WorkerCommand::Devices).expect("is JSON");
    // That it is there, and that it works.
    abandon(command, &request, 2);
}

#[test]
fn an_nvml_child_that_hangs_in_the_driver_ends_after_its_input() {
    let nvml = OwnNvml::new("t4+hang:nvmlInit_v2:3600");
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
    command.args(["__worker", "--nvml"]).arg(nvml.library());
    abandon(command, r#"{"since_last_s":0.0}"#, 0);
}

/// The first answer of a child: what differs from an empty section.
fn whole(answer: &[u8]) -> GpuSection {
    let empty = serde_json::to_value(GpuSection::default()).expect("is JSON");
    let changes: serde_json::Value = serde_json::from_slice(answer).expect("is JSON");
    let (serde_json::Value::Object(mut section), serde_json::Value::Object(changes)) =
        (empty, changes)
    else {
        panic!("a section is an object");
    };
    section.extend(changes);
    serde_json::from_value(section.into()).expect("is a section")
}

#[test]
fn what_the_nvml_child_answers_is_what_its_provider_says() {
    let ask = |request: &str, library: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
        command.args(["__worker", "--nvml"]).arg(library);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        let mut input = child.stdin.take().expect("is piped");
        writeln!(input, "{request}").expect("listens");
        drop(input);
        child.wait_with_output().expect("ends").stdout
    };
    for scenario in ["h100x8+steady", "t4x2+procs", "h100+mig:0+steady", "nodriver"] {
        let (here, there) = (OwnNvml::new(scenario), OwnNvml::new(scenario));
        let options = NvmlOptions { library: Some(here.library()), ..NvmlOptions::default() };
        let Section::Gpu(own) = NvmlProvider::new(options).poll(&Context::default()) else {
            panic!("knows GPUs");
        };
        let line = serde_json::to_string(&own).expect("is JSON");
        assert_eq!(serde_json::from_str::<GpuSection>(&line).expect("is a section"), *own);
        let answer = ask(r#"{"since_last_s":0.0}"#, &there.library());
        let answer = whole(&answer);
        // What moves with time is another matter.
        let lasting = |section: &GpuSection| {
            let gpus = section.gpus.iter().map(|gpu| (gpu.key.clone(), gpu.identity.clone()));
            let kinds = section.processes.iter().map(|process| process.kind);
            (section.driver.clone(), gpus.collect::<Vec<_>>(), kinds.collect::<Vec<_>>())
        };
        assert_eq!(lasting(&answer), lasting(&own), "{scenario}");
        assert_eq!(answer.notices, own.notices);
    }
}
