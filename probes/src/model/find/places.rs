use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Folders in which programs keep models, in the order in which they are looked through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Hub caches: `models--owner--name/snapshots`.
    pub hub: Vec<PathBuf>,
    /// ModelScope's.
    pub modelscope: Vec<PathBuf>,
    /// Stores of Ollama: manifests and blobs.
    pub ollama: Vec<PathBuf>,
    /// LM Studio's: `owner/name`.
    pub lm_studio: Vec<PathBuf>,
    home: Option<PathBuf>,
}

impl Places {
    /// The folders that the variables of an environment name, and those programs take without any.
    pub fn new(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let value =
            |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = value("HOME");
        let under = |folder: &str| home.as_ref().map(|home| home.join(folder));
        let cache = value("XDG_CACHE_HOME").or_else(|| under(".cache"));
        let cached = |folder: &str| cache.as_ref().map(|cache| cache.join(folder));
        let hub = [
            value("HF_HUB_CACHE"),
            value("HUGGINGFACE_HUB_CACHE"),
            value("HF_HOME").map(|path| path.join("hub")),
            value("TRANSFORMERS_CACHE"),
            value("VLLM_DOWNLOAD_DIR"),
            cached("huggingface/hub"),
            value("VLLM_CACHE_ROOT").or_else(|| cached("vllm")),
        ];
        let modelscope = [value("MODELSCOPE_CACHE"), cached("modelscope")];
        let ollama = [
            value("OLLAMA_MODELS"),
            under(".ollama/models"),
            Some("/usr/share/ollama/.ollama/models".into()),
            Some("/var/lib/ollama/.ollama/models".into()),
            Some("/var/lib/ollama/models".into()),
        ];
        let lm_studio = [under(".lmstudio/models"), cached("lm-studio/models")];
        Self {
            hub: distinct(hub),
            modelscope: distinct(modelscope),
            ollama: distinct(ollama),
            lm_studio: distinct(lm_studio),
            home,
        }
    }

    /// The folders of this process's environment.
    pub fn of_this_user() -> Self {
        Self::new(|name| std::env::var_os(name))
    }

    /// The path with a leading `~` replaced, as a shell does.
    pub fn at_home(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Path> {
        let lists = [&self.hub, &self.modelscope, &self.ollama, &self.lm_studio];
        lists.into_iter().flatten().map(PathBuf::as_path)
    }
}

fn distinct<const N: usize>(paths: [Option<PathBuf>; N]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for path in paths.into_iter().flatten() {
        if !all.contains(&path) {
            all.push(path);
        }
    }
    all
}
