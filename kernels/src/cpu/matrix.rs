use std::ops::Range;

use half::{bf16, f16};

use super::aligned::Aligned;
use super::format::Format;
pub(super) use crate::model::GROUP;
use crate::model::Grid;

/// 16-bit words of one group: lane `l` of word `l` holds weights `l`, `32 + l`, `64 + l`, `96 + l` from its low nibble up, so that
/// one shift of a 512-bit register lines up 32 neighbours.
pub(super) const GROUP_WORDS: usize = GROUP / 4;

/// Rows of 4-bit weights: value = (nibble − 8) · scale.
#[derive(Clone, Copy, Debug)]
pub struct Int4<'a> {
    /// 32 words per group.
    pub words: &'a [u16],
    /// One scale per group.
    pub scales: &'a [f16],
}

/// Rows of weights in one format.
#[derive(Clone, Debug)]
pub enum Weights {
    /// binary32.
    Fp32(Aligned<f32>),
    /// binary16.
    Fp16(Aligned<f16>),
    /// bfloat16.
    Bf16(Aligned<bf16>),
    /// Packed nibbles and their scales.
    Int4 {
        /// 32 words per group.
        words: Aligned<u16>,
        /// One scale per group.
        scales: Vec<f16>,
    },
}

/// A matrix of weights, one row per output.
#[derive(Clone, Debug)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    weights: Weights,
}

/// Packs the integers −8…7 of one group.
fn pack(group: &[i8; GROUP]) -> [u16; GROUP_WORDS] {
    let nibble = |i: usize| u16::from((group[i] + 8) as u8 & 15);
    std::array::from_fn(|l| (0..4).fold(0, |word, j| word | nibble(j * GROUP_WORDS + l) << (4 * j)))
}

/// The integers of one packed group.
pub(super) fn unpack(words: &[u16]) -> [i8; GROUP] {
    std::array::from_fn(|i| {
        let nibble = words[i % GROUP_WORDS] >> (4 * (i / GROUP_WORDS)) & 15;
        nibble as i8 - 8
    })
}

impl Matrix {
    /// The weights of a grid in a format. Every format holds the same numbers.
    pub fn from_grid(grid: &Grid, format: Format) -> Self {
        let len = grid.rows * grid.cols;
        let weights = match format {
            Format::Fp32 => Weights::Fp32(Aligned::collect(len, grid.weights())),
            Format::Fp16 => Weights::Fp16(Aligned::collect(len, grid.weights().map(f16::from_f32))),
            Format::Bf16 => {
                Weights::Bf16(Aligned::collect(len, grid.weights().map(bf16::from_f32)))
            }
            Format::Int4 => Weights::Int4 {
                words: Aligned::collect(
                    len / 4,
                    (0..grid.groups()).flat_map(|g| pack(&grid.group(g))),
                ),
                scales: (0..grid.groups()).map(|g| f16::from_f32(grid.scale(g))).collect(),
            },
        };
        Self { rows: grid.rows, cols: grid.cols, weights }
    }

    /// Outputs.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Inputs.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The stored weights.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Number format of the weights.
    pub fn format(&self) -> Format {
        match self.weights {
            Weights::Fp32(_) => Format::Fp32,
            Weights::Fp16(_) => Format::Fp16,
            Weights::Bf16(_) => Format::Bf16,
            Weights::Int4 { .. } => Format::Int4,
        }
    }

    /// Bytes the weights and scales occupy.
    pub fn bytes(&self) -> usize {
        match &self.weights {
            Weights::Fp32(w) => size_of_val(&w[..]),
            Weights::Fp16(w) => size_of_val(&w[..]),
            Weights::Bf16(w) => size_of_val(&w[..]),
            Weights::Int4 { words, scales } => size_of_val(&words[..]) + size_of_val(&scales[..]),
        }
    }

    /// 4-bit rows of a range. Words and scales of other formats are empty.
    pub(crate) fn int4_rows(&self, rows: Range<usize>) -> Int4<'_> {
        match &self.weights {
            Weights::Int4 { words, scales } => {
                let groups = rows.start * self.cols / GROUP..rows.end * self.cols / GROUP;
                let bits = groups.start * GROUP_WORDS..groups.end * GROUP_WORDS;
                Int4 { words: &words[bits], scales: &scales[groups] }
            }
            _ => Int4 { words: &[], scales: &[] },
        }
    }

    /// Writes rows as fp32, exactly.
    pub fn expand(&self, rows: Range<usize>, out: &mut [f32]) {
        use half::slice::HalfFloatSliceExt;
        let span = rows.start * self.cols..rows.end * self.cols;
        match &self.weights {
            Weights::Fp32(w) => out.copy_from_slice(&w[span]),
            Weights::Fp16(w) => w[span].convert_to_f32_slice(out),
            Weights::Bf16(w) => {
                out.iter_mut().zip(&w[span]).for_each(|(o, w)| *o = w.to_f32());
            }
            Weights::Int4 { .. } => expand_int4(self.int4_rows(rows), out),
        }
    }
}

