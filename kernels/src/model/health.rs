//! Non-finite numbers: how many, and where the first one appeared.

use crate::named::named;

named! {
    /// What produces a stored tensor. The order is the order of execution within a token.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Op in
    /// Every [`Op`] with its id, in order of execution.
    OPS {
        /// Row of the embedding.
        Embedding = "embedding",
        /// RMSNorm before the attention.
        InputNorm = "input_norm",
        /// Query projection.
        QProj = "q_proj",
        /// Key projection.
        KProj = "k_proj",
        /// Value projection.
        VProj = "v_proj",
        /// Rotary position encoding of queries.
        RopeQ = "rope_q",
        /// Rotary position encoding of keys.
        RopeK = "rope_k",
        /// Causal attention.
        Attention = "attention",
        /// Output projection of the attention.
        OProj = "o_proj",
        /// RMSNorm behind the attention.
        PostAttnNorm = "post_attn_norm",
        /// Residual stream after the attention.
        AttnResidual = "attn_residual",
        /// RMSNorm before the feed-forward part.
        PreMlpNorm = "pre_mlp_norm",
        /// Gate projection.
        GateProj = "gate_proj",
        /// Up projection.
        UpProj = "up_proj",
        /// SiLU(gate) · up.
        Swiglu = "swiglu",
        /// Down projection.
        DownProj = "down_proj",
        /// RMSNorm behind the feed-forward part.
        PostMlpNorm = "post_mlp_norm",
        /// Residual stream after the feed-forward part.
        MlpResidual = "mlp_residual",
        /// RMSNorm before the head.
        FinalNorm = "final_norm",
        /// Logits.
        Head = "lm_head",
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
