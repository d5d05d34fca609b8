//! Bytes of keys and values.

use warpscope_probes::model::{Attention, LayerRun, Shape};

use super::demand::{Demand, KvFormat};
use super::estimate::Range;
use super::framework::{Family, Release};
use super::latent;
use super::weights::Slice;

/// vLLM from this on gives sliding layers only what their window needs.
const VLLM_WINDOWS: Release = (0, 9, 0);
/// vLLM from this on reuses prefixes of hybrid models by default (`config/model.py@v0.26.0`), for which a sequence holds the state of the
/// block before as well (`kv_cache_interface.py:MambaSpec`, mode `align`).
const VLLM_STATES_KEPT: Release = (0, 26, 0);
/// Tokens of a block of attention are a multiple of this where a block has to be as large as a state.
const BLOCK_STEP: f64 = 16.0;
/// Tokens that llama.cpp computes at once, added to a window.
const MICRO_BATCH: u64 = 512;
/// Bytes of a value of a recurrent state: frameworks keep it in 32 bits.
const STATE_BYTES: f64 = 4.0;

/// What keys and values take on one GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cache {
    /// Bytes of a token in layers that keep all of them.
    full: f64,
    /// Bytes of a token in layers with a window.
    sliding: f64,
    /// Tokens such a layer keeps, with those in flight.
    window: f64,
    /// Bytes of a sequence, however long.
    state: f64,
    /// Tokens that layers which keep all of them are given at once.
    block: f64,
}

impl Cache {
    pub(super) fn new(shape: &Shape, demand: &Demand, family: Family, slice: Slice) -> Self {
        let mut cache = Self { block: 1.0, ..Self::default() };
        let (mut full_layers, mut sliding_layers) = (0, 0);
        for run in &shape.layers {
            let bytes = token(shape, run, demand, family, slice) * run.count as f64;
            match run.attention {
                Attention::Heads { window: Some(window), .. } if keeps_windows(demand, family) => {
                    sliding_layers += run.count;
                    cache.sliding += bytes;
                    cache.window = cache.window.max((window + in_flight(demand, family)) as f64);
                }
                Attention::Recurrent { state } if !holds_states_apart(demand, family) => {
                    let bytes = run.count as f64 * state as f64 * STATE_BYTES;
                    cache.state += bytes * slice.layers / slice.tp;
                }
                Attention::Recurrent { .. } | Attention::Nothing => {}
                _ => {
                    full_layers += run.count;
                    cache.full += bytes;
                    cache.state += compressing(run, demand, family) * slice.layers;
                }
            }
        }
        if family == Family::Vllm {
            cache.pad(full_layers, sliding_layers);
        }
        if family == Family::Vllm && !holds_states_apart(demand, family) {
            cache.page(shape, demand, full_layers, slice);
        }
        cache
    }

    /// vLLM makes a block of attention as large as the state of a layer, and pads the state to the block
    /// (`model_executor/models/config.py:HybridAttentionMambaModelConfig`).
    fn page(&mut self, shape: &Shape, demand: &Demand, full_layers: u64, slice: Slice) {
        let states = shape.layers.iter().filter_map(|run| match run.attention {
            Attention::Recurrent { state } => Some((run.count, state as f64 * STATE_BYTES)),
            _ => None,
        });
        let largest = states.clone().map(|state| state.1).fold(0.0, f64::max) / slice.tp;
        let row = self.full / full_layers as f64 / slice.layers;
        if largest == 0.0 || !row.is_normal() {
            return;
        }
        self.block = (largest / row / BLOCK_STEP).ceil() * BLOCK_STEP;
        let layers: u64 = states.map(|state| state.0).sum();
        let kept = demand.release.is_none_or(|release| release >= VLLM_STATES_KEPT);
        let each = if kept { 2.0 } else { 1.0 };
        self.state = layers as f64 * slice.layers * self.block * row * each;
    }

    /// vLLM puts layers into groups of one size, that of the rarer kind (of the commoner, where they are nearly as many), and pads
    /// each kind to whole groups.
    fn pad(&mut self, full: u64, sliding: u64) {
        let (few, many) = (full.min(sliding), full.max(sliding));
        if few == 0 {
            return;
        }
        let group = if (many as f64) < 1.5 * few as f64 { many } else { few };
        let padded = |layers: u64| layers.div_ceil(group) as f64 * group as f64 / layers as f64;
        self.full *= padded(full);
        self.sliding *= padded(sliding);
    }

