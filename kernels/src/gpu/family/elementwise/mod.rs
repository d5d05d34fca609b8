//! K40 to K43 and what else joins the matrices of a decoder.
//!
//! Token, position and step live in device memory ([`State`]), and the kernel that ends a step moves them on: a graph that
//! was recorded once is right for every token. Launch parameters that change per token were rejected, because they
//! would mean a new recording, or a graph update the driver of an old card may not have, for each of them.

mod cases;
mod registry;

pub use registry::KERNELS;

use super::operand::of_storage;
use crate::gpu::{Arg, Element, Launch, Slot};
use crate::model::{Grid, Pattern};

/// Threads of a block.
const THREADS: u32 = 256;
/// Most blocks of a grid-stride loop.
const MOST_BLOCKS: u32 = 1024;

/// Bytes of [`State`].
pub const STATE_BYTES: u64 = 16;
/// Bytes of what one scan found: two 64-bit words.
pub const FOUND_BYTES: u64 = 16;

/// What a decoder keeps between tokens, in device memory: the next input token, its position, steps taken so far, and
/// the token chosen last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State(pub Slot);

impl State {
    /// The word that holds the next input token.
    pub fn token(self) -> Slot {
        self.0
    }

    /// The word an argmax writes.
    pub fn best(self) -> Slot {
        self.0.plus(12)
    }
}

fn launch(
    entry: &'static str,
    grid: [u32; 2],
    threads: u32,
    args: impl IntoIterator<Item = Arg>,
) -> Launch {
    Launch::new(("elementwise", entry), grid, threads, args)
}

/// A launch of a grid-stride loop over so many items.
fn stride<const N: usize>(
    entry: &'static str,
    items: u32,
    args: [Arg; N],
) -> Result<Launch, String> {
    if items == 0 {
        return Err(format!("{entry} has nothing to do"));
    }
    Ok(launch(entry, [items.div_ceil(THREADS).min(MOST_BLOCKS), 1], THREADS, args))
}

/// RMSNorm of rows.
#[derive(Clone, Copy, Debug)]
pub struct Norm {
    /// Rows, one after another.
    pub x: Slot,
    /// Gains, fp32.
    pub gains: Slot,
    /// Result.
    pub out: Slot,
    /// How many rows.
    pub rows: u32,
    /// Their width.
    pub width: u32,
    /// Added to the mean square.
    pub epsilon: f32,
    /// How x is stored.
    pub input: Element,
    /// How the result is.
    pub output: Element,
}

impl Norm {
    fn entry(&self, same: [&'static str; 3], wide: &'static str) -> Result<&'static str, String> {
        match (self.input, self.output) {
            (Element::F32, Element::F16) => Ok(wide),
            (input, output) if input == output => of_storage(input, same),
            (input, output) => Err(format!("no norm of {input:?} gives {output:?}")),
        }
    }

    fn launch(&self, entry: &'static str, residual: Option<Slot>) -> Result<Launch, String> {
        if self.rows == 0 || self.width == 0 {
            return Err(format!("{} rows of {} have no norm", self.rows, self.width));
        }
        let slots = [Some(self.x), Some(self.gains), Some(self.out), residual];
        let sizes = [self.width.into(), self.epsilon.into()];
        let args = slots.into_iter().flatten().map(Arg::Slot).chain(sizes);
        Ok(launch(entry, [self.rows, 1], THREADS, args))
    }
}

/// K40: `x / √(mean(x²) + ε) · gain`, statistics in fp32.
pub fn rms_norm(norm: &Norm) -> Result<Launch, String> {
    let same = ["rms_norm_f32", "rms_norm_f16", "rms_norm_bf16"];
    norm.launch(norm.entry(same, "rms_norm_f32_f16")?, None)
}

/// K40, sandwich: the norm is stored, and what was stored is added to the residual stream.
pub fn rms_norm_add(norm: &Norm, residual: Slot) -> Result<Launch, String> {
    let same = ["rms_norm_add_f32", "rms_norm_add_f16", "rms_norm_add_bf16"];
    norm.launch(norm.entry(same, "rms_norm_add_f32_f16")?, Some(residual))
}

/// Widest row of [`rms_norm_next`].
const MOST_NEXT: u32 = 4096;

/// Whether rows of a width can go through [`rms_norm_next`]: in eights, and no more than stay in registers.
pub fn takes_next(width: u32) -> bool {
    width.is_multiple_of(8) && width <= MOST_NEXT
}

/// K40, everything between two blocks: as [`rms_norm_add`] without storing the norm, and then the norm of the sum with other gains, into
/// [`Norm::out`]. Wherever [`takes_next`] says so.
pub fn rms_norm_next(norm: &Norm, residual: Slot, gains: Slot) -> Result<Launch, String> {
    if !takes_next(norm.width) {
        return Err(format!("rows of {} are no eights, or too long for registers", norm.width));
    }
    let same = ["rms_norm_next_f32", "rms_norm_next_f16", "rms_norm_next_bf16"];
    let mut launch = norm.launch(norm.entry(same, "rms_norm_next_f32_f16")?, Some(residual))?;
    launch.args.insert(4, gains.into());
    Ok(launch)
}

/// How queries share keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    /// Query heads.
    pub heads: u32,
    /// Key and value heads; divides the former.
    pub kv_heads: u32,
    /// Width of one.
    pub head: u32,
}

