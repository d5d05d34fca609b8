//! Terms of several words, as people write them, and the one word that stands for each: `flash attention 2`, `fp8 kv cache`.

use crate::engine::vocabulary::plain;

/// What a term is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// This word, with what stood at the gap of the term in its braces.
    Word(&'static str),
    /// A name or a release, which may belong to the word before it.
    Part(&'static str),
    /// What may change a verdict, and no rule speaks of.
    Open,
    /// What changes none.
    Unheard,
}

use Means::{Open, Part, Unheard, Word};

/// Terms in [`plain`] spelling without blanks. Gaps: `#` for a number, `$` for a type of cache, `@` for an attention.
const TERMS: &[(&str, Means)] = &[
    // Attention.
    ("flashattention1", Word("flash-attention-1")),
    ("flashattention2", Word("flash-attention-2")),
    ("flashattention3", Word("flash-attention-3")),
    ("flashattention4", Word("flash-attention-4")),
    ("flashattention", Word("flash")),
    ("flashattention", Part("flash-attention")),
    ("sageattention3", Word("sageattention3")),
    ("sageattention2", Word("sageattention")),
    ("sageattention1", Word("sageattention")),
    ("sageattention", Word("sageattention")),
    ("pagedattention", Word("paged_attention")),
    ("attentionbackend @", Word("attention={}")),
    ("@ attentionbackend", Word("attention={}")),
    ("attentionimplementation @", Word("attention={}")),
    // The cache.
    ("$ kvcache", Word("kv_cache={}")),
    ("$ quantizedkvcache", Word("kv_cache={}")),
    ("kvcachedtype $", Word("kv_cache={}")),
    ("kvcachetype $", Word("kv_cache={}")),
    ("kvcachequantization $", Word("kv_cache={}")),
    ("kvcachein $", Word("kv_cache={}")),
    ("kvcache $", Word("kv_cache={}")),
    ("kvcache", Unheard),
    // Several GPUs.
    ("tensorparallelsize #", Word("tp={}")),
    ("tensorparallelism #", Word("tp={}")),
    ("tensorparallel #", Word("tp={}")),
    ("pipelineparallelsize #", Word("pp={}")),
    ("pipelineparallelism #", Word("pp={}")),
    ("pipelineparallel #", Word("pp={}")),
    ("dataparallelsize #", Open),
    ("dataparallelism #", Open),
    ("dataparallel #", Open),
    ("expertparallelsize #", Open),
    ("expertparallelism #", Open),
    ("expertparallel #", Open),
    ("dp #", Open),
    ("ep #", Open),
    ("cp #", Open),
    ("dpattention", Open),
    ("dataparallelattention", Open),
    ("tensorparallelism", Open),
    ("tensorparallel", Open),
    ("pipelineparallel", Open),
    ("dataparallel", Open),
    ("expertparallel", Open),
    // Formats of weights.
    ("int8weightonly", Word("int8_weight_only")),
    ("weightonlyint8", Word("int8_weight_only")),
    ("int4weightonly", Word("int4_weight_only")),
    ("weightonlyint4", Word("int4_weight_only")),
    ("weightonlyquantization", Open),
    ("weightonly", Open),
    ("fp8blockscale", Word("fp8_block")),
    ("fp8blockscaled", Word("fp8_block")),
    ("fp8blockquantization", Word("fp8_block")),
    ("fp8blockwise", Word("fp8_block")),
    ("fp8block", Word("fp8_block")),
    ("blockfp8", Word("fp8_block")),
    ("blockwisefp8", Word("fp8_block")),
    ("finegrainedfp8", Word("fp8_block")),
    ("w8a8blockfp8", Word("fp8_block")),
    ("w8a8fp8", Word("fp8_w8a8")),
    ("fp8w8a8", Word("fp8_w8a8")),
    ("4bitlora", Word("qlora")),
    ("lora4bit", Word("qlora")),
    ("4bitqlora", Word("qlora")),
    ("qlora4bit", Word("qlora")),
    ("# bpw", Unheard),
    ("mixedprecision", Open),
    // What is done.
    ("fullfinetuning", Word("finetuning")),
    ("fullfinetune", Word("finetuning")),
    ("finetuning", Word("finetuning")),
    ("finetune", Word("finetuning")),
    ("torchcompile", Word("torch.compile")),
    ("mixtureofexperts", Word("moe")),
    ("multitokenprediction", Word("mtp")),
    ("speculativedecoding", Word("speculative")),
    ("prefixcaching", Unheard),
    ("chunkedprefill", Unheard),
    ("continuousbatching", Unheard),
    ("cudagraph", Unheard),
    ("cudagraphs", Unheard),
    ("devicecuda", Unheard),
    ("headdim #", Word("head_dim={}")),
    ("headdimension #", Word("head_dim={}")),
    ("headsize #", Word("head_dim={}")),
    ("context #", Unheard),
    ("contextlength #", Unheard),
    ("contextof #", Unheard),
    ("longcontext", Unheard),
    ("batchsize #", Unheard),
    // Builds and releases.
    ("buildfromsource", Word("source")),
    ("buildingfromsource", Word("source")),
    ("builtfromsource", Word("source")),
    ("compilefromsource", Word("source")),
    ("compiledfromsource", Word("source")),
    ("installfromsource", Word("source")),
    ("installedfromsource", Word("source")),
    ("fromsource", Word("source")),
    ("sourcebuild", Word("source")),
    ("pullrequest", Open),
    ("version #", Part("{}")),
    ("torchversion #", Part("torch@{}")),
    ("pytorchversion #", Part("torch@{}")),
    ("cudaversion #", Part("cuda@{}")),
    ("cudatoolkit #", Part("cuda@{}")),
    ("cudatoolkitversion #", Part("cuda@{}")),
    ("driverversion #", Part("driver@{}")),
    ("nvidiadriver #", Part("driver@{}")),
    ("nvidiadriverversion #", Part("driver@{}")),
    ("cudatoolkit", Open),
];

/// Whether a word may stand at a gap.
pub(super) trait Gaps {
    fn is_cache(&self, word: &str) -> bool;
    fn is_attention(&self, word: &str) -> bool;
}

/// A term at the beginning of words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// How many words it takes.
    pub(super) count: usize,
    pub(super) means: Means,
    /// What stands at its gap.
    gap: String,
}

