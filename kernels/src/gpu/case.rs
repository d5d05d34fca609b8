//! A conformance case: exact inputs, launches, and what must come out. The same case runs on a device and on the interpreter.

use half::{bf16, f16};

use serde::Serialize;

use super::machine::{BufferId, Launch, Machine, MachineError, Plan, Slot};

/// Bytes kept before and behind every buffer, to be found as they were.
const GUARD: usize = 256;
/// What guards hold.
const SENTINEL: u8 = 0xa5;
/// What outputs hold before the kernel runs: NaN in every floating-point format, and no likely integer.
pub(super) const POISON: u8 = 0xff;

/// How the bytes of a buffer are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Element {
    /// binary64.
    F64,
    /// binary32.
    F32,
    /// binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned byte.
    U8,
}

impl Element {
    /// Bytes of one.
    pub fn bytes(self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::U8 => 1,
        }
    }

    /// The values of a buffer, exactly.
    pub fn values(self, bytes: &[u8]) -> Vec<f64> {
        let one = |raw: &[u8]| match (self, raw) {
            (Self::F64, &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
            (Self::F32, &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])),
            (Self::I32, &[a, b, c, d]) => f64::from(i32::from_le_bytes([a, b, c, d])),
            (Self::U32, &[a, b, c, d]) => f64::from(u32::from_le_bytes([a, b, c, d])),
            (Self::F16, &[a, b]) => f64::from(f16::from_le_bytes([a, b])),
            (Self::Bf16, &[a, b]) => f64::from(bf16::from_le_bytes([a, b])),
            (Self::U8, &[a]) => f64::from(a),
            _ => unreachable!("chunks are as long as the element"),
        };
        bytes.chunks_exact(self.bytes()).map(one).collect()
    }
}

/// What a buffer holds at first.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// These bytes.
    Bytes(Vec<u8>),
    /// So many bytes that a kernel must overwrite.
    Poison(usize),
    /// So many bytes for a kernel's own use, whatever they hold before and behind it.
    Scratch(usize),
    /// So many zero bytes.
    Zero(usize),
    /// So many elements, about normal, from a hash of the seed: generated on the device, for timing only.
    Noise {
        /// Format.
        element: Element,
        /// How many.
        count: usize,
        /// Seed.
        seed: u32,
    },
}

impl Content {
    /// Its size, bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Poison(bytes) | Self::Scratch(bytes) | Self::Zero(bytes) => *bytes,
            Self::Noise { element, count, .. } => element.bytes() * count,
        }
    }
}

/// How an output is judged.
#[derive(Clone, Debug, PartialEq)]
pub enum Judge {
    /// These very bytes.
    Bits(Vec<u8>),
    /// All finite, and ‖out − reference‖ ≤ limit · ‖reference‖ in the Frobenius norm.
    Near {
        /// fp64 result on the exact stored operands.
        reference: Vec<f64>,
        /// Largest relative error.
        limit: f64,
    },
}

/// An output and how it is judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// Index of the buffer.
    pub buffer: usize,
    /// How its bytes are read.
    pub element: Element,
    /// How they are judged.
    pub judge: Judge,
}

impl Expect {
    /// These very bytes.
    pub(super) fn bits(buffer: usize, element: Element, bytes: Vec<u8>) -> Self {
        Self { buffer, element, judge: Judge::Bits(bytes) }
    }

    /// Numbers as near to these as that.
    pub(super) fn near(buffer: usize, element: Element, reference: Vec<f64>, limit: f64) -> Self {
        Self { buffer, element, judge: Judge::Near { reference, limit } }
    }
}

/// Exact inputs, launches, and what must come out.
pub struct Case {
    /// What it is about: `17×33×72 integers`.
    pub name: String,
    /// Contents of the buffers; [`Content::Noise`] has no place in a case.
    pub buffers: Vec<Content>,
    /// What is launched.
    pub plan: Plan,
    /// What must come out.
    pub expect: Vec<Expect>,
}

/// What became of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseOutcome {
    /// Largest relative error of the outputs judged by it; `None` where all are judged by their bits.
    pub error: Option<f64>,
    /// What is wrong; `None` where nothing is.
    pub wrong: Option<String>,
    /// What is right and yet other than expected.
    pub note: Option<String>,
}

impl Case {
    /// Bytes of all its buffers.
    pub fn bytes(&self) -> usize {
        self.buffers.iter().map(Content::bytes).sum()
    }

    /// What is launched, with buffers numbered as in the case.
    pub fn launches(&self) -> Vec<Launch> {
        let buffers = (0..self.buffers.len() as u32).map(BufferId);
        let slots: Vec<Slot> = buffers.map(|buffer| Slot { buffer, offset: 0 }).collect();
        (self.plan)(&slots)
    }
}

/// Runs a case between sentinels, on poisoned outputs, and gives all memory back.
pub fn run_case(machine: &mut dyn Machine, case: &Case) -> Result<CaseOutcome, MachineError> {
    run_case_keeping(machine, case, &mut |_| {})
}

/// The same as [`run_case`]. Where the case is wrong, `keep` is given what its buffers hold afterwards.
pub fn run_case_keeping(
    machine: &mut dyn Machine,
    case: &Case,
    keep: &mut dyn FnMut(&[Vec<u8>]),
) -> Result<CaseOutcome, MachineError> {
    let mut held = Vec::new();
    let result = in_memory(machine, case, &mut held, keep);
    let freed: Result<Vec<()>, _> = held.into_iter().map(|buffer| machine.free(buffer)).collect();
    result.and_then(|outcome| freed.map(|_| outcome))
}

