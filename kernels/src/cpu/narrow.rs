//! Products of many tokens with rows of bfloat16 numbers and of integers of 8 bits.
//!
//! Like the products in fp32 (see `cpu::gemm`): tokens lie side by side in tiles of 32, weights stay as they are and are spread
//! over a register, 32 bits of a row at a time: two bfloat16 numbers or four bytes, as the dot-product instructions take
//! them. So one copy of the weights serves prompts and single tokens. Laying out the weights as well, which libraries do
//! when a model is loaded, was left out: the tokens are the smaller side, and the instructions are busy as it is.
//!
//! Integers are exact wherever the result fits 32 bits. In bfloat16 products of two numbers are added to sums in fp32,
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

/// A kernel for weights `W`, inputs `X` and sums `S`.
pub struct NarrowGemm<W, X, S> {
    /// Stable id: `gemm.bf16.vdpbf16ps`.
    pub id: &'static str,
    /// Instruction sets it uses.
    pub needs: &'static [Feature],
    /// Weights in 32 bits.
    depth: usize,
    /// Registers of inputs that meet 32 bits of weights.
    planes: usize,
    /// Writes the units of one token, `planes` for every `depth` inputs, and gives the bits its sums start with.
    encode: fn(&[X], &mut [u32]) -> u32,
    /// Products of one tile with rows of weights, one tile of sums per row.
    run: fn(&[u32], &[W], &mut [S]),
}

/// A kernel for bfloat16 weights; inputs are rounded to bfloat16.
pub type Bf16Gemm = NarrowGemm<bf16, f32, f32>;
/// A kernel for integers; weights are kept plus 128.
pub type Int8Gemm = NarrowGemm<u8, i8, i32>;

/// Every kernel for bfloat16, best first; the last runs everywhere.
pub const BF16_GEMMS: &[Bf16Gemm] = &[
    #[cfg(target_arch = "x86_64")]
    NarrowGemm {
        id: "gemm.bf16.vdpbf16ps",
        needs: avx512::BF16,
        depth: 2,
        planes: 1,
        encode: encode_bf16_pairs,
        run: avx512::gemm_bf16,
    },
    #[cfg(target_arch = "x86_64")]
    NarrowGemm {
        id: "gemm.bf16.avx2",
        needs: avx2::AVX2,
        depth: 2,
        planes: 2,
        encode: encode_bf16,
        run: avx2::gemm_bf16,
    },
    NarrowGemm {
        id: "gemm.bf16.portable",
        needs: &[],
        depth: 1,
        planes: 1,
        encode: encode_bf16,
        run: |x, w, y| portable(x, w, y, |w, x| w.to_f32() * f32::from_bits(x)),
    },
];

/// Every kernel for integers, best first; the last runs everywhere.
pub const INT8_GEMMS: &[Int8Gemm] = &[
    #[cfg(target_arch = "x86_64")]
    NarrowGemm {
        id: "gemm.int8.vnni",
        needs: avx512::VNNI,
        depth: 4,
        planes: 1,
        encode: encode_bytes,
        run: avx512::gemm_int8,
    },
    #[cfg(target_arch = "x86_64")]
    NarrowGemm {
        id: "gemm.int8.avx2",
        needs: avx2::AVX2,
        depth: 4,
        planes: 2,
        encode: encode_halves,
        run: avx2::gemm_int8,
    },
    NarrowGemm {
        id: "gemm.int8.portable",
        needs: &[],
        depth: 1,
        planes: 1,
        encode: encode_integers,
        run: |x, w, y| portable(x, w, y, |w, x| (i32::from(w) - 128) * x.cast_signed()),
    },
];

/// The best kernel for bfloat16 this CPU can run.
pub fn pick_bf16_gemm() -> &'static Bf16Gemm {
    BF16_GEMMS.iter().find(|g| g.is_usable()).expect("the portable kernel runs everywhere")
}

/// The best kernel for integers this CPU can run.
pub fn pick_int8_gemm() -> &'static Int8Gemm {
    INT8_GEMMS.iter().find(|g| g.is_usable()).expect("the portable kernel runs everywhere")
}

/// Tokens laid out for one kernel.
#[derive(Debug, Default)]
pub struct Tiles {
    units: Vec<u32>,
    token: Vec<u32>,
    k: usize,
}

impl<W, X, S: Copy + Default> NarrowGemm<W, X, S> {
    /// Whether this CPU can run it.
    pub fn is_usable(&self) -> bool {
        self.needs.iter().all(|feature| feature.is_present())
    }

