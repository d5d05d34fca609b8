//! llama.cpp's compute buffer: as large as the widest point of its graph for a micro-batch, not the sum of all.

use warpscope_probes::model::{Attention, Mlp, Shape};

use super::demand::{Demand, KvFormat};
use super::estimate::{GIB, MIB, Range};
use super::framework::llama_build;

/// Tokens computed at once, in 32 bits.
const ROW: f64 = 512.0 * 4.0;
/// The scheduler holds inputs of a graph so many times where layers are on several GPUs (`GGML_SCHED_MAX_COPIES`), and uses one more.
const COPIES: f64 = 5.0;
/// Flash attention wherever the GPU has it: PR 15434.
const FLASH_BY_DEFAULT: u32 = 6325;
/// Flash attention reads a copy of the mask in 16 bits, beside the input in 32; builds that compute few logits have none.
const MASK_CAST: f64 = 512.0 * 2.0;
/// The server computes logits for as many tokens as it samples from, no longer for a whole micro-batch (`n_outputs_max` of
/// `llama-context.cpp`; the first build that is known to have it).
const FEW_OUTPUTS: u32 = 10000;

/// Whether scores of attention are kept for all tokens.
#[derive(Clone, Copy, PartialEq)]
enum Scores {
    Kept,
    Fused,
    Unknown,
}

impl Scores {
    fn of(demand: &Demand) -> Self {
        let packed = demand.kv.is_some_and(|kv| !matches!(kv, KvFormat::Fp16 | KvFormat::Fp32));
        match llama_build(demand.release) {
            // Packed values are read by flash attention alone.
            _ if packed => Self::Fused,
            Some(build) if build < FLASH_BY_DEFAULT => Self::Kept,
            Some(_) => Self::Fused,
            None => Self::Unknown,
        }
    }
}

/// The largest of logits, scores and the widest network. Logs of five models on builds 2230 to 10000 agree to 1%.
pub(super) fn compute_buffer(shape: &Shape, demand: &Demand, gpus: usize) -> Range {
    let hidden = ROW * shape.hidden as f64;
    let logits = ROW * shape.vocab as f64 + hidden;
    let mask = ROW * demand.context as f64;
    let inputs = mask * if gpus > 1 { COPIES } else { 1.0 };
    let network = ROW * 2.0 * widest(shape) + 2.0 * hidden;
    let scores = mask * heads(shape) + inputs + 4.0 * hidden;
    let plain = network.max(inputs + 2.0 * hidden);
    let few = llama_build(demand.release).is_some_and(|build| build >= FEW_OUTPUTS);
    let cast = inputs + MASK_CAST * demand.context as f64 + 5.0 * hidden;
    let fused = if few { plain } else { plain.max(cast) };
    let usual = |graph: f64| if few { graph } else { graph.max(logits) };
    let slack = 64.0 * MIB;
    if demand.splits_rows() {
        let mid = usual(plain).max(scores);
        return Range { low: mid * 0.6, mid, high: mid * 1.5 };
    }
    match Scores::of(demand) {
        Scores::Kept => Range::within(usual(plain).max(scores), 0.1).widened(0.0, slack),
        Scores::Fused => {
            Range { low: plain * 0.5, mid: usual(fused), high: fused.max(logits) * 1.2 + slack }
        }
        Scores::Unknown => {
            let high = fused.max(logits) * 1.2 + slack + scores.min(GIB);
            Range { low: plain * 0.5, mid: plain.max(logits), high }
        }
    }
}

/// Inner width of the widest network.
fn widest(shape: &Shape) -> f64 {
    let widths = shape.layers.iter().map(|run| match run.mlp {
        Mlp::Dense { intermediate } => intermediate,
        Mlp::Experts { active, intermediate, shared, .. } => (active * intermediate).max(shared),
        Mlp::Nothing => 0,
    });
    widths.max().unwrap_or(0) as f64
}

fn heads(shape: &Shape) -> f64 {
    let heads = shape.layers.iter().map(|run| match run.attention {
        Attention::Heads { heads, .. } | Attention::Latent { heads, .. } => heads,
        _ => 0,
    });
    heads.max().unwrap_or(0) as f64
}

#[cfg(test)]
mod tests {
    use warpscope_probes::model::Model;

    use super::*;

    /// Buffers as llama.cpp prints them, MiB.
    #[test]
    fn flash_attention_takes_a_copy_of_the_mask() {
        for (id, context, build, measured) in [
            ("Qwen/Qwen3.5-9B-GGUF", 262_144, 9000, 808.0),
            ("Qwen/Qwen3.6-27B-GGUF", 200_192, 9000, 654.78),
            // The logits are larger.
            ("Qwen/Qwen3.6-27B-GGUF", 131_072, 9000, 495.0),
            // Ollama issue 17482.
            ("Qwen/Qwen3.6-27B-GGUF", 105_216, 10_000, 225.5),
        ] {
            let shape = Model::known(id).and_then(|model| model.shape).expect(id);
            let demand = Demand {
                kv: Some(KvFormat::Q8),
                release: Some((0, 0, build)),
                ..Demand::new(context)
            };
            let said = compute_buffer(&shape, &demand, 1).mid / MIB;
            assert!((said / measured - 1.0).abs() < 0.03, "{id} {context}: {said}");
        }
    }
}
