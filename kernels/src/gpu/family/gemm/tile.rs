//! The ways of threads and of warps that multiply by themselves (`mma.sync`): tiles of Y, and which product has which.
//!
//! A tile is called after its rows, its columns, the bytes of k of a stage (`b`) and the stages (`s`); `k4` has four warps share a part of Y and
//! divide k, `d` has slabs shared out evenly (stream-K) to blocks that share tiles, `w4` and `w8` are of four and of eight warps where others are not, `r` takes
//! rows of any length. Entries carry the name of the tile.
//!
//! A fourth stage where two blocks of 128×128 still fit (sm_80 and sm_90) was rejected: the tensor cores of an A100 take 1024 cycles for a slab of
//! each of the two, and two more of each are on their way: twice as long as memory takes to answer. Deeper stages of fewer barriers are what the
//! largest tiles have instead.

use super::dispatch::{Call, Dispatch, Entries, StreamKSteps};
use super::product::Product;
use crate::Sm;
use crate::gpu::family::stream::Operands;
use crate::gpu::family::stream_k::Workspace;
use crate::gpu::{Arg, DeviceFacts, Launch, Shape, Variant};

/// A tile, whatever is multiplied.
struct Tile {
    variant: Variant,
    sides: [u32; 2],
    threads: u32,
    /// Dynamic shared memory, bytes: stages of rows of X and of W.
    shared_bytes: u32,
    /// Share of the arithmetic rate. By shared memory: where a warp has 64×64 it reads 1 byte of fragments for 32 products of 16 bits, which
    /// leaves the tensor cores of an A100 busy; with 32×64 they wait a ninth of the time, with 32×32 a third.
    rate: f64,
    /// Whether blocks share tiles, and how.
    stream_k: Option<StreamKSteps>,
    takes: fn(Shape) -> bool,
}

const fn tile(
    (name, what): (&'static str, &'static str),
    [rows, columns]: [u32; 2],
    threads: u32,
    [bytes, stages]: [u32; 2],
    rate: f64,
) -> Tile {
    let shared_bytes = (rows + columns) * bytes * stages;
    let takes = |shape: Shape| shape.k.is_multiple_of(4);
    let variant = Variant { name, what };
    Tile { variant, sides: [rows, columns], threads, shared_bytes, rate, stream_k: None, takes }
}

const DEALT_S3: (&str, &str) = ("128x128b64s3d", "large tiles that one wave of blocks shares");
const DEALT_S2: (&str, &str) = ("128x128b64s2d", "large tiles, two stages, one wave of blocks");

/// The same, two blocks a multiprocessor, to which slabs of 64 bytes of 16-bit numbers are shared out evenly (stream-K).
const fn stream_k(tile: Tile) -> Tile {
    // Slabs are counted in 32 bits.
    let takes = |Shape { m, n, k, .. }: Shape| {
        let tiles = u64::from(m.div_ceil(128)) * u64::from(n.div_ceil(128));
        k.is_multiple_of(4) && tiles.saturating_mul(k.div_ceil(32).into()) < 1 << 31
    };
    Tile { stream_k: Some(StreamKSteps { held: 2, columns: 32 }), takes, ..tile }
}

/// Every tile. Those of threads have shared memory of their own.
const TILES: &[Tile] = &[
    tile(("128x256b128s3", "the largest tiles, deep stages"), [128, 256], 256, [128, 3], 1.0),
    tile(("128x256b64s3", "the largest tiles"), [128, 256], 256, [64, 3], 0.97),
    tile(("128x128b64s3", "large tiles, two blocks side by side"), [128, 128], 128, [64, 3], 0.93),
    tile(("128x128b64s3w8", "large tiles of eight warps"), [128, 128], 256, [64, 3], 1.0),
    tile(("64x128b64s4", "flat tiles, four stages"), [64, 128], 128, [64, 4], 0.8),
    tile(("64x64b128s3", "small tiles, deep stages"), [64, 64], 128, [128, 3], 0.6),
    tile(("32x64b256s3k4", "few tokens, four warps divide k"), [32, 64], 128, [256, 3], 0.5),
    tile(("128x256b64s2", "the largest tiles, two stages"), [128, 256], 256, [64, 2], 1.0),
    tile(("128x128b64s2", "large tiles, two stages"), [128, 128], 128, [64, 2], 0.93),
    tile(("64x64b64s2", "small tiles, two stages"), [64, 64], 128, [64, 2], 0.6),
    tile(("32x64b256s2k4", "few tokens, four warps divide k"), [32, 64], 128, [256, 2], 0.5),
    stream_k(tile(DEALT_S3, [128, 128], 128, [64, 3], 0.93)),
    stream_k(tile(DEALT_S2, [128, 128], 128, [64, 2], 0.93)),
    // A thread has 8×16 of Y, 8×8, 8×4: of what it issues 0.91, 0.87 and 0.81 are products.
    tile(("128x128w4", "large tiles of four warps"), [128, 128], 128, [0, 0], 1.0),
    tile(("128x128", "large tiles"), [128, 128], 256, [0, 0], 0.96),
    tile(("64x64", "small tiles"), [64, 64], 128, [0, 0], 0.75),
    Tile {
        takes: |_| true,
        ..tile(("64x64r", "small tiles, rows of any length"), [64, 64], 128, [0, 0], 0.3)
    },
];

