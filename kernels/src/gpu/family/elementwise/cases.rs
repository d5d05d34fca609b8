//! What proves the kernels: fp64 references on the exact stored operands, and bits where there is nothing to round.

use super::super::operand::{encode, nan, noise, rounding_limit, words};
use super::{Advance, Embed, Heads, Norm, Rope, State};
use crate::gpu::{Case, Content, DeviceFacts, Element, Expect, Judge, Launch, Slot};
use crate::model::{self, Grid};

/// A storage format as a type, so that one function makes the cases of each.
pub(super) trait Stored {
    /// The format.
    const ELEMENT: Element;
}

/// fp32 storage.
pub(super) struct F32;
/// fp16 storage.
pub(super) struct F16;
/// bf16 storage.
pub(super) struct Bf16;

impl Stored for F32 {
    const ELEMENT: Element = Element::F32;
}
impl Stored for F16 {
    const ELEMENT: Element = Element::F16;
}
impl Stored for Bf16 {
    const ELEMENT: Element = Element::Bf16;
}

const EPSILON: f32 = 1e-6;

/// A launch that the case's own sizes make possible.
fn possible(launch: Result<Launch, String>) -> Vec<Launch> {
    vec![launch.expect("the sizes of a case are possible")]
}

fn near(buffer: usize, element: Element, reference: Vec<f64>) -> Expect {
    Expect::near(buffer, element, reference, rounding_limit(element))
}

/// A state as its bytes.
fn state(token: u32, position: u32, step: u32, best: u32) -> Content {
    Content::Bytes(words([token, position, step, best]))
}

fn norm_reference(x: &[f64], gains: &[f64]) -> Vec<f64> {
    let rows = x.chunks_exact(gains.len()).flat_map(|row| {
        let mean = row.iter().map(|v| v * v).sum::<f64>() / row.len() as f64;
        let factor = (mean + f64::from(EPSILON)).sqrt().recip();
        row.iter().zip(gains).map(move |(v, gain)| v * factor * gain).collect::<Vec<_>>()
    });
    rows.collect()
}

/// Formats of a norm's input and result.
type Formats = (Element, Element);

fn norm_plan((input, output): Formats, rows: u32, width: u32) -> Norm {
    let nowhere = Slot { buffer: crate::gpu::BufferId(0), offset: 0 };
    let (x, gains, out) = (nowhere, nowhere, nowhere);
    Norm { x, gains, out, rows, width, epsilon: EPSILON, input, output }
}

fn random_norm(formats: Formats, rows: u32, width: u32) -> Case {
    let (input, output) = formats;
    let x = noise(input, (rows * width) as usize, u64::from(rows + width));
    let gains = noise(Element::F32, width as usize, 5);
    let reference = norm_reference(&input.values(&x), &Element::F32.values(&gains));
    Case {
        name: format!("norm of {rows}×{width} {input:?} to {output:?}"),
        buffers: vec![
            Content::Bytes(x),
            Content::Bytes(gains),
            Content::Poison(reference.len() * output.bytes()),
        ],
        plan: Box::new(move |at| {
            let norm = norm_plan(formats, rows, width);
            possible(super::rms_norm(&Norm { x: at[0], gains: at[1], out: at[2], ..norm }))
        }),
        expect: vec![near(2, output, reference)],
    }
}

fn sandwich(formats: Formats, rows: u32, width: u32) -> Case {
    let (input, output) = formats;
    let count = (rows * width) as usize;
    let x = noise(input, count, 11);
    let gains = noise(Element::F32, width as usize, 12);
    let residual = noise(output, count, 13);
    let normed = norm_reference(&input.values(&x), &Element::F32.values(&gains));
    let sum = output.values(&residual).iter().zip(&normed).map(|(a, b)| a + b).collect();
    let mut sum = near(3, output, sum);
    if let Judge::Near { limit, .. } = &mut sum.judge {
        *limit *= 2.0;
    }
    Case {
        name: format!("sandwich norm of {rows}×{width} {input:?} to {output:?}"),
        buffers: vec![
            Content::Bytes(x),
            Content::Bytes(gains),
            Content::Poison(count * output.bytes()),
            Content::Bytes(residual),
        ],
        plan: Box::new(move |at| {
            let norm = norm_plan(formats, rows, width);
            let norm = Norm { x: at[0], gains: at[1], out: at[2], ..norm };
            possible(super::rms_norm_add(&norm, at[3]))
        }),
        expect: vec![near(2, output, normed), sum],
    }
}

