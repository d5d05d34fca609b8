//! `warpscope bench --tune`: which variant of each kernel is best on the very devices here.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use warpscope_kernels::gpu::GpuKernel;
use warpscope_probes::Frame;

use super::table::figure;
use super::timing::{regime_of, selected};
use crate::commands::bench::timing::table::regime_words;
use crate::commands::cli::{CliError, Exit, Options, Result};
use crate::commands::gpu::outcome::Outcome;
use crate::commands::gpu::session::Session;
use crate::commands::gpu::tuned::situation;
use crate::commands::gpu::{
    Ran, blocker_in, conclude, each, first_frame_of, heading, outcome, selected_devices, tuned,
};
use crate::commands::identity::now_ms;
use crate::config::args;
use crate::io::sink::tuning_cache;
use crate::runs::compare::Call;
use crate::text::clean;
use crate::worker::gpu::size;
use crate::worker::tuning::{Choice, Judged, Situation, choose};
use crate::worker::{Acquire, Command, DeviceHere, Globs, Timing, TimingMode, Update, WorkerEvent};

/// Times the variants of kernels, and keeps which is best. Code 0: all were tried that can be; 1: one is wrong, or a device was not
/// tuned to the end; 3: there is no GPU.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let exe = std::env::current_exe()?;
    let kernels = selected(options)?;
    let path = tuned::file(&options.env).ok_or_else(|| {
        CliError::usage("set HOME or XDG_STATE_HOME: there is no place to keep the results")
    })?;
    // A file that cannot be read would be lost when another is put in its place.
    tuned::cache(&options.env).map_err(CliError::Failed)?;
    let devices = selected_devices(options, &exe)?;
    let results = each(options, devices, |here| on_device(options, &exe, here, (&kernels, &path)))?;
    conclude(options, results)
}

/// What was found on one device.
#[derive(Debug, Serialize)]
struct DeviceResult {
    #[serde(flatten)]
    here: DeviceHere,
    /// How clocks stood.
    regime: TimingMode,
    /// Under which circumstances the choices count.
    situation: Situation,
    /// Kernels with more than one variant here.
    kernels: usize,
    /// Conformance cases of them that were run.
    cases: usize,
    /// One for each kernel and size.
    choices: Vec<Choice>,
    /// Where they were kept; null where they were not.
    kept_in: Option<PathBuf>,
    /// Why they were not; null where they were, or there is none.
    not_kept: Option<String>,
    #[serde(flatten)]
    outcome: Outcome,
}

fn on_device(
    options: &Options,
    exe: &Path,
    here: DeviceHere,
    (kernels, path): (&[&GpuKernel], &Path),
) -> Result<DeviceResult> {
    let frame = frame_of(options, &here)?;
    let frame = frame.as_ref();
    let paused = blocker_in(options, &here, frame).map(|why| format!("{why}; --anyway tunes"));
    let several = |kernel: &&&GpuKernel| (kernel.variants)(&here.device).len() > 1;
    let kernels: Vec<&GpuKernel> = kernels.iter().filter(several).copied().collect();
    let mut result = DeviceResult {
        regime: regime_of(options),
        situation: situation(&here, frame),
        kernels: kernels.len(),
        cases: 0,
        choices: Vec::new(),
        kept_in: None,
        not_kept: None,
        outcome: Outcome { paused, ..Outcome::default() },
        here,
    };
    if result.outcome.paused.is_some() || kernels.is_empty() {
        return Ok(result);
    }
    let jobs = jobs(options, result.regime, &kernels);
    let session = Session::on_gpu(options, exe, &result.here);
    result.outcome.interrupted = outcome::run(&session, jobs, |update| result.handle(update))?;
    result.keep(path)?;
    Ok(result)
}

/// What NVML shows; a stand-in is not asked after. Without it a device is only used when told to.
pub(crate) fn frame_of(options: &Options, here: &DeviceHere) -> Result<Option<Frame>> {
    if here.device.simulated {
        return Ok(None);
    }
    let frame = first_frame_of(options);
    if options.get(&args::ANYWAY) { Ok(frame.ok()) } else { frame.map(Some) }
}

/// The device is taken, and then every kernel tries its variants.
fn jobs(options: &Options, regime: TimingMode, kernels: &[&GpuKernel]) -> Vec<Command> {
    let hold =
        Acquire { mode: regime, beside_others: options.get(&args::ANYWAY), ..Acquire::default() };
    let job = |kernel: &&GpuKernel| {
        let kernels = Globs::from(kernel.id);
        let shape = options.get(&args::SHAPE);
        Command::Autotune(Timing { kernels, shape, mode: regime, variant: None })
    };
    [Command::Acquire(hold)].into_iter().chain(kernels.iter().map(job)).collect()
}

impl DeviceResult {
    fn handle(&mut self, update: Update) {
        match self.outcome.handle(update) {
            Some(WorkerEvent::Autotune(contest)) => self.choices.push(choose(&contest)),
            Some(WorkerEvent::Case(case)) => {
                self.cases += 1;
                if let Some(wrong) = case.wrong {
                    self.outcome.fail(format!("{}, {}: {wrong}", case.kernel, case.case));
                }
            }
            _ => {}
        }
    }