fn in_memory(
    machine: &mut dyn Machine,
    case: &Case,
    held: &mut Vec<BufferId>,
    keep: &mut dyn FnMut(&[Vec<u8>]),
) -> Result<CaseOutcome, MachineError> {
    for content in &case.buffers {
        let buffer = machine.allocate((content.bytes() + 2 * GUARD) as u64)?;
        held.push(buffer);
        machine.write(buffer.into(), &image(content)?)?;
    }
    let slots: Vec<Slot> =
        held.iter().map(|buffer| Slot { buffer: *buffer, offset: GUARD as u64 }).collect();
    machine.run(&(case.plan)(&slots))?;
    let mut outcome = CaseOutcome { error: None, wrong: None, note: None };
    let mut bodies = Vec::new();
    for (index, (buffer, content)) in held.iter().zip(&case.buffers).enumerate() {
        let mut bytes = vec![0; content.bytes() + 2 * GUARD];
        machine.read((*buffer).into(), &mut bytes)?;
        look_at(case, index, &bytes, &mut outcome);
        bodies.push(bytes[GUARD..][..content.bytes()].to_vec());
    }
    if outcome.wrong.is_some() {
        keep(&bodies);
    }
    Ok(outcome)
}

/// A buffer with its guards.
fn image(content: &Content) -> Result<Vec<u8>, MachineError> {
    let body = match content {
        Content::Bytes(bytes) => bytes.clone(),
        Content::Poison(count) | Content::Scratch(count) => vec![POISON; *count],
        Content::Zero(count) => vec![0; *count],
        Content::Noise { .. } => {
            return Err(MachineError::refused("a case has no noise"));
        }
    };
    let guard = [SENTINEL; GUARD];
    Ok([&guard[..], &body, &guard].concat())
}

fn look_at(case: &Case, index: usize, bytes: &[u8], outcome: &mut CaseOutcome) {
    let (front, rest) = bytes.split_at(GUARD);
    let (body, back) = rest.split_at(rest.len() - GUARD);
    let mut wrong = Vec::new();
    if front.iter().chain(back).any(|byte| *byte != SENTINEL) {
        wrong.push(format!("buffer {index}: written outside"));
    }
    let expected = case.expect.iter().filter(|expect| expect.buffer == index);
    for expect in expected {
        match judge(expect, body) {
            Ok(error) => {
                outcome.error = largest(outcome.error, error);
                let note = other_nans(expect, body).map(|what| format!("buffer {index}: {what}"));
                outcome.note = outcome.note.take().or(note);
            }
            Err(why) => wrong.push(format!("buffer {index}: {why}")),
        }
    }
    let is_output = case.expect.iter().any(|expect| expect.buffer == index);
    if let (Content::Bytes(before), false) = (&case.buffers[index], is_output)
        && before != body
    {
        wrong.push(format!("buffer {index}: an input was changed"));
    }
    if outcome.wrong.is_none() && !wrong.is_empty() {
        outcome.wrong = Some(wrong.join("; "));
    }
}

/// The larger of two errors, where there are any.
fn largest(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

fn is_nan(value: Option<f64>) -> bool {
    value.is_some_and(f64::is_nan)
}

/// How many NaN have other bits than expected: PTX promises none of them (ISA, "Floating Point Instructions").
fn other_nans(expect: &Expect, body: &[u8]) -> Option<String> {
    let Judge::Bits(want) = &expect.judge else { return None };
    let size = expect.element.bytes();
    let nan = |raw: &[u8]| is_nan(expect.element.values(raw).first().copied());
    let pairs = want.chunks(size).zip(body.chunks(size));
    let count = pairs.filter(|(want, got)| want != got && nan(want) && nan(got)).count();
    (count > 0).then(|| format!("{count} NaN with other bits than expected"))
}

/// The error of an output, where it is judged by one, or what is wrong with it.
fn judge(expect: &Expect, body: &[u8]) -> Result<Option<f64>, String> {
    match &expect.judge {
        Judge::Bits(want) if want.len() != body.len() => {
            Err(format!("{} bytes expected of {}", want.len(), body.len()))
        }
        Judge::Bits(want) => {
            let size = expect.element.bytes();
            let value = |raw: &[u8]| expect.element.values(raw).first().copied();
            let pairs = want.chunks(size).zip(body.chunks(size)).enumerate();
            let mut differing = pairs.filter(|(_, (want, got))| {
                want != got && !(is_nan(value(want)) && is_nan(value(got)))
            });
            let Some((at, (want, got))) = differing.next() else { return Ok(None) };
            Err(format!(
                "element {at} is {:?}, not {:?}; {} differ",
                value(got),
                value(want),
                differing.count() + 1
            ))
        }
        Judge::Near { reference, limit } => {
            let got = expect.element.values(body);
            if got.len() != reference.len() {
                return Err(format!("{} elements expected of {}", reference.len(), got.len()));
            }
            if let Some(at) = got.iter().position(|value| !value.is_finite()) {
                return Err(format!("element {at} is {}, not {}", got[at], reference[at]));
            }
            let distance: f64 = got.iter().zip(reference).map(|(g, r)| (g - r).powi(2)).sum();
            let size: f64 = reference.iter().map(|r| r.powi(2)).sum();
            let error = if distance == 0.0 { 0.0 } else { (distance / size).sqrt() };
            if error <= *limit {
                Ok(Some(error))
            } else {
                Err(format!("relative error {error:.2e} above {limit:.0e}"))
            }
        }
    }
}
