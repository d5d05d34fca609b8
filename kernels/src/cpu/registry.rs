//! Every matrix-vector kernel, best first within its format.

use std::ops::Range;

use half::{bf16, f16};

use super::feature::Feature;
use super::format::Format;
use super::matrix::{Int4, Matrix, Weights};
use super::portable;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// A kernel for `y = W·x`: weights row by row, inputs holding values of the format, outputs in fp32.
#[derive(Clone, Copy)]
pub enum Gemv {
    /// binary32 weights.
    Fp32(fn(&[f32], &[f32], &mut [f32])),
    /// binary16 weights.
    Fp16(fn(&[f16], &[f32], &mut [f32])),
    /// bfloat16 weights.
    Bf16(fn(&[bf16], &[f32], &mut [f32])),
    /// 4-bit weights; the inputs' length is a multiple of 128.
    Int4(fn(Int4<'_>, &[f32], &mut [f32])),
}

/// One kernel of the registry.
pub struct KernelSpec {
    /// Stable id: `gemv.bf16.vdpbf16ps`.
    pub id: &'static str,
    /// Format of the weights.
    pub format: Format,
    /// Instruction sets it uses.
    pub needs: &'static [Feature],
    /// The kernel. It panics on a CPU that lacks what it needs.
    pub run: Gemv,
}

#[cfg(target_arch = "x86_64")]
const F16C: &[Feature] = &[Feature::Avx2, Feature::Fma, Feature::F16c];

const fn spec(
    id: &'static str,
    format: Format,
    needs: &'static [Feature],
    run: Gemv,
) -> KernelSpec {
    KernelSpec { id, format, needs, run }
}

/// Every kernel, best first within its format; the last of each format runs everywhere.
pub const KERNELS: &[KernelSpec] = &[
    #[cfg(target_arch = "x86_64")]
    spec("gemv.fp32.avx512", Format::Fp32, avx512::FLOAT, Gemv::Fp32(avx512::gemv_fp32)),
    #[cfg(target_arch = "x86_64")]
    spec("gemv.fp32.avx2", Format::Fp32, avx2::AVX2, Gemv::Fp32(avx2::gemv_fp32)),
    spec("gemv.fp32.portable", Format::Fp32, &[], Gemv::Fp32(portable::gemv_fp32)),
    #[cfg(target_arch = "x86_64")]
    spec("gemv.fp16.avx512", Format::Fp16, avx512::FLOAT, Gemv::Fp16(avx512::gemv_fp16)),
    #[cfg(target_arch = "x86_64")]
    spec("gemv.fp16.f16c", Format::Fp16, F16C, Gemv::Fp16(avx2::gemv_fp16)),
    spec("gemv.fp16.portable", Format::Fp16, &[], Gemv::Fp16(portable::gemv_fp16)),
    #[cfg(target_arch = "x86_64")]
    spec("gemv.bf16.vdpbf16ps", Format::Bf16, avx512::BF16, Gemv::Bf16(avx512::gemv_bf16)),
    #[cfg(target_arch = "x86_64")]
    spec("gemv.bf16.avx2", Format::Bf16, avx2::AVX2, Gemv::Bf16(avx2::gemv_bf16)),
    spec("gemv.bf16.portable", Format::Bf16, &[], Gemv::Bf16(portable::gemv_bf16)),
    #[cfg(target_arch = "x86_64")]
    spec("gemv.int4.vnni", Format::Int4, avx512::VNNI, Gemv::Int4(avx512::gemv_int4_vnni)),
    #[cfg(target_arch = "x86_64")]
    spec("gemv.int4.avx512", Format::Int4, avx512::FLOAT, Gemv::Int4(avx512::gemv_int4)),
    #[cfg(target_arch = "x86_64")]
    spec("gemv.int4.avx2", Format::Int4, avx2::AVX2, Gemv::Int4(avx2::gemv_int4)),
    spec("gemv.int4.portable", Format::Int4, &[], Gemv::Int4(portable::gemv_int4)),
];

impl KernelSpec {
    /// Whether this CPU can run it.
    pub fn is_usable(&self) -> bool {
        self.needs.iter().all(|feature| feature.is_present())
    }

    /// `y = W·x` for a range of rows.
    pub fn run_rows(&self, matrix: &Matrix, rows: Range<usize>, x: &[f32], y: &mut [f32]) {
        let span = rows.start * matrix.cols()..rows.end * matrix.cols();
        match (self.run, matrix.weights()) {
            (Gemv::Fp32(run), Weights::Fp32(w)) => run(&w[span], x, y),
            (Gemv::Fp16(run), Weights::Fp16(w)) => run(&w[span], x, y),
            (Gemv::Bf16(run), Weights::Bf16(w)) => run(&w[span], x, y),
            (Gemv::Int4(run), Weights::Int4 { .. }) => run(matrix.int4_rows(rows), x, y),
            _ => panic!("kernel {} given {} weights", self.id, matrix.format()),
        }
    }
}

/// The best kernel of a format that this CPU can run.
pub fn pick(format: Format) -> &'static KernelSpec {
    let of_format = KERNELS.iter().filter(|k| k.format == format);
    of_format.into_iter().find(|k| k.is_usable()).expect("the portable kernels run everywhere")
}