    /// Bytes of a token while it is in every window.
    pub(super) fn per_token(&self) -> f64 {
        self.full + self.sliding
    }

    /// Bytes for so many sequences of this length.
    pub(super) fn bytes(&self, context: u64, sequences: u64) -> f64 {
        let context = context as f64;
        let whole = (context / self.block).ceil() * self.block;
        let one = self.full * whole + self.sliding * context.min(self.window) + self.state;
        one * sequences as f64
    }

    /// The longest context of so many sequences that `room` bytes hold; none where tokens take none.
    pub(super) fn longest(&self, room: f64, sequences: u64) -> Option<u64> {
        let one = room / sequences.max(1) as f64 - self.state;
        if self.per_token() == 0.0 {
            return (one < 0.0).then_some(0);
        }
        let all = one / self.per_token();
        let beyond = (one - self.sliding * self.window) / self.full;
        let tokens =
            if self.sliding > 0.0 && all > self.window { beyond.max(self.window) } else { all };
        let tokens = (tokens / self.block).floor() * self.block;
        Some(if tokens.is_finite() && tokens > 0.0 { tokens as u64 } else { 0 })
    }
}

/// Before this vLLM ran hybrid models on V0, which takes the states of all sequences before it measures what is left for the cache
/// (`mamba_cache.py@v0.10.1`; PR 23650): 33.75 GiB of Nemotron Nano 9B v2, of which an L40S ran out (issue 23230).
const HYBRIDS_ON_V1: Release = (0, 10, 2);
/// Most sequences of V0, where nothing else is asked for.
const V0_SEQUENCES: u64 = 256;

fn holds_states_apart(demand: &Demand, family: Family) -> bool {
    family == Family::Vllm && demand.release.is_some_and(|release| release < HYBRIDS_ON_V1)
}

/// Bytes of states that vLLM takes beside the cache, for all sequences; of some models in 16 bits.
pub(super) fn states_apart(shape: &Shape, demand: &Demand) -> Range {
    if !holds_states_apart(demand, Family::Vllm) {
        return Range::default();
    }
    let values = shape.layers.iter().map(|run| match run.attention {
        Attention::Recurrent { state } => run.count as f64 * state as f64,
        _ => 0.0,
    });
    let sequences = demand.most_at_once().unwrap_or(V0_SEQUENCES) as f64;
    let all = values.sum::<f64>() * sequences * STATE_BYTES;
    let mid = all / demand.parallel.gpus() as f64;
    Range { low: mid / 2.0, mid, high: mid }
}

/// The first vLLM of which it is known what it sets aside for compressed layers. Version 0.22 asked for 6.7 GiB where 0.23 takes 2.9
/// (vllm-project/vllm issues 44376 and 51041).
const VLLM_COMPRESSED: Release = (0, 23, 0);

/// Whether nobody knows here what a framework of this age sets aside.
pub(super) fn is_untold(shape: &Shape, demand: &Demand, family: Family) -> bool {
    let compresses =
        |run: &LayerRun| matches!(run.attention, Attention::Latent { in_flight: 1.., .. });
    let old = demand.release.is_some_and(|release| release < VLLM_COMPRESSED);
    // SGLang held 125.65 GiB of DeepSeek V4 Pro where an eighth of its files is 99 (InferenceX issue 2128), and nobody knows why.
    let untold = family == Family::Vllm && old || family == Family::Sglang;
    untold && shape.layers.iter().any(compresses)
}

/// Bytes of 64 rows of DeepSeek V4's cache in vLLM, aligned to 576, which a block of tokens that wait is padded to; and of 8 or 4 of those.
const PAGE: f64 = 37_440.0;
const WAITING: f64 = 32_768.0;

/// What vLLM sets aside for a batch of tokens of a sequence in every compressed layer: those that wait to be compressed with their
/// neighbours, in 32 bits, and rows of the window (`deepseek_v4/compressor.py:CompressorStateCache`, `sparse_swa.py`, read 2026-11-28).
/// Logs of three machines with DeepSeek V4 Flash come to 3.2e9 bytes a sequence, whatever the context
/// (tonyd2wild/DeepSeek-v4-Flash-Vision-Exp-DSpark-1M-NVFP4-KV-2x-DGX-Spark issue 57, read 2026-11-23; 3.0e9 by this).
fn compressing(run: &LayerRun, demand: &Demand, family: Family) -> f64 {
    match run.attention {
        Attention::Latent { in_flight: values @ 1.., .. } if family == Family::Vllm => {
            let token = values as f64 * STATE_BYTES * PAGE / WAITING + PAGE / 64.0;
            run.count as f64 * in_flight(demand, family) as f64 * token
        }
        _ => 0.0,
    }
}

