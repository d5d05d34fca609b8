//! What a product of one token is, and its launch.

use super::super::stream::check_aligned;
use super::super::{nf4, w4};
use crate::gpu::{Arg, Element, Launch, Slot};
use crate::model::EPSILON;

/// The residual stream after what is made of it, and the norm of that.
#[derive(Clone, Copy, Debug)]
pub struct Then {
    /// Where the stream is stored: not where it is read.
    pub sum: Slot,
    /// Gains of the norm, fp32.
    pub gains: Slot,
}

/// How the row comes to be that is multiplied.
#[derive(Clone, Copy, Debug)]
pub enum Made {
    /// As it lies there.
    AsIs(Slot),
    /// The norm of a row of the embedding, with which the residual stream begins.
    Embedded {
        /// The table, row by row.
        table: Slot,
        /// The word with the token; one that is not in the vocabulary gives a row of NaN.
        token: Slot,
        /// Rows of the table.
        vocab: u32,
        /// What follows.
        then: Then,
    },
    /// The norm of the sum of the residual stream and a norm: what is between two blocks.
    Normed {
        /// What a block computed.
        x: Slot,
        /// How it is stored.
        input: Element,
        /// Gains of its norm, fp32.
        gains: Slot,
        /// The residual stream.
        stream: Slot,
        /// What follows.
        then: Then,
    },
}

/// What is stored of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The sums, in the format of the row.
    Same,
    /// The sums, in fp32.
    Wide,
    /// `silu(gate) · up`: the matrix has the rows of the gate and then as many of what goes through it.
    Gated,
}

/// A matrix, and how it is stored.
#[derive(Clone, Copy, Debug)]
pub enum Weights {
    /// Row by row, in the format of the row that is multiplied.
    Dense(Slot),
    /// Packed 4-bit integers.
    Int4(w4::Weights),
    /// NF4 codes.
    Nf4(nf4::Weights),
}

/// A product of one token.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// How its row comes to be.
    pub made: Made,
    /// In which format.
    pub element: Element,
    /// What it is multiplied with.
    pub weights: Weights,
    /// Rows of the matrix: twice the results where they are gated.
    pub rows: u32,
    /// Its columns, and numbers of the row.
    pub k: u32,
    /// What is stored.
    pub kept: Kept,
    /// Where.
    pub y: Slot,
}

/// Most bytes of a row in shared memory.
pub(super) const ROW_BYTES: u32 = 32 << 10;
/// Most numbers of a row whose norm a block of dense weights computes, an eight a thread, or one of NF4 weights, two a thread.
pub(super) const MOST_NORMED: u32 = 4096;
/// A launch without its parameters, and the warps that share rows where that is a choice.
pub(super) type Dispatch = (Launch, Option<u32>);

/// What a storage launches: so many blocks of so many threads with so much shared memory.
pub(super) fn dispatch(
    entry: (&'static str, &'static str),
    blocks: u32,
    threads: u32,
    shared_bytes: u32,
) -> Dispatch {
    (Launch::new(entry, [blocks, 1], threads, []).with_shared(shared_bytes), None)
}

impl Weights {
    /// Where they begin, and how many bytes a matrix of so many rows and columns has.
    pub fn extent(self, element: Element, rows: u32, k: u32) -> (Slot, u64) {
        let numbers = u64::from(rows) * u64::from(k);
        match self {
            Self::Dense(place) => (place, numbers * element.bytes() as u64),
            Self::Int4(weights) => (weights.words, numbers / 2),
            Self::Nf4(weights) => (weights.codes, numbers / 2),
        }
    }
}

impl Product {
    /// Numbers that are stored.
    pub(super) fn results(&self) -> u32 {
        if self.kept == Kept::Gated { self.rows / 2 } else { self.rows }
    }

    pub(super) fn is_normed(&self) -> bool {
        !matches!(self.made, Made::AsIs(_))
    }

    /// Whether a block can make the row whose norms it has so many numbers of at most.
    pub(super) fn takes_norm(&self, most: u32) -> bool {
        let format = match self.made {
            Made::Normed { input, .. } => input == self.element || input == Element::F32,
            _ => true,
        };
        !self.is_normed() || format && self.k.is_multiple_of(8) && self.k <= most
    }

    /// Places and numbers as entries take them: x, gains, stream, sum, next, token; vocabulary and way. What is not read is where x is.
    fn row(&self) -> ([Slot; 6], u32, u32) {
        match self.made {
            Made::AsIs(x) => ([x; 6], 0, 0),
            Made::Embedded { table, token, vocab, then } => {
                ([table, table, table, then.sum, then.gains, token], vocab, 1)
            }
            Made::Normed { x, input, gains, stream, then } => {
                let dispatch = if input == self.element { 2 } else { 3 };
                ([x, gains, stream, then.sum, then.gains, x], 0, dispatch)
            }
        }
    }

    pub(super) fn launch(&self, (launch, split): Dispatch) -> Result<Launch, String> {
        let parts = match self.weights {
            Weights::Dense(weights) => vec![weights],
            Weights::Int4(weights) => vec![weights.words, weights.scales],
            Weights::Nf4(weights) => vec![weights.codes, weights.maxima],
        };
        let ([x, gains, stream, sum, next, token], vocab, made) = self.row();
        check_aligned(&parts)?;
        check_aligned(&[x, gains, stream, sum, next, self.y])?;
        // Of no later product anything is asked for.
        let later =
            (!matches!(self.weights, Weights::Dense(_))).then(|| [parts[0].into(), Arg::U32(0)]);
        let places = parts.into_iter().chain([x, gains, stream, sum, next, token, self.y]);
        let (n, kept) = match self.kept {
            Kept::Same => (self.rows, 0),
            Kept::Wide => (self.rows, 1),
            Kept::Gated => (self.rows / 2, 2),
        };
        let sizes = [n, self.k, vocab, made, kept].map(Arg::U32).into_iter();
        let rest = [Arg::F32(EPSILON as f32)]
            .into_iter()
            .chain(split.map(Arg::U32))
            .chain(later.into_iter().flatten());
        let args = places.map(Arg::from).chain(sizes).chain(rest).collect();
        Ok(Launch { args, ..launch })
    }
}
