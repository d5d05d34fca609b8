//! How many blocks multiply, and how they divide the work: what was picked, else what promises the least time.

use super::super::{GROUP, hopper};
use crate::gpu::family::stream::{Selection, WARPS, has_mma, token_tile};
use crate::gpu::family::stream_k::{CACHED, StreamK};
use crate::gpu::{DeviceFacts, Element, Limiter, MOST_VARIANTS, Shape, Variant};

/// Tokens that entries are compiled for.
pub(super) const TOKENS: [u32; 3] = [16, 32, 64];
/// Blocks of each that a multiprocessor holds.
const HELD: [u32; 3] = [2, 1, 1];
/// Rows of a warp.
const WARP_ROWS: u32 = 32;
/// Most tokens times parts: three stages are then the 48 KiB that a block has without asking.
const MOST_STAGED: u32 = 128;
/// Groups of a block below which it is not worth cutting a tile for.
const LEAST_GROUPS: u32 = 8;

/// Clock cycles of a multiprocessor for 32 rows of a group. By instructions: 370, 433 and 588 (kernels/BUDGETS.md), four begin in each.
const ISSUED: [f64; 3] = [93.0, 108.0, 147.0];
/// What of the other limits the longest does not hide: a guess, for choosing only.
const SHOWN: f64 = 0.25;

/// A way to divide the work.
struct Dispatch {
    variant: Variant,
    /// Parts of k in a block.
    parts: u32,
    /// Whether blocks share tiles.
    cut: bool,
    /// Whether it is left where `wgmma` takes all that are more than few tokens.
    beside_wgmma: bool,
}

const fn dispatch(
    name: &'static str,
    what: &'static str,
    parts: u32,
    cut: bool,
    beside_wgmma: bool,
) -> Dispatch {
    Dispatch { variant: Variant { name, what }, parts, cut, beside_wgmma }
}

/// Of equal promises the first counts.
const WAYS: &[Dispatch] = &[
    dispatch("k1", "256 rows a block", 1, false, false),
    dispatch("k2", "128 rows a block, two parts of k", 2, false, false),
    dispatch("k4", "64 rows a block, four parts of k", 4, false, true),
    dispatch("k8", "32 rows a block, eight parts of k", 8, false, true),
    dispatch("s2", "128 rows a block, one wave of blocks that share tiles", 2, true, true),
];

/// Blocks of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// Index of the tokens of a tile.
    pub tile: usize,
    /// Warps that share its rows.
    pub parts: u32,
    /// Tiles.
    tiles: u32,
    /// How blocks share them, where they do.
    stream_k: Option<StreamK>,
}

impl Blocks {
    fn by(dispatch: &Dispatch, facts: &DeviceFacts, shape: Shape) -> Self {
        let parts = dispatch.parts;
        let fits = TOKENS.iter().filter(|tokens| *tokens * parts <= MOST_STAGED).count().max(1);
        let tile = token_tile(shape.m, &TOKENS[..fits]);
        let rows = WARP_ROWS * WARPS / parts;
        let tiles = shape.n.div_ceil(rows) * shape.m.div_ceil(TOKENS[tile]);
        let held = HELD[tile] * facts.sms.max(1);
        let stream_k = StreamK::new(held, tiles, groups(shape), LEAST_GROUPS, rows * TOKENS[tile]);
        Self { tile, parts, tiles, stream_k: dispatch.cut.then_some(stream_k) }
    }

    /// How many.
    pub(super) fn count(&self) -> u32 {
        self.stream_k.map_or(self.tiles, |stream_k| stream_k.blocks)
    }

    /// Bytes of partial sums and of counts; a few where there are none.
    pub(super) fn workspace_bytes(&self) -> [usize; 2] {
        self.stream_k.map_or([16, 4], |stream_k| stream_k.workspace_bytes())
    }

    /// Cycles of the busiest multiprocessor.
    fn promise(&self, facts: &DeviceFacts, shape: Shape) -> f64 {
        let (tokens, parts, sms) = (TOKENS[self.tile], f64::from(self.parts), facts.sms.max(1));
        let rates = Rates::of(facts);
        let multiplied = f64::from(tokens) * rates.token;
        let cached = (2048.0 + 256.0 * f64::from(tokens) * parts / 8.0) / CACHED;
        let limits = [ISSUED[self.tile], multiplied, cached];
        let longest = limits.iter().copied().fold(0.0, f64::max);
        let each = longest + SHOWN * (limits.iter().sum::<f64>() - longest);
        let tile = f64::from(groups(shape)) * 8.0 / parts;
        let read = f64::from(self.tiles) * tile * rates.read / f64::from(sms);
        let (share, join) = match &self.stream_k {
            None => (f64::from(self.tiles.div_ceil(sms)), 0.0),
            Some(stream_k) => {
                (f64::from(self.tiles) / f64::from(stream_k.blocks.min(sms)), stream_k.join())
            }
        };
        (share * tile * each).max(read) + join
    }

    /// What was picked, else the least promise. Tiles are shared only `through` memory.
    pub(super) fn of(facts: &DeviceFacts, kernel: &str, shape: Shape, through: bool) -> Self {
        Self::by(choose(facts, kernel, shape, through), facts, shape)
    }
}

fn groups(shape: Shape) -> u32 {
    shape.k / GROUP as u32
}

