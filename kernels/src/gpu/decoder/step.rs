//! The launches of one step of the decoder: the prompt, or one token more.
//!
//! Operation for operation this is `crate::model`'s decoder for the CPU; every tensor stored there is stored here.

use super::layout::{Layer, Layout, heads};
use super::path::Path;
use super::product::{Multiplier, Rows};
use crate::gpu::family::attn::{self, Attention, Engine, Fresh};
use crate::gpu::family::elementwise::{self, Advance, Embed, FOUND_BYTES, Norm, Rope};
use crate::gpu::{self, DeviceFacts, Element, Launch, Slot};
use crate::model::{EPSILON, LayerTensor, OPS, Op};

/// What differs between uses of the same step.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    /// What computes the scores of many queries.
    pub(super) engine: Engine,
    /// Whether every stored tensor is scanned, and logits and tokens are kept.
    pub(super) watched: bool,
}

/// A step being written down.
pub(super) struct Step<'a> {
    pub(super) facts: &'a DeviceFacts,
    pub(super) path: &'a Path,
    pub(super) layout: &'a Layout,
    manner: Manner,
    tokens: u32,
    pub(super) launches: Vec<Launch>,
}

pub(super) type Written = Result<(), String>;

impl<'a> Step<'a> {
    /// The launches that read so many tokens of the prompt from position 0 on.
    pub(super) fn prompt(
        facts: &'a DeviceFacts,
        path: &'a Path,
        layout: &'a Layout,
        manner: Manner,
        tokens: usize,
    ) -> Result<Vec<Launch>, String> {
        let tokens = tokens as u32;
        let step = Self { facts, path, layout, manner, tokens, launches: Vec::new() };
        step.written(layout.kept.prompt)
    }

    /// The launches that take the token chosen last: fused where nobody looks at what is between them.
    pub(super) fn token(
        facts: &'a DeviceFacts,
        path: &'a Path,
        layout: &'a Layout,
        manner: Manner,
    ) -> Result<Vec<Launch>, String> {
        if manner.watched {
            return Self::token_apart(facts, path, layout, manner);
        }
        let step = Self { facts, path, layout, manner, tokens: 1, launches: Vec::new() };
        step.chained(layout.kept.state.token())
    }

    /// The same with a kernel for every operation.
    pub(super) fn token_apart(
        facts: &'a DeviceFacts,
        path: &'a Path,
        layout: &'a Layout,
        manner: Manner,
    ) -> Result<Vec<Launch>, String> {
        let step = Self { facts, path, layout, manner, tokens: 1, launches: Vec::new() };
        step.written(layout.kept.state.token())
    }

    fn written(mut self, tokens: Slot) -> Result<Vec<Launch>, String> {
        let layout = self.layout;
        self.embedding(tokens)?;
        for (l, layer) in (0..layout.shape.layers).zip(layout.layers.iter().cycle()) {
            self.attention(l, layer)?;
            self.feed_forward(l, layer)?;
        }
        self.head()?;
        self.end()?;
        Ok(self.launches)
    }

    /// Counts what is not finite in a tensor of so many columns.
    fn look(&mut self, (layer, op): (usize, Op), x: Slot, element: Element, count: u32) -> Written {
        if self.manner.watched {
            let kept = &self.layout.kept;
            let at = (layer * OPS.len() + op as usize) as u64 * FOUND_BYTES;
            let found = kept.found.plus(at);
            self.launches.push(elementwise::scan(element, x, kept.state, found, count)?);
        }
        Ok(())
    }

    /// Looks at rows of activations.
    fn rows(&mut self, layer: usize, op: Op, x: Slot, width: usize) -> Written {
        let element = self.path.activations;
        self.look((layer, op), x, element, self.tokens * width as u32)
    }

    pub(super) fn embedding(&mut self, tokens: Slot) -> Written {
        let (layout, shape) = (self.layout, self.layout.shape);
        let x = layout.activations.x;
        self.launches.push(elementwise::embed(
            self.path.activations,
            &Embed {
                table: layout.embedding,
                tokens,
                out: x,
                count: self.tokens,
                width: shape.width as u32,
                vocab: shape.vocab as u32,
            },
        )?);
        self.rows(0, Op::Embedding, x, shape.width)
    }

    pub(super) fn norm(&self, x: Slot, gains: Slot, rows: u32, input: Element) -> Norm {
        Norm {
            x,
            gains,
            out: self.layout.activations.normed,
            rows,
            width: self.layout.shape.width as u32,
            epsilon: EPSILON as f32,
            input,
            output: self.path.activations,
        }
    }

    /// The norm in front of a block.
    pub(super) fn enter(&mut self, l: usize, op: Op, gains: Slot) -> Written {
        let at = &self.layout.activations;
        let norm = self.norm(at.x, gains, self.tokens, self.path.activations);
        self.launches.push(elementwise::rms_norm(&norm)?);
        self.rows(l, op, at.normed, self.layout.shape.width)
    }

    /// The norm behind a block, and the sum with the residual stream.
    fn leave(&mut self, l: usize, [op, sum]: [Op; 2], gains: Slot) -> Written {
        let at = &self.layout.activations;
        let norm = self.norm(at.out, gains, self.tokens, self.out_element());
        self.launches.push(elementwise::rms_norm_add(&norm, at.x)?);
        self.rows(l, op, at.normed, self.layout.shape.width)?;
        self.rows(l, sum, at.x, self.layout.shape.width)
    }

    /// What the output of a block is stored in.
    pub(super) fn out_element(&self) -> Element {
        if self.path.wide { Element::F32 } else { self.path.activations }
    }

