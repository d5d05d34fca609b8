use std::ffi::OsString;
use std::fs;

use super::*;
use crate::model::ShapeSource;

const CONFIG: &str = r#"{"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 2,
    "intermediate_size": 11008, "vocab_size": 1000, "tie_word_embeddings": false}"#;

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("has one")).expect("makes");
        fs::write(path, text).expect("writes");
        self
    }

    /// The places of somebody with this home and these variables, which name folders in it.
    fn places(&self, variables: &[(&str, &str)]) -> Places {
        let mut places = Places::new(|name| {
            let folder = variables.iter().find(|row| row.0 == name).map(|row| row.1);
            let folder = folder.or((name == "HOME").then_some(""))?;
            Some(OsString::from(self.0.path().join(folder)))
        });
        places.ollama.retain(|path| path.starts_with(self.0.path()));
        places
    }

    fn find(&self, name: &str) -> Option<String> {
        let found = find(Path::new(name), &self.places(&[])).ok()?;
        Some(found.strip_prefix(self.0.path()).expect("is below").display().to_string())
    }
}

fn open(name: &str, places: &Places) -> Result<Model, ModelError> {
    Model::open(Path::new(name), places)
}

#[test]
fn hub_ids_are_found_in_the_snapshot_of_main_or_the_newest() {
    let home = Home::new();
    let hub = ".cache/huggingface/hub";
    home.write(&format!("{hub}/models--Qwen--Qwen3-8B/snapshots/abc/config.json"), CONFIG)
        .write(&format!("{hub}/models--Qwen--Qwen3-8B/snapshots/zzz/config.json"), CONFIG)
        .write(&format!("{hub}/models--Qwen--Qwen3-8B/refs/main"), "abc\n")
        .write(&format!("{hub}/models--gpt2/snapshots/one/config.json"), CONFIG);
    let main = format!("{hub}/models--Qwen--Qwen3-8B/snapshots/abc");
    assert_eq!(home.find("Qwen/Qwen3-8B"), Some(main.clone()));
    assert_eq!(home.find("qwen/qwen3-8b"), Some(main));
    assert_eq!(home.find("gpt2"), Some(format!("{hub}/models--gpt2/snapshots/one")));
    assert_eq!(home.find("Qwen/Qwen3-14B"), None);
    let model = open("Qwen/Qwen3-8B", &home.places(&[])).expect("opens");
    assert_eq!(model.name, "Qwen/Qwen3-8B");
    assert_eq!(
        model.shape.map(|shape| (shape.source, shape.depth())),
        Some((ShapeSource::Config, 2))
    );
}

#[test]
fn variables_name_the_caches() {
    let home = Home::new();
    let snapshot = "models--a--b/snapshots/one/config.json";
    for (variable, value, folder) in [
        ("HF_HUB_CACHE", "x", "x"),
        ("HUGGINGFACE_HUB_CACHE", "y", "y"),
        ("HF_HOME", "z", "z/hub"),
        ("TRANSFORMERS_CACHE", "t", "t"),
        ("XDG_CACHE_HOME", "c", "c/huggingface/hub"),
        ("VLLM_DOWNLOAD_DIR", "v", "v"),
    ] {
        home.write(&format!("{folder}/{snapshot}"), CONFIG);
        assert!(find(Path::new("a/b"), &home.places(&[(variable, value)])).is_ok(), "{variable}");
        fs::remove_dir_all(home.0.path().join(value)).expect("is there");
        assert!(find(Path::new("a/b"), &home.places(&[(variable, value)])).is_err(), "{variable}");
    }
}

#[test]
fn other_stores_are_looked_through() {
    let home = Home::new();
    let digest = "ab".repeat(32);
    let manifest = format!(
        r#"{{"layers":[{{"mediaType":"application/vnd.ollama.image.license","digest":"sha256:0"}},
            {{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:{digest}","size":3}}]}}"#
    );
    home.write(".cache/modelscope/hub/models/Qwen/Qwen2___5-7B/config.json", CONFIG)
        .write(".lmstudio/models/bart/some-GGUF/some-Q4_K_M.gguf", "GGUF")
        .write(".lmstudio/models/bart/some-GGUF/some-IQ4_K_M.gguf", "GGUF")
        .write(".ollama/models/manifests/registry.ollama.ai/library/llama3.1/8b", &manifest)
        .write(".ollama/models/manifests/hf.co/a/b/Q4_0", &manifest)
        .write(&format!(".ollama/models/blobs/sha256-{digest}"), "GGUF");
    let blob = Some(format!(".ollama/models/blobs/sha256-{digest}"));
    assert_eq!(
        home.find("Qwen/Qwen2.5-7B").as_deref(),
        Some(".cache/modelscope/hub/models/Qwen/Qwen2___5-7B")
    );
    let file = Some(".lmstudio/models/bart/some-GGUF/some-Q4_K_M.gguf".to_owned());
    assert_eq!(home.find("bart/some-GGUF:q4_k_m"), file);
    assert_eq!(home.find("bart/some-GGUF:Q8_0"), None);
    assert_eq!(home.find("llama3.1:8b"), blob);
    assert_eq!(home.find("hf.co/a/b:Q4_0"), blob);
    assert_eq!(home.find("llama3.1"), None);
    let listed: Vec<_> =
        Model::list(&home.places(&[])).into_iter().map(|one| (one.name, one.format)).collect();
    for name in ["bart/some-GGUF:Q4_K_M", "llama3.1:8b", "hf.co/a/b:Q4_0"] {
        assert!(listed.contains(&(name.to_owned(), "gguf")), "{listed:?}");
        assert!(find(Path::new(name), &home.places(&[])).is_ok(), "{name}");
    }
}

#[test]
fn what_is_nowhere_says_where_it_was_looked_for() {
    let home = Home::new();
    home.write(".cache/huggingface/hub/version.txt", "1");
    let error =
        open("nobody/knows-this-one", &home.places(&[])).expect_err("is missing").to_string();
    assert!(error.contains("nobody/knows-this-one: is not there and not in "), "{error}");
    assert!(error.contains(".cache/huggingface/hub"), "{error}");
    let near = open("somebody/Qwen3-8B", &home.places(&[])).expect_err("is missing").to_string();
    assert!(near.contains("it looks like Qwen/Qwen3-8B"), "{near}");
    let known = open("Qwen/Qwen3-8B", &home.places(&[])).expect("is in the table");
    assert_eq!(known.shape.map(|shape| shape.source), Some(ShapeSource::Table));
}

#[test]
fn caches_are_not_left() {
    let home = Home::new();
    let hub = ".cache/huggingface/hub";
    home.write("secret/config.json", CONFIG)
        .write(&format!("{hub}/models--a--b/refs/main"), "../../../../../secret")
        .write(".ollama/models/manifests/registry.ollama.ai/library/m/latest",
            r#"{"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:../../../secret/config.json"}]}"#);
    fs::create_dir_all(home.0.path().join(hub).join("models--a--b/snapshots")).expect("makes");
    for name in ["a/b", "m", "a/..", "m:..", "a/b:../x"] {
        assert_eq!(home.find(name), None, "{name}");
    }
    // A cycle of links is a folder that is not there.
    let link = home.0.path().join(hub).join("models--c--d");
    std::os::unix::fs::symlink(&link, &link).expect("links");
    assert_eq!(home.find("c/d"), None);
}
