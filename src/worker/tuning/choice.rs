//! Who wins an autotune run: the fastest variant whose lead is no chance, and else the one the kernel takes by itself.

use serde::Serialize;
use warpscope_kernels::gpu::Shape;

use crate::runs::compare::{Call, Judgement, Limits, Series, Sides, judge_each};
use crate::runs::noise::floor_of;
use crate::worker::protocol::{AutotuneRun, Candidate, Turn, TurnClocks};

/// What an autotune run came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// Kernel: `gemm.f16`.
    pub kernel: String,
    /// The size.
    pub shape: Shape,
    /// Variant the kernel takes by itself.
    pub usual: String,
    /// Its median time, nanoseconds; null where nothing was timed.
    pub usual_ns: Option<f64>,
    /// The others.
    #[serde(rename = "rivals")]
    pub candidates: Vec<Judged>,
    /// Variant to take from now on; null where nothing was timed, so nothing is known.
    pub chosen: Option<String>,
}

/// What came of a variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Its name.
    pub variant: String,
    /// Its median time, nanoseconds; null where it was not timed.
    pub median_ns: Option<f64>,
    /// Its time over that of the usual variant beside it; null where it was not timed.
    pub ratio: Option<f64>,
    /// Least change that counts here, as a share: twice what the same variant differed from itself, at least one per cent.
    pub counts_from: Option<f64>,
    /// Clocks of the samples of both.
    pub clocks: TurnClocks,
    /// Against the usual variant; null where it was not timed.
    pub call: Option<Call>,
    /// Why, in a sentence.
    pub why: String,
    /// Whether its results are wrong.
    pub wrong: bool,
}

impl Choice {
    /// Whether another variant than the usual one is to be taken.
    pub fn overrules(&self) -> bool {
        self.chosen.as_ref().is_some_and(|chosen| *chosen != self.usual)
    }
}

/// Judges an autotune run. Many variants are many chances to be lucky: the ranks are corrected for their number.
pub fn choose(run: &AutotuneRun) -> Choice {
    let timed: Vec<Option<Timed>> = run.candidates.iter().map(Timed::of).collect();
    let sides: Vec<_> = timed.iter().flatten().map(|timed| (timed.sides(), timed.limits)).collect();
    let mut judgements = judge_each(&sides).into_iter();
    let judged = |(candidate, timed): (&Candidate, &Option<Timed>)| match timed {
        Some(timed) => timed.judged(candidate, judgements.next().unwrap_or_default()),
        None => untimed(candidate),
    };
    let candidates: Vec<Judged> = run.candidates.iter().zip(&timed).map(judged).collect();
    let usual = timed.iter().flatten().flat_map(|timed| timed.usual.sorted().iter().copied());
    let faster = candidates.iter().filter(|candidate| candidate.call == Some(Call::Faster));
    let best = faster
        .filter_map(|candidate| Some((candidate, candidate.ratio?)))
        .min_by(|a, b| a.1.total_cmp(&b.1));
    let usual_stays = timed.iter().any(Option::is_some).then_some(&run.usual);
    Choice {
        kernel: run.kernel.clone(),
        shape: run.shape,
        usual: run.usual.clone(),
        usual_ns: Series::new(usual).median(),
        chosen: best.map(|best| &best.0.variant).or(usual_stays).cloned(),
        candidates,
    }
}

/// Samples of a variant, and of the usual one beside it.
struct Timed {
    usual: Series,
    candidate: Series,
    limits: Limits,
}

impl Timed {
    /// Nothing where there are too few turns to say how much either differs from itself.
    fn of(candidate: &Candidate) -> Option<Self> {
        type Side = fn(&Turn) -> &[f64];
        let sides: [Side; 2] = [|turn| &turn.usual_ns, |turn| &turn.candidate_ns];
        let [usual, own] = sides.map(|side| {
            let medians = candidate
                .turns
                .iter()
                .filter_map(|turn| Series::new(side(turn).iter().copied()).median());
            let all = candidate.turns.iter().flat_map(|turn| side(turn).iter().copied());
            (Series::new(all), floor_of(&medians.collect::<Vec<_>>()))
        });
        let noise = usual.1?.max(own.1?);
        Some(Self { usual: usual.0, candidate: own.0, limits: Limits::for_noise(noise) })
    }

    fn sides(&self) -> Sides<'_> {
        Sides { times: (&self.usual, &self.candidate), cycles: None }
    }

    fn judged(&self, candidate: &Candidate, judgement: Judgement) -> Judged {
        Judged {
            variant: candidate.variant.clone(),
            median_ns: self.candidate.median(),
            ratio: judgement.time.map(|time| 1.0 + time.change),
            counts_from: Some(self.limits.practical),
            clocks: candidate.clocks.clone(),
            call: Some(judgement.call),
            why: judgement.reason,
            wrong: false,
        }
    }
}

