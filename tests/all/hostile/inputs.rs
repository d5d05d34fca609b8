//! Files in which every name is hostile.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use warpscope::runs::run_log::Journal;
use warpscope_probes::Frame;
use warpscope_probes::rules::RuleBase;

use super::HOSTILE;
use crate::frames;
use crate::inspect::{fixture, tar};

/// A folder with one of everything a command reads.
pub(crate) struct Inputs {
    pub(crate) folder: TempDir,
}

impl Inputs {
    pub(crate) fn new() -> Self {
        let inputs = Self { folder: tempfile::tempdir().expect("a folder") };
        inputs.write("recording", ".jsonl", recording().as_bytes());
        inputs.write("journal", ".jsonl", journal(1.0).as_bytes());
        inputs.write("after", ".jsonl", journal(1.5).as_bytes());
        inputs.write("wheel", ".whl", &wheel());
        inputs.write("archive", ".a", &archive());
        inputs.write("library", ".so", &fixture("host.so"));
        inputs.write("model", ".gguf", &gguf());
        inputs.write("config", ".toml", config().as_bytes());
        fs::create_dir(inputs.path("model", "")).expect("makes");
        fs::write(inputs.path("model", "").join("config.json"), model()).expect("writes");
        fs::create_dir(inputs.rules()).expect("makes");
        fs::write(inputs.rules().join("demo.toml"), rules()).expect("writes");
        inputs.environment();
        inputs.tuning();
        inputs
    }

    /// A file or folder by what it is; its name is hostile too.
    pub(super) fn path(&self, kind: &str, end: &str) -> PathBuf {
        self.folder.path().join(format!("{kind}{HOSTILE}{end}"))
    }

    /// Folder of rules. A comma in its name would make it two.
    pub(super) fn rules(&self) -> PathBuf {
        self.folder.path().join("rules")
    }

    pub(crate) fn named(&self, kind: &str, end: &str) -> String {
        self.path(kind, end).display().to_string()
    }

    fn write(&self, kind: &str, end: &str, bytes: &[u8]) {
        fs::write(self.path(kind, end), bytes).expect("writes");
    }

    /// A virtual environment, and the same as an image of layers.
    fn environment(&self) {
        // A name of an archive's header has a hundred bytes, and a header of a package one line.
        let name = "\u{1b}[2J\u{9b}\u{202e}\u{200b}";
        let packages = [
            ("torch", name, vec![(format!("torch/lib/{name}.so"), "host.so")]),
            (name, "1.0", vec![(format!("{name}.so"), "lto.fatbin")]),
        ];
        let mut layer = Vec::new();
        for (package, version, libraries) in &packages {
            let libraries: Vec<(&str, &str)> =
                libraries.iter().map(|(path, from)| (path.as_str(), *from)).collect();
            layer.extend(crate::inspect::files(&[(package, version, &libraries)]));
        }
        for (path, contents) in &layer {
            let path = self.path("venv", "").join(path);
            fs::create_dir_all(path.parent().expect("lies in a folder")).expect("makes");
            fs::write(path, contents).expect("writes");
        }
        let manifest =
            json!([{"Config": "config.json", "RepoTags": [HOSTILE], "Layers": ["layer.tar"]}]);
        let inside = |(path, contents)| (format!("opt/v\u{9b}\nFORGED/{path}"), contents);
        let layer: Vec<_> = layer.into_iter().map(inside).collect();
        let image = tar(&[
            ("manifest.json".to_owned(), manifest.to_string().into_bytes()),
            ("config.json".to_owned(), json!({"architecture": HOSTILE}).to_string().into_bytes()),
            ("layer.tar".to_owned(), tar(&layer)),
        ]);
        self.write("image", ".tar", &image);
    }

    /// A program to tune that says hostile things, as results and as complaints.
    fn tuning(&self) {
        let line = json!({"name": HOSTILE, "device": HOSTILE, "t_ns": [5, 6, 7], "error": 1e-7});
        fs::write(self.folder.path().join("said.json"), format!("{line}\n")).expect("writes");
        fs::write(self.folder.path().join("complaint"), HOSTILE).expect("writes");
        let script = "case $1 in 1) cat said.json;; *) cat complaint >&2; exit 3;; esac\n";
        fs::write(self.folder.path().join("run.sh"), script).expect("writes");
        let spec = format!(
            "name = \"f\"\nsource = \"run.sh\"\nrun = [\"sh\", \"run.sh\", \"{{block}}\"]\n[contract]\nkind = \"elementwise\"\n\
             tolerance = 1e-5\n[[shape]]\nn = 1000\n[params]\nblock = [1, 2, \"{}\"]\n",
            toml(HOSTILE)
        );
        self.write("tune", ".toml", spec.as_bytes());
    }
}

/// Appends hostile text to every string of a value that may be any; tells how many.
fn poison(value: &mut Value, accepted: &dyn Fn(&Value) -> bool) -> usize {
    let mut places = Vec::new();
    strings(value, String::new(), &mut places);
    let mut count = 0;
    for place in places {
        let text = |value: &mut Value| value.pointer_mut(&place).expect("is there").take();
        let before = text(value);
        let poisoned = format!("{}{HOSTILE}", before.as_str().unwrap_or_default());
        *value.pointer_mut(&place).expect("is there") = poisoned.into();
        if accepted(value) {
            count += 1;
        } else {
            *value.pointer_mut(&place).expect("is there") = before;
        }
    }
    count
}

/// JSON pointers of all strings.
fn strings(value: &Value, place: String, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(place),
        Value::Array(all) => {
            all.iter()
                .enumerate()
                .for_each(|(at, one)| strings(one, format!("{place}/{at}"), found));
        }
        Value::Object(all) => {
            all.iter().for_each(|(key, one)| strings(one, format!("{place}/{key}"), found));
        }
        _ => {}
    }
}

