//! A way to multiply few tokens with stored weights, as data: what it launches, what it stores and how exact it must be.

use super::Formats;
use crate::gpu::family::route::{Step, route};
use crate::gpu::{Content, DeviceFacts, Element, Launch, Limiter, Route, Shape, Slot, Variant};
use crate::model::hash;
use crate::{nearest_bf16, nearest_f16};

/// Weights as a path stores them, and the numbers that are then really stored.
pub(in crate::gpu) struct Stored {
    /// The parts, as [`Path::parts`] lists them.
    pub parts: Vec<Vec<u8>>,
    /// `[n, k]`, exactly.
    pub values: Vec<f64>,
}

/// What is launched, or why it cannot be.
pub(in crate::gpu) type Launches = Result<Vec<Launch>, String>;

/// Format and number of elements of every part that n × k weights are stored in.
pub(in crate::gpu) type Parts = fn(usize, usize) -> Vec<(Element, usize)>;

/// Stores `[n, k]` weights.
pub(in crate::gpu) type Store = fn(usize, usize, &[f32]) -> Result<Stored, String>;

/// Where the operands of a product are.
pub(in crate::gpu) struct Places<'a> {
    /// Activations.
    pub x: Slot,
    /// Parts of the weights.
    pub weights: &'a [Slot],
    /// Memory for what is in between.
    pub scratch: &'a [Slot],
    /// Result.
    pub y: Slot,
}

/// A way to multiply few tokens with weights in some storage.
pub(in crate::gpu) struct Path {
    /// The kernel, and what this path has of its own: `w4.f16 fp32 out`.
    pub id: &'static str,
    /// Of activations and results.
    pub formats: Formats,
    /// Tokens of one launch.
    pub most_tokens: u32,
    /// What k is a multiple of.
    pub multiple: u32,
    /// Largest relative error on random numbers.
    pub limit: f64,
    /// What weights are stored in.
    pub parts: Parts,
    /// Memory needed in between: poisoned, or zero in front of a launch and behind it.
    pub scratch: fn(&DeviceFacts, Shape) -> Vec<Content>,
    /// What is launched.
    pub launch: fn(&DeviceFacts, Formats, &Places, Shape) -> Launches,
    /// How they are stored.
    pub store: Store,
    /// A whole weight that is stored exactly, by its column and a random number.
    pub whole_weight: fn(usize, u64) -> f32,
    /// A whole activation, likewise, with which all sums are exact.
    pub whole_x: fn(usize, u64) -> f32,
}

impl Path {
    /// Bytes of the stored weights.
    pub(in crate::gpu) fn weight_bytes(&self, n: u32, k: u32) -> usize {
        let parts = (self.parts)(n as usize, k as usize);
        parts.iter().map(|(element, count)| element.bytes() * count).sum()
    }
}

/// Tokens, output channels, input channels (rounded up to what a path takes), and multiprocessors to plan for: few of them
/// make blocks loop and warps not share rows, many the opposite.
pub(in crate::gpu) type Size = (u32, u32, u32, u32);

/// What few tokens are tried at.
const SIZES: &[Size] = &[
    (1, 1, 1, 80),
    (1, 37, 1100, 80),
    (1, 67, 600, 1),
    (2, 17, 300, 80),
    (3, 130, 100, 1),
    (4, 33, 520, 2),
    (5, 16, 300, 80),
    (7, 64, 100, 1),
    (8, 11, 1100, 80),
    (9, 47, 100, 80),
    (16, 35, 200, 80),
];
/// What every variant is tried at as well: fewer rows than a block has, and more; uneven shares of the groups; one group only.
const VARIANT_SIZES: &[Size] = &[(1, 37, 1100, 80), (3, 19, 100, 1), (16, 35, 300, 80)];

