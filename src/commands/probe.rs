//! `warpscope probe`: instructions, images and library calls, run on the devices here.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use warpscope_probes::Frame;
use warpscope_probes::live::{Answer, Probe, ProbeReport, Store, Subject, probes};
use warpscope_probes::rules::RuleBase;

use crate::commands::cli::{CONFIG_FILE, CommandSpec, Exit, HOSTS, Options, Result, STYLE};
use crate::commands::gpu::libraries::Libraries;
use crate::commands::gpu::session::Session;
use crate::commands::gpu::{
    Ran, blocker_in, conclude, each, first_frame_of, heading, none_matches, outcome,
    selected_devices, target,
};
use crate::commands::identity;
use crate::config::args;
use crate::engine::{Target, contradicted_rules};
use crate::worker::gpu::ProbeRound;
use crate::worker::{Acquire, DeviceHere};

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "probe",
    about: "Run single instructions, images and cuBLAS calls on the GPUs of this machine and show what each proves",
    more: "From then on, results take precedence over rules for this GPU and driver: in check, why, doctor and on the Compat tab. They are kept in $XDG_CACHE_HOME/warpscope/probes, else ~/.cache/warpscope/probes. GPUs in use by other processes are skipped.\n\
           A cuBLAS that another user could have placed is reported but not loaded; --cublas loads any.\n\
           Exits with 1 if a result is wrong, an answer contradicts a rule or a GPU was not fully probed, and with 3 if there is no GPU.",
    args: &[
        &[&args::ON_GPU, &args::ONLY_PROBES, &args::CUBLAS],
        &[&args::ANYWAY, &args::WAIT, &args::PATIENCE],
        &[&args::LIBRARY],
        &[&args::JSON],
        STYLE,
        HOSTS,
        CONFIG_FILE,
    ],
    examples: &[
        ("probe", "all probes on every GPU"),
        (
            "probe --gpu 0 --only 'gate.*,shared.*'",
            "instructions and shared memory of the first GPU",
        ),
        (
            "probe --only 'cublas*' --cublas ~/venv/lib/python3.11/site-packages/nvidia/cublas/lib/libcublas.so.12",
            "what one copy of cuBLAS accepts",
        ),
    ],
    runs_there: true,
    run,
    ..CommandSpec::BASE
};

/// Runs probes on real devices. Code 0: all were answered; 1: a result is wrong, a rule is contradicted or a device was not probed to
/// the end; 3: there is no GPU.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let exe = std::env::current_exe()?;
    let wanted: Vec<&Probe> =
        probes().filter(|probe| options.get(&args::ONLY_PROBES).matches(probe.id)).collect();
    if wanted.is_empty() {
        let all = probes().map(|probe| probe.id);
        return Err(none_matches("probe", &options.get(&args::ONLY_PROBES), all));
    }
    let devices = selected_devices(options, &exe)?;
    let frame = first_frame_of(options).ok();
    let libraries = Libraries::new(options);
    let run = |here| on_device(options, &exe, (here, frame.as_ref()), &wanted, &libraries);
    conclude(options, each(options, devices, run)?)
}

/// What one device did.
#[derive(Debug, Serialize)]
struct DeviceResult {
    #[serde(flatten)]
    here: DeviceHere,
    probes: Vec<ProbeReport>,
    /// Answers against which a rule speaks, each with both sides.
    disputed: Vec<Dispute>,
    /// Why the device was not used, or not to the end.
    paused: Option<String>,
    interrupted: bool,
    /// Probes that were asked for.
    #[serde(skip)]
    wanted: usize,
}

/// An answer and a rule that says otherwise.
#[derive(Debug, Serialize)]
struct Dispute {
    probe: String,
    rule: String,
    /// What the rule says, with its reason.
    says: String,
}

