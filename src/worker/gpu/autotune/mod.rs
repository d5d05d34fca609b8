//! Variants of a kernel against the one it takes by itself: proven first, then timed in turn.
//!
//! Both sides are in memory at the same time and take turns A B B A in blocks of a few samples, so that what clocks do falls on both. Timing one
//! after the other was rejected: while clocks ramp up, whoever comes last wins. Who wins is not decided here; the parent has the raw times.

use std::time::{Duration, Instant};

use warpscope_kernels::gpu::family::{kernels, mem};
use warpscope_kernels::gpu::{
    BufferId, DeviceFacts, GpuKernel, Machine, MachineError, Route, Sampled, Shape, Slot,
    TunedConfigs, Variant, Work,
};

use super::job::{On, note};
use super::operands;
use super::proof::{Fault, fault_of, prove};
use super::timing::{Recorded, Sample, TOO_LONG, is_worth_while, record, size, warm_up, works};
use crate::worker::child::{Emit, Trouble};
use crate::worker::protocol::{
    AutotuneRun, Candidate, LeftOut, SampleClocks, Timing, TimingMode, Turn, TurnClocks,
    WorkerEvent,
};

/// Turns of two variants.
const TURNS: usize = 12;
/// Samples of each side in a turn, and in one of a long measurement.
const SAMPLES: usize = 5;
const SAMPLES_LONG: usize = 12;
/// Time after which fewer must do.
const TURN: Duration = Duration::from_millis(250);

/// Times the variants of kernels at one size, or at their own, and says what came out.
pub(super) fn run(on: &mut On<'_>, timing: &Timing, emit: &mut Emit<'_>) -> Result<(), Trouble> {
    let meant = kernels().filter(|kernel| timing.kernels.matches(kernel.id));
    meant.into_iter().try_for_each(|kernel| of_kernel(on, kernel, timing, emit))
}

fn of_kernel(
    on: &mut On<'_>,
    kernel: &GpuKernel,
    timing: &Timing,
    emit: &mut Emit<'_>,
) -> Result<(), Trouble> {
    // Variants chosen before do not decide which one is the default.
    let facts = DeviceFacts { tuned: TunedConfigs::default(), ..on.machine.facts().clone() };
    let variants = (kernel.variants)(&facts);
    if variants.len() < 2 || matches!((kernel.route)(&facts), Route::Absent { .. }) {
        return Ok(());
    }
    let Some(faults) = prove(on, kernel, &facts, emit)? else { return Ok(()) };
    let arena = on.machine.pool().1;
    let field = Field { kernel, facts, variants, faults, timing, arena };
    let works = match works(kernel, timing, &field.facts, arena) {
        Ok(works) => works,
        Err(why) => {
            let what = field.name(timing.shape.unwrap_or_default());
            return note(on, emit, what, MachineError::Refused { why });
        }
    };
    for work in works.iter().filter(|work| is_worth_while(&field.facts, work)) {
        match field.run_at(on, work) {
            Ok(Some(run_at)) => emit(WorkerEvent::Autotune(Box::new(run_at)))?,
            // Sizes grow, and the others would take longer still.
            Ok(None) => return Ok(emit(WorkerEvent::Autotune(Box::new(field.too_long(work))))?),
            Err(error) => note(on, emit, field.name(work.shape), error)?,
        }
    }
    Ok(())
}

/// One kernel with all its variants.
struct Field<'a> {
    kernel: &'a GpuKernel,
    /// The device, as if nothing was ever picked.
    facts: DeviceFacts,
    variants: Vec<Variant>,
    faults: Vec<Fault>,
    timing: &'a Timing,
    arena: u64,
}

/// The variant the kernel takes by itself, in memory and recorded.
struct Home<'a> {
    work: &'a Work,
    slots: Vec<Slot>,
    digest: Slot,
    recorded: Recorded,
}

/// Times of a candidate and of what it was timed against, and the clocks meanwhile.
type Timed = (Vec<Turn>, TurnClocks);

/// Why a candidate has no times.
enum Out {
    Left(LeftOut),
    Error(MachineError),
}