impl Found {
    /// The word that stands for it.
    pub(super) fn word(&self, text: &str) -> String {
        text.replace("{}", &self.gap)
    }
}

/// The longest term that the words begin with, of those that `fits` takes. One word is a term only where it has a gap beside it.
pub(super) fn find(
    words: &[String],
    gaps: &impl Gaps,
    fits: impl Fn(&Found) -> bool,
) -> Option<Found> {
    let found = TERMS.iter().filter_map(|(term, means)| {
        let (count, gap) = matched(term, words, gaps)?;
        Some(Found { count, means: *means, gap })
    });
    let mut found: Vec<Found> = found.filter(|one| one.count > 1 && fits(one)).collect();
    // The first of those that are equally long.
    found.sort_by_key(|one| std::cmp::Reverse(one.count));
    found.into_iter().next()
}

/// How many words a term takes, and what stands at its gap. That is looked at last, since it takes longest.
fn matched(term: &str, words: &[String], gaps: &impl Gaps) -> Option<(usize, String)> {
    let (mut at, mut found) = (0, ("", ""));
    for part in term.split(' ') {
        if ["#", "$", "@"].contains(&part) {
            found = (part, trimmed(words.get(at)?));
            at += 1;
        } else {
            at = spelt(part, words, at)?;
        }
    }
    let fits = match found.0 {
        "#" => is_number(found.1),
        "$" => gaps.is_cache(found.1),
        "@" => gaps.is_attention(found.1),
        _ => true,
    };
    fits.then(|| (at, found.1.to_ascii_lowercase()))
}

/// Where a literal ends that begins at a word: its letters may stand in one word or in several.
fn spelt(literal: &str, words: &[String], mut at: usize) -> Option<usize> {
    let mut rest = literal;
    while !rest.is_empty() {
        let word = trimmed(words.get(at)?);
        let is_plain = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
        if word.starts_with('-') || !word.chars().all(is_plain) {
            return None;
        }
        let said = plain(word);
        rest = rest.strip_prefix(&said[..]).filter(|_| !said.is_empty())?;
        at += 1;
    }
    Some(at)
}

/// A word without the comma that ends it.
pub(super) fn trimmed(word: &str) -> &str {
    word.trim_end_matches([',', ';'])
}

fn is_number(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
        && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Some;

    impl Gaps for Some {
        fn is_cache(&self, word: &str) -> bool {
            ["fp8", "q8_0", "int8"].contains(&&*word.to_ascii_lowercase())
        }

        fn is_attention(&self, word: &str) -> bool {
            ["fa3", "flashinfer"].contains(&word)
        }
    }

    #[test]
    fn the_longest_term_counts() {
        for (words, count, want) in [
            ("flash attention 2 fp16", 3, "flash-attention-2"),
            ("Flash-Attention 3", 2, "flash-attention-3"),
            ("flash attention fp16", 2, "flash"),
            ("fp8 kv cache", 3, "kv_cache=fp8"),
            ("kv-cache-dtype FP8", 2, "kv_cache=fp8"),
            ("kv cache q8_0, awq", 3, "kv_cache=q8_0"),
            ("attention backend flashinfer", 3, "attention=flashinfer"),
            ("fa3 attention backend", 3, "attention=fa3"),
            ("tensor parallel 2", 3, "tp=2"),
            ("tensor parallel size 4", 4, "tp=4"),
            ("int8 weight-only", 2, "int8_weight_only"),
            ("build from source", 3, "source"),
            ("from source", 2, "source"),
            ("4-bit lora", 2, "qlora"),
            ("fine-grained fp8", 2, "fp8_block"),
        ] {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let found = find(&words, &Some, |_| true).expect(&words[0]);
            let Word(text) = found.means else { panic!("{words:?}: {found:?}") };
            assert_eq!((found.count, &*found.word(text)), (count, want), "{words:?}");
        }
    }

    #[test]
    fn other_words_are_no_terms() {
        for words in ["flash", "kv-cache", "--kv-cache-dtype fp8", "awq kv", "tp=2", "context long"]
        {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            assert_eq!(find(&words, &Some, |_| true), None, "{words:?}");
        }
    }

    #[test]
    fn terms_are_spelt_plainly() {
        for (term, _) in TERMS {
            for part in term.split(' ').filter(|part| !["#", "$", "@"].contains(part)) {
                assert_eq!(plain(part), part);
            }
        }
    }
}
