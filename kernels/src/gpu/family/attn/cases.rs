//! What proves the kernels: softmax attention in fp64 on the exact stored operands.

use super::super::elementwise::{Heads, State};
use super::super::operand::{encode, noise, of_storage, rounding_limit, words};
use super::attention::{Attention, Engine, HEAD};
use super::decode::{Fresh, Scratch, arrival_bytes, part_bytes, takes_fresh};
use super::prefill::prefill as launch_prefill;
use super::tile::{Tile, id, variants};
use crate::gpu::{Case, Content, DeviceFacts, Element, Expect, Judge, Launch, Shape, Slot};
use crate::model::attend;

/// Largest relative error of many queries, by what they are stored in.
pub(super) fn prefill_limit(element: Element) -> f64 {
    of_storage(element, [5e-6, 1.5e-3, 6e-3]).unwrap_or_default()
}

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

    fn shape(&self) -> Shape {
        Shape { m: self.tokens, context: self.position, ..Shape::default() }
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

    /// What is launched about, in the first buffers of a case.
    fn attention(&self, at: &[Slot]) -> Attention {
        let (q, keys, values, out, state) = (at[0], at[1], at[2], at[3], State(at[4]));
        Attention { q, keys, values, out, state, heads: self.heads, scale: self.scale() }
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
            let seen = (self.position as usize + token + 1) * stride;
            attend(query, [&k[..seen], &v[..seen]], (stride, first), scale)
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
        plan: impl Fn(&Attention, &[Slot]) -> Result<Vec<Launch>, String> + 'static,
    ) -> Case {
        let Operands { q, k, v } = self.operands(element);
        let values = [&q, &k, &v].map(|bytes| element.values(bytes));
        let reference = self.reference([&values[0], &values[1], &values[2]]);
        let (problem, out) = (*self, Content::Poison(q.len()));
        let arrivals = arrival_bytes(self.heads) as usize;
        Case {
            name: self.name(kind, element),
            buffers: vec![
                Content::Bytes(q),
                Content::Bytes(k),
                Content::Bytes(v),
                out,
                Content::Bytes(words([0, self.position, 0, 0])),
                Content::Poison(scratch),
                Content::Zero(arrivals),
            ],
            plan: Box::new(move |at| {
                plan(&problem.attention(at), &at[5..]).expect("the sizes of a case are possible")
            }),
            expect: vec![
                Expect::near(3, element, reference, limit),
                Expect::bits(6, Element::U8, vec![0; arrivals]),
            ],
        }
    }

    fn prefill(self, facts: &DeviceFacts, engine: Engine, element: Element) -> Case {
        let limit = prefill_limit(element);
        let kind = if engine == Engine::Cores { "tensor cores" } else { "plain" };
        let facts = facts.clone();
        self.case((kind, limit), element, 4, move |at, _| {
            Ok(vec![launch_prefill(&facts, engine, element, at, self.shape())?])
        })
    }

    fn decode(self, facts: &DeviceFacts, element: Element, splits: u32) -> Case {
        let limit = of_storage(element, [5e-6, 1e-3, 5e-3]).expect("stored");
        let scratch = part_bytes(self.heads, splits) as usize;
        let (kind, facts) = (format!("{splits} pieces"), facts.clone());
        self.case((&kind, limit), element, scratch, move |at, scratch| {
            let scratch = Scratch { parts: scratch[0], arrivals: scratch[1] };
            super::decode::decode(&facts, element, at, scratch, splits, None)
        })
    }

    /// The query and the last key are to be rotated, and key and value to be appended: nothing reads what the cache holds in their place.
    fn fresh(self, facts: &DeviceFacts, element: Element, splits: u32) -> Case {
        let Operands { q, k, v } = self.operands(element);
        let row = (self.heads.kv_heads * self.heads.head) as usize * element.bytes();
        let last = self.position as usize * row;
        let table = angles(self.position, self.heads.head);
        let turn = |rows: &[u8]| self.turned(element, rows, &table);
        let [turned_q, turned_key] = [turn(&q), turn(&k[last..])];
        let turned_k = [&k[..last], &turned_key].concat();
        let values = [&turned_q, &turned_k, &v].map(|bytes| element.values(bytes));
        let reference = self.reference([&values[0], &values[1], &values[2]]);
        let mut case = self.decode(facts, element, splits);
        let missing = |cache: &[u8]| [&cache[..last], &vec![0xff; row]].concat();
        case.buffers[1] = Content::Bytes(missing(&k));
        case.buffers[2] = Content::Bytes(missing(&v));
        case.buffers.extend([&k[last..], &v[last..], &table].map(|b| Content::Bytes(b.to_vec())));
        if let Judge::Near { reference: of_case, .. } = &mut case.expect[0].judge {
            *of_case = reference;
        }
        let near = element.values(&turned_k);
        let appended = Expect::near(1, element, near, rounding_limit(element));
        case.expect.extend([appended, Expect::bits(2, Element::U8, v)]);
        let facts = facts.clone();
        case.plan = Box::new(move |at| {
            let attention = self.attention(at);
            let scratch = Scratch { parts: at[5], arrivals: at[6] };
            let fresh = Fresh { key: at[7], value: at[8], table: at[9] };
            let launches =
                super::decode::decode(&facts, element, &attention, scratch, splits, Some(fresh));
            launches.expect("the sizes of a case are possible")
        });
        case.name = self.name(&format!("fresh, {splits} pieces"), element);
        case
    }

    /// Rows of heads turned by the angles of the position, as they are stored.
    fn turned(&self, element: Element, rows: &[u8], table: &[u8]) -> Vec<u8> {
        let (head, mut out) = (self.heads.head as usize, element.values(rows));
        let table = Element::F32.values(table);
        let angles = &table[self.position as usize * head..];
        for row in out.chunks_exact_mut(head) {
            for i in 0..head / 2 {
                let (a, b, [c, s]) =
                    (row[i], row[i + head / 2], [angles[2 * i], angles[2 * i + 1]]);
                (row[i], row[i + head / 2]) = (a * c - b * s, a * s + b * c);
            }
        }
        encode(element, out.into_iter().map(|x| x as f32))
    }
}

