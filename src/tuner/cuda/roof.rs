//! What the device can do in the same run: reading memory, and the arithmetic of the number format.

use warpscope_kernels::cuda::CudaMachine;
use warpscope_kernels::gpu::MachineError;

use crate::worker::gpu::median_rate;

/// Memory the measurement takes.
const ARENA: u64 = 256 << 20;

/// Instruction peaks by number format, the one that a kernel should use first.
const PEAKS: &[(&str, &[&str])] = &[
    ("fp32", &["alu.ffma"]),
    ("fp16", &["alu.mma.f16", "alu.hfma2"]),
    ("bf16", &["alu.mma.bf16", "alu.bfma2", "alu.ffma"]),
];

/// Ceilings, each where it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Roof {
    pub(super) read_bytes_per_s: Option<f64>,
    pub(super) flop_per_s: Option<f64>,
}

/// Measures it; a matter of milliseconds.
pub(super) fn roof(machine: &mut CudaMachine, dtype: &str) -> Result<Roof, MachineError> {
    let read = median_rate(machine, "mem.read", ARENA)?;
    let peaks = PEAKS.iter().find(|row| row.0 == dtype).map_or(&[][..], |row| row.1);
    let mut flop_per_s = None;
    for peak in peaks {
        flop_per_s = median_rate(machine, peak, ARENA)?.map(|rate| rate.flop_per_s);
        if flop_per_s.is_some() {
            break;
        }
    }
    Ok(Roof { read_bytes_per_s: read.map(|rate| rate.bytes_per_s), flop_per_s })
}
