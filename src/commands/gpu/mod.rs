//! What runs on real GPUs: `selftest`, `probe`, and the GPUs' part of `bench`.
//!
//! Which devices there are is asked of a child, as everything is that touches the driver. One job for each kernel: a kernel
//! that kills its child is known by name, and the next one gets a new child.

pub(crate) mod choose;
pub(crate) mod libraries;
pub(crate) mod outcome;
pub(crate) mod progress;
pub(crate) mod session;
pub(crate) mod tuned;

pub(crate) use tuned::cache;

use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use warpscope_kernels::cuda::advice;
use warpscope_kernels::gpu::{DeviceFacts, Route};
use warpscope_probes::{Frame, Gpu};

use super::output;
use crate::commands::cli::{CliError, Exit, Options, Result};
use crate::commands::frames;
use crate::commands::frames::source::{AtEnd, open_source};
use crate::config::args;
use crate::engine::Target;
use crate::worker::scheduler::{Blocker, conditions};
use crate::worker::{
    BENCH_SCHEMA, Command, DeviceHere, Globs, Limits, Update, WorkerEvent, WorkerFailure,
    WorkerTarget,
};

/// How long NVML may show the utilization of a process that has ended: it is a mean over up to a second, and on an H200 92% were still shown when the
/// next command looked.
const UTILIZATION_LAGS: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Why nothing more is tried.
pub(crate) const GIVEN_UP: &str = "its process died again and again, so nothing more is tried";

/// How long a process on a GPU may be silent where nothing else is asked for: what is timed warms up for ten seconds first.
pub(crate) fn patience(options: &Options) -> Duration {
    options.get(&args::PATIENCE).unwrap_or(Duration::from_secs(60))
}

/// What a process on a GPU may do for a command.
pub(crate) fn limits(options: &Options) -> Limits {
    let busy = options.get(&args::WAIT).unwrap_or(Duration::from_secs(60));
    Limits { busy, ..Limits::command(patience(options)) }
}

/// Every device the driver shows, or why there is none.
fn devices(exe: &Path, patience: Duration) -> Result<Vec<DeviceHere>> {
    let mut found = Vec::new();
    let mut why = None;
    let ask =
        session::Session { exe, target: WorkerTarget::AnyGpu, limits: Limits::command(patience) };
    session::talk(&ask, vec![Command::Devices], |update| match update {
        Update::Event(event) => match *event {
            WorkerEvent::Device(device) => found.push(device),
            WorkerEvent::Failed(failure) => why = Some(reason(&failure)),
            _ => {}
        },
        Update::Died(death) => why = Some(death.sentence),
        Update::Left { why: busy, .. } => why = Some(busy),
        Update::Sent(_) | Update::Retry(_) | Update::Idle => {}
    })?;
    match (found.is_empty(), why) {
        (false, _) => Ok(found),
        (true, Some(why)) => Err(CliError::NoGpu(why)),
        (true, None) => Err(CliError::NoGpu("the driver shows no device".to_owned())),
    }
}

/// An error with what to do about it.
pub(crate) fn reason(failure: &WorkerFailure) -> String {
    let advice = advice(&failure.error).map(|advice| format!(": {advice}")).unwrap_or_default();
    format!("{}{advice}", failure.error)
}

/// The devices a person means.
pub(crate) fn selected_devices(options: &Options, exe: &Path) -> Result<Vec<DeviceHere>> {
    choose::choose(devices(exe, patience(options))?, &options.get(&args::ON_GPU))
        .map_err(CliError::Usage)
}

/// What a device did, one after the other.
pub(crate) trait Ran {
    /// Whether everything was done, and nothing is wrong.
    fn is_fine(&self) -> bool;

    /// Whether the user ended it.
    fn interrupted(&self) -> bool;

    /// For a person, as soon as it is done.
    fn write_table(&self, out: &mut dyn Write) -> io::Result<()>;
}

/// Runs something on devices, with a table of each unless JSON is wanted. A user who ends one ends all.
pub(crate) fn each<T: Ran>(
    options: &Options,
    devices: Vec<DeviceHere>,
    mut run: impl FnMut(DeviceHere) -> Result<T>,
) -> Result<Vec<T>> {
    let mut results = Vec::new();
    for here in devices {
        let result = run(here)?;
        if !options.get(&args::JSON) {
            let mut text = Vec::new();
            result.write_table(&mut text)?;
            output::write(&text)?;
        }
        let interrupted = result.interrupted();
        results.push(result);
        if interrupted {
            break;
        }
    }
    Ok(results)
}

/// Prints what was done as JSON where that is asked for, and judges it.
pub(crate) fn conclude<T: Ran + Serialize>(options: &Options, gpus: Vec<T>) -> Result<Exit> {
    #[derive(Serialize)]
    struct Results<T> {
        schema: u32,
        gpus: Vec<T>,
    }
    let exit = exit(&gpus);
    if options.get(&args::JSON) {
        output::json(&Results { schema: BENCH_SCHEMA, gpus })?;
    }
    Ok(exit)
}

