//! The ways of warpgroups that multiply together (`wgmma`): device 9.0 alone.
//!
//! A block of 384 threads keeps a multiprocessor: one warpgroup has the copy engine fill stages of 128 bytes of k (64 numbers of 16 bits, 128 of 8)
//! from tensor maps, two multiply 64 rows each. Whatever lies outside a matrix is read as zero and not written, so every size goes through
//! the same code, and k need not be a multiple of a stage. Two blocks of a cluster compute tiles one above the other and load half of their
//! rows of W each, for both.
//!
//! What differs from `mma.sync`: operands never pass registers; sums take 128 of them a thread; tiles are counted by clusters and taken in
//! turn by as many blocks as there are multiprocessors, or as few as take no longer. Results leave through shared memory by a tensor map, which wants
//! rows of a multiple of 16 bytes: 16-bit ones of other widths are left to `mma.sync`, 32-bit ones go straight to memory. That would cost all of them 64
//! stores a thread of eight rows each, some 4000 clocks of the first-level cache for a tile whose products take 32 768 at k = 4096 of int8 (by count).
//! Where tiles are fewer than multiprocessors, two or four blocks of a cluster share k of one and add up in fp32 through each other's shared memory; what
//! leaves then needs no tensor map.
//! fp8 is summed with fewer bits than fp32 has, so each 128 of k are added up outside. Of two sets of sums 256 columns would take 256 of the 232 registers
//! that a thread can have, 192 take 192; two blocks would share a multiprocessor with 80 registers a thread, less than the sums of 128 columns. Of 4096
//! columns, 192 are 22 tiles and 176 are 24: six turns of 66 pairs either way, and 192 take 1.04 times as long (H200).
//! Sums of fp16 lie two in a register, and leave as they are. fp32 numbers become tf32 on the way to shared memory: of the map's type the copy engine
//! rounds them, where the instruction would cut (NVIDIA/cutlass include/cutlass/gemm/collective/sm90_mma_tma_gmma_ss_warpspecialized.hpp, "TMA converts
//! f32 input to tf32", read 2026-11-26); how it treats ties is nowhere said, so no case has one.
//!
//! Rejected: two multiplying warpgroups that take turns with a tile each, so that results of one leave while the other multiplies (with 64 × 256 or
//! 128 × 128 each, shared memory is busy for 640 clocks where the tensor cores are for 512, against 1024 for both here; what would be hidden is some
//! thousand of 66 000 clocks at k = 4096, by count of instructions); clusters of four (half a wave of them does not fit the groups of
//! multiprocessors); more boxes a warp in the place of a stage (on an H200 at 4096, int8 with three stages and five boxes takes 1.05 times as long, fp8 with
//! four and four 1.01).

use super::dispatch::{Call, Dispatch, Entries};
use super::product::Product;
use crate::gpu::family::stream::Operands;
use crate::gpu::{
    Arg, DeviceFacts, Element, Launch, Route, Shape, Slot, TensorElement, TensorMap, Variant,
};

/// Image of these kernels.
pub(super) const FAMILY: &str = "gemm_hopper";
/// First CUDA version of a driver that loads machine code for sm_90a and encodes tensor maps.
const OLDEST_DRIVER: u32 = 12_000;
/// Threads of a block: one warpgroup loads, two multiply.
const THREADS: u32 = 384;
/// Rows of X of a block.
const ROWS: u32 = 128;
/// Bytes of k of a stage.
const SLAB: u32 = 128;
/// Rows of Y that a warp stores at a time.
const WARP_ROWS: u32 = 16;
/// Shared memory beside stages: what aligns them, and their barriers.
const AROUND: u32 = 1024 + 1024;
/// Shared memory through which results leave, a box for each of eight warps.
const BOX: u32 = 8 * WARP_ROWS * SLAB;
/// Most rows and columns: coordinates of boxes are signed.
const MOST: u32 = i32::MAX as u32 - 512;

/// A tile, whatever is multiplied.
struct Tile {
    variant: Variant,
    columns: u32,
    /// Blocks of a cluster.
    blocks: u32,
    /// Blocks that share k of a tile.
    parts: u32,
    stages: u32,
    /// Boxes through which the results of a warp leave, in turn.
    boxes: u32,
    /// Against the best tile of `mma.sync`: see [`rate`].
    rate: f64,
}

