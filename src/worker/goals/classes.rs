//! Floors and targets by class of device. Why they are within reach is said in [`SOURCES`].

use warpscope_kernels::Sm;

use super::table::Measure;

/// What is to be reached; a ratio, or microseconds where less is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aim {
    /// Less than this is of no use; nothing where only the target was set.
    pub floor: Option<f64>,
    /// What good kernels reach.
    pub target: f64,
}

/// Devices of which the same can be asked.
pub struct Class {
    /// Their compute capabilities.
    pub sms: &'static [(u8, u8)],
    /// Floors and targets, in the order of [`SOURCES`].
    pub aims: [Option<Aim>; SOURCES.len()],
}

const NONE: Option<Aim> = None;

const fn only(target: f64) -> Option<Aim> {
    Some(Aim { floor: None, target })
}

const fn both(floor: f64, target: f64) -> Option<Aim> {
    Some(Aim { floor: Some(floor), target })
}

/// The columns of the table of classes, and what each rests on.
#[rustfmt::skip]
pub const SOURCES: &[(Measure, &str)] = &[
    (Measure::Gemm16, "open kernels by cuBLAS: 1.02 to 1.07 on an H100 (github.com/pranjalssh/fast.cu), 0.94 to 1.00 on A100 and Titan V (NVIDIA/cutlass 2.8)"),
    (Measure::Gemm8, "fp8 kernels of github.com/deepseek-ai/DeepGEMM; cuBLASLt reaches 71 to 78% of the data sheets"),
    (Measure::Gemv16, "0.99 of a copy at 822 MB on an H200: github.com/tile-ai/TileOPs pull requests 243 and 244"),
    (Measure::W4One, "Marlin's curves on an A10, real layers on an A100: github.com/IST-DASLab/marlin"),
    (Measure::W4Sixteen, "Marlin at batch 16: 3.6 to 3.9 of an ideal 3.87 on GDDR, 2.2 to 3.65 on an A100"),
    (Measure::W4Time, "1.3 times as fast as Marlin's 26.9 µs on an H100, whose cache state was not said: github.com/inclusionAI/humming pull request 2"),
    (Measure::Nf4One, "instructions a weight of a table of pairs that feeds the tensor cores; bitsandbytes-foundation/bitsandbytes pull request 1949"),
    (Measure::Attention, "FlashAttention-3 by cuBLAS 0.76, FlashAttention-2 0.42 on an H100: github.com/Dao-AILab/flash-attention"),
    (Measure::Decode16, "a megakernel's 78% on an H100, engines of the trade up to 50%: HazyResearch, Look Ma, No Bubbles"),
    (Measure::Decode4, "small models at four bits: 37 to 43% on RTX 3090 Ti and 4090, github.com/turboderp-org/exllamav2"),
];

/// The classes, ascending. P100 and GTX 10 are asked for what memory limits only: their products go by other means than tensor cores.
#[rustfmt::skip]
pub const CLASSES: &[Class] = &[
    // Gemm16, Gemm8, Gemv16, W4One, W4Sixteen;
    // W4Time, Nf4One, Attention, Decode16, Decode4.
    Class { sms: &[(6, 0)], aims: [
        NONE,             NONE,             both(0.85, 0.92), both(0.55, 0.75), NONE,
        NONE,             both(0.45, 0.60), NONE,             both(0.60, 0.70), both(0.40, 0.55),
    ] },
    Class { sms: &[(6, 1)], aims: [
        NONE,             NONE,             both(0.88, 0.93), both(0.75, 0.88), NONE,
        NONE,             both(0.60, 0.75), NONE,             both(0.65, 0.75), both(0.50, 0.65),
    ] },
    Class { sms: &[(7, 0)], aims: [
        both(0.75, 0.92), NONE,             both(0.88, 0.94), both(0.75, 0.88), both(0.60, 0.80),
        NONE,             both(0.65, 0.80), both(0.30, 0.45), both(0.60, 0.72), both(0.40, 0.55),
    ] },
    Class { sms: &[(7, 5)], aims: [
        both(0.80, 0.90), only(0.85),       both(0.90, 0.95), both(0.85, 0.92), both(0.75, 0.88),
        NONE,             both(0.75, 0.87), both(0.40, 0.55), both(0.70, 0.80), both(0.55, 0.70),
    ] },
    Class { sms: &[(8, 0)], aims: [
        both(0.90, 0.97), only(0.85),       both(0.88, 0.94), both(0.75, 0.88), both(0.70, 0.85),
        NONE,             both(0.65, 0.80), both(0.60, 0.75), both(0.60, 0.72), both(0.35, 0.50),
    ] },
    Class { sms: &[(8, 6), (8, 9)], aims: [
        both(0.90, 0.97), only(0.85),       both(0.92, 0.96), both(0.88, 0.94), both(0.85, 0.93),
        NONE,             both(0.85, 0.92), both(0.60, 0.78), both(0.70, 0.80), both(0.50, 0.65),
    ] },
    Class { sms: &[(9, 0)], aims: [
        both(0.88, 0.97), only(0.85),       both(0.85, 0.93), both(0.65, 0.80), both(0.60, 0.78),
        only(20.5),       both(0.55, 0.75), both(0.50, 0.65), both(0.55, 0.70), both(0.30, 0.45),
    ] },
    Class { sms: &[(10, 0), (10, 3)], aims: [
        NONE,             NONE,             both(0.80, 0.90), both(0.50, 0.70), both(0.45, 0.65),
        NONE,             both(0.40, 0.60), both(0.30, 0.50), both(0.45, 0.60), both(0.25, 0.40),
    ] },
    Class { sms: &[(12, 0), (12, 1)], aims: [
        both(0.85, 0.95), only(0.85),       both(0.90, 0.95), both(0.85, 0.93), both(0.80, 0.90),
        NONE,             both(0.80, 0.90), both(0.55, 0.70), both(0.60, 0.72), both(0.45, 0.60),
    ] },
];

/// What a device is to reach; nothing where nobody set anything.
pub fn aim(sm: Sm, measure: Measure) -> Option<Aim> {
    let class = CLASSES.iter().find(|class| class.sms.contains(&(sm.major, sm.minor)))?;
    class.aims[SOURCES.iter().position(|row| row.0 == measure)?]
}

#[cfg(test)]
mod tests {
    use super::super::table::GOALS;
    use super::*;

    #[test]
    fn floors_lie_below_targets_and_each_column_says_what_it_rests_on() {
        for class in CLASSES {
            for ((measure, _), aim) in SOURCES.iter().zip(class.aims) {
                let Some(Aim { floor, target }) = aim else { continue };
                assert!(floor.is_none_or(|floor| floor < target), "{:?} {measure:?}", class.sms);
                assert!(GOALS.iter().any(|goal| goal.measure == *measure), "{measure:?}");
                assert!(*measure == Measure::W4Time || target < 1.1);
            }
        }
        assert!(SOURCES.is_sorted_by(|a, b| a.0 < b.0), "each column stands once, in order");
        let all: Vec<(u8, u8)> = CLASSES.iter().flat_map(|class| class.sms).copied().collect();
        assert!(all.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn a_device_nobody_set_anything_for_has_no_aims() {
        assert_eq!(aim(Sm::new(5, 2), Measure::Gemv16), None);
        assert_eq!(aim(Sm::new(10, 0), Measure::Gemm16), None);
        let hopper = aim(Sm::new(9, 0), Measure::Gemm16);
        assert_eq!(hopper, Some(Aim { floor: Some(0.88), target: 0.97 }));
    }
}
