//! Names of models as people write them: in several words, with their size, with what was done to them.

use warpscope_probes::model::Model;
use warpscope_probes::rules::RuleBase;

use super::meaning;
use super::terms::trimmed;
use crate::engine::vocabulary::plain;

/// Words of the names of models beside their families, numbers and sizes.
const PARTS: &[&str] = &[
    "air", "base", "chat", "coder", "dev", "distill", "flash", "instruct", "it", "kontext",
    "large", "lite", "maverick", "max", "medium", "mini", "next", "nano", "omni", "plus", "pro",
    "schnell", "scout", "small", "super", "thinking", "turbo", "ultra", "vision", "vl",
];

/// Ends of a name that leave the family what it is.
const ENDS: &[&str] =
    &["base", "chat", "dev", "gguf", "hf", "instruct", "it", "krea", "preview", "schnell"];

/// Ends of a name that say how its weights are packed, in [`plain`] spelling, and the word for it.
const PACKED: &[(&str, &str)] = &[
    ("4bit", "4bit"),
    ("8bit", "8bit"),
    ("autoround", "auto-round"),
    ("awq", "awq"),
    ("exl2", "exl2"),
    ("exl3", "exl3"),
    ("fp4", "nvfp4"),
    ("fp8", "fp8"),
    ("gguf", "gguf"),
    ("gptq", "gptq"),
    ("int4", "int4"),
    ("int8", "int8"),
    ("mxfp4", "mxfp4"),
    ("nf4", "nf4"),
    ("nvfp4", "nvfp4"),
    ("w4a16", "w4a16"),
    ("w8a8", "w8a8"),
];

/// Families whose bare name is also the type of their first generation, which people seldom mean.
const FIRST_GENERATIONS: &[&str] = &["deepseek", "gemma", "glm", "internlm", "phi", "qwen"];

/// The sizes of Whisper, in [`plain`] spelling.
const WHISPERS: &[&str] = &[
    "base",
    "largev1",
    "largev2",
    "largev3",
    "largev3turbo",
    "medium",
    "small",
    "tiny",
    "turbo",
    "large",
];

/// Programs that run Whisper under its sizes, and whether they run other models too.
const WHISPER_PROGRAMS: &[(&str, bool)] = &[("ctranslate2", true), ("whisper-cpp", false)];

/// Whether a word says how many parameters a model has: `7b`, `0.6B`, `8x7b`, `30b-a3b`, `e4b`.
pub(super) fn is_size(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let digits = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_digit())
            && text.bytes().all(|byte| byte.is_ascii_digit() || b".x".contains(&byte))
    };
    let is_part = |part: &str| {
        let count = part.strip_suffix(['b', 'm']);
        count.is_some_and(|count| digits(count.strip_prefix(['a', 'e']).unwrap_or(count)))
    };
    lower.split('-').all(is_part)
}

/// Whether a bare word names a family of which nobody can tell the generation.
pub(super) fn is_any_generation(word: &str) -> bool {
    FIRST_GENERATIONS.contains(&&*word.to_ascii_lowercase())
}

/// Whether a word is a size of Whisper where a program goes by them, and the type to ask about, if there are others.
pub(super) fn whisper(framework: &str, word: &str) -> Option<Option<&'static str>> {
    let (_, has_others) = WHISPER_PROGRAMS.iter().find(|row| row.0 == framework)?;
    let said = plain(word.strip_suffix(".en").unwrap_or(word));
    let size = said.strip_prefix("whisper").unwrap_or(&said);
    let size = size.strip_prefix("distil").unwrap_or(size);
    let size = size.strip_suffix("en").filter(|_| said.starts_with("distil")).unwrap_or(size);
    WHISPERS.contains(&size).then_some(has_others.then_some("whisper"))
}

/// The name that begins the words and takes more than one of them: `llama 3.1 70b`, `gpt-oss 120b`, `mistral small 4`.
pub(super) fn joined(
    base: &RuleBase,
    framework: &str,
    words: &[String],
) -> Option<(usize, String)> {
    let first = words.first()?;
    if !first.starts_with(|first: char| first.is_ascii_alphabetic()) || first.contains(['=', '@']) {
        return None;
    }
    let more = words.iter().skip(1).take(MOST - 1).take_while(|word| is_part(trimmed(word)));
    (2..=1 + more.count()).rev().find_map(|count| {
        let name: Vec<&str> = words[..count].iter().map(|word| trimmed(word)).collect();
        let name = name.join("-");
        is_model(base, framework, &name).then_some((count, name))
    })
}

/// A name has so many words at most.
const MOST: usize = 6;

fn is_part(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let number = lower.strip_prefix(['v', 'r']).unwrap_or(&lower);
    let is_number = number.starts_with(|first: char| first.is_ascii_digit())
        && number.len() < 6
        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_number || is_size(word) || PARTS.contains(&&*lower)
}

