//! One token more where nobody looks at what is in between: as few launches as possible, each of which may start early.
//!
//! Five a layer instead of the fifteen of a step that is looked at: {norms, QKV} {rotation, append, attention} {O} {norms, gate·up, SwiGLU} {down},
//! and before the first and behind the last nothing but the head and the choice; the embedding is read by the first QKV. Each block of a product makes
//! the row for itself ([`token`]), so the residual stream has two places, of which one is read while the other is written. What a storage or a device has no
//! such kernel for is launched apart: products, norms between two blocks as one, gate.
//!
//! On sm_90 and later a launch of [`WAITING`] starts while the one in front of it runs, and waits inside, with its first weights on their way. Every
//! such kernel waits before it lets the next one start, so at most two are in the air, and what the one before the predecessor wrote is there without
//! waiting. The first launch of a token is never early: all tokens before it have ended.
//!
//! Weights of a dense product are on their way into shared memory before its row is there: 64 KiB a block, and three blocks of 256 threads share a
//! multiprocessor, so that one multiplies while another makes its row, and one of the launch behind finds room early. It lets that one start when it has
//! asked for all it reads itself. On an H100 that and tensor cores brought a token from 541 µs to 474. With a block on each multiprocessor it was 510: what
//! multiprocessors read in the same time differs by a fifth, and where blocks end before the launch behind starts, some multiprocessors get two blocks of
//! it and others none. To let it start at once, or midway, avoids that and leaves memory idle for the two microseconds between launches: blocks of 512
//! threads took 535 to 545 so, and 522 otherwise. Four blocks a multiprocessor take 491, three with half as much on its way 502. Weights of the next
//! product that such blocks had the copy engine bring into the second-level cache saved nothing.
//!
//! Packed weights are on their way into registers where a multiprocessor has some left: two tiles of 4-bit weights take 49 000 to 65 000 of 65 536, two
//! blocks of NF4 63 000, and behind or in front of these a launch begins when blocks end; to let it start later cost NF4 15 µs of 314 and gained nothing in
//! 4 bits. Nor did small blocks of 4-bit weights, as dense ones have them: 284 to 291 µs on an H100, and 277 to 287 as it is. Each such product, behind
//! its own loads, has the copy engine bring the first weights of the next one into the second-level cache, one instruction a block, an eighth of the cache
//! at most: 9 µs of 292 in 4 bits. Weights that attention asked for cost more the more they were (40 µs for a third of the cache): rejected.
//!
//! Units that blocks take from a count in memory, so that multiprocessors that read faster take more, were rejected: with a loop that allows for it, bf16 took
//! 415 µs a token on an H200 while the count was unused and 426 with it, where the loop below takes 386. Fitting the row to nibbles as it is multiplied, which saves a pass
//! over shared memory and two barriers, and reading partial sums of norms without shuffles gained nothing in 4 bits (258 µs); weights of a block's later turns brought into
//! the second-level cache while it makes its row cost 3 µs.
//!
//! The factor of the second norm behind the products, which would take one of two block-wide sums off that path, was rejected. Until then the row would be
//! stream · gain: in fp16 that overflows where the stream and the normed row do not, as with a stream of 2^10 and gains of 2^6, so that models that run
//! today would end in NaN; fp32 in its place would double what each weight reads of shared memory. And the row would be rounded elsewhere than by launches
//! of their own, which is what a chain is held against. What it would save, ten shuffles, two barriers and a root, some 400 clocks for each of two launches
//! a layer, is 5 µs of a token of the large model (an estimate), where weights are on their way meanwhile.
//!
//! A persistent kernel for the whole token was rejected. On an H200, with a row read and summed twice between two steps, a launch that starts early adds
//! 1.1 µs, and a barrier over 132 blocks (an atomic of every block and a poll of memory) 1.4; it would need all blocks resident at once, by a launch
//! that old drivers refuse on a shared card, and registers and shared memory of its greediest part for all parts.

