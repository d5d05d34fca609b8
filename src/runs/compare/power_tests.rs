//! Simulated runs with known differences, under the kinds of noise kernel times have. Fixed seeds; the table is printed.

use super::*;

const SAMPLES: usize = 30;
const RUNS: usize = 200;

/// One kind of noise: the factor on the true time of sample `at` of a run.
struct Noise {
    name: &'static str,
    draw: fn(&mut SplitMix, usize) -> f64,
}

const NOISES: &[Noise] = &[
    Noise { name: "gaussian 1%", draw: |random, _| 1.0 + 0.01 * random.normal() },
    Noise { name: "log-normal 2%", draw: |random, _| (0.02 * random.normal()).exp() },
    Noise {
        name: "two clocks, 3% apart",
        draw: |random, _| {
            let slow = if random.uniform() < 0.3 { 1.03 } else { 1.0 };
            slow * (1.0 + 0.005 * random.normal())
        },
    },
    Noise {
        name: "drift of 1% a run",
        draw: |random, at| {
            (1.0 + 0.01 * at as f64 / SAMPLES as f64) * (1.0 + 0.005 * random.normal())
        },
    },
    Noise {
        name: "one in twelve preempted",
        draw: |random, _| {
            let late =
                if random.uniform() < 1.0 / 12.0 { 1.0 + 4.0 * random.uniform() } else { 1.0 };
            late * (1.0 + 0.005 * random.normal())
        },
    },
];

fn run(noise: &Noise, random: &mut SplitMix, time: f64) -> Series {
    Series::new((0..SAMPLES).map(|at| time * (noise.draw)(random, at)))
}

/// What `warpscope noise` measures: the 95th percentile of the difference between equal runs.
fn floor_of(noise: &Noise, random: &mut SplitMix) -> f64 {
    let gap = |random: &mut SplitMix| {
        let pair = [run(noise, random, 100.0), run(noise, random, 100.0)];
        let medians = pair.map(|one| one.median().expect("samples"));
        (medians[1] / medians[0]).ln().abs()
    };
    let gaps = Series::new((0..3 * RUNS).map(|_| gap(random).max(1e-9)));
    gaps.quantile(0.95).expect("samples")
}

/// Shares of calls at one true difference.
fn shares(noise: &Noise, random: &mut SplitMix, limits: &Limits, shift: f64) -> [f64; 4] {
    let mut counts = [0.0; 4];
    for _ in 0..RUNS {
        let times = (run(noise, random, 100.0), run(noise, random, 100.0 * (1.0 + shift)));
        let call = judge(&Pair { times, cycles: None }, limits).call;
        counts[call as usize] += 1.0 / RUNS as f64;
    }
    counts
}

#[test]
fn no_false_alarm_and_every_large_change_is_seen() {
    let mut random = SplitMix::new(2026);
    println!(
        "{:24} {:>6} {:>7}  {:>6} {:>6} {:>6} {:>6}",
        "noise", "floor", "shift", "same", "faster", "slower", "cannot"
    );
    for noise in NOISES {
        let floor = floor_of(noise, &mut random);
        let limits = Limits { resamples: 1_000, ..Limits::for_noise(floor) };
        for shift in
            [0.0, 0.005, 0.01, 0.02, 0.05, (3.0 * floor.max(limits.practical / 2.0)).exp_m1()]
        {
            let [same, faster, slower, cannot] = shares(noise, &mut random, &limits, shift);
            println!(
                "{:24} {:>5.2}% {:>6.2}%  {:>5.1}% {:>5.1}% {:>5.1}% {:>5.1}%",
                noise.name,
                floor * 100.0,
                shift * 100.0,
                same * 100.0,
                faster * 100.0,
                slower * 100.0,
                cannot * 100.0
            );
            let wrong = if shift == 0.0 { faster + slower } else { faster };
            assert!(wrong <= 0.01, "{}: {wrong} wrong calls at {shift}", noise.name);
            let large = shift >= 3.0 * floor && shift >= 1.5 * limits.practical;
            assert!(!large || slower >= 0.95, "{}: {slower} seen of {shift}", noise.name);
        }
    }
}

/// Cycles settle what a change of clocks would pretend.
#[test]
fn slower_clocks_are_not_slower_code() {
    let mut random = SplitMix::new(5);
    let run = |random: &mut SplitMix, clock: f64| {
        let cycles = Series::new((0..SAMPLES).map(|_| 1000.0 * (1.0 + 0.002 * random.normal())));
        let times = Series::new(cycles.sorted().iter().map(|count| count / clock));
        (times, cycles)
    };
    let (fast, slow) = (run(&mut random, 2.0), run(&mut random, 1.8));
    let pair = Pair { times: (fast.0, slow.0), cycles: Some((fast.1, slow.1)) };
    let judgement = judge(&pair, &Limits::default());
    assert_eq!(judgement.call, Call::Ambiguous, "{judgement:?}");
    assert!(judgement.reason.contains("clocks, not code"), "{judgement:?}");
    let blind = judge(&Pair { cycles: None, ..pair }, &Limits::default());
    assert_eq!(blind.call, Call::Slower);
}

