//! Models that processes here were seen to serve, and the most memory they took: what stands beside a prediction.

use serde::{Deserialize, Serialize};
use warpscope_probes::Frame;

/// The most memory that a model was seen to take of one GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peak {
    /// Id of the framework.
    pub framework: String,
    /// The model as it was named when it was started.
    pub model: String,
    /// Name of the GPU.
    pub gpu: String,
    /// Bytes that one process held.
    pub bytes: u64,
    /// Day of the measurement.
    pub day: String,
}

/// Every peak that was seen, the last first.
#[derive(Clone, Debug, Default)]
pub struct Served(Vec<Peak>);

/// So many are kept.
const MOST: usize = 200;
/// A peak that is this part higher is a new one.
const HIGHER: u64 = 64;

impl Served {
    /// What was seen before, the last first.
    pub fn new(before: Vec<Peak>) -> Self {
        Self::default().with(before)
    }

    /// The same with more; of two peaks of one model the higher stays.
    #[must_use]
    pub fn with(mut self, more: Vec<Peak>) -> Self {
        for peak in more.into_iter().take(MOST).rev() {
            self.see(peak);
        }
        self
    }

    /// All of them.
    pub fn peaks(&self) -> &[Peak] {
        &self.0
    }

    /// Looks at the processes of a frame; what to keep where a peak is new.
    pub(super) fn look(&mut self, frame: &Frame) -> Option<Vec<Peak>> {
        let day: String = frame.at.to_string().chars().take(10).collect();
        let mut new = false;
        for process in &frame.processes {
            let command = process.host.command.value().and_then(|text| served(text));
            let bytes = process.usage.gpu_memory_bytes.value();
            let gpu = frame.gpus.iter().find(|gpu| gpu.key == process.gpu);
            let name = gpu.and_then(|gpu| gpu.identity.name.last());
            if let (Some((framework, model)), Some(bytes), Some(name)) = (command, bytes, name) {
                new |= self.see(Peak {
                    framework: framework.to_owned(),
                    model: model.to_owned(),
                    gpu: name.clone(),
                    bytes: bytes.0,
                    day: day.clone(),
                });
            }
        }
        new.then(|| self.0.clone())
    }

    fn see(&mut self, peak: Peak) -> bool {
        let same = |one: &Peak| {
            (&one.framework, &one.model, &one.gpu) == (&peak.framework, &peak.model, &peak.gpu)
        };
        let known = self.0.iter().position(same);
        if known.is_some_and(|at| peak.bytes <= self.0[at].bytes + self.0[at].bytes / HIGHER) {
            return false;
        }
        if let Some(at) = known {
            self.0.remove(at);
        }
        self.0.insert(0, peak);
        self.0.truncate(MOST);
        true
    }

    /// What was seen of a model in a framework on a kind of GPU.
    pub fn of(&self, framework: &str, model: &str, gpu: &str) -> Option<&Peak> {
        let is_it = |one: &&Peak| {
            one.framework == framework && one.gpu == gpu && is_same(&one.model, model)
        };
        self.0.iter().find(is_it)
    }
}

/// Programs that serve models, and the frameworks they are of.
const SERVERS: &[(&str, &str)] = &[
    ("vllm", "vllm"),
    ("sglang", "sglang"),
    ("llama-server", "llama-cpp"),
    ("llama-cli", "llama-cpp"),
    ("ollama", "ollama"),
    ("lmdeploy", "lmdeploy"),
    ("text-generation-launcher", "tgi"),
    ("text-generation-server", "tgi"),
    ("trtllm-serve", "tensorrt-llm"),
];

/// Words before a model, and those a model follows without a flag.
const FLAGS: &[&str] = &["--model", "--model-path", "--model-id", "--hf-repo", "-hf", "-m"];
const VERBS: &[&str] = &["serve", "api_server", "trtllm-serve"];

