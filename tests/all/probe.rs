//! `warpscope probe` on machines that are not there: the stand-in driver and cuBLAS, kernels in the interpreter.

use std::collections::BTreeMap;
use std::fs;
use std::process::Output;

use serde::Deserialize;
use stage::Stage;
use tempfile::TempDir;
use warpscope_kernels::Sm;
use warpscope_probes::live::{Answer, ProbeReport, Store, Subject, probes};
use warpscope_probes::rules::{DeviceFacts, RuleBase, Side};

const PROGRAM: &str = env!("CARGO_BIN_EXE_warpscope");

#[derive(Deserialize)]
struct Result {
    gpus: Vec<Gpu>,
}

#[derive(Deserialize)]
struct Gpu {
    probes: Vec<ProbeReport>,
    disputed: Vec<serde_json::Value>,
    paused: Option<String>,
}

/// The command on a stage, with a home of its own.
fn run(stage: &Stage, home: &TempDir, arguments: &[&str]) -> Output {
    let mut command = stage.command(PROGRAM);
    command.env("HOME", home.path()).env("XDG_CACHE_HOME", home.path());
    command.env_remove("WARPSCOPE_CONFIG").env_remove("VIRTUAL_ENV").env_remove("CONDA_PREFIX");
    command.arg("probe").args(arguments).output().expect("the program starts")
}

fn json(output: &Output) -> Gpu {
    let text = String::from_utf8_lossy(&output.stdout);
    let result: std::result::Result<Result, _> = serde_json::from_str(&text);
    let mut result = result.unwrap_or_else(|error| {
        panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
    });
    result.gpus.remove(0)
}

fn answers(gpu: &Gpu) -> BTreeMap<&str, Answer> {
    gpu.probes.iter().map(|report| (&*report.id, report.answer)).collect()
}

fn cublas_of(stage: &Stage) -> String {
    stage.folder().join(stage::CUBLAS).to_string_lossy().into_owned()
}

/// Gates whose instructions no interpreter runs.
const HARDWARE_ONLY: [&str; 4] =
    ["gate.mma_b1", "gate.wmma_f16", "gate.tcgen05", "gate.mma_block_scale"];

/// The rules know from ptxas where each instruction is; the gates find it by loading and running. On nine devices both say the same.
#[test]
fn every_gate_finds_on_every_device_what_the_rules_say() {
    let base = RuleBase::builtin();
    for (board, sm) in [
        ("p100", (6, 0)),
        ("gtx1060", (6, 1)),
        ("v100", (7, 0)),
        ("t4", (7, 5)),
        ("a100", (8, 0)),
        ("rtx4090", (8, 9)),
        ("h200", (9, 0)),
        ("b200", (10, 0)),
        ("rtx5090", (12, 0)),
    ] {
        let (stage, home) = (Stage::new(board), TempDir::new().expect("a folder"));
        let gpu = json(&run(&stage, &home, &["--only", "gate.*", "--json"]));
        assert_eq!(gpu.paused, None, "{board}");
        let found = answers(&gpu);
        for probe in probes().filter(|probe| matches!(probe.subject, Subject::Instruction(_))) {
            let rule = |id: &&str| {
                base.rules().iter().find(|one| one.id == **id && one.side == Side::Outside)
            };
            let facts = DeviceFacts { sm: Some(Sm::new(sm.0, sm.1)), ..DeviceFacts::default() };
            let has = probe
                .settles
                .first()
                .and_then(rule)
                .is_none_or(|rule| rule.on.holds(&facts, base.parts()) == Some(true));
            let want = match (has, HARDWARE_ONLY.contains(&probe.id)) {
                (true, true) => Answer::Unknown,
                (true, false) => Answer::Works,
                (false, _) => Answer::Fails,
            };
            let report = gpu.probes.iter().find(|report| report.id == probe.id);
            assert_eq!(found.get(probe.id), Some(&want), "{board}: {report:?}");
        }
        assert!(gpu.probes.iter().all(|report| report.simulated && report.took_ms.is_finite()));
    }
}