/// Rotary encoding of the tokens at the state's position and after.
#[derive(Clone, Copy, Debug)]
pub struct Rope {
    /// Queries, `[tokens, heads, head]`, rotated in place.
    pub q: Slot,
    /// Keys, `[tokens, kv heads, head]`, rotated in place and appended.
    pub k: Slot,
    /// Values, appended.
    pub v: Slot,
    /// Cached keys, `[capacity, kv heads, head]`.
    pub keys: Slot,
    /// Cached values.
    pub values: Slot,
    /// Cosine and sine per position and pair, fp32.
    pub table: Slot,
    /// Where the position is.
    pub state: State,
    /// Tokens.
    pub tokens: u32,
    /// Heads.
    pub heads: Heads,
    /// Positions of cache and table; tokens past them are left alone.
    pub capacity: u32,
}

/// K41: rotates queries and keys, and appends keys and values to the cache.
pub fn rope(element: Element, rope: &Rope) -> Result<Launch, String> {
    let Heads { heads, kv_heads, head } = rope.heads;
    if head % 2 != 0 || !(2..=512).contains(&head) {
        return Err(format!("heads of {head} cannot be rotated by pairs of one block"));
    }
    let entry = of_storage(element, ["rope_f32", "rope_f16", "rope_bf16"])?;
    let slots = [rope.q, rope.k, rope.v, rope.keys, rope.values, rope.table, rope.state.0];
    let sizes = [heads, kv_heads, rope.capacity].map(Arg::U32);
    let args = slots.into_iter().map(Arg::Slot).chain(sizes);
    Ok(launch(entry, [rope.tokens, heads + 2 * kv_heads], head / 2, args))
}

/// K42: `silu(gate) · up`. The result may replace the gate.
pub fn swiglu(element: Element, [gate, up, out]: [Slot; 3], count: u32) -> Result<Launch, String> {
    let entry = of_storage(element, ["swiglu_f32", "swiglu_f16", "swiglu_bf16"])?;
    stride(entry, count, [gate.into(), up.into(), out.into(), count.into()])
}

/// Rows of a table picked by tokens.
#[derive(Clone, Copy, Debug)]
pub struct Embed {
    /// Table, `[vocab, width]`.
    pub table: Slot,
    /// Tokens.
    pub tokens: Slot,
    /// Result, one row per token.
    pub out: Slot,
    /// How many tokens.
    pub count: u32,
    /// Width of a row.
    pub width: u32,
    /// Rows of the table; any other token gives a row of NaN.
    pub vocab: u32,
}

/// Rows of the embedding.
pub fn embed(element: Element, embed: &Embed) -> Result<Launch, String> {
    let entry = of_storage(element, ["embed_f32", "embed_f16", "embed_bf16"])?;
    if embed.count == 0 {
        return Err("no token to embed".to_owned());
    }
    let slots = [embed.table, embed.tokens, embed.out].map(Arg::Slot);
    let args = slots.into_iter().chain([embed.width.into(), embed.vocab.into()]);
    Ok(launch(entry, [embed.count, 1], THREADS, args))
}

/// K43: index of the largest of some fp32 logits into a word: the first of equals, and the first NaN as with `torch.argmax`.
pub fn argmax(logits: Slot, best: Slot, count: u32) -> Result<Launch, String> {
    if count == 0 {
        return Err("nothing has no largest".to_owned());
    }
    Ok(launch("argmax_f32", [1, 1], THREADS, [logits.into(), best.into(), count.into()]))
}

/// Counts numbers that are not finite into a place of [`FOUND_BYTES`] that starts as all ones and zero: step and index of
/// the first, `step · 2³² + index`, and how many.
pub fn scan(
    element: Element,
    x: Slot,
    state: State,
    found: Slot,
    count: u32,
) -> Result<Launch, String> {
    let entry = of_storage(element, ["scan_f32", "scan_f16", "scan_bf16"])?;
    stride(entry, count, [x.into(), state.0.into(), found.into(), count.into()])
}

/// The end of a step.
#[derive(Clone, Copy, Debug)]
pub struct Advance {
    /// The state it moves on.
    pub state: State,
    /// Where chosen tokens are written, one a step.
    pub tape: Slot,
    /// Logits of the step, fp32.
    pub logits: Slot,
    /// Where they are kept, step by step.
    pub history: Slot,
    /// Logits kept a step.
    pub kept: u32,
    /// Steps that tape and history hold; what comes later is not written.
    pub capacity: u32,
    /// Tokens of the step.
    pub tokens: u32,
}

/// Makes the chosen token the next input, and writes it to the tape.
pub fn advance(advance: &Advance) -> Launch {
    let slots = [advance.state.0, advance.tape, advance.logits, advance.history].map(Arg::Slot);
    let sizes = [advance.kept, advance.capacity, advance.tokens].map(Arg::U32);
    launch("advance", [1, 1], THREADS, slots.into_iter().chain(sizes))
}

/// Generates the weights of a grid, row by row: those of [`Grid::weights`], bit for bit. Grids without a pattern only.
pub fn grid(element: Element, out: Slot, grid: &Grid) -> Result<Launch, String> {
    if grid.pattern != Pattern::Free {
        return Err(format!("no kernel ties weights to each other as {:?}", grid.pattern));
    }
    let entry = of_storage(element, ["grid_f32", "grid_f16", "grid_bf16"])?;
    let tensor = u32::try_from(grid.tensor).map_err(|_| format!("no tensor {}", grid.tensor))?;
    let eights = grid.rows as u64 * grid.cols as u64 / 8;
    let eights = u32::try_from(eights).map_err(|_| format!("{eights} · 8 weights are too many"))?;
    let args = [out.into(), tensor.into(), (grid.exponent as u32).into(), eights.into()];
    stride(entry, eights, args)
}
