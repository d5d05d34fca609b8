//! Reads a model on a thread of its own: its folder may lie on a disk that is slow or gone.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread;

use serde_json::Value;
use warpscope_probes::model::Model;
use warpscope_probes::rules::Settings;

use super::Event;
use super::mailbox::Post;

/// Most of a `config.json` that is read; real ones have a few kilobytes.
const MOST: u64 = 4 << 20;

/// Starts reading; the answer comes as an event.
pub(super) fn read_aside(path: String, post: Post) -> io::Result<()> {
    let work = move || {
        let read = read(&at_home(&path));
        post.send(Event::Model(path, read));
    };
    thread::Builder::new().name("model".into()).spawn(work).map(drop)
}

/// The path with a leading `~` replaced, as a shell does.
fn at_home(path: &str) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (path.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(path),
    }
}

/// What a Hugging Face `config.json` says of a configuration.
fn read(path: &Path) -> Result<Model, String> {
    let file = if path.is_dir() { path.join("config.json") } else { path.to_owned() };
    let failed = |why: String| {
        format!("{}: {why}. Name a folder with a config.json, or that file.", file.display())
    };
    let mut text = String::new();
    let open = File::open(&file).map_err(|error| failed(error.to_string()))?;
    open.take(MOST).read_to_string(&mut text).map_err(|error| failed(error.to_string()))?;
    let config: Value = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
    let word = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_lowercase);
    let mut settings = Settings::default();
    let quantization = config.get("quantization_config");
    let dtype = word(&config, "torch_dtype").or_else(|| word(&config, "dtype"));
    let found = [
        ("model_type", word(&config, "model_type")),
        (
            "checkpoint_dtype",
            dtype.as_deref().and_then(warpscope_probes::rules::dtype_id).map(str::to_owned),
        ),
        ("quantization", quantization.and_then(|one| word(one, "quant_method"))),
    ];
    for (key, value) in found {
        if let Some(value) = value {
            settings.set(key, &value).map_err(failed)?;
        }
    }
    if settings.get("model_type").is_none() {
        return Err(failed("it names no model_type".to_owned()));
    }
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let name =
        folder.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy());
    Ok(Model { name: name.into_owned(), settings, weight_bytes: None })
}
