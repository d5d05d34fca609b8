//! Which libraries of those found on a machine may be loaded: loading one runs its code.
//!
//! A library counts as the user's own choice when nobody but root and the user could have put it there or can change it: every folder on the
//! way, every symbolic link and the file belong to one of them, and nobody else may write. What the user names on the command line needs
//! none of this. The path that is given back leads through no symbolic link up to its last name, so that between the check and the loading
//! only root and the user themselves can put something else there. Loading the very descriptor that was checked, as `/proc/self/fd/N`, would
//! close even that gap, but the loader would then take `$ORIGIN` for `/proc/self/fd` and not find what lies beside the library.

mod caller;
mod dependencies;
mod mounts;
mod policy;
mod secure;
#[cfg(test)]
mod tests;
mod walk;

use std::path::{Path, PathBuf};

use crate::text::printable;
use caller::Credentials;
pub use walk::Refused;

/// The path under which a library that was found may be loaded.
pub fn check(path: &Path) -> Result<PathBuf, Refused> {
    dependencies::check(path, Credentials::of_process().trustees())
}

/// The user whose libraries count as the user's own.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Why this process may do more than the user who started it, where it may. That user's words then do not decide what code it runs.
pub fn elevated() -> Option<&'static str> {
    Credentials::of_process().elevated()
}

/// A library that the user named: as named, unless the process may do more than that user.
pub fn as_named(path: &Path) -> Result<PathBuf, Refused> {
    match elevated() {
        None => Ok(path.to_owned()),
        Some(_) => check(path),
    }
}

/// Refused libraries that are named.
const MOST_SHOWN: usize = 8;

/// Libraries that were found, and what becomes of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vetted {
    /// May be loaded, in this order.
    pub load: Vec<PathBuf>,
    /// Are refused, each with the reason.
    pub refused: Vec<(PathBuf, String)>,
}

impl Vetted {
    /// Checks each of the libraries found.
    pub fn of(found: impl IntoIterator<Item = PathBuf>) -> Self {
        let trustees = Credentials::of_process().trustees();
        let mut vetted = Self::default();
        for path in found {
            match dependencies::check(&path, trustees) {
                Ok(path) if vetted.load.contains(&path) => {}
                // Paths go to the processes that load them as text.
                Ok(path) if path.to_str().is_none() => {
                    vetted.refused.push((path, "its name is not UTF-8".to_owned()));
                }
                Ok(path) => vetted.load.push(path),
                Err(why) => vetted.refused.push((path, why.to_string())),
            }
        }
        vetted
    }

    /// What is said before anything is loaded: what that will be, and what not. `named` says how the user names a library of this kind.
    pub fn lines(&self, kind: &str, named: &str) -> Vec<String> {
        let from = |path: &PathBuf| match path.is_absolute() {
            true => text(path),
            false => format!("where the loader finds {}", text(path)),
        };
        let loads: Vec<String> = self.load.iter().map(from).collect();
        let loads =
            (!loads.is_empty()).then(|| format!("loads {kind} from {}", loads.join(", or else ")));
        let how = format!("to load one of these all the same, {named}");
        let how = (!self.refused.is_empty()).then_some(how);
        loads.into_iter().chain(self.refusals()).chain(how).collect()
    }

    /// The libraries that are refused, a line each.
    pub fn refusals(&self) -> impl Iterator<Item = String> {
        let shown = self.refused.iter().take(MOST_SHOWN);
        let lines = shown.map(|(path, why)| format!("not loaded: {} ({why})", text(path)));
        let more = self.refused.len().saturating_sub(MOST_SHOWN);
        lines.chain((more > 0).then(|| format!("not loaded: {more} more")))
    }
}

fn text(path: &Path) -> String {
    printable(&path.to_string_lossy())
}