fn keeps_windows(demand: &Demand, family: Family) -> bool {
    match family {
        Family::Vllm => demand.release.is_none_or(|release| release >= VLLM_WINDOWS),
        Family::LlamaCpp => !demand.tuning.whole_windows,
        Family::Transformers | Family::Sglang => true,
        _ => false,
    }
}

/// Tokens a window holds beside its own while a batch is computed.
fn in_flight(demand: &Demand, family: Family) -> u64 {
    match family {
        Family::Vllm => demand.tuning.batched_tokens.unwrap_or(8192),
        Family::LlamaCpp => MICRO_BATCH,
        _ => 0,
    }
}

/// Bytes of a token in one layer of a run, on one GPU, times the share of layers there.
fn token(shape: &Shape, run: &LayerRun, demand: &Demand, family: Family, slice: Slice) -> f64 {
    let computed = demand.width.filter(|width| *width > 2.0).unwrap_or(2.0);
    let element = demand.kv.map_or(computed, KvFormat::bytes);
    let values = match run.attention {
        Attention::Heads { kv_heads, head_dim, value_dim, .. } => {
            // Heads that are fewer than GPUs are replicated.
            let heads = (kv_heads as f64 / slice.tp).max(1.0);
            heads * (head_dim + value_dim) as f64
        }
        Attention::Latent {
            heads,
            rank,
            rope_dim,
            key_dim,
            value_dim,
            index_dim,
            in_flight,
            ..
        } => match latent::unpacked(shape, (key_dim, value_dim), demand, family) {
            Some(values) => (heads as f64 / slice.tp).max(1.0) * values as f64,
            None => {
                let own = latent::compressed(rank, rope_dim, element, in_flight, family);
                let row = latent::row(own, demand, family);
                (row + latent::indexed(index_dim, family)) / element
            }
        },
        Attention::Recurrent { .. } | Attention::Nothing => 0.0,
    };
    values * element * slice.layers
}

#[cfg(test)]
mod tests {
    use warpscope_probes::model::Model;

    use super::super::estimate::GIB;
    use super::*;

    fn asked(id: &str, release: Release) -> (Shape, Demand) {
        let shape = Model::known(id).and_then(|model| model.shape).expect(id);
        (shape, Demand { release: Some(release), ..Demand::new(8192) })
    }

    /// The allocation that failed: 1 310 720 values of 4 bytes for 27 layers and 256 sequences (vLLM issue 23230).
    #[test]
    fn states_stand_apart_before_hybrids_ran_on_v1() {
        let (shape, demand) = asked("nvidia/NVIDIA-Nemotron-Nano-9B-v2", (0, 10, 1));
        let states = states_apart(&shape, &demand).mid / GIB;
        assert!((states / 33.75 - 1.0).abs() < 0.03, "{states}");
        assert_eq!(Cache::new(&shape, &demand, Family::Vllm, Slice::WHOLE).state, 0.0);
        let (shape, demand) = asked("nvidia/NVIDIA-Nemotron-Nano-9B-v2", (0, 10, 2));
        assert_eq!(states_apart(&shape, &demand), Range::default());
    }

    /// Two machines with vLLM 0.23: 2.92 to 2.97 GiB a sequence, and 32.08 GiB for 2 175 276 tokens in sequences of 262 144.
    #[test]
    fn compressed_layers_set_aside_what_was_measured() {
        let (shape, mut demand) = asked("deepseek-ai/DeepSeek-V4-Flash", (0, 23, 0));
        demand.kv = Some(KvFormat::Fp8);
        demand.tuning.batched_tokens = Some(8192);
        let cache = Cache::new(&shape, &demand, Family::Vllm, Slice::WHOLE);
        assert!((cache.state / GIB / 2.945 - 1.0).abs() < 0.07, "{}", cache.state / GIB);
        let one = cache.bytes(262_144, 1) / GIB;
        assert!((one / (32.08 * 262_144.0 / 2_175_276.0) - 1.0).abs() < 0.05, "{one}");
    }
}