const fn tile(name: &'static str, what: &'static str, columns: u32, blocks: u32) -> Tile {
    let (stages, boxes) = match columns {
        256 => (4, 2),
        192 => (5, 1),
        176 => (5, 2),
        _ => (6, 2),
    };
    let rate = rate(columns, blocks);
    Tile { variant: Variant { name, what }, columns, blocks, parts: 1, stages, boxes, rate }
}

/// Parts of a sum leave without boxes.
const fn shared(name: &'static str, what: &'static str, parts: u32) -> Tile {
    Tile { parts, boxes: 0, ..tile(name, what, 128, 1) }
}

/// `mma.sync` has half of the rate at best where a block is alone on its multiprocessor. Shared memory passes 128 bytes a clock, written once and
/// read by each 64 rows again: for a stage of 256 columns in the 1024 clocks that the tensor cores need, of 192 in 832 where they need 768, of 128
/// in 640 where they need 512. Without a pair, the second-level cache is read half as much again.
const fn rate(columns: u32, blocks: u32) -> f64 {
    let alone = match columns {
        256 => 2.0,
        192 => 1.85,
        176 => 1.8,
        _ => 1.6,
    };
    if blocks == 1 { alone } else { alone + 0.1 }
}

/// Every tile.
const TILES: &[Tile] = &[
    tile("wgmma128x256c2", "wgmma, large tiles, two blocks share W", 256, 2),
    tile("wgmma128x256", "wgmma, large tiles", 256, 1),
    tile("wgmma128x192c2", "wgmma, large tiles, two blocks share W", 192, 2),
    tile("wgmma128x176c2", "wgmma, large tiles, two blocks share W", 176, 2),
    tile("wgmma128x128c2", "wgmma, small tiles, two blocks share W", 128, 2),
    tile("wgmma128x128", "wgmma, small tiles", 128, 1),
    shared("wgmma128x128k2", "wgmma, small tiles, two blocks share k", 2),
    shared("wgmma128x128k4", "wgmma, small tiles, four blocks share k", 4),
];

/// A product that wgmma has: the instruction, and its tiles, the best first.
type Row = (Product, &'static str, [Entries; 2]);

const F16_PARTS: Entries = entries!("gemm_f16_parts": "128x128k2" "128x128k4");
const BF16_PARTS: Entries = entries!("gemm_bf16_parts": "128x128k2" "128x128k4");

macro_rules! large {
    ($base:literal) => { entries!($base: "128x256c2" "128x256" "128x128") };
    (wide $base:literal) => { entries!($base: "128x256c2" "128x128") };
    (fp8 $base:literal) => { entries!($base: "128x192c2" "128x176c2" "128x128c2" "128x128") };
}

const ROWS_OF: &[Row] = &[
    (Product::F16, "wgmma.m64n256k16", [large!("gemm_f16"), F16_PARTS]),
    (Product::F16Out32, "wgmma.m64n256k16", [large!(wide "gemm_f16_out32"), F16_PARTS]),
    (Product::Bf16, "wgmma.m64n256k16", [large!("gemm_bf16"), BF16_PARTS]),
    (Product::Bf16Out32, "wgmma.m64n256k16", [large!(wide "gemm_bf16_out32"), BF16_PARTS]),
    (Product::F16Acc16, "wgmma.m64n256k16", [large!("gemm_f16_acc16"), &[]]),
    (Product::Tf32, "wgmma.m64n256k8", [large!("gemm_tf32"), &[]]),
    (Product::S8, "wgmma.m64n256k32", [large!("gemm_s8"), &[]]),
    (Product::E4m3, "wgmma.m64n192k32", [large!(fp8 "gemm_e4m3"), &[]]),
    (Product::E5m2, "wgmma.m64n192k32", [large!(fp8 "gemm_e5m2"), &[]]),
];

/// Whether a device has wgmma, and a driver for it.
pub(in crate::gpu::family) fn has_wgmma(facts: &DeviceFacts) -> bool {
    (facts.sm.major, facts.sm.minor) == (9, 0) && facts.driver_cuda >= OLDEST_DRIVER
}

/// How a product is done, where wgmma does it.
pub(super) fn route(product: Product, facts: &DeviceFacts) -> Option<Route> {
    let row = row(product).filter(|_| !dispatches(product, facts).is_empty());
    row.map(|(_, by, _)| Route::Native { by: (*by).to_owned() })
}

/// The ways of a product; none but on a device that has wgmma and the memory.
pub(super) fn dispatches(product: Product, facts: &DeviceFacts) -> Vec<Dispatch> {
    let row = row(product).filter(|_| has_wgmma(facts));
    let all = row.into_iter().flat_map(|(.., entries)| entries.concat());
    let dispatches = all.filter_map(|(name, entry)| Some(dispatch(product, tile_of(name)?, entry)));
    dispatches.filter(|dispatch| dispatch.shared_bytes <= facts.shared_per_block_optin).collect()
}

/// Whether a way is one of these.
pub(super) fn is(dispatch: &Dispatch) -> bool {
    dispatch.family == FAMILY
}

/// Whether another way has a place beside these: smaller tiles have, large ones have not, nor what imitates fp8 where wgmma multiplies it.
pub(super) fn leaves(dispatch: &Dispatch, product: Product, facts: &DeviceFacts) -> bool {
    let fp8 = matches!(product, Product::E4m3 | Product::E5m2);
    let small = !fp8 && dispatch.tile[0] < ROWS;
    is(dispatch) || small || dispatches(product, facts).is_empty()
}

fn row(product: Product) -> Option<&'static Row> {
    ROWS_OF.iter().find(|row| row.0 == product)
}

