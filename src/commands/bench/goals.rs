//! `warpscope bench --goals`: what the kernels are to reach, each beside what it is held against.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use warpscope_kernels::gpu::Route;
use warpscope_kernels::gpu::family::kernels;
use warpscope_probes::Frame;

use crate::commands::bench::check_record;
use crate::commands::bench::samples::{keep, records};
use crate::commands::bench::table::figure;
use crate::commands::cli::{CliError, Exit, Options, Result};
use crate::commands::gpu::libraries::Libraries;
use crate::commands::gpu::outcome::Outcome;
use crate::commands::gpu::session::Session;
use crate::commands::gpu::tuned::Tuned;
use crate::commands::gpu::{
    Ran, blocker_in, each, exit, first_frame_of, heading, none_matches, outcome, selected_devices,
    target,
};
use crate::commands::{identity, output};
use crate::config::args;
use crate::runs::run_log::{Record, SampleMode};
use crate::runs::samples::{Key, Point};
use crate::text::clean;
use crate::worker::goals::{GOALS, Goal, Own, Verdict};
use crate::worker::{
    Acquire, ArmReport, BENCH_SCHEMA, Command, DeviceHere, GoalReport, TimingMode, Update,
    WorkerEvent,
};

/// Measures every goal a person means on the devices a person means. Code 0: everything was measured and no floor missed; 1: otherwise; 3: there
/// is no GPU.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let exe = std::env::current_exe()?;
    let wanted: Vec<&Goal> =
        GOALS.iter().filter(|goal| options.get(&args::KERNELS).matches(goal.id)).collect();
    if wanted.is_empty() {
        let all = GOALS.iter().map(|goal| goal.id);
        return Err(none_matches("goal", &options.get(&args::KERNELS), all));
    }
    check_record(options)?;
    let devices = selected_devices(options, &exe)?;
    let frame = first_frame_of(options).ok();
    let libraries = Libraries::new(options);
    let on = |here| on_device(options, &exe, (here, frame.as_ref()), &wanted, &libraries);
    let results = each(options, devices, on)?;
    let exit = exit(&results);
    if let Some(path) = options.get(&args::RECORD) {
        let records = results.iter().flat_map(|result| result.records(frame.as_ref()));
        keep(&path, records).map_err(CliError::usage)?;
    }
    if options.get(&args::JSON) {
        let driver = frame.and_then(|frame| frame.driver.versions.driver.last().cloned());
        let date = identity::today();
        output::json(&GoalsResult { schema: BENCH_SCHEMA, date, driver, gpus: results })?;
    }
    Ok(exit)
}

/// What `--json` gives.
#[derive(Debug, Serialize)]
struct GoalsResult {
    schema: u32,
    date: String,
    driver: Option<String>,
    gpus: Vec<DeviceResult>,
}

/// What one device did.
#[derive(Debug, Serialize)]
struct DeviceResult {
    #[serde(flatten)]
    here: DeviceHere,
    tuned: Tuned,
    goals: Vec<Row>,
    /// Goals this device has no kernel for, each with the reason.
    absent: Vec<(String, String)>,
    #[serde(flatten)]
    outcome: Outcome,
}

/// A goal and how it was judged.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    report: GoalReport,
    /// A ratio, or microseconds where nothing is beside it.
    figure: Option<f64>,
    /// Median distance of the blocks from it.
    spread: Option<f64>,
    floor: Option<f64>,
    target: Option<f64>,
    verdict: Verdict,
    /// What may explain a figure that is missed.
    profile: String,
}

impl DeviceResult {
    fn handle(&mut self, update: Update) {
        let Some(WorkerEvent::Goal(report)) = self.outcome.handle(update) else { return };
        let sm = self.here.device.sm;
        let (figure, aim) = (report.figure(), report.aim(sm));
        self.goals.push(Row {
            figure: figure.map(|figure| figure.median),
            spread: figure.map(|figure| figure.mad),
            floor: aim.and_then(|aim| aim.floor),
            target: aim.map(|aim| aim.target),
            verdict: report.verdict(sm),
            profile: report.profile(),
            report: *report,
        });
    }

