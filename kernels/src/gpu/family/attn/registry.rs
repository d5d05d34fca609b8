//! The kernels as data, and the sizes at which they are timed.

use super::super::elementwise::{Heads, State};
use super::attention::{Attention, Engine, HEAD};
use super::cases;
use super::decode::{Scratch, arrival_bytes, decode, part_bytes, splits, takes_fresh};
use super::prefill::prefill;
use super::tile::{Tile, variants};
use crate::Dtype;
use crate::gpu::family::gemm::has_wgmma;
use crate::gpu::{Content, DeviceFacts, Element, GpuKernel, Limiter, Route, Shape, Slot, Work};

/// Heads of the work: those of the throughput model.
pub(super) const HEADS: Heads = Heads { heads: 16, kv_heads: 4, head: HEAD };

fn cores_route(facts: &DeviceFacts, element: Element) -> Route {
    let sm = facts.sm;
    match (Engine::best(sm, element), element) {
        (Engine::Cores, _) if (sm.major, sm.minor) < (7, 5) => {
            Route::Native { by: "mma.m8n8k4".to_owned() }
        }
        (Engine::Cores, _) if sm.major < 8 => Route::Native { by: "mma.m16n8k8".to_owned() },
        (Engine::Cores, _) if has_wgmma(facts) => {
            Route::Native { by: "wgmma.m64n128k16".to_owned() }
        }
        (Engine::Cores, _) => Route::Native { by: "mma.m16n8k16".to_owned() },
        (Engine::Plain, Element::F32) => Route::Native { by: "fma.f32".to_owned() },
        (Engine::Plain, _) => {
            let by = format!("fp32 arithmetic: no kernel for the tensor cores of {sm}, if any");
            Route::Emulated { by }
        }
    }
}

fn decode_route(facts: &DeviceFacts, element: Element) -> Route {
    let by = match takes_fresh(facts, element) {
        true if facts.sm.major < 8 => "mma.m16n8k8",
        true => "mma.m16n8k16",
        false => "fma.f32",
    };
    Route::Native { by: by.to_owned() }
}

/// Queries, keys, values, result, state, scratch, arrivals of an attention over `keys` positions.
fn buffers(element: Element, tokens: u32, keys: u32, scratch: u64) -> Vec<Content> {
    let rows = |rows: u32, heads: u32| (rows * heads * HEADS.head) as usize;
    let noise = |count, seed| Content::Noise { element, count, seed };
    let (q, cache) = (rows(tokens, HEADS.heads), rows(keys, HEADS.kv_heads));
    let position = keys - tokens;
    vec![
        noise(q, 1),
        noise(cache, 2),
        noise(cache, 3),
        Content::Poison(q * element.bytes()),
        Content::Bytes([0, position, 0, 0].iter().flat_map(|w| w.to_le_bytes()).collect()),
        Content::Scratch(scratch as usize),
        Content::Zero(arrival_bytes(HEADS) as usize),
    ]
}

pub(super) fn attention(at: &[Slot]) -> Attention {
    let (q, keys, values, out, state) = (at[0], at[1], at[2], at[3], State(at[4]));
    let scale = (HEADS.head as f32).sqrt().recip();
    Attention { q, keys, values, out, state, heads: HEADS, scale }
}

/// Most positions of the work, so that sizes stay far from 2³².
const MOST_KEYS: u32 = 1 << 17;

/// The size of an attention: queries, the length of a head, positions before.
fn sized(shape: Shape) -> Result<Shape, String> {
    match shape.only(&["m", "k", "context"])?.k {
        0 | HEAD => Ok(Shape { k: HEAD, ..shape }),
        k => Err(format!("heads have {HEAD} numbers; give that or 0 instead of k = {k}")),
    }
}

