//! The packages a framework runs with, and the releases its rows are about.

use warpscope_probes::releases;
use warpscope_probes::rules::{ConfigRow, Framework, RuleBase};

use crate::engine::Question;
use crate::engine::vocabulary::meant;

/// Libraries that others are built on, each on those before it.
const LIBRARIES: &[&str] = &[
    "cuda",
    "cublas",
    "cudnn",
    "nccl",
    "tensorrt",
    "triton",
    "torch",
    "xformers",
    "flash-attn",
    "flashinfer",
    "sageattention",
    "bitsandbytes",
    "autoawq-kernels",
    "gptqmodel",
    "sgl-kernel",
    "transformers",
];

/// Servers that another framework calls.
const CALLED: &[(&str, &str)] = &[("unsloth", "vllm")];

/// Whether others are built on it.
pub(super) fn is_library(id: &str) -> bool {
    LIBRARIES.contains(&id)
}

/// Whether a package that is named behind a framework is meant as part of it, and is no second question.
pub(super) fn belongs_to(base: &RuleBase, framework: &Framework, package: &str) -> bool {
    let level = |id: &str| LIBRARIES.iter().position(|one| *one == id);
    let is_below = level(package)
        .is_some_and(|own| level(&framework.id).is_none_or(|framework| own < framework));
    is_below || CALLED.contains(&(&*framework.id, package)) || runs_with(base, framework, package)
}

/// Whether one of its rules or settings names the package, or its release asks for it.
fn runs_with(base: &RuleBase, framework: &Framework, package: &str) -> bool {
    is_setting(base, framework, package) || is_named(base, framework, package)
}

fn is_named(base: &RuleBase, framework: &Framework, package: &str) -> bool {
    let newest = framework.version.as_deref().unwrap_or_default();
    base.rules_of(&framework.id).any(|rule| rule.selector.has(package))
        || releases::pins(&framework.id, newest).iter().any(|pin| pin.package == package)
}

/// Whether its rules, its rows or its newest release speak of a package.
pub(super) fn speaks_of(base: &RuleBase, framework: &Framework, package: &str) -> bool {
    let mut rows = base.configs().iter().filter(|row| row.framework == framework.id);
    rows.any(|row| row.settings.get(package).is_some()) || is_named(base, framework, package)
}

/// Whether a package is a way to run the framework, which chooses rows, and not only what it is built on.
pub(super) fn is_setting(base: &RuleBase, framework: &Framework, package: &str) -> bool {
    let is_one = |key: &&str| meant(base, &framework.id, key, package).is_some();
    package != "triton" && ["attention", "quantization"].iter().any(is_one)
}

/// Whether a question is that of a row about a release whose first number is another.
pub(super) fn is_of_another_generation(
    base: &RuleBase,
    question: &Question,
    version: &str,
) -> bool {
    let rows = base.configs().iter().filter(|row| row.framework == question.framework);
    let mut own = rows.filter(|row| Question::of_row(base, row) == *question);
    let own = own.next().and_then(|row| row.version.as_deref());
    own.is_some_and(|own| first_number(own) != first_number(version))
}

pub(super) fn first_number(version: &str) -> &str {
    let number = version.trim_start_matches(|first: char| first.is_ascii_alphabetic());
    number.split('.').next().unwrap_or(number)
}

/// Whether the preset behind a question is one of this release.
pub(super) fn is_shown(base: &RuleBase, question: &Question, version: &str) -> bool {
    let release = version.parse().ok();
    let is_its = |row: &&ConfigRow| {
        row.framework == question.framework && Some(&row.label) == question.label.as_ref()
    };
    let mut rows = base.configs().iter().filter(is_its).filter_map(|row| row.versions.as_ref());
    rows.all(|range| range.contains(release.as_ref()) != Some(false))
}
