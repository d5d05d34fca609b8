//! Programs that run others, and parts of others: what is asked about is the engine.

use warpscope_probes::rules::{RuleBase, Version};

use super::word::find;
use crate::engine::vocabulary::plain;

/// A program in front of others.
pub(super) struct Front {
    /// What it is called.
    name: &'static str,
    /// How people write it, in [`plain`] spelling.
    names: &'static [&'static str],
    /// Ids of the frameworks it runs. One of them is meant where there is no other.
    engines: &'static [&'static str],
    /// Where it picks them.
    source: &'static str,
}

/// Every one, as read on 2026-11-28.
const FRONTS: &[Front] = &[
    Front {
        name: "text-generation-webui",
        names: &["oobabooga", "textgen", "textgenerationwebui"],
        engines: &["llama-cpp", "exllamav3", "exllamav2", "transformers", "tensorrt-llm"],
        source: "oobabooga/text-generation-webui@001198de:README.md",
    },
    Front {
        name: "TabbyAPI",
        names: &["tabbyapi"],
        engines: &["exllamav3", "exllamav2"],
        source: "theroyallab/tabbyAPI@03c843ac:README.md",
    },
    Front {
        name: "LLaMA-Factory",
        names: &["llamafactory"],
        engines: &["transformers"],
        source: "hiyouga/LLaMA-Factory@00409ff2:README.md",
    },
    Front {
        name: "sgl-kernel",
        names: &["sglkernel"],
        engines: &["sglang"],
        source: "sgl-project/sglang@7461fb24:sgl-kernel/pyproject.toml",
    },
    Front {
        name: "TRL",
        names: &["trl"],
        engines: &["transformers"],
        source: "huggingface/trl@0252d7ca:README.md",
    },
    Front {
        name: "verl",
        names: &["verl"],
        engines: &["vllm", "sglang", "transformers"],
        source: "volcengine/verl@0488982d:README.md",
    },
    Front {
        name: "Open WebUI",
        names: &["openwebui"],
        engines: &["ollama", "lm-studio", "llama-cpp", "vllm"],
        source: "open-webui/open-webui@00f1130d:README.md",
    },
    Front {
        name: "LocalAI",
        names: &["localai"],
        engines: &["llama-cpp", "vllm", "transformers", "diffusers", "whisper-cpp"],
        source: "https://localai.io/model-compatibility",
    },
    Front {
        name: "GPT4All",
        names: &["gpt4all"],
        engines: &["llama-cpp"],
        source: "nomic-ai/gpt4all@4bcb637a:gpt4all-backend/llama.cpp.cmake",
    },
    Front {
        name: "Jan",
        names: &["jan"],
        engines: &["llama-cpp"],
        source: "janhq/jan@d7f43f16:extensions/llamacpp-extension/package.json",
    },
    Front {
        name: "GPUStack",
        names: &["gpustack"],
        engines: &["vllm", "sglang", "tensorrt-llm"],
        source: "gpustack/gpustack@0435af76:README.md",
    },
    Front {
        name: "whisper-ctranslate2",
        names: &["whisperctranslate2"],
        engines: &["ctranslate2"],
        source: "Softcatala/whisper-ctranslate2@01fcd8f6:README.md",
    },
    Front {
        name: "WhisperLive",
        names: &["whisperlive"],
        engines: &["ctranslate2", "tensorrt-llm"],
        source: "collabora/WhisperLive@03e30e1f:README.md",
    },
];

/// One that was named, and the release behind it.
pub(super) struct Named {
    front: &'static Front,
    /// As it was typed.
    pub(super) typed: String,
    /// A month, which is one for its engine too.
    date: Option<String>,
}

/// The program that a word names, with or without a release.
pub(super) fn named(word: &str) -> Option<Named> {
    let at = word.find(['@', '=']).unwrap_or(word.len());
    let said = plain(&word[..at]);
    let front = FRONTS.iter().find(|front| front.names.contains(&&said[..]))?;
    let release = word[at..].trim_start_matches(['@', '=']);
    let is_date = matches!(release.parse(), Ok(Version::Date(..)));
    Some(Named { front, typed: word.to_owned(), date: is_date.then(|| release.to_owned()) })
}

impl Named {
    /// The word for its only engine.
    pub(super) fn only_engine(&self) -> Option<String> {
        let [engine] = self.front.engines else { return None };
        Some(self.dated(engine))
    }

    /// A framework as it is in this program: of the same time.
    pub(super) fn dated(&self, framework: &str) -> String {
        let runs = self.front.engines.contains(&framework);
        match self.date.as_ref().filter(|_| runs) {
            Some(date) => format!("{framework}@{date}"),
            None => framework.to_owned(),
        }
    }

    /// What is said where its engine was chosen for it.
    pub(super) fn told(&self, base: &RuleBase) -> String {
        format!("{} (answered for {})", self.typed, self.engines(base))
    }

    /// Why nothing is answered.
    pub(super) fn refusal(&self, base: &RuleBase) -> String {
        let first = self.front.engines.first().copied().unwrap_or_default();
        format!(
            "{} runs {}; name one, as in: {first} ({})",
            self.front.name,
            self.engines(base),
            self.front.source
        )
    }

    fn engines(&self, base: &RuleBase) -> String {
        let name = |id: &&'static str| find(base, id).map_or(*id, |one| &*one.name).to_owned();
        let names: Vec<String> = self.front.engines.iter().map(name).collect();
        match names.split_last() {
            Some((last, others)) if !others.is_empty() => {
                format!("{} or {last}", others.join(", "))
            }
            _ => names.concat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_engines_exist_and_each_has_a_source() {
        let base = RuleBase::builtin();
        for front in FRONTS {
            assert!(front.source.contains(['@', ':']), "{}", front.name);
            front.names.iter().for_each(|name| assert_eq!(plain(name), **name));
            front.engines.iter().for_each(|id| assert!(base.framework(id).is_some(), "{id}"));
            assert!(front.names.iter().all(|name| find(base, name).is_none()), "{}", front.name);
        }
    }
}