/// A T4, a V100 and an H200: images, shared memory and what has no rule. Facts: the CUDA programming guide's tables.
#[test]
fn images_and_shared_memory_are_what_the_guide_says() {
    for (board, loads, refuses, shared) in [
        (
            "t4",
            &["7_0", "7_5"][..],
            &["6_1", "8_0", "9_0", "9_0a"][..],
            [true, false, false, false, false],
        ),
        ("v100", &["7_0"], &["6_0", "7_5", "8_6"], [true, true, false, false, false]),
        ("h200", &["9_0"], &["8_9", "10_0", "12_0a"], [true; 5]),
    ] {
        let (stage, home) = (Stage::new(board), TempDir::new().expect("a folder"));
        let only = ["--only", "load.*,shared.*,driver.*,fp16.*,memory.*", "--json"];
        let gpu = json(&run(&stage, &home, &only));
        let found = answers(&gpu);
        let cubin = |name: &&str| found[&*format!("load.cubin_{name}")];
        assert!(loads.iter().all(|name| cubin(name) == Answer::Works), "{board}: {found:?}");
        assert!(refuses.iter().all(|name| cubin(name) == Answer::Fails), "{board}: {found:?}");
        let names = ["64k", "96k", "99k", "163k", "227k"].map(|name| format!("shared.{name}"));
        for (name, fits) in names.iter().zip(shared) {
            let want = if fits { Answer::Works } else { Answer::Fails };
            assert_eq!(found[&**name], want, "{board} {name}");
        }
        for id in ["driver.jit", "fp16.overflow", "memory.allocate", "load.isa_9_0"] {
            let report = gpu.probes.iter().find(|report| report.id == id);
            assert_eq!(found[id], Answer::Works, "{board} {report:?}");
        }
        assert_eq!(found["load.isa_9_1"], Answer::Fails, "the stand-in's driver is of CUDA 13.0");
        let message = |id: &str| {
            let report = gpu.probes.iter().find(|report| report.id == id).expect("was asked");
            report.facts.iter().find(|fact| fact.0 == "message").map(|fact| fact.1.clone())
        };
        assert!(message("load.isa_9_1").is_some_and(|said| said.contains("unsupported toolchain")));
        let refused = format!("load.cubin_{}", refuses[0]);
        assert!(
            message(&refused).is_some_and(|said| said.contains("no kernel image is available"))
        );
    }
}