/// The largest tiles, with deep stages and without.
const DEEP: &str = "128x256b128s3";
const SHALLOW: &str = "128x256b64s3";

/// Shared memory of a tile by its name.
fn shared_bytes(name: &str) -> u32 {
    TILES.iter().find(|tile| tile.variant.name == name).map_or(0, |tile| tile.shared_bytes)
}

/// One product at a time.
macro_rules! by_threads {
    ($base:literal) => { entries!($base: "128x128" "64x64") };
}
/// Tensor cores of sm_70 and sm_75; without the largest tile where nobody times it.
macro_rules! staged {
    ($base:literal) => {
        entries!($base: "128x256b64s2" "128x128b64s2" "64x64b64s2" "32x64b256s2k4")
    };
    (stream_k $base:literal) => {
        entries!($base: "128x256b64s2" "128x128b64s2" "128x128b64s2d" "64x64b64s2" "32x64b256s2k4")
    };
    (few $base:literal) => { entries!($base: "128x128b64s2" "64x64b64s2" "32x64b256s2k4") };
    (whole $base:literal) => { entries!($base: "128x256b64s2" "128x128b64s2" "64x64b64s2") };
}
/// Tensor cores from sm_80 on.
macro_rules! copied {
    ($base:literal) => {
        entries!($base: "128x256b128s3" "128x256b64s3" "128x128b64s3" "64x128b64s4" "64x64b128s3" "32x64b256s3k4")
    };
    (stream_k $base:literal) => {
        entries!($base: "128x256b128s3" "128x256b64s3" "128x128b64s3" "128x128b64s3d" "64x128b64s4" "64x64b128s3" "32x64b256s3k4")
    };
    (few $base:literal) => { entries!($base: "128x128b64s3" "64x64b128s3" "32x64b256s3k4") };
    (whole $base:literal) => { entries!($base: "128x256b64s3" "128x128b64s3" "64x64b128s3") };
}

/// The tiles of a product by the compute capability they begin with.
const fn steps(product: Product) -> &'static [(Sm, Entries)] {
    const PASCAL: Sm = Sm::new(6, 0);
    const VOLTA: Sm = Sm::new(7, 0);
    const TURING: Sm = Sm::new(7, 5);
    const AMPERE: Sm = Sm::new(8, 0);
    const ADA: Sm = Sm::new(8, 9);
    const HOPPER: Sm = Sm::new(9, 0);
    match product {
        Product::F16 => &[
            (PASCAL, by_threads!("gemm_f16")),
            (VOLTA, staged!(stream_k "gemm_f16")),
            // Two blocks leave nothing of its shared memory, and stream-K ones need a word more.
            (TURING, staged!("gemm_f16")),
            (AMPERE, copied!(stream_k "gemm_f16")),
        ],
        Product::F16Out32 => &[
            (PASCAL, by_threads!("gemm_f16_out32")),
            (VOLTA, staged!(few "gemm_f16_out32")),
            (AMPERE, copied!(few "gemm_f16_out32")),
        ],
        // Parts of a sum in fp16 are not added up afterwards: that would overflow elsewhere than one after another.
        Product::F16Acc16 => &[
            (PASCAL, by_threads!("gemm_f16_acc16")),
            (VOLTA, staged!(whole "gemm_f16_acc16")),
            (AMPERE, copied!(whole "gemm_f16_acc16")),
        ],
        Product::Bf16 => {
            &[(PASCAL, by_threads!("gemm_bf16")), (AMPERE, copied!(stream_k "gemm_bf16"))]
        }
        Product::Bf16Out32 => {
            &[(PASCAL, by_threads!("gemm_bf16_out32")), (AMPERE, copied!(few "gemm_bf16_out32"))]
        }
        Product::F32 => &[(PASCAL, entries!("gemm_f32": "128x128w4" "128x128" "64x64" "64x64r"))],
        Product::Tf32 => &[(AMPERE, copied!(whole "gemm_tf32"))],
        Product::S8 => &[
            (PASCAL, entries!("gemm_s8": "128x128w4" "128x128" "64x64")),
            (TURING, staged!("gemm_s8")),
            (AMPERE, copied!("gemm_s8")),
        ],
        // What stands in for the instruction from sm_90 on is not worth the largest tile.
        Product::S4 => &[
            (TURING, staged!(whole "gemm_s4")),
            (AMPERE, copied!(whole "gemm_s4")),
            (HOPPER, entries!("gemm_s4": "128x128b64s3" "64x64b128s3")),
        ],
        Product::E4m3 => {
            &[(ADA, entries!("gemm_e4m3": "128x128b64s3w8" "64x64b128s3" "32x64b256s3k4"))]
        }
        Product::E5m2 => &[(ADA, entries!("gemm_e5m2": "128x128b64s3w8" "64x64b128s3"))],
    }
}

