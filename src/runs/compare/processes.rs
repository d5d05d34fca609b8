//! Same, faster, slower, or cannot tell: of processes that ran apart or took turns.

use super::blocks::{Design, Estimate, Spread};
use super::bootstrap::Interval;
use super::judge::{Call, Judgement, Limits, Measured, NOTHING, adjusted, decide, possible};

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
    let raw: Vec<_> = all.iter().map(|one| one.time()?.p()).collect();
    all.iter().zip(adjusted(&raw)).map(|(one, p)| conclude(one, limits, p)).collect()
}

fn conclude(processes: &Processes, limits: &Limits, p: Option<f64>) -> Judgement {
    let Some(estimate) = processes.time() else {
        return Judgement { reason: NOTHING.to_owned(), ..Judgement::default() };
    };
    let measured = |estimate: &Estimate| {
        let logs = estimate.interval(limits.confidence);
        Measured { change: estimate.change, logs }
    };
    let time = measured(&estimate);
    let cycles = processes.cycle().as_ref().map(measured);
    let (call, reason) = match p.filter(|_| time.logs.is_some()) {
        Some(p) => decide((time, cycles), limits, p)
            .unwrap_or_else(|| (Call::Ambiguous, open(processes, &estimate, time.logs, limits))),
        None => (Call::Ambiguous, SINGLE.to_owned()),
    };
    Judgement { call, reason, time: Some(time.effect()), cycles: cycles.map(Measured::effect), p }
}

const SINGLE: &str = "a single process on each side: run both in turn with `warpscope versus`, \
                      or measure this command's noise with `warpscope noise`";

/// What may be, and how many processes would tell.
fn open(processes: &Processes, time: &Estimate, logs: Option<Interval>, limits: &Limits) -> String {
    let more = time.blocks_to_decide(processes.blocks(), limits.practical.ln_1p(), limits.alpha);
    let more = more.map_or_else(
        || "more processes would tell".to_owned(),
        |blocks| format!("about {blocks} processes on each side would tell"),
    );
    format!("{} is possible; {more}", possible(logs))
}
