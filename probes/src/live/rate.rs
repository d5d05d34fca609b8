//! What is in the hardware, and what is put together of other instructions: the rate of one against that of another on one device.
//!
//! Ratios, because clocks, power and neighbours fall on both; against another instruction and not a figure of a data sheet, because the
//! question is how it is done here. Between the two limits nothing is said.
//!
//! The loops are those of `rate.cuh` and not the kernels of `warpscope_kernels::gpu::family::alu`, though both repeat one instruction. Those give
//! the peak that a GPU is measured against: each architecture has its own instructions, operands come from memory and results are proven. Here an
//! instruction is asked for wherever it assembles, above all where it is imitated; a step is the same product on every architecture; and nothing
//! has to come out right, so that a loop needs no operands and no reference. What is found is a ratio; the two rates behind it are no peaks.

use warpscope_kernels::cuda::CudaMachine;
use warpscope_kernels::gpu::{Arg, GraphId, Launch, Machine, MachineError, Nanoseconds, Slot};
use warpscope_kernels::image::pick;

use super::Answer;
use super::block::block;
use super::found::Found;

/// Warps of a block: two for each of the four schedulers.
const WARPS: u32 = 8;
/// How long one sample should take.
const SAMPLE_NS: Nanoseconds = 1e6;
/// Samples of each, taken in turns.
const SAMPLES: usize = 7;
/// Rounds of the first look.
const FIRST_ROUNDS: u32 = 64;
/// Most rounds of a sample.
const MOST_ROUNDS: u32 = 1 << 20;

/// A kernel that runs one instruction over and over.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// Image it is in.
    pub family: &'static str,
    /// Its kernel.
    pub entry: &'static str,
    /// Multiply-adds of one warp in one round.
    pub work: f64,
}

/// Two rates and what their ratio means.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// What is in question.
    pub of: Loop,
    /// What it is held against.
    pub against: Loop,
    /// Ratio up to which it is put together of other instructions.
    pub slow_to: f64,
    /// Ratio from which it is in the hardware.
    pub works_from: f64,
}

/// A loop over one scalar instruction: 32 of them a round, so many multiply-adds a lane.
pub(super) const fn scalar(entry: &'static str, of_a_lane: f64) -> Loop {
    Loop { family: "rate", entry, work: 32.0 * 32.0 * of_a_lane }
}

/// A loop over one product: eight of them a round, so many multiply-adds a warp.
pub(super) const fn product(family: &'static str, entry: &'static str, of_a_warp: f64) -> Loop {
    Loop { family, entry, work: 8.0 * of_a_warp }
}

/// Times both and judges their ratio.
pub(super) fn find(machine: &mut CudaMachine, title: &str, rate: &Rate) -> Found {
    if machine.facts().simulated {
        return Found::unknown(format!("{title}: times of a fake device mean nothing"));
    }
    for kernel in [rate.of, rate.against] {
        let best = pick(kernel.family, machine.facts()).best().map(|best| *best.image);
        if best.is_none_or(|image| image.entry(kernel.entry).is_none()) {
            let sm = machine.facts().sm;
            return Found::unknown(format!("{title}: {sm} has no {} to be timed", kernel.entry));
        }
    }
    match measure(machine, rate) {
        Ok(rates) => judged(title, rate, rates),
        Err(error) => Found::failure(title, &error),
    }
}

/// What the two rates say, in multiply-adds a second.
fn judged(title: &str, rate: &Rate, [of, against]: [f64; 2]) -> Found {
    let ratio = of / against;
    let (other, figure) =
        (rate.against.entry, format!("{ratio:.2} times the rate of {}", rate.against.entry));
    let found = if !ratio.is_finite() || ratio <= 0.0 {
        Found::unknown(format!("{title}: no time was measured"))
    } else if ratio >= rate.works_from {
        Found::works(format!("{title} runs at {figure}: it is in the hardware"))
    } else if ratio <= rate.slow_to {
        let why = "it is put together of other instructions, or its units are few";
        Found::new(Answer::Slow, format!("{title} runs at {figure}: {why}"))
    } else {
        Found::unknown(format!("{title} runs at {figure}, which says neither"))
    };
    let tera = |rate: f64| format!("{:.2} Tera-multiply-adds/s", rate / 1e12);
    found.fact(rate.of.entry, tera(of)).fact(other, tera(against)).by(rate.of.family)
}