/// Paths of one kernel; the first is the one it is timed by.
pub(in crate::gpu) trait Streamed {
    /// The kernel: `w4.f16`.
    const KERNEL: &'static str;
    /// The paths.
    const PATHS: &'static [Path];
    /// What does it, from which compute capability on.
    const STEPS: &'static [Step];
    /// What every path is tried at.
    const SIZES: &'static [Size] = SIZES;
    /// What every variant is tried at as well.
    const VARIANT_SIZES: &'static [Size] = VARIANT_SIZES;
    /// Tokens it is timed at by default; one and as many as a launch takes where there are none.
    const TIMED: &'static [u32] = &[];

    /// How a variant is selected, where there are several.
    const SELECTION: Selection = Selection::NONE;

    /// How a device does it.
    fn route(facts: &DeviceFacts) -> Route {
        let by = route(Self::STEPS, facts);
        (Self::SELECTION.route)(by, facts, Self::PATHS[0].formats.input)
    }

    /// The ways a device can compute them.
    fn variants(facts: &DeviceFacts) -> Vec<Variant> {
        (Self::SELECTION.variants)(facts, Self::PATHS[0].formats.input)
    }

    /// What is expected to limit a size.
    fn limiter(facts: &DeviceFacts, shape: Shape) -> Limiter {
        (Self::SELECTION.limiter)(facts, shape)
    }

    /// Name of the one that a size is computed in; empty where there is one only.
    fn chosen(facts: &DeviceFacts, shape: Shape) -> &'static str {
        (Self::SELECTION.chosen)(facts, Self::KERNEL, Self::PATHS[0].formats.input, shape)
    }
}

/// How the kernels of a family select a variant.
pub(in crate::gpu) struct Selection {
    /// The variants of a device for a format of activations.
    pub variants: fn(&DeviceFacts, Element) -> Vec<Variant>,
    /// Name of the one that a kernel computes a size in.
    pub chosen: fn(&DeviceFacts, &str, Element, Shape) -> &'static str,
    /// What is expected to limit a size.
    pub limiter: fn(&DeviceFacts, Shape) -> Limiter,
    /// How a device does it, given what its compute capability has.
    pub route: fn(Route, &DeviceFacts, Element) -> Route,
}

impl Selection {
    /// Of kernels with one variant, which memory limits.
    pub(in crate::gpu) const NONE: Self = Self {
        variants: |_, _| Vec::new(),
        chosen: |_, _, _, _| "",
        limiter: |_, _| Limiter::Memory,
        route: |by, _, _| by,
    };
}

/// What y = x·Wᵀ is, in fp64.
pub(in crate::gpu) fn product(x: &[f64], w: &[f64], k: usize) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    x.chunks(k).flat_map(|token| w.chunks(k).map(move |row| dot(token, row))).collect()
}

/// So many numbers from a function of column and random number, row by row.
pub(in crate::gpu) fn numbers(
    rows: usize,
    columns: usize,
    seed: u64,
    one: fn(usize, u64) -> f32,
) -> Vec<f32> {
    (0..rows * columns).map(|i| one(i % columns, hash(seed, i as u64))).collect()
}

/// An about normal number, standard deviation 1: the centred sum of the four 16-bit fields of a random one.
pub(super) fn draw(_column: usize, random: u64) -> f32 {
    let sum: u64 = (0..4).map(|field| random >> (16 * field) & 0xffff).sum();
    (sum as f32 - 131_070.0) / 37_837.0
}

/// Numbers in a format, rounded to nearest.
pub(in crate::gpu) fn store(element: Element, values: &[f64]) -> Vec<u8> {
    let one = |value: &f64| match element {
        Element::F64 => value.to_le_bytes().to_vec(),
        Element::F32 => (*value as f32).to_le_bytes().to_vec(),
        Element::F16 => nearest_f16(*value).to_le_bytes().to_vec(),
        Element::Bf16 => nearest_bf16(*value).to_le_bytes().to_vec(),
        Element::I32 => (*value as i32).to_le_bytes().to_vec(),
        Element::U32 => (*value as u32).to_le_bytes().to_vec(),
        Element::U8 => vec![*value as u8],
    };
    values.iter().flat_map(one).collect()
}