impl From<MachineError> for Out {
    fn from(error: MachineError) -> Self {
        Self::Error(error)
    }
}

impl Out {
    /// Its results are as good as any, and still it is not timed.
    fn not_timed(why: impl Into<String>) -> Self {
        Self::Left(LeftOut { why: why.into(), wrong: false })
    }
}

impl Field<'_> {
    fn name(&self, shape: Shape) -> String {
        format!("variants of {} {}", self.kernel.id, size(shape))
    }

    /// Why a variant may not be timed.
    fn fault_of(&self, name: &str) -> Option<LeftOut> {
        fault_of(&self.faults, &self.variants, name)
    }

    fn candidates(&self, usual: &Work) -> impl Iterator<Item = &Variant> {
        self.variants.iter().filter(|variant| variant.name != usual.variant)
    }

    fn of(&self, usual: &Work, candidates: Vec<Candidate>) -> AutotuneRun {
        AutotuneRun {
            kernel: self.kernel.id.to_owned(),
            shape: usual.shape,
            usual: usual.variant.to_owned(),
            candidates,
        }
    }

    fn too_long(&self, usual: &Work) -> AutotuneRun {
        let why = TOO_LONG.to_owned();
        let candidate = |variant: &Variant| Candidate {
            variant: variant.name.to_owned(),
            turns: Vec::new(),
            clocks: TurnClocks::default(),
            left_out: Some(LeftOut { why: why.clone(), wrong: false }),
        };
        self.of(usual, self.candidates(usual).map(candidate).collect())
    }

    /// One size; nothing where it is too long for a burst. All memory is given back.
    fn run_at(&self, on: &mut On<'_>, usual: &Work) -> Result<Option<AutotuneRun>, MachineError> {
        let mut taken = Vec::new();
        let result = self.at_home(on, usual, &mut taken);
        let freed = operands::give_back(on.machine, taken);
        result.and_then(|run_at| freed.map(|()| run_at))
    }

    fn at_home(
        &self,
        on: &mut On<'_>,
        usual: &Work,
        taken: &mut Vec<BufferId>,
    ) -> Result<Option<AutotuneRun>, MachineError> {
        let slots = operands::take_all(on.machine, &usual.buffers, taken)?;
        let digest = operands::take(on.machine, mem::HASH_BYTES, taken)?;
        let launches = (usual.plan)(&slots);
        operands::twice(on.machine, (&usual.buffers, &slots), &launches, digest)?;
        let recorded = record(on, &launches, self.timing.mode)?;
        match recorded {
            Recorded::TooLong => return Ok(None),
            Recorded::Sample(sample) if self.timing.mode == TimingMode::Sustained => {
                warm_up(on, sample.graph)?;
            }
            _ => {}
        }
        let home = Home { work: usual, slots, digest, recorded };
        let candidates = self.candidates(usual).map(|variant| self.candidate(on, variant, &home));
        let candidates = candidates.collect::<Result<Vec<_>, _>>()?;
        if let Recorded::Sample(sample) = home.recorded {
            sample.forget(on.machine)?;
        }
        Ok(Some(self.of(usual, candidates)))
    }

    /// One candidate: its times, or why it has none. What ends the job is an error.
    fn candidate(
        &self,
        on: &mut On<'_>,
        variant: &Variant,
        home: &Home<'_>,
    ) -> Result<Candidate, MachineError> {
        let mut taken = Vec::new();
        let result = self.turns(on, variant, home, &mut taken);
        let freed = operands::give_back(on.machine, taken);
        let ((turns, clocks), left_out) = match result {
            Ok(timed) => (timed, None),
            Err(Out::Left(left_out)) => (Timed::default(), Some(left_out)),
            Err(Out::Error(error))
                if error == MachineError::Stopped || on.machine.ended().is_some() =>
            {
                return Err(error);
            }
            Err(Out::Error(error)) => {
                let wrong = matches!(error, MachineError::Fault { .. });
                (Timed::default(), Some(LeftOut { why: error.to_string(), wrong }))
            }
        };
        freed?;
        Ok(Candidate { variant: variant.name.to_owned(), turns, clocks, left_out })
    }

    fn turns(
        &self,
        on: &mut On<'_>,
        variant: &Variant,
        home: &Home<'_>,
        taken: &mut Vec<BufferId>,
    ) -> Result<Timed, Out> {
        if let Some(fault) = self.fault_of(home.work.variant) {
            let why = format!("nothing to time against: {}", fault.why);
            return Err(Out::Left(LeftOut { why, ..fault }));
        }
        if let Some(fault) = self.fault_of(variant.name) {
            return Err(Out::Left(fault));
        }
        let work = self.work_of(variant, home.work.shape).map_err(Out::not_timed)?;
        // Operands that are the same are shared: two copies of the largest would not fit.
        let mut slots = Vec::new();
        for (place, content) in work.buffers.iter().enumerate() {
            slots.push(match home.work.buffers.get(place) {
                Some(same) if same == content => home.slots[place],
                _ => operands::take(on.machine, content.bytes(), taken)?,
            });
        }
        let launches = (work.plan)(&slots);
        operands::twice(on.machine, (&work.buffers, &slots), &launches, home.digest)?;
        let candidate = record(on, &launches, self.timing.mode)?;
        match (&home.recorded, candidate) {
            (Recorded::Sample(usual), Recorded::Sample(candidate)) => {
                let turns = in_turn(on, [*usual, candidate], self.timing.mode);
                candidate.forget(on.machine)?;
                Ok(turns?)
            }
            (_, Recorded::TooLong) => Err(Out::not_timed(TOO_LONG)),
            (_, Recorded::Sample(candidate)) => {
                Ok(candidate.forget(on.machine).map(|()| Timed::default())?)
            }
            (_, Recorded::Timeless) => Ok(Timed::default()),
        }
    }

    /// The work of a variant at a size.
    fn work_of(&self, variant: &Variant, shape: Shape) -> Result<Work, String> {
        let forced = self.facts.with_variant(self.kernel.id, variant.name);
        let all = works(self.kernel, self.timing, &forced, self.arena)?;
        let mut same = all.into_iter().filter(|work| work.shape == shape);
        let takes_it = same.next().filter(|work| work.variant == variant.name);
        takes_it.ok_or_else(|| "it does not take this size".to_owned())
    }
}