/// The ways of a product on a device: the tiles of its generation that its shared memory holds.
pub(super) fn dispatches(product: Product, facts: &DeviceFacts) -> Vec<Dispatch> {
    let step = steps(product).iter().rev().find(|(first, _)| *first <= facts.sm);
    let entries = step.map_or(&[][..], |(_, entries)| entries);
    let most = facts.shared_per_block.max(facts.shared_per_block_optin);
    let named = entries.iter().filter_map(|(name, entry)| {
        let tile = TILES.iter().find(|tile| tile.variant.name == *name)?;
        (tile.shared_bytes <= most).then_some((tile, *entry))
    });
    // Two of the largest tiles are one too many: where deep stages fit they are better.
    let deep = entries.iter().any(|(name, _)| *name == DEEP) && shared_bytes(DEEP) <= most;
    let named = named.filter(|(tile, _)| !deep || tile.variant.name != SHALLOW);
    let dispatch = |(tile, entry): (&Tile, &'static str)| Dispatch {
        variant: tile.variant,
        family: product.row().family,
        entry,
        tile: tile.sides,
        threads: tile.threads,
        shared_bytes: tile.shared_bytes,
        rate: tile.rate,
        stream_k: tile.stream_k,
        parts: 1,
        takes: tile.takes,
        launch,
    };
    named.map(dispatch).collect()
}

fn launch(dispatch: &Dispatch, call: &Call) -> Result<Launch, String> {
    debug_assert!((dispatch.takes)(call.shape), "{:?} of {} bytes a row", call.product, call.pitch);
    let Shape { m, n, k, .. } = call.shape;
    let Operands { x, weights, y } = call.operands;
    let mut args: Vec<Arg> = vec![x.into(), weights.into(), y.into()];
    if dispatch.stream_k.is_some() {
        let Workspace { left, arrivals } =
            call.workspace.ok_or("blocks share no tile without memory between them")?;
        args.extend([left, arrivals].map(Arg::from));
    }
    args.extend([m, n, k].map(Arg::from));
    Ok(dispatch.launched([dispatch.blocks(call.shape, call.sms)?, 1], args))
}

#[cfg(test)]
mod tests {
    use super::super::product::ROWS;
    use super::*;

    /// Sides, stages and shared memory are what the name says, and every tile is some product's.
    #[test]
    fn a_tile_is_what_it_is_called() {
        let entries = || ROWS.iter().flat_map(|row| steps(row.product)).flat_map(|(_, of)| *of);
        for tile in TILES {
            let name = tile.variant.name;
            let numbers: Vec<u32> = name
                .split(|c: char| !c.is_ascii_digit())
                .filter_map(|number| number.parse().ok())
                .collect();
            assert_eq!(numbers[..2], tile.sides, "{name}");
            if let [_, _, bytes, stages, ..] = numbers[..] {
                assert_eq!((numbers[0] + numbers[1]) * bytes * stages, tile.shared_bytes, "{name}");
            }
            assert!(entries().any(|(own, _)| *own == name), "no product has {name}");
        }
        for (name, entry) in entries() {
            assert!(TILES.iter().any(|tile| tile.variant.name == *name), "{entry}");
        }
    }

    /// Eight rows of one chunk of 16 bytes, as `ldmatrix` and a quarter of a warp read them, touch every bank of shared memory once.
    #[test]
    fn eight_rows_of_a_chunk_touch_every_bank_once() {
        for chunks in [4_u32, 8, 16] {
            let swizzle = |row: u32| if chunks == 4 { row / 2 % 4 } else { row % 8 };
            let place = |row: u32, chunk: u32| (row * chunks + (chunk ^ swizzle(row))) * 16;
            for chunk in 0..chunks {
                let mut banks: Vec<u32> = (0..8).map(|row| place(row, chunk) / 16 % 8).collect();
                banks.sort_unstable();
                assert_eq!(banks, [0, 1, 2, 3, 4, 5, 6, 7], "{chunks} chunks, chunk {chunk}");
            }
            // A permutation of the chunks of each row.
            for row in 0..16 {
                let mut places: Vec<u32> = (0..chunks).map(|chunk| place(row, chunk)).collect();
                places.sort_unstable();
                let own: Vec<u32> = (0..chunks).map(|chunk| (row * chunks + chunk) * 16).collect();
                assert_eq!(places, own);
            }
        }
    }
}