/// The tile that entries call so.
fn tile_of(name: &str) -> Option<&'static Tile> {
    TILES.iter().find(|tile| tile.variant.name.trim_start_matches("wgmma") == name)
}

/// Whether a tensor map takes rows of results.
fn boxed(product: Product, n: u32) -> bool {
    (n as usize * product.output().bytes()).is_multiple_of(16)
}

fn dispatch(product: Product, tile: &Tile, entry: &'static str) -> Dispatch {
    Dispatch {
        variant: tile.variant,
        family: FAMILY,
        entry,
        stream_k: None,
        tile: [ROWS, tile.columns],
        threads: THREADS,
        shared_bytes: tile.stages * (ROWS + tile.columns) * SLAB + AROUND + tile.boxes * BOX,
        rate: tile.rate,
        parts: tile.parts,
        takes: match (tile.parts, product.output().bytes()) {
            (1, 2) => |shape| shape.n % 8 == 0 && fits(shape),
            _ => fits,
        },
        launch: if tile.parts == 1 { launch } else { launch_parts },
    }
}

fn fits(shape: Shape) -> bool {
    shape.m <= MOST && shape.n <= MOST
}

fn launch(dispatch: &Dispatch, call: &Call) -> Result<Launch, String> {
    let Shape { m, n, k, .. } = call.shape;
    let Operands { x, weights, y } = call.operands;
    dispatch.blocks(call.shape, call.sms)?;
    let tile = TILES.iter().find(|tile| tile.variant == dispatch.variant);
    let blocks = tile.map_or(1, |tile| tile.blocks);
    let rows = operand(x, m, ROWS, call);
    // Where no map takes the results, the kernel looks at none; it only has to be one.
    let map = if boxed(call.product, n) { results(y, call) } else { rows };
    let straight = (call.product.output().bytes() == 4).then(|| Arg::from(y));
    let maps = [rows, operand(weights, n, dispatch.tile[1] / blocks, call), map];
    let sizes = [m, n, k].map(Arg::from);
    let grid = [blocks * clusters(dispatch.tile[1], blocks, call), 1];
    let args = maps.map(Arg::from).into_iter().chain(straight).chain(sizes);
    Ok(dispatch.launched(grid, args))
}

/// A cluster for each tile, whose blocks lie one behind the other in y.
fn launch_parts(dispatch: &Dispatch, call: &Call) -> Result<Launch, String> {
    let Shape { m, n, k, .. } = call.shape;
    let Operands { x, weights, y } = call.operands;
    let wide = u32::from(call.product.output() == Element::F32);
    let maps = [operand(x, m, ROWS, call), operand(weights, n, dispatch.tile[1], call)];
    let rest = [y.into(), m.into(), n.into(), k.into(), wide.into()];
    let grid = [dispatch.blocks(call.shape, call.sms)?, dispatch.parts];
    Ok(dispatch.launched(grid, maps.map(Arg::from).into_iter().chain(rest)))
}

/// Clusters to launch: as many as fit at a time, or as few as need no more turns. Fewer blocks leave power to the others.
fn clusters(columns: u32, blocks: u32, call: &Call) -> u32 {
    let tiles = call.shape.m.div_ceil(ROWS * blocks) * call.shape.n.div_ceil(columns);
    let turns = tiles.div_ceil((call.sms / blocks).max(1));
    tiles.div_ceil(turns)
}