    /// Keeps what was chosen beside what was before. The file is read anew: another tuning may have ended meanwhile.
    fn keep(&mut self, path: &Path) -> Result<()> {
        let known = self.choices.iter().any(|choice| choice.chosen.is_some());
        self.not_kept = if self.here.device.simulated {
            Some("the device is simulated, so its times mean nothing".to_owned())
        } else if !known {
            Some("nothing could be timed".to_owned())
        } else if self.situation.driver.is_none() {
            Some("NVML does not tell the version of the driver they hold for".to_owned())
        } else {
            let mut cache = tuning_cache::read(path).map_err(CliError::Failed)?;
            let device = (&*self.here.device.name, now_ms());
            cache.keep(&self.situation, device, &self.choices).map_err(CliError::Failed)?;
            let failed = |error| CliError::Failed(format!("{}: {error}", path.display()));
            tuning_cache::write(path, &cache).map_err(failed)?;
            self.kept_in = Some(path.to_owned());
            None
        };
        Ok(())
    }

    /// What came out, in a line.
    fn summary(&self) -> Option<String> {
        if self.kernels == 0 {
            return Some("no kernel asked for has more than one variant on this GPU".to_owned());
        }
        if let Some(why) = &self.not_kept {
            let Self { kernels, cases, .. } = self;
            let tried = format!("{cases} cases of variants were run, kernels: {kernels}");
            return Some(format!("{tried}; no variant was chosen: {why}"));
        }
        if self.choices.is_empty() {
            return None;
        }
        let place = self.kept_in.as_ref().map(|path| format!("; kept in {}", path.display()));
        let what = match self.choices.iter().filter(|choice| choice.overrules()).count() {
            0 => "every kernel keeps its default variant".to_owned(),
            1 => "from now on, 1 size uses a variant other than the default".to_owned(),
            count => format!("from now on {count} sizes use variants other than the default"),
        };
        Some(what + &place.unwrap_or_default())
    }
}

impl Ran for DeviceResult {
    fn is_fine(&self) -> bool {
        let wrong = self.choices.iter().flat_map(|choice| &choice.candidates).any(|one| one.wrong);
        !wrong && self.outcome.is_fine()
    }

    fn interrupted(&self) -> bool {
        self.outcome.interrupted
    }

    fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} · {}\n", heading(&self.here), regime_words(self.regime))?;
        write_choices(&self.choices, out)?;
        self.outcome.write(out)?;
        self.summary().map_or(Ok(()), |line| writeln!(out, "{}\n", clean(&line, false)))
    }
}

fn write_choices(choices: &[Choice], out: &mut dyn Write) -> io::Result<()> {
    if choices.is_empty() {
        return Ok(());
    }
    let rivals = || choices.iter().flat_map(|choice| &choice.candidates);
    let widest = |least: usize, words: &mut dyn Iterator<Item = &String>| {
        words.map(String::len).max().unwrap_or(0).max(least)
    };
    let kernel = widest(6, &mut choices.iter().map(|choice| &choice.kernel));
    let names = rivals().map(|rival| &rival.variant);
    let variant = widest(7, &mut names.chain(choices.iter().map(|choice| &choice.usual)));
    write!(out, "{:<kernel$}  {:<22} {:<variant$} ", "kernel", "size", "variant")?;
    writeln!(out, "{:>10} {:>6}", "µs", "ratio")?;
    let mut line =
        |words: [&str; 3], (median, ratio): (Option<f64>, Option<f64>), verdict: &str| {
            let (median, ratio) = (figure(median.map(|ns| ns / 1e3), 2), figure(ratio, 3));
            let [id, size, name] = words;
            write!(out, "{id:<kernel$}  {size:<22} {name:<variant$} {median:>10} {ratio:>6}  ")?;
            writeln!(out, "{}", clean(verdict, false))
        };
    for choice in choices {
        let usual = (choice.usual_ns, choice.usual_ns.map(|_| 1.0));
        let kept = choice.chosen.as_ref() == Some(&choice.usual);
        let verdict = if kept { "default, kept" } else { "default" };
        line([&choice.kernel, &size(choice.shape), &choice.usual], usual, verdict)?;
        for rival in &choice.candidates {
            let figures = (rival.median_ns, rival.ratio);
            line(["", "", &rival.variant], figures, &verdict_of(choice, rival))?;
            if let Some(words) = rival.clocks.words() {
                line(["", "", ""], (None, None), &words)?;
            }
        }
    }
    writeln!(out)
}

/// Why a variant was chosen or not.
fn verdict_of(choice: &Choice, rival: &Judged) -> String {
    let from = rival.counts_from.map(|share| format!("a change counts from {:.1}%", share * 100.0));
    let from = from.unwrap_or_default();
    match rival.call {
        Some(Call::Faster) if choice.chosen.as_ref() == Some(&rival.variant) => {
            format!("chosen; {from}")
        }
        Some(Call::Faster) => "faster, and another one is faster still".to_owned(),
        Some(Call::Slower) => "slower".to_owned(),
        Some(Call::Same) => format!("same: {}", rival.why),
        Some(Call::Ambiguous) => format!("cannot tell: {}", rival.why),
        None if rival.wrong => format!("WRONG: {}", rival.why),
        None => rival.why.clone(),
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod whole_tests;
