//! When a comparison that goes on is looked at, and how sure a look has to be.

use super::judge::Limits;

/// After how many blocks there is a look. Each is a chance to be wrong, so they get rarer.
const LOOKS: &[usize] = &[3, 5, 8, 12, 18, 27, 40, 60, 90, 135, 200, 300, 450, 700, 1000];

/// Confidence of the interval of each look. A comparison ends where its interval lies well by chance, so one of 95% would hold the truth only
/// 90 times in 100 near the threshold; this holds it at least 95 times, as the simulation below shows.
const CONFIDENCE: f64 = 0.98;

/// Times of processes have heavier tails than Student's t knows: half the probability of a false call is left to them.
const HALF: f64 = 2.0;

/// Blocks after which there is a look; the last is when all are spent.
pub fn looks(most: usize) -> Vec<usize> {
    LOOKS.iter().copied().filter(|look| *look < most).chain([most]).collect()
}

impl Limits {
    /// Of one of so many looks: they share the probability of a false call, and their interval is wider than one that is drawn once.
    pub fn of_look(self, looks: usize) -> Self {
        if looks < 2 {
            return self;
        }
        Self { alpha: self.alpha / (HALF * looks as f64), confidence: CONFIDENCE, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::compare::{
        Call, Design, Processes, Series, SplitMix, judge_processes, rank_sum,
    };

    const TRIALS: usize = 300;
    const SAMPLES: usize = 30;
    const MOST: usize = 40;

    /// What one process measures: a level of its own, as memory and neighbours give it, and samples that hardly spread around it.
    fn process(random: &mut SplitMix, time: f64, noise: f64) -> Vec<f64> {
        let busy = if random.uniform() < 0.1 { 1.0 + 0.3 * random.uniform() } else { 1.0 };
        let level = time * busy * (noise * random.normal()).exp();
        (0..SAMPLES).map(|_| level * (1.0 + 0.003 * random.normal())).collect()
    }

    fn median(mut times: Vec<f64>) -> f64 {
        times.sort_unstable_by(f64::total_cmp);
        times[times.len() / 2]
    }

    struct Trial {
        call: Call,
        is_held: bool,
        blocks: usize,
    }

    /// Processes in turn on a machine that drifts, until a look decides.
    fn versus(random: &mut SplitMix, shift: f64, noise: f64) -> Trial {
        let looks = looks(MOST);
        let limits = Limits::default().of_look(looks.len());
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for block in 1..=MOST {
            let drift = 1.0 + 0.002 * block as f64;
            before.push(median(process(random, 100.0 * drift, noise)));
            after.push(median(process(random, 100.0 * drift * (1.0 + shift), noise)));
            if !looks.contains(&block) {
                continue;
            }
            let all = [Processes {
                times: (before.clone(), after.clone()),
                design: Design::Turns,
                ..Processes::default()
            }];
            let judged = judge_processes(&all, &limits).remove(0);
            if judged.call != Call::Ambiguous || block == MOST {
                let interval = judged.time.and_then(|time| time.interval).expect("blocks");
                let is_held = interval.contains(shift);
                return Trial { call: judged.call, is_held, blocks: block };
            }
        }
        unreachable!("the last block is looked at")
    }

    /// What rules that take samples for independent say of one process a side: slower (1), faster (-1), neither (0).
    type Rule = fn(&[f64], &[f64]) -> i32;
    const RULES: [(&str, Rule); 3] = [
        ("U test", |old, new| {
            let [old, new] = [old, new].map(|one| Series::new(one.iter().copied()));
            let test = rank_sum(&new, &old).expect("samples");
            let middle = (old.len() * new.len()) as f64 / 2.0;
            if test.p < 0.05 { sign(test.u - middle, 0.0) } else { 0 }
        }),
        ("nvbench", |old, new| {
            let noise = [old, new].map(|one| deviation(one) / mean(one));
            sign(mean(new) / mean(old) - 1.0, noise[0].min(noise[1]))
        }),
        ("criterion", |old, new| {
            let variances = [old, new].map(|one| deviation(one).powi(2) / one.len() as f64);
            let error = (variances[0] + variances[1]).sqrt();
            let change = mean(new) - mean(old);
            let least = change.abs() - 1.96 * error;
            if least / mean(old) > 0.01 { sign(change, 0.0) } else { 0 }
        }),
    ];

    fn sign(value: f64, beyond: f64) -> i32 {
        i32::from(value > beyond) - i32::from(value < -beyond)
    }

    fn mean(times: &[f64]) -> f64 {
        times.iter().sum::<f64>() / times.len() as f64
    }

    fn deviation(times: &[f64]) -> f64 {
        let mean = mean(times);
        let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
        (squares / (times.len() as f64 - 1.0)).sqrt()
    }

    /// Three hundred comparisons for each change: early stopping costs neither false calls nor the interval's promise.
    #[test]
    fn looks_on_the_way_make_no_false_calls_and_intervals_hold_the_truth() {
        let mut random = SplitMix::new(300);
        println!(
            "{:>6} {:>6} {:>7} {:>7} {:>7} {:>7}   wrong of rules on one process a side",
            "noise", "change", "wrong", "found", "held", "blocks"
        );
        let noises = [0.02, 0.005];
        let cases = noises
            .iter()
            .flat_map(|noise| [0.0, 0.01, 0.02, 0.05, 0.1].map(|shift| (*noise, shift)));
        for (noise, shift) in cases {
            let trials: Vec<Trial> =
                (0..TRIALS).map(|_| versus(&mut random, shift, noise)).collect();
            let share = |is: &dyn Fn(&Trial) -> bool| {
                trials.iter().filter(|trial| is(trial)).count() as f64 / TRIALS as f64
            };
            let wrong = share(&|trial| match trial.call {
                Call::Slower => shift == 0.0,
                Call::Faster => true,
                Call::Same => shift > 0.01,
                Call::Ambiguous => false,
            });
            let found =
                share(&|trial| trial.call == if shift == 0.0 { Call::Same } else { Call::Slower });
            let held = share(&|trial| trial.is_held);
            let blocks =
                trials.iter().map(|trial| trial.blocks).sum::<usize>() as f64 / TRIALS as f64;
            let rules: Vec<String> = RULES
                .iter()
                .map(|(name, rule)| {
                    let mut is_wrong = || {
                        let old = process(&mut random, 100.0, noise);
                        let said = rule(&old, &process(&mut random, 100.0 * (1.0 + shift), noise));
                        if shift < 0.01 { said != 0 } else { said < 0 || said == 0 && shift > 0.01 }
                    };
                    let wrong = (0..TRIALS).filter(|_| is_wrong()).count() as f64;
                    format!("{name} {:.0}%", wrong / TRIALS as f64 * 100.0)
                })
                .collect();
            println!(
                "{:>5.1}% {:>5.0}% {:>6.1}% {:>6.1}% {:>6.1}% {blocks:>7.1}   {}",
                noise * 100.0,
                shift * 100.0,
                wrong * 100.0,
                found * 100.0,
                held * 100.0,
                rules.join(", ")
            );
            assert!(wrong <= 0.01 && held >= 0.93, "{noise} {shift}: {wrong} wrong, {held} held");
        }
    }
}
