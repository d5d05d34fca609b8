//! M0: what comes out, where it first goes wrong, and how far it is from fp64.

use std::borrow::Cow;
use std::sync::OnceLock;

use super::layout::Layout;
use super::memory::{Memory, keep};
use super::path::{Path, Storage};
use super::plan::Plan;
use super::step::{Manner, Step};
use super::{found, upload};
use crate::gpu::family::attn::Engine;
use crate::gpu::{DeviceFacts, Machine, MachineError, Nanoseconds};
use crate::model::oracle::Oracle;
use crate::model::{Golden, M0, PROFILES, Place, Profile, Shape, golden_of, prompt, text};

/// How much of M0 is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The prompt of 32 tokens, and 32 tokens after it.
    Full,
    /// The first 2 tokens of the prompt, and 2 tokens after them: for machines that are simulated.
    Short,
}

impl Length {
    /// What a machine is fast enough for.
    pub fn fitting(facts: &DeviceFacts) -> Self {
        if facts.simulated { Self::Short } else { Self::Full }
    }

    /// The shape with that many tokens.
    pub fn shape(self) -> Shape {
        match self {
            Self::Full => M0,
            Self::Short => Shape { prompt: 2, decode: 2, ..M0 },
        }
    }
}

/// What M0 did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numeric {
    /// Greedy tokens.
    pub tokens: Vec<u32>,
    /// Those of the fp64 reference.
    pub expected_tokens: Vec<u32>,
    /// [`Numeric::tokens`] as text; token 0 is `!`.
    pub text: String,
    /// Numbers that were NaN or infinite in any stored tensor.
    pub non_finite: u64,
    /// The first of them in order of execution.
    pub first_bad: Option<Place>,
    /// Relative Frobenius error of the logits as long as the tokens are the reference's; `None` where they are not finite.
    pub error: Option<f64>,
    /// Largest error the path may have.
    pub error_limit: f64,
    /// Time of the prompt's graph; `None` where time means nothing.
    pub prefill_ns: Option<Nanoseconds>,
    /// Time of each further token's graph; empty where time means nothing.
    pub decode_ns: Vec<Nanoseconds>,
    /// Operations of the prompt, a multiply-add counting as two.
    pub prefill_flop: f64,
    /// Bytes of weights a further token reads.
    pub decode_bytes: f64,
    /// Bytes taken from the machine.
    pub memory_bytes: u64,
}

/// What fp64 says of the numbers NF4 has, profile by profile. Computed once: it takes seconds, and a process may judge the same path again and again.
static OF_NF4: [OnceLock<Golden>; PROFILES.len()] = [const { OnceLock::new() }; PROFILES.len()];

/// What fp64 says. Embedded where the storage keeps the weights as they are, else computed.
fn reference(path: &Path, profile: Profile, length: Length) -> Cow<'static, Golden> {
    let place = PROFILES.iter().position(|row| row.0 == profile);
    match (length, path.weights, place) {
        (Length::Full, Storage::Nf4, Some(place)) => {
            Cow::Borrowed(OF_NF4[place].get_or_init(|| computed(path.weights, profile, length)))
        }
        (Length::Full, _, _) => Cow::Borrowed(golden_of(profile)),
        (Length::Short, _, _) => Cow::Owned(computed(path.weights, profile, length)),
    }
}

fn computed(weights: Storage, profile: Profile, length: Length) -> Golden {
    let shape = length.shape();
    let store = |_, values| upload::kept(weights, values);
    let mut oracle = Oracle::stored(profile, store, |_, _| {});
    oracle.run_for(&prompt()[..shape.prompt], shape.decode)
}

/// Runs M0 on a path under a profile, and gives all memory back.
pub fn numeric(
    machine: &mut dyn Machine,
    path: &Path,
    profile: Profile,
    length: Length,
) -> Result<Numeric, MachineError> {
    let (done, memory) =
        keep(machine, |machine, memory| run(machine, memory, (path, profile, length)))?;
    memory.release(machine)?;
    Ok(done)
}