use super::layout::Matrix;
use super::path::Sums;
use super::product::Rows;
use super::step::{Step, Written};
use crate::gpu::family::attn::{self, Fresh};
use crate::gpu::family::elementwise;
use crate::gpu::family::token::{self, Kept, Made, Product, Then};
use crate::gpu::{Element, Launch, Slot};
use crate::model::{LayerTensor, Op};

/// Families every entry of which waits for its predecessor, from class sm_90 on.
pub(super) const WAITING: [&str; 5] =
    ["attn_decode", "elementwise", "gemv_token", "nf4_token", "w4_token"];

/// What is between a product and what is in front of it.
#[derive(Clone, Copy)]
enum Before {
    /// Nothing: it multiplies this.
    Nothing(Slot),
    /// The embedding of this token, and a norm with these gains.
    Embedding(Slot, Slot),
    /// The norm behind a block, the sum with the residual stream, and the norm in front of what follows.
    Norms([Slot; 2]),
}

/// A token being written down.
struct Chain<'a> {
    step: Step<'a>,
    /// Where the residual stream is, and its other place.
    stream: [Slot; 2],
    /// Launches that are products, and where the weights of each lie.
    products: Vec<(usize, (Slot, u64))>,
}

impl Step<'_> {
    /// The launches of one token, none of which is looked at.
    pub(super) fn chained(self, token: Slot) -> Result<Vec<Launch>, String> {
        let at = &self.layout.activations;
        let mut chain = Chain { stream: [at.x, at.spare], products: Vec::new(), step: self };
        chain.write(token)?;
        Ok(chain.hastened())
    }
}