/// Both norms between two blocks. The second reads the sum as it was stored, so that its own error is twice a rounding.
fn next(formats: Formats, rows: u32, width: u32) -> Case {
    let mut case = sandwich(formats, rows, width);
    let (input, output) = formats;
    let then = noise(Element::F32, width as usize, 14);
    let Content::Bytes(x) = &case.buffers[0] else { return case };
    let Content::Bytes(gains) = &case.buffers[1] else { return case };
    let Content::Bytes(residual) = &case.buffers[3] else { return case };
    let normed = norm_reference(&input.values(x), &Element::F32.values(gains));
    let sum = output.values(residual).iter().zip(&normed).map(|(a, b)| a + b).collect::<Vec<_>>();
    let reference = norm_reference(&sum, &Element::F32.values(&then));
    let limit = 2.0 * rounding_limit(output);
    case.expect[0].judge = Judge::Near { reference, limit };
    case.buffers.push(Content::Bytes(then));
    case.name = format!("norms between blocks, {rows}×{width} {input:?} to {output:?}");
    case.plan = Box::new(move |at| {
        let norm = norm_plan(formats, rows, width);
        let norm = Norm { x: at[0], gains: at[1], out: at[2], ..norm };
        possible(super::rms_norm_next(&norm, at[3], at[4]))
    });
    case
}

/// Σx² = ∞, 1/√∞ = 0, 0·∞ = NaN: everything but the infinity becomes zero. `top` is what overflows the sum.
fn overflowing_norm(element: Element, top: f32) -> Case {
    let width = 40_usize;
    let value = |i: usize| if i == 17 { top } else { 1.0 + i as f32 };
    let zero = vec![0; element.bytes()];
    let want = |i: usize| if i == 17 && top.is_infinite() { nan(element) } else { zero.clone() };
    Case {
        name: format!("norm with {top:e} among {element:?}"),
        buffers: vec![
            Content::Bytes(encode(element, (0..width).map(value))),
            Content::Bytes(encode(Element::F32, vec![1.0; width])),
            Content::Poison(width * element.bytes()),
        ],
        plan: Box::new(move |at| {
            let norm = norm_plan((element, element), 1, width as u32);
            possible(super::rms_norm(&Norm { x: at[0], gains: at[1], out: at[2], ..norm }))
        }),
        expect: vec![Expect::bits(2, element, (0..width).flat_map(want).collect())],
    }
}

/// K40.
pub(super) fn norm<T: Stored>(_: &DeviceFacts) -> Vec<Case> {
    let same = (T::ELEMENT, T::ELEMENT);
    let mut cases = vec![
        random_norm(same, 1, 1),
        random_norm(same, 3, 100),
        random_norm(same, 2, 513),
        sandwich(same, 5, 257),
        next(same, 3, 8),
        next(same, 1, 2040),
        next(same, 2, 4096),
        overflowing_norm(T::ELEMENT, f32::INFINITY),
    ];
    match T::ELEMENT {
        Element::F16 => {
            let wide = (Element::F32, Element::F16);
            cases.extend([random_norm(wide, 3, 100), sandwich(wide, 2, 513), next(wide, 1, 2056)]);
        }
        element => cases.push(overflowing_norm(element, 1e30)),
    }
    cases
}

/// Rows of heads, rotated in fp64 by the angles of their positions.
fn rotated(rows: &[f64], table: &[f64], heads: usize, head: usize) -> Vec<f64> {
    let (mut out, half) = (rows.to_vec(), head / 2);
    for (at, row) in out.chunks_exact_mut(head).enumerate() {
        for i in 0..half {
            let angle = &table[(at / heads * half + i) * 2..];
            let (a, b) = (row[i], row[i + half]);
            (row[i], row[i + half]) = (a * angle[0] - b * angle[1], a * angle[1] + b * angle[0]);
        }
    }
    out
}