fn prefill_work(facts: &DeviceFacts, shape: Shape, element: Element) -> Result<Work, String> {
    let shape = sized(shape)?;
    let (tokens, keys) = (shape.m, shape.m + shape.context);
    if tokens == 0 || keys > MOST_KEYS {
        return Err(format!("{tokens} queries on {keys} keys; 1 to {MOST_KEYS} keys can be"));
    }
    let engine = Engine::best(facts.sm, element);
    let tile = match engine {
        Engine::Cores => Tile::of(facts, element, HEADS, shape)?.variant(facts, element),
        Engine::Plain => "",
    };
    let facts = facts.clone();
    let width = f64::from(HEADS.heads * HEADS.head);
    let pairs = f64::from(tokens) * (f64::from(shape.context) + (f64::from(tokens) + 1.0) / 2.0);
    let cache = 2.0 * f64::from(keys * HEADS.kv_heads * HEADS.head);
    Ok(Work {
        shape,
        buffers: buffers(element, tokens, keys, 4),
        plan: Box::new(move |at| {
            let launch = prefill(&facts, engine, element, &attention(at), shape);
            launch.into_iter().collect()
        }),
        bytes: (2.0 * f64::from(tokens) * width + cache) * element.bytes() as f64,
        flops: 4.0 * pairs * width,
        limiter: Limiter::Arithmetic,
        variant: tile,
    })
}

fn decode_work(facts: &DeviceFacts, shape: Shape, element: Element) -> Result<Work, String> {
    let shape = sized(shape)?;
    let keys = shape.context;
    if shape.m != 1 || keys == 0 || keys > MOST_KEYS {
        return Err(format!("one query on 1 to {MOST_KEYS} keys, not {} on {keys}", shape.m));
    }
    let (pieces, facts) = (splits(facts, element, HEADS, keys), facts.clone());
    let numbers = 2 * keys * HEADS.kv_heads * HEADS.head;
    Ok(Work {
        shape,
        buffers: buffers(element, 1, keys, part_bytes(HEADS, pieces)),
        plan: Box::new(move |at| {
            let scratch = Scratch { parts: at[5], arrivals: at[6] };
            let launches = decode(&facts, element, &attention(at), scratch, pieces, None);
            launches.into_iter().flatten().collect()
        }),
        bytes: f64::from(numbers) * element.bytes() as f64,
        flops: 4.0 * f64::from(keys) * f64::from(HEADS.heads * HEADS.head),
        limiter: if keys < 4096 { Limiter::Latency } else { Limiter::Memory },
        variant: "",
    })
}

fn prefill_works(facts: &DeviceFacts, bytes: u64, element: Element) -> Vec<Work> {
    let shapes = [512, 2048, 4096].map(|m| Shape { m, k: HEADS.head, ..Shape::default() });
    Work::fitting(bytes, shapes.into_iter().map(|shape| prefill_work(facts, shape, element)))
}

fn decode_works(facts: &DeviceFacts, bytes: u64, element: Element) -> Vec<Work> {
    let shape = |context| Shape { m: 1, k: HEADS.head, context, ..Shape::default() };
    let contexts = [640, 8192, 32_768].map(shape);
    Work::fitting(bytes, contexts.into_iter().map(|shape| decode_work(facts, shape, element)))
}

/// Prefill and decode of one format.
macro_rules! of_format {
    ($element:expr, $dtype:expr, $prefill:literal, $decode:literal) => {
        [
            GpuKernel {
                id: $prefill,
                title: "causal attention of many queries",
                family: "attn",
                dtype: $dtype,
                route: |facts| cores_route(facts, $element),
                cases: |facts| cases::prefill(facts, $element),
                works: |facts, bytes| prefill_works(facts, bytes, $element),
                work: |facts, shape| prefill_work(facts, shape, $element),
                variants: |facts| variants(facts, $element),
            },
            GpuKernel {
                id: $decode,
                title: "attention of one query, keys split over blocks",
                family: "attn_decode",
                dtype: $dtype,
                route: |facts| decode_route(facts, $element),
                cases: |facts| cases::decode(facts, $element),
                works: |facts, bytes| decode_works(facts, bytes, $element),
                work: |facts, shape| decode_work(facts, shape, $element),
                ..GpuKernel::UNTIMED
            },
        ]
    };
}

const FP32: [GpuKernel; 2] =
    of_format!(Element::F32, Dtype::Fp32, "attn.prefill.f32", "attn.decode.f32");
const FP16: [GpuKernel; 2] =
    of_format!(Element::F16, Dtype::Fp16, "attn.prefill.f16", "attn.decode.f16");
const BF16: [GpuKernel; 2] =
    of_format!(Element::Bf16, Dtype::Bf16, "attn.prefill.bf16", "attn.decode.bf16");

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = {
    let ([a, b], [c, d], [e, f]) = (FP32, FP16, BF16);
    &[a, b, c, d, e, f]
};
