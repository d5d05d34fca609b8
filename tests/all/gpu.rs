//! The whole program on a machine with NVIDIA GPUs that is not there: every kernel through the interpreter, and everything that can
//! go wrong in a driver.
//!
//! Only the stand-ins are looked for: the search path of libraries is the stage and nothing else.

use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use stage::Stage;
use warpscope_kernels::gpu::GpuKernel;
use warpscope_kernels::gpu::family::kernels;
use warpscope_kernels::image::images;

/// Two small kernels.
const FEW: &str = "mem.noise,mem.copy";

/// Whether this build has images of what most tests run; said where it has not.
fn has_images() -> bool {
    has_images_of(&["gemv", "mem"])
}

fn has_images_of(families: &[&str]) -> bool {
    let has = families.iter().all(|family| images().iter().any(|i| i.family == *family));
    if !has {
        crate::skip::skipped(format_args!(
            "this build has no images of {}",
            families.join(" and ")
        ));
    }
    has
}

struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ended {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|why| panic!("{why}: {self}"))
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "code {:?}\n{}\n{}", self.code, self.out, self.err)
    }
}

fn run(stage: &Stage, args: &[&str]) -> Ended {
    let mut command = stage.command(env!("CARGO_BIN_EXE_warpscope"));
    command.args(args).env("HOME", "/dev/null").stdin(Stdio::null());
    Ended::of(&command.output().expect("starts"))
}

fn selftest(stage: &Stage, kernels: &str) -> Ended {
    run(stage, &["selftest", "--gpu", "--kernel", kernels, "--patience", "20s"])
}

#[test]
fn without_a_gpu_it_ends_with_3_and_says_why() {
    for (stage, want) in [
        (Stage::new("none"), "CUDA_ERROR_NO_DEVICE"),
        (Stage::new("t4").without(stage::CUDA), "no NVIDIA driver on the library path"),
        (Stage::new("t4").fault("driver_mismatch"), "803"),
        (Stage::new("t4").fault("917"), "917"),
        (Stage::new("t4").fault("crash:cuInit"), "SIGILL"),
    ] {
        for command in [&["selftest", "--gpu"][..], &["bench", "--gpu"]] {
            let ended = run(&stage, command);
            assert_eq!(ended.code, Some(3), "{command:?} {want}: {ended}");
            assert!(ended.err.contains(want) && ended.out.is_empty(), "{want}: {ended}");
        }
    }
}

#[test]
fn names_that_mean_nothing_end_with_2_and_say_what_there_is() {
    let stage = Stage::new("t4x2");
    for (args, want) in [
        (&["selftest", "--gpu", "2"][..], "no GPU 2; GPUs here: 0 Tesla T4 GPU-"),
        (&["bench", "--gpu", "GPU-ffff"], "no GPU GPU-ffff"),
        (&["selftest", "--gpu", "--kernel", "nonsense"], "no kernel matches nonsense"),
        (&["bench", "--gpu", "--shape", "1,2"], "must be three whole numbers"),
        (&["bench", "--variant", "large"], "--variant requires --kernel"),
        (
            &["bench", "--kernel", "mem.copy", "--variant", "large"],
            "mem.copy is computed in one way only on Tesla T4",
        ),
        (&["bench", "--tune", "--device", "cpu"], "--tune applies to GPU kernels"),
        (&["bench", "--tune", "--kernel", "nonsense"], "no kernel matches nonsense"),
    ] {
        let ended = run(&stage, args);
        assert_eq!(ended.code, Some(2), "{ended}");
        assert!(ended.err.contains(want), "{ended}");
    }
}

#[test]
fn kernels_are_right_on_every_generation() {
    if !has_images() {
        return;
    }
    for boards in ["t4", "v100", "h200"] {
        let stage = Stage::new(boards);
        let args = ["selftest", "--gpu", "--json", "--kernel", "mem.*"];
        let ended = run(&stage, &args);
        assert_eq!(ended.code, Some(0), "{boards}: {ended}");
        let gpu = &ended.json()["gpus"][0];
        assert_eq!(gpu["device"]["simulated"], true);
        let rows = gpu["kernels"].as_array().expect("rows");
        let known = kernels().filter(|kernel| kernel.id.starts_with("mem.")).count();
        assert_eq!(rows.len(), known, "{boards}: {ended}");
        for row in rows {
            assert_eq!(row["outcome"], "right", "{boards}: {row}");
            assert!(row["cases"].as_u64().expect("a count") > 0, "{row}");
        }
        let image = &gpu["holding"]["images"][0];
        assert_eq!(image[0], "mem", "{ended}");
    }
}

