//! A configuration as the text a person pastes.

use warpscope_probes::rules::{Framework, Launch, LaunchArg};

use crate::engine::question::Question;
use crate::engine::words::{Filler, is_plain};

/// Placeholder where no model was named.
pub(super) const ANY_MODEL: &str = "<model>";

/// Publishers who put a dot before the mix in the names of their files; others a dash (links of mudler/LocalAI@82c191af:gallery/index.yaml).
const DOTTED: &[&str] = &["MaziyarPanahi/", "QuantFactory/", "mradermacher/"];

/// The command that starts the framework with the configuration of the question.
pub(super) fn text(launch: &Launch, question: &Question, fill: &Filler<'_>) -> String {
    let written = launch.arg.iter().filter_map(|arg| {
        let value = spelt(arg, question.config.get(&arg.key)?)?;
        Some(format!("{}{}", launch.lead, arg.write.replace("{value}", value)))
    });
    let args: String = written.collect();
    // The model name is untrusted and goes in last, so that braces in it are not expanded.
    let model = model(question);
    let gguf = Gguf::of(model);
    let text = gguf.as_ref().map_or_else(|| launch.text.clone(), |file| file.spelt(&launch.text));
    let text = fill.command(&text.replace("{args}", &args)).replace("{model}", model);
    match gguf {
        Some(file) => file.named(&text),
        None => text,
    }
}

/// A GGUF file as frameworks are told of it that do not take its name as it is.
struct Gguf<'m> {
    /// `owner/name-GGUF`; of a file here its folder.
    repository: &'m str,
    /// `Q4_K_M`; empty where none was named.
    tag: &'m str,
    /// The file here.
    file: Option<&'m str>,
}

impl<'m> Gguf<'m> {
    fn of(model: &'m str) -> Option<Self> {
        if is_on_hub(model) {
            let (repository, tag) = model.split_once(':').unwrap_or((model, ""));
            return Some(Self { repository, tag, file: None });
        }
        let is_file = model.to_ascii_lowercase().ends_with(".gguf");
        let (repository, file) = model.rsplit_once('/').unwrap_or((".", model));
        is_file.then_some(Self { repository, tag: "", file: Some(file) })
    }

    /// The command with the options that name such a file.
    fn spelt(&self, text: &str) -> String {
        let text = text.replace(
            "AutoModelForCausalLM.from_pretrained(\"{model}\"",
            "AutoModelForCausalLM.from_pretrained(\"{repository}\", gguf_file=\"{file}\"",
        );
        if self.file.is_some() {
            return text;
        }
        text.replace("-m {model}", "-hf {model}").replace(
            "Llama(model_path=\"{model}\"",
            "Llama.from_pretrained(repo_id=\"{repository}\", filename=\"*{tag}.gguf\"",
        )
    }

    /// With its name, which nothing else is read from.
    fn named(&self, text: &str) -> String {
        let file = self.file.map_or_else(|| self.usual(), str::to_owned);
        let text = text.replace("{file}", &file).replace("{tag}", self.tag);
        text.replace("{repository}", self.repository)
    }

    /// What the file of a repository is called by custom: `Qwen3-32B-Q4_K_M.gguf` in `Qwen/Qwen3-32B-GGUF`.
    fn usual(&self) -> String {
        let name = self.repository.rsplit('/').next().unwrap_or_default();
        let model = name.get(..name.len().saturating_sub("-GGUF".len())).unwrap_or(name);
        match self.tag {
            "" => "<file>.gguf".to_owned(),
            tag if DOTTED.iter().any(|owner| self.repository.starts_with(owner)) => {
                format!("{model}.{tag}.gguf")
            }
            tag => format!("{model}-{tag}.gguf"),
        }
    }
}

/// Whether it names a GGUF file of a hub, which llama.cpp fetches itself: `owner/name-GGUF:Q4_K_M`.
fn is_on_hub(model: &str) -> bool {
    let (repository, tag) = model.split_once(':').unwrap_or((model, ""));
    let gguf = !tag.is_empty() || repository.to_ascii_lowercase().ends_with("-gguf");
    gguf && repository.matches('/').count() == 1 && !repository.starts_with(['/', '.'])
}

/// A value as the framework writes it on its command line.
pub(super) fn word<'v>(framework: &'v Framework, key: &str, value: &'v str) -> &'v str {
    let arg = framework.launch.iter().flat_map(|one| &one.arg).find(|arg| arg.key == key);
    arg.and_then(|arg| spelt(arg, value)).unwrap_or(value)
}

/// None where the argument is left out.
fn spelt<'v>(arg: &'v LaunchArg, value: &'v str) -> Option<&'v str> {
    let name = arg.names.get(value).map(String::as_str);
    match name {
        Some("") => None,
        Some(name) => Some(name),
        None => Some(value).filter(|value| arg.write.contains("{value}") && is_plain(value)),
    }
}

/// The model's name where it means the same to every shell and language, else a placeholder: the text is pasted and run.
pub(super) fn model(question: &Question) -> &str {
    question.model.as_deref().filter(|name| !name.is_empty() && is_plain(name)).unwrap_or(ANY_MODEL)
}
