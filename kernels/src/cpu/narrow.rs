//! Products of many tokens with rows of bfloat16 numbers.
//!
//! Like the products in fp32 (see `cpu::gemm`): tokens lie side by side in tiles of 32, weights stay as they are and are spread
//! over a register, 32 bits of a row at a time: two numbers, as the dot-product instruction takes
//! them. So one copy of the weights serves prompts and single tokens. Laying out the weights as well, which libraries do
//! when a model is loaded, was left out: the tokens are the smaller side, and the instructions are busy as it is.
//!
//! Products of two numbers are added to sums in fp32,
//! rounded to nearest, in an order that is the kernel's; with the CPU's own instruction, numbers and sums below 2⁻¹²⁶ count as
//! zero.

use half::bf16;

use super::feature::Feature;
use super::format::nearest_bf16;
use super::gemm::{TILE, from_tile};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// Rows of weights whose outputs are held in tiles at a time.
const PANEL: usize = 64;

/// A kernel for bfloat16 weights; inputs are rounded to bfloat16.
pub struct Bf16Gemm {
    /// Stable id: `gemm.bf16.vdpbf16ps`.
    pub id: &'static str,
    /// Instruction sets it uses.
    pub needs: &'static [Feature],
    /// Weights in 32 bits.
    depth: usize,
    /// Registers of inputs that meet 32 bits of weights.
    planes: usize,
    /// Writes the units of one token, `planes` for every `depth` inputs.
    encode: fn(&[f32], &mut [u32]),
    /// Products of one tile with rows of weights, one tile of sums per row.
    run: fn(&[u32], &[bf16], &mut [f32]),
}

/// Every kernel for bfloat16, best first; the last runs everywhere.
pub const BF16_GEMMS: &[Bf16Gemm] = &[
    #[cfg(target_arch = "x86_64")]
    Bf16Gemm {
        id: "gemm.bf16.vdpbf16ps",
        needs: avx512::BF16,
        depth: 2,
        planes: 1,
        encode: encode_bf16_pairs,
        run: avx512::gemm_bf16,
    },
    #[cfg(target_arch = "x86_64")]
    Bf16Gemm {
        id: "gemm.bf16.avx2",
        needs: avx2::AVX2,
        depth: 2,
        planes: 2,
        encode: encode_bf16,
        run: avx2::gemm_bf16,
    },
    Bf16Gemm {
        id: "gemm.bf16.portable",
        needs: &[],
        depth: 1,
        planes: 1,
        encode: encode_bf16,
        run: portable,
    },
];

/// The best kernel for bfloat16 this CPU can run.
pub fn pick_bf16_gemm() -> &'static Bf16Gemm {
    BF16_GEMMS.iter().find(|g| g.is_usable()).expect("the portable kernel runs everywhere")
}

/// Tokens laid out for one kernel.
#[derive(Debug, Default)]
pub struct Tiles {
    units: Vec<u32>,
    token: Vec<u32>,
    k: usize,
}

impl Bf16Gemm {
    /// Whether this CPU can run it.
    pub fn is_usable(&self) -> bool {
        self.needs.iter().all(|feature| feature.is_present())
    }

    /// `y = x · Wᵀ`: rows of `k` inputs and of `k` weights, rows of as many outputs as there are rows of weights.
    pub fn multiply(&self, x: &[f32], weights: &[bf16], k: usize, y: &mut [f32]) {
        let (tokens, rows) = (x.len() / k.max(1), weights.len() / k.max(1));
        assert_eq!(y.len(), tokens * rows);
        if y.is_empty() {
            return;
        }
        let mut tiles = Tiles::default();
        self.lay_out(x, k, &mut tiles);
        self.multiply_tiles(&tiles, weights, y, rows);
    }

