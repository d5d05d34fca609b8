//! The device layout of 4-bit weights.
//!
//! Rows are taken 16 at a time (missing ones are zero with scale zero), columns 64 at a time. Such a tile is 512 bytes, 16
//! for each lane: lane `4·g + t` has columns `16·t … 16·t + 15` of rows `g` and `g + 8`. Its words `2·p` and `2·p + 1` hold
//! eight of these columns as nibbles `q + 8`, from `c = 16·t + 8·p` and from `c = 16·t + 8·p + 2` on:
//!
//! | bits | 0 | 4 | 8 | 12 | 16 | 20 | 24 | 28 |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | row | g | g | g+8 | g+8 | g | g | g+8 | g+8 |
//! | column | c | c+4 | c | c+4 | c+1 | c+5 | c+1 | c+5 |
//!
//! Masked with `0x000f000f`, before and after a shift by eight, two words are the four A registers of `m16n8k16` for four of
//! the columns; masked with `0x00f000f0`, for the other four. All nibbles of a product thus have the same place in their half
//! word, and so the same power of two. The activations are read in the same order, so that a lane loads eight of them at once.
//! Tiles of the same rows follow each other along the columns.
//!
//! Scales are binary16: for each 16 rows and group, those of rows g and g+8 side by side for g = 0 … 7.

use half::f16;

/// Columns that share a scale.
pub const GROUP: usize = 128;
/// Rows of a tile.
const ROWS: usize = 16;
/// Columns of a tile.
const COLUMNS: usize = 64;

/// Weights as the device reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Nibbles.
    pub words: Vec<u8>,
    /// Scales.
    pub scales: Vec<u8>,
}

/// Bytes of the nibbles of `[n, k]` weights.
pub fn packed_bytes(n: usize, k: usize) -> usize {
    n.next_multiple_of(ROWS) * k / 2
}

/// Bytes of the scales of `[n, k]` weights.
pub fn scale_bytes(n: usize, k: usize) -> usize {
    n.next_multiple_of(ROWS) * (k / GROUP) * 2
}

/// Row and column, within a tile, of a nibble of a lane's 16 bytes.
fn place(lane: usize, nibble: usize) -> (usize, usize) {
    let (word, bit) = (nibble / 8, nibble % 8);
    let row = lane / 4 + if bit & 2 == 0 { 0 } else { 8 };
    let column = 16 * (lane % 4) + 8 * (word / 2) + 2 * (word % 2) + 4 * (bit & 1) + bit / 4;
    (row, column)
}

/// Packs integers −8 … 7 (`[n, k]`, row by row) and their scales (`[n, k / 128]`); k is a multiple of 128.
pub fn pack(n: usize, k: usize, q: &[i8], scales: &[f16]) -> Result<Packed, String> {
    if k == 0 || !k.is_multiple_of(GROUP) || q.len() != n * k || scales.len() != n * (k / GROUP) {
        let (q, scales) = (q.len(), scales.len());
        return Err(format!("{n}×{k} weights do not have {q} integers and {scales} scales"));
    }
    if let Some(q) = q.iter().find(|q| !(-8..8).contains(*q)) {
        return Err(format!("{q} does not fit into 4 bits"));
    }
    let mut words = Vec::with_capacity(packed_bytes(n, k));
    for first in (0..n).step_by(ROWS) {
        for column in (0..k).step_by(COLUMNS) {
            for byte in 0..ROWS * COLUMNS / 2 {
                let nibble = |half: usize| {
                    let (r, c) = place(byte / 16, byte % 16 * 2 + half);
                    let row = first + r;
                    let q = if row < n { q[row * k + column + c] } else { 0 };
                    (q + 8) as u8
                };
                words.push(nibble(0) | nibble(1) << 4);
            }
        }
    }
    Ok(Packed { words, scales: pack_scales(n, k / GROUP, scales) })
}

fn pack_scales(n: usize, groups: usize, scales: &[f16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(n.next_multiple_of(ROWS) * groups * 2);
    for first in (0..n).step_by(ROWS) {
        for group in 0..groups {
            for place in 0..ROWS {
                let row = first + place / 2 + place % 2 * 8;
                let scale = if row < n { scales[row * groups + group] } else { f16::ZERO };
                out.extend(scale.to_le_bytes());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The PTX manual's A fragment of `m16n8k16`: registers 0…3 hold rows g, g+8, g, g+8, the first two columns 2t, 2t+1,
    /// the others 8 further on; here the columns of two words are named in the order in which lanes read activations.
    #[test]
    fn masked_words_are_the_fragments_of_the_manual() {
        let (n, k) = (16, 128);
        let q: Vec<i8> = (0..n * k).map(|i| ((i * 7 + i / k * 3) % 16) as i8 - 8).collect();
        let packed = pack(n, k, &q, &[f16::ONE; 16]).unwrap();
        let word = |tile: usize, lane: usize, step: usize| {
            let at = tile * 512 + lane * 16 + step * 4;
            u32::from_le_bytes(packed.words[at..at + 4].try_into().unwrap())
        };
        for (tile, lane, step) in (0..2).flat_map(|t| (0..32).map(move |l| (t, l, (l + t) % 4))) {
            let (g, t) = (lane / 4, lane % 4);
            let word = word(tile, lane, step);
            let registers = [word & 0x000f_000f, word >> 8 & 0x000f_000f, word >> 4 & 0x000f_000f];
            for (register, row, column) in [(0, g, 0), (1, g + 8, 0), (2, g, 4)] {
                for half in 0..2 {
                    let column = tile * 64 + 16 * t + step / 2 * 8 + step % 2 * 2 + column + half;
                    let got = (registers[register] >> (16 * half)) as i8 - 8;
                    assert_eq!(got, q[row * k + column], "lane {lane} register {register}");
                }
            }
        }
    }

    #[test]
    fn every_integer_has_one_place_and_missing_rows_are_zero() {
        let mut seen = [[false; COLUMNS]; ROWS];
        for lane in 0..32 {
            for nibble in 0..32 {
                let (row, column) = place(lane, nibble);
                assert!(!std::mem::replace(&mut seen[row][column], true));
            }
        }
        assert!(seen.iter().flatten().all(|seen| *seen));
        let packed = pack(1, 128, &[-8; 128], &[f16::MAX]).unwrap();
        assert_eq!((packed.words.len(), packed.scales.len()), (16 * 64, 32));
        assert_eq!(packed.words.iter().filter(|byte| **byte == 0x88).count(), 16 * 64 - 4 * 2 * 8);
        assert_eq!(packed.scales[..4], [0xff, 0x7b, 0, 0]);
        assert_eq!((packed_bytes(17, 256), scale_bytes(17, 256)), (32 * 128, 32 * 2 * 2));
    }

    #[test]
    fn what_cannot_be_packed_is_refused() {
        for (n, k, q, scales) in [(1, 64, 64, 1), (1, 128, 127, 1), (2, 128, 256, 1)] {
            assert!(pack(n, k, &vec![0; q], &vec![f16::ONE; scales]).is_err());
        }
        assert!(pack(1, 128, &[8; 128], &[f16::ONE]).unwrap_err().contains("4 bits"));
    }
}
