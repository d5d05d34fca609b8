//! Packed weights elsewhere: as dense numbers, and from the hash that defines those of the micro decoder.

use half::f16;

use super::block::ROWS;
use super::{GROUP, Weights, pack, packed_bytes, paths, scale_bytes};
use crate::gpu::family::route::{Step, Support, route};
use crate::gpu::family::stream::{
    Path, Streamed, WARPS, Widened, check_aligned, check_shape, widening, widening_entry,
};
use crate::gpu::{
    Arg, Case, Content, DeviceFacts, Element, Expect, GpuKernel, Launch, Shape, Slot,
};
use crate::model::{Grid, Pattern};
use crate::{Dtype, Sm};

/// Packed weights as `[n, k]` 16-bit numbers, row by row: what prefill multiplies with. Exact rounding of q · scale.
pub fn dequantize(
    weights: Weights,
    to: Slot,
    element: Element,
    n: u32,
    k: u32,
) -> Result<Launch, String> {
    let entry = widening_entry(element, ["w4_dequant_f16", "w4_dequant_bf16"])?;
    let args = [weights.words, weights.scales, to].map(Arg::from).into_iter();
    tiles(entry, n, k, args.chain([n, k].map(Arg::from)).collect())
}

/// Packs the weights of a [`Grid`] on the device: [`packed_bytes`] and [`scale_bytes`] of memory.
pub fn generate(grid: &Grid, to: Weights) -> Result<Launch, String> {
    if grid.pattern != Pattern::Free {
        return Err(format!("no kernel ties weights to each other as {:?}", grid.pattern));
    }
    let size = |size: usize| u32::try_from(size).map_err(|_| format!("{size} is too many"));
    let (n, k) = (size(grid.rows)?, size(grid.cols)?);
    // Scales are four to seven quarters of a power of two.
    let unit = f64::from(grid.exponent - 2).exp2() as f32;
    let args = vec![
        to.words.into(),
        to.scales.into(),
        Arg::U64(grid.tensor),
        n.into(),
        k.into(),
        unit.into(),
    ];
    tiles("w4_grid", n, k, args)
}

/// A block for every 16 rows.
fn tiles(entry: &'static str, n: u32, k: u32, args: Vec<Arg>) -> Result<Launch, String> {
    check_shape(Shape { m: 1, n, k, ..Shape::default() }, 1, GROUP as u32)?;
    let places =
        args.iter().filter_map(|arg| if let Arg::Slot(slot) = arg { Some(*slot) } else { None });
    check_aligned(&places.collect::<Vec<_>>())?;
    let threads = 32 * (k / GROUP as u32).min(WARPS);
    Ok(Launch::new(("w4", entry), [n.div_ceil(ROWS), 1], threads, args))
}

struct Packed;

impl Widened for Packed {
    const PATH: &'static Path = &paths::F16::PATHS[0];

    fn launch(
        weights: &[Slot],
        to: Slot,
        element: Element,
        Shape { n, k, .. }: Shape,
    ) -> Result<Launch, String> {
        dequantize(Weights { words: weights[0], scales: weights[1] }, to, element, n, k)
    }
}

/// Grids of the cases: tensor, rows, columns, exponent of the scales.
const GRIDS: &[(u64, usize, usize, i32)] =
    &[(3, 1, 128, 0), (11, 37, 1152, -9), (70_000, 16, 384, 12)];

fn grids(_: &DeviceFacts) -> Vec<Case> {
    let grid = |&(tensor, rows, cols, exponent)| Grid::new(tensor, [rows, cols], exponent);
    GRIDS.iter().map(grid).filter_map(|grid| generated(grid).ok()).collect()
}

fn generated(grid: Grid) -> Result<Case, String> {
    let (n, k) = (grid.rows, grid.cols);
    let q: Vec<i8> = (0..n * k).map(|index| grid.q(index)).collect();
    let scales: Vec<f16> = (0..grid.groups()).map(|g| f16::from_f32(grid.scale(g))).collect();
    let packed = pack(n, k, &q, &scales)?;
    let plan = move |slots: &[Slot]| {
        let launch = generate(&grid, Weights { words: slots[0], scales: slots[1] });
        vec![launch.expect("the sizes of a case are possible")]
    };
    Ok(Case {
        name: format!("tensor {} of {n}×{k}", grid.tensor),
        buffers: vec![Content::Poison(packed_bytes(n, k)), Content::Poison(scale_bytes(n, k))],
        plan: Box::new(plan),
        expect: vec![
            Expect::bits(0, Element::U32, packed.words),
            Expect::bits(1, Element::F16, packed.scales),
        ],
    })
}

/// Numbers are put together from their bits, multiplied and rounded.
const STEPS: &[Step] = &[(Sm::new(6, 0), Support::Native("mul.f32 and integer operations"))];

/// Widens packed weights.
pub(super) const WIDENING: GpuKernel =
    widening::<Packed>("w4.dequant", "4-bit weights as 16-bit numbers", "w4", |f| route(STEPS, f));

/// Generates packed weights.
pub(super) const GENERATION: GpuKernel = GpuKernel {
    id: "w4.grid",
    title: "4-bit weights from a hash of their index",
    family: "w4",
    dtype: Dtype::Int4Weight,
    route: |facts| route(STEPS, facts),
    cases: grids,
    ..GpuKernel::UNTIMED
};