fn untimed(candidate: &Candidate) -> Judged {
    let (why, wrong) = match &candidate.left_out {
        Some(left_out) => (left_out.why.clone(), left_out.wrong),
        None if candidate.turns.is_empty() => {
            ("right; a fake device has no times".to_owned(), false)
        }
        None => ("too few turns to tell".to_owned(), false),
    };
    Judged {
        variant: candidate.variant.clone(),
        median_ns: None,
        ratio: None,
        counts_from: None,
        clocks: candidate.clocks.clone(),
        call: None,
        why,
        wrong,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::LeftOut;

    /// Twelve turns of five samples. Block medians of either side wander by `wander`, the samples within a block by a tenth of it.
    fn candidate(variant: &str, ratio: f64, wander: f64) -> Candidate {
        let block = |turn: usize, side: usize, center: f64| -> Vec<f64> {
            let far = [0.0, 0.6, -0.4, 1.0, -0.8, 0.3][(turn * 5 + side * 2) % 6];
            (0..5).map(|at| center * (1.0 + wander * (far + 0.1 * f64::from(at - 2)))).collect()
        };
        let turns = (0..12).map(|turn| Turn {
            usual_ns: block(turn, 0, 40_000.0),
            candidate_ns: block(turn, 1, 40_000.0 * ratio),
        });
        let (variant, clocks) = (variant.to_owned(), TurnClocks::default());
        Candidate { variant, turns: turns.collect(), clocks, left_out: None }
    }

    fn run(candidates: Vec<Candidate>) -> AutotuneRun {
        let shape = Shape { m: 4096, n: 4096, k: 4096, ..Shape::default() };
        AutotuneRun { kernel: "gemm.f16".to_owned(), shape, usual: "usual".to_owned(), candidates }
    }

    #[test]
    fn the_fastest_wins_whose_lead_is_larger_than_the_noise() {
        let choice = choose(&run(vec![
            candidate("slow", 1.3, 0.002),
            candidate("good", 0.95, 0.002),
            candidate("best", 0.9, 0.002),
            candidate("same", 0.999, 0.0005),
        ]));
        assert_eq!(choice.chosen.as_deref(), Some("best"), "{choice:?}");
        assert!(choice.overrules());
        let calls: Vec<_> =
            choice.candidates.iter().map(|candidate| candidate.call.expect("timed")).collect();
        assert_eq!(calls, [Call::Slower, Call::Faster, Call::Faster, Call::Same]);
        let best = choice.candidates[2].ratio.expect("timed");
        assert!((best - 0.9).abs() < 0.002, "{best}");
        assert!(choice.usual_ns.is_some_and(|ns| (ns / 40_000.0 - 1.0).abs() < 0.002));
    }

    /// The lead is three per cent, and blocks of one and the same variant differ by as much: it counts from twice that on.
    #[test]
    fn a_lead_within_the_noise_keeps_the_usual_one() {
        let choice = choose(&run(vec![candidate("lucky", 0.97, 0.02)]));
        assert_eq!(choice.chosen.as_deref(), Some("usual"), "{choice:?}");
        let lucky = &choice.candidates[0];
        assert!(lucky.counts_from > Some(0.03) && lucky.call != Some(Call::Faster), "{choice:?}");
    }

    #[test]
    fn less_than_one_per_cent_is_never_worth_a_change() {
        let choice = choose(&run(vec![candidate("hair", 0.994, 0.0)]));
        assert!(!choice.overrules(), "{choice:?}");
    }

    #[test]
    fn what_was_not_timed_is_not_chosen_and_alone_it_tells_nothing() {
        let left_out =
            Some(LeftOut { why: "17×33×72 b: element 3 is 1, not 2".to_owned(), wrong: true });
        let wrong = Candidate { left_out, turns: Vec::new(), ..candidate("wrong", 0.1, 0.0) };
        let stand_in = Candidate { turns: Vec::new(), ..candidate("unknown", 0.1, 0.0) };
        let choice = choose(&run(vec![wrong.clone(), stand_in]));
        assert_eq!((choice.chosen.as_deref(), choice.usual_ns), (None, None));
        assert!(choice.candidates[0].wrong && choice.candidates[0].why.contains("element 3"));
        assert_eq!(choice.candidates[1].why, "right; a fake device has no times");
        let choice = choose(&run(vec![wrong, candidate("slow", 1.2, 0.001)]));
        assert_eq!(choice.chosen.as_deref(), Some("usual"));
    }

    #[test]
    fn a_few_turns_tell_nothing() {
        let mut short = candidate("short", 0.5, 0.001);
        short.turns.truncate(3);
        let choice = choose(&run(vec![short]));
        assert_eq!((choice.chosen, choice.candidates[0].call), (None, None));
    }
}