/// The framework and the model of a command that serves one.
fn served(command: &str) -> Option<(&'static str, &str)> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let program = |word: &str| {
        let file = word.rsplit('/').next().unwrap_or(word);
        let module = |name: &str| file.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        SERVERS.iter().find(|row| file == row.0 || module(row.0)).map(|row| row.1)
    };
    let (at, framework) =
        words.iter().enumerate().find_map(|(at, word)| Some((at, program(word)?)))?;
    let rest = &words[at..];
    let by_flag = || {
        rest.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
            Some((flag, value)) => FLAGS.contains(&flag).then_some(value),
            None => FLAGS.contains(word).then(|| rest.get(at + 1).copied()).flatten(),
        })
    };
    let by_place = || {
        let pairs = rest.windows(2);
        let mut after = pairs.filter(|pair| VERBS.contains(&pair[0])).map(|pair| pair[1]);
        after.find(|word| !word.starts_with('-') && !VERBS.contains(word))
    };
    by_flag().or_else(by_place).map(|model| (framework, model))
}

/// Whether two names mean one model: the same, or the last parts of paths, or a folder of the hub's cache.
fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (plain(one), plain(other));
    let base = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
    let ids = |name: &str| name.matches('/').count() == 1;
    one == other || (!(ids(&one) && ids(&other)) && base(&one) == base(&other))
}

/// `qwen/qwen3-8b` of `/srv/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/abc`.
fn plain(name: &str) -> String {
    let cached = name.split('/').find_map(|part| part.strip_prefix("models--"));
    let name = cached.map_or_else(|| name.to_owned(), |id| id.replacen("--", "/", 1));
    name.trim_end_matches('/').to_lowercase()
}

#[cfg(test)]
mod tests {
    use warpscope_probes::units::Bytes;
    use warpscope_probes::{Gpu, Timestamp};

    use super::*;

    #[test]
    fn commands_name_framework_and_model() {
        for (command, want) in [
            (
                "/opt/venv/bin/python /opt/venv/bin/vllm serve Qwen/Qwen3-8B --port 1",
                Some(("vllm", "Qwen/Qwen3-8B")),
            ),
            (
                "python -m vllm.entrypoints.openai.api_server --model /m/llama",
                Some(("vllm", "/m/llama")),
            ),
            ("VLLM::Worker_TP0 of vllm serve --model=a/b", Some(("vllm", "a/b"))),
            ("python3 -m sglang.launch_server --model-path a/b --tp 2", Some(("sglang", "a/b"))),
            ("./llama-server -m /models/x.gguf -c 4096", Some(("llama-cpp", "/models/x.gguf"))),
            ("lmdeploy serve api_server internlm/x", Some(("lmdeploy", "internlm/x"))),
            ("trtllm-serve serve a/b", Some(("tensorrt-llm", "a/b"))),
            ("python train.py --model a/b", None),
            ("vim notes-on-vllm.txt", None),
            ("vllm bench", None),
        ] {
            assert_eq!(served(command), want, "{command}");
        }
    }

    #[test]
    fn names_of_one_model_are_the_same() {
        let hub = "/srv/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/0a1b";
        for (one, other, want) in [
            ("Qwen/Qwen3-8B", "qwen/qwen3-8b", true),
            (hub, "Qwen/Qwen3-8B", true),
            ("/models/Qwen3-8B/", "Qwen/Qwen3-8B", true),
            ("me/Qwen3-8B", "Qwen/Qwen3-8B", false),
            ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B-AWQ", false),
        ] {
            assert_eq!(is_same(one, other), want, "{one} {other}");
        }
    }

    #[test]
    fn the_highest_is_kept_and_small_changes_are_none() {
        let mut gpu = Gpu { key: "0".into(), ..Gpu::default() };
        gpu.identity.name = "T4".to_owned().into();
        let mut process =
            warpscope_probes::process::Process { gpu: "0".into(), ..Default::default() };
        process.host.command = "vllm serve a/b".to_owned().into();
        let at = Timestamp(1_795_000_000_000);
        let mut frame = Frame { at, gpus: vec![gpu], processes: vec![process], ..Frame::default() };
        let mut served = Served::default();
        let mut look = |mib: u64| {
            frame.processes[0].usage.gpu_memory_bytes = Bytes(mib << 20).into();
            served.look(&frame).map(|kept| kept[0].bytes >> 20)
        };
        let seen = [look(1000), look(500), look(1005), look(2000)];
        assert_eq!(seen, [Some(1000), None, None, Some(2000)]);
        let peak = served.of("vllm", "a/b", "T4").expect("was seen");
        assert_eq!((peak.bytes >> 20, peak.day.as_str()), (2000, "2026-11-18"));
        assert_eq!(served.of("vllm", "a/b", "A100"), None);
    }
}
