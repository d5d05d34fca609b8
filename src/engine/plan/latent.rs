//! What multi-head latent attention adds to weights and cache, by framework and release.

use warpscope_probes::model::{Attention, LayerRun, Shape};

use super::demand::Demand;
use super::framework::{Family, Release, llama_build};

/// vLLM before this cached keys and values of each head, padded to 256.
const VLLM_LATENT: Release = (0, 7, 1);
/// From this on vLLM has a latent cache for every format; before, for 16-bit and FP8 weights only (`config.py@v0.7.2:use_mla`).
const VLLM_LATENT_PACKED: Release = (0, 7, 3);
/// vLLM aligned rows of the cache to 256 bytes (`cache_engine.py@v0.7.2:align_cache`; gone in 0.8.0).
const VLLM_ALIGNED: Release = (0, 7, 2);
/// vLLM merged the up-projections into those of queries and outputs, and kept both (`mla/utils.py@v0.7.2`; gone in 0.8.0).
const VLLM_APART: Release = (0, 8, 0);
/// The first tag of llama.cpp after its latent cache (PR 12801, 2025-04-15).
const LLAMA_CPP_LATENT: u32 = 5164;

/// Size of a padded head of decompressed attention.
const PADDED_HEAD: u64 = 256;
/// Bytes rows are aligned to.
const ALIGNED: f64 = 256.0;

/// Values a head keeps of each token where a framework caches keys and values unpacked.
pub(super) fn unpacked(
    shape: &Shape,
    (key_dim, value_dim): (u64, u64),
    demand: &Demand,
    family: Family,
) -> Option<u64> {
    let is_old = |limit: u32| llama_build(demand.release).is_some_and(|build| build < limit);
    match family {
        Family::Vllm if !is_latent_in_vllm(shape, demand) => Some(2 * PADDED_HEAD),
        // `modeling_deepseek_v3.py` caches before it pads values.
        Family::Transformers => Some(key_dim + value_dim),
        Family::LlamaCpp if is_old(LLAMA_CPP_LATENT) => Some(key_dim + value_dim),
        _ => None,
    }
}

fn is_latent_in_vllm(shape: &Shape, demand: &Demand) -> bool {
    let from = if is_plain_or_fp8(shape) { VLLM_LATENT } else { VLLM_LATENT_PACKED };
    demand.release.is_none_or(|release| release >= from)
}

/// The model as a llama.cpp caches it that keeps every head; none where the file is surely laid out for a compressed cache.
pub(super) fn with_heads(shape: &Shape, family: Family) -> Option<Shape> {
    let apart = |run: &LayerRun| match run.attention {
        Attention::Latent { heads, key_dim: head_dim, value_dim, unsure: true, .. } => LayerRun {
            attention: Attention::Heads {
                heads,
                kv_heads: heads,
                head_dim,
                value_dim,
                window: None,
            },
            ..*run
        },
        _ => *run,
    };
    let layers: Vec<LayerRun> = shape.layers.iter().map(apart).collect();
    let differs = family == Family::LlamaCpp && layers != shape.layers;
    differs.then(|| Shape { layers, ..shape.clone() })
}

/// Bytes an indexer of sparse attention caches of a token: its key in 8 bits with a scale for 128 values
/// (vLLM's `DeepseekV32IndexerCache`, SGLang's `index_k_with_scale`).
pub(super) fn indexed(index_dim: u64, family: Family) -> f64 {
    match family {
        Family::Vllm | Family::Sglang => index_dim as f64 * (1.0 + 4.0 / 128.0),
        _ => 0.0,
    }
}

fn is_plain_or_fp8(shape: &Shape) -> bool {
    shape.format.as_ref().is_none_or(|format| format.name.contains("fp8"))
}

/// Bytes of a row before it is aligned. In 8 bits vLLM keeps the rotated part of DeepSeek V4 in 16, and a scale for 64 values and one more:
/// 584 bytes of 512 values.
pub(super) fn compressed(
    rank: u64,
    rope_dim: u64,
    element: f64,
    in_flight: u64,
    family: Family,
) -> f64 {
    let values = (rank + rope_dim) as f64;
    if family == Family::Vllm && in_flight > 0 && element == 1.0 {
        return values + rope_dim as f64 + values / 64.0;
    }
    values * element
}

/// Bytes of a compressed row as it lies in the cache.
pub(super) fn row(bytes: f64, demand: &Demand, family: Family) -> f64 {
    let aligned = VLLM_ALIGNED..VLLM_APART;
    match demand.release {
        Some(release) if family == Family::Vllm && aligned.contains(&release) => {
            (bytes / ALIGNED).ceil() * ALIGNED
        }
        _ => bytes,
    }
}

/// Share of the weights of attention that every GPU has all of: projections into the compressed space (`ReplicatedLinear` in vLLM's
/// and SGLang's `deepseek_v2.py`).
pub(super) fn replicated(shape: &Shape, values: u64) -> f64 {
    let copied = |run: &LayerRun| match run.attention {
        Attention::Latent { query_rank, rank, rope_dim, in_flight: 0, .. } => {
            run.count * shape.hidden * (query_rank.unwrap_or(0) + rank + rope_dim)
        }
        _ => 0,
    };
    let copied: u64 = shape.layers.iter().map(copied).sum();
    (copied as f64 / values.max(1) as f64).min(1.0)
}

/// Bytes of merged projections that some releases of vLLM keep beside the weights, on all GPUs together. Those of FP8 weights are
/// quantised again; of other formats the up-projection is kept unpacked as well.
pub(super) fn merged(shape: &Shape, demand: &Demand, family: Family) -> f64 {
    let merges = family == Family::Vllm
        && demand.release.is_some_and(|release| (VLLM_LATENT..VLLM_APART).contains(&release))
        && is_latent_in_vllm(shape, demand);
    if !merges {
        return 0.0;
    }
    let packed = shape.format.is_some();
    let element = if packed && is_plain_or_fp8(shape) { 1.0 } else { 2.0 };
    let of_run = |run: &LayerRun| match run.attention {
        Attention::Latent {
            heads,
            query_rank,
            rank,
            rope_dim,
            key_dim,
            value_dim,
            in_flight: 0,
            ..
        } => {
            let input = query_rank.unwrap_or(shape.hidden);
            let rows = heads as f64 * rank as f64;
            let merged = rows * (input + shape.hidden) as f64 * element;
            let rotated = (input * heads) as f64 * rope_dim as f64 * 2.0;
            let both = key_dim.saturating_sub(rope_dim) + value_dim;
            let unpacked = if packed { rows * both as f64 * 2.0 } else { 0.0 };
            run.count as f64 * (merged + rotated + unpacked)
        }
        _ => 0.0,
    };
    shape.layers.iter().map(of_run).sum()
}
