//! From which compute capability on a device does something how: routes as data.

use crate::Sm;
use crate::gpu::{DeviceFacts, Route};

/// How it is done.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) enum Support {
    /// By the instruction it is about.
    Native(&'static str),
    /// By other instructions, and why.
    Emulated(&'static str),
}

/// A compute capability and how it is done from there on.
pub(super) type Step = (Sm, Support);

/// The way of a device: the last of the steps that it reaches.
pub(super) fn route(steps: &[Step], facts: &DeviceFacts) -> Route {
    let Some((first, _)) = steps.first() else {
        return Route::Absent { why: "no device has it".to_owned() };
    };
    let reached = |step: &&Step| step.0 <= facts.sm;
    match steps.iter().rev().find(reached) {
        Some((_, Support::Native(by))) => Route::Native { by: (*by).to_owned() },
        Some((_, Support::Emulated(by))) => Route::Emulated { by: (*by).to_owned() },
        None => Route::Absent { why: format!("it begins with {first}, this is {}", facts.sm) },
    }
}

/// Products of fp16 with fp32 sums.
pub(super) const F16: &[Step] = &[
    (Sm::new(6, 0), Support::Emulated("fp32 arithmetic: there are no tensor cores before sm_70")),
    (Sm::new(7, 0), Support::Native("mma.m8n8k4")),
    (Sm::new(7, 5), Support::Native("mma.m16n8k8")),
    (Sm::new(8, 0), Support::Native("mma.m16n8k16")),
];

/// Products of fp16 with fp16 sums.
pub(super) const F16_ACC16: &[Step] = &[
    (Sm::new(6, 0), Support::Native("fma.f16x2")),
    (Sm::new(7, 0), Support::Native("mma.m8n8k4")),
    (Sm::new(7, 5), Support::Native("mma.m16n8k8")),
    (Sm::new(8, 0), Support::Native("mma.m16n8k16")),
];

/// Products of bf16.
pub(super) const BF16: &[Step] = &[
    (Sm::new(6, 0), Support::Emulated("fp32 arithmetic: bf16 begins with sm_80")),
    (Sm::new(8, 0), Support::Native("mma.m16n8k16")),
];

/// Products of fp16 on tensor cores only.
pub(super) const MMA_F16: &[Step] = &[
    (Sm::new(7, 5), Support::Native("mma.m16n8k8")),
    (Sm::new(8, 0), Support::Native("mma.m16n8k16")),
];

/// Products of bf16 on tensor cores only.
pub(super) const MMA_BF16: &[Step] = &[(Sm::new(8, 0), Support::Native("mma.m16n8k16"))];

/// Few tokens of fp16.
pub(super) const FEW_F16: &[Step] = &[
    (Sm::new(6, 0), Support::Native("fma.f32")),
    (Sm::new(7, 5), Support::Native("mma.m16n8k8")),
    (Sm::new(8, 0), Support::Native("mma.m16n8k16")),
];

/// Few tokens of bf16.
pub(super) const FEW_BF16: &[Step] = &[
    (Sm::new(6, 0), Support::Emulated("fp32 and integer rounding: bf16 begins with sm_80")),
    (Sm::new(8, 0), Support::Native("mma.m16n8k16")),
];

/// Products of fp32.
pub(super) const F32: &[Step] = &[(Sm::new(6, 0), Support::Native("fma.f32"))];

/// Products of tf32.
pub(super) const TF32: &[Step] = &[(Sm::new(8, 0), Support::Native("mma.m16n8k8"))];

/// Products of 8-bit integers.
pub(super) const S8: &[Step] = &[
    (Sm::new(6, 1), Support::Native("dp4a")),
    (Sm::new(7, 5), Support::Native("mma.m8n8k16")),
    (Sm::new(8, 0), Support::Native("mma.m16n8k32")),
];

/// Products of 4-bit integers.
pub(super) const S4: &[Step] = &[
    (Sm::new(7, 5), Support::Native("mma.m8n8k32")),
    (Sm::new(8, 0), Support::Native("mma.m16n8k64")),
    (
        Sm::new(9, 0),
        Support::Emulated("8-bit mma and unpacking: 4-bit tensor cores end with sm_89"),
    ),
];

/// Products of fp8.
pub(super) const FP8: &[Step] = &[
    (Sm::new(8, 9), Support::Native("mma.m16n8k32")),
    (Sm::new(9, 0), Support::Emulated("fp16 mma and conversion: fp8 of sm_90 needs wgmma")),
    (Sm::new(10, 0), Support::Emulated("fp16 mma and conversion: fp8 of sm_10x needs tcgen05")),
    (Sm::new(12, 0), Support::Native("mma.m16n8k32")),
];