/// Cosine and sine of every pair at the positions up to one.
fn angles(position: u32, head: u32) -> Vec<u8> {
    let pair = |at: u32| {
        let angle = f64::from(at / (head / 2)) * (0.9_f64).powi((at % (head / 2)) as i32);
        [angle.cos() as f32, angle.sin() as f32]
    };
    encode(Element::F32, (0..(position + 1) * head / 2).flat_map(pair))
}

const fn problem(
    [heads, kv_heads]: [u32; 2],
    position: u32,
    tokens: u32,
    sharpness: f32,
) -> Problem {
    Problem {
        heads: Heads { heads, kv_heads, head: HEAD },
        position,
        tokens,
        sharpness,
        gain_log2: 0,
    }
}

/// A problem whose raw scores are beyond fp16.
const fn raised(problem: Problem) -> Problem {
    Problem { gain_log2: 7, ..problem }
}

/// Ragged lengths, every sharing of heads, positions on both sides of a block's end.
const PREFILLS: &[Problem] = &[
    problem([1, 1], 0, 1, 1.0),
    problem([2, 1], 0, 17, 1.0),
    problem([4, 1], 0, 33, 1.0),
    problem([2, 2], 31, 5, 4.0),
    problem([8, 1], 60, 9, 1.0),
    problem([1, 1], 0, 70, 2.0),
    raised(problem([2, 1], 9, 20, 4.0)),
];

/// What tiles of tensor cores add: more than one of the larger, queries that begin within a block of keys, and more blocks of keys than any
/// pipeline has stages, the last of them full once.
const TILED: &[Problem] = &[
    problem([1, 1], 37, 140, 1.0),
    problem([2, 1], 70, 70, 1.0),
    problem([1, 1], 645, 7, 1.0),
    problem([1, 1], 300, 20, 2.0),
    problem([1, 1], 250, 6, 1.0),
];

/// What blocks add that take several tiles in turn, with the multiprocessors to plan for: as many rounds as there are places for queries and one more,
/// forward and backward; a last round that not all have a part in; a block that has everything, with keys before it.
const IN_TURN: &[(Problem, u32)] = &[
    (problem([2, 1], 0, 300, 1.0), 2),
    (problem([3, 1], 0, 129, 2.0), 4),
    (problem([1, 1], 130, 258, 1.0), 1),
];

