//! Whether the weights alone fit into the memory of one GPU. A lower bound: it can say that a model does not fit, never that it does.

use warpscope_probes::rules::Settings;

use super::question::Question;
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
}

impl TooBig {
    /// Compares the weights, in the compute type of `settings`, with the memory; none where either is unknown.
    pub(super) fn of(
        question: &Question,
        settings: &Settings,
        memory: Option<u64>,
    ) -> Option<Self> {
        let (bytes, memory) = (question.weight_bytes?, memory?);
        let weights = on_the_gpu(bytes, settings)?;
        (weights > memory).then_some(Self { weights, memory })
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
        format!(
            "the weights alone need {}, and this GPU has {}",
            gib(self.weights),
            gib(self.memory)
        )
    }

    pub(super) fn needs(self) -> String {
        format!("more than {} of memory on one GPU, or fewer bytes per weight", gib(self.weights))
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

    fn verdict(gib: u64, pairs: &[(&str, &str)], memory: Option<u64>) -> bool {
        let settings = Settings::new(pairs.iter().copied()).expect("good settings");
        let question = Question { weight_bytes: Some(gib * GIB), ..Question::default() };
        TooBig::of(&question, &settings, memory.map(|gib| gib * GIB)).is_some()
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
        let none = TooBig::of(&Question::default(), &Settings::default(), Some(GIB));
        assert_eq!(none, None);
    }
}