/// What 32 rows of a group cost a multiprocessor, in cycles: for choosing only. By what `mma.sync` with fp32 sums and the memory of the GPUs of
/// kernels/predict.toml do.
struct Rates {
    /// Products with a token.
    token: f64,
    /// 2 KiB of weights from memory.
    read: f64,
}

impl Rates {
    const fn of(facts: &DeviceFacts) -> Self {
        let (token, read) = match (facts.sm.major, facts.sm.minor) {
            (7, _) => (8.0, 540.0),
            (8, 0) => (4.0, 176.0),
            (8, 9) => (16.0, 700.0),
            (8, _) => (16.0, 330.0),
            (9, _) => (2.7, 128.0),
            (10, _) => (4.0, 80.0),
            _ => (16.0, 500.0),
        };
        Self { token, read }
    }
}

/// How a tile is selected.
pub(in super::super) const SELECTION: Selection = Selection {
    variants,
    chosen,
    limiter,
    route: |by, facts, _| hopper::route(facts).unwrap_or(by),
};

/// What is expected to limit a size.
fn limiter(facts: &DeviceFacts, shape: Shape) -> Limiter {
    let rates = Rates::of(facts);
    let multiplies = f64::from(shape.m) * rates.token > rates.read;
    if multiplies { Limiter::Arithmetic } else { Limiter::Memory }
}

/// The ways of a device.
fn dispatches(facts: &DeviceFacts) -> impl Iterator<Item = &'static Dispatch> {
    let wgmma = hopper::variants(facts).next().is_some();
    WAYS.iter().filter(move |dispatch| !wgmma || dispatch.beside_wgmma)
}

fn choose(facts: &DeviceFacts, kernel: &str, shape: Shape, through: bool) -> &'static Dispatch {
    let possible = |dispatch: &&Dispatch| {
        (through || !dispatch.cut) && (dispatch.cut || dispatch.parts <= groups(shape))
    };
    let picked = facts.tuned.choose(kernel, shape);
    let promise = |dispatch: &Dispatch| Blocks::by(dispatch, facts, shape).promise(facts, shape);
    let found =
        dispatches(facts).filter(possible).find(|dispatch| Some(dispatch.variant.name) == picked);
    let least =
        || dispatches(facts).filter(possible).min_by(|a, b| promise(a).total_cmp(&promise(b)));
    found.or_else(least).unwrap_or(&WAYS[0])
}

/// The ways to compute it.
fn variants(facts: &DeviceFacts, input: Element) -> Vec<Variant> {
    let own =
        dispatches(facts).map(|dispatch| dispatch.variant).filter(|_| has_mma(facts.sm, input));
    hopper::variants(facts).chain(own).take(MOST_VARIANTS).collect()
}

/// Name of the one that a size is computed in.
fn chosen(facts: &DeviceFacts, kernel: &str, _: Element, shape: Shape) -> &'static str {
    let by_wgmma = hopper::chosen(kernel, facts, shape);
    by_wgmma.unwrap_or_else(|| choose(facts, kernel, shape, true).variant.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::family::gemm::tests::device;

    fn shape(m: u32, n: u32, k: u32) -> Shape {
        Shape { m, n, k, ..Shape::default() }
    }

    #[test]
    fn blocks_fill_the_device_or_share_tiles() {
        for (sm, sms, size, dispatch, tokens, count) in [
            ((9, 0), 132, shape(16, 8192, 8192), "k4", 16, 128),
            ((8, 0), 108, shape(16, 2048, 2048), "k8", 16, 64),
            ((8, 9), 128, shape(256, 8192, 8192), "k1", 64, 128),
            // 128 of the largest tiles would be two for twenty multiprocessors and one for the others.
            ((8, 0), 108, shape(256, 8192, 8192), "s2", 64, 108),
            ((8, 0), 108, shape(64, 8192, 8192), "s2", 64, 108),
            ((7, 5), 40, shape(64, 8192, 8192), "s2", 64, 40),
        ] {
            let device = device(sm, sms);
            let chosen = choose(&device, "w4.gemm.f16", size, true);
            let blocks = Blocks::by(chosen, &device, size);
            let found = (chosen.variant.name, TOKENS[blocks.tile], blocks.count());
            assert_eq!(found, (dispatch, tokens, count), "{size:?} on {}", device.sm);
            assert!(!choose(&device, "w4.gemm.f16", size, false).cut, "without memory between");
        }
    }

    /// 2 · 8192² · 64 operations are 132 µs of a T4's tensor cores, its 35 MB 144 µs of its memory; on an A100 27 and 20.
    #[test]
    fn many_tokens_are_limited_by_their_products() {
        for (sm, tokens, by) in [
            ((8, 0), 16, Limiter::Memory),
            ((8, 0), 64, Limiter::Arithmetic),
            ((8, 0), 256, Limiter::Arithmetic),
            ((9, 0), 256, Limiter::Arithmetic),
            ((7, 5), 64, Limiter::Memory),
            ((7, 5), 256, Limiter::Arithmetic),
            ((8, 9), 16, Limiter::Memory),
        ] {
            assert_eq!(limiter(&device(sm, 1), shape(tokens, 8192, 8192)), by, "{sm:?} {tokens}");
        }
    }
}
