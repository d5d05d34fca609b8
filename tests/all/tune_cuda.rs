//! `warpscope tune` on kernels for a GPU, in front of a stand-in driver whose launches an interpreter of PTX runs. It has no speed, so what is shown is
//! which candidates are right, and what is said of those that are not.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use stage::Stage;

const SPEC: &str = r#"
name = "gemv"
kind = "ptx"
source = "gemv_*.ptx"
image = "gemv_{rows}.ptx"
entry = "gemv"
[launch]
grid = ["ceil_div(n, rows)"]
block = [32, "rows"]
args = ["w", "x", "y", "n", "k"]
[contract]
kind = "gemv"
[[shape]]
n = 37
k = 100
[params]
rows = [1, 4]
"#;

struct Desk(tempfile::TempDir);

impl Desk {
    /// A folder with a spec and the two images beside it.
    fn new(spec: &str) -> Self {
        let desk = Self(tempfile::tempdir().expect("a folder"));
        std::fs::write(desk.path("gemv.toml"), spec).expect("writes");
        for rows in [1, 4] {
            let name = format!("gemv_{rows}.ptx");
            std::fs::copy(fixture(&name), desk.path(&name)).expect("copies");
        }
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// One line of an image written anew.
    fn change(&self, name: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.path(name)).expect("reads");
        assert!(text.contains(from), "{name} has {from}");
        std::fs::write(self.path(name), text.replacen(from, to, 1)).expect("writes");
    }

    fn tune(&self, stage: &Stage, more: &[&str]) -> Output {
        let mut command = stage.command(env!("CARGO_BIN_EXE_warpscope"));
        command.arg("tune").arg(self.path("gemv.toml")).arg("--once").args(more);
        command.env("XDG_STATE_HOME", self.path("state")).env("TMPDIR", self.0.path());
        command.output().expect("starts")
    }

    fn trials(&self, stage: &Stage) -> Vec<Value> {
        let output = self.tune(stage, &["--json"]);
        let all = text(&output.stdout);
        let lines = all.lines().map(|line| serde_json::from_str::<Value>(line).expect("is JSON"));
        let trials: Vec<Value> = lines.filter(|line| line["type"] == "trial").collect();
        assert_eq!(trials.len(), 2, "{all}{}", text(&output.stderr));
        trials
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tune").join(name)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn kernels_that_are_right_are_told_so_on_every_board_and_none_has_a_speed() {
    let desk = Desk::new(SPEC);
    for board in ["t4", "v100", "h200"] {
        let output = desk.tune(&Stage::new(board), &[]);
        let said = text(&output.stdout);
        assert!(output.status.success(), "{board}: {said}{}", text(&output.stderr));
        assert!(said.contains("2 of 2 candidates are right; simulated"), "{board}: {said}");
        assert!(!said.contains("µs") && !said.contains("us  "), "no times: {said}");
    }
    let trials = desk.trials(&Stage::new("h200"));
    for trial in &trials {
        assert_eq!((&trial["state"], &trial["median_ns"]), (&"right".into(), &Value::Null));
        assert_eq!((&trial["registers"], &trial["vendor_share"]), (&Value::Null, &Value::Null));
        let vendor = trial["vendor"].as_str().expect("the stand-in of cuBLAS does the same");
        assert!(vendor.starts_with("cuBLAS-12."), "{vendor}");
        assert!(trial["error"].as_f64().is_some_and(|error| error < 5e-6), "{trial}");
        assert!(trial["kernel"].as_str().is_some_and(|key| key.contains("GPU-")), "{trial}");
    }
}

#[test]
fn wrong_results_and_faults_are_told_apart_from_each_other() {
    for (from, to, state, part) in [
        // Adds where it should multiply and add.
        ("fma.rn.f32", "// fma.rn.f32", "correctness", "error"),
        // Every result one element further on.
        ("[%rd15], %f4", "[%rd15+4], %f4", "correctness", ""),
        ("[%rd15], %f4", "[%rd15+1048576], %f4", "runtime", "ILLEGAL_ADDRESS"),
        (".target sm_60", ".target sm_103a", "compile", ""),
        ("setp.ge", "setp.wrong", "compile", ""),
    ] {
        let desk = Desk::new(SPEC);
        desk.change("gemv_4.ptx", from, to);
        let trials = desk.trials(&Stage::new("t4"));
        let of = |rows: &str| {
            trials.iter().find(|trial| trial["parameters"]["rows"] == rows).expect("was tried")
        };
        assert_eq!(of("1")["state"], "right", "{from}");
        let bad = of("4");
        assert_eq!(bad["state"], state, "{to}: {bad}");
        assert!(bad["why"].as_str().is_some_and(|why| why.contains(part)), "{to}: {bad}");
    }
}

#[test]
fn without_a_gpu_it_ends_with_3_and_says_what_is_missing() {
    let desk = Desk::new(SPEC);
    let output = desk.tune(&Stage::new("t4").without(stage::CUDA), &[]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("libcuda.so.1"), "{}", text(&output.stderr));
    let other = Desk::new(&SPEC.replace("kind = \"ptx\"", "kind = \"ptx\"\ndevice = \"GPU-none\""));
    let output = other.tune(&Stage::new("t4"), &[]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("no device GPU-none; there are GPU-"));
}

#[test]
fn cuda_sources_are_compiled_where_a_compiler_is_found() {
    let Some(nvrtc) = nvrtc() else {
        crate::skip::skipped("no NVRTC in target/toolchain; .ci/toolchain gets it");
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tune");
    let spec = std::fs::read_to_string(folder.join("gemv.toml")).expect("reads");
    let spec = spec
        .replace("4096", "64")
        .replace("kind = \"cu\"", &format!("kind = \"cu\"\nnvrtc = {nvrtc:?}"));
    let desk = Desk::new(&spec);
    std::fs::copy(folder.join("gemv.cu"), desk.path("gemv.cu")).expect("copies");
    let output = desk.tune(&Stage::new("h200"), &[]);
    let said = text(&output.stdout);
    assert!(said.contains("4 of 4 candidates are right"), "{said}{}", text(&output.stderr));
    desk.change("gemv.cu", "float sum = 0.0f;", "float sum = 0.0f");
    let output = desk.tune(&Stage::new("h200"), &[]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("compile") && said.contains("gemv.cu("), "{said}");
}

/// Where the gate installs the compiler.
fn nvrtc() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let target = program.ancestors().nth(3)?;
    let path = target.join("toolchain/cu12/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
    path.is_file().then_some(path)
}