fn on_device(
    options: &Options,
    exe: &Path,
    (here, frame): (DeviceHere, Option<&Frame>),
    wanted: &[&Probe],
    libraries: &Libraries<'_>,
) -> Result<DeviceResult> {
    let blocker = blocker_in(options, &here, frame).map(|why| format!("{why}; --anyway probes"));
    let mut result = DeviceResult {
        here,
        probes: Vec::new(),
        disputed: Vec::new(),
        paused: blocker,
        interrupted: false,
        wanted: wanted.len(),
    };
    if result.paused.is_some() {
        return Ok(result);
    }
    let target = target(&result.here, frame);
    let asks = wanted.iter().any(|probe| matches!(probe.subject, Subject::Product(_)));
    let cublas = if asks { libraries.cublas(&target)? } else { Vec::new() };
    let hold = Acquire { beside_others: options.get(&args::ANYWAY), ..Acquire::default() };
    let jobs = ProbeRound::jobs(wanted, &cublas, hold);
    let session = Session::on_gpu(options, exe, &result.here);
    let mut round = ProbeRound::new(&result.here.uuid);
    result.interrupted = outcome::run(&session, jobs, |update| round.handle(update))?;
    round.date(target.driver.as_deref(), &identity::today());
    result.probes = round.reports;
    result.paused = round.paused;
    judge(&mut result, &target);
    Ok(result)
}

/// Lays the reports beside the rules, and keeps those of real devices.
fn judge(result: &mut DeviceResult, target: &Target) {
    let base = RuleBase::builtin();
    for report in &result.probes {
        let rules = contradicted_rules(base, report, target).into_iter();
        result.disputed.extend(rules.map(|rule| Dispute {
            probe: report.id.clone(),
            rule: rule.id.to_string(),
            says: rule.reason.to_string(),
        }));
    }
    if let Some(store) = Store::of_user() {
        let kept = store.keep(&result.here.uuid, target.driver.as_deref(), &result.probes);
        if let Err(error) = kept {
            result.paused.get_or_insert(format!("the answers cannot be kept: {error}"));
        }
    }
}

impl Ran for DeviceResult {
    fn is_fine(&self) -> bool {
        let wrong = |report: &ProbeReport| report.answer == Answer::WrongOutput;
        let complete = self.probes.len() == self.wanted && self.paused.is_none();
        complete && !self.interrupted && self.disputed.is_empty() && !self.probes.iter().any(wrong)
    }

    fn interrupted(&self) -> bool {
        self.interrupted
    }

    fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}\n", heading(&self.here))?;
        let width = self.probes.iter().map(|report| report.id.len()).max().unwrap_or(0).max(5);
        if !self.probes.is_empty() {
            writeln!(out, "{:<width$}  {:<12}  what was found", "probe", "answer")?;
        }
        for report in &self.probes {
            writeln!(out, "{:<width$}  {:<12}  {}", report.id, word(report.answer), report.detail)?;
            let telling = !matches!(report.answer, Answer::Works | Answer::Unknown);
            for (name, value) in report.facts.iter().filter(|_| telling) {
                writeln!(out, "{:<width$}  {:<12}  {name}: {value}", "", "")?;
            }
        }
        for Dispute { probe, rule, says } in &self.disputed {
            writeln!(out, "\ndisputed: {probe} contradicts rule {rule}: {says}")?;
        }
        if let Some(why) = &self.paused {
            writeln!(out, "stopped early: {why}")?;
        }
        writeln!(out, "\n{}\n", summary(self))
    }
}

fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Works => "works",
        Answer::Slow => "slow",
        Answer::WrongOutput => "WRONG OUTPUT",
        Answer::Fails => "fails",
        Answer::Unknown => "unknown",
    }
}

fn summary(result: &DeviceResult) -> String {
    let count = |answer| result.probes.iter().filter(|one| one.answer == answer).count();
    let answers =
        [Answer::Works, Answer::Slow, Answer::WrongOutput, Answer::Fails, Answer::Unknown];
    let parts = answers.map(|answer| (count(answer), word(answer)));
    let parts = parts.iter().filter(|part| part.0 > 0).map(|(n, word)| format!("{n} {word}"));
    let simulated = if result.here.device.simulated {
        " (simulated: not kept, not used as evidence)"
    } else {
        ""
    };
    let parts = parts.collect::<Vec<_>>().join(", ");
    format!("{} of {} probes: {parts}{simulated}", result.probes.len(), result.wanted)
}