    pub(super) fn multiplier(&self) -> Multiplier<'a> {
        let scratch = self.layout.activations.scratch;
        Multiplier { facts: self.facts, path: self.path, scratch }
    }

    /// A projection, stored and looked at.
    pub(super) fn project(
        &mut self,
        (l, op): (usize, Op),
        layer: &Layer,
        tensor: LayerTensor,
        [x, y]: [Slot; 2],
    ) -> Written {
        let output = match tensor {
            LayerTensor::O | LayerTensor::Down => self.out_element(),
            _ => self.path.activations,
        };
        let (matrix, tokens) = (layer.matrix(tensor), self.tokens);
        let rows = Rows { x, y, output, tokens };
        self.launches.extend(self.multiplier().launches(matrix, rows)?);
        self.look((l, op), y, output, tokens * matrix.n)
    }

    fn attention(&mut self, l: usize, layer: &Layer) -> Written {
        use LayerTensor as T;
        let (at, shape) = (&self.layout.activations, self.layout.shape);
        self.enter(l, Op::InputNorm, layer.norm(T::InputNorm))?;
        self.project((l, Op::QProj), layer, T::Q, [at.normed, at.q])?;
        self.project((l, Op::KProj), layer, T::K, [at.normed, at.k])?;
        self.project((l, Op::VProj), layer, T::V, [at.normed, at.v])?;
        self.launches.push(self.rope(l, [at.k, at.v])?);
        self.rows(l, Op::RopeQ, at.q, shape.heads * shape.head)?;
        self.rows(l, Op::RopeK, at.k, shape.kv_width())?;
        self.launches.extend(self.attend(l, None)?);
        self.rows(l, Op::Attention, at.context, shape.heads * shape.head)?;
        self.project((l, Op::OProj), layer, T::O, [at.context, at.out])?;
        self.leave(l, [Op::PostAttnNorm, Op::AttnResidual], layer.norm(T::PostAttnNorm))
    }

    pub(super) fn rope(&self, l: usize, [k, v]: [Slot; 2]) -> Result<Launch, String> {
        let (at, kept, shape) = (&self.layout.activations, &self.layout.kept, self.layout.shape);
        let [keys, values] = kept.caches[l];
        let rope = Rope {
            q: at.q,
            k,
            v,
            keys,
            values,
            table: kept.rope,
            state: kept.state,
            tokens: self.tokens,
            heads: heads(shape),
            capacity: shape.positions() as u32,
        };
        elementwise::rope(self.path.activations, &rope)
    }

    /// Attention to the cache, and of one token to what is not in it yet.
    pub(super) fn attend(&self, l: usize, fresh: Option<Fresh>) -> Result<Vec<Launch>, String> {
        let (at, kept, shape) = (&self.layout.activations, &self.layout.kept, self.layout.shape);
        let [keys, values] = kept.caches[l];
        let attention = Attention {
            q: at.q,
            keys,
            values,
            out: at.context,
            state: kept.state,
            heads: heads(shape),
            scale: self.layout.score_scale,
        };
        let (facts, element) = (self.facts, self.path.activations);
        if self.tokens > 1 {
            // A prompt is read from position 0 on.
            let shape = gpu::Shape { m: self.tokens, ..gpu::Shape::default() };
            return Ok(vec![attn::prefill(facts, self.manner.engine, element, &attention, shape)?]);
        }
        let pieces = attn::splits(facts, element, heads(shape), shape.positions() as u32);
        attn::decode(facts, element, &attention, at.pieces, pieces, fresh)
    }

    fn feed_forward(&mut self, l: usize, layer: &Layer) -> Written {
        use LayerTensor as T;
        let (at, shape) = (&self.layout.activations, self.layout.shape);
        self.enter(l, Op::PreMlpNorm, layer.norm(T::PreMlpNorm))?;
        self.project((l, Op::GateProj), layer, T::Gate, [at.normed, at.gate])?;
        self.project((l, Op::UpProj), layer, T::Up, [at.normed, at.up])?;
        let count = self.tokens * shape.ffn as u32;
        let element = self.path.activations;
        self.launches.push(elementwise::swiglu(element, [at.gate, at.up, at.gate], count)?);
        self.rows(l, Op::Swiglu, at.gate, shape.ffn)?;
        self.project((l, Op::DownProj), layer, T::Down, [at.gate, at.out])?;
        self.leave(l, [Op::PostMlpNorm, Op::MlpResidual], layer.norm(T::PostMlpNorm))
    }

    /// The logits of the last token.
    fn head(&mut self) -> Written {
        let (layout, at, shape) = (self.layout, &self.layout.activations, self.layout.shape);
        let (element, last) = (self.path.activations, shape.layers - 1);
        let before = u64::from(self.tokens - 1) * (shape.width * element.bytes()) as u64;
        let norm = self.norm(at.x.plus(before), layout.final_norm, 1, element);
        self.launches.push(elementwise::rms_norm(&norm)?);
        self.look((last, Op::FinalNorm), at.normed, element, shape.width as u32)?;
        self.launches.extend(self.multiplier().head(&layout.head, at.normed, at.logits)?);
        self.look((last, Op::Head), at.logits, Element::F32, shape.vocab as u32)
    }

    /// Chooses the next token, and where the run is watched moves on to it.
    pub(super) fn end(&mut self) -> Written {
        let (at, kept, shape) = (&self.layout.activations, &self.layout.kept, self.layout.shape);
        let vocab = shape.vocab as u32;
        self.launches.push(elementwise::argmax(at.logits, kept.state.best(), vocab)?);
        if self.manner.watched {
            self.launches.push(elementwise::advance(&Advance {
                state: kept.state,
                tape: kept.tape,
                logits: at.logits,
                history: kept.history,
                kept: vocab,
                capacity: shape.decode as u32,
                tokens: self.tokens,
            }));
        }
        Ok(())
    }
}
