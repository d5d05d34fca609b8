//! What the kernels are to reach, on a machine that is not there: every goal runs, against the stand-in of cuBLASLt too, and none has a ratio. And the scripts
//! that stand beside it, with a torch that is not there either.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use stage::Stage;
use tempfile::TempDir;
use warpscope_kernels::image::images;

/// Whether this build has the images; said where it has not.
fn has_images() -> bool {
    let has = images().iter().any(|image| image.family == "gemm");
    if !has {
        crate::skip::skipped(format_args!("this build has no images of gemm"));
    }
    has
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn goals(stage: &Stage, more: &[&str]) -> Output {
    let cublas = stage.folder().join(stage::CUBLAS);
    let mut command = stage.command(env!("CARGO_BIN_EXE_warpscope"));
    command.args(["bench", "--goals", "--gpu", "--patience", "120s", "--cublas"]).arg(cublas);
    command.args(more).env("HOME", "/dev/null").stdin(Stdio::null()).output().expect("starts")
}

#[test]
fn every_goal_runs_on_a_stand_in_and_none_has_a_ratio() {
    if !has_images() {
        return;
    }
    let stage = Stage::new("h200").cublas("");
    let output = goals(&stage, &["--json"]);
    let told: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|why| panic!("{why}: {}{}", text(&output.stdout), text(&output.stderr)));
    let gpu = &told["gpus"][0];
    assert_eq!(gpu["troubles"], Value::Array(Vec::new()), "{gpu}");
    let rows = gpu["goals"].as_array().expect("rows");
    let absent = gpu["absent"].as_array().expect("a list").len();
    assert_eq!(rows.len() + absent, warpscope::worker::goals::GOALS.len());
    for row in rows {
        assert_eq!((&row["verdict"], &row["figure"]), (&"not_measured".into(), &Value::Null));
        let product =
            row["against"]["what"].as_str().is_some_and(|what| what.starts_with("cuBLASLt 12."));
        let named = row["goal"].as_str().expect("a name").starts_with("gemm.");
        assert_eq!(product, named, "{row}");
        if product {
            assert!(row["difference"].as_f64().is_some_and(|apart| apart < 0.02), "{row}");
        }
    }
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_product_without_a_library_is_a_trouble_with_a_sentence() {
    if !has_images() {
        return;
    }
    let stage = Stage::new("h200");
    let gone = stage.folder().join("libcublas.so.77");
    let mut command = stage.command(env!("CARGO_BIN_EXE_warpscope"));
    command.args(["bench", "--goals", "--gpu", "--kernel", "gemm.f16.2048,gemv.f16", "--cublas"]);
    let output = command.arg(gone).env("HOME", "/dev/null").output().expect("starts");
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("simulated: no ratios") && said.contains("cannot be loaded"), "{said}");
    assert!(said.lines().any(|line| line.starts_with("gemv.f16 ")), "the others go on: {said}");
}

