//! Other machines that options name: which they are, and commands that run over there.

mod call;
mod checks;
pub(crate) mod offer;
mod plans;
pub(crate) mod settled;
mod ssh_config;
pub(crate) mod there;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::LazyLock;

use sha1_smol::Sha1;
use warpscope_probes::trust;

pub(crate) use self::call::{Answer, call};
use crate::commands::cli::{CliError, Options, Result};
use crate::config::args;
use crate::io::source::hosts::{HostName, Ssh};
use crate::text::fits;

/// Most hosts at once: each is a process here.
const MOST: usize = 256;

/// The hosts that `--host` names, each once, in their order: of a group of the configuration, a pattern of ssh's configuration, or themselves.
pub(crate) fn named(options: &Options) -> Result<Vec<HostName>> {
    resolve(&options.get(&args::HOSTS), options)
}

/// The same, of any names.
pub(crate) fn resolve(names: &[String], options: &Options) -> Result<Vec<HostName>> {
    let mut hosts = Vec::new();
    for name in names {
        if let Some(group) = options.hosts.get(name) {
            hosts.extend(group.iter().cloned());
        } else if name.contains(['*', '?']) {
            hosts.extend(matching(name, options)?);
        } else {
            hosts.push(name.clone());
        }
    }
    let mut seen = BTreeSet::new();
    hosts.retain(|host| seen.insert(host.clone()));
    if hosts.len() > MOST {
        return Err(CliError::Usage(format!(
            "--host: {} hosts; at most {MOST} are read at once",
            hosts.len()
        )));
    }
    hosts.iter().map(|host| host.parse().map_err(CliError::Usage)).collect()
}

fn matching(pattern: &str, options: &Options) -> Result<Vec<String>> {
    let home = options.env.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let known = home.map(|home| ssh_config::hosts(&home.join(".ssh"))).unwrap_or_default();
    let fitting: Vec<String> = known.into_iter().filter(|host| fits(pattern, host)).collect();
    if fitting.is_empty() {
        return Err(CliError::Usage(format!("--host {pattern}: no Host of ~/.ssh/config fits it")));
    }
    Ok(fitting)
}

/// The command that connects. With elevated privileges there is none: it would be the caller's choice.
pub(crate) fn ssh(options: &Options) -> Result<Ssh> {
    if let Some(why) = trust::elevated() {
        return Err(CliError::Usage(format!("--host: {why}, so no other program is started")));
    }
    let command = options.get(&args::SSH);
    Ssh::new(&command).ok_or_else(|| CliError::usage("--ssh: the command is empty"))
}

/// Name under which this program is kept on other machines: version and content.
pub(crate) fn build() -> String {
    static NAME: LazyLock<String> = LazyLock::new(|| {
        let version = env!("CARGO_PKG_VERSION");
        // A program that cannot read itself was never sent either.
        let digest = digest().unwrap_or_default();
        format!("warpscope-{version}-{}", &digest[..digest.len().min(12)])
    });
    NAME.clone()
}

/// SHA-1 of this program, in hexadecimal: against a broken copy, ssh sees to the rest.
pub(crate) fn digest() -> io::Result<String> {
    let mut sha1 = Sha1::new();
    let mut program = this_program()?;
    let mut chunk = vec![0; 1 << 20];
    loop {
        match program.read(&mut chunk)? {
            0 => return Ok(sha1.digest().to_string()),
            count => sha1.update(&chunk[..count]),
        }
    }
}

/// This very program, also when its file was replaced meanwhile.
pub(crate) fn this_program() -> io::Result<File> {
    File::open("/proc/self/exe")
}
