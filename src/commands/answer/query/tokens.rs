//! What was typed, word by word: releases joined to the names before them, options as they stand on a command line.

use warpscope_probes::rules::{Kind, RuleBase, kind_of};

use super::word::{find, generation, is_release};
use crate::engine::vocabulary::plain;

/// What people call a setting, in [`plain`] spelling, and its key.
const KEYS: &[(&[&str], &str)] = &[
    (&["kv", "kvcachedtype", "kvdtype", "cachetypek", "cachetypev", "ctk", "ctv"], "kv_cache"),
    (&["quant", "quantize", "isq", "quantmethod"], "quantization"),
    (&["os", "system"], "platform"),
    (&["attn", "attentionbackend", "attnbackend", "attnimplementation"], "attention"),
    (&["moe", "moebackend", "moerunner", "moerunnerbackend"], "kernel"),
    (&["gpus", "numgpus", "tensorparallel", "tensorparallelsize", "tpsize"], "tp"),
    (&["pipelineparallel", "pipelineparallelsize", "ppsize"], "pp"),
    (&["torchdtype"], "dtype"),
    (&["backend"], "engine"),
    (&["driver", "nvidiadriver"], "driver"),
    (&["model", "modelpath", "modelid"], "model"),
];

/// Options that change no verdict, in [`plain`] spelling, and whether a number follows.
const UNHEARD: &[(&str, bool)] = &[
    ("bf16gemmbackend", false),
    ("chunkedprefillsize", true),
    ("contextlength", true),
    ("cpumoe", false),
    ("ctxsize", true),
    ("cudagraphmaxbs", true),
    ("disablecudagraph", false),
    ("disableradixcache", false),
    ("enablechunkedprefill", false),
    ("enableprefixcaching", false),
    ("enforceeager", false),
    ("gpulayers", true),
    ("gpumemoryutilization", true),
    ("l4t", true),
    ("maxbatchsize", true),
    ("maxmodellen", true),
    ("maxnumbatchedtokens", true),
    ("maxnumseqs", true),
    ("memfractionstatic", true),
    ("ncpumoe", true),
    ("ngl", true),
    ("ngpulayers", true),
    ("nommap", false),
    ("python", true),
    ("tensorsplit", true),
    ("trustremotecode", false),
];

/// Names before a release that may be a whole number: `driver 535`.
const NUMBERED: &[&str] = &["cuda", "cudnn", "driver", "jetpack"];

/// The key that is meant by a name of it.
pub(super) fn key(name: &str) -> Option<&'static str> {
    let said = plain(name);
    KEYS.iter().find(|row| row.0.contains(&&said[..])).map(|row| row.1)
}

/// Whether an option was given that changes no verdict.
pub(super) fn is_unheard(token: &str) -> bool {
    let name = token.split([' ', '=']).next().unwrap_or(token);
    unheard(name).is_some()
}

fn unheard(name: &str) -> Option<bool> {
    let said = plain(name);
    UNHEARD.iter().find(|row| row.0 == said).map(|row| row.1)
}

/// Words one by one; a release that follows a name belongs to it, and a value to its option: `vllm 0.8.5 cuda 12.8 --quantization awq`.
pub(super) fn tokens(base: &RuleBase, words: &[String]) -> Vec<String> {
    let words = words.iter().flat_map(|word| word.split([':', ' ', ',']));
    let mut words = words.filter(|word| !word.is_empty()).peekable();
    let mut tokens: Vec<String> = Vec::new();
    while let Some(word) = words.next() {
        if unheard(word) == Some(true) {
            let numbers = std::iter::from_fn(|| words.next_if(|next| is_number(next)));
            let said: Vec<_> = std::iter::once(word).chain(numbers).collect();
            tokens.push(said.join(" "));
        } else if let Some(name) = word.strip_prefix('-') {
            let name = name.trim_start_matches('-');
            let named = key(name).is_some() || kind_of(&name.replace('-', "_")).is_ok();
            let value = words.next_if(|next| named && !next.starts_with('-'));
            tokens.push(value.map_or_else(|| word.to_owned(), |value| format!("{name}={value}")));
        } else {
            match tokens.last_mut().and_then(|last| joined(base, last, word)) {
                Some(name) => *tokens.last_mut().expect("one was joined") = name,
                None => tokens.push(word.to_owned()),
            }
        }
    }
    tokens
}

/// A name with the release behind it, or with the number of its generation: `flash-attn 3`.
fn joined(base: &RuleBase, name: &str, word: &str) -> Option<String> {
    let framework = find(base, name).map(|one| one.id.as_str());
    let is_named = framework.is_some() || kind_of(name) == Ok(Kind::Package) || name == "jetpack";
    let is_numbered = NUMBERED.contains(&framework.unwrap_or(name));
    if is_named && (is_release(word) || is_numbered && is_number(word)) {
        return Some(format!("{name}@{word}"));
    }
    let with_generation = format!("{name}-{word}");
    let known = framework.is_some() && generation(base, &with_generation).is_some();
    known.then_some(with_generation)
}

fn is_number(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
        && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> String {
        tokens(RuleBase::builtin(), &[words.to_owned()]).join("|")
    }

    #[test]
    fn options_are_read_as_they_stand_on_a_command_line() {
        for (words, want) in [
            ("vllm --quantization awq -tp 2", "vllm|quantization=awq|tp=2"),
            ("vllm --kv-cache-dtype=fp8 --dtype half", "vllm|--kv-cache-dtype=fp8|dtype=half"),
            ("vllm --max-model-len 32768 awq", "vllm|--max-model-len 32768|awq"),
            ("vllm --enforce-eager 0.8.5", "vllm|--enforce-eager|0.8.5"),
            ("llama.cpp --n-cpu-moe q4_k_m", "llama.cpp|--n-cpu-moe|q4_k_m"),
            ("llama.cpp tensor-split 1,1 q8_0", "llama.cpp|tensor-split 1 1|q8_0"),
            ("vllm driver 535 torch 2.6.0", "vllm|driver@535|torch@2.6.0"),
            ("torch 2.5.0 jetpack 6.2", "torch@2.5.0|jetpack@6.2"),
            ("flash-attn 3 bf16", "flash-attn-3|bf16"),
            ("vllm 3", "vllm|3"),
        ] {
            assert_eq!(read(words), want);
        }
    }

    #[test]
    fn names_are_plain_and_keys_known() {
        let names = KEYS.iter().flat_map(|row| row.0).chain(UNHEARD.iter().map(|row| &row.0));
        names.for_each(|name| assert_eq!(plain(name), **name));
        for (_, key) in KEYS {
            assert!(kind_of(key).is_ok() || ["driver", "model"].contains(key), "{key}");
        }
    }
}