    /// The samples of both sides as lines of a journal; none where nothing was timed.
    fn records(&self, frame: Option<&Frame>) -> Vec<Record> {
        let device = Some(self.here.device.name.clone());
        let arms = self.goals.iter().flat_map(|row| {
            let of = |arm: &ArmReport| Point {
                key: Key {
                    name: format!("goal {} · {}", row.report.goal, arm.what),
                    device: device.clone(),
                    ..Key::default()
                },
                t_ns: arm.samples_ns.clone(),
                sm_mhz: arm.clocks.complete().unwrap_or_default(),
                ..Point::default()
            };
            [Some(of(&row.report.own)), row.report.against.as_ref().map(of)]
        });
        let points: Vec<Point> = arms.flatten().filter(|point| !point.t_ns.is_empty()).collect();
        if points.is_empty() {
            return Vec::new();
        }
        let mut run = identity::here(identity::own_command());
        run.regime = SampleMode::Sustained;
        if let Some(frame) = frame {
            identity::add_machine(&mut run, frame);
        }
        records(run, points)
    }
}

fn on_device(
    options: &Options,
    exe: &Path,
    (here, frame): (DeviceHere, Option<&Frame>),
    wanted: &[&Goal],
    libraries: &Libraries<'_>,
) -> Result<DeviceResult> {
    let blocker = blocker_in(options, &here, frame).map(|why| format!("{why}; --anyway measures"));
    let cublas = match blocker {
        Some(_) => Vec::new(),
        None => libraries.cublas(&target(&here, frame))?,
    };
    let mut result = DeviceResult {
        tuned: Tuned::of(&options.env, &here, frame),
        here,
        goals: Vec::new(),
        absent: Vec::new(),
        outcome: Outcome { paused: blocker, ..Outcome::default() },
    };
    if result.outcome.paused.is_some() {
        return Ok(result);
    }
    let (regime, beside_others) = (TimingMode::Sustained, options.get(&args::ANYWAY));
    let tuned = result.tuned.tuned.clone();
    let hold = Acquire { arena_bytes: None, mode: regime, beside_others, tuned };
    let mut jobs = vec![Command::Acquire(hold)];
    for goal in wanted {
        match missing(goal, &result.here) {
            Some(why) => result.absent.push((goal.id.to_owned(), why)),
            None => jobs.push(Command::Goal { id: goal.id.to_owned(), cublas: cublas.clone() }),
        }
    }
    let session = Session::on_gpu(options, exe, &result.here);
    result.outcome.interrupted = outcome::run(&session, jobs, |update| result.handle(update))?;
    Ok(result)
}

/// Why a device has no kernel for a goal.
fn missing(goal: &Goal, here: &DeviceHere) -> Option<String> {
    let Own::Kernel { id, .. } = goal.own else { return None };
    let kernel = kernels().find(|kernel| kernel.id == id)?;
    match (kernel.route)(&here.device) {
        Route::Absent { why } => Some(why),
        _ => None,
    }
}

impl Ran for DeviceResult {
    fn is_fine(&self) -> bool {
        let missed = self.goals.iter().any(|row| row.verdict == Verdict::Missed);
        self.outcome.is_fine() && !missed
    }

    fn interrupted(&self) -> bool {
        self.outcome.interrupted
    }

    fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", heading(&self.here))?;
        if let Some(line) = self.tuned.line() {
            writeln!(out, "{}", clean(&line, false))?;
        }
        writeln!(out)?;
        if self.here.device.simulated {
            writeln!(out, "simulated: no ratios\n")?;
        }
        let width = |text: fn(&Row) -> usize| self.goals.iter().map(text).max().unwrap_or(0).max(8);
        let (names, beside) = (width(|row| row.report.goal.len()), width(|row| against(row).len()));
        if !self.goals.is_empty() {
            writeln!(
                out,
                "{:<names$}  {:<beside$} {:>9} {:>7} {:>6} {:>6}  {:<12} weights",
                "goal", "against", "figure", "±", "floor", "target", "verdict"
            )?;
        }
        for row in &self.goals {
            let (unit, digits) = if row.report.against.is_some() { ("", 3) } else { (" µs", 1) };
            let value = figure(row.figure, digits) + if row.figure.is_some() { unit } else { "" };
            write!(out, "{:<names$}  {:<beside$} ", row.report.goal, against(row))?;
            write!(out, "{value:>9} {:>7} ", figure(row.spread, digits))?;
            write!(out, "{:>6} {:>6}  ", figure(row.floor, 2), figure(row.target, 2))?;
            writeln!(out, "{:<12} {}", row.verdict.words(), row.report.cache)?;
            if row.verdict == Verdict::Missed {
                writeln!(out, "{:<names$}  {}", "", row.profile)?;
            } else if let Some(words) = row.report.own.clocks.words() {
                writeln!(out, "{:<names$}  {words}", "")?;
            }
        }
        for (goal, why) in &self.absent {
            writeln!(out, "{goal}: unavailable: {why}")?;
        }
        self.outcome.write(out)?;
        writeln!(out)
    }
}

fn against(row: &Row) -> &str {
    row.report.against.as_ref().map_or("–", |arm| &arm.what)
}

#[cfg(test)]
mod tests {
    use warpscope_kernels::Sm;
    use warpscope_kernels::gpu::{DeviceFacts, TunedConfigs};

    use super::*;
    use crate::worker::{ArmReport, Strain};

    fn result(ratios: Vec<f64>, simulated: bool) -> DeviceResult {
        let device = DeviceFacts {
            name: "H200".to_owned(),
            sm: Sm::new(9, 0),
            sms: 132,
            shared_per_block: 48 << 10,
            shared_per_block_optin: 227 << 10,
            l2_bytes: 50 << 20,
            memory_bytes: 140 << 30,
            driver_cuda: 12_080,
            simulated,
            tuned: TunedConfigs::default(),
        };
        let mut result = DeviceResult {
            tuned: Tuned::default(),
            here: DeviceHere { uuid: "GPU-1".to_owned(), device },
            goals: Vec::new(),
            absent: Vec::new(),
            outcome: Outcome::default(),
        };
        let samples_ns = if simulated { Vec::new() } else { vec![1e6; 4] };
        let arm = |what: &str| ArmReport {
            what: what.to_owned(),
            samples_ns: samples_ns.clone(),
            ..ArmReport::default()
        };
        let report = GoalReport {
            goal: "gemm.bf16.8192".to_owned(),
            own: arm("gemm.bf16"),
            against: Some(arm("cuBLASLt 12.8.4")),
            ratios,
            strain: Strain { sm_mhz: Some((1410.0, 1755.0)), ..Strain::default() },
            ..GoalReport::default()
        };
        result.handle(Update::Event(Box::new(WorkerEvent::Goal(Box::new(report)))));
        result
    }

    fn table(result: &DeviceResult) -> String {
        let mut out = Vec::new();
        result.write_table(&mut out).expect("writes");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_missed_floor_fails_and_says_what_may_explain_it() {
        let (good, bad) = (result(vec![0.99, 0.98, 1.0], false), result(vec![0.5], false));
        assert!(good.is_fine() && !bad.is_fine());
        assert!(table(&good).contains("0.990   0.010   0.88   0.97  met"), "{}", table(&good));
        let text = table(&bad);
        assert!(text.contains("MISSED") && text.contains("1410–1755 MHz"), "{text}");
    }

    #[test]
    fn a_stand_in_has_no_ratios_and_no_journal() {
        let simulated = result(Vec::new(), true);
        let text = table(&simulated);
        assert!(text.contains("simulated: no ratios") && text.contains("not measured"), "{text}");
        assert!(simulated.is_fine() && simulated.records(None).is_empty());
        let records = result(vec![1.0], false).records(None);
        assert_eq!(records.len(), 4, "run, both sides, end");
        let [.., Record::Point(last), Record::End(end)] = &records[..] else {
            panic!("{records:?}")
        };
        assert_eq!(Some(end.at_ms), last.at_ms, "it ends with its last point");
    }
}