fn run(
    machine: &mut dyn Machine,
    memory: &mut Memory,
    (path, profile, length): (&Path, Profile, Length),
) -> Result<Numeric, MachineError> {
    let facts = machine.facts().clone();
    let shape = length.shape();
    let plan = Plan { path, shape, distinct: shape.layers, tied: false };
    let mut layout = plan.lay_out(&facts, &mut |bytes| memory.take(machine, bytes))?;
    layout.score_scale = profile.score_scale() as f32;
    upload::weights(machine, &layout, profile, path.activations)?;
    start(machine, &layout)?;
    // The plain kernel keeps attention's weights in fp32, as the CPU's decoder does; that of one token has no such choice where tensor cores do it.
    let manner = Manner { engine: Engine::Plain, watched: true };
    let prefill =
        Step::prompt(&facts, path, &layout, manner, shape.prompt).map_err(MachineError::refused)?;
    let decode = Step::token(&facts, path, &layout, manner).map_err(MachineError::refused)?;
    let prefill = memory.record(machine, &prefill)?;
    let decode = memory.record(machine, &decode)?;
    let prefill_ns = machine.replay(prefill, 1)?;
    let mut decode_ns = Vec::new();
    for _ in 1..shape.decode {
        decode_ns.extend(machine.replay(decode, 1)?);
    }
    let done = Numeric {
        prefill_ns,
        decode_ns,
        prefill_flop: shape.prefill_flop(),
        decode_bytes: plan.streamed_bytes(),
        memory_bytes: memory.bytes,
        error_limit: path.error_limit(),
        ..Numeric::default()
    };
    judge(machine, &layout, &reference(path, profile, length), done)
}

/// Everything a run begins with besides the weights.
fn start(machine: &mut dyn Machine, layout: &Layout) -> Result<(), MachineError> {
    let words = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    machine.write(layout.kept.state.0, &words(&[0; 4]))?;
    machine.write(layout.kept.prompt, &words(&prompt()[..layout.shape.prompt]))?;
    layout.clear_arrivals(machine)?;
    machine.write(layout.kept.found, &found::untouched(layout.shape))
}

/// Reads what a run left, and compares it.
fn judge(
    machine: &mut dyn Machine,
    layout: &Layout,
    golden: &Golden,
    done: Numeric,
) -> Result<Numeric, MachineError> {
    let (shape, kept) = (layout.shape, &layout.kept);
    let mut words = vec![0; 4 * shape.decode];
    machine.read(kept.tape, &mut words)?;
    let word = |raw: &[u8]| raw.iter().rev().fold(0_u32, |w, byte| w << 8 | u32::from(*byte));
    let tokens: Vec<u32> = words.chunks_exact(4).map(word).collect();
    let mut history = vec![0; 4 * shape.decode * shape.vocab];
    machine.read(kept.history, &mut history)?;
    let logits: Vec<f32> = history.chunks_exact(4).map(|raw| f32::from_bits(word(raw))).collect();
    let mut found = found::untouched(shape);
    machine.read(kept.found, &mut found)?;
    let health = found::health(&found, shape);
    let expected_tokens = golden.tokens();
    let steps = golden.steps.iter().zip(logits.chunks_exact(shape.vocab)).enumerate();
    let same_past = steps.take_while(|(at, _)| tokens[..*at] == expected_tokens[..*at]);
    let sums = same_past.map(|(_, (step, logits))| step.distance(logits));
    let (distance, size) = sums.fold((0.0, 0.0), |(d, n), (e, m)| (d + e, n + m));
    let error = Some((distance / size).sqrt()).filter(|error| error.is_finite());
    Ok(Numeric {
        text: text(&tokens),
        tokens,
        expected_tokens,
        non_finite: health.non_finite,
        first_bad: health.first_bad,
        error,
        ..done
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::decoder::path;

    #[test]
    fn the_reference_of_nf4_is_computed_once_and_is_its_own() {
        let nf4 = path("nf4").expect("is one");
        let first = reference(nf4, Profile::Clean, Length::Full);
        let Cow::Borrowed(first) = first else { panic!("is kept") };
        let again = reference(path("nf4.bf16").expect("is one"), Profile::Clean, Length::Full);
        assert!(matches!(again, Cow::Borrowed(again) if std::ptr::eq(first, again)));
        assert_eq!(first.steps.len(), M0.decode);
        assert_ne!(first, golden_of(Profile::Clean), "other numbers");
    }
}
