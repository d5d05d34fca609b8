//! Ways to compute one kernel, and which of them a device was found to do best.
//!
//! A kernel has a static choice for every size, good enough without any measurement. What was measured on the very device overrules it, for
//! sizes near the measured ones only: what is best at 8192 says nothing of 16 tokens.

use serde::{Deserialize, Serialize};

use super::shape::Shape;

/// Most variants of a kernel on one device: more are not worth their bytes nor the time to try them.
pub const MOST_VARIANTS: usize = 8;

/// One way to compute a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Stable name, part of records: `128x256x32s3`.
    pub name: &'static str,
    /// What it is, in half a sentence: `large tiles, three stages`.
    pub what: &'static str,
}

/// A variant chosen for a kernel at a size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunedConfig {
    /// Kernel: `gemm.f16`.
    pub kernel: String,
    /// Size it was chosen at; `None` for every size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// Name of the variant.
    pub variant: String,
}

/// Variants chosen for a device, by measurement or by a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TunedConfigs(Vec<TunedConfig>);

impl TunedConfigs {
    /// These choices; of two for the same kernel and size the later counts.
    pub fn new(picked: Vec<TunedConfig>) -> Self {
        Self(picked)
    }

    /// Every choice.
    pub fn all(&self) -> &[TunedConfig] {
        &self.0
    }

    /// Whether nothing was chosen.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The variant to take for a size: what was chosen for every size, else at the nearest size of which no dimension differs by more than a
    /// factor of two; `None` leaves it to the kernel.
    pub fn choose(&self, kernel: &str, shape: Shape) -> Option<&str> {
        let near = |picked: &&TunedConfig| {
            picked.kernel == kernel && picked.shape.is_none_or(|at| distance(at, shape).is_some())
        };
        let far = |picked: &&TunedConfig| {
            picked.shape.map_or(0.0, |at| distance(at, shape).unwrap_or(0.0))
        };
        let nearest = self.0.iter().rev().filter(near).min_by(|a, b| far(a).total_cmp(&far(b)));
        nearest.map(|picked| &picked.variant[..])
    }

    /// The same, and this variant of this kernel at every size.
    #[must_use]
    pub fn forced(&self, kernel: &str, variant: &str) -> Self {
        let mut all: Vec<TunedConfig> =
            self.0.iter().filter(|one| one.kernel != kernel).cloned().collect();
        all.push(TunedConfig {
            kernel: kernel.to_owned(),
            shape: None,
            variant: variant.to_owned(),
        });
        Self(all)
    }
}

/// How far apart two sizes are, in doublings of all dimensions; `None` where one differs by more than a factor of two.
fn distance(a: Shape, b: Shape) -> Option<f64> {
    if (a.group, a.context == 0) != (b.group, b.context == 0) {
        return None;
    }
    let pairs = [(a.m, b.m), (a.n, b.n), (a.k, b.k), (a.context, b.context)];
    pairs.into_iter().try_fold(0.0, |sum, (a, b)| {
        let apart = (f64::from(a.max(1)) / f64::from(b.max(1))).log2().abs();
        (apart <= 1.0).then_some(sum + apart)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube(side: u32) -> Shape {
        Shape { m: side, n: side, k: side, ..Shape::default() }
    }

    fn picked(kernel: &str, shape: Option<Shape>, variant: &str) -> TunedConfig {
        TunedConfig { kernel: kernel.to_owned(), shape, variant: variant.to_owned() }
    }

    #[test]
    fn a_choice_holds_near_the_size_it_was_made_at() {
        let tuned = TunedConfigs::new(vec![
            picked("gemm.f16", Some(cube(2048)), "small"),
            picked("gemm.f16", Some(cube(8192)), "large"),
        ]);
        assert_eq!(tuned.choose("gemm.f16", cube(2048)), Some("small"));
        assert_eq!(tuned.choose("gemm.f16", cube(3000)), Some("small"));
        assert_eq!(tuned.choose("gemm.f16", cube(6000)), Some("large"));
        assert_eq!(tuned.choose("gemm.f16", cube(512)), None);
        assert_eq!(tuned.choose("gemm.f16", Shape { m: 16, ..cube(8192) }), None);
        assert_eq!(tuned.choose("gemm.bf16", cube(2048)), None);
    }

    #[test]
    fn what_is_forced_holds_at_every_size_and_a_later_choice_counts() {
        let tuned = TunedConfigs::new(vec![picked("gemm.f16", Some(cube(2048)), "small")]);
        assert_eq!(tuned.forced("gemm.f16", "large").choose("gemm.f16", cube(16)), Some("large"));
        let twice = TunedConfigs::new(vec![
            picked("gemm.f16", Some(cube(2048)), "first"),
            picked("gemm.f16", Some(cube(2048)), "second"),
        ]);
        assert_eq!(twice.choose("gemm.f16", cube(2048)), Some("second"));
    }
}
