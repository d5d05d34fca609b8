//! Non-finite numbers: how many, and where the first one appeared.

use std::fmt;

/// What produces a stored tensor. The order is the order of execution within a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Row of the embedding.
    Embedding,
    /// RMSNorm before the attention.
    InputNorm,
    /// Query projection.
    QProj,
    /// Key projection.
    KProj,
    /// Value projection.
    VProj,
    /// Rotary position encoding of queries.
    RopeQ,
    /// Rotary position encoding of keys.
    RopeK,
    /// Causal attention.
    Attention,
    /// Output projection of the attention.
    OProj,
    /// RMSNorm behind the attention.
    PostAttnNorm,
    /// Residual stream after the attention.
    AttnResidual,
    /// RMSNorm before the feed-forward part.
    PreMlpNorm,
    /// Gate projection.
    GateProj,
    /// Up projection.
    UpProj,
    /// SiLU(gate) · up.
    Swiglu,
    /// Down projection.
    DownProj,
    /// RMSNorm behind the feed-forward part.
    PostMlpNorm,
    /// Residual stream after the feed-forward part.
    MlpResidual,
    /// RMSNorm before the head.
    FinalNorm,
    /// Logits.
    Head,
}

/// Every [`Op`] with its id, in order of execution.
pub const OPS: &[(Op, &str)] = &[
    (Op::Embedding, "embedding"),
    (Op::InputNorm, "input_norm"),
    (Op::QProj, "q_proj"),
    (Op::KProj, "k_proj"),
    (Op::VProj, "v_proj"),
    (Op::RopeQ, "rope_q"),
    (Op::RopeK, "rope_k"),
    (Op::Attention, "attention"),
    (Op::OProj, "o_proj"),
    (Op::PostAttnNorm, "post_attn_norm"),
    (Op::AttnResidual, "attn_residual"),
    (Op::PreMlpNorm, "pre_mlp_norm"),
    (Op::GateProj, "gate_proj"),
    (Op::UpProj, "up_proj"),
    (Op::Swiglu, "swiglu"),
    (Op::DownProj, "down_proj"),
    (Op::PostMlpNorm, "post_mlp_norm"),
    (Op::MlpResidual, "mlp_residual"),
    (Op::FinalNorm, "final_norm"),
    (Op::Head, "lm_head"),
];

impl Op {
    /// Stable id: `o_proj`.
    pub fn id(self) -> &'static str {
        OPS.iter().find(|row| row.0 == self).expect("every op has a row").1
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

/// One number of one stored tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Layer, from 0; the embedding counts to the first, the head to the last.
    pub layer: usize,
    /// What produced the tensor.
    pub op: Op,
    /// Position of the token, from 0.
    pub token: usize,
    /// Channel, from 0.
    pub channel: usize,
}

/// What the scans of all stored tensors found so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Numbers that were NaN or infinite.
    pub non_finite: u64,
    /// The first of them in order of execution.
    pub first_bad: Option<Place>,
}

impl Health {
    /// Scans a stored tensor whose rows are tokens; `first` is the place of its first number.
    pub fn scan(&mut self, first: Place, width: usize, values: &[f32]) {
        let bad = values.iter().filter(|v| !v.is_finite()).count();
        if bad == 0 {
            return;
        }
        self.non_finite += bad as u64;
        if self.first_bad.is_none() {
            let at = values.iter().position(|v| !v.is_finite());
            self.first_bad = at.map(|i| Place {
                token: first.token + i / width,
                channel: first.channel + i % width,
                ..first
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bad_number_keeps_its_place_and_all_are_counted() {
        let place = |op, token| Place { layer: 1, op, token, channel: 0 };
        let mut health = Health::default();
        health.scan(place(Op::QProj, 4), 3, &[0.0; 6]);
        assert_eq!(health, Health::default());
        health.scan(place(Op::OProj, 4), 3, &[0.0, 1.0, 2.0, 3.0, f32::NEG_INFINITY, f32::NAN]);
        health.scan(place(Op::PostAttnNorm, 4), 3, &[f32::NAN; 6]);
        assert_eq!(health.non_finite, 8);
        let want = Place { layer: 1, op: Op::OProj, token: 5, channel: 1 };
        assert_eq!(health.first_bad, Some(want));
    }

    #[test]
    fn ids_are_unique_and_listed_in_order() {
        for (i, row) in OPS.iter().enumerate() {
            assert_eq!(row.0 as usize, i);
            assert_eq!(OPS.iter().filter(|other| other.1 == row.1).count(), 1);
        }
    }
}