    /// Lays out rows of `k` inputs. In a tile, 32 starts of sums come first, then 32 units for every register of inputs;
    /// the last tile is filled up with zeros.
    pub(crate) fn lay_out(&self, x: &[f32], k: usize, tiles: &mut Tiles) {
        let units = k.div_ceil(self.depth) * self.planes;
        let Tiles { units: all, token, .. } = tiles;
        let tokens = x.len() / k.max(1);
        all.clear();
        all.resize(tokens.div_ceil(TILE) * TILE * (1 + units), 0);
        token.clear();
        token.resize(1 + units, 0);
        for (t, x) in x.chunks_exact(k.max(1)).enumerate() {
            (self.encode)(x, &mut token[1..]);
            let tile = &mut all[t / TILE * TILE * token.len()..];
            for (unit, lanes) in token.iter().zip(tile.chunks_exact_mut(TILE)) {
                lanes[t % TILE] = *unit;
            }
        }
        tiles.k = k;
    }

    /// Products of tokens laid out for this kernel; rows of `y` lie `stride` apart.
    pub(crate) fn multiply_tiles(
        &self,
        tiles: &Tiles,
        weights: &[bf16],
        y: &mut [f32],
        stride: usize,
    ) {
        let k = tiles.k.max(1);
        let size = TILE * (1 + k.div_ceil(self.depth) * self.planes);
        let mut out = [0.0; PANEL * TILE];
        for (p, weights) in weights.chunks(PANEL * k).enumerate() {
            let out = &mut out[..weights.len() / k * TILE];
            for (tile, y) in tiles.units.chunks_exact(size).zip(y.chunks_mut(TILE * stride)) {
                (self.run)(tile, weights, out);
                from_tile(out, &mut y[p * PANEL..], stride);
            }
        }
    }
}

/// Weights of a row, from lengths that every kernel relies on.
pub(crate) fn check_narrow(
    (depth, planes): (usize, usize),
    tile: usize,
    weights: usize,
    y: usize,
) -> usize {
    let rows = y / TILE;
    let k = weights / rows.max(1);
    assert!(y == rows * TILE && weights == rows * k);
    assert_eq!(tile, TILE * (1 + k.div_ceil(depth) * planes));
    k
}

/// Fewer than 32 bits of a row of weights, filled up with zeros.
#[cfg(target_arch = "x86_64")]
pub(crate) fn part(bytes: &[u8]) -> i32 {
    let mut part = [0; 4];
    part[..bytes.len()].copy_from_slice(bytes);
    i32::from_le_bytes(part)
}

/// Pairs of bfloat16 numbers.
#[cfg(target_arch = "x86_64")]
fn encode_bf16_pairs(x: &[f32], units: &mut [u32]) {
    let bits = |v: f32| nearest_bf16(v).to_bits() >> 16;
    let (pairs, rest) = x.as_chunks();
    for ([a, b], unit) in pairs.iter().zip(&mut *units) {
        *unit = bits(*a) | bits(*b) << 16;
    }
    if let [last] = rest {
        units[pairs.len()] = bits(*last);
    }
}

/// Numbers of bfloat16 one by one, in fp32.
fn encode_bf16(x: &[f32], units: &mut [u32]) {
    units.fill(0);
    x.iter().zip(units).for_each(|(x, unit)| *unit = nearest_bf16(*x).to_bits());
}

/// Eight tokens at a time, so that the sums stay in the registers of any target.
fn portable(tile: &[u32], weights: &[bf16], y: &mut [f32]) {
    const PART: usize = 8;
    let k = check_narrow((1, 1), tile.len(), weights.len(), y.len());
    for (row, out) in y.chunks_exact_mut(TILE).enumerate() {
        for (part, out) in out.chunks_exact_mut(PART).enumerate() {
            let mut sums = [0.0; PART];
            for (w, x) in
                weights[row * k..(row + 1) * k].iter().zip(tile[TILE..].chunks_exact(TILE))
            {
                let x = &x[part * PART..(part + 1) * PART];
                sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += w.to_f32() * f32::from_bits(*x));
            }
            out.copy_from_slice(&sums);
        }
    }
}