    /// `y = x · Wᵀ`: rows of `k` inputs and of `k` weights, rows of as many outputs as there are rows of weights.
    pub fn multiply(&self, x: &[X], weights: &[W], k: usize, y: &mut [S]) {
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
    pub(crate) fn lay_out(&self, x: &[X], k: usize, tiles: &mut Tiles) {
        let units = k.div_ceil(self.depth) * self.planes;
        let Tiles { units: all, token, .. } = tiles;
        let tokens = x.len() / k.max(1);
        all.clear();
        all.resize(tokens.div_ceil(TILE) * TILE * (1 + units), 0);
        token.clear();
        token.resize(1 + units, 0);
        for (t, x) in x.chunks_exact(k.max(1)).enumerate() {
            token[0] = (self.encode)(x, &mut token[1..]);
            let tile = &mut all[t / TILE * TILE * token.len()..];
            for (unit, lanes) in token.iter().zip(tile.chunks_exact_mut(TILE)) {
                lanes[t % TILE] = *unit;
            }
        }
        tiles.k = k;
    }

    /// Products of tokens laid out for this kernel; rows of `y` lie `stride` apart.
    pub(crate) fn multiply_tiles(&self, tiles: &Tiles, weights: &[W], y: &mut [S], stride: usize) {
        let k = tiles.k.max(1);
        let size = TILE * (1 + k.div_ceil(self.depth) * self.planes);
        let mut out = [S::default(); PANEL * TILE];
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
fn encode_bf16_pairs(x: &[f32], units: &mut [u32]) -> u32 {
    let bits = |v: f32| nearest_bf16(v).to_bits() >> 16;
    let (pairs, rest) = x.as_chunks();
    for ([a, b], unit) in pairs.iter().zip(&mut *units) {
        *unit = bits(*a) | bits(*b) << 16;
    }
    if let [last] = rest {
        units[pairs.len()] = bits(*last);
    }
    0
}

/// Numbers of bfloat16 one by one, in fp32.
fn encode_bf16(x: &[f32], units: &mut [u32]) -> u32 {
    units.fill(0);
    x.iter().zip(units).for_each(|(x, unit)| *unit = nearest_bf16(*x).to_bits());
    0
}

/// Bytes in fours. Weights come plus 128: sums start with what that adds, the other way round.
#[cfg(target_arch = "x86_64")]
fn encode_bytes(x: &[i8], units: &mut [u32]) -> u32 {
    let unit = |four: [i8; 4]| u32::from_le_bytes(four.map(i8::cast_unsigned));
    for (four, out) in fours(x).zip(units) {
        *out = unit(four);
    }
    start(x)
}

/// Fours of 16-bit numbers: the first and third, then the second and fourth, as a mask and a shift find them in the weights.
#[cfg(target_arch = "x86_64")]
fn encode_halves(x: &[i8], units: &mut [u32]) -> u32 {
    let half = |v: i8| u32::from(i16::from(v).cast_unsigned());
    for ([a, b, c, d], units) in fours(x).zip(units.chunks_exact_mut(2)) {
        units[0] = half(a) | half(c) << 16;
        units[1] = half(b) | half(d) << 16;
    }
    start(x)
}

/// Fours, the last one filled up with zeros.
#[cfg(target_arch = "x86_64")]
fn fours(x: &[i8]) -> impl Iterator<Item = [i8; 4]> {
    let (fours, rest) = x.as_chunks();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    fours.iter().copied().chain((!rest.is_empty()).then_some(last))
}

fn encode_integers(x: &[i8], units: &mut [u32]) -> u32 {
    x.iter().zip(units).for_each(|(x, unit)| *unit = i32::from(*x).cast_unsigned());
    0
}

/// −128 · Σx.
#[cfg(target_arch = "x86_64")]
fn start(x: &[i8]) -> u32 {
    let sum = x.iter().fold(0_i32, |sum, x| sum.wrapping_add(i32::from(*x)));
    sum.wrapping_mul(-128).cast_unsigned()
}

/// Eight tokens at a time, so that the sums stay in the registers of any target.
fn portable<W: Copy, S: Copy + Default + std::ops::AddAssign>(
    tile: &[u32],
    weights: &[W],
    y: &mut [S],
    product: impl Fn(W, u32) -> S,
) {
    const PART: usize = 8;
    let k = check_narrow((1, 1), tile.len(), weights.len(), y.len());
    for (row, out) in y.chunks_exact_mut(TILE).enumerate() {
        for (part, out) in out.chunks_exact_mut(PART).enumerate() {
            let mut sums = [S::default(); PART];
            for (w, x) in
                weights[row * k..(row + 1) * k].iter().zip(tile[TILE..].chunks_exact(TILE))
            {
                let x = &x[part * PART..(part + 1) * PART];
                sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += product(*w, *x));
            }
            out.copy_from_slice(&sums);
        }
    }
}