/// As above; positions 0 and beyond, so that some pieces are empty and some are not full.
const DECODES: &[(Problem, u32)] = &[
    (problem([1, 1], 0, 1, 1.0), 1),
    (problem([4, 2], 0, 1, 1.0), 3),
    (problem([4, 1], 16, 1, 1.0), 2),
    (problem([8, 1], 99, 1, 4.0), 3),
    (problem([3, 1], 32, 1, 1.0), 1),
    (problem([4, 4], 129, 1, 1.0), 7),
    (problem([6, 1], 40, 1, 1.0), 2),
    (problem([20, 1], 36, 1, 1.0), 2),
    (problem([2, 1], 403, 1, 1.0), 1),
    (problem([4, 2], 255, 1, 2.0), 2),
    (raised(problem([2, 1], 50, 1, 4.0)), 2),
    // As many pieces as a cluster has blocks: empty ones, rows that fill a tile and more, and warps with several chunks.
    (problem([4, 1], 0, 1, 1.0), 8),
    (problem([8, 2], 130, 1, 2.0), 8),
    (problem([20, 1], 70, 1, 1.0), 8),
    (problem([16, 1], 1100, 1, 1.0), 8),
    (raised(problem([2, 1], 50, 1, 4.0)), 8),
];

/// A value no query may see is NaN; the plain kernel must not let it through.
fn blind(facts: &DeviceFacts, element: Element) -> Case {
    let problem = problem([2, 1], 3, 6, 1.0);
    let mut case = problem.prefill(facts, Engine::Plain, element);
    let row = HEAD as usize * element.bytes();
    let last = (problem.keys() - 1) as usize;
    if let Content::Bytes(values) = &mut case.buffers[2] {
        values[last * row..].fill(0xff);
    }
    let Judge::Near { reference, .. } = &mut case.expect[0].judge else { return case };
    // The last token alone sees the NaN; everything before it stays as it was, so it is judged by leaving it out.
    let seen = reference.len() - 2 * HEAD as usize;
    reference.truncate(seen);
    case.buffers[0] = match &case.buffers[0] {
        Content::Bytes(q) => Content::Bytes(q[..seen * element.bytes()].to_vec()),
        other => other.clone(),
    };
    case.buffers[3] = Content::Poison(seen * element.bytes());
    let facts = facts.clone();
    let seen = Shape { m: problem.tokens - 1, ..problem.shape() };
    case.plan = Box::new(move |at| {
        let launch = launch_prefill(&facts, Engine::Plain, element, &problem.attention(at), seen);
        vec![launch.expect("the sizes of a case are possible")]
    });
    case.name = format!("a later NaN stays unseen, {element:?}");
    case
}

/// K30 of a format on a device: the plain kernel everywhere, every tile of tensor cores where there are.
pub(super) fn prefill(facts: &DeviceFacts, element: Element) -> Vec<Case> {
    let of = |facts: &DeviceFacts, engine: Engine| -> Vec<Case> {
        let tiled = TILED.iter().filter(|_| engine == Engine::Cores);
        PREFILLS.iter().chain(tiled).map(|p| p.prefill(facts, engine, element)).collect()
    };
    let mut cases = of(facts, Engine::Plain);
    cases.push(blind(facts, element));
    if Engine::best(facts.sm, element) == Engine::Plain {
        return cases;
    }
    let named: Vec<_> = variants(facts, element).into_iter().map(|variant| variant.name).collect();
    if named.is_empty() {
        cases.extend(of(facts, Engine::Cores));
    }
    for name in named {
        let forced = of(&facts.with_variant(id(element), name), Engine::Cores);
        let with_name = |case: Case| Case { name: format!("{name} {}", case.name), ..case };
        cases.extend(forced.into_iter().map(with_name));
        if name == Tile::Hopper.variant(facts, element) {
            cases.extend(in_turn(&facts.with_variant(id(element), name), element).map(with_name));
        }
    }
    cases
}

/// Tiles that blocks take in turn.
fn in_turn(facts: &DeviceFacts, element: Element) -> impl Iterator<Item = Case> {
    IN_TURN.iter().map(move |(problem, sms)| {
        let facts = DeviceFacts { sms: *sms, ..facts.clone() };
        let case = problem.prefill(&facts, Engine::Cores, element);
        Case { name: format!("{} by {sms}", case.name), ..case }
    })
}

/// K31 of a format, and where one launch does it all, what it rotates and appends.
pub(super) fn decode(facts: &DeviceFacts, element: Element) -> Vec<Case> {
    let known = DECODES.iter().map(|(problem, splits)| problem.decode(facts, element, *splits));
    let fresh = DECODES.iter().filter(|_| takes_fresh(facts, element));
    known.chain(fresh.map(|(problem, splits)| problem.fresh(facts, element, *splits))).collect()
}
