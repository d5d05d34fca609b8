//! K23: zero points, and fp16 sums, as AWQ's kernels have them.
//!
//! Nothing here is clever on purpose: this is the arithmetic whose sums overflow and lose bits, beside kernels whose do not.
//!
//! Weights are row by row; a word holds eight, the four pairs of neighbours at bits `4·i` and `4·i + 16`: from the lowest
//! nibble on columns 0 2 4 6 1 3 5 7. A group of 128 has an fp16 scale and a zero point of a byte.

use half::f16;

use super::GROUP;
use crate::gpu::family::stream::{Operands, WARPS, check_aligned, check_shape};
use crate::gpu::{Arg, Launch, Shape, Slot};

/// Most tokens of one launch; each reads all weights.
pub const MOST_TOKENS: u32 = 8;

/// Where weights with zero points are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Nibbles: [`Packed::words`].
    pub words: Slot,
    /// Scales: [`Packed::scales`].
    pub scales: Slot,
    /// Zero points: [`Packed::zeros`].
    pub zeros: Slot,
}

/// Weights as the device reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Nibbles.
    pub words: Vec<u8>,
    /// Scales, binary16, by row and group.
    pub scales: Vec<u8>,
    /// Zero points, by row and group.
    pub zeros: Vec<u8>,
}

/// Packs codes 0 … 15 (`[n, k]`, row by row), their scales and their zero points (`[n, k / 128]`).
pub fn pack(codes: &[u8], scales: &[f16], zeros: &[u8]) -> Result<Packed, String> {
    if codes.len() != GROUP * scales.len() || scales.len() != zeros.len() {
        let (codes, scales, zeros) = (codes.len(), scales.len(), zeros.len());
        return Err(format!("{codes} weights do not have {scales} scales and {zeros} zero points"));
    }
    if let Some(code) = codes.iter().chain(zeros).find(|code| **code > 15) {
        return Err(format!("{code} does not fit into 4 bits"));
    }
    let word = |eight: &[u8]| {
        let place = |column: usize| 4 * (column / 2) + 16 * (column % 2);
        let bits = eight.iter().enumerate().map(|(column, q)| u32::from(*q) << place(column));
        bits.fold(0, |word, bits| word | bits).to_le_bytes()
    };
    Ok(Packed {
        words: codes.chunks_exact(8).flat_map(word).collect(),
        scales: scales.iter().flat_map(|scale| scale.to_le_bytes()).collect(),
        zeros: zeros.to_vec(),
    })
}

/// y = x·Wᵀ of up to [`MOST_TOKENS`] fp16 tokens, in fp16 throughout.
pub fn launch(operands: Operands<Weights>, shape: Shape) -> Result<Launch, String> {
    let Operands { x, weights: Weights { words, scales, zeros }, y } = operands;
    check_shape(shape, MOST_TOKENS, GROUP as u32)?;
    check_aligned(&[x, words, scales, zeros, y])?;
    let args = [words, scales, zeros, x, y].map(Arg::from).into_iter();
    let args = args.chain([shape.n, shape.k].map(Arg::from));
    Ok(Launch::new(("w4", "awq_f16"), [shape.n.div_ceil(WARPS), shape.m], 32 * WARPS, args))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `order_map = [0, 2, 4, 6, 1, 3, 5, 7]` of AWQ's packers (mit-han-lab/llm-awq, awq/quantize/qmodule.py): nibble i of
    /// a word is the column of that number.
    #[test]
    fn nibbles_are_in_the_order_of_awq() {
        let codes: Vec<u8> = (0..128).map(|column| (column % 8) as u8).collect();
        let packed = pack(&codes, &[f16::ONE], &[8]).unwrap();
        let word = u32::from_le_bytes(packed.words[..4].try_into().unwrap());
        let order: Vec<u32> = (0..8).map(|nibble| word >> (4 * nibble) & 15).collect();
        assert_eq!(order, [0, 2, 4, 6, 1, 3, 5, 7]);
        assert_eq!((packed.words.len(), packed.zeros), (64, vec![8]));
    }

    #[test]
    fn what_cannot_be_packed_is_refused() {
        assert!(pack(&[0; 127], &[f16::ONE], &[0]).is_err());
        assert!(pack(&[0; 128], &[f16::ONE], &[0, 0]).is_err());
        assert!(pack(&[16; 128], &[f16::ONE], &[0]).unwrap_err().contains("4 bits"));
    }
}
