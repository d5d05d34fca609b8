//! A configuration as the text a person pastes.

use warpscope_probes::rules::{Framework, Launch, LaunchArg};

use crate::engine::question::Question;
use crate::engine::words::{Filler, is_plain};

/// Placeholder where no model was named.
pub(super) const ANY_MODEL: &str = "<model>";

/// The command that starts the framework with the configuration of the question.
pub(super) fn text(launch: &Launch, question: &Question, fill: &Filler<'_>) -> String {
    let written = launch.arg.iter().filter_map(|arg| {
        let value = spelt(arg, question.config.get(&arg.key)?)?;
        Some(format!("{}{}", launch.lead, arg.write.replace("{value}", value)))
    });
    let args: String = written.collect();
    // The model name is untrusted and goes in last, so that braces in it are not expanded.
    let model = model(question);
    let file = if is_on_hub(model) { "-hf {model}" } else { "-m {model}" };
    let text = launch.text.replace("-m {model}", file).replace("{args}", &args);
    fill.command(&text).replace("{model}", model)
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