#[test]
fn every_way_to_die_has_a_sentence_and_the_next_kernel_gets_a_new_child() {
    if !has_images() {
        return;
    }
    for (fault, words) in [
        ("illegal_address@2", &["700 (CUDA_ERROR_ILLEGAL_ADDRESS)", "self-test of"][..]),
        ("ecc@2", &["214", "CUDA_ERROR_ECC_UNCORRECTABLE"]),
        ("launch_timeout@2", &["702", "CUDA_ERROR_LAUNCH_TIMEOUT"]),
        ("device_lost@2", &["999"]),
        ("crash:cuLaunchKernel@2", &["died of SIGILL", "self-test of mem."]),
        ("abort:cuLaunchKernel@2", &["died of SIGABRT"]),
    ] {
        let ended = selftest(&Stage::new("t4").fault(fault), FEW);
        assert_eq!(ended.code, Some(1), "{fault}: {ended}");
        assert!(words.iter().all(|word| ended.out.contains(word)), "{fault}: {ended}");
        let failed = ended.out.lines().filter(|line| line.contains(" FAILED ")).count();
        assert_eq!(failed, 2, "each child meets the fault anew: {ended}");
    }
}

#[test]
fn an_error_that_passes_fails_its_case_only() {
    if !has_images() {
        return;
    }
    for (fault, word) in [
        ("oom@1", "the device has no"),
        ("cuLaunchKernel=917@2", "917"),
        ("out_of_resources@1", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"),
    ] {
        let ended = selftest(&Stage::new("t4").fault(fault), FEW);
        assert_eq!(ended.code, Some(1), "{fault}: {ended}");
        assert!(ended.out.contains(word), "{fault}: {ended}");
        assert!(ended.out.contains("2 kernels: 1 right, 1 FAILED"), "{fault}: {ended}");
    }
}

#[test]
fn images_the_driver_refuses_are_named() {
    if !has_images() {
        return;
    }
    let ended = selftest(&Stage::new("t4").fault("no_binary"), FEW);
    assert_eq!(ended.code, Some(1), "{ended}");
    for word in ["no image of mem runs here", "CUDA_ERROR_NO_BINARY_FOR_GPU", "2 FAILED"] {
        assert!(ended.out.contains(word), "{word}: {ended}");
    }
}

#[test]
fn a_hang_is_killed_and_told() {
    if !has_images() {
        return;
    }
    let stage = Stage::new("t4").fault("hang:cuLaunchKernel@2");
    let args = ["selftest", "--gpu", "--kernel", "mem.noise", "--patience", "2s"];
    let ended = run(&stage, &args);
    assert_eq!(ended.code, Some(1), "{ended}");
    let want = "self-test of mem.noise: nothing came back for 2s: the device or the driver hangs";
    assert!(ended.out.contains(want), "{ended}");
}

#[test]
fn a_device_that_others_use_is_left_alone_unless_told() {
    if !has_images() {
        return;
    }
    let stage = Stage::new("t4+procs");
    let ended = run(&stage, &["selftest", "--gpu", "--kernel", FEW, "--wait", "1s"]);
    assert_eq!(ended.code, Some(1), "{ended}");
    assert!(ended.out.contains("stopped early: busy: process "), "{ended}");
    assert!(ended.out.contains("2 kernels: 2 not run"), "{ended}");
    let ended = run(&stage, &["selftest", "--gpu", "--kernel", FEW, "--anyway"]);
    assert_eq!(ended.code, Some(0), "{ended}");
    assert!(ended.out.contains("  cases  worst error  result   by"), "{ended}");
}

#[test]
fn what_is_simulated_has_hashes_and_no_speeds() {
    if !has_images() {
        return;
    }
    let stage = Stage::new("t4");
    let args = ["bench", "--gpu", "0", "--kernel", "gemv.f16"];
    let table = run(&stage, &args);
    assert_eq!(table.code, Some(0), "{table}");
    assert!(table.out.contains("simulated: no timings"), "{table}");
    let json = run(&stage, &[&args[..], &["--json"]].concat()).json();
    let reports = json["gpus"][0]["kernels"].as_array().expect("reports");
    assert!(!reports.is_empty(), "{json}");
    for report in reports {
        assert_eq!(report["samples_ns"], Value::Array(Vec::new()), "{report}");
        assert_eq!(report["output_hash"].as_str().map(str::len), Some(16), "{report}");
    }
    let again = run(&stage, &[&args[..], &["--json"]].concat()).json();
    let hashes = |json: &Value| json["gpus"][0]["kernels"][0]["output_hash"].clone();
    assert_eq!(hashes(&json), hashes(&again), "equal inputs, equal outputs");
}

/// A kernel of so many variants on the stand-in's T4.
fn several(stage: &Stage) -> Option<(&'static str, Vec<&'static str>)> {
    let device = &run(stage, &["selftest", "--json", "--kernel", "mem.copy"]).json()["gpus"][0];
    let facts = serde_json::from_value(device["device"].clone()).expect("facts");
    let names = |kernel: &GpuKernel| (kernel.variants)(&facts).iter().map(|v| v.name).collect();
    let mut all = kernels().map(|kernel| (kernel.id, names(kernel)));
    all.find(|(id, names): &(_, Vec<_>)| names.len() > 1 && id.starts_with("gemm."))
}

#[test]
fn a_stand_in_tries_every_variant_and_nothing_is_chosen() {
    let stage = Stage::new("t4");
    if !has_images_of(&["gemm", "mem"]) {
        return;
    }
    let Some((kernel, names)) = several(&stage) else {
        crate::skip::skipped(format_args!("no product has several variants on a T4"));
        return;
    };
    let with = |args: &[&str]| {
        let mut command = stage.command(env!("CARGO_BIN_EXE_warpscope"));
        command.args(["bench", "--kernel", kernel, "--shape", "64,64,64"]).args(args);
        command.env("XDG_STATE_HOME", stage.folder()).stdin(Stdio::null());
        Ended::of(&command.output().expect("starts"))
    };
    let ended = with(&["--tune", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended}");
    let gpu = &ended.json()["gpus"][0];
    let choice = &gpu["choices"][0];
    let rivals = choice["rivals"].as_array().expect("rivals");
    assert_eq!(rivals.len(), names.len() - 1, "{ended}");
    for rival in rivals {
        assert!(names.iter().any(|name| rival["variant"] == *name), "{rival}");
        assert_eq!((&rival["ratio"], &rival["wrong"]), (&Value::Null, &false.into()), "{rival}");
    }
    assert_eq!(choice["chosen"], Value::Null);
    assert_eq!(gpu["not_kept"], "the device is simulated, so its times mean nothing");
    assert!(!stage.folder().join("warpscope/tuned.json").exists());
    let forced = names.iter().find(|name| **name != choice["usual"]).expect("another one");
    let ended = with(&["--variant", forced, "--json"]);
    assert_eq!(ended.json()["gpus"][0]["kernels"][0]["variant"], **forced, "{ended}");
    let ended = with(&["--variant", "nonsense"]);
    assert_eq!(ended.code, Some(2), "{ended}");
    assert!(names.iter().all(|name| ended.err.contains(name)), "{ended}");
}

#[test]
fn a_file_of_choices_that_cannot_be_read_is_named_and_left_alone() {
    let stage = Stage::new("t4");
    let folder = stage.folder().join("warpscope");
    std::fs::create_dir(&folder).expect("room for a folder");
    let file = folder.join("tuned.json");
    let cut = "{\"schema\":1,\"entries\":[{";
    std::fs::write(&file, cut).expect("room for a file");
    let mut command = stage.command(env!("CARGO_BIN_EXE_warpscope"));
    command.args(["bench", "--tune"]).env("XDG_STATE_HOME", stage.folder()).stdin(Stdio::null());
    let ended = Ended::of(&command.output().expect("starts"));
    assert_eq!(ended.code, Some(1), "{ended}");
    for words in ["tuned.json: EOF", "move the file away and run `warpscope bench --tune` again"] {
        assert!(ended.err.contains(words), "{ended}");
    }
    assert_eq!(std::fs::read_to_string(file).expect("is there"), cut);
}

#[test]
fn the_decoder_runs_before_the_kernels() {
    if !has_images_of(&["attn", "elementwise", "gemm", "gemv", "mem"]) {
        return;
    }
    let stage = Stage::new("h200");
    let args = ["bench", "--gpu", "--dtype", "fp16", "--json", "--patience", "120s"];
    let ended = run(&stage, &args);
    assert_eq!(ended.code, Some(0), "{ended}");
    let json = ended.json();
    let [path] = &json["gpus"][0]["paths"].as_array().expect("paths")[..] else { panic!("{json}") };
    assert_eq!((&path["dtype"], &path["profile"]), (&"fp16".into(), &"clean".into()));
    assert_eq!(path["tokens"], path["expected_tokens"]);
    assert!(path["error"].as_f64() <= path["error_limit"].as_f64(), "{path}");
    assert_eq!(path["decode_tokens_per_s"], Value::Null, "a stand-in has no speed");
}

/// P100 has no product of bytes, so one of three paths is not there, which is no failure.
#[test]
fn paths_of_the_decoder_are_run_by_name_and_nothing_else() {
    if !has_images_of(&["attn", "elementwise", "gemm", "gemv", "mem", "nf4", "w4"]) {
        return;
    }
    let stage = Stage::new("p100");
    let args = ["bench", "--path", "awq,w4a8,nf4", "--profile", "cancel", "--patience", "120s"];
    let ended = run(&stage, &[&args[..], &["--json"]].concat());
    assert_eq!(ended.code, Some(0), "{ended}");
    let json = ended.json();
    let gpu = &json["gpus"][0];
    assert_eq!((&json["hello"], &gpu["kernels"]), (&Value::Null, &Value::Array(Vec::new())));
    let paths = gpu["paths"].as_array().expect("paths");
    let told: Vec<_> = paths.iter().map(|path| (&path["path"], &path["dtype"])).collect();
    assert_eq!(told, [(&"awq".into(), &"int4".into()), (&"nf4".into(), &"int4".into())]);
    assert_eq!(paths[0]["first_bad"]["op"], "down_proj", "sums in fp16 overflow: {ended}");
    assert_eq!(paths[1]["first_bad"], Value::Null, "sums in fp32 do not: {ended}");
    let absent = &gpu["absent_paths"][0];
    assert_eq!((&absent[0], &absent[1]), (&"w4a8".into(), &"sm_60 has no dp4a".into()));
}

#[test]
fn a_path_that_is_none_is_answered_with_those_there_are() {
    let stage = Stage::new("t4");
    for (args, words) in [
        (&["bench", "--path", "f8"][..], "f16.acc16"),
        (&["bench", "--device", "cpu", "--path", "nf4"], "the CPU has one per format of --dtype"),
        (&["bench", "--path", "nf4", "--tune"], "--tune"),
    ] {
        let ended = run(&stage, args);
        assert_eq!(ended.code, Some(2), "{ended}");
        assert!(ended.err.contains(words), "{ended}");
    }
}

#[test]
fn what_a_stand_in_leaves_out_is_said_and_so_is_headroom() {
    if !has_images() {
        return;
    }
    let ended = run(&Stage::new("t4"), &["bench", "--gpu", "0", "--kernel", "gemv.f16"]);
    assert_eq!(ended.code, Some(0), "{ended}");
    let why = "not run, since more than 30 million operations or bytes would take the interpreter";
    for words in [why, "\n  gemv.f16  8×", "\ngemv.f16 fp16 out  not finite from 2^16 on\n"] {
        assert!(ended.out.contains(words), "{words}: {ended}");
    }
}

#[test]
fn ctrl_c_keeps_what_was_found() {
    if !has_images() {
        return;
    }
    let stage = Stage::new("t4").fault("slow:20");
    let mut command = stage.command(env!("CARGO_BIN_EXE_warpscope"));
    command.args(["selftest", "--gpu", "--kernel", "mem.*"]).env("HOME", "/dev/null");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("starts");
    let since = Instant::now();
    let ledger = stage.folder().join("ledger");
    // Somebody holds the device from the first kernel on.
    while std::fs::read_dir(&ledger).expect("a folder").next().is_none() {
        assert!(since.elapsed() < Duration::from_secs(120), "nothing was taken");
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("is there");
    let ended = Ended::of(&child.wait_with_output().expect("ends"));
    assert_eq!(ended.code, Some(1), "{ended}");
    assert!(ended.out.contains("stopped early: interrupted"), "{ended}");
    for page in std::fs::read_dir(&ledger).expect("a folder") {
        let page = std::fs::read_to_string(page.expect("a file").path()).expect("text");
        assert_eq!(page, "", "all memory is given back");
    }
}
