//! `warpscope selftest`: every GPU kernel against the inputs and answers it was proven with.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use warpscope_kernels::gpu::family::kernels;
use warpscope_kernels::gpu::{MachineError, Route};

use crate::commands::cli::{CONFIG_FILE, CommandSpec, Exit, HOSTS, ON_GPU, Options, Result, STYLE};
use crate::commands::gpu::session::Session;
use crate::commands::gpu::{
    GIVEN_UP, Ran, blocker, conclude, each, heading, none_matches, outcome, reason, route_text,
    selected_devices,
};
use crate::config::args;
use crate::worker::{
    Acquire, CaseReport, Command, DeviceHere, Globs, Holding, Patience, Update, WorkerEvent,
    not_done,
};

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "selftest",
    about: "Run every GPU kernel on its conformance cases; exits with 1 if a result is wrong",
    more: "The same cases verify the kernels in an interpreter when they are built. Outputs are poisoned beforehand and guarded by sentinels; integers must match exactly. Exits with 3 if there is no GPU.",
    args: &[ON_GPU, &[&args::JSON], STYLE, HOSTS, CONFIG_FILE],
    examples: &[
        ("selftest --gpu", "every kernel on every GPU"),
        ("selftest --gpu 0 --kernel 'gemm.*,gemv.*'", "some kernels on the first GPU"),
    ],
    runs_there: true,
    run,
    ..CommandSpec::BASE
};

/// Runs the conformance cases on real devices. Code 0: all are right; 1: one is not, or was not run; 3: there is no GPU.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let exe = std::env::current_exe()?;
    let known = kernels().filter(|kernel| options.get(&args::KERNELS).matches(kernel.id)).count();
    if known == 0 {
        let all = kernels().map(|kernel| kernel.id);
        return Err(none_matches("kernel", &options.get(&args::KERNELS), all));
    }
    let results =
        each(options, selected_devices(options, &exe)?, |here| test(options, &exe, here))?;
    conclude(options, results)
}

/// What one device did.
#[derive(Clone, Debug, Serialize)]
struct DeviceResult {
    #[serde(flatten)]
    here: DeviceHere,
    /// What was held of it; null when it was not taken.
    holding: Option<Holding>,
    kernels: Vec<Row>,
    /// Why it was not used, or not to the end.
    paused: Option<String>,
    interrupted: bool,
}

/// What became of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Right,
    Wrong,
    /// It could not be run.
    Failed,
    /// This device has no way to run it.
    Absent,
    /// Nobody got so far.
    NotRun,
}

#[derive(Clone, Debug, Serialize)]
struct Row {
    kernel: &'static str,
    #[serde(flatten)]
    route: Route,
    cases: usize,
    /// Largest relative error; null where all are judged by their bits.
    worst_error: Option<f64>,
    outcome: Outcome,
    /// What was wrong or failed.
    troubles: Vec<String>,
    /// What is right and yet other than expected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Row {
    fn case(&mut self, case: &CaseReport) {
        self.cases += 1;
        self.worst_error = self.worst_error.into_iter().chain(case.error).reduce(f64::max);
        let note = case.note.as_ref();
        self.notes.extend(note.map(|note| format!("{}, {}: {note}", self.kernel, case.case)));
        if let Some(wrong) = &case.wrong {
            self.troubles.push(format!("{}, {}: {wrong}", self.kernel, case.case));
            self.outcome = Outcome::Wrong;
        }
    }

    /// What a child said before it died is said once.
    fn fail(&mut self, why: String) {
        if !self.troubles.contains(&why) {
            self.troubles.push(why);
        }
        self.outcome = Outcome::Failed;
    }

    /// All cases were run. A kernel without cases is not proven by that.
    fn finish(&mut self) {
        if self.outcome == Outcome::NotRun && self.cases > 0 {
            self.outcome = Outcome::Right;
        }
    }
}

impl DeviceResult {
    fn new(here: DeviceHere, globs: &Globs) -> Self {
        let row = |kernel: &warpscope_kernels::gpu::GpuKernel| {
            let route = (kernel.route)(&here.device);
            let absent = matches!(route, Route::Absent { .. });
            let outcome = if absent { Outcome::Absent } else { Outcome::NotRun };
            let (troubles, notes) = (Vec::new(), Vec::new());
            Row { kernel: kernel.id, route, cases: 0, worst_error: None, outcome, troubles, notes }
        };
        let rows = kernels().filter(|kernel| globs.matches(kernel.id)).map(row).collect();
        Self { kernels: rows, here, holding: None, paused: None, interrupted: false }
    }

    fn jobs(&self, hold: Acquire) -> Vec<Command> {
        let rows = self.kernels.iter().filter(|row| row.outcome == Outcome::NotRun);
        let jobs =
            rows.map(|row| Command::Selftest { kernels: Globs::from(row.kernel), evidence: None });
        [Command::Acquire(hold)].into_iter().chain(jobs).collect()
    }

    /// The row a job is about.
    fn row(&mut self, job: Option<&Command>) -> Option<&mut Row> {
        let Some(Command::Selftest { kernels, .. }) = job else { return None };
        let name = kernels.to_string();
        self.kernels.iter_mut().find(|row| row.kernel == name)
    }

