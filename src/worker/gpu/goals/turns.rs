//! A B B A, over and over.

use std::time::{Duration, Instant};

use warpscope_kernels::gpu::{MachineError, Sampled};

use super::super::job::On;
use super::super::strain::StrainWatch;
use super::super::timing::warm_up;
use super::arm::Arm;
use crate::worker::protocol::GoalReport;

/// The fewest and the most blocks, and the time after which fewer than the most must do.
const LEAST: usize = 12;
const MOST: usize = 120;
const TIME: Duration = Duration::from_secs(4);

/// Lets both take turns, or the one alone. On a fake device each has run already, and nothing is timed.
pub(super) fn take(
    on: &mut On<'_>,
    own: &mut Arm,
    mut against: Option<&mut Arm>,
    report: &mut GoalReport,
) -> Result<(), MachineError> {
    if own.turn(on.machine)?.is_none() {
        return Ok(());
    }
    if let Some(graph) = own.graphs.first() {
        warm_up(on, *graph)?;
    }
    let mut strain = StrainWatch::open(on.uuid);
    let begin = Instant::now();
    let mut samples: [Vec<Sampled>; 2] = [Vec::new(), Vec::new()];
    let mut blocks = 0;
    while blocks < LEAST || blocks < MOST && begin.elapsed() < TIME {
        for turn in [0, 1, 1, 0] {
            let (side, arm) = match (turn, against.as_deref()) {
                (1, Some(against)) => (1, against),
                _ => (0, &*own),
            };
            samples[side].extend(arm.turn(on.machine)?);
        }
        blocks += 1;
        strain.look();
    }
    report.strain = strain.seen;
    let [ours, theirs] = samples;
    own.timed(&ours, on.best_mhz);
    if let Some(against) = &mut against {
        against.timed(&theirs, on.best_mhz);
        let (own, against) = (&own.report, &mut against.report);
        let amounts = own.amount / against.amount;
        report.ratios = ratios(&own.samples_ns, &against.samples_ns, amounts);
        against.clocks.mark(*on.best_mhz);
    }
    // What the other side reached counts for both.
    own.report.clocks.mark(*on.best_mhz);
    Ok(())
}

/// Our rate by the other's in each block: both did two turns.
fn ratios(ours: &[f64], theirs: &[f64], amounts: f64) -> Vec<f64> {
    let sums = |times: &[f64]| times.chunks_exact(2).map(|two| two[0] + two[1]).collect::<Vec<_>>();
    let (ours, theirs) = (sums(ours), sums(theirs));
    ours.iter().zip(&theirs).map(|(ours, theirs)| amounts * theirs / ours).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 10 + 30 against 20 + 20 is even, and twice the work in the same time twice the rate.
    #[test]
    fn each_block_of_four_is_one_ratio() {
        let (ours, theirs) = ([10.0, 30.0, 40.0, 40.0], [20.0, 20.0, 20.0, 20.0]);
        assert_eq!(ratios(&ours, &theirs, 1.0), [1.0, 0.5]);
        assert_eq!(ratios(&ours, &theirs, 2.0), [2.0, 1.0]);
        assert_eq!(ratios(&ours[..3], &theirs, 1.0), [1.0], "half a block counts for nothing");
    }
}