fn recording() -> String {
    let text = fs::read_to_string(frames::path("synthetic-t4.jsonl")).expect("is committed");
    let frame = |text: &str| {
        let mut frame: Value = serde_json::from_str(text).expect("is JSON");
        let count = poison(&mut frame, &is_frame);
        assert!(count > 20, "{count} strings of a frame are free");
        line(&frame, "schema")
    };
    text.lines().map(frame).collect()
}

/// An object as a line that begins with one of its keys, which is how readers know what a file holds.
fn line(value: &Value, first: &str) -> String {
    let mut rest = value.clone();
    let value = rest.as_object_mut().and_then(|all| all.remove(first)).unwrap_or_default();
    format!("{{\"{first}\":{value},{}\n", &rest.to_string()[1..])
}

fn is_frame(value: &Value) -> bool {
    serde_json::from_value::<Frame>(value.clone()).is_ok()
}

fn is_record(value: &Value) -> bool {
    let journal = Journal::read(line(value, "type").as_bytes()).expect("memory does not fail");
    journal.skipped.count == 0
}

/// Two runs; the points of the second take `factor` times as long.
fn journal(factor: f64) -> String {
    let mut identity = json!({
        "type": "run", "name": "x", "warpscope": "0", "at_ms": 1_780_000_000_000_u64, "command": ["x", "y"], "commit": "c",
        "dirty": "d", "driver": "570", "cuda": "13", "regime": "sustained", "devices": [{"name": "x", "key": "k"}],
        "environment": {"CUDA_VISIBLE_DEVICES": "0", HOSTILE: "x"}, "image": "i", "libraries": {"torch": "2", HOSTILE: "3"},
    });
    let times: Vec<f64> = (0..30).map(|at| (1000.0 + f64::from(at % 7)) * factor).collect();
    let mut point = json!({
        "type": "point", "name": "gemm", "dtype": "bf16", "device": "x", "config": "c", "tainted": [], "t_ns": times,
    });
    let mut tainted = point.clone();
    tainted["tainted"] = json!(["throttled"]);
    tainted["name"] = json!("gemv");
    let mut mark = json!({"type": "mark", "at_ms": 1_780_000_000_001_u64, "text": "m"});
    let mut lines = String::new();
    for record in [&mut identity, &mut point, &mut tainted, &mut mark] {
        let count = poison(record, &is_record);
        assert!(count > 0 && is_record(record), "{record}");
        lines += &line(record, "type");
    }
    lines
}

/// The fixture with names of members exchanged for hostile ones of the same length.
fn renamed(mut bytes: Vec<u8>, names: &[(&str, &str)]) -> Vec<u8> {
    for (name, hostile) in names {
        assert_eq!(name.len(), hostile.len());
        let places: Vec<usize> = (0..bytes.len() - name.len())
            .filter(|at| bytes[*at..].starts_with(name.as_bytes()))
            .collect();
        assert!(!places.is_empty(), "{name}");
        places
            .into_iter()
            .for_each(|at| bytes[at..at + name.len()].copy_from_slice(hostile.as_bytes()));
    }
    bytes
}

fn wheel() -> Vec<u8> {
    let names = [
        ("pkg/deflated.so", "p\u{1b}[2J\nFORGED.so"),
        ("pkg/wide.fatbin", "\u{202e}\u{7f}\u{9b}2J.fatbin"),
    ];
    renamed(fixture("wheel.whl"), &names)
}

fn archive() -> Vec<u8> {
    let names = [("a_translation_unit_with", "a\u{1b}[31mb\u{200b}\u{9b}c\nFORGED xy")];
    renamed(fixture("static.a"), &names)
}

fn model() -> String {
    json!({
        "model_type": HOSTILE, "architectures": [HOSTILE], "torch_dtype": HOSTILE, "hidden_size": 4096,
        "num_attention_heads": 32, "quantization_config": {"quant_method": HOSTILE, "bits": 4},
    })
    .to_string()
}

/// Metadata alone.
fn gguf() -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let names = ["general.architecture", "general.name", "general.quantized_by", HOSTILE];
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend([0_u64.to_le_bytes(), (names.len() as u64).to_le_bytes()].concat());
    for name in names {
        file.extend([text(name), 8_u32.to_le_bytes().to_vec(), text(HOSTILE)].concat());
    }
    file
}

fn config() -> String {
    let hostile = toml(HOSTILE);
    format!("\"{hostile}\" = 1\ntheme = \"{hostile}\"\ninterval = \"{hostile}\"\n")
}

/// Rules whose words are hostile wherever words are free.
fn rules() -> String {
    let text = include_str!("../../rules/demo.toml");
    let free = ["reason", "needs", "symptom", "source", "label", "name"];
    let line = |line: &str| match line.split_once(" = \"") {
        // A fix may have several lines; that they stay lines is what it is for.
        Some(("fix", rest)) if !rest.starts_with('"') => {
            format!("fix = \"{}{rest}\n", toml(&HOSTILE.replace('\n', "")))
        }
        Some((key, rest)) if free.contains(&key) && !rest.starts_with('"') => {
            format!("{key} = \"{}{rest}\n", toml(HOSTILE))
        }
        _ => format!("{line}\n"),
    };
    let text: String = text.lines().map(line).collect();
    if let Err(error) = RuleBase::builtin().with_user(&[("demo.toml", &text)]) {
        panic!("{error}");
    }
    text
}

/// A text as it stands between quotes.
fn toml(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric();
    text.chars()
        .map(
            |letter| {
                if plain(letter) { letter.into() } else { format!("\\U{:08X}", u32::from(letter)) }
            },
        )
        .collect()
}
