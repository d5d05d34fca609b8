//! A B B A, over and over.

use std::time::{Duration, Instant};

use warpscope_kernels::gpu::MachineError;
use warpscope_probes::nvml::{Strained, Watch};

use super::super::job::On;
use super::super::timing::warm_up;
use super::arm::Arm;
use crate::worker::protocol::{ArmReport, GoalReport, Strain};

/// The fewest and the most blocks, and the time after which fewer than the most must do.
const LEAST: usize = 12;
const MOST: usize = 120;
const TIME: Duration = Duration::from_secs(4);
/// Time between two looks at clocks and power.
const LOOK: Duration = Duration::from_millis(200);

/// Lets both take turns, or the one alone. On a fake device each has run already, and nothing is timed.
pub(super) fn take(
    on: &mut On<'_>,
    [own, against]: [Option<&Arm>; 2],
    report: &mut GoalReport,
) -> Result<(), MachineError> {
    let Some(own) = own else { return Ok(()) };
    if own.turn(on.machine)?.is_none() {
        return Ok(());
    }
    if let Some(graph) = own.graphs.first() {
        warm_up(on, *graph)?;
    }
    let watch = Watch::open(None, on.uuid).ok();
    let (begin, mut looked) = (Instant::now(), None::<Instant>);
    let mut times: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    let mut blocks = 0;
    while blocks < LEAST || blocks < MOST && begin.elapsed() < TIME {
        let order = match against {
            Some(against) => vec![(0, own), (1, against), (1, against), (0, own)],
            None => vec![(0, own); 4],
        };
        for (side, arm) in order {
            times[side].extend(arm.turn(on.machine)?);
        }
        blocks += 1;
        if looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            note(&mut report.strain, &watch.as_ref().map(Watch::strain).unwrap_or_default());
            looked = Some(Instant::now());
        }
    }
    let [ours, theirs] = times;
    if let Some(against) = against {
        report.ratios = ratios(&ours, &theirs, own.amount / against.amount);
        report.against = Some(ArmReport { samples_ns: theirs, ..ArmReport::default() });
    }
    report.own.samples_ns = ours;
    Ok(())
}

/// Our rate by the other's in each block: both did two turns.
fn ratios(ours: &[f64], theirs: &[f64], amounts: f64) -> Vec<f64> {
    let sums = |times: &[f64]| times.chunks_exact(2).map(|two| two[0] + two[1]).collect::<Vec<_>>();
    let (ours, theirs) = (sums(ours), sums(theirs));
    ours.iter().zip(&theirs).map(|(ours, theirs)| amounts * theirs / ours).collect()
}

/// Widens what was seen by one more look.
fn note(strain: &mut Strain, seen: &Strained) {
    if let Some(mhz) = seen.sm_mhz.map(f64::from) {
        let (low, high) = strain.sm_mhz.unwrap_or((mhz, mhz));
        strain.sm_mhz = Some((low.min(mhz), high.max(mhz)));
    }
    if let Some(watts) = seen.power_w {
        strain.power_w = Some(strain.power_w.map_or(watts, |most| most.max(watts)));
    }
    for reason in seen.reasons.iter().flatten().filter(|reason| reason.slows()) {
        let words = reason.words().to_owned();
        if !strain.held_by.contains(&words) {
            strain.held_by.push(words);
        }
    }
}

#[cfg(test)]
mod tests {
    use warpscope_probes::gpu::ClockReason;

    use super::*;

    /// By hand: 10 + 30 against 20 + 20 is even, and twice the work in the same time twice the rate.
    #[test]
    fn each_block_of_four_is_one_ratio() {
        let (ours, theirs) = ([10.0, 30.0, 40.0, 40.0], [20.0, 20.0, 20.0, 20.0]);
        assert_eq!(ratios(&ours, &theirs, 1.0), [1.0, 0.5]);
        assert_eq!(ratios(&ours, &theirs, 2.0), [2.0, 1.0]);
        assert_eq!(ratios(&ours[..3], &theirs, 1.0), [1.0], "half a block counts for nothing");
    }

    #[test]
    fn looks_add_up_to_the_worst() {
        let mut strain = Strain::default();
        for (mhz, watts, reasons) in [
            (1755, 400.0, vec![ClockReason::Idle]),
            (1410, 690.0, vec![ClockReason::SwPowerCap]),
            (1500, 500.0, vec![ClockReason::SwPowerCap]),
        ] {
            let seen = Strained { sm_mhz: Some(mhz), power_w: Some(watts), reasons: Some(reasons) };
            note(&mut strain, &seen);
        }
        note(&mut strain, &Strained::default());
        let held_by = vec!["power cap".to_owned()];
        let want = Strain { sm_mhz: Some((1410.0, 1755.0)), power_w: Some(690.0), held_by };
        assert_eq!(strain, want);
    }
}