fn is_model(base: &RuleBase, framework: &str, name: &str) -> bool {
    Model::known(name).is_some()
        || meaning::model_type(base, framework, name).is_some()
        || Family::of(base, framework, name).is_some_and(|family| family.name.is_some())
}

/// What a name says without its ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Family {
    /// What is known of it: a model of the table, or a type of models.
    pub(super) name: Option<String>,
    /// The format of its weights.
    pub(super) format: Option<&'static str>,
    /// The ends that were left out.
    pub(super) ends: Vec<String>,
}

impl Family {
    /// The longest beginning of a name that is known, if its ends are such as leave the family what it is; else what they say of its weights.
    pub(super) fn of(base: &RuleBase, framework: &str, name: &str) -> Option<Self> {
        let whole = name.rsplit('/').next().unwrap_or(name);
        let mut family = Self { name: None, format: None, ends: Vec::new() };
        let mut left = whole;
        while let Some((before, end)) = left.rsplit_once('-') {
            let packed = PACKED.iter().find(|row| row.0 == plain(end)).map(|row| row.1);
            if packed.is_none() && !is_end(end) {
                break;
            }
            family.format = packed.or(family.format);
            family.ends.insert(0, end.to_owned());
            left = before;
            let is_known = Model::known(left).is_some()
                || !is_any_generation(left) && meaning::model_type(base, framework, left).is_some();
            if is_known {
                return Some(Self { name: Some(left.to_owned()), ..family });
            }
        }
        family.format.is_some().then_some(family)
    }
}

/// Whether the end of a name is a size, a date, a revision, or one of those that say how the model was trained on.
fn is_end(end: &str) -> bool {
    let lower = end.to_ascii_lowercase();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_date = digits(&lower) && [4, 6, 8].contains(&lower.len());
    let is_revision = lower.strip_prefix('v').is_some_and(|rest| rest.len() == 1 && digits(rest));
    is_date || is_revision || is_size(end) || ENDS.contains(&&*lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_from_builds_and_types() {
        for word in ["7b", "0.6B", "8x7b", "30b-a3b", "35B-A3B", "e4b", "270m"] {
            assert!(is_size(word), "{word}");
        }
        for word in ["b4567", "q4_0", "4bit", "fp8", "a100", "b200", "x2b", ""] {
            assert!(!is_size(word), "{word}");
        }
    }

    #[test]
    fn names_of_several_words_are_joined_as_far_as_they_are_known() {
        let base = RuleBase::builtin();
        let joined = |words: &str| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            joined(base, "vllm", &words)
        };
        for (words, count, name) in [
            ("llama 3.1 70b awq", 3, "llama-3.1-70b"),
            ("Llama 3.1 8B Instruct", 4, "Llama-3.1-8B-Instruct"),
            ("gpt-oss 120b flash", 2, "gpt-oss-120b"),
            ("qwen3 0.6b bnb", 2, "qwen3-0.6b"),
            ("gemma4 26b", 2, "gemma4-26b"),
            ("llama 2 fp16", 2, "llama-2"),
        ] {
            assert_eq!(joined(words), Some((count, name.to_owned())), "{words}");
        }
        for words in ["awq 0.8.5", "llama 0.6.3", "openchat 3.5", "llama", "qwen 0.9"] {
            assert_eq!(joined(words), None, "{words}");
        }
    }

    #[test]
    fn the_ends_of_a_name_leave_its_family() {
        let family = |name: &str| Family::of(RuleBase::builtin(), "vllm", name);
        let known = |name: &str| family(name).and_then(|one| one.name);
        assert_eq!(known("DeepSeek-R1-0528-NVFP4-v2").as_deref(), Some("DeepSeek-R1-0528-NVFP4"));
        assert_eq!(known("llama2-7b").as_deref(), Some("llama2"));
        assert_eq!(known("qwen3-next-80b").as_deref(), Some("qwen3-next"));
        // A later release may be another architecture.
        let later = family("Qwen3.8-Flash-Next-FP8").expect("has a format");
        assert_eq!((later.name, later.format), (None, Some("fp8")));
        assert_eq!(family("Fara-7B"), None);
        assert_eq!(family("deepseek-7b"), None);
    }

    #[test]
    fn whisper_goes_by_its_sizes() {
        assert_eq!(whisper("ctranslate2", "large-v3"), Some(Some("whisper")));
        assert_eq!(whisper("ctranslate2", "distil-large-v3"), Some(Some("whisper")));
        assert_eq!(whisper("whisper-cpp", "base.en"), Some(None));
        assert_eq!(whisper("vllm", "large-v3"), None);
        assert_eq!(whisper("ctranslate2", "int8"), None);
    }
}