fn expand_int4(rows: Int4<'_>, out: &mut [f32]) {
    let groups = rows.words.chunks_exact(GROUP_WORDS).zip(rows.scales);
    for (out, (words, scale)) in out.chunks_exact_mut(GROUP).zip(groups) {
        let scale = scale.to_f32();
        for (j, quarter) in out.chunks_exact_mut(GROUP_WORDS).enumerate() {
            for (out, word) in quarter.iter_mut().zip(words) {
                let nibble = i32::from(word >> (4 * j) & 15);
                *out = (nibble - 8) as f32 * scale;
            }
        }
    }
}

/// Lengths every 4-bit kernel relies on.
pub(crate) fn check_int4(weights: Int4<'_>, x: &[f32], y: &[f32]) {
    assert_eq!(x.len() % GROUP, 0, "inputs come in whole groups");
    let groups = x.len() / GROUP * y.len();
    assert_eq!(weights.words.len(), groups * GROUP_WORDS);
    assert_eq!(weights.scales.len(), groups);
}

/// `R` rows at a time, an `R`th of the matrix apart, and the few that remain: each of them is a long stream of its own.
#[cfg(target_arch = "x86_64")]
pub(crate) fn streams<const R: usize>(
    rows: usize,
) -> (impl Iterator<Item = [usize; R]>, Range<usize>) {
    let part = rows / R;
    let at = move |i| std::array::from_fn(|stream| stream * part + i);
    ((0..part).map(at), R * part..rows)
}

#[cfg(test)]
/// Packs one group by the symmetric rule: largest magnitude over 7.
fn quantise(group: &[f32]) -> ([u16; GROUP_WORDS], f16) {
    let top = group.iter().fold(0.0_f32, |top, v| top.max(v.abs()));
    let scale = f16::from_f32(if top > 0.0 { top / 7.0 } else { 1.0 });
    let q = |i: usize| (group[i] / scale.to_f32()).round().clamp(-8.0, 7.0) as i8;
    (pack(&std::array::from_fn(q)), scale)
}

#[cfg(test)]
impl Matrix {
    /// Given weights, row by row, rounded to a format. 4-bit rows come in whole groups; their scale makes the
    /// largest weight of the group ±7.
    pub fn from_fp32(rows: usize, cols: usize, values: &[f32], format: Format) -> Self {
        assert_eq!(values.len(), rows * cols);
        let (len, numbers) = (values.len(), values.iter().copied());
        let weights = match format {
            Format::Fp32 => Weights::Fp32(Aligned::collect(len, numbers)),
            Format::Fp16 => Weights::Fp16(Aligned::collect(len, numbers.map(f16::from_f32))),
            Format::Bf16 => Weights::Bf16(Aligned::collect(len, numbers.map(bf16::from_f32))),
            Format::Int4 => {
                assert_eq!(cols % GROUP, 0, "4-bit rows come in whole groups");
                let (words, scales): (Vec<_>, Vec<_>) =
                    values.chunks_exact(GROUP).map(quantise).unzip();
                Weights::Int4 { words: Aligned::collect(len / 4, words.concat()), scales }
            }
        };
        Self { rows, cols, weights }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_keeps_every_integer() {
        let group: [i8; GROUP] = std::array::from_fn(|i| (i % 16) as i8 - 8);
        assert_eq!(unpack(&pack(&group)), group);
    }

    #[test]
    fn every_format_expands_to_the_numbers_of_the_grid() {
        let grid = Grid::new(77, [5, 256], -6);
        let want: Vec<f32> = grid.weights().collect();
        for (format, _) in crate::cpu::format::FORMATS {
            let matrix = Matrix::from_grid(&grid, *format);
            let mut got = vec![f32::NAN; 3 * 256];
            matrix.expand(1..4, &mut got);
            assert_eq!(got, want[256..4 * 256], "{format}");
            assert_eq!(matrix.format(), *format);
        }
    }

    #[test]
    fn bytes_are_what_the_format_promises() {
        let grid = Grid::new(77, [4, 256], -6);
        let bytes = |format| Matrix::from_grid(&grid, format).bytes();
        assert_eq!(bytes(Format::Fp32), 4096);
        assert_eq!(bytes(Format::Fp16), 2048);
        assert_eq!(bytes(Format::Bf16), 2048);
        assert_eq!(bytes(Format::Int4), 512 + 8 * 2);
    }
}
