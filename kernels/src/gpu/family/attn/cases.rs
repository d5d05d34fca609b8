//! What proves the kernels: softmax attention in fp64 on the exact stored operands.

use super::super::glue::{Heads, State};
use super::super::operand::{encode, noise, of_storage, words};
use super::{Attention, Engine, part_bytes};
use crate::gpu::{Case, Content, DeviceFacts, Element, Expect, Judge, Launch};

/// Queries and what they see.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    /// Heads.
    pub(super) heads: Heads,
    /// Keys before the first query.
    pub(super) position: u32,
    /// Queries.
    pub(super) tokens: u32,
    /// Factor on queries: large scores make one key win.
    pub(super) sharpness: f32,
    /// Power of two that queries and keys are larger by, and the scale of their products twice that smaller.
    pub(super) gain_log2: i32,
}

/// Stored operands: queries, keys, values.
struct Operands {
    q: Vec<u8>,
    k: Vec<u8>,
    v: Vec<u8>,
}

impl Problem {
    fn keys(&self) -> u32 {
        self.position + self.tokens
    }

    fn scale(&self) -> f32 {
        (self.heads.head as f32).sqrt().recip() * (-2.0 * self.gain_log2 as f32).exp2()
    }

    fn operands(&self, element: Element) -> Operands {
        let Heads { heads, kv_heads, head } = self.heads;
        let seed = u64::from(self.keys() * 1000 + heads);
        let q = noise(Element::F32, (self.tokens * heads * head) as usize, seed);
        let gain = (self.gain_log2 as f32).exp2();
        let times = |factor: f32, bytes: &[u8]| -> Vec<f32> {
            Element::F32.values(bytes).into_iter().map(|x| x as f32 * factor).collect()
        };
        let cache = (self.keys() * kv_heads * head) as usize;
        let k = noise(Element::F32, cache, seed + 1);
        Operands {
            q: encode(element, times(gain * self.sharpness, &q)),
            k: encode(element, times(gain, &k)),
            v: noise(element, cache, seed + 2),
        }
    }

    /// Attention of every query head, token by token.
    fn reference(&self, [q, k, v]: [&[f64]; 3]) -> Vec<f64> {
        let heads = self.heads.heads as usize;
        let head = self.heads.head as usize;
        let (group, stride) =
            (heads / self.heads.kv_heads as usize, head * self.heads.kv_heads as usize);
        let scale = f64::from(self.scale());
        let one = |(at, query): (usize, &[f64])| {
            let (token, first) = (at / heads, at % heads / group * head);
            let seen = self.position as usize + token + 1;
            let row = |of: &[f64], key: usize| of[key * stride + first..][..head].to_vec();
            let score = |key| row(k, key).iter().zip(query).map(|(k, q)| k * q).sum::<f64>();
            let scores: Vec<f64> = (0..seen).map(|key| score(key) * scale).collect();
            let top = scores.iter().copied().fold(f64::MIN, f64::max);
            let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
            let total: f64 = weights.iter().sum();
            let mut out = vec![0.0; head];
            for (key, weight) in weights.iter().enumerate() {
                out.iter_mut().zip(row(v, key)).for_each(|(o, v)| *o += weight / total * v);
            }
            out
        };
        q.chunks_exact(head).enumerate().flat_map(one).collect()
    }

    fn name(&self, kind: &str, element: Element) -> String {
        let Heads { heads, kv_heads, head } = self.heads;
        let (tokens, position) = (self.tokens, self.position);
        let gain = if self.gain_log2 == 0 { "" } else { ", raw scores beyond fp16" };
        format!(
            "{kind}: {tokens} at {position}, {heads}/{kv_heads} heads of {head}{gain}, {element:?}"
        )
    }

    /// The case of a plan; `scratch` is what it needs beyond operands, result and state.
    fn case(
        &self,
        (kind, limit): (&str, f64),
        element: Element,
        scratch: usize,
        plan: impl Fn(&Attention, &[crate::gpu::Slot]) -> Result<Vec<Launch>, String> + 'static,
    ) -> Case {
        let Operands { q, k, v } = self.operands(element);
        let values = [&q, &k, &v].map(|bytes| element.values(bytes));
        let reference = self.reference([&values[0], &values[1], &values[2]]);
        let (heads, scale, out) = (self.heads, self.scale(), Content::Poison(q.len()));
        Case {
            name: self.name(kind, element),
            buffers: vec![
                Content::Bytes(q),
                Content::Bytes(k),
                Content::Bytes(v),
                out,
                Content::Bytes(words([0, self.position, 0, 0])),
                Content::Poison(scratch),
            ],
            plan: Box::new(move |at| {
                let (q, keys, values, out, state) = (at[0], at[1], at[2], at[3], State(at[4]));
                let attention = Attention { q, keys, values, out, state, heads, scale };
                plan(&attention, &at[5..]).expect("the sizes of a case are possible")
            }),
            expect: vec![Expect { buffer: 3, element, judge: Judge::Near { reference, limit } }],
        }
    }

