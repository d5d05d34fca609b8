//! Cases of a [`Path`]: whole numbers to the bit, random ones within its limit, over ragged sizes.

use super::NOWHERE;
use super::path::{Path, Places, Size, Stored, Streamed, draw, numbers, product, store};
use crate::gpu::{Case, Content, DeviceFacts, Element, Expect, Judge, Shape, Slot};

/// Outputs below which one that happens to be near zero would decide what the relative error is.
const ENOUGH: u32 = 32;
/// Tokens times length of the longest rows: more activations than a block keeps at a time.
const LONG: u32 = 17_000;
/// How many of them, on one multiprocessor: warps then share rows, but read activations that other warps have loaded.
const LONG_ROWS: u32 = 25;

/// Tokens of extremes: as many as few-token kernels take at a time.
const FEW: [u32; 3] = [3, 8, 16];

/// Which numbers a case has.
#[derive(Clone, Copy, PartialEq)]
enum Numbers {
    /// Whole ones, with exact sums.
    Whole,
    /// About normal ones.
    Random,
}

/// One case of a path.
struct Trial<'a> {
    path: &'static Path,
    facts: &'a DeviceFacts,
    shape: Shape,
}

/// The cases of a kernel that a device has.
pub(in crate::gpu::family) fn cases<S: Streamed>(facts: &DeviceFacts) -> Vec<Case> {
    let chosen = S::PATHS.iter().flat_map(|path| of_path(path, facts, S::SIZES));
    let forced = S::variants(facts).into_iter().flat_map(|variant| {
        let facts = facts.with_variant(S::KERNEL, variant.name);
        S::PATHS.first().into_iter().flat_map(move |path| {
            let longest = S::VARIANT_SIZES.iter().map(|size| size.2).max().unwrap_or(1);
            let overflow = overflow(path, &facts, longest).ok();
            let mut cases = ragged(path, &facts, S::VARIANT_SIZES);
            cases.extend(overflow);
            cases
                .iter_mut()
                .for_each(|case| case.name = format!("{}, {}", case.name, variant.name));
            cases
        })
    });
    chosen.chain(forced).collect()
}

fn trial(
    path: &'static Path,
    facts: &DeviceFacts,
    (m, n, k, sms): Size,
    kind: Numbers,
    seed: u64,
) -> Result<Case, String> {
    let shape = Shape { m, n, k: k.next_multiple_of(path.multiple), ..Shape::default() };
    let facts = DeviceFacts { sms, ..facts.clone() };
    Trial { path, facts: &facts, shape }.drawn(seed, kind)
}

/// Whole numbers at every size, and random ones where there are enough.
fn ragged(path: &'static Path, facts: &DeviceFacts, sizes: &[Size]) -> Vec<Case> {
    let sizes = (0..).zip(sizes).filter(|(_, size)| size.0 <= path.most_tokens);
    let cases = sizes.flat_map(|(seed, size)| {
        let enough = size.0 * size.1 >= ENOUGH;
        let random = enough.then(|| trial(path, facts, *size, Numbers::Random, seed));
        [trial(path, facts, *size, Numbers::Whole, seed)].into_iter().chain(random)
    });
    cases.filter_map(Result::ok).collect()
}

fn of_path(path: &'static Path, facts: &DeviceFacts, sizes: &[Size]) -> Vec<Case> {
    let m = path.most_tokens.min(8);
    let long = trial(path, facts, (m, LONG_ROWS, LONG / m, 1), Numbers::Random, 99);
    let k = path.multiple.max(128);
    let few = FEW.iter().filter(|m| **m <= path.most_tokens.max(FEW[0]));
    let overflows = few.flat_map(|m| {
        let shape = Shape { m: path.most_tokens.min(*m), n: 5, k, ..Shape::default() };
        let trial = Trial { path, facts, shape };
        let wide = path.formats.input == Element::Bf16;
        [Some(trial.overflow()), wide.then(|| trial.reach())].into_iter().flatten()
    });
    let extremes = [long].into_iter().chain(overflows).filter_map(Result::ok);
    ragged(path, facts, sizes).into_iter().chain(extremes).collect()
}

fn overflow(path: &'static Path, facts: &DeviceFacts, k: u32) -> Result<Case, String> {
    let (m, k) = (path.most_tokens.min(3), k.next_multiple_of(path.multiple));
    Trial { path, facts, shape: Shape { m, n: 5, k, ..Shape::default() } }.overflow()
}

