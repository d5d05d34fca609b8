//! Who runs what: the clock, the environment, and the repository around the working folder.

mod changes;
mod index;
mod repository;
#[cfg(test)]
mod tests;
mod tree;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use warpscope_probes::Frame;

use crate::runs::run_log::{Device, Dirty, Identity};
use changes::Budget;
use repository::Repository;

/// How long is looked for commit and changes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of changed files that are read.
const MAX_READ: u64 = 16 << 20;

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The day, as findings are dated: `2026-11-21`.
pub(crate) fn today() -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.chars().take("2026-11-21".len()).collect()
}

/// A run of this command, here and now, without its repository.
pub(crate) fn begun(command: Vec<String>) -> Identity {
    let random = RandomState::new().build_hasher().finish();
    let mut identity = Identity {
        id: Some(format!("{random:016x}")),
        at_ms: now_ms(),
        warpscope: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        ..Identity::default()
    };
    identity.take_environment(|name| std::env::var(name).ok());
    identity
}

/// A run of this command, here and now. Takes as long as [`Checkout::find`].
pub(crate) fn here(command: Vec<String>) -> Identity {
    let mut identity = begun(command);
    Checkout::find().put_into(&mut identity);
    identity
}

/// The branch that is checked out in the working folder.
pub(crate) fn branch() -> Option<String> {
    Repository::around(&std::env::current_dir().ok()?)?.branch()
}

/// What is checked out in the working folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Checkout {
    commit: Option<String>,
    dirty: Dirty,
}

impl Checkout {
    /// Looks for at most [`PATIENCE`], also where a file system does not answer.
    pub(crate) fn find() -> Self {
        let until = Instant::now() + PATIENCE;
        let budget = Budget { until, bytes: MAX_READ };
        std::env::current_dir().map_or_else(|_| Self::default(), |folder| Self::of(folder, budget))
    }

    fn of(folder: PathBuf, budget: Budget) -> Self {
        let (sender, answers) = channel();
        // Left behind where it does not come back in time.
        std::thread::spawn(move || {
            let repository = Repository::around(&folder)?;
            let commit = repository.head()?;
            let dirty = Dirty::Unknown;
            sender.send(Self { commit: Some(commit.clone()), dirty }).ok()?;
            let dirty = changes::dirty(&repository, &commit, budget);
            sender.send(Self { commit: Some(commit), dirty }).ok()
        });
        let mut found = Self::default();
        loop {
            let left = budget.until.saturating_duration_since(Instant::now());
            // A thread that stopped at its deadline is about to answer.
            match answers.recv_timeout(left + Duration::from_millis(100)) {
                Ok(more) => found = more,
                Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => return found,
            }
        }
    }

    /// Writes it down.
    pub(crate) fn put_into(self, identity: &mut Identity) {
        identity.commit = self.commit;
        identity.dirty = self.dirty;
    }
}

/// What this program was started with, as text.
pub(crate) fn own_command() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// What a process was started with; empty where the system does not tell.
pub(crate) fn command_of(pid: u32) -> Vec<String> {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = words.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Driver and GPUs, as a frame shows them.
pub(crate) fn add_machine(run: &mut Identity, frame: &Frame) {
    run.driver = frame.driver.versions.driver.last().cloned();
    run.cuda = frame.driver.versions.cuda.last().cloned();
    run.cpu = frame.host.machine.cpu_name.last().cloned();
    let real = frame.gpus.iter().filter(|gpu| !gpu.key.starts_with("what-if:"));
    run.devices = real
        .map(|gpu| Device {
            name: gpu.identity.name.last().cloned().unwrap_or_default(),
            uuid: gpu.identity.uuid.last().cloned(),
            sm: gpu.identity.sm.last().map(ToString::to_string),
            vbios: gpu.identity.vbios.last().cloned(),
        })
        .collect();
}