/// Cosines and sines, rounded to fp32 as the kernel gets them.
fn angles(capacity: u32, half: u32) -> Vec<u8> {
    let one = |n: u32| {
        let angle = f64::from(n / half) * 10_000_f64.powf(-f64::from(n % half) / f64::from(half));
        [angle.cos() as f32, angle.sin() as f32]
    };
    encode(Element::F32, (0..capacity * half).flat_map(one))
}

/// Tokens from a position on; those past the capacity keep their keys and queries.
fn rotation(element: Element, shape: Heads, position: u32, tokens: u32, capacity: u32) -> Case {
    let Heads { heads, kv_heads, head } = shape;
    let size = element.bytes();
    let width = |heads: u32| (heads * head) as usize;
    let make = |heads: u32, seed| noise(element, tokens as usize * width(heads), seed);
    let (q, k, v) = (make(heads, 21), make(kv_heads, 22), make(kv_heads, 23));
    let table = angles(capacity, head / 2);
    let held = tokens.min(capacity - position) as usize;
    let from_here = &Element::F32.values(&table)[(position * head) as usize..];
    let turn = |rows: &[u8], heads: u32| {
        let (inside, outside) = rows.split_at(held * width(heads) * size);
        let inside = rotated(&element.values(inside), from_here, heads as usize, head as usize);
        [inside, element.values(outside)].concat()
    };
    let (turned_q, turned_k) = (turn(&q, heads), turn(&k, kv_heads));
    let row = width(kv_heads);
    let (before, after) = (position as usize * row, (capacity - position) as usize * row);
    let zeros = |count: usize| vec![0.0; count];
    let keys = [&zeros(before), &turned_k[..held * row], &zeros(after - held * row)].concat();
    let mut values = vec![0; capacity as usize * row * size];
    values[before * size..][..held * row * size].copy_from_slice(&v[..held * row * size]);
    let cache = Content::Zero(values.len());
    Case {
        name: format!(
            "{tokens} tokens at {position} of {capacity}, {heads}/{kv_heads} heads of {head} {element:?}"
        ),
        buffers: vec![
            Content::Bytes(q),
            Content::Bytes(k),
            Content::Bytes(v),
            cache.clone(),
            cache,
            Content::Bytes(table),
            state(0, position, 0, 0),
        ],
        plan: Box::new(move |at| {
            let (q, k, v, keys, values) = (at[0], at[1], at[2], at[3], at[4]);
            let (table, state) = (at[5], State(at[6]));
            let rope = Rope { q, k, v, keys, values, table, state, tokens, heads: shape, capacity };
            possible(super::rope(element, &rope))
        }),
        expect: vec![
            near(0, element, turned_q),
            near(1, element, turned_k),
            near(3, element, keys),
            Expect::bits(4, element, values),
        ],
    }
}

/// K41.
pub(super) fn rope<T: Stored>(_: &DeviceFacts) -> Vec<Case> {
    let heads = |heads, kv_heads, head| Heads { heads, kv_heads, head };
    vec![
        rotation(T::ELEMENT, heads(4, 2, 64), 0, 3, 7),
        rotation(T::ELEMENT, heads(8, 1, 128), 5, 1, 6),
        rotation(T::ELEMENT, heads(2, 2, 128), 4, 4, 6),
    ]
}

fn gated(element: Element, gates: Vec<u8>, ups: Vec<u8>) -> Case {
    let count = gates.len() / element.bytes();
    let silu = |g: f64| g / (1.0 + (-g).exp());
    let pairs = element.values(&gates).into_iter().zip(element.values(&ups));
    let reference: Vec<f64> = pairs.map(|(g, u)| silu(g) * u).collect();
    Case {
        name: format!("gate of {count} {element:?}"),
        buffers: vec![
            Content::Bytes(gates),
            Content::Bytes(ups),
            Content::Poison(count * element.bytes()),
        ],
        plan: Box::new(move |at| {
            possible(super::swiglu(element, [at[0], at[1], at[2]], count as u32))
        }),
        expect: vec![near(2, element, reference)],
    }
}