/// Rows of X or W as stages take them.
pub(super) fn operand(slot: Slot, rows: u32, at_a_time: u32, call: &Call) -> TensorMap {
    let numbers = call.pitch / call.shape.k;
    let element = match call.product {
        Product::F16 | Product::F16Out32 | Product::F16Acc16 => TensorElement::F16,
        Product::Bf16 | Product::Bf16Out32 => TensorElement::Bf16,
        Product::Tf32 => TensorElement::Tf32,
        _ => TensorElement::U8,
    };
    TensorMap {
        slot,
        element,
        size: [call.shape.k.into(), rows.into()],
        row_bytes: call.pitch.into(),
        tile: [SLAB / numbers, at_a_time],
        swizzled: true,
    }
}

/// Rows of Y as warps store them.
fn results(slot: Slot, call: &Call) -> TensorMap {
    let (output, n) = (call.product.output(), call.shape.n);
    let element = match output {
        Element::Bf16 => TensorElement::Bf16,
        Element::F16 => TensorElement::F16,
        Element::I32 => TensorElement::I32,
        _ => TensorElement::F32,
    };
    let bytes = output.bytes() as u32;
    TensorMap {
        slot,
        element,
        size: [n.into(), call.shape.m.into()],
        row_bytes: u64::from(n) * u64::from(bytes),
        tile: [SLAB / bytes, WARP_ROWS],
        swizzled: true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::choose::choose;
    use super::super::launch;
    use super::super::product::ROWS as PRODUCTS;
    use super::super::tests::device;
    use super::*;
    use crate::gpu::BufferId;

    fn hopper(sms: u32) -> DeviceFacts {
        DeviceFacts { shared_per_block_optin: 227 << 10, ..device((9, 0), sms) }
    }

    fn cube(side: u32) -> Shape {
        shape(side, side, side)
    }

    fn shape(m: u32, n: u32, k: u32) -> Shape {
        Shape { m, n, k, ..Shape::default() }
    }

    fn launched(facts: &DeviceFacts, product: Product, shape: Shape) -> Launch {
        let slot = |buffer| Slot { buffer: BufferId(buffer), offset: 0 };
        let operands = Operands { x: slot(0), weights: slot(1), y: slot(2) };
        launch(facts, operands, product, shape).unwrap()
    }

    #[test]
    fn only_a_device_9_0_with_its_memory_and_a_driver_for_it_has_these_ways() {
        let facts = hopper(132);
        assert_eq!(dispatches(Product::F16, &facts).len(), 5);
        assert_eq!(dispatches(Product::F32, &facts).len(), 0);
        for other in [
            DeviceFacts { sm: crate::Sm::new(10, 0), ..facts.clone() },
            DeviceFacts { driver_cuda: 11_080, ..facts.clone() },
            DeviceFacts { shared_per_block_optin: 163 << 10, ..facts.clone() },
        ] {
            assert_eq!(dispatches(Product::F16, &other).len(), 0);
            assert_eq!(route(Product::E4m3, &other), None);
        }
        let by = Route::Native { by: "wgmma.m64n192k32".to_owned() };
        assert_eq!(Product::E4m3.route(&facts), by);
    }

    /// CUDA C++ programming guide, "Technical Specifications per Compute Capability": 227 KiB of shared memory a block on 9.0.
    #[test]
    fn every_way_fits_and_is_named_by_its_tile() {
        for row in PRODUCTS {
            for dispatch in dispatches(row.product, &hopper(132)) {
                assert!(dispatch.shared_bytes <= 227 << 10, "{}", dispatch.entry);
                let name = dispatch.variant.name.strip_prefix("wgmma").unwrap();
                assert!(dispatch.entry.ends_with(name), "{}", dispatch.entry);
                assert!(name.starts_with(&format!("{}x{}", dispatch.tile[0], dispatch.tile[1])));
            }
        }
    }

    #[test]
    fn tiles_are_as_large_as_leaves_no_multiprocessor_idle() {
        let facts = hopper(132);
        for (product, shape, variant) in [
            (Product::Bf16, cube(8192), "wgmma128x256c2"),
            (Product::F16, cube(2048), "wgmma128x256c2"),
            (Product::F16, shape(128, 8192, 4096), "wgmma128x128k2"),
            (Product::Bf16, shape(256, 4096, 4096), "wgmma128x128k2"),
            (Product::Bf16Out32, shape(512, 2048, 8192), "wgmma128x128k2"),
            (Product::F16, shape(128, 4096, 8192), "wgmma128x128k4"),
            (Product::F16, shape(1024, 4096, 4096), "wgmma128x256c2"),
            (Product::F16, shape(16, 512, 512), "fewc4"),
            (Product::S8, cube(4096), "wgmma128x256c2"),
            (Product::E4m3, cube(8192), "wgmma128x192c2"),
            (Product::E4m3, cube(4096), "wgmma128x176c2"),
            (Product::E4m3, cube(2048), "wgmma128x128c2"),
            (Product::E4m3, shape(1, 1, 16), "wgmma128x128c2"),
            (Product::F16Acc16, cube(8192), "wgmma128x256c2"),
            (Product::Tf32, cube(4096), "wgmma128x256c2"),
        ] {
            let dispatch = choose(product, &facts, shape, false).unwrap();
            assert_eq!(dispatch.variant.name, variant, "{product:?} {shape:?}");
        }
    }

    /// The copy engine takes rows of multiples of 16 bytes only: CUDA driver API, cuTensorMapEncodeTiled.
    #[test]
    fn widths_that_no_tensor_map_has_are_left_to_others() {
        let facts = hopper(132);
        let family = |product, n| launched(&facts, product, shape(4096, n, 4096)).family;
        assert_eq!(family(Product::F16, 4096), FAMILY);
        let wide = launched(&facts, Product::F16, shape(4096, 4097, 4096));
        assert_eq!((wide.family, wide.grid), (FAMILY, [32 * 33, 2, 1]), "parts need no map");
        let parts = launched(&facts, Product::F16, shape(128, 4097, 4096));
        assert_eq!((parts.family, parts.grid), (FAMILY, [33, 4, 1]), "no map for what leaves");
        assert_eq!(family(Product::F16Out32, 4097), FAMILY);
        assert_eq!(family(Product::E5m2, 4097), FAMILY);
        let forced = facts.with_variant("gemm.f16", "wgmma128x256");
        assert_eq!(launched(&forced, Product::F16, shape(65, 68, 64)).family, "gemm");
        assert_eq!(launched(&forced, Product::F16, shape(65, 72, 64)).family, FAMILY);
    }

    #[test]
    fn blocks_are_no_more_than_shorten_the_work() {
        for (sms, shape, grid) in [
            (132, cube(2048), 128),
            // 256 pairs of tiles over 66 pairs of multiprocessors are four turns, as over 64.
            (132, cube(4096), 128),
            (132, cube(8192), 128),
            (132, shape(256, 512, 64), 4),
            (3, cube(1024), 2),
            (1, shape(300, 256, 64), 2),
        ] {
            let facts = hopper(sms).with_variant("gemm.f16", "wgmma128x256c2");
            assert_eq!(launched(&facts, Product::F16, shape).grid, [grid, 1, 1], "{shape:?}");
        }
    }

    #[test]
    fn operands_are_boxes_of_a_stage_and_results_of_a_warp() {
        let facts = hopper(132).with_variant("gemm.bf16", "wgmma128x256c2");
        let launch = launched(&facts, Product::Bf16, shape(300, 520, 72));
        let map = |index: usize| match launch.args[index] {
            Arg::TensorMap(map) => (map.size, map.row_bytes, map.tile),
            arg => panic!("{arg:?} is no map"),
        };
        assert_eq!(map(0), ([72, 300], 144, [64, 128]));
        assert_eq!(map(1), ([72, 520], 144, [64, 128]), "each block loads half");
        assert_eq!(map(2), ([520, 300], 1040, [64, 16]));
        let facts = hopper(132).with_variant("gemm.s8", "wgmma128x256");
        let launch = launched(&facts, Product::S8, shape(300, 521, 80));
        let Arg::TensorMap(weights) = launch.args[1] else { panic!("a map") };
        assert_eq!((weights.row_bytes, weights.tile), (80, [128, 256]));
        assert_eq!(launch.args[2], launch.args[0], "no map has rows of 2084 bytes");
        assert!(matches!(launch.args[3], Arg::Slot(_)));
        let launch = launched(&facts, Product::S8, shape(300, 516, 80));
        let Arg::TensorMap(results) = launch.args[2] else { panic!("a map") };
        assert_eq!((results.size, results.row_bytes), ([516, 300], 2064));
        assert_eq!((results.element, results.tile), (TensorElement::I32, [32, 16]));
    }
}
