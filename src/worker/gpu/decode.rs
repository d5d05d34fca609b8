//! The micro decoder: M0 for right or wrong, M1 for how fast.

use warpscope_kernels::gpu::decoder::{Length, Numeric, Throughput, Timed, numeric, throughput};
use warpscope_kernels::gpu::{Machine, MachineError, Nanoseconds, Route, Sampled};
use warpscope_kernels::model::Profile;

use super::job::On;
use super::timing::{RAMP_NS, median_rate};
use crate::runs::statistics::Spread;
use crate::worker::child::{Emit, Trouble};
use crate::worker::precision::{Precision, dtype_of, precision, precisions};
use crate::worker::protocol::{
    Command, FirstBad, ModelSize, PathReport, PathSamples, SampleClocks, WorkerEvent,
};

/// Samples of a graph, and the time on the device after which fewer must do.
const SAMPLES: usize = 32;
const TIME_NS: Nanoseconds = 50e6;
/// The fewest.
const LEAST: usize = 3;

/// Runs the decoder of a request, and says what came out.
pub(super) fn run(on: &mut On<'_>, job: &Command, emit: &mut Emit<'_>) -> Result<(), Trouble> {
    let Command::Decode { path, profile, model } = job else { return Ok(()) };
    let failed = |error| Trouble::of(job, error);
    let (path, profile) = meant(on, path, profile).map_err(failed)?;
    match model {
        ModelSize::M0 => {
            let length = Length::fitting(on.machine.facts());
            let done = numeric(on.machine, path, profile, length).map_err(failed)?;
            emit(WorkerEvent::Report(Box::new(judged(path, profile, done))))?;
        }
        ModelSize::M1 => {
            let arena = on.machine.pool().1;
            let model = throughput(on.machine, path, arena).map_err(failed)?;
            let times = right(on.machine, &model).and_then(|_| times(on.machine, &model));
            let (speed, samples) = match &times {
                Ok(times) => timed((path, profile), &model, times, on.best_mhz),
                Err(_) => Default::default(),
            };
            let freed = model.free(on.machine);
            times.and(freed).map_err(failed)?;
            if let (Some(speed), Some(samples)) = (speed, samples) {
                // Right behind the decoder, at its clocks, and with all memory back.
                let read = median_rate(on.machine, "mem.read", arena).map_err(failed)?;
                let speed = against(speed, read.map(|read| read.bytes_per_s));
                emit(WorkerEvent::Report(Box::new(speed)))?;
                emit(WorkerEvent::Samples(samples))?;
            }
        }
    }
    Ok(())
}

/// The way and the profile of their names.
fn meant(on: &On<'_>, id: &str, profile: &str) -> Result<(Precision, Profile), MachineError> {
    let known = || precisions().map(|it| it.id).collect::<Vec<_>>().join(", ");
    let path = precision(id)
        .ok_or_else(|| MachineError::refused(format!("no path is called {id}: {}", known())))?;
    if let Route::Absent { why } = path.route(on.machine.facts()) {
        return Err(MachineError::refused(why));
    }
    let known = profile.parse::<Profile>();
    Ok((path, known.map_err(|_| MachineError::refused(format!("there is no profile {profile}")))?))
}

/// Whether M0 is right. It looks at every tensor while it runs, so its times are not told.
fn judged(precision: Precision, profile: Profile, done: Numeric) -> PathReport {
    PathReport {
        dtype: dtype_of(precision),
        path: Some(precision.id.to_owned()),
        profile: profile.id().to_owned(),
        device: "gpu".to_owned(),
        complete: done.tokens.len() == done.expected_tokens.len(),
        tokens: done.tokens,
        expected_tokens: done.expected_tokens,
        text: done.text,
        non_finite: done.non_finite,
        first_bad: done.first_bad.map(FirstBad::from),
        error: done.error,
        error_limit: done.error_limit,
        decode_tokens_per_s: None,
        decode_mad_tokens_per_s: None,
        prefill_gflop_per_s: None,
        gb_per_s: None,
        decode_bytes: None,
        read_gb_per_s: None,
        read_bandwidth_share: None,
        cache_resident: None,
    }
}

