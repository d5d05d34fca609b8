//! Who runs what: asked of git, the environment and the clock.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use crate::bench::journal::Identity;

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

/// What git says of the working folder; nothing where there is no git or no repository.
fn git(words: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    git.args(["--no-optional-locks"]).args(words).stdin(Stdio::null()).stderr(Stdio::null());
    let output = git.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