impl Trial<'_> {
    /// Numbers of a kind, from a seed.
    fn drawn(&self, seed: u64, kind: Numbers) -> Result<Case, String> {
        let Self { path, shape: Shape { m, n, k, .. }, .. } = *self;
        let (weight, activation) = match kind {
            Numbers::Whole => (path.whole_weight, path.whole_x),
            Numbers::Random => (draw as fn(usize, u64) -> f32, draw as fn(usize, u64) -> f32),
        };
        let [m, n, k] = [m, n, k].map(|size| size as usize);
        let stored = (path.store)(n, k, &numbers(n, k, 2 * seed, weight))?;
        let x: Vec<f64> =
            numbers(m, k, 2 * seed + 1, activation).into_iter().map(f64::from).collect();
        let x = store(path.formats.input, &x);
        let reference = product(&path.formats.input.values(&x), &stored.values, k);
        let (name, judge) = match kind {
            Numbers::Whole => ("whole", Judge::Bits(store(path.formats.output, &reference))),
            Numbers::Random => ("random", Judge::Near { reference, limit: path.limit }),
        };
        self.build(name, x, stored, judge)
    }

    /// One large activation beside zeros, which binary16 cannot hold after three times itself, a token that is no number, and whole numbers in the
    /// others. No sum is large before it is stored, so that paths with fp16 sums are judged alike.
    fn overflow(&self) -> Result<Case, String> {
        // 127 · 2⁸: eight bits of an activation hold it.
        self.extremes(
            "overflow and NaN",
            32_512.0,
            |column, _| {
                if column == 3 { f64::NAN } else { 0.0 }
            },
        )
    }

    /// Ends of the range that bfloat16 has and binary16 has not: an activation near the largest, a token of whole multiples of 2⁻¹⁰⁰, and whole numbers
    /// in the others.
    fn reach(&self) -> Result<Case, String> {
        let large = 127.0 * 113.0_f64.exp2();
        self.extremes("large and tiny", large, |_, whole| whole * (-100.0_f64).exp2())
    }

    /// A token with one activation beside zeros, one made of whole numbers by column, and whole numbers.
    fn extremes(
        &self,
        name: &str,
        large: f64,
        second: fn(usize, f64) -> f64,
    ) -> Result<Case, String> {
        let Self { path, shape: Shape { m, n, k, .. }, .. } = *self;
        let [m, n, k] = [m, n, k].map(|size| size as usize);
        let stored = (path.store)(n, k, &numbers(n, k, 7, path.whole_weight))?;
        let whole = numbers(m, k, 8, path.whole_x);
        let x = whole.into_iter().enumerate().map(|(i, whole)| match (i / k, i % k) {
            (0, 0) => large,
            (0, _) => 0.0,
            (1, column) => second(column, f64::from(whole)),
            _ => f64::from(whole),
        });
        let x = store(path.formats.input, &x.collect::<Vec<_>>());
        let reference = product(&path.formats.input.values(&x), &stored.values, k);
        let bytes = store(path.formats.output, &reference);
        let judge = Judge::Bits(canonical(path.formats.output, bytes));
        self.build(name, x, stored, judge)
    }

    fn build(&self, name: &str, x: Vec<u8>, stored: Stored, judge: Judge) -> Result<Case, String> {
        let Self { path, facts, shape } = *self;
        let Shape { m, n, k, .. } = shape;
        let parts = stored.parts.len();
        let mut buffers = vec![
            Content::Bytes(x),
            Content::Poison(m as usize * n as usize * path.formats.output.bytes()),
        ];
        buffers.extend(stored.parts.into_iter().map(Content::Bytes));
        let between = buffers.len();
        buffers.extend((path.scratch)(facts, shape));
        let planned = facts.clone();
        let launch = move |slots: &[Slot]| {
            let (weights, scratch) = slots[2..].split_at(parts);
            let places = Places { x: slots[0], weights, scratch, y: slots[1] };
            (path.launch)(&planned, path.formats, &places, shape)
        };
        launch(&vec![NOWHERE; buffers.len()])?;
        let mut expect = vec![Expect { buffer: 1, element: path.formats.output, judge }];
        expect.extend((between..buffers.len()).filter_map(|at| as_found(at, &buffers[at])));
        Ok(Case {
            name: format!("{} {m}×{n}×{k} {name}, {} multiprocessors", path.id, facts.sms),
            buffers,
            plan: Box::new(move |slots| launch(slots).expect("it was possible elsewhere")),
            expect,
        })
    }
}

/// What is zero in front of a launch is so behind it, for the next one.
fn as_found(buffer: usize, content: &Content) -> Option<Expect> {
    let Content::Zero(bytes) = content else { return None };
    Some(Expect::bits(buffer, Element::U8, vec![0; *bytes]))
}

/// NaNs as instructions make them: all bits but the sign.
fn canonical(element: Element, mut bytes: Vec<u8>) -> Vec<u8> {
    let size = element.bytes();
    let values = element.values(&bytes);
    for (raw, value) in bytes.chunks_exact_mut(size).zip(values) {
        if value.is_nan() {
            raw.fill(0xff);
            raw[size - 1] = 0x7f;
        }
    }
    bytes
}
