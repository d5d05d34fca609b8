//! Same, faster, slower, or cannot tell: of processes that ran apart or took turns.

use super::blocks::{Design, Estimate, Spread};
use super::discoveries::false_discoveries;
use super::judge::{Call, Effect, Judgement, Limits};

/// Medians of the processes of two sides.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    /// Times before and after.
    pub times: (Vec<f64>, Vec<f64>),
    /// Clock cycles before and after, where every process has them.
    pub cycles: Option<(Vec<f64>, Vec<f64>)>,
    /// How the processes belong together.
    pub design: Design,
    /// How much processes of this command differ, where that was measured.
    pub known: Option<Spread>,
}

impl Processes {
    fn time(&self) -> Option<Estimate> {
        Estimate::new(&self.times.0, &self.times.1, self.design, self.known)
    }

    fn cycle(&self) -> Option<Estimate> {
        let (before, after) = self.cycles.as_ref()?;
        Estimate::new(before, after, self.design, self.known)
    }

    fn blocks(&self) -> usize {
        self.times.0.len().min(self.times.1.len())
    }
}

/// Judges many comparisons together.
pub fn judge_processes(all: &[Processes], limits: &Limits) -> Vec<Judgement> {
    let raw: Vec<Option<f64>> =
        all.iter().map(|one| one.time().and_then(|time| time.p())).collect();
    let known: Vec<f64> = raw.iter().flatten().copied().collect();
    let mut adjusted = false_discoveries(&known).into_iter();
    let p = raw.iter().map(|p| p.and_then(|_| adjusted.next()));
    all.iter().zip(p).map(|(one, p)| conclude(one, limits, p)).collect()
}

fn conclude(processes: &Processes, limits: &Limits, p: Option<f64>) -> Judgement {
    let Some(time) = processes.time() else {
        let reason = "there is nothing to compare: no clean sample on one side".to_owned();
        return Judgement { reason, ..Judgement::default() };
    };
    let cycle = processes.cycle();
    let effect = |estimate| effect(estimate, limits.confidence);
    let (call, reason) = call(processes, &time, cycle.as_ref(), limits, p);
    Judgement { call, reason, time: Some(effect(&time)), cycles: cycle.as_ref().map(effect), p }
}

fn effect(estimate: &Estimate, confidence: f64) -> Effect {
    let interval = estimate.interval(confidence).map(|logs| logs.exp_m1());
    Effect { change: estimate.change.exp_m1(), interval }
}

fn call(
    processes: &Processes,
    time: &Estimate,
    cycle: Option<&Estimate>,
    limits: &Limits,
    p: Option<f64>,
) -> (Call, String) {
    let (Some(interval), Some(p)) = (time.interval(limits.confidence), p) else {
        let reason = "a single process on each side: run both in turn with `warpscope versus`, \
                      or measure this command's noise with `warpscope noise`";
        return (Call::Ambiguous, reason.to_owned());
    };
    let threshold = limits.practical.ln_1p();
    if interval.within(threshold) {
        let reason = format!("any difference is below {:.1} %", limits.practical * 100.0);
        return (Call::Same, reason);
    }
    if p >= limits.alpha || time.change.abs() < threshold {
        return (Call::Ambiguous, open(processes, time, limits));
    }
    let change = percent(time.change.exp_m1());
    let (call, word) =
        if time.change > 0.0 { (Call::Slower, "slower") } else { (Call::Faster, "faster") };
    let clocks =
        |how: &str| (Call::Ambiguous, format!("{word} in time, {how} in cycles: clocks, not code"));
    match cycle {
        Some(cycle)
            if cycle.interval(limits.confidence).is_some_and(|logs| logs.within(threshold)) =>
        {
            clocks("same")
        }
        Some(cycle) if (cycle.change > 0.0) != (time.change > 0.0) => clocks("the reverse"),
        Some(_) => (call, format!("{change} in time, and in cycles")),
        None => (call, format!("{change} in time; clocks not known")),
    }
}

/// What is possible, and what it would take to know.
fn open(processes: &Processes, time: &Estimate, limits: &Limits) -> String {
    let possible = time.interval(limits.confidence).map(|logs| logs.exp_m1()).map_or_else(
        || "any difference".to_owned(),
        |interval| {
            format!("a difference of {} to {}", percent(interval.low), percent(interval.high))
        },
    );
    let more = time.blocks_to_decide(processes.blocks(), limits.practical.ln_1p(), limits.alpha);
    let more = more.map_or_else(
        || "more processes would tell".to_owned(),
        |blocks| format!("about {blocks} processes on each side would tell"),
    );
    format!("{possible} is possible; {more}")
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}
