//! Programs and images by which frameworks are started, as they stand in a command that was pasted.

use warpscope_probes::rules::RuleBase;

use super::word::{find, is_release};

/// Programs that are called otherwise than their framework, and its id.
const PROGRAMS: &[(&[&str], &str)] = &[
    (
        &["llama-bench", "llama-cli", "llama-mtmd-cli", "llama-perplexity", "llama-server"],
        "llama-cpp",
    ),
    (&["trtllm-bench", "trtllm-build", "trtllm-llmapi-launch", "trtllm-serve"], "tensorrt-llm"),
    (&["text-generation-launcher"], "tgi"),
    (&["text-embeddings-router"], "tei"),
    (&["mistralrs-server"], "mistralrs"),
    (&["koboldcpp.py"], "koboldcpp"),
    (&["whisper-cli", "whisper-server"], "whisper-cpp"),
    (&["lms"], "lm-studio"),
];

/// Modules that are called otherwise than their framework.
const MODULES: &[(&str, &str)] = &[("llama_cpp", "llama-cpp-python")];

/// The ends of the names of images, and the framework in them.
const IMAGES: &[(&str, &str)] = &[
    ("vllm/vllm-openai", "vllm"),
    ("lmsysorg/sglang", "sglang"),
    ("huggingface/text-generation-inference", "tgi"),
    ("huggingface/text-embeddings-inference", "tei"),
    ("ollama/ollama", "ollama"),
    ("ggml-org/llama.cpp", "llama-cpp"),
    ("ggerganov/llama.cpp", "llama-cpp"),
    ("tensorrt-llm/release", "tensorrt-llm"),
    ("openmmlab/lmdeploy", "lmdeploy"),
    ("pytorch/pytorch", "torch"),
    ("koboldai/koboldcpp", "koboldcpp"),
    ("approachingai/ktransformers", "ktransformers"),
];

/// Parts of a tag that say nothing about what runs.
const USUAL: &[&str] = &[
    "amd64", "cuda", "devel", "full", "latest", "light", "main", "runtime", "server", "stable",
    "x86_64",
];

/// What stands between a program and its arguments: `vllm serve`, `ollama run`.
const SUBCOMMANDS: &[&str] =
    &["api_server", "bench", "chat", "latency", "run", "serve", "server", "throughput"];

/// What starts another program, or stands between two.
const STARTERS: &[&str] = &["&", "&&", "\\", "env", "exec", "nohup", "sudo", "time", "|"];

/// Installers, and what they are told to do.
const INSTALLERS: &[&str] = &["conda", "mamba", "pip", "pip3", "pipx", "uv"];

pub(super) fn is_starter(word: &str) -> bool {
    STARTERS.contains(&word)
}

pub(super) fn is_subcommand(word: &str) -> bool {
    SUBCOMMANDS.contains(&word)
}

/// Whether two words begin an installation: `pip install`, `uv pip`.
pub(super) fn is_installer(word: &str, next: Option<&str>) -> bool {
    let installs = |next: &str| ["add", "install"].contains(&next) || INSTALLERS.contains(&next);
    INSTALLERS.contains(&word) && next.is_some_and(installs)
}

/// Whether two words begin a container.
pub(super) fn is_container(word: &str, next: Option<&str>) -> bool {
    ["docker", "nerdctl", "podman"].contains(&word) && next == Some("run")
}

/// Whether a word starts a module or a file of Python.
pub(super) fn is_python(word: &str, next: Option<&str>) -> bool {
    let named = word.strip_prefix("python");
    let numbered = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    named.is_some_and(numbered) && next.is_some_and(|next| next == "-m" || next.ends_with(".py"))
}

/// The framework that a program belongs to.
pub(super) fn program(word: &str) -> Option<&'static str> {
    let name = word.rsplit('/').next().unwrap_or(word);
    PROGRAMS.iter().find(|row| row.0.contains(&name)).map(|row| row.1)
}

/// The framework that a module of Python belongs to: `sglang.launch_server`.
pub(super) fn module<'a>(base: &'a RuleBase, word: &str) -> Option<&'a str> {
    let head = word.split('.').next().unwrap_or(word);
    let named = MODULES.iter().find(|row| row.0 == head).map_or(head, |row| row.1);
    find(base, named).map(|framework| &*framework.id)
}

