use std::collections::BTreeMap;

use serde::Deserialize;

use super::arch::Arch;
use super::part::{Part, PeakBasis, TensorRate};

/// One way to compute whose peak throughput is known or follows from clock × SMs × rate. Dense, never sparse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Peak {
    /// FP64 on CUDA cores.
    Fp64,
    /// FP64 on tensor cores.
    Fp64Tensor,
    /// FP32 on CUDA cores.
    Fp32,
    /// FP16 on CUDA cores, two to a register.
    Fp16x2,
    /// bf16 on CUDA cores, two to a register.
    Bf16x2,
    /// INT8 on CUDA cores, four to an instruction.
    Dp4a,
    /// FP16 on tensor cores, FP16 accumulation.
    Fp16TensorFp16acc,
    /// FP16 on tensor cores, FP32 accumulation.
    Fp16Tensor,
    /// bf16 on tensor cores.
    Bf16Tensor,
    /// TF32 on tensor cores.
    Tf32Tensor,
    /// FP8 on tensor cores, FP16 accumulation; also block-scaled FP8 on GeForce Blackwell.
    Fp8TensorFp16acc,
    /// FP8 on tensor cores, FP32 accumulation.
    Fp8Tensor,
    /// FP6 on tensor cores.
    Fp6Tensor,
    /// FP4 on tensor cores.
    Fp4Tensor,
    /// INT8 on tensor cores.
    Int8Tensor,
    /// INT4 on tensor cores.
    Int4Tensor,
    /// One bit on tensor cores.
    B1Tensor,
}

/// One row per [`Peak`]: id in fact files, label, operations per unit of the architecture's rate,
/// and whether NVIDIA quotes it at the tensor clock.
pub const PEAKS: &[(Peak, &str, &str, f64, bool)] = &[
    (Peak::Fp64, "fp64", "FP64", 2.0, false),
    (Peak::Fp64Tensor, "fp64_tensor", "FP64 tensor", 2.0, false),
    (Peak::Fp32, "fp32", "FP32", 2.0, false),
    (Peak::Fp16x2, "fp16x2", "FP16 CUDA core", 2.0, false),
    (Peak::Bf16x2, "bf16x2", "BF16 CUDA core", 2.0, false),
    (Peak::Dp4a, "dp4a", "INT8 dp4a", 8.0, false),
    (Peak::Fp16TensorFp16acc, "fp16_tensor_fp16acc", "FP16 tensor, FP16 sums", 2.0, true),
    (Peak::Fp16Tensor, "fp16_tensor", "FP16 tensor", 2.0, true),
    (Peak::Bf16Tensor, "bf16_tensor", "BF16 tensor", 2.0, true),
    (Peak::Tf32Tensor, "tf32_tensor", "TF32 tensor", 2.0, true),
    (Peak::Fp8TensorFp16acc, "fp8_tensor_fp16acc", "FP8 tensor, FP16 sums", 2.0, true),
    (Peak::Fp8Tensor, "fp8_tensor", "FP8 tensor", 2.0, true),
    (Peak::Fp6Tensor, "fp6_tensor", "FP6 tensor", 2.0, true),
    (Peak::Fp4Tensor, "fp4_tensor", "FP4 tensor", 2.0, true),
    (Peak::Int8Tensor, "int8_tensor", "INT8 tensor", 2.0, true),
    (Peak::Int4Tensor, "int4_tensor", "INT4 tensor", 2.0, true),
    (Peak::B1Tensor, "b1_tensor", "1-bit tensor", 2.0, true),
];

/// Peaks by kind: dense TFLOPS, or TOPS for integers; or rates per clock and SM.
pub type Peaks = BTreeMap<Peak, f64>;

impl Peak {
    fn row(self) -> &'static (Peak, &'static str, &'static str, f64, bool) {
        PEAKS.iter().find(|row| row.0 == self).expect("every peak has a row")
    }

    /// Id in fact files.
    pub fn id(self) -> &'static str {
        self.row().1
    }

    /// Label for the screen.
    pub fn label(self) -> &'static str {
        self.row().2
    }

    fn operations(self) -> f64 {
        self.row().3
    }

    fn at_tensor_clock(self) -> bool {
        self.row().4
    }

    fn on_tensor_cores(self) -> bool {
        self.at_tensor_clock() || self == Self::Fp64Tensor
    }
}

impl Part {
    /// Dense TFLOPS (TOPS for integers) that SMs × clock × rate gives; `None` where the hardware
    /// cannot do it or the rate of the architecture is unknown.
    pub fn computed_peak(&self, peak: Peak, arch: &Arch) -> Option<f64> {
        let rate = *arch.rates.get(&peak)?;
        let rate = match self.tensor_rate {
            _ if !peak.on_tensor_cores() => rate,
            TensorRate::None => return None,
            TensorRate::Full => rate,
            TensorRate::Half => *arch.half_rate.get(&peak).unwrap_or(&rate),
            TensorRate::AllHalf => rate / 2.0,
        };
        let mhz = match self.tensor_clock_mhz {
            Some(mhz) if peak.at_tensor_clock() => mhz,
            _ => self.boost_mhz,
        };
        Some(peak.operations() * f64::from(self.sms) * mhz * rate * 1e-6)
    }

    /// The peak to judge by, in dense TFLOPS (TOPS for integers): computed or published as
    /// [`Part::peak_basis`] says. `None` where neither can be believed.
    pub fn peak(&self, peak: Peak, arch: &Arch) -> Option<f64> {
        let published = self.spec.get(&peak).copied();
        match self.peak_basis {
            PeakBasis::Computed => self.computed_peak(peak, arch),
            PeakBasis::Published => published.or_else(|| self.computed_peak(peak, arch)),
            PeakBasis::Capped if self.capped.contains(&peak) => published,
            PeakBasis::Capped => self.computed_peak(peak, arch),
            PeakBasis::Measured if peak.on_tensor_cores() => published,
            PeakBasis::Measured => self.computed_peak(peak, arch),
        }
    }
}
