//! What the scans of a run say: how many numbers were not finite, and which came first.

use crate::gpu::family::elementwise::FOUND_BYTES;
use crate::model::{Health, OPS, Op, Place, Shape};

/// What the places of all scans hold before a run: no first number, none counted.
pub(super) fn untouched(shape: Shape) -> Vec<u8> {
    let one = [u64::MAX, 0].map(u64::to_le_bytes).concat();
    one.repeat(shape.layers * OPS.len())
}

/// Columns of the tensor an operation stores.
fn width(op: Op, shape: Shape) -> usize {
    match op {
        Op::QProj | Op::RopeQ | Op::Attention => shape.heads * shape.head,
        Op::KProj | Op::VProj | Op::RopeK => shape.kv_width(),
        Op::GateProj | Op::UpProj | Op::Swiglu => shape.ffn,
        Op::Head => shape.vocab,
        _ => shape.width,
    }
}

/// Reads what the scans wrote; step 0 has the prompt's tokens, every other one.
pub(super) fn health(bytes: &[u8], shape: Shape) -> Health {
    let word = |raw: &[u8]| raw.iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
    let places = bytes.chunks_exact(FOUND_BYTES as usize).enumerate();
    let found = places.map(|(at, raw)| (at, word(&raw[..8]), word(&raw[8..])));
    let found: Vec<(usize, u64, u64)> = found.filter(|(_, _, count)| *count > 0).collect();
    let earliest = found.iter().min_by_key(|(at, first, _)| (first >> 32, *at));
    Health {
        non_finite: found.iter().map(|(_, _, count)| count).sum(),
        first_bad: earliest.map(|(at, first, _)| place(*at, *first, shape)),
    }
}

fn place(at: usize, first: u64, shape: Shape) -> Place {
    let (layer, op) = (at / OPS.len(), OPS[at % OPS.len()].0);
    let (step, index, width) = ((first >> 32) as usize, first as u32 as usize, width(op, shape));
    let before = match (step, op) {
        // Of the prompt, only the last token has logits.
        (0, Op::FinalNorm | Op::Head) => shape.prompt - 1,
        (0, _) => 0,
        _ => shape.prompt + step - 1,
    };
    Place { layer, op, token: before + index / width, channel: index % width }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::M0;

    fn scans(written: &[(usize, Op, u64, u64)]) -> Vec<u8> {
        let mut bytes = untouched(M0);
        for (layer, op, first, count) in written {
            let at = (layer * OPS.len() + *op as usize) * 16;
            bytes[at..at + 8].copy_from_slice(&first.to_le_bytes());
            bytes[at + 8..at + 16].copy_from_slice(&count.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn nothing_found_is_health() {
        assert_eq!(health(&untouched(M0), M0), Health::default());
    }

    #[test]
    fn the_earliest_step_counts_then_the_earliest_operation() {
        let step = |step: u64, index: u64| step << 32 | index;
        let bytes = scans(&[
            (0, Op::InputNorm, step(2, 5), 7),
            (1, Op::OProj, step(1, 512 - 1), 1),
            (1, Op::PostAttnNorm, step(1, 0), 512),
        ]);
        let want = Place { layer: 1, op: Op::OProj, token: 32, channel: 511 };
        assert_eq!(health(&bytes, M0), Health { non_finite: 520, first_bad: Some(want) });
        let prompt = scans(&[(2, Op::GateProj, step(0, 1536 * 3 + 9), 1)]);
        let want = Place { layer: 2, op: Op::GateProj, token: 3, channel: 9 };
        assert_eq!(health(&prompt, M0).first_bad, Some(want));
        let logits = scans(&[(3, Op::Head, step(0, 4), 1)]);
        let want = Place { layer: 3, op: Op::Head, token: 31, channel: 4 };
        assert_eq!(health(&logits, M0).first_bad, Some(want));
    }
}
