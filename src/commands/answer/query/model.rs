//! Names of models and their files, as they stand in a question.

use warpscope_probes::model::Model;

/// The name under which a model may be found: that of the table, else a path or a name on a hub as it was typed.
pub(super) fn spelling(typed: &str) -> Option<String> {
    let named = [Some(typed.to_owned()), of_path(typed), of_file(typed)];
    let known = named.into_iter().flatten().find(|name| Model::known(name).is_some());
    known.or_else(|| (typed.contains('/') || typed.ends_with(".gguf")).then(|| typed.to_owned()))
}

fn last(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// The name of a folder. A name on a hub is whole: who copied a model may have changed it.
fn of_path(typed: &str) -> Option<String> {
    let is_path = typed.starts_with(['/', '.', '~']) || typed.matches('/').count() > 1;
    is_path.then(|| last(typed).to_owned())
}

/// What a GGUF file would be called on a hub: `Qwen3-8B-GGUF:Q4_K_M` for `Qwen3-8B-Q4_K_M.gguf`.
fn of_file(typed: &str) -> Option<String> {
    let file = last(typed).strip_suffix(".gguf")?;
    let file = file.split_once("-00001-of-").map_or(file, |one| one.0);
    let (name, kind) = file.rsplit_once(['-', '.'])?;
    Some(format!("{name}-GGUF:{kind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_are_named_by_their_model() {
        for (typed, want) in [
            ("Qwen/Qwen3-8B", Some("Qwen/Qwen3-8B")),
            ("/models/Qwen3-8B", Some("Qwen3-8B")),
            ("/models/Qwen3-8B-Q4_K_M.gguf", Some("Qwen3-8B-GGUF:Q4_K_M")),
            ("Qwen3-8B.Q8_0.gguf", Some("Qwen3-8B-GGUF:Q8_0")),
            ("somebody/of-their-own", Some("somebody/of-their-own")),
            ("own.gguf", Some("own.gguf")),
            ("nonesuch", None),
        ] {
            assert_eq!(spelling(typed).as_deref(), want, "{typed}");
        }
    }
}
