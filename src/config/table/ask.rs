//! What is asked about, and which answers are shown.

use super::id::Id;
use super::row::{ArgSpec, EnvRule, Form};
use crate::config::value::Kind;

/// What `check` shows.
pub const ONLY: &[&str] = &["fails", "problems", "unknown"];

pub(super) const ROWS: &[ArgSpec] = &[
    ArgSpec {
        help: "Framework by name, with version and configuration if wanted: vllm, vllm@0.9.2, vllm:awq, lmdeploy pytorch, vllm dtype=bf16",
        ..ArgSpec::operand(
            Id::Frameworks,
            Form::Operand,
            "FRAMEWORK[@VERSION][:CONFIG]",
            Kind::List,
        )
    },
    ArgSpec {
        help: "Ask about this number format: float16, bf16, …",
        ..ArgSpec::option(Id::AskedDtype, "dtype", "DTYPE", Kind::Text)
    },
    ArgSpec {
        help: "Ask about this model: its folder, its config.json, a .gguf or a .safetensors file",
        ..ArgSpec::option(Id::Model, "model", "PATH", Kind::Path)
    },
    ArgSpec {
        shorthands: &[("installed", "yes"), ("not-installed", "no")],
        help: "Ask about what is installed here, by version and by its binaries; auto does for GPUs that are here",
        default: Some("auto"),
        ..ArgSpec::option(
            Id::Installed,
            "use-installed",
            "WHEN",
            Kind::OneOf(&["auto", "yes", "no"]),
        )
    },
    ArgSpec {
        env: &[("WARPSCOPE_RULES", EnvRule::Value)],
        key: Some("rules"),
        key_help: "Folders of rules of your own, besides the folder rules beside this file",
        help: "Read the rules (*.toml) in this folder too; they win over those that come with the program; may be repeated",
        ..ArgSpec::option(Id::Rules, "rules", "DIR", Kind::Folders)
    },
    ArgSpec {
        help: "Binary, wheel, folder of an environment, image.tar or process id; everything on this machine when empty",
        ..ArgSpec::operand(Id::Inspected, Form::Operand, "WHAT", Kind::Paths)
    },
    ArgSpec {
        help: "Words to look for; every one must occur",
        ..ArgSpec::operand(Id::Filter, Form::Operand, "WORD", Kind::List)
    },
    ArgSpec {
        shorthands: &[("only-failures", "fails")],
        help: "Show only what fails, gives wrong output or runs in part (fails), everything but what runs as asked (problems), or what nobody knows (unknown)",
        ..ArgSpec::option(Id::Only, "only", "WHAT", Kind::OneOf(ONLY))
    },
    ArgSpec {
        shorthands: &[("fix-only", "1")],
        help: "Print only this fix, to be pasted; 1 is the cheapest",
        ..ArgSpec::option(Id::FixNumber, "fix", "N", Kind::Count)
    },
    ArgSpec {
        help: "Write the fix to this file; one that is there is never overwritten",
        ..ArgSpec::option(Id::Write, "write", "FILE", Kind::Path)
    },
];