/// K42.
pub(super) fn swiglu<T: Stored>(_: &DeviceFacts) -> Vec<Case> {
    let random = |count: usize| {
        gated(T::ELEMENT, noise(T::ELEMENT, count, 31), noise(T::ELEMENT, count, 32))
    };
    let extremes = [0.0, -0.0, 30.0, -30.0, 100.0, -100.0, 1e-4, 3e4, -3e4];
    let ups = encode(T::ELEMENT, [1.0; 9]);
    vec![random(1), random(255), random(1000), gated(T::ELEMENT, encode(T::ELEMENT, extremes), ups)]
}

fn picked(element: Element, width: u32) -> Case {
    let (vocab, tokens) = (7_u32, [6, 0, 3, 3, 7, u32::MAX]);
    let table = noise(element, (vocab * width) as usize, 41);
    let row = |token: u32| {
        let size = width as usize * element.bytes();
        let known = table.chunks_exact(size).nth(token as usize).map(<[u8]>::to_vec);
        known.unwrap_or_else(|| nan(element).repeat(width as usize))
    };
    let want: Vec<u8> = tokens.iter().flat_map(|token| row(*token)).collect();
    Case {
        name: format!("{} rows of {width} {element:?}", tokens.len()),
        buffers: vec![
            Content::Bytes(table),
            Content::Bytes(words(tokens)),
            Content::Poison(want.len()),
        ],
        plan: Box::new(move |at| {
            let (table, out) = (at[0], at[2]);
            let count = tokens.len() as u32;
            let embed = Embed { table, tokens: at[1], out, count, width, vocab };
            possible(super::embed(element, &embed))
        }),
        expect: vec![Expect::bits(2, element, want)],
    }
}

/// A scan on top of what an earlier step found, if anything.
fn scanned(element: Element, bad: &[(usize, f32)], earlier: Option<(u64, u64)>) -> Case {
    let (count, step) = (1003_usize, 5_u64);
    let value = |i: usize| bad.iter().find(|row| row.0 == i).map_or(i as f32, |row| row.1);
    let (first, found) = earlier.unwrap_or((u64::MAX, 0));
    let here = bad.iter().map(|row| step << 32 | row.0 as u64).min().unwrap_or(u64::MAX);
    let pair = |first: u64, count: u64| [first.to_le_bytes(), count.to_le_bytes()].concat();
    let want = pair(first.min(here), found + bad.len() as u64);
    Case {
        name: format!("scan of {count} {element:?} with {} bad, after {found}", bad.len()),
        buffers: vec![
            Content::Bytes(encode(element, (0..count).map(value))),
            state(0, 9, step as u32, 0),
            Content::Bytes(pair(first, found)),
        ],
        plan: Box::new(move |at| {
            possible(super::scan(element, at[0], State(at[1]), at[2], count as u32))
        }),
        expect: vec![Expect::bits(2, Element::U32, want)],
    }
}

/// What moves or looks without rounding.
pub(super) fn moves<T: Stored>(_: &DeviceFacts) -> Vec<Case> {
    let e = T::ELEMENT;
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    vec![
        picked(e, 33),
        picked(e, 512),
        scanned(e, &[], None),
        scanned(e, &[(1002, -inf)], None),
        scanned(e, &[(700, inf), (31, nan), (257, nan)], None),
        scanned(e, &[(0, nan)], Some((2 << 32 | 77, 4))),
        scanned(e, &[], Some((2 << 32 | 77, 4))),
    ]
}

