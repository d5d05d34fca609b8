//! What to say first of a GPU on which several things fail.
//!
//! A person is served by what they would most likely have started, not by what fails worst: first what serves and
//! loads models for most people, then what is built into it, then the rest in the order of the rule files; within a
//! framework the order of its rows, the plainest of which stand first. Counting on the severity of the outcome was
//! rejected: one rare kernel that fails would hide that the server everybody uses gives wrong output.

/// Frameworks most people start, the most likely first.
const FIRST: &[&str] = &[
    "vllm",
    "llama-cpp",
    "ollama",
    "transformers",
    "torch",
    "sglang",
    "tgi",
    "lmdeploy",
    "tensorrt-llm",
    "flash-attn",
    "bitsandbytes",
];

/// Place of a framework in the order of importance; the least comes first.
pub(crate) fn place(framework: &str) -> usize {
    FIRST.iter().position(|known| *known == framework).unwrap_or(FIRST.len())
}