/// What a stand-in computed is shown as that, kept nowhere and contradicts nobody.
#[test]
fn a_simulated_answer_leaves_no_trace() {
    let (stage, home) = (Stage::new("t4"), TempDir::new().expect("a folder"));
    let output = run(&stage, &home, &["--only", "gate.dp4a,rate.*"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("simulated: no timings") && text.contains("not used as evidence"),
        "{text}"
    );
    let rates = text.lines().filter(|line| line.starts_with("rate."));
    assert!(rates.clone().count() > 5);
    assert!(
        rates.clone().all(|line| line.contains("unknown") && line.contains("fake device")),
        "{text}"
    );
    assert!(!home.path().join("warpscope/probes").exists());
    let store = Store::at(&home.path().join("warpscope/probes"));
    let uuid = text.split_whitespace().find(|word| word.starts_with("GPU-")).expect("is named");
    assert_eq!(store.read(uuid, Some("580.82.07")), []);
}

/// Latte's call, where it works and where users met its refusal: github.com/Vchitect/Latte/issues/125.
#[test]
fn lattes_call_is_made_and_its_status_told() {
    const ID: &str = "cublas.gemm_ex.fp16_fp32";
    for (words, answer) in [("", Answer::Works), ("latte", Answer::Fails)] {
        let (stage, home) = (Stage::new("t4").cublas(words), TempDir::new().expect("a folder"));
        let path = cublas_of(&stage);
        let gpu = json(&run(&stage, &home, &["--only", ID, "--cublas", &path, "--json"]));
        let report = &gpu.probes[0];
        assert_eq!(report.answer, answer, "{report:?}");
        assert!(
            report.ran.starts_with("cuBLAS 12.") && report.ran.ends_with(&path),
            "{}",
            report.ran
        );
        let facts: Vec<_> =
            report.facts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        for shape in ["64×64×64", "4096×120×4096"] {
            let line = facts.iter().find(|fact| fact.contains(shape)).expect("was tried");
            let status =
                if words.is_empty() { "SUCCESS, right" } else { "CUBLAS_STATUS_NOT_SUPPORTED" };
            assert!(line.contains(status), "{line}");
        }
        assert!(report.settles.contains(&"latte.t5_4bit.cublas".to_owned()));
        assert!(gpu.disputed.is_empty(), "a stand-in contradicts nobody");
    }
}

#[test]
fn every_grid_of_products_is_answered() {
    let (stage, home) = (Stage::new("h200"), TempDir::new().expect("a folder"));
    let path = cublas_of(&stage);
    // The stand-in multiplies on the processor, which others may use.
    let arguments = ["--only", "cublas*", "--cublas", &path, "--patience", "10m", "--json"];
    let gpu = json(&run(&stage, &home, &arguments));
    let asked = probes().filter(|probe| matches!(probe.subject, Subject::Product(_))).count();
    assert_eq!(gpu.probes.len(), asked);
    for report in &gpu.probes {
        assert!(!report.facts.is_empty(), "{report:?}");
        assert_ne!(report.answer, Answer::WrongOutput, "{report:?}");
    }
}

/// Without a library the question stays open, with a sentence.
#[test]
fn no_cublas_is_no_answer() {
    let (stage, home) = (Stage::new("t4"), TempDir::new().expect("a folder"));
    let gone = home.path().join("libcublas.so.12").to_string_lossy().into_owned();
    let gpu = json(&run(&stage, &home, &["--only", "cublas.hgemm", "--cublas", &gone, "--json"]));
    let report = &gpu.probes[0];
    assert_eq!(report.answer, Answer::Unknown);
    assert!(report.detail.contains("cannot be loaded"), "{}", report.detail);
}

/// Each kind of fault, where it strikes: what it says of the probe, and the sentence.
#[test]
fn faults_are_told_and_only_some_are_evidence() {
    for (fault, answer, word) in [
        // A driver that refuses even the image made for the device says nothing of the instruction in it.
        ("no_binary", Answer::Unknown, "209"),
        ("invalid_image", Answer::Unknown, "200"),
        ("oom", Answer::Unknown, "bytes left"),
        ("out_of_resources", Answer::Fails, "701"),
        ("illegal_address", Answer::Fails, "700"),
        ("illegal_instruction", Answer::Fails, "715"),
        ("misaligned", Answer::Fails, "716"),
        ("launch_failed", Answer::Fails, "719"),
        ("launch_timeout", Answer::Unknown, "702"),
        ("ecc", Answer::Unknown, "ECC counters"),
        ("device_lost", Answer::Unknown, "dmesg"),
        ("cuLaunchKernel=31337", Answer::Unknown, "31337"),
        ("crash:cuLaunchKernel", Answer::Fails, "SIGILL"),
        ("abort:cuModuleLoadDataEx", Answer::Fails, "SIGABRT"),
    ] {
        let (stage, home) = (Stage::new("t4").fault(fault), TempDir::new().expect("a folder"));
        let gpu = json(&run(&stage, &home, &["--only", "gate.dp4a", "--json"]));
        let report = gpu.probes.first().unwrap_or_else(|| panic!("{fault}: {:?}", gpu.paused));
        assert_eq!(report.answer, answer, "{fault}: {report:?}");
        assert!(report.detail.contains(word), "{fault}: {}", report.detail);
    }
}

/// A hang is ended and told; a fault in one probe does not reach the next.
#[test]
fn a_hang_ends_and_a_lost_context_costs_one_probe() {
    let (stage, home) =
        (Stage::new("t4").fault("hang:cuLaunchKernel"), TempDir::new().expect("a folder"));
    let gpu = json(&run(&stage, &home, &["--only", "gate.dp4a", "--patience", "2s", "--json"]));
    assert_eq!(gpu.probes[0].answer, Answer::Fails);
    assert!(gpu.probes[0].detail.contains("hangs"), "{}", gpu.probes[0].detail);
    let (stage, home) =
        (Stage::new("t4").fault("illegal_address@1"), TempDir::new().expect("a folder"));
    let gpu = json(&run(&stage, &home, &["--only", "gate.fma_f16,gate.ldmatrix", "--json"]));
    let found: Vec<_> = gpu.probes.iter().map(|report| report.answer).collect();
    assert_eq!(found.len(), 2, "{:?}", gpu.paused);
    assert_eq!(found[0], Answer::Fails);
}

#[test]
fn without_a_gpu_the_code_is_three_and_a_wrong_name_is_usage() {
    let home = TempDir::new().expect("a folder");
    let output = run(&Stage::new("none"), &home, &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("cuInit returned 100"), "{said}");
    let output = run(&Stage::new("t4"), &home, &["--only", "gate.nothing"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no probe matches gate.nothing") && said.contains("gate.dp4a"), "{said}");
}

/// What is kept of a real device answers before the rules; here it is written as if it had been found.
#[test]
fn what_was_found_before_answers_before_the_rules() {
    let (stage, home) = (Stage::new("t4"), TempDir::new().expect("a folder"));
    let text = |arguments: &[&str]| {
        let mut command = stage.command(PROGRAM);
        command.env("HOME", home.path()).env("XDG_CACHE_HOME", home.path()).args(arguments);
        String::from_utf8_lossy(&command.output().expect("starts").stdout).into_owned()
    };
    let question = ["why", "--all", "hardware", "instruction=mma_bf16"];
    let before = text(&question);
    assert!(before.contains("rule") && !before.contains("run here"), "{before}");
    let frame = text(&["snapshot", "--json"]);
    let frame: serde_json::Value = serde_json::from_str(&frame).expect("is JSON");
    let uuid = frame["gpus"][0]["key"].as_str().expect("a UUID").to_owned();
    let driver = frame["driver"]["versions"]["driver"].as_str().map(str::to_owned);
    assert!(driver.is_some(), "{}", frame["driver"]);
    let report = ProbeReport {
        id: "gate.mma_bf16".into(),
        answer: Answer::Fails,
        detail: "the driver's compiler refuses the bfloat16 product".into(),
        facts: Vec::new(),
        settles: vec!["hardware.mma_bf16".into()],
        uuid: uuid.clone(),
        driver: driver.clone(),
        ran: "PTX of mma_bf16 alone for sm_75".into(),
        measured: "2026-11-20".into(),
        took_ms: 3.0,
        simulated: false,
    };
    let store = Store::at(&home.path().join("warpscope/probes"));
    store.keep(&uuid, driver.as_deref(), &[report]).expect("is kept");
    let after = text(&question);
    assert!(
        after.contains("refuses the bfloat16 product") && after.contains("2026-11-20"),
        "{after}"
    );
    let doctor = text(&["doctor"]);
    assert!(doctor.contains("0 of 1 work, last 2026-11-20"), "{doctor}");
    assert!(fs::read_dir(home.path().join("warpscope/probes")).expect("is there").count() == 1);
}
