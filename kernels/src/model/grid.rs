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
    /// What ties weights to each other.
    pub pattern: Pattern,
}

/// What ties weights of a matrix to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Nothing: every group has its own hash.
    Free,
    /// The last [`GROUP`] rows repeat the first, so that the outputs come in equal pairs.
    RepeatedRows,
    /// In every row the last group is the first with the other sign, and both are 2^`gain_log2` larger than the rest: on
    /// inputs whose first and last group are equal they cancel, after a sum that was far larger than its end.
    Cancelling {
        /// Gain of the two groups, as a power of two.
        gain_log2: i32,
    },
}

impl Grid {
    /// A matrix of independent weights.
    pub const fn new(tensor: u64, [rows, cols]: [usize; 2], exponent: i32) -> Self {
        Self { tensor, rows, cols, exponent, pattern: Pattern::Free }
    }

    /// The integer at a row-major index.
    pub fn q(&self, index: usize) -> i8 {
        let (source, sign, _) = self.source(index / GROUP);
        let index = source * GROUP + index % GROUP;
        let word = hash(self.tensor, (index / 8) as u64);
        sign * bell(word.to_le_bytes()[index % 8])
    }

    /// The scale of a group, counted row by row.
    pub fn scale(&self, group: usize) -> f32 {
        let (group, _, gain) = self.source(group);
        let quarters = 4 + (hash(self.tensor, SCALES + group as u64) & 3);
        quarters as f32 * (f64::from(self.exponent + gain - 2)).exp2() as f32
    }

    /// The group whose hash a group takes, its sign, and the gain of its scale as a power of two.
    fn source(&self, group: usize) -> (usize, i8, i32) {
        let per_row = self.cols / GROUP;
        let last = (self.rows.saturating_sub(GROUP)) * per_row;
        match self.pattern {
            Pattern::RepeatedRows if group >= last => (group - last, 1, 0),
            Pattern::Cancelling { gain_log2 } if group.is_multiple_of(per_row) => {
                (group, 1, gain_log2)
            }
            Pattern::Cancelling { gain_log2 } if group % per_row == per_row - 1 => {
                (group + 1 - per_row, -1, gain_log2)
            }
            _ => (group, 1, 0),
        }
    }

    /// Number of scales.
    pub fn groups(&self) -> usize {
        self.rows * self.cols / GROUP
    }

    /// The integers of one group.
    pub fn group(&self, group: usize) -> [i8; GROUP] {
        let (group, sign, _) = self.source(group);
        let mut out = [0; GROUP];
        for (i, eight) in out.chunks_exact_mut(8).enumerate() {
            let word = hash(self.tensor, (group * GROUP / 8 + i) as u64).to_le_bytes();
            for (q, byte) in eight.iter_mut().zip(word) {
                *q = sign * bell(byte);
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
    use crate::model::{LayerTensor, M0, PROFILES, Profile, TensorId};

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
        for (profile, _) in PROFILES {
            for tensor in matrices() {
                let grid = tensor.grid(*profile);
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
    fn patterns_tie_rows_and_groups() {
        let free = Grid::new(7, [200, 384], -6);
        let repeated = Grid { pattern: Pattern::RepeatedRows, ..free };
        let weights: Vec<f32> = repeated.weights().collect();
        let (first, last) = (&weights[..128 * 384], &weights[72 * 384..]);
        assert_eq!(&first[..128 * 128], &last[..128 * 128]);
        assert!(free.weights().zip(&weights).take(72 * 384).all(|(a, b)| a == *b));
        let cancelling = Grid { pattern: Pattern::Cancelling { gain_log2: 4 }, ..free };
        for (row, plain) in cancelling
            .weights()
            .collect::<Vec<_>>()
            .chunks_exact(384)
            .zip(free.weights().collect::<Vec<_>>().chunks_exact(384))
        {
            assert!(row[..128].iter().zip(&row[256..]).all(|(a, b)| *a == -*b));
            assert!(row.iter().zip(plain).take(128).all(|(a, b)| *a == 16.0 * b));
            assert_eq!(row[128..256], plain[128..256]);
        }
        assert!((0..200 * 384).step_by(97).all(|i| {
            f32::from(cancelling.q(i)) * cancelling.scale(i / GROUP)
                == cancelling.weights().nth(i).expect("inside")
        }));
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