/// How far the step that is timed lies from one with a kernel for every operation. A wrong one is an error.
pub(super) fn right(
    machine: &mut dyn Machine,
    model: &Throughput,
) -> Result<Option<f64>, MachineError> {
    if machine.facts().simulated {
        return Ok(None);
    }
    let (apart, limit) = (model.difference(machine)?, model.limit);
    if apart.is_nan() || apart > limit {
        let what = format!(
            "its logits lie {apart:.1e} from those of the same step with a kernel for every operation, more than {limit:.1e}"
        );
        return Err(MachineError::Fault { what });
    }
    Ok(Some(apart))
}

/// Times of the prompt and of one token more.
type Times = (Vec<Sampled>, Vec<Sampled>);

fn times(machine: &mut dyn Machine, model: &Throughput) -> Result<Times, MachineError> {
    Ok((replays(machine, &model.prefill)?, replays(machine, &model.decode)?))
}

fn replays(machine: &mut dyn Machine, of: &Timed) -> Result<Vec<Sampled>, MachineError> {
    let (place, bytes) = &of.start;
    machine.write(*place, bytes)?;
    // The first replays wake the clock.
    let mut ramp = 0.0;
    while ramp < RAMP_NS {
        let Some(sample) = of.sample(machine)? else { break };
        ramp += sample.ns.max(1e3);
    }
    let (mut samples, mut total) = (Vec::new(), 0.0);
    while samples.len() < LEAST || samples.len() < SAMPLES && total < TIME_NS {
        let Some(sample) = of.sample(machine)? else { break };
        total += sample.ns;
        samples.push(sample);
    }
    Ok(samples)
}

/// The speed against what the memory was just found to read.
fn against(speed: PathReport, read_bytes_per_s: Option<f64>) -> PathReport {
    let read = read_bytes_per_s.filter(|read| *read > 0.0).map(|read| read / 1e9);
    let read_bandwidth_share = speed.gb_per_s.zip(read).map(|(gb_per_s, read)| gb_per_s / read);
    PathReport { read_gb_per_s: read, read_bandwidth_share, ..speed }
}

/// How fast M1 is; nothing where times mean nothing. It generates no text that anybody judges.
fn timed(
    (precision, profile): (Precision, Profile),
    model: &Throughput,
    (prefill, decode): &Times,
    best_mhz: &mut Option<f64>,
) -> (Option<PathReport>, Option<PathSamples>) {
    let times = |samples: &[Sampled]| samples.iter().map(|sample| sample.ns).collect::<Vec<_>>();
    let (prefill_ns, decode_ns) = (times(prefill), times(decode));
    let spread = |times: &[Nanoseconds]| Spread::of(times.iter().copied());
    let clocks = |samples: &[Sampled], best: &mut _| {
        SampleClocks::of(samples.iter().map(|sample| sample.mhz).collect(), best)
    };
    let mut prefill_clocks = clocks(prefill, best_mhz);
    let decode_clocks = clocks(decode, best_mhz);
    // What the other reached counts for both.
    prefill_clocks.mark(*best_mhz);
    let (Some(prefill), Some(decode)) = (spread(&prefill_ns), spread(&decode_ns)) else {
        return (None, None);
    };
    let tokens_per_s = f64::from(model.decode.tokens) / decode.median * 1e9;
    let report = PathReport {
        decode_tokens_per_s: Some(tokens_per_s),
        decode_mad_tokens_per_s: Some(tokens_per_s * decode.mad / decode.median),
        prefill_gflop_per_s: Some(model.prefill.flops / prefill.median),
        gb_per_s: Some(model.decode.bytes / decode.median),
        decode_bytes: Some(model.decode.bytes),
        cache_resident: Some(model.l2_resident),
        // It is timed alone: no token of it is compared.
        complete: false,
        ..judged(precision, profile, Numeric::default())
    };
    let samples = PathSamples {
        dtype: dtype_of(precision),
        path: Some(precision.id.to_owned()),
        profile: profile.id().to_owned(),
        decode_ns,
        prefill_ns,
        decode_clocks,
        prefill_clocks,
        decode_preempted: Vec::new(),
        prefill_preempted: Vec::new(),
        prefill_flop: model.prefill.flops,
        decode_bytes: model.decode.bytes,
    };
    (Some(report), Some(samples))
}
