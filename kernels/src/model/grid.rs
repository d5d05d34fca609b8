//! Weights from a hash of their index, exact in fp32, fp16, bf16 and int4 alike.
//!
//! A weight is `q · m · 2^e` with q in −6…6 and m one of 1, 1.25, 1.5, 1.75 per group of 128: at most six significant bits.

/// Weights that share one scale, along a row.
pub const GROUP: usize = 128;

/// Increment of SplitMix64.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
/// Separates the stream of group scales from the stream of weights.
const SCALES: u64 = 1 << 31;

/// SplitMix64 at position `stream · 2³² + index`: a random number that needs no state.
pub(crate) fn hash(stream: u64, index: u64) -> u64 {
    let mut z = (stream << 32).wrapping_add(index).wrapping_add(1).wrapping_mul(GAMMA);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Sum of four 2-bit fields less 6: bell-shaped, −6…6, standard deviation 2.24.
fn bell(byte: u8) -> i8 {
    let field = |shift: u8| ((byte >> shift) & 3) as i8;
    field(0) + field(2) + field(4) + field(6) - 6
}

/// A matrix defined by arithmetic instead of storage, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Number of the tensor, which enters the hash.
    pub tensor: u64,
    /// Rows, one per output.
    pub rows: usize,
    /// Columns, one per input; a multiple of [`GROUP`].
    pub cols: usize,
    /// Exponent of all group scales.
    pub exponent: i32,
}

impl Grid {
    /// The integer at a row-major index.
    pub fn q(&self, index: usize) -> i8 {
        let word = hash(self.tensor, (index / 8) as u64);
        bell(word.to_le_bytes()[index % 8])
    }

    /// The scale of a group, counted row by row.
    pub fn scale(&self, group: usize) -> f32 {
        let quarters = 4 + (hash(self.tensor, SCALES + group as u64) & 3);
        quarters as f32 * (f64::from(self.exponent - 2)).exp2() as f32
    }

    /// Number of scales.
    pub fn groups(&self) -> usize {
        self.rows * self.cols / GROUP
    }

    /// The integers of one group.
    pub fn group(&self, group: usize) -> [i8; GROUP] {
        let mut out = [0; GROUP];
        for (i, eight) in out.chunks_exact_mut(8).enumerate() {
            let word = hash(self.tensor, (group * GROUP / 8 + i) as u64).to_le_bytes();
            for (q, byte) in eight.iter_mut().zip(word) {
                *q = bell(byte);
            }
        }
        out
    }

    /// All weights, row by row.
    pub fn weights(self) -> impl Iterator<Item = f32> {
        (0..self.groups()).flat_map(move |group| {
            let scale = self.scale(group);
            self.group(group).map(|q| f32::from(q) * scale)
        })
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;
    use crate::model::{LayerTensor, M0, Profile, TensorId};

    fn matrices() -> impl Iterator<Item = TensorId> {
        use LayerTensor::{Down, Gate, K, O, Q, Up, V};
        let layers = (0..M0.layers)
            .flat_map(|l| [Q, K, V, O, Gate, Up, Down].map(|t| TensorId::Layer(l, t)));
        layers.chain([TensorId::Embedding, TensorId::Head])
    }

    /// Published test vector of SplitMix64 (Vigna's splitmix64.c, seed 1234567).
    #[test]
    fn the_hash_is_splitmix64() {
        let seed = 1_234_567_u64;
        // The state after one step is seed + GAMMA; our counter form reaches it when c·GAMMA = seed + GAMMA.
        let inverse =
            (0..6).fold(GAMMA, |x, _| x.wrapping_mul(2_u64.wrapping_sub(GAMMA.wrapping_mul(x))));
        let counter = seed.wrapping_mul(inverse);
        assert_eq!(hash(0, counter), 6_457_827_717_110_365_317);
        assert_eq!(hash(0, counter.wrapping_add(1)), 3_203_168_211_198_807_973);
    }

    #[test]
    fn every_weight_of_every_profile_is_exact_in_every_format() {
        for profile in [Profile::Clean, Profile::Glm4] {
            for tensor in matrices() {
                let grid = tensor.grid(profile);
                assert_eq!(grid.cols % GROUP, 0);
                for w in grid.weights() {
                    assert_eq!(f16::from_f32(w).to_f32(), w, "{tensor:?}");
                    assert_eq!(bf16::from_f32(w).to_f32(), w, "{tensor:?}");
                }
                let scales = (0..grid.groups()).map(|g| grid.scale(g));
                assert!(scales.into_iter().all(|s| f16::from_f32(s).to_f32() == s && s > 0.0));
            }
        }
    }

    #[test]
    fn integers_are_bell_shaped_and_single_access_agrees_with_groups() {
        let grid = TensorId::Head.grid(Profile::Clean);
        let all: Vec<i8> = (0..grid.groups()).flat_map(|g| grid.group(g)).collect();
        assert!((0..all.len()).step_by(977).all(|i| grid.q(i) == all[i]));
        let mean = all.iter().map(|&q| f64::from(q)).sum::<f64>() / all.len() as f64;
        let square = all.iter().map(|&q| f64::from(q).powi(2)).sum::<f64>() / all.len() as f64;
        assert!(mean.abs() < 0.02, "{mean}");
        assert!((square - 5.0).abs() < 0.05, "{square}");
        assert_eq!((all.iter().min(), all.iter().max()), (Some(&-6), Some(&6)));
    }
}