/// The code that results stand for.
pub(crate) fn exit<T: Ran>(results: &[T]) -> Exit {
    if results.iter().all(T::is_fine) { Exit::Fine } else { Exit::CheckFailed }
}

/// An error where none of these is asked for.
pub(crate) fn none_matches<'a>(
    what: &str,
    asked: &Globs,
    all: impl Iterator<Item = &'a str>,
) -> CliError {
    let all = all.collect::<Vec<_>>().join(", ");
    CliError::Usage(format!("no {what} matches {asked}; {what}s: {all}"))
}

/// Why a device is not to be used now. A stand-in disturbs nobody.
pub(crate) fn blocker(options: &Options, here: &DeviceHere) -> Result<Option<String>> {
    if options.get(&args::ANYWAY) || here.device.simulated {
        return Ok(None);
    }
    let frame = first_frame_of(options)?;
    Ok(blocker_in(options, here, Some(&frame)))
}

/// What NVML shows now.
pub(crate) fn first_frame_of(options: &Options) -> Result<Frame> {
    frames::first_frame(open_source(options, AtEnd::Stop)?)
}

/// The same as [`blocker`] in what NVML shows, where it shows anything.
pub(crate) fn blocker_in(
    options: &Options,
    here: &DeviceHere,
    frame: Option<&Frame>,
) -> Option<String> {
    if options.get(&args::ANYWAY) || here.device.simulated {
        return None;
    }
    let until = Instant::now() + UTILIZATION_LAGS.min(limits(options).busy);
    let again = || {
        thread::sleep(LOOK_AGAIN);
        (Instant::now() < until).then(|| seen(first_frame_of(options).ok().as_ref(), here))
    };
    match settled(seen(frame, here), again) {
        Seen::Blocked(blocker) => Some(blocker.to_string()),
        Seen::Free => None,
        Seen::Nothing => Some(
            "NVML does not show it, so it is unknown whether other processes use it".to_owned(),
        ),
    }
}

/// What NVML shows of a device.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    /// Nothing of it.
    Nothing,
    /// It may be used.
    Free,
    /// It may not.
    Blocked(Blocker),
}

fn seen(frame: Option<&Frame>, here: &DeviceHere) -> Seen {
    let Some((frame, gpu)) = shown(frame, here) else { return Seen::Nothing };
    conditions(frame, gpu, &[]).blocker.map_or(Seen::Free, Seen::Blocked)
}

/// What is seen once a utilization that no listed process accounts for has passed, or nobody looks again.
fn settled(mut now: Seen, mut again: impl FnMut() -> Option<Seen>) -> Seen {
    while let Seen::Blocked(Blocker::Busy(_)) = now
        && let Some(newer) = again()
    {
        now = newer;
    }
    now
}

/// A device in what NVML shows.
pub(crate) fn shown<'a>(
    frame: Option<&'a Frame>,
    here: &DeviceHere,
) -> Option<(&'a Frame, &'a Gpu)> {
    let frame = frame?;
    Some((frame, frame.gpus.iter().find(|gpu| gpu.key == here.uuid)?))
}

/// The newest CUDA that the driver of a device serves.
pub(crate) fn cuda(device: &DeviceFacts) -> String {
    format!("{}.{}", device.driver_cuda / 1000, device.driver_cuda % 1000 / 10)
}

/// The device as the rules ask about it.
pub(crate) fn target(here: &DeviceHere, frame: Option<&Frame>) -> Target {
    match shown(frame, here) {
        Some((frame, gpu)) => Target::from_gpu(gpu, &frame.driver),
        None => Target {
            uuid: Some(here.uuid.clone()),
            cuda: Some(cuda(&here.device)),
            what_if: false,
            ..Target::of_sm(&*here.device.name, here.device.sm)
        },
    }
}

/// The line above what a device did.
pub(crate) fn heading(here: &DeviceHere) -> String {
    let DeviceHere { uuid, device } = here;
    let DeviceFacts { name, sm, simulated, .. } = device;
    let cuda = cuda(device);
    let simulated = if *simulated { " · simulated: no timings" } else { "" };
    format!("{name} · {sm} · {uuid} · CUDA {cuda}{simulated}")
}

/// How a kernel runs, for a table.
pub(crate) fn route_text(route: &Route) -> String {
    match route {
        Route::Native { by } => by.clone(),
        Route::Emulated { by } => format!("emulated: {by}"),
        Route::Absent { why } => format!("unavailable: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_utilization_that_nobody_accounts_for_is_looked_at_again() {
        let busy = |percent| Seen::Blocked(Blocker::Busy(percent));
        let mut later = [busy(40), Seen::Free, busy(7)].into_iter();
        assert_eq!(settled(busy(92), || later.next()), Seen::Free);
        assert_eq!(later.next(), Some(busy(7)), "not looked at once it has passed");
        assert_eq!(settled(busy(92), || None), busy(92));
        let process = Seen::Blocked(Blocker::Process(7));
        assert_eq!(settled(process.clone(), || panic!("a process is there")), process);
    }
}
