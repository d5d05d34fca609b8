//! Whether the weights alone fit into the memory there is: of one GPU, or of a group of equal ones that the framework spreads a model
//! over. A lower bound: it can say that a model does not fit, never that it does; [`super::plan`] says the rest.

use warpscope_probes::rules::Settings;

use super::plan::Framework;
use super::question::Question;
use super::target::Target;
use super::verdict::{Evidence, Level, Outcome};

/// Id of this evidence.
const ID: &str = "memory.weights";

/// Bytes per element, by dtype id. Formats not listed are packed: their file size does not convert to another type.
const WIDTHS: &[(&str, u64)] = &[("fp64", 8), ("fp32", 4), ("tf32", 4), ("fp16", 2), ("bf16", 2)];

/// Weights that are larger than the memory of the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooBig {
    weights: u64,
    memory: u64,
    /// What others hold of it.
    held: u64,
    gpus: u32,
}

impl TooBig {
    /// Compares the weights, in the compute type of `settings`, with the memory; none where either is unknown.
    pub(super) fn of(question: &Question, settings: &Settings, target: &Target) -> Option<Self> {
        let (bytes, one) = (question.weight_bytes?, target.memory_bytes?);
        let weights = on_the_gpu(bytes, settings)?;
        let gpus = match Framework::find(&question.framework) {
            Some(_) => target.equals.max(1),
            None => 1,
        };
        let memory = one.checked_mul(u64::from(gpus))?;
        let held = one.saturating_sub(target.memory_free_bytes.unwrap_or(one));
        let free = memory - held.saturating_mul(u64::from(gpus)).min(memory);
        (weights > free).then_some(Self { weights, memory, held: memory - free, gpus })
    }

    pub(super) fn evidence(self) -> Evidence {
        Evidence {
            level: Level::Rule,
            outcome: Outcome::Fails,
            id: ID.to_owned(),
            detail: self.reason(),
            source: "size of the model files against GPU memory".to_owned(),
            retrieved: "now".to_owned(),
        }
    }

    pub(super) fn reason(self) -> String {
        let gpus = match self.gpus {
            1 => "this GPU has".to_owned(),
            gpus => format!("{gpus} such GPUs have"),
        };
        let held = match self.held {
            0 => String::new(),
            held => format!(", of which {} are in use", gib(held)),
        };
        format!(
            "the weights alone need {}, and {gpus} {}{held}",
            gib(self.weights),
            gib(self.memory)
        )
    }

    pub(super) fn needs(self) -> String {
        let gpus =
            if self.gpus == 1 { "one GPU".to_owned() } else { format!("{} GPUs", self.gpus) };
        format!(
            "more than {} of free memory on {gpus}, or fewer bytes per weight",
            gib(self.weights)
        )
    }

    pub(super) fn has(self) -> String {
        format!("{} memory", gib(self.memory))
    }
}

/// Bytes once loaded. Packed weights keep their size; others change with the compute type.
fn on_the_gpu(bytes: u64, settings: &Settings) -> Option<u64> {
    let packed = settings.get("quantization").is_some_and(|format| format != "none");
    if packed {
        return Some(bytes);
    }
    let width = |key: &str| {
        let id = settings.get(key)?;
        WIDTHS.iter().find(|row| row.0 == id).map(|row| row.1)
    };
    let saved = width("checkpoint_dtype")?;
    match settings.get("dtype") {
        // Checkpoints saved in 32 bits are often loaded in 16; those saved in 16 stay so.
        None | Some("auto") => (saved == 2).then_some(bytes),
        Some(_) => (bytes / saved).checked_mul(width("dtype")?),
    }
}

/// `15.3 GiB`.
pub(super) fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn target(gib: Option<u64>) -> Target {
        Target { memory_bytes: gib.map(|gib| gib * GIB), ..Target::default() }
    }

    #[test]
    fn equal_gpus_share_a_model_where_the_framework_can() {
        let settings = Settings::new([("quantization", "awq")]).expect("good settings");
        let question = |framework: &str| Question {
            weight_bytes: Some(18 * GIB),
            framework: framework.to_owned(),
            ..Question::default()
        };
        let two = Target { equals: 2, ..target(Some(15)) };
        assert_eq!(TooBig::of(&question("vllm"), &settings, &two), None);
        assert!(TooBig::of(&question("nonesuch"), &settings, &two).is_some());
        assert!(TooBig::of(&question("vllm"), &settings, &target(Some(15))).is_some());
        let held = Target { memory_free_bytes: Some(8 * GIB), ..two };
        let found = TooBig::of(&question("vllm"), &settings, &held).expect("others hold 14 GiB");
        assert!(found.reason().contains("of which 14.0 GiB are in use"), "{}", found.reason());
    }

    fn verdict(gib: u64, pairs: &[(&str, &str)], memory: Option<u64>) -> bool {
        let settings = Settings::new(pairs.iter().copied()).expect("good settings");
        let question = Question { weight_bytes: Some(gib * GIB), ..Question::default() };
        TooBig::of(&question, &settings, &target(memory)).is_some()
    }

    #[test]
    fn weights_are_counted_in_the_type_they_are_computed_in() {
        let bf16 = ("checkpoint_dtype", "bf16");
        assert!(verdict(61, &[bf16, ("dtype", "bf16")], Some(32)));
        assert!(verdict(20, &[bf16, ("dtype", "fp32")], Some(32)));
        assert!(!verdict(20, &[bf16, ("dtype", "auto")], Some(32)));
        let fp32 = ("checkpoint_dtype", "fp32");
        assert!(!verdict(40, &[fp32, ("dtype", "fp16")], Some(32)));
        assert!(verdict(40, &[("quantization", "awq"), ("dtype", "fp16")], Some(32)));
    }

    #[test]
    fn an_unknown_size_decides_nothing() {
        let bf16 = ("checkpoint_dtype", "bf16");
        assert!(!verdict(900, &[bf16, ("dtype", "bf16")], None));
        assert!(!verdict(900, &[("dtype", "bf16")], Some(32)));
        assert!(!verdict(900, &[("checkpoint_dtype", "fp32"), ("dtype", "auto")], Some(32)));
        let none = TooBig::of(&Question::default(), &Settings::default(), &target(Some(1)));
        assert_eq!(none, None);
    }
}
