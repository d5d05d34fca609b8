//! Live probes as a job of the child, and what a child that died of one says of it.

use std::path::PathBuf;

use warpscope_kernels::cuda::advice;
use warpscope_kernels::gpu::MachineError;
use warpscope_probes::live::{Answer, Bench, Probe, ProbeReport, Setting, probe, probes};

use super::ending::Ending;
use super::job::{On, Say, Trouble};
use super::process::Told;
use super::request::{Hold, Request};
use super::supervisor::{Death, Next};
use crate::worker::{BenchEvent, BenchState, WorkerFailure};

/// What the job is called in a sentence.
const JOB: &str = "live probes";

/// Runs probes, and says what each found.
pub(super) fn run(
    on: &mut On<'_>,
    ids: &[String],
    cublas: &[PathBuf],
    say: &mut Say<'_>,
) -> Result<(), Trouble> {
    let refused = |why: String| Trouble::Machine {
        what: JOB.to_owned(),
        error: MachineError::Refused { why },
    };
    let chosen = chosen(ids).map_err(refused)?;
    let setting = Setting { uuid: on.uuid.to_owned(), cublas: cublas.to_vec() };
    let Some(cuda) = on.machine.cuda() else {
        return Err(refused("there is no driver behind this machine".to_owned()));
    };
    let mut bench = Bench::new(cuda, setting);
    for probe in chosen {
        let report = bench.run(probe);
        say(BenchEvent::Probe(Box::new(report)))?;
        if bench.has_ended() {
            break;
        }
    }
    Ok(())
}

/// Probes by id, all where none is named.
fn chosen(ids: &[String]) -> Result<Vec<&'static Probe>, String> {
    if ids.is_empty() {
        return Ok(probes().collect());
    }
    let known = |id: &String| probe(id).ok_or_else(|| format!("there is no probe {id}"));
    ids.iter().map(known).collect()
}

/// What comes of probes that are asked one job each: one that kills the child is known by name, its death is its answer, and the next one
/// gets a new child.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeRound {
    uuid: String,
    /// What was found so far.
    pub reports: Vec<ProbeReport>,
    /// Why the device was not used, or not to the end.
    pub paused: Option<String>,
    doing: Option<Request>,
    simulated: bool,
}

impl ProbeRound {
    /// Nothing was found yet on this device.
    pub fn new(uuid: &str) -> Self {
        let uuid = uuid.to_owned();
        Self { uuid, reports: Vec::new(), paused: None, doing: None, simulated: false }
    }

    /// What is to be asked of the child.
    pub fn jobs(probes: &[&Probe], cublas: &[PathBuf], hold: Hold) -> Vec<Request> {
        let job = |probe: &&Probe| Request::Probe {
            ids: vec![probe.id.to_owned()],
            cublas: cublas.to_vec(),
        };
        [Request::Hold(hold)].into_iter().chain(probes.iter().map(job)).collect()
    }

    /// Takes note of what the conversation told.
    pub fn hear(&mut self, told: Told) {
        match told {
            Told::Doing(job) => self.doing = Some(job),
            Told::Said(event) => self.said(*event),
            Told::Died(death) => self.died(&death),
            Told::Idle => {}
        }
    }

    /// Says with which driver and on which day all this was found.
    pub fn date(&mut self, driver: Option<&str>, today: &str) {
        for report in &mut self.reports {
            report.driver = driver.map(str::to_owned);
            today.clone_into(&mut report.measured);
        }
    }

    fn said(&mut self, event: BenchEvent) {
        match event {
            BenchEvent::Holding(holding) => self.simulated |= holding.device.simulated,
            BenchEvent::Probe(report) => self.reports.push(*report),
            BenchEvent::State(BenchState::Paused { why }) => self.paused = Some(why),
            // A probe that ended the context has said so itself.
            BenchEvent::Failed(WorkerFailure { what, error })
                if error != MachineError::Stopped && self.open_probe().is_some() =>
            {
                self.paused = Some(format!("{what}: {error}"));
            }
            BenchEvent::Failed(WorkerFailure { what, error })
                if error != MachineError::Stopped && !self.is_probing() =>
            {
                let advice = advice(&error).map(|advice| format!(": {advice}")).unwrap_or_default();
                self.paused = Some(format!("{what}: {error}{advice}"));
            }
            _ => {}
        }
    }

    fn died(&mut self, death: &Death) {
        self.doing.clone_from(&death.doing);
        match self.open_probe() {
            Some(probe) => {
                let report = report_of_death(probe, &self.uuid, death);
                self.reports.push(ProbeReport { simulated: self.simulated, ..report });
                self.paused = None;
            }
            None if self.is_probing() => self.paused = None,
            None => self.paused = Some(death.sentence.clone()),
        }
        if death.next == Next::GivenUp {
            self.paused = Some(format!("the process died too often: {}", death.sentence));
        }
    }

    fn is_probing(&self) -> bool {
        matches!(self.doing, Some(Request::Probe { .. }))
    }

