//! Products of many tokens with rows of weights.
//!
//! Tokens lie side by side in tiles of 32, so a weight is loaded once, spread over a register and used for all of them; nothing
//! is packed. The `gemm` crate was tried and left: it packs the weights, which a prompt of 32 tokens does not repay
//! (0.16–0.22 of the multiply-add peak on Zen 4, against 0.8 for square matrices).

use super::feature::Feature;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// Tokens side by side.
pub const TILE: usize = 32;

/// A kernel for `y[row][token] = Σ weights[row][i] · x[i][token]`, tokens in one tile.
pub struct GemmSpec {
    /// Stable id: `gemm.fp32.avx512`.
    pub id: &'static str,
    /// Instruction sets it uses.
    pub needs: &'static [Feature],
    /// The kernel: `x` holds one tile per input, `weights` rows of as many inputs, `y` one tile per row.
    pub run: fn(&[f32], &[f32], &mut [f32]),
}

/// Every kernel, best first; the last runs everywhere.
pub const GEMMS: &[GemmSpec] = &[
    #[cfg(target_arch = "x86_64")]
    GemmSpec { id: "gemm.fp32.avx512", needs: avx512::FLOAT, run: avx512::gemm },
    #[cfg(target_arch = "x86_64")]
    GemmSpec { id: "gemm.fp32.avx2", needs: &[Feature::Avx2, Feature::Fma], run: avx2::gemm },
    GemmSpec { id: "gemm.fp32.portable", needs: &[], run: portable },
];

impl GemmSpec {
    /// Whether this CPU can run it.
    pub fn is_usable(&self) -> bool {
        self.needs.iter().all(|feature| feature.is_present())
    }
}

/// The best kernel this CPU can run.
pub fn pick_gemm() -> &'static GemmSpec {
    GEMMS.iter().find(|g| g.is_usable()).expect("the portable kernel runs everywhere")
}

/// Inputs per row, from lengths that every kernel relies on.
pub(crate) fn check_tiles(x: &[f32], weights: &[f32], y: &[f32]) -> usize {
    let (k, rows) = (x.len() / TILE, y.len() / TILE);
    assert!(x.len() == k * TILE && y.len() == rows * TILE && weights.len() == rows * k);
    k
}

/// Eight tokens at a time, so that the sums stay in the registers of any target.
fn portable(x: &[f32], weights: &[f32], y: &mut [f32]) {
    const PART: usize = 8;
    let k = check_tiles(x, weights, y);
    for (row, tile) in y.chunks_exact_mut(TILE).enumerate() {
        for (part, out) in tile.chunks_exact_mut(PART).enumerate() {
            let mut sums = [0.0; PART];
            for (w, x) in weights[row * k..(row + 1) * k].iter().zip(x.chunks_exact(TILE)) {
                let x = &x[part * PART..(part + 1) * PART];
                sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += w * x);
            }
            out.copy_from_slice(&sums);
        }
    }
}

/// Tokens row by row into tiles: `tiles[tile][input][token]`; the last tile is filled up with zeros.
pub fn to_tiles(x: &[f32], k: usize, tiles: &mut Vec<f32>) {
    tiles.clear();
    tiles.resize((x.len() / k.max(1)).next_multiple_of(TILE) * k, 0.0);
    for (token, row) in x.chunks_exact(k.max(1)).enumerate() {
        let tile = &mut tiles[token / TILE * TILE * k..];
        for (x, lanes) in row.iter().zip(tile.chunks_exact_mut(TILE)) {
            lanes[token % TILE] = *x;
        }
    }
}

/// Side of the squares in which a tile is turned: a vector of any target.
const SQUARE: usize = 4;

/// One tile of outputs into rows of tokens: `y[token][row]`, `stride` apart.
pub fn from_tile<T: Copy>(tile: &[T], y: &mut [T], stride: usize) {
    let squares = tile.len() / TILE / SQUARE * SQUARE;
    for (t, tokens) in y.chunks_mut(SQUARE * stride).take(TILE / SQUARE).enumerate() {
        let first = t * SQUARE;
        let mut outs = tokens.chunks_mut(stride);
        let done = match [outs.next(), outs.next(), outs.next(), outs.next()] {
            [Some(a), Some(b), Some(c), Some(d)] => {
                let rows = tile.chunks_exact(SQUARE * TILE);
                turn(rows, first, [a, b, c, d].map(|out| &mut out[..squares]));
                squares
            }
            _ => 0,
        };
        for (token, out) in tokens.chunks_mut(stride).enumerate() {
            for (lanes, out) in tile.chunks_exact(TILE).zip(out).skip(done) {
                *out = lanes[first + token];
            }
        }
    }
}

/// Four tokens of four rows at a time, from token `first` on.
fn turn<'a, T: Copy + 'a>(
    rows: impl Iterator<Item = &'a [T]>,
    first: usize,
    mut outs: [&mut [T]; SQUARE],
) {
    for (at, rows) in rows.enumerate() {
        let square: [[T; SQUARE]; SQUARE] =
            std::array::from_fn(|r| std::array::from_fn(|t| rows[r * TILE + first + t]));
        for (t, out) in outs.iter_mut().enumerate() {
            let column = square.map(|row| row[t]);
            out[at * SQUARE..(at + 1) * SQUARE].copy_from_slice(&column);
        }
    }
}