impl Chain<'_> {
    fn write(&mut self, token: Slot) -> Written {
        use LayerTensor as T;
        let layout = self.step.layout;
        let at = &layout.activations;
        let sums = self.step.path.sums;
        let narrow = if self.step.path.wide { Kept::Wide } else { Kept::Same };
        let layers = || layout.layers.iter().cycle();
        let mut before = Before::Embedding(token, layout.layers[0].norm(T::InputNorm));
        for (l, (layer, next)) in (0..layout.shape.layers).zip(layers().zip(layers().skip(1))) {
            let last = l + 1 == layout.shape.layers;
            let then = if last { layout.final_norm } else { next.norm(T::InputNorm) };
            let inner = Before::Norms([layer.norm(T::PostAttnNorm), layer.norm(T::PreMlpNorm)]);
            self.multiply(&layer.stacked[0], sums, before, (at.q, Kept::Same))?;
            self.attend_fresh(l)?;
            self.multiply(layer.matrix(T::O), sums, Before::Nothing(at.context), (at.out, narrow))?;
            self.multiply(&layer.stacked[1], sums, inner, (at.gate, Kept::Gated))?;
            self.multiply(layer.matrix(T::Down), sums, Before::Nothing(at.gate), (at.out, narrow))?;
            before = Before::Norms([layer.norm(T::PostMlpNorm), then]);
        }
        self.multiply(&layout.head, Sums::Fp32, before, (at.logits, Kept::Wide))?;
        self.step.end()
    }

    /// A product and what is in front of it, in one launch where there is a kernel for that.
    fn multiply(
        &mut self,
        matrix: &Matrix,
        sums: Sums,
        before: Before,
        to: (Slot, Kept),
    ) -> Written {
        match self.fused(matrix, sums, before, to)? {
            Some(launch) => {
                let (element, Matrix { n, k, .. }) = (self.step.path.activations, *matrix);
                let extent = matrix.of_token().map(|weights| weights.extent(element, n, k));
                self.products.extend(extent.map(|extent| (self.step.launches.len(), extent)));
                self.step.launches.push(launch);
                if let Before::Norms(_) = before {
                    self.stream.reverse();
                }
                Ok(())
            }
            None => self.apart(matrix, sums, before, to),
        }
    }

    fn fused(
        &self,
        matrix: &Matrix,
        sums: Sums,
        before: Before,
        (y, kept): (Slot, Kept),
    ) -> Result<Option<Launch>, String> {
        let (layout, element) = (self.step.layout, self.step.path.activations);
        let (Sums::Fp32, Some(weights)) = (sums, matrix.of_token()) else { return Ok(None) };
        let [stream, other] = self.stream;
        let made = match before {
            Before::Nothing(x) => Made::AsIs(x),
            Before::Embedding(token, gains) => {
                let (table, vocab) = (layout.embedding, layout.shape.vocab as u32);
                Made::Embedded { table, token, vocab, then: Then { sum: stream, gains } }
            }
            Before::Norms([gains, next]) => {
                let (x, input) = (layout.activations.out, self.step.out_element());
                let then = Then { sum: other, gains: next };
                Made::Normed { x, input, gains, stream, then }
            }
        };
        let Matrix { n, k, .. } = *matrix;
        let product = Product { made, element, weights, rows: n, k, kept, y };
        token::launch(self.step.facts, &product)
    }

    /// The same in launches of their own.
    fn apart(
        &mut self,
        matrix: &Matrix,
        sums: Sums,
        before: Before,
        (y, kept): (Slot, Kept),
    ) -> Written {
        let (layout, element) = (self.step.layout, self.step.path.activations);
        let normed = layout.activations.normed;
        let x = match before {
            Before::Nothing(x) => x,
            Before::Embedding(token, gains) => {
                self.step.embedding(token)?;
                self.step.enter(0, Op::InputNorm, gains)?;
                normed
            }
            Before::Norms(gains) => {
                self.between(gains)?;
                normed
            }
        };
        let output = if kept == Kept::Wide { Element::F32 } else { element };
        let rows = Rows { x, y, output, tokens: 1 };
        self.step.launches.extend(self.step.multiplier().summed(matrix, rows, sums)?);
        if kept == Kept::Gated {
            let half = matrix.n / 2;
            let up = y.plus(u64::from(half) * element.bytes() as u64);
            self.step.launches.push(elementwise::swiglu(element, [y, up, y], half)?);
        }
        Ok(())
    }

    fn attend_fresh(&mut self, l: usize) -> Written {
        let (layout, element) = (self.step.layout, self.step.path.activations);
        let (shape, size) = (layout.shape, element.bytes());
        let key = layout.activations.q.plus((shape.heads * shape.head * size) as u64);
        let value = key.plus((shape.kv_width() * size) as u64);
        let fresh = attn::takes_fresh(self.step.facts, element);
        if !fresh {
            self.step.launches.push(self.step.rope(l, [key, value])?);
        }
        let fresh = fresh.then_some(Fresh { key, value, table: layout.kept.rope });
        self.step.launches.extend(self.step.attend(l, fresh)?);
        Ok(())
    }

    /// What is between two blocks, with the residual stream where it is.
    fn between(&mut self, [gains, next]: [Slot; 2]) -> Written {
        let (at, element) = (&self.step.layout.activations, self.step.path.activations);
        let norm = self.step.norm(at.out, gains, 1, self.step.out_element());
        let [stream, _] = self.stream;
        if elementwise::takes_next(norm.width) {
            self.step.launches.push(elementwise::rms_norm_next(&norm, stream, next)?);
            return Ok(());
        }
        self.step.launches.push(elementwise::rms_norm_add(&norm, stream)?);
        self.step.launches.push(elementwise::rms_norm(&self.step.norm(stream, next, 1, element))?);
        Ok(())
    }

    /// Lets what waits by itself start early, and products ask for an eighth of the cache of the next one's weights, so that what they stream themselves
    /// does not drive them out.
    fn hastened(self) -> Vec<Launch> {
        let can = self.step.facts.sm.major >= 9;
        let (cache, mut launches) = (self.step.facts.l2_bytes, self.step.launches);
        for (this, next) in self.products.iter().zip(self.products.iter().skip(1)) {
            token::fetch_later(&mut launches[this.0], next.1, cache / 8);
        }
        for launch in launches.iter_mut().skip(1) {
            launch.early = can && WAITING.contains(&launch.family);
        }
        launches
    }
}