    /// The probe that was asked and has not been answered.
    fn open_probe(&self) -> Option<&'static Probe> {
        let Some(Request::Probe { ids, .. }) = &self.doing else { return None };
        let probe = probe(ids.first()?)?;
        let answered = self.reports.iter().any(|report| report.id == probe.id);
        (!answered).then_some(probe)
    }
}

/// Signals of a driver or a library that ran into something it could not go on from.
const CRASHES: [i32; 5] = [4, 6, 7, 8, 11];

/// What a child that died of a probe says: that it does not end well, where it was the child's own doing.
fn report_of_death(of: &Probe, uuid: &str, death: &Death) -> ProbeReport {
    let own = match death.ending {
        Ending::Signal { signal } => CRASHES.contains(&signal),
        Ending::Silent { .. } | Ending::OverTime { .. } => true,
        Ending::Exit { .. } | Ending::Garbled { .. } | Ending::NotStarted { .. } => false,
    };
    ProbeReport {
        id: of.id.to_owned(),
        answer: if own { Answer::Fails } else { Answer::Unknown },
        detail: death.sentence.clone(),
        facts: Vec::new(),
        settles: of.settles.iter().map(|id| (*id).to_owned()).collect(),
        uuid: uuid.to_owned(),
        driver: None,
        ran: of.id.to_owned(),
        measured: String::new(),
        took_ms: 0.0,
        simulated: false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn death(ending: Ending) -> Death {
        let sentence = format!("live probes gate.dp4a: {}", ending.what(None));
        Death { doing: Some(job("gate.dp4a")), ending, sentence, next: Next::Rest(Duration::ZERO) }
    }

    fn job(id: &str) -> Request {
        Request::Probe { ids: vec![id.to_owned()], cublas: Vec::new() }
    }

    fn said(event: BenchEvent) -> Told {
        Told::Said(Box::new(event))
    }

    fn failed(what: &str) -> Told {
        let error = MachineError::Refused { why: "no".to_owned() };
        said(BenchEvent::Failed(WorkerFailure { what: what.to_owned(), error }))
    }

    /// A probe answers once: by its report, or else by the death of the child.
    #[test]
    fn a_death_answers_for_the_probe_that_had_not() {
        let mut round = ProbeRound::new("GPU-1");
        round.hear(Told::Doing(job("gate.dp4a")));
        round.hear(Told::Died(death(Ending::Signal { signal: 4 })));
        assert_eq!((round.reports.len(), &round.paused), (1, &None));
        assert_eq!(round.reports[0].answer, Answer::Fails);
        round.hear(Told::Died(death(Ending::Exit { code: 70 })));
        assert_eq!(round.reports.len(), 1, "it was answered");
        round.date(Some("570.1"), "2026-11-21");
        let dated = &round.reports[0];
        assert_eq!((dated.driver.as_deref(), &*dated.measured), (Some("570.1"), "2026-11-21"));
    }

    #[test]
    fn a_device_that_cannot_be_taken_says_why() {
        let mut round = ProbeRound::new("GPU-1");
        round.hear(Told::Doing(Request::Hold(Hold::default())));
        round.hear(failed("taking the device"));
        assert!(round.paused.is_some_and(|why| why.starts_with("taking the device")));
        let mut round = ProbeRound::new("GPU-1");
        let dead =
            Death { doing: None, ..death(Ending::NotStarted { why: "no such file".into() }) };
        round.hear(Told::Died(Death { next: Next::GivenUp, ..dead }));
        assert!(round.paused.is_some_and(|why| why.contains("too often")));
        assert_eq!(round.reports, []);
    }

    /// What killed the child from outside says nothing of what it was doing.
    #[test]
    fn a_crash_and_a_hang_are_evidence_and_a_kill_is_none() {
        let probe = probe("gate.dp4a").expect("is in the table");
        for (ending, answer) in [
            (Ending::Signal { signal: 4 }, Answer::Fails),
            (Ending::Signal { signal: 11 }, Answer::Fails),
            (Ending::Silent { after_ms: 60_000 }, Answer::Fails),
            (Ending::Signal { signal: 9 }, Answer::Unknown),
            (Ending::Exit { code: 101 }, Answer::Unknown),
            (Ending::Exit { code: 70 }, Answer::Unknown),
            (Ending::NotStarted { why: "no such file".into() }, Answer::Unknown),
            (Ending::Garbled { why: "line 3".into() }, Answer::Unknown),
        ] {
            let report = report_of_death(probe, "GPU-1", &death(ending.clone()));
            assert_eq!(report.answer, answer, "{ending:?}");
            assert_eq!(report.settles, probe.settles);
            assert!(report.detail.contains("live probes gate.dp4a"), "{}", report.detail);
        }
    }

    #[test]
    fn a_probe_nobody_knows_is_named() {
        assert_eq!(chosen(&[]).expect("all").len(), probes().count());
        assert!(
            chosen(&["gate.nothing".to_owned()]).is_err_and(|why| why.contains("gate.nothing"))
        );
    }
}
