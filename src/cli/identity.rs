//! Who runs what: asked of git, the environment and the clock.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use warpscope_probes::Frame;

use crate::bench::journal::{Device, Identity};

/// Milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A run of this command, here and now.
pub(super) fn here(command: Vec<String>) -> Identity {
    let mut identity = Identity {
        at_ms: now_ms(),
        warpscope: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        commit: git(&["rev-parse", "HEAD"]).map(|text| text.trim().to_owned()),
        ..Identity::default()
    };
    if identity.commit.is_some() {
        let change = git(&["diff", "HEAD", "--binary"]).filter(|change| !change.is_empty());
        identity.dirty = change.map(|change| {
            let mut hasher = DefaultHasher::new();
            change.hash(&mut hasher);
            format!("{:016x}", hasher.finish())
        });
    }
    identity.take_environment(|name| std::env::var(name).ok());
    identity
}

/// What this program was started with, as text.
pub(super) fn own_command() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// What a process was started with; empty where the system does not tell.
pub(super) fn command_of(pid: u32) -> Vec<String> {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = words.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Driver and GPUs, as a frame shows them.
pub(super) fn add_machine(run: &mut Identity, frame: &Frame) {
    run.driver = frame.driver.versions.driver.last().cloned();
    run.cuda = frame.driver.versions.cuda.last().cloned();
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

/// What git says of the working folder; nothing where there is no git or no repository.
fn git(words: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    git.args(["--no-optional-locks"]).args(words).stdin(Stdio::null()).stderr(Stdio::null());
    let output = git.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
