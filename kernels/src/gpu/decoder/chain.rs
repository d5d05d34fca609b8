//! One token more where nobody looks at what is in between: as few launches as possible, each of which may start early.
//!
//! Matrices with the same input are one, keys are rotated and appended on the way into the attention, and the norms between two blocks are one
//! launch: 8 a layer instead of 15. Prologues in the products would save more; a persistent kernel for the whole token was rejected for now, since
//! its barrier over the device asks for a launch that old drivers refuse on a shared card.
//!
//! On sm_90 and later a launch of [`WAITING`] starts while the one in front of it runs, and waits inside. Every such kernel waits before it lets the
//! next one start, so at most two are in the air, and what the one before the predecessor wrote is there without waiting. The first launch of a token
//! is never early: all tokens before it have ended.

use super::layout::Matrix;
use super::product::Rows;
use super::step::{Step, Written};
use crate::gpu::family::attn::{self, Fresh};
use crate::gpu::family::glue;
use crate::gpu::{Launch, Slot};
use crate::model::{LayerTensor, Op};

/// Families every entry of which waits for its predecessor, from class sm_90 on.
pub(super) const WAITING: [&str; 2] = ["attn_decode", "glue"];

impl Step<'_> {
    /// The launches of one token, none of which is looked at.
    pub(super) fn chained(mut self, token: Slot) -> Result<Vec<Launch>, String> {
        use LayerTensor as T;
        let layout = self.layout;
        let layers = || layout.layers.iter().cycle();
        self.embedding(token)?;
        self.enter(0, Op::InputNorm, layout.layers[0].norm(T::InputNorm))?;
        for (l, (layer, next)) in (0..layout.shape.layers).zip(layers().zip(layers().skip(1))) {
            let at = &layout.activations;
            let last = l + 1 == layout.shape.layers;
            let then = if last { layout.final_norm } else { next.norm(T::InputNorm) };
            self.stack(&layer.stacked[0], at.q)?;
            self.attend_fresh(l)?;
            self.project((l, Op::OProj), layer, T::O, [at.context, at.out])?;
            self.between([layer.norm(T::PostAttnNorm), layer.norm(T::PreMlpNorm)])?;
            self.stack(&layer.stacked[1], at.gate)?;
            let (element, ffn) = (self.path.activations, layout.shape.ffn);
            let up = at.gate.plus((ffn * element.bytes()) as u64);
            self.launches.push(glue::swiglu(element, [at.gate, up, at.gate], ffn as u32)?);
            self.project((l, Op::DownProj), layer, T::Down, [at.gate, at.out])?;
            self.between([layer.norm(T::PostMlpNorm), then])?;
        }
        let at = &layout.activations;
        self.launches.extend(self.multiplier().head(&layout.head, at.normed, at.logits)?);
        self.end()?;
        Ok(self.hastened())
    }

    /// Matrices that share the result of a norm, as one.
    fn stack(&mut self, matrix: &Matrix, y: Slot) -> Written {
        let x = self.layout.activations.normed;
        let rows = Rows { x, y, output: self.path.activations, tokens: 1 };
        self.launches.extend(self.multiplier().launches(matrix, rows)?);
        Ok(())
    }

    fn attend_fresh(&mut self, l: usize) -> Written {
        let (layout, element) = (self.layout, self.path.activations);
        let (shape, size) = (layout.shape, element.bytes());
        let key = layout.activations.q.plus((shape.heads * shape.head * size) as u64);
        let value = key.plus((shape.kv_width() * size) as u64);
        let fresh = attn::takes_fresh(self.facts, element);
        if !fresh {
            self.launches.push(self.rope(l, [key, value])?);
        }
        let fresh = fresh.then_some(Fresh { key, value, table: layout.kept.rope });
        self.launches.extend(self.attend(l, fresh)?);
        Ok(())
    }

    /// The norm behind a block, the sum with the residual stream, and the norm in front of what follows.
    fn between(&mut self, [gains, next]: [Slot; 2]) -> Written {
        let (at, element) = (&self.layout.activations, self.path.activations);
        let norm = self.norm(at.out, gains, 1, self.out_element());
        if glue::takes_next(norm.width) {
            self.launches.push(glue::rms_norm_next(&norm, at.x, next)?);
            return Ok(());
        }
        self.launches.push(glue::rms_norm_add(&norm, at.x)?);
        self.launches.push(glue::rms_norm(&self.norm(at.x, next, 1, element))?);
        Ok(())
    }

    /// Lets what waits by itself start early.
    fn hastened(self) -> Vec<Launch> {
        let can = self.facts.sm.major >= 9;
        let mut launches = self.launches;
        for launch in launches.iter_mut().skip(1) {
            launch.early = can && WAITING.contains(&launch.family);
        }
        launches
    }
}