/// What an image says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Image {
    /// The framework, its release, its CUDA, its platform.
    pub(super) words: Vec<String>,
    /// What of its tag nobody knows here.
    pub(super) open: Vec<String>,
}

/// An image of a framework: `vllm/vllm-openai:v0.11.0`, `lmsysorg/sglang:v0.5.3-cu129`.
pub(super) fn image(word: &str) -> Option<Image> {
    let (name, tag) = match word.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (word, ""),
    };
    let is_it = |row: &&(&str, &str)| {
        name.strip_suffix(row.0).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let (_, framework) = IMAGES.iter().find(is_it)?;
    let mut image = Image { words: vec![(*framework).to_owned()], open: Vec::new() };
    for part in tag.split('-').filter(|part| !part.is_empty() && !USUAL.contains(part)) {
        if let Some(cuda) = cuda_of(part) {
            image.words.push(format!("cuda@{cuda}"));
        } else if is_release(part) && image.words.len() == 1 {
            image.words[0] = format!("{framework}@{part}");
        } else if ["aarch64", "arm64"].contains(&part) {
            image.words.push(part.to_owned());
        } else {
            image.open.push(part.to_owned());
        }
    }
    image.words.push("wheel=docker".to_owned());
    Some(image)
}

/// The CUDA of a part of a tag: `cu129`, `cuda12.8`.
pub(super) fn cuda_of(part: &str) -> Option<String> {
    let number = part.strip_prefix("cuda").or_else(|| part.strip_prefix("cu"))?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match number.len() {
        3 if is_number && !number.contains('.') => {
            Some(format!("{}.{}", &number[..2], &number[2..]))
        }
        _ => (is_number && number.starts_with(|first: char| first.is_ascii_digit()))
            .then(|| number.to_owned()),
    }
}

/// What the name of a release file for one CUDA says: `win-cuda-12.4`, `koboldcpp_cu12.exe`.
pub(super) fn release_file(word: &str) -> Option<Vec<String>> {
    let word = word.to_ascii_lowercase();
    let word = word.trim_end_matches(".exe").trim_end_matches(".zip");
    let number = |text: &str| {
        let text = text.trim_start_matches("cu");
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        (end > 0).then(|| format!("cuda@{}", &text[..end]))
    };
    if let Some((_, cuda)) = word.split_once("win-cuda-") {
        return Some(vec!["windows".to_owned(), number(cuda)?, "prebuilt".to_owned()]);
    }
    let (name, cuda) = word.split_once("_cu")?;
    (name == "koboldcpp")
        .then(|| Some(vec![name.to_owned(), number(cuda)?, "prebuilt".to_owned()]))?
}

/// The build that an address of a package index is about: `https://download.pytorch.org/whl/cu128`.
pub(super) fn build_of_index(address: &str) -> Option<&str> {
    let last = address.trim_end_matches('/').rsplit('/').next()?;
    (last == "cpu" || cuda_of(last).is_some() || last.starts_with("rocm")).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_images_are_those_of_frameworks() {
        let base = RuleBase::builtin();
        let programs = PROGRAMS.iter().map(|row| row.1);
        for id in programs.chain(MODULES.iter().chain(IMAGES).map(|row| row.1)) {
            assert!(base.framework(id).is_some(), "{id}");
        }
    }

    #[test]
    fn an_image_names_the_framework_its_release_and_its_cuda() {
        for (word, words, open) in [
            ("vllm/vllm-openai:v0.11.0", "vllm@v0.11.0 wheel=docker", ""),
            ("docker.io/vllm/vllm-openai:latest", "vllm wheel=docker", ""),
            (
                "lmsysorg/sglang:v0.5.3-cu129-arm64",
                "sglang@v0.5.3 cuda@12.9 arm64 wheel=docker",
                "",
            ),
            (
                "pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime",
                "torch@2.7.1 cuda@12.8 wheel=docker",
                "cudnn9",
            ),
            ("ghcr.io/ggml-org/llama.cpp:server-cuda-b4567", "llama-cpp@b4567 wheel=docker", ""),
            ("lmsysorg/sglang:blackwell", "sglang wheel=docker", "blackwell"),
        ] {
            let image = image(word).expect(word);
            assert_eq!((image.words.join(" "), image.open.join(" ")), (words.into(), open.into()));
        }
        assert_eq!(image("nvidia/cuda:12.8.0-base"), None);
    }
}