fn measure(machine: &mut CudaMachine, rate: &Rate) -> Result<[f64; 2], MachineError> {
    let output = machine.allocate(4 * 32 * u64::from(WARPS))?;
    let kernels = [rate.of, rate.against];
    let mut recorded = Vec::new();
    let result = in_turns(machine, &kernels, output.into(), &mut recorded);
    for graph in recorded {
        machine.forget(graph)?;
    }
    machine.free(output)?;
    result
}

fn in_turns(
    machine: &mut CudaMachine,
    kernels: &[Loop; 2],
    output: Slot,
    recorded: &mut Vec<GraphId>,
) -> Result<[f64; 2], MachineError> {
    let sms = machine.facts().sms.max(1);
    let mut ready = Vec::new();
    for kernel in kernels {
        let first = timed(machine, kernel, (sms, FIRST_ROUNDS), output, recorded)?;
        let time = machine.replay(first, 3)?.unwrap_or(f64::INFINITY) / 3.0;
        let rounds = rounds_for(time);
        let graph = timed(machine, kernel, (sms, rounds), output, recorded)?;
        machine.replay(graph, 1)?;
        ready.push((graph, kernel.work * f64::from(WARPS) * f64::from(sms) * f64::from(rounds)));
    }
    let mut best = [0.0_f64; 2];
    for _ in 0..SAMPLES {
        for (best, (graph, work)) in best.iter_mut().zip(&ready) {
            let time = machine.replay(*graph, 1)?.unwrap_or(f64::INFINITY);
            // The fastest sample is the one nobody else took time of.
            *best = best.max(work / time * 1e9);
        }
    }
    Ok(best)
}

/// Rounds that take as long as a sample should, from what the first look took.
fn rounds_for(first: Nanoseconds) -> u32 {
    let wanted = f64::from(FIRST_ROUNDS) * SAMPLE_NS / first.max(1.0);
    // A float beyond the range of u32 becomes its end.
    (wanted as u32).clamp(FIRST_ROUNDS, MOST_ROUNDS)
}

fn timed(
    machine: &mut CudaMachine,
    kernel: &Loop,
    (sms, rounds): (u32, u32),
    output: Slot,
    recorded: &mut Vec<GraphId>,
) -> Result<GraphId, MachineError> {
    let launch = Launch {
        grid: [sms, 1, 1],
        args: vec![output.into(), Arg::U32(rounds)],
        ..block(kernel.family, kernel.entry, 32 * WARPS)
    };
    let graph = machine.record(&[launch])?;
    recorded.push(graph);
    Ok(graph)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate() -> Rate {
        let of = product("rate", "rate_mma_int4", 8192.0);
        Rate {
            of,
            against: product("rate", "rate_mma_int8", 4096.0),
            slow_to: 0.9,
            works_from: 1.3,
        }
    }

    /// Turing whitepaper, T4: int8 130, int4 260 trillion operations a second; and what two int8 products and 180 other instructions leave.
    #[test]
    fn a_ratio_tells_hardware_from_emulation() {
        let answer =
            |of: f64, against: f64| judged("the int4 product", &rate(), [of, against]).answer;
        assert_eq!(answer(260e12, 130e12), Answer::Works);
        assert_eq!(answer(30e12, 990e12), Answer::Slow);
        assert_eq!(answer(1.1, 1.0), Answer::Unknown);
        assert_eq!(answer(0.0, 0.0), Answer::Unknown, "no time is no rate");
        assert_eq!(answer(1.0, 0.0), Answer::Unknown);
    }

    #[test]
    fn a_sample_takes_a_millisecond_or_as_long_as_it_may() {
        assert_eq!(rounds_for(64e3), 1000);
        assert_eq!(rounds_for(1e9), FIRST_ROUNDS);
        assert_eq!(rounds_for(0.0), MOST_ROUNDS);
        assert_eq!(rounds_for(f64::INFINITY), FIRST_ROUNDS);
    }
}
