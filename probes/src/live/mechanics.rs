//! What shows how something happens and settles no rule: the overflow of fp16, the driver's compiler, a large allocation.

use half::f16;
use warpscope_kernels::cuda::CudaMachine;
use warpscope_kernels::gpu::{Machine, MachineError, Slot};

use super::block::{self, block};
use super::found::Found;

/// Squared and summed 32 times it is 100 352, half as much again as fp16 holds: the values GLM-4 reached were of this size.
const OVERFLOWING: f32 = 56.0;
/// The sum in binary32, in bfloat16, and infinity in binary16.
const SUM: f32 = 100_352.0;
const INFINITY: u32 = 0x7c00;

/// Most that is allocated at once.
const MOST_BYTES: u64 = 4 << 30;
/// What is written at both ends of it.
const MARK: usize = 4096;

/// Sums beyond the largest fp16 number, kept in four ways.
pub(super) fn overflow(machine: &mut CudaMachine) -> Found {
    let words = match summed(machine) {
        Ok(words) => words,
        Err(error) => return Found::failure("a sum beyond the range of fp16", &error),
    };
    overflowed(words).by("gate.overflow")
}

fn overflowed([wide, narrow, brain, summed]: [u32; 4]) -> Found {
    let wide_text = f32::from_bits(wide).to_string();
    let half_text = |bits: u32| f16::from_bits(bits as u16).to_string();
    let brain_text = f32::from_bits(brain << 16).to_string();
    let as_defined = wide == SUM.to_bits()
        && narrow == INFINITY
        && brain == SUM.to_bits() >> 16
        && summed == INFINITY;
    let found = if as_defined {
        let detail = "a sum of 100352 is infinite in fp16 here, as the format defines, and finite in bf16 and fp32: a model with such values \
                      prints one token over and over in fp16";
        Found::works(detail)
    } else {
        let detail =
            "a sum of 100352 comes out otherwise than the formats define: look at the figures";
        Found::wrong(detail)
    };
    found
        .fact("fp32", wide_text)
        .fact("rounded to fp16", half_text(narrow))
        .fact("rounded to bf16", brain_text)
        .fact("summed in fp16", half_text(summed))
}

fn summed(machine: &mut CudaMachine) -> Result<[u32; 4], MachineError> {
    const LANES: usize = 32;
    let half = u32::from(f16::from_f32(OVERFLOWING).to_bits());
    let given: Vec<u8> = (0..LANES).flat_map(|_| (half | half << 16).to_le_bytes()).collect();
    let out = block::run(machine, block("gate", "overflow", 32), &[&given, &[0xff; 16 * LANES]])?;
    let word = |at: usize| u32::from_le_bytes([out[at], out[at + 1], out[at + 2], out[at + 3]]);
    Ok([word(0), word(4), word(8), word(12)])
}

/// One block of half of what is free, written at both ends, and given back.
pub(super) fn allocate(machine: &mut CudaMachine) -> Found {
    let (_, cap) = machine.arena();
    let found = match allocated(machine) {
        Ok((bytes, 0)) => {
            let detail = format!(
                "{} MiB in one block were taken, written at both ends and given back",
                bytes >> 20
            );
            Found::works(detail)
        }
        Ok((bytes, gone)) => {
            let (all, gone) = (bytes >> 20, gone >> 20);
            Found::unknown(format!(
                "of {all} MiB that were given back {gone} MiB are not free again: another process took them, or the driver keeps them"
            ))
        }
        Err(error) => Found::failure("half of the free memory in one block", &error),
    };
    machine.set_cap(cap);
    found.by("cuMemAlloc")
}

/// How much was taken, and how much of it is not free again.
fn allocated(machine: &mut CudaMachine) -> Result<(u64, u64), MachineError> {
    let (free, _) = machine.memory()?;
    let (held, _) = machine.arena();
    let bytes = (free / 2).min(MOST_BYTES) / 256 * 256;
    machine.set_cap(held + bytes);
    let buffer = machine.allocate(bytes)?;
    let marked = mark(machine, buffer.into(), bytes);
    machine.free(buffer)?;
    if !marked? {
        let why = "the ends of the block did not keep what was written".to_owned();
        return Err(MachineError::Fault { what: why });
    }
    let (after, _) = machine.memory()?;
    Ok((bytes, free.saturating_sub(after)))
}

/// Whether both ends keep what is written.
fn mark(machine: &mut CudaMachine, start: Slot, bytes: u64) -> Result<bool, MachineError> {
    let ends = [(start, 0x5a_u8), (start.plus(bytes.saturating_sub(MARK as u64)), 0xc3)];
    for (place, byte) in ends {
        machine.write(place, &[byte; MARK])?;
    }
    for (place, byte) in ends {
        let mut back = [0; MARK];
        machine.read(place, &mut back)?;
        if back != [byte; MARK] {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::Answer;
    use super::*;

    /// The largest fp16 number is 65 504 (IEEE 754); bfloat16 has the range of binary32.
    #[test]
    fn the_sum_is_out_of_reach_of_fp16_alone() {
        let exact = 32.0 * OVERFLOWING * OVERFLOWING;
        assert_eq!(exact, SUM);
        assert!(f16::from_f32(SUM).is_infinite());
        assert_eq!(half::bf16::from_f32(SUM).to_f32(), SUM);
        assert_eq!(half::bf16::from_f32(SUM).to_bits(), (SUM.to_bits() >> 16) as u16);
    }

    #[test]
    fn anything_else_is_wrong() {
        let right = [SUM.to_bits(), INFINITY, SUM.to_bits() >> 16, INFINITY];
        assert_eq!(overflowed(right).answer, Answer::Works);
        for at in 0..4 {
            let mut words = right;
            words[at] ^= 1;
            assert_eq!(overflowed(words).answer, Answer::WrongOutput, "{at}");
        }
    }
}
