//! Every form of `mma.sync.aligned` there is an entry for.

use super::Mma;
use super::element::{Bf16, E4m3, E5m2, F16, F32, S4, S8, Tf32, U4, U8};
use super::tile::{double, float, integer};
use super::volta::quad_pairs;

/// One entry: name, registers of A, B, C and D, function.
macro_rules! forms {
    ($($name:expr, $a:literal $b:literal $c:literal $d:literal, $run:expr;)*) => {
        &[$(Mma { name: $name, a: $a, b: $b, c: $c, d: $d, run: $run }),*]
    };
}

/// All of them.
pub static MMAS: &[Mma] = forms![
    "m8n8k4.row.row.f32.f16.f16.f32", 2 2 8 8, quad_pairs::<F32, F32, true, false>;
    "m8n8k4.row.col.f32.f16.f16.f32", 2 2 8 8, quad_pairs::<F32, F32, true, true>;
    "m8n8k4.col.row.f32.f16.f16.f32", 2 2 8 8, quad_pairs::<F32, F32, false, false>;
    "m8n8k4.col.col.f32.f16.f16.f32", 2 2 8 8, quad_pairs::<F32, F32, false, true>;
    "m8n8k4.row.row.f32.f16.f16.f16", 2 2 4 8, quad_pairs::<F16, F32, true, false>;
    "m8n8k4.row.col.f32.f16.f16.f16", 2 2 4 8, quad_pairs::<F16, F32, true, true>;
    "m8n8k4.col.row.f32.f16.f16.f16", 2 2 4 8, quad_pairs::<F16, F32, false, false>;
    "m8n8k4.col.col.f32.f16.f16.f16", 2 2 4 8, quad_pairs::<F16, F32, false, true>;
    "m8n8k4.row.row.f16.f16.f16.f16", 2 2 4 4, quad_pairs::<F16, F16, true, false>;
    "m8n8k4.row.col.f16.f16.f16.f16", 2 2 4 4, quad_pairs::<F16, F16, true, true>;
    "m8n8k4.col.row.f16.f16.f16.f16", 2 2 4 4, quad_pairs::<F16, F16, false, false>;
    "m8n8k4.col.col.f16.f16.f16.f16", 2 2 4 4, quad_pairs::<F16, F16, false, true>;
    "m8n8k4.row.col.f64.f64.f64.f64", 2 2 4 4, double;

    "m16n8k8.row.col.f32.f16.f16.f32", 2 1 4 4, float::<F16, F16, F32, 16, 8>;
    "m16n8k8.row.col.f16.f16.f16.f16", 2 1 2 2, float::<F16, F16, F16, 16, 8>;
    "m16n8k8.row.col.f32.bf16.bf16.f32", 2 1 4 4, float::<Bf16, Bf16, F32, 16, 8>;
    "m16n8k16.row.col.f32.f16.f16.f32", 4 2 4 4, float::<F16, F16, F32, 16, 16>;
    "m16n8k16.row.col.f16.f16.f16.f16", 4 2 2 2, float::<F16, F16, F16, 16, 16>;
    "m16n8k16.row.col.f32.bf16.bf16.f32", 4 2 4 4, float::<Bf16, Bf16, F32, 16, 16>;
    "m16n8k4.row.col.f32.tf32.tf32.f32", 2 1 4 4, float::<Tf32, Tf32, F32, 16, 4>;
    "m16n8k8.row.col.f32.tf32.tf32.f32", 4 2 4 4, float::<Tf32, Tf32, F32, 16, 8>;

    "m16n8k16.row.col.f32.e4m3.e4m3.f32", 2 1 4 4, float::<E4m3, E4m3, F32, 16, 16>;
    "m16n8k16.row.col.f32.e4m3.e5m2.f32", 2 1 4 4, float::<E4m3, E5m2, F32, 16, 16>;
    "m16n8k16.row.col.f32.e5m2.e4m3.f32", 2 1 4 4, float::<E5m2, E4m3, F32, 16, 16>;
    "m16n8k16.row.col.f32.e5m2.e5m2.f32", 2 1 4 4, float::<E5m2, E5m2, F32, 16, 16>;
    "m16n8k16.row.col.f16.e4m3.e4m3.f16", 2 1 2 2, float::<E4m3, E4m3, F16, 16, 16>;
    "m16n8k16.row.col.f16.e4m3.e5m2.f16", 2 1 2 2, float::<E4m3, E5m2, F16, 16, 16>;
    "m16n8k16.row.col.f16.e5m2.e4m3.f16", 2 1 2 2, float::<E5m2, E4m3, F16, 16, 16>;
    "m16n8k16.row.col.f16.e5m2.e5m2.f16", 2 1 2 2, float::<E5m2, E5m2, F16, 16, 16>;
    "m16n8k32.row.col.f32.e4m3.e4m3.f32", 4 2 4 4, float::<E4m3, E4m3, F32, 16, 32>;
    "m16n8k32.row.col.f32.e4m3.e5m2.f32", 4 2 4 4, float::<E4m3, E5m2, F32, 16, 32>;
    "m16n8k32.row.col.f32.e5m2.e4m3.f32", 4 2 4 4, float::<E5m2, E4m3, F32, 16, 32>;
    "m16n8k32.row.col.f32.e5m2.e5m2.f32", 4 2 4 4, float::<E5m2, E5m2, F32, 16, 32>;
    "m16n8k32.row.col.f16.e4m3.e4m3.f16", 4 2 2 2, float::<E4m3, E4m3, F16, 16, 32>;
    "m16n8k32.row.col.f16.e4m3.e5m2.f16", 4 2 2 2, float::<E4m3, E5m2, F16, 16, 32>;
    "m16n8k32.row.col.f16.e5m2.e4m3.f16", 4 2 2 2, float::<E5m2, E4m3, F16, 16, 32>;
    "m16n8k32.row.col.f16.e5m2.e5m2.f16", 4 2 2 2, float::<E5m2, E5m2, F16, 16, 32>;

    "m8n8k16.row.col.s32.s8.s8.s32", 1 1 2 2, integer::<S8, S8, 8, 16, false>;
    "m8n8k16.row.col.s32.s8.u8.s32", 1 1 2 2, integer::<S8, U8, 8, 16, false>;
    "m8n8k16.row.col.s32.u8.s8.s32", 1 1 2 2, integer::<U8, S8, 8, 16, false>;
    "m8n8k16.row.col.s32.u8.u8.s32", 1 1 2 2, integer::<U8, U8, 8, 16, false>;
    "m8n8k16.row.col.satfinite.s32.s8.s8.s32", 1 1 2 2, integer::<S8, S8, 8, 16, true>;
    "m8n8k16.row.col.satfinite.s32.s8.u8.s32", 1 1 2 2, integer::<S8, U8, 8, 16, true>;
    "m8n8k16.row.col.satfinite.s32.u8.s8.s32", 1 1 2 2, integer::<U8, S8, 8, 16, true>;
    "m8n8k16.row.col.satfinite.s32.u8.u8.s32", 1 1 2 2, integer::<U8, U8, 8, 16, true>;
    "m16n8k16.row.col.s32.s8.s8.s32", 2 1 4 4, integer::<S8, S8, 16, 16, false>;
    "m16n8k16.row.col.s32.s8.u8.s32", 2 1 4 4, integer::<S8, U8, 16, 16, false>;
    "m16n8k16.row.col.s32.u8.s8.s32", 2 1 4 4, integer::<U8, S8, 16, 16, false>;
    "m16n8k16.row.col.s32.u8.u8.s32", 2 1 4 4, integer::<U8, U8, 16, 16, false>;
    "m16n8k16.row.col.satfinite.s32.s8.s8.s32", 2 1 4 4, integer::<S8, S8, 16, 16, true>;
    "m16n8k16.row.col.satfinite.s32.s8.u8.s32", 2 1 4 4, integer::<S8, U8, 16, 16, true>;
    "m16n8k16.row.col.satfinite.s32.u8.s8.s32", 2 1 4 4, integer::<U8, S8, 16, 16, true>;
    "m16n8k16.row.col.satfinite.s32.u8.u8.s32", 2 1 4 4, integer::<U8, U8, 16, 16, true>;
    "m16n8k32.row.col.s32.s8.s8.s32", 4 2 4 4, integer::<S8, S8, 16, 32, false>;
    "m16n8k32.row.col.s32.s8.u8.s32", 4 2 4 4, integer::<S8, U8, 16, 32, false>;
    "m16n8k32.row.col.s32.u8.s8.s32", 4 2 4 4, integer::<U8, S8, 16, 32, false>;
    "m16n8k32.row.col.s32.u8.u8.s32", 4 2 4 4, integer::<U8, U8, 16, 32, false>;
    "m16n8k32.row.col.satfinite.s32.s8.s8.s32", 4 2 4 4, integer::<S8, S8, 16, 32, true>;
    "m16n8k32.row.col.satfinite.s32.s8.u8.s32", 4 2 4 4, integer::<S8, U8, 16, 32, true>;
    "m16n8k32.row.col.satfinite.s32.u8.s8.s32", 4 2 4 4, integer::<U8, S8, 16, 32, true>;
    "m16n8k32.row.col.satfinite.s32.u8.u8.s32", 4 2 4 4, integer::<U8, U8, 16, 32, true>;
    "m8n8k32.row.col.s32.s4.s4.s32", 1 1 2 2, integer::<S4, S4, 8, 32, false>;
    "m8n8k32.row.col.s32.s4.u4.s32", 1 1 2 2, integer::<S4, U4, 8, 32, false>;
    "m8n8k32.row.col.s32.u4.s4.s32", 1 1 2 2, integer::<U4, S4, 8, 32, false>;
    "m8n8k32.row.col.s32.u4.u4.s32", 1 1 2 2, integer::<U4, U4, 8, 32, false>;
    "m8n8k32.row.col.satfinite.s32.s4.s4.s32", 1 1 2 2, integer::<S4, S4, 8, 32, true>;
    "m8n8k32.row.col.satfinite.s32.s4.u4.s32", 1 1 2 2, integer::<S4, U4, 8, 32, true>;
    "m8n8k32.row.col.satfinite.s32.u4.s4.s32", 1 1 2 2, integer::<U4, S4, 8, 32, true>;
    "m8n8k32.row.col.satfinite.s32.u4.u4.s32", 1 1 2 2, integer::<U4, U4, 8, 32, true>;
    "m16n8k32.row.col.s32.s4.s4.s32", 2 1 4 4, integer::<S4, S4, 16, 32, false>;
    "m16n8k32.row.col.s32.s4.u4.s32", 2 1 4 4, integer::<S4, U4, 16, 32, false>;
    "m16n8k32.row.col.s32.u4.s4.s32", 2 1 4 4, integer::<U4, S4, 16, 32, false>;
    "m16n8k32.row.col.s32.u4.u4.s32", 2 1 4 4, integer::<U4, U4, 16, 32, false>;
    "m16n8k32.row.col.satfinite.s32.s4.s4.s32", 2 1 4 4, integer::<S4, S4, 16, 32, true>;
    "m16n8k32.row.col.satfinite.s32.s4.u4.s32", 2 1 4 4, integer::<S4, U4, 16, 32, true>;
    "m16n8k32.row.col.satfinite.s32.u4.s4.s32", 2 1 4 4, integer::<U4, S4, 16, 32, true>;
    "m16n8k32.row.col.satfinite.s32.u4.u4.s32", 2 1 4 4, integer::<U4, U4, 16, 32, true>;
    "m16n8k64.row.col.s32.s4.s4.s32", 4 2 4 4, integer::<S4, S4, 16, 64, false>;
    "m16n8k64.row.col.s32.s4.u4.s32", 4 2 4 4, integer::<S4, U4, 16, 64, false>;
    "m16n8k64.row.col.s32.u4.s4.s32", 4 2 4 4, integer::<U4, S4, 16, 64, false>;
    "m16n8k64.row.col.s32.u4.u4.s32", 4 2 4 4, integer::<U4, U4, 16, 64, false>;
    "m16n8k64.row.col.satfinite.s32.s4.s4.s32", 4 2 4 4, integer::<S4, S4, 16, 64, true>;
    "m16n8k64.row.col.satfinite.s32.s4.u4.s32", 4 2 4 4, integer::<S4, U4, 16, 64, true>;
    "m16n8k64.row.col.satfinite.s32.u4.s4.s32", 4 2 4 4, integer::<U4, S4, 16, 64, true>;
    "m16n8k64.row.col.satfinite.s32.u4.u4.s32", 4 2 4 4, integer::<U4, U4, 16, 64, true>;
];
