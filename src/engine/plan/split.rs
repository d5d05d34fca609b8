//! Which splits over GPUs a framework accepts, and the numbers that refuse the others.

use warpscope_probes::model::{Attention, Mlp, Shape};

use super::demand::Parallel;
use super::framework::Family;

/// Vocabularies are padded to a multiple of this before they are split (vLLM's and SGLang's `VocabParallelEmbedding`).
const VOCAB_PAD: u64 = 64;
/// Smallest inner width of a partition that Marlin computes; its outputs come in 64.
const MARLIN_INNER: u64 = 128;
/// Formats whose partitions Marlin or a grouped kernel computes.
const GROUPED: &[&str] = &["awq", "gptq", "w4a16", "w4a16_asym", "wna16", "w8a16"];
/// Formats with a scale for a square block.
const BLOCKED: &[&str] = &["fp8_block", "finegrained_fp8"];

/// A number of the model that GPUs must divide.
struct Divisible {
    number: u64,
    name: &'static str,
    /// What each part must be a multiple of; 1 where any part will do.
    of: u64,
}

/// Why a framework refuses this split, with the nearest that works; `None` where it accepts it.
pub fn refusal(shape: &Shape, family: Family, parallel: Parallel) -> Option<String> {
    if parallel.pp > shape.depth() {
        return Some(format!("{} layers do not make {} stages", shape.depth(), parallel.pp));
    }
    let reason = refused(shape, family, parallel.tp)?;
    let nearest = nearest(shape, family, parallel.tp);
    Some(format!("{reason}; the nearest that works is {nearest}"))
}

/// The largest split below that works, for which one always does.
fn nearest(shape: &Shape, family: Family, tp: u64) -> u64 {
    (1..tp).rev().find(|less| refused(shape, family, *less).is_none()).unwrap_or(1)
}

fn refused(shape: &Shape, family: Family, tp: u64) -> Option<String> {
    if tp <= 1 || !family.is_tensor_parallel() {
        return None;
    }
    if family == Family::Lmdeploy && !tp.is_power_of_two() {
        return Some(format!("LMDeploy splits over powers of two, not over {tp}"));
    }
    if let Some(reason) = replicated(shape, tp) {
        return Some(reason);
    }
    let refuses = |one: &Divisible| {
        let part = one.number / tp;
        if !one.number.is_multiple_of(tp) {
            return Some(format!("{} {} do not divide by {tp}", one.number, one.name));
        }
        let whole = one.of == 0 || part.is_multiple_of(one.of);
        (!whole).then(|| {
            format!("{} / {tp} = {part} {} are not a multiple of {}", one.number, one.name, one.of)
        })
    };
    numbers(shape, family).iter().find_map(refuses)
}

/// Key-value heads are divided or, where they are fewer than GPUs, copied.
fn replicated(shape: &Shape, tp: u64) -> Option<String> {
    shape.layers.iter().find_map(|run| match run.attention {
        Attention::Heads { heads, kv_heads, .. } => {
            let copies =
                kv_heads > 0 && (kv_heads.is_multiple_of(tp) || tp.is_multiple_of(kv_heads));
            match () {
                () if !heads.is_multiple_of(tp) => {
                    Some(format!("{heads} heads do not divide by {tp}"))
                }
                () if !copies => Some(format!("{kv_heads} key-value heads do not divide by {tp}")),
                () => None,
            }
        }
        Attention::Latent { heads, .. } if !heads.is_multiple_of(tp) => {
            Some(format!("{heads} heads do not divide by {tp}"))
        }
        _ => None,
    })
}

fn numbers(shape: &Shape, family: Family) -> Vec<Divisible> {
    let mut numbers = Vec::new();
    let mut add = |number, name, of| numbers.push(Divisible { number, name, of });
    let unit = unit(shape);
    for run in &shape.layers {
        match run.mlp {
            Mlp::Dense { intermediate } => add(intermediate, "columns of the MLP", unit),
            Mlp::Experts { intermediate, shared, .. } => {
                // Marlin's expert kernels pad; block scales do not.
                let unit = if is_blocked(shape) { unit } else { 1 };
                add(intermediate, "columns of an expert", unit);
                if shared > 0 {
                    add(shared, "columns of the shared expert", unit);
                }
            }
            Mlp::Nothing => {}
        }
        if let Attention::Heads { heads, head_dim, .. } = run.attention {
            let of = if is_grouped(shape) { unit } else { 1 };
            add(heads * head_dim, "columns of attention", of);
        }
    }
    if matches!(family, Family::Vllm | Family::Sglang) {
        add(shape.vocab.next_multiple_of(VOCAB_PAD), "rows of the padded vocabulary", 1);
    }
    numbers
}

/// What a partition must be a multiple of: the group or block that shares a scale, and what the kernel computes at once.
fn unit(shape: &Shape) -> u64 {
    let Some(format) = &shape.format else { return 1 };
    if let Some([_, columns]) = format.block {
        return columns.max(1);
    }
    if is_blocked(shape) {
        return 128;
    }
    if is_grouped(shape) {
        return format.group.unwrap_or(1).max(MARLIN_INNER);
    }
    format.group.unwrap_or(1).max(1)
}

fn is_grouped(shape: &Shape) -> bool {
    shape.format.as_ref().is_some_and(|format| GROUPED.contains(&format.name.as_str()))
}

fn is_blocked(shape: &Shape) -> bool {
    shape.format.as_ref().is_some_and(|format| BLOCKED.contains(&format.name.as_str()))
}