#[test]
fn a_goal_that_is_not_there_ends_with_2_and_says_which_are() {
    let output = goals(&Stage::new("t4").cublas(""), &["--kernel", "nonsense"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("gemm.bf16.8192"), "{}", text(&output.stderr));
}

/// A script with a stand-in for torch, or without any; nothing where there is no Python.
fn script(name: &str, with_torch: bool) -> Option<Command> {
    let there = Command::new("python3").arg("--version").output().is_ok_and(|o| o.status.success());
    if !there {
        crate::skip::skipped(format_args!("there is no python3 to run {name}"));
        return None;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("python3");
    command.arg(root.join("scripts").join(name)).env("PYTHONDONTWRITEBYTECODE", "1");
    // -S would keep a real torch away as well, and json with it on some systems.
    let path = if with_torch { root.join("tests/scripts") } else { PathBuf::from("/nowhere") };
    command.env("PYTHONPATH", path).stdin(Stdio::null());
    Some(command)
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|why| panic!("{why}: {}{}", text(&output.stdout), text(&output.stderr)))
}

#[test]
fn without_torch_the_scripts_end_with_3_and_a_sentence() {
    for (name, more) in [("torch_gpu.py", &[][..]), ("neighbour.py", &["/bin/true"])] {
        let Some(mut command) = script(name, false) else { return };
        let output = command.args(more).env("CUDA_VISIBLE_DEVICES", "").output().expect("starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{name}: {said}");
        assert!(said.ends_with("nothing was compared\n"), "{name}: {said}");
    }
}

#[test]
fn torch_and_warpscope_take_turns_on_the_same_works() {
    if !has_images() {
        return;
    }
    let stage = Stage::new("h200").cublas("");
    let program = env!("CARGO_BIN_EXE_warpscope");
    let Some(mut command) = script("torch_gpu.py", true) else { return };
    for (name, value) in stage.command(program).get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command
        .args(["--samples", "1", "--warm", "0", "--warpscope", program])
        .env("HOME", "/dev/null");
    let told = json(&command.output().expect("starts"));
    assert_eq!((&told["order"], &told["gpu"]), (&"tWWt".into(), &"Stand-in".into()), "{told}");
    assert!(told["uuid"].as_str().is_some_and(|uuid| uuid.starts_with("GPU-")), "{told}");
    for row in told["rows"].as_array().expect("rows") {
        assert!(row["torch_flop_per_s"].as_f64() > Some(0.0), "{row}");
        assert_eq!(row["ratio"], Value::Null, "a stand-in has no speed: {row}");
        let goal = row["goal"].as_str().expect("a name");
        assert!(warpscope::worker::goals::GOALS.iter().any(|known| known.id == goal), "{goal}");
    }
}

fn neighbour(program: &Path, stage: Option<&Stage>, more: &[&str]) -> Option<(Value, i32)> {
    let mut command = script("neighbour.py", true)?;
    command.args(more);
    for (name, value) in stage.iter().flat_map(|stage| {
        let command = stage.command(program);
        command
            .get_envs()
            .map(|(n, v)| (n.to_owned(), v.map(ToOwned::to_owned)))
            .collect::<Vec<_>>()
    }) {
        command.env(name, value.unwrap_or_default());
    }
    command.arg(program).args(["--seconds", "0.5", "--blocks", "1"]).env("HOME", "/dev/null");
    let output = command.output().expect("starts");
    Some((json(&output), output.status.code().expect("ends by itself")))
}

/// Whether the loop lost more than it may is a matter of this machine's other work; that it is judged so is not.
fn is_judged(told: &Value, code: i32) -> bool {
    let over = told["loss"].as_f64() > told["goal"].as_f64() || told["pulses"].as_u64() > Some(0);
    code == i32::from(over)
}

#[test]
fn a_dashboard_beside_somebody_who_computes_does_not_pulse() {
    let stage = Stage::new("h200+procs");
    let program = Path::new(env!("CARGO_BIN_EXE_warpscope"));
    let Some((told, code)) = neighbour(program, Some(&stage), &[]) else { return };
    assert_eq!(told["pulses"], 0, "{told}");
    assert!(is_judged(&told, code), "{code} {told}");
    assert_eq!(told["beside_per_s"].as_array().map(Vec::len), Some(2), "{told}");
}

#[test]
fn a_pulse_beside_somebody_who_computes_is_seen() {
    let folder = TempDir::new().expect("a folder");
    let program = pulsing(&folder);
    let Some((told, code)) = neighbour(&program, None, &[]) else { return };
    assert!(told["pulses"].as_u64() >= Some(2) && code == 1, "{code} {told}");
}

/// A dashboard whose worker computes for three seconds, whoever comes.
fn pulsing(folder: &TempDir) -> PathBuf {
    let program = folder.path().join("warpscope");
    // A shell that waits keeps its words, as a child of the dashboard's does.
    let text = "#!/bin/sh\n[ \"$1\" = __worker ] && { sleep 3; exit; }\n/bin/sh \"$0\" __worker --gpu GPU-1 &\nchild=$!\ntrap 'kill $child; exit' TERM\nwait\n";
    std::fs::write(&program, text).expect("writes");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("can be run");
    program
}

#[test]
fn a_worker_that_stays_when_somebody_comes_is_told() {
    let folder = TempDir::new().expect("a folder");
    let Some((told, code)) = neighbour(&pulsing(&folder), None, &["--arrival"]) else { return };
    let gone = told["gone_after_s"].as_array().expect("one of each round");
    assert_eq!(gone.len(), 2, "{told}");
    let is_late = gone.iter().any(|gone| gone.as_f64() > told["gone_goal_s"].as_f64());
    let is_slower = told["loss"].as_f64() > told["goal"].as_f64();
    assert_eq!(code, i32::from(is_late || is_slower), "{told}");
    assert!(gone.iter().all(|gone| gone.as_f64() < Some(3.5)), "{told}");
}

/// Both sides by hand: what agrees within the units of each, what does not, and what only one of them has.
#[test]
fn nvml_and_nvidia_smi_are_compared_field_by_field() {
    let folder = TempDir::new().expect("a folder");
    let card = |power: f64| {
        serde_json::json!({
            "index": 0, "key": "GPU-1", "identity": {"name": "H200", "uuid": "GPU-1", "ecc_mode": true, "compute_mode": "exclusive_process"},
            "vitals": {"memory_total_bytes": 150_754_820_096_u64, "power_w": power, "pstate": 0, "pcie_width": 16, "temperature_c": 35.0, "fan_pct": 30.0},
        })
    };
    for (name, power) in [("before.json", 80.0), ("after.json", 200.0)] {
        let frame = serde_json::json!({"gpus": [card(power)], "processes": [{"pid": 7, "gpu": "GPU-1"}, {"pid": 9, "gpu": "GPU-2"}]});
        std::fs::write(folder.path().join(name), frame.to_string()).expect("writes");
    }
    let xml = "<?xml version=\"1.0\"?><nvidia_smi_log><gpu id=\"1\"><uuid>GPU-1</uuid><product_name>H200</product_name>\
        <ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode><compute_mode>Exclusive_Process</compute_mode>\
        <fb_memory_usage><total>143771 MiB</total></fb_memory_usage><performance_state>P0</performance_state><fan_speed>N/A</fan_speed>\
        <pci><pci_gpu_link_info><link_widths><current_link_width>8x</current_link_width></link_widths></pci_gpu_link_info></pci>\
        <temperature><gpu_temp>36 C</gpu_temp><memory_temp>44 C</memory_temp><gpu_temp_tlimit>50 C</gpu_temp_tlimit>\
        <gpu_target_temperature>80 C</gpu_target_temperature></temperature>\
        <gpu_power_readings><average_power_draw>150.10 W</average_power_draw></gpu_power_readings>\
        <processes><process_info><pid>7</pid></process_info><process_info><pid>9</pid></process_info></processes></gpu></nvidia_smi_log>";
    std::fs::write(folder.path().join("smi.xml"), xml).expect("writes");
    let Some(mut command) = script("nvml_smi.py", false) else { return };
    command.current_dir(folder.path());
    command.args(["--snapshot", "before.json", "--snapshot", "after.json", "--xml", "smi.xml"]);
    let output = command.output().expect("starts");
    let (told, said) = (json(&output), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}");
    let gpu = &told["gpus"][0];
    let fields = |what: &str| -> Vec<String> {
        let rows = gpu[what].as_array().expect("rows").iter();
        rows.map(|row| row["field"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(fields("disagree"), ["vitals.pcie_width", "processes"], "{told}");
    assert_eq!(fields("only_ours"), ["vitals.fan_pct"]);
    assert_eq!(fields("only_theirs"), ["vitals.temperature_memory_c", "vitals.tlimit_c"]);
    assert_eq!(gpu["agree"], 8, "{told}");
    assert_eq!(
        gpu["not_compared"],
        serde_json::json!(["temperature/gpu_target_temperature: 80 C"])
    );
    assert!(said.contains("vitals.pcie_width: [16, 16] here, 8x there"), "{said}");
}

/// The whole way from a recording to the table: rows by hand.
#[test]
fn a_recording_becomes_a_table_with_what_explains_a_miss() {
    let folder = TempDir::new().expect("a folder");
    let arm = |what: &str, entry: &str, mhz: &[Option<f64>]| {
        serde_json::json!({
            "what": what, "entry": entry, "amount": 1.0, "samples_ns": [1.0], "clocks": {"mhz": mhz, "best_mhz": 1980.0, "low": [0]},
        })
    };
    let row = |goal: &str, figure: f64, verdict: &str| {
        serde_json::json!({
            "goal": goal, "own": arm("gemv.f16", "gemv_f16_m1", &[Some(1800.0), None, Some(1811.0), Some(1805.4)]),
            "against": arm("mem.read", "read", &[]), "figure": figure, "spread": 0.002,
            "floor": 0.85, "target": 0.93, "verdict": verdict, "cache": "cold", "profile": "1410–1755 MHz",
            "strain": {"sm_mhz": [1410.0, 1755.0], "power_w": 400.0, "held_by": []},
        })
    };
    let device = serde_json::json!({"name": "H200", "sm": "sm_90", "simulated": false});
    let gpu = serde_json::json!({
        "uuid": "GPU-1", "device": device, "goals": [
            row("gemv.f16", 0.95, "met"), row("gemv.bf16", 0.5, "missed"), row("nf4.f16.m1", 0.93, "undecided"),
        ],
        "absent": [], "troubles": [],
    });
    let all = serde_json::json!({"date": "2026-11-21", "driver": "575.57", "gpus": [gpu]});
    std::fs::write(folder.path().join("goals.json"), all.to_string()).expect("writes");
    let neighbour = serde_json::json!({"pulses": 0, "loss": 0.001, "goal": 0.005});
    std::fs::write(folder.path().join("neighbour.json"), neighbour.to_string()).expect("writes");
    let Some(mut command) = script("goals_table.py", false) else { return };
    let said = text(&command.arg(folder.path()).output().expect("starts").stdout);
    for want in [
        "**H200**, 2026-11-21, driver 575.57, 1410 to 1755 MHz by NVML",
        "| gemv.f16 | mem.read | 0.950 ± 0.002 | 0.85 | 0.93 | met | 1805 / – | cold |",
        "| nf4.f16.m1 | mem.read | 0.930 ± 0.002 | 0.85 | 0.93 | undecided | 1805 / – | cold |",
        "- gemv.bf16: 1410–1755 MHz (",
        "0 pulses, +0.10% of its throughput lost",
    ] {
        assert!(said.contains(want), "{want}: {said}");
    }
}
