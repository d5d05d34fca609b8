//! What is asked about, and which answers are shown.

use std::path::PathBuf;

use strum::{EnumString, VariantNames};

use super::spec::{Arg, ArgSpec, Form, operand, option, switch};
use crate::config::value::Kind;

/// Which verdicts are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Only {
    /// What fails, gives wrong output or runs in part.
    Fails,
    /// Everything but what runs as asked.
    Problems,
    /// What nobody knows.
    Unknown,
}

/// How much is told of each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Detail {
    /// The table alone.
    Brief,
    /// The table, and why what was asked about does not run as asked.
    #[default]
    Normal,
    /// Every verdict with its evidence.
    Long,
}

/// Whether to ask about what is installed on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Installed {
    /// For the GPUs of this machine.
    Auto,
    /// For every GPU.
    Yes,
    /// Never.
    No,
}

args! {
    FRAMEWORKS: Vec<String> = operand(Form::Operand, "FRAMEWORK[@VERSION][:CONFIG]", Kind::List)
        .help("Framework by name, optionally with version and configuration: vllm, vllm@0.9.2, vllm:awq, lmdeploy pytorch, vllm 0.8.5 torch 2.6.0 awq");
    ASKED_DTYPE: Option<String> = option("dtype", "DTYPE", Kind::Text)
        .help("Number format to ask about: float16, bf16 and others");
    MODEL: Option<PathBuf> = option("model", "MODEL", Kind::Path)
        .help("Model to ask about: its folder, its config.json, a .gguf or .safetensors file, or its name in a cache of this machine: Qwen/Qwen3-8B, owner/name:Q4_K_M, llama3.1:8b");
    FETCH: bool = switch(&[("fetch", "on")])
        .help("Read the headers of a model that is not on this machine from its hub (HF_ENDPOINT, HF_TOKEN); no weights, nothing is kept");
    INSTALLED: Installed = option("use-installed", "WHEN", Installed::KIND)
        .shorthands(&[("installed", "yes"), ("not-installed", "no")])
        .default("auto")
        .help("Answer for the versions and binaries installed here; auto does so for the GPUs of this machine");
    RULES: Vec<PathBuf> = option("rules", "DIR", Kind::Folders)
        .setting("WARPSCOPE_RULES", "rules")
        .key_help("Folders of your own rules, besides the folder rules beside this file")
        .help("Read rules (*.toml) from this folder too; they take precedence over the built-in ones; may be repeated");
    INSPECTED: Vec<PathBuf> = operand(Form::Operand, "WHAT", Kind::Paths)
        .help("Binary, wheel, environment folder, image (image.tar or a folder in OCI's layout) or process id; everything on this machine if omitted");
    SEARCHED: Vec<PathBuf> = option("root", "DIR", Kind::Folders)
        .help("Search below this folder for environments too, within the same bounds as below the home; may be repeated");
    FILTER: Vec<String> = operand(Form::Operand, "WORD", Kind::List)
        .help("Words to search for; rows must contain all of them");
    ONLY: Option<Only> = option("only", "WHAT", Only::KIND)
        .shorthands(&[("only-failures", "fails")])
        .help("Show only what fails, gives wrong output or runs in part (fails), everything that does not run as asked (problems), or what is not known (unknown)");
    DETAIL: Detail = option("detail", "HOW", Detail::KIND)
        .shorthands(&[("brief", "brief"), ("long", "long")])
        .default("normal")
        .help("Print the table alone (brief), with the reasons of what does not run as asked (normal), or every verdict with its evidence (long)");
    ACCEPT_NO_OBSTACLE: bool = switch(&[("accept-no-obstacle", "on")])
        .help("Count what has no known obstacle as running: it does not end the command with code 4");
    EVERYTHING: bool = switch(&[("all", "on")])
        .help("Tell the reasoning, the evidence and every fix as well");
    ERROR_TEXT: Option<PathBuf> = operand(Form::Operand, "FILE", Kind::Path)
        .help("Log or error message to explain; standard input if omitted or -");
    HERE: bool = switch(&[("here", "on")])
        .help("The text comes from this machine: its facts decide");
    ENVIRONMENT: Option<PathBuf> = option("env", "DIR", Kind::Path)
        .help("Python environment the text comes from; its libraries are read");
    RUN_PROBES: bool = switch(&[("probe", "on")])
        .help("Run the live probes that tell causes apart, on the GPUs of this machine; GPUs in use are left alone");
    OF_PROCESS: Option<u64> = option("pid", "PID", Kind::Count)
        .help("Process of this machine that the text comes from; its environment variables are read");
    FIX_NUMBER: Option<u64> = option("fix", "N", Kind::Count)
        .shorthands(&[("fix-only", "1")])
        .help("Print only this fix, ready to paste; 1 is the cheapest");
    WRITE: Option<PathBuf> = option("write", "FILE", Kind::Path)
        .help("Write the fix to this new file; an existing file is never overwritten");
}