fn weights(element: Element, tensor: u64, [rows, cols]: [usize; 2], exponent: i32) -> Case {
    let grid = Grid::new(tensor, [rows, cols], exponent);
    let want = encode(element, grid.weights());
    Case {
        name: format!("weights {rows}×{cols} of tensor {tensor}, {element:?}"),
        buffers: vec![Content::Poison(want.len())],
        plan: Box::new(move |at| possible(super::grid(element, at[0], &grid))),
        expect: vec![Expect::bits(0, element, want)],
    }
}

/// Weights, checked against the host's.
pub(super) fn grid<T: Stored>(_: &DeviceFacts) -> Vec<Case> {
    vec![
        weights(T::ELEMENT, 1, [1, 128], -2),
        weights(T::ELEMENT, 34, [5, 384], -6),
        weights(T::ELEMENT, 83, [33, 256], 8),
    ]
}

fn largest((name, logits): (&str, Vec<f32>)) -> Case {
    let (want, count) = (model::argmax(&logits), logits.len() as u32);
    Case {
        name: format!("largest of {count} with {name}"),
        buffers: vec![Content::Bytes(encode(Element::F32, logits)), Content::Poison(4)],
        plan: Box::new(move |at| possible(super::argmax(at[0], at[1], count))),
        expect: vec![Expect::bits(1, Element::U32, words([want]))],
    }
}

/// K43.
pub(super) fn argmax(_: &DeviceFacts) -> Vec<Case> {
    let ramp = |count: usize| (0..count).map(|i| ((i * 37) % 1009) as f32 - 500.0);
    let with = |count: usize, changes: &[(usize, f32)]| {
        let mut logits: Vec<f32> = ramp(count).collect();
        changes.iter().for_each(|(i, value)| logits[*i] = *value);
        logits
    };
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let vectors = [
        ("one number", vec![-3.0]),
        ("numbers", with(1024, &[])),
        ("ties across threads", with(777, &[(5, 600.0), (261, 600.0), (700, 600.0)])),
        ("NaN in the middle", with(1000, &[(400, nan), (30, nan), (800, 9e9)])),
        ("NaN first", with(300, &[(0, nan), (100, 9e9)])),
        ("nothing but NaN", vec![nan; 1024]),
        ("infinities", with(300, &[(3, -inf), (250, inf), (270, inf)])),
        ("nothing but −∞", vec![-inf; 65]),
        ("zeros of both signs", vec![-0.0, 0.0, -0.0, 0.0]),
        ("negative numbers", vec![-7.0, -2.0, -2.5, -1e-40, -1e-39]),
        ("negative NaN", with(300, &[(9, -nan), (7, 1e3)])),
    ];
    vectors.into_iter().map(largest).collect()
}

/// A step that fits tape and history, or one that does not.
fn step(at_step: u32, capacity: u32, kept: u32) -> Case {
    let logits = noise(Element::F32, kept as usize, 51);
    let (mut tape, mut history) = (vec![0; 4 * capacity as usize], Vec::new());
    history.resize(logits.len() * capacity as usize, 0);
    if at_step < capacity {
        tape[4 * at_step as usize..][..4].copy_from_slice(&words([77]));
        history[logits.len() * at_step as usize..][..logits.len()].copy_from_slice(&logits);
    }
    let buffers = vec![
        state(3, 10, at_step, 77),
        Content::Zero(tape.len()),
        Content::Bytes(logits),
        Content::Zero(history.len()),
    ];
    Case {
        name: format!("end of step {at_step} of {capacity}, {kept} logits"),
        buffers,
        plan: Box::new(move |at| {
            let (state, tape, logits, history) = (State(at[0]), at[1], at[2], at[3]);
            let tokens = 4;
            vec![super::advance(&Advance { state, tape, logits, history, kept, capacity, tokens })]
        }),
        expect: vec![
            Expect::bits(0, Element::U32, words([77, 14, at_step + 1, 77])),
            Expect::bits(1, Element::U32, tape),
            Expect::bits(3, Element::F32, history),
        ],
    }
}

/// The end of a step.
pub(super) fn advance(_: &DeviceFacts) -> Vec<Case> {
    vec![step(0, 3, 300), step(2, 3, 5), step(3, 3, 5)]
}