/// Times of two graphs, turn by turn, and the clocks meanwhile.
fn in_turn(on: &mut On<'_>, sides: [Sample; 2], mode: TimingMode) -> Result<Timed, MachineError> {
    let mut turns = Vec::new();
    let mut mhz = [Vec::new(), Vec::new()];
    for number in 0..TURNS {
        let order = if number % 2 == 0 { [0, 1] } else { [1, 0] };
        let mut times = [Vec::new(), Vec::new()];
        for side in order {
            let samples = block(on.machine, sides[side], mode)?;
            mhz[side].extend(samples.iter().map(|sample| sample.mhz));
            times[side] = samples.iter().map(|sample| sample.ns).collect();
        }
        let [usual_ns, candidate_ns] = times;
        turns.push(Turn { usual_ns, candidate_ns });
    }
    let [mut usual, candidate] = mhz.map(|mhz| SampleClocks::of(mhz, on.best_mhz));
    // What the other side reached counts for both.
    usual.mark(*on.best_mhz);
    Ok((turns, TurnClocks { usual, candidate }))
}

fn block(
    machine: &mut dyn Machine,
    sample: Sample,
    mode: TimingMode,
) -> Result<Vec<Sampled>, MachineError> {
    let most = if mode == TimingMode::Sustained { SAMPLES_LONG } else { SAMPLES };
    // The first finds in the caches what the other side left there.
    sample.take(machine)?;
    let begin = Instant::now();
    let mut samples = Vec::new();
    while samples.is_empty() || samples.len() < most && begin.elapsed() < TURN {
        match sample.take(machine)? {
            Some(sample) => samples.push(sample),
            None => break,
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests;