    fn handle(&mut self, doing: Option<&Command>, update: Update) {
        match update {
            Update::Event(event) => match *event {
                WorkerEvent::Holding(holding) => self.holding = Some(holding),
                WorkerEvent::Paused { why } => self.paused = Some(why),
                WorkerEvent::Finished { .. } => {
                    if let Some(row) = self.row(doing) {
                        row.finish();
                    }
                }
                WorkerEvent::Case(case) => {
                    if let Some(row) = self.row(doing) {
                        row.case(&case);
                    }
                }
                WorkerEvent::Failed(failure) if failure.error != MachineError::Stopped => {
                    let why = format!("{}: {}", failure.what, reason(&failure));
                    self.fail(doing, why);
                }
                _ => {}
            },
            Update::Died(death) => {
                self.fail(death.doing.as_ref(), death.sentence);
                if death.given_up {
                    self.paused = Some(GIVEN_UP.to_owned());
                }
            }
            Update::Left { why, jobs } => self.paused = Some(not_done(&why, &jobs)),
            Update::Sent(_) | Update::Retry(_) | Update::Idle => {}
        }
    }

    /// A failure of no kernel in particular is one of the device.
    fn fail(&mut self, doing: Option<&Command>, why: String) {
        match self.row(doing) {
            Some(row) => row.fail(why),
            None => self.paused = Some(why),
        }
    }
}

/// Longest silence of a driver that starts, and of a case: milliseconds on a GPU, and seconds where it is interpreted.
const START: Duration = Duration::from_secs(60);
const CASE: Duration = Duration::from_secs(15);

fn patience(options: &Options, simulated: bool) -> Patience {
    match options.get(&args::PATIENCE) {
        Some(told) => Patience::Silence { start: told, job: told },
        None if simulated => Patience::Silence { start: START, job: START },
        None => Patience::Silence { start: START, job: CASE },
    }
}

fn test(options: &Options, exe: &Path, here: DeviceHere) -> Result<DeviceResult> {
    let simulated = here.device.simulated;
    let mut result = DeviceResult::new(here, &options.get(&args::KERNELS));
    result.paused = blocker(options, &result.here)?.map(|why| format!("{why}; --anyway runs"));
    if result.paused.is_some() {
        return Ok(result);
    }
    let hold = Acquire { beside_others: options.get(&args::ANYWAY), ..Acquire::default() };
    let jobs = result.jobs(hold);
    let mut session = Session::on_gpu(options, exe, &result.here);
    session.limits.patience = patience(options, simulated);
    let mut doing = None;
    result.interrupted = outcome::run(&session, jobs, |update| {
        if let Update::Sent(job) = &update {
            doing = Some(job.clone());
        }
        result.handle(doing.as_ref(), update);
    })?;
    Ok(result)
}

impl Ran for DeviceResult {
    fn is_fine(&self) -> bool {
        let right = |row: &Row| matches!(row.outcome, Outcome::Right | Outcome::Absent);
        self.kernels.iter().all(right)
    }

    fn interrupted(&self) -> bool {
        self.interrupted
    }

    fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", heading(&self.here))?;
        if let Some(holding) = &self.holding {
            let context = holding.context_bytes.map(|bytes| format!("context {} MiB", bytes >> 20));
            let cap = format!("at most {} MiB besides", holding.arena_cap_bytes >> 20);
            let images = holding.images.iter().map(|(family, how)| format!("{family}: {how}"));
            let parts: Vec<_> = context.into_iter().chain([cap]).chain(images).collect();
            writeln!(out, "{}", parts.join(" · "))?;
        }
        writeln!(out)?;
        let width = self.kernels.iter().map(|row| row.kernel.len()).max().unwrap_or(0).max(6);
        writeln!(out, "{:<width$}  cases  worst error  result   by", "kernel")?;
        for row in &self.kernels {
            let error =
                row.worst_error.map_or_else(|| "–".to_owned(), |error| format!("{error:.1e}"));
            let (outcome, route) = (word(row.outcome), route_text(&row.route));
            let Row { kernel, cases, .. } = row;
            writeln!(out, "{kernel:<width$}  {cases:>5}  {error:>11}  {outcome:<7}  {route}")?;
        }
        writeln!(out)?;
        for row in &self.kernels {
            row.troubles.iter().chain(&row.notes).try_for_each(|why| writeln!(out, "{why}"))?;
        }
        match &self.paused {
            Some(why) => writeln!(out, "stopped early: {why}")?,
            None if self.interrupted => writeln!(out, "stopped early: interrupted")?,
            None => {}
        }
        writeln!(out, "{}\n", summary(self))
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Right => "right",
        Outcome::Wrong => "WRONG",
        Outcome::Failed => "FAILED",
        Outcome::Absent => "absent",
        Outcome::NotRun => "not run",
    }
}

fn summary(result: &DeviceResult) -> String {
    let count = |outcome| result.kernels.iter().filter(|row| row.outcome == outcome).count();
    let parts = [Outcome::Right, Outcome::Wrong, Outcome::Failed, Outcome::Absent, Outcome::NotRun]
        .map(|outcome| (count(outcome), word(outcome)));
    let parts = parts.iter().filter(|part| part.0 > 0).map(|(n, word)| format!("{n} {word}"));
    format!("{} kernels: {}", result.kernels.len(), parts.collect::<Vec<_>>().join(", "))
}
