use std::fs;
use std::path::PathBuf;

use super::*;

const LLAMA: &str = r#"{"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32}"#;

fn safetensors(dtype: &str, bytes: u64) -> Vec<u8> {
    let header = format!(r#"{{"w":{{"dtype":"{dtype}","shape":[1],"data_offsets":[0,{bytes}]}}}}"#);
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file
}

/// Version 3, one F16 tensor of eight values, one word of metadata.
fn gguf() -> Vec<u8> {
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    file.extend([1_u64.to_le_bytes(), 1_u64.to_le_bytes()].concat());
    file.extend(
        [text("general.architecture"), 8_u32.to_le_bytes().to_vec(), text("llama")].concat(),
    );
    file.extend([text("w"), 1_u32.to_le_bytes().to_vec(), 8_u64.to_le_bytes().to_vec()].concat());
    file.extend([1_u32.to_le_bytes().to_vec(), 0_u64.to_le_bytes().to_vec()].concat());
    file
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder"));
        for (name, bytes) in files {
            let path = folder.path(name);
            fs::create_dir_all(path.parent().expect("has one")).expect("makes");
            fs::write(path, bytes).expect("writes");
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> Result<Model, ModelError> {
        Model::read(&self.path(name))
    }

    fn error(&self, name: &str) -> String {
        self.read(name).expect_err("a mistake").to_string()
    }
}

#[test]
fn a_folder_is_its_configuration_and_its_weights() {
    let index = br#"{"metadata": {"total_size": 999}, "weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}}"#;
    let (one, two) = (safetensors("F16", 100), safetensors("F16", 50));
    let folder = Folder::new(&[
        ("glm/config.json", LLAMA.as_bytes()),
        ("glm/model.safetensors.index.json", index),
        ("glm/m-1.safetensors", &one),
        ("glm/m-2.safetensors", &two),
        // The same weights under another name: Mistral's repositories hold both.
        ("glm/consolidated.safetensors", &safetensors("F16", 150)),
    ]);
    let model = folder.read("glm").expect("reads");
    assert_eq!((model.name.as_str(), model.weight_bytes), ("glm", Some(150)));
    assert_eq!(model.settings.to_string(), "checkpoint_dtype=fp16 head_dim=128 model_type=llama");
    assert_eq!(folder.read("glm/config.json"), Ok(model.clone()));
    assert_eq!(folder.read("glm/model.safetensors.index.json"), Ok(model));
    fs::remove_file(folder.path("glm/m-2.safetensors")).expect("is there");
    let partial = folder.read("glm").expect("reads");
    assert_eq!(partial.weight_bytes, Some(999));
    assert!(partial.details.contains(&("unfinished", "1 of 2 files are here".to_owned())));
}

#[test]
fn files_are_read_by_themselves() {
    let folder = Folder::new(&[
        ("m/model-q4.gguf", &gguf()),
        ("w/model.safetensors", &safetensors("BF16", 64)),
        ("c/other.json", LLAMA.as_bytes()),
    ]);
    let model = folder.read("m/model-q4.gguf").expect("reads");
    assert_eq!(model.settings.get("quantization"), Some("gguf"));
    assert_eq!((model.name.as_str(), model.weight_bytes), ("model-q4.gguf", Some(16)));
    assert_eq!(folder.read("m").map(|model| model.weight_bytes), Ok(Some(16)));
    let weights = folder.read("w/model.safetensors").expect("reads");
    assert_eq!(weights.settings.to_string(), "checkpoint_dtype=bf16");
    assert_eq!(folder.read("w").map(|model| model.weight_bytes), Ok(Some(64)));
    assert_eq!(folder.read("c/other.json").map(|model| model.weight_bytes), Ok(None));
}

/// Written by the Python packages gguf 0.19 and safetensors, with tensors of our own.
#[test]
fn files_of_other_programs_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let model = Model::read(&folder.join("tiny.gguf")).expect("reads");
    assert_eq!(model.settings.to_string(), "head_dim=128 model_type=qwen3_moe quantization=gguf");
    // What numpy says the tensors take: 2 x 256 values in Q4_0, Q8_0 and BF16, 64 in F32.
    assert_eq!(model.weight_bytes, Some(2112));
    assert!(model.details.contains(&("sliding window", "4096 tokens".to_owned())));
    let model = Model::read(&folder.join("tiny.safetensors")).expect("reads");
    assert_eq!(
        (model.settings.to_string().as_str(), model.weight_bytes),
        ("checkpoint_dtype=fp16", Some(140))
    );
}

#[test]
fn a_model_in_parts_is_one_model() {
    let folder = Folder::new(&[
        ("m/big-00001-of-00002.gguf", &gguf()),
        ("m/big-00002-of-00002.gguf", &gguf()),
        ("m/mmproj-F16.gguf", &gguf()),
    ]);
    assert_eq!(folder.read("m").map(|model| model.weight_bytes), Ok(Some(32)));
    let first = folder.path("m/big-00001-of-00002.gguf");
    for named in ["m", "m/big-00001-of-00002.gguf", "m/big-00002-of-00002.gguf"] {
        assert_eq!(Model::file(&folder.path(named)), first, "{named}");
    }
    assert_eq!(Model::file(&folder.path("m/mmproj-F16.gguf")), folder.path("m/mmproj-F16.gguf"));
    fs::remove_file(&first).expect("is there");
    let half = folder.read("m").expect("reads");
    assert_eq!(half.unfinished(), Some("1 of 2 files are here"));
    assert_eq!((half.weight_bytes, half.shape), (None, None));
}

#[test]
fn a_cached_model_goes_by_its_name() {
    let folder =
        Folder::new(&[("models--Qwen--Qwen3-8B/snapshots/abc/config.json", LLAMA.as_bytes())]);
    let model = folder.read("models--Qwen--Qwen3-8B/snapshots/abc").expect("reads");
    assert_eq!(model.name, "Qwen/Qwen3-8B");
}

#[test]
fn an_index_cannot_point_out_of_the_folder() {
    let index = br#"{"weight_map": {"a": "../outside.safetensors", "b": "/etc/passwd"}}"#;
    let folder = Folder::new(&[
        ("outside.safetensors", &safetensors("F16", 8)),
        ("m/config.json", LLAMA.as_bytes()),
        ("m/model.safetensors.index.json", index),
    ]);
    assert_eq!(folder.read("m").map(|model| model.weight_bytes), Ok(None));
}

#[test]
fn mistakes_name_the_file_and_the_way_out() {
    let folder = Folder::new(&[
        ("empty/readme.txt", b"hello"),
        ("two/a.gguf", &gguf()),
        ("two/b.gguf", &gguf()),
        ("sizes/Qwen-0.5b.gguf", &gguf()),
        ("sizes/Qwen-0.6b.gguf", &gguf()),
        ("bad/config.json", b"{"),
        ("no/config.json", b"{}"),
        ("cut/config.json", LLAMA.as_bytes()),
        ("cut/model.safetensors", b"\x10"),
        ("page.gguf", b"<html>not found</html>"),
        ("weights.bin", b"PK"),
    ]);
    for (name, words) in [
        ("nowhere", &["nowhere", "is not there", "config.json"][..]),
        ("empty", &["holds no config.json"]),
        ("two", &["several GGUF files", "a.gguf", "b.gguf"]),
        ("sizes", &["several GGUF files"]),
        ("bad", &["bad/config.json", "is not JSON"]),
        ("no", &["no/config.json", "neither model_type"]),
        ("cut", &["cut/model.safetensors", "download it again"]),
        ("page.gguf", &["does not begin with GGUF", "download it again"]),
        ("weights.bin", &["weights.bin", "is no model", "name a model's folder"]),
    ] {
        let error = folder.error(name);
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
    let device = Model::read(Path::new("/dev/null")).expect_err("no model").to_string();
    assert!(device.contains("neither a file nor a folder"), "{device}");
}