#[test]
fn too_few_samples_and_none_at_all_are_said() {
    let some = Series::new([1.0, 1.1, 1.2]);
    let pair = Pair { times: (some.clone(), some.clone()), cycles: None };
    let judgement = judge(&pair, &Limits::default());
    assert!(judgement.call == Call::Ambiguous && judgement.reason.contains("3 clean samples"));
    let none = judge(&Pair { times: (some, Series::default()), cycles: None }, &Limits::default());
    assert!(none.call == Call::Ambiguous && none.time.is_none() && none.p.is_none());
}

/// Steps of 2% and more in 1% noise are found within two points; flat noise has none.
#[test]
fn steps_are_found_and_flat_noise_has_none() {
    let mut random = SplitMix::new(11);
    let mut wrong = 0;
    for _ in 0..200 {
        let flat: Vec<f64> = (0..120).map(|_| 100.0 * (1.0 + 0.01 * random.normal())).collect();
        wrong += usize::from(!changes(&flat, &Settings::default()).is_empty());
    }
    println!("flat noise: {wrong} of 200 histories with a change");
    assert!(wrong <= 2, "{wrong} of 200");
    let mut missed = 0;
    for _ in 0..100 {
        let level = |at: usize| if at < 60 { 100.0 } else { 104.0 };
        let steps: Vec<f64> =
            (0..120).map(|at| level(at) * (1.0 + 0.01 * random.normal())).collect();
        let found = changes(&steps, &Settings::default());
        missed += usize::from(!found.iter().any(|one| one.at.abs_diff(60) <= 2));
    }
    println!("steps of 4%: {missed} of 100 missed or misplaced by more than two points");
    assert!(missed <= 2, "{missed} of 100");
}

/// A program whose processes differ: each has a level of its own, heavy-tailed on a busy machine, and samples that hardly spread.
fn process(random: &mut SplitMix, time: f64) -> f64 {
    let busy = if random.uniform() < 0.1 { 1.0 + 0.3 * random.uniform() } else { 1.0 };
    time * busy * (0.02 * random.normal()).exp()
}

/// What Student's t promises of processes: false calls, and intervals that hold the truth.
#[test]
fn processes_give_no_false_alarm_and_intervals_hold_the_truth() {
    let mut random = SplitMix::new(77);
    println!(
        "{:6} {:>6} {:>7}  {:>6} {:>6} {:>6}",
        "design", "blocks", "shift", "wrong", "seen", "held"
    );
    for design in [Design::Apart, Design::Turns] {
        for (blocks, shift) in [(3, 0.0), (5, 0.0), (12, 0.0), (30, 0.0), (12, 0.1), (30, 0.05)] {
            let (mut wrong, mut seen, mut held) = (0.0, 0.0, 0.0);
            let share = 1.0 / RUNS as f64;
            for _ in 0..RUNS {
                let mut side =
                    |time| (0..blocks).map(|_| process(&mut random, time)).collect::<Vec<_>>();
                let times = (side(100.0), side(100.0 * (1.0 + shift)));
                let all = [Processes { times, design, ..Processes::default() }];
                let judged = judge_processes(&all, &Limits::default()).remove(0);
                let slower = judged.call == Call::Slower;
                seen += if slower && shift > 0.0 { share } else { 0.0 };
                let false_call = judged.call == Call::Faster || slower && shift == 0.0;
                wrong += if false_call { share } else { 0.0 };
                let interval = judged.time.and_then(|time| time.interval).expect("several blocks");
                held += if interval.contains(shift) { share } else { 0.0 };
            }
            println!(
                "{:6} {blocks:>6} {:>6.0}%  {:>5.1}% {:>5.1}% {:>5.1}%",
                format!("{design:?}"),
                shift * 100.0,
                wrong * 100.0,
                seen * 100.0,
                held * 100.0
            );
            assert!(wrong <= 0.02 && held >= 0.91, "{design:?} {blocks} {shift}: {wrong} {held}");
        }
    }
}

/// One of a thousand kernels is twice as slow, each measured by five processes a side.
#[test]
fn one_slow_kernel_of_a_thousand_is_found_and_no_other() {
    let mut random = SplitMix::new(1000);
    let kernels: Vec<Processes> = (0..1000)
        .map(|kernel| {
            let factor = if kernel == 321 { 2.0 } else { 1.0 };
            let mut side = |time: f64| {
                (0..5).map(|_| time * (0.02 * random.normal()).exp()).collect::<Vec<_>>()
            };
            Processes { times: (side(1.0), side(factor)), ..Processes::default() }
        })
        .collect();
    let judged = judge_processes(&kernels, &Limits::default());
    let slower = |one: &Judgement| one.call == Call::Slower;
    let found: Vec<usize> = (0..1000).filter(|kernel| slower(&judged[*kernel])).collect();
    assert_eq!(found, [321]);
    assert!(judged.iter().all(|one| one.call != Call::Faster));
}
