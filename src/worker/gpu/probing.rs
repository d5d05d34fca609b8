//! Live probes as a job of the child, and what a child that died of one says of it.

use std::path::PathBuf;

use warpscope_kernels::cuda::advice;
use warpscope_kernels::gpu::MachineError;
use warpscope_probes::live::{Answer, Bench, Probe, ProbeReport, Setting, probe, probes};

use super::job::On;
use crate::worker::child::{Emit, Trouble};
use crate::worker::ending::Ending;
use crate::worker::not_done;
use crate::worker::process::Update;
use crate::worker::protocol::{Acquire, Command, WorkerEvent, WorkerFailure};
use crate::worker::supervisor::Death;

/// What the job is called in a sentence.
const JOB: &str = "live probes";

/// Runs probes, and says what each found.
pub(super) fn run(
    on: &mut On<'_>,
    ids: &[String],
    cublas: &[PathBuf],
    emit: &mut Emit<'_>,
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
        emit(WorkerEvent::Probe(Box::new(report)))?;
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
    doing: Option<Command>,
    simulated: bool,
}

impl ProbeRound {
    /// Nothing was found yet on this device.
    pub fn new(uuid: &str) -> Self {
        let uuid = uuid.to_owned();
        Self { uuid, reports: Vec::new(), paused: None, doing: None, simulated: false }
    }

    /// What is to be asked of the child.
    pub fn jobs(probes: &[&Probe], cublas: &[PathBuf], how: Acquire) -> Vec<Command> {
        let job = |probe: &&Probe| Command::Probe {
            ids: vec![probe.id.to_owned()],
            cublas: cublas.to_vec(),
        };
        [Command::Acquire(how)].into_iter().chain(probes.iter().map(job)).collect()
    }

    /// Takes note of what the conversation told.
    pub fn handle(&mut self, update: Update) {
        match update {
            Update::Sent(job) => self.doing = Some(job),
            Update::Event(event) => self.handle_event(*event),
            Update::Died(death) => self.died(&death),
            Update::Left { why, jobs } => self.paused = Some(not_done(&why, &jobs)),
            Update::Retry(_) | Update::Idle => {}
        }
    }

    /// Says with which driver and on which day all this was found.
    pub fn date(&mut self, driver: Option<&str>, today: &str) {
        for report in &mut self.reports {
            report.driver = driver.map(str::to_owned);
            today.clone_into(&mut report.measured);
        }
    }

    fn handle_event(&mut self, event: WorkerEvent) {
        match event {
            WorkerEvent::Holding(holding) => self.simulated |= holding.device.simulated,
            WorkerEvent::Probe(report) => self.reports.push(*report),
            WorkerEvent::Paused { why } => self.paused = Some(why),
            // A probe that ended the context has said so itself.
            WorkerEvent::Failed(WorkerFailure { what, error })
                if error != MachineError::Stopped && self.open_probe().is_some() =>
            {
                self.paused = Some(format!("{what}: {error}"));
            }
            WorkerEvent::Failed(WorkerFailure { what, error })
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
        if death.given_up {
            self.paused = Some(format!("the process died too often: {}", death.sentence));
        }
    }

    fn is_probing(&self) -> bool {
        matches!(self.doing, Some(Command::Probe { .. }))
    }

    /// The probe that was asked and has not been answered.
    fn open_probe(&self) -> Option<&'static Probe> {
        let Some(Command::Probe { ids, .. }) = &self.doing else { return None };
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

    use super::*;

    fn death(ending: Ending) -> Death {
        let sentence = format!("live probes gate.dp4a: {}", ending.what(None));
        Death { doing: Some(job("gate.dp4a")), ending, sentence, given_up: false }
    }

    fn job(id: &str) -> Command {
        Command::Probe { ids: vec![id.to_owned()], cublas: Vec::new() }
    }

    fn said(event: WorkerEvent) -> Update {
        Update::Event(Box::new(event))
    }

    fn failed(what: &str) -> Update {
        let error = MachineError::refused("no");
        said(WorkerEvent::Failed(WorkerFailure { what: what.to_owned(), error }))
    }

    /// A probe answers once: by its report, or else by the death of the child.
    #[test]
    fn a_death_answers_for_the_probe_that_had_not() {
        let mut round = ProbeRound::new("GPU-1");
        round.handle(Update::Sent(job("gate.dp4a")));
        round.handle(Update::Died(death(Ending::Signal { signal: 4 })));
        assert_eq!((round.reports.len(), &round.paused), (1, &None));
        assert_eq!(round.reports[0].answer, Answer::Fails);
        round.handle(Update::Died(death(Ending::Exit { code: 70 })));
        assert_eq!(round.reports.len(), 1, "it was answered");
        round.date(Some("570.1"), "2026-11-21");
        let dated = &round.reports[0];
        assert_eq!((dated.driver.as_deref(), &*dated.measured), (Some("570.1"), "2026-11-21"));
    }

    #[test]
    fn a_device_that_cannot_be_taken_says_why() {
        let mut round = ProbeRound::new("GPU-1");
        round.handle(Update::Sent(Command::Acquire(Acquire::default())));
        round.handle(failed("taking the device"));
        assert!(round.paused.is_some_and(|why| why.starts_with("taking the device")));
        let mut round = ProbeRound::new("GPU-1");
        let dead =
            Death { doing: None, ..death(Ending::NotStarted { why: "no such file".into() }) };
        round.handle(Update::Died(Death { given_up: true, ..dead }));
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
