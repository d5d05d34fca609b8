//! Which texts of fixes can be pasted: commands, code and files, but no sentences.

use crate::engine::verdict::Fix;

/// Programs that texts to paste begin with.
const PROGRAMS: &[&str] = &[
    "apt-get",
    "cargo",
    "cd",
    "cmake",
    "conda",
    "docker",
    "export",
    "git",
    "lmdeploy",
    "make",
    "ollama",
    "pip",
    "python",
    "python3",
    "sudo",
    "text-generation-launcher",
    "trtexec",
    "trtllm-serve",
    "uv",
    "vllm",
];

/// Whether a text can be pasted as it is: every line of it is a command, a variable or a piece of code, and none is a sentence.
pub(in crate::engine) fn is_pasteable(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    lines.peek().is_some() && lines.all(is_code)
}

fn is_code(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    // `a.b(`, `model = …`, `KEY=value`, `--option`; in a sentence a bracket stands behind a blank.
    let name = first.split(['(', '=']).next().unwrap_or_default();
    let is_name = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte));
    let called = is_name && first.len() > name.len();
    let assigned =
        is_name && line[line.find(first).unwrap_or(0) + first.len()..].starts_with(" = ");
    // Files are written in YAML.
    let option = first.starts_with("--") || line.starts_with("  ") || line.starts_with("- ");
    let opened = ["with ", "import ", "from ", "llama-"].iter().any(|word| line.starts_with(word));
    PROGRAMS.contains(&first) || called || assigned || option || opened
}

impl Fix {
    /// What can be pasted; none where the text is advice to read.
    pub fn command(&self) -> Option<&str> {
        is_pasteable(&self.text).then_some(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_code_are_pasted_and_sentences_are_not() {
        for text in [
            "pip install 'torch<2.8'",
            "TORCH_CUDA_ARCH_LIST=\"12.0\" pip install .",
            "vllm serve <model> --dtype half",
            "llama-server -m model.gguf -ngl 99",
            "model = WhisperModel(\"large-v3\", device=\"cuda\", compute_type=\"int8\")",
            "quantize_(model, Int8DynamicActivationInt8WeightConfig())",
            "git clone x && cd x\nmake -j",
            "- match:\n    name: \"^model\"",
            "attn_implementation=\"sdpa\"",
            "--force-fp32",
        ] {
            assert!(is_pasteable(text), "{text}");
        }
        for text in [
            "",
            "works on sm_80 (A100/A800/A30), sm_86",
            "use NVIDIA driver 580.82.07, before 590",
            "a GGUF build of the same model (ComfyUI-GGUF)",
            "fp16 or fp32",
            "pip install torch\nand restart the machine",
        ] {
            assert!(!is_pasteable(text), "{text}");
        }
    }
}