    fn prefill(self, engine: Engine, element: Element) -> Case {
        let limit = of_storage(element, [5e-6, 1.5e-3, 6e-3]).expect("stored");
        let kind = if engine == Engine::Cores { "tensor cores" } else { "plain" };
        self.case((kind, limit), element, 4, move |at, _| {
            Ok(vec![super::prefill(engine, element, at, self.tokens)?])
        })
    }

    fn decode(self, element: Element, splits: u32) -> Case {
        let limit = of_storage(element, [5e-6, 1e-3, 5e-3]).expect("stored");
        let scratch = part_bytes(self.heads, splits) as usize;
        let kind = format!("{splits} pieces");
        self.case((&kind, limit), element, scratch, move |at, scratch| {
            Ok(super::decode(element, at, scratch[0], splits)?.to_vec())
        })
    }
}

const fn problem(heads: [u32; 3], position: u32, tokens: u32, sharpness: f32) -> Problem {
    let [heads, kv_heads, head] = heads;
    Problem { heads: Heads { heads, kv_heads, head }, position, tokens, sharpness, gain_log2: 0 }
}

/// A problem whose raw scores are beyond fp16.
const fn raised(problem: Problem) -> Problem {
    Problem { gain_log2: 7, ..problem }
}

/// Ragged lengths, every sharing of heads, positions on both sides of a block's end.
const PREFILLS: &[Problem] = &[
    problem([1, 1, 64], 0, 1, 1.0),
    problem([2, 1, 64], 0, 17, 1.0),
    problem([4, 1, 128], 0, 33, 1.0),
    problem([2, 2, 128], 31, 5, 4.0),
    problem([8, 1, 64], 60, 9, 1.0),
    problem([1, 1, 64], 0, 100, 2.0),
    raised(problem([2, 1, 128], 9, 20, 4.0)),
];

/// As above; positions 0 and beyond, so that some pieces are empty and some are not full.
const DECODES: &[(Problem, u32)] = &[
    (problem([1, 1, 64], 0, 1, 1.0), 1),
    (problem([4, 2, 128], 0, 1, 1.0), 3),
    (problem([4, 1, 128], 16, 1, 1.0), 2),
    (problem([8, 1, 64], 99, 1, 4.0), 3),
    (problem([3, 1, 128], 32, 1, 1.0), 1),
    (problem([4, 4, 64], 129, 1, 1.0), 7),
    (problem([6, 1, 64], 40, 1, 1.0), 2),
    (raised(problem([2, 1, 128], 50, 1, 4.0)), 2),
];

/// A value no query may see is NaN; the plain kernel must not let it through.
fn blind(element: Element) -> Case {
    let problem = problem([2, 1, 64], 3, 6, 1.0);
    let mut case = problem.prefill(Engine::Plain, element);
    let row = 64 * element.bytes();
    let last = (problem.keys() - 1) as usize;
    if let Content::Bytes(values) = &mut case.buffers[2] {
        values[last * row..].fill(0xff);
    }
    let Judge::Near { reference, .. } = &mut case.expect[0].judge else { return case };
    // The last token alone sees the NaN; everything before it stays as it was, so it is judged by leaving it out.
    let seen = reference.len() - 2 * 64;
    reference.truncate(seen);
    case.buffers[0] = match &case.buffers[0] {
        Content::Bytes(q) => Content::Bytes(q[..seen * element.bytes()].to_vec()),
        other => other.clone(),
    };
    case.buffers[3] = Content::Poison(seen * element.bytes());
    let (heads, scale) = (problem.heads, problem.scale());
    case.plan = Box::new(move |at| {
        let (q, keys, values, out, state) = (at[0], at[1], at[2], at[3], State(at[4]));
        let attention = Attention { q, keys, values, out, state, heads, scale };
        let launch = super::prefill(Engine::Plain, element, &attention, problem.tokens - 1);
        vec![launch.expect("the sizes of a case are possible")]
    });
    case.name = format!("a later NaN stays unseen, {element:?}");
    case
}

/// K30 of a format on a device: the plain kernel everywhere, tensor cores where there are.
pub(super) fn prefill(facts: &DeviceFacts, element: Element) -> Vec<Case> {
    let mut engines = vec![Engine::Plain];
    if Engine::best(facts.sm, element) == Engine::Cores {
        engines.push(Engine::Cores);
    }
    let of = |engine: Engine| PREFILLS.iter().map(move |problem| problem.prefill(engine, element));
    let cases = engines.into_iter().flat_map(of);
    cases.chain([blind(element)]).collect()
}

/// K31 of a format.
pub(super) fn decode(element: Element) -> Vec<Case> {
    DECODES.iter().map(|(problem, splits)| problem.decode(element, *splits)).collect()
}
