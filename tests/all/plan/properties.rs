//! What must hold for any plan.

use proptest::prelude::*;
use warpscope::engine::plan::{Demand, FRAMEWORKS, Fits, Parallel, Plan, plan};

use super::dimensions::{group, rows, shape};

const MODELS: &str = include_str!("../../plan/models.csv");
const FORMATS: &[&str] = &["16", "awq", "fp8_block", "q4_k_m"];

/// A model, framework and demand by numbers, on a GPU with so many bytes.
fn planned(picks: (usize, usize, usize), context: u64, tp: u64, gib: f64) -> Plan {
    let models = rows(MODELS);
    let shape = shape(&models[picks.0 % models.len()], FORMATS[picks.1 % FORMATS.len()]);
    let mut devices = group("2xT4");
    for device in &mut devices {
        device.total = gib * f64::from(1 << 30);
        device.usable = device.total * 0.97;
        device.free = device.usable;
    }
    let demand =
        Demand { parallel: Parallel { tp, ..Parallel::default() }, ..Demand::new(context) };
    plan(&shape, &devices, &FRAMEWORKS[picks.2 % FRAMEWORKS.len()], &demand).expect("two GPUs")
}

proptest! {
    /// Defaults grow at 20, 40, 60, 70 and 160 GiB, so memory is compared within a step.
    #[test]
    fn more_memory_never_turns_fits_into_does_not_fit(
        picks in any::<(usize, usize, usize)>(), context in 1_u64..200_000, tp in 1_u64..3,
        step in prop::sample::select(vec![(4.0, 19.9), (20.0, 39.9), (40.0, 59.9), (70.0, 159.0), (160.0, 900.0)]),
        at in 0.0_f64..1.0, more in 0.0_f64..1.0,
    ) {
        let (low, high) = step;
        let less = low + (high - low) * at;
        let (small, large) = (less, less + (high - less) * more);
        let (before, after) = (planned(picks, context, tp, small), planned(picks, context, tp, large));
        prop_assert!(after.rank() <= before.rank(), "{before:?} {after:?}");
        prop_assert!(before.fits != Fits::Fits || after.fits != Fits::DoesNotFit);
    }

    #[test]
    fn a_longer_context_never_needs_less(
        picks in any::<(usize, usize, usize)>(), context in 1_u64..200_000, more in 0_u64..200_000,
    ) {
        let (short, long) = (planned(picks, context, 1, 80.0), planned(picks, context + more, 1, 80.0));
        prop_assert!(short.offload.is_some() || long.offload.is_some() || short.total.mid <= long.total.mid);
        prop_assert!(short.kv_per_token >= 0.0 && short.total.low <= short.total.high);
        prop_assert!(short.rank() <= long.rank(), "{short:?} {long:?}");
    }

    /// What is said to be the longest context is one.
    #[test]
    fn the_longest_context_fits(picks in any::<(usize, usize, usize)>(), gib in 8.0_f64..200.0) {
        let some = planned(picks, 4096, 1, gib);
        let whole = some.room.mid > 0.0 && some.offload.is_none() && some.refusal.is_none();
        if whole && some.max_context.is_some_and(|most| (1..4096).contains(&most)) {
            prop_assert!(some.room.mid < some.kv.bytes.mid * 1.01);
        }
    }
}

/// Where it may not fit whole, it is told a number of layers that surely does, and so it is beyond.
#[test]
fn layers_go_to_host_memory_before_it_is_tight() {
    let picks = (860_831_824_153_788_838, 7_512_973_725_828_267_252, 1_500_555_936_848_990_312);
    let plans: Vec<Plan> = (1..400).map(|step| planned(picks, step * 500, 1, 80.0)).collect();
    assert!(plans.iter().all(|plan| plan.fits == Fits::Fits));
    let careful = |plan: &Plan| plan.offload.map(|offload| offload.is_careful);
    let mut told: Vec<_> = plans.iter().map(careful).collect();
    told.dedup();
    assert_eq!(told, [None, Some(true), Some(false)]);
    assert!(plans.is_sorted_by_key(Plan::rank));
}
