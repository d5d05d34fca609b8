//! Sends this program to hosts that lack it, where the user wants that.

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::thread;

use serde::{Deserialize, Serialize};

use super::{build, call};
use crate::commands::cli::Options;
use crate::commands::host::install;
use crate::commands::output;
use crate::config::args::{self, Install};
use crate::config::state_folder;
use crate::io::sink::state_file;
use crate::io::source::hosts::script::{Means, run_warpscope};
use crate::io::source::hosts::{HostName, Ssh};

/// Where it is remembered which hosts need not be asked about again.
const FILE: &str = "hosts.json";
/// Longest answer that is read.
const LONGEST: u64 = 64;

/// Hosts that need not be looked at, as of one version of this program.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Settled {
    build: String,
    /// Those that have warpscope.
    hosts: BTreeSet<String>,
    /// Those whose user wants none there.
    #[serde(default)]
    declined: BTreeSet<String>,
}

impl Settled {
    /// What is remembered, unless another version did.
    fn read(file: &Path) -> Self {
        let parsed = |text: &str| serde_json::from_str(text).map_err(|why| why.to_string());
        let remembered = state_file::read(file, parsed).ok();
        remembered
            .filter(|settled: &Self| settled.build == build())
            .unwrap_or_else(|| Self { build: build(), ..Self::default() })
    }

    fn write(&self, file: &Path) {
        if let Err(error) = state_file::write(file, self) {
            output::note(format_args!("{}: {error}", file.display()));
        }
    }

    /// Whether a host need not be looked at. Who wants the program everywhere does not decline it.
    fn has(&self, host: &HostName, choice: Install) -> bool {
        let is_declined = || choice != Install::Always && self.declined.contains(host.as_str());
        self.hosts.contains(host.as_str()) || is_declined()
    }

    fn forget(&mut self, host: &HostName) {
        self.hosts.remove(host.as_str());
        self.declined.remove(host.as_str());
    }
}

fn file(options: &Options) -> Option<PathBuf> {
    state_folder(&options.env).map(|folder| folder.join(FILE))
}

/// Looks at a host anew when it is next named: nothing is kept there any more.
pub(crate) fn forget(options: &Options, host: &HostName) {
    if let Some(file) = file(options).filter(|file| file.exists()) {
        let mut settled = Settled::read(&file);
        settled.forget(host);
        settled.write(&file);
    }
}

/// Looks which hosts lack warpscope, once for each, and sends it there where the options say so or the user does.
pub(crate) fn offer(options: &Options, hosts: &[HostName], ssh: &Ssh) {
    let choice = options.get(&args::INSTALL);
    let can_ask = io::stdin().is_terminal() && io::stderr().is_terminal();
    if choice == Install::Never || (choice == Install::Ask && !can_ask) {
        return;
    }
    let file = file(options);
    let mut settled = file.as_deref().map(Settled::read).unwrap_or_default();
    let open: Vec<&HostName> = hosts.iter().filter(|host| !settled.has(host, choice)).collect();
    if open.is_empty() {
        return;
    }
    let found = each(&open, |host| has_warpscope(ssh, host));
    let lacking: Vec<&HostName> = with(&open, &found, Some(false));
    note(&mut settled.hosts, &with(&open, &found, Some(true)));
    if !lacking.is_empty() && (choice == Install::Always || agrees(&lacking)) {
        let sent = each(&lacking, |host| Some(send(ssh, host)));
        note(&mut settled.hosts, &with(&lacking, &sent, Some(true)));
    } else {
        note(&mut settled.declined, &lacking);
    }
    if let Some(file) = file {
        settled.write(&file);
    }
}

fn note(among: &mut BTreeSet<String>, hosts: &[&HostName]) {
    among.extend(hosts.iter().map(|host| host.to_string()));
}

/// Hosts of which this was found.
fn with<'a>(
    hosts: &[&'a HostName],
    found: &[Option<bool>],
    wanted: Option<bool>,
) -> Vec<&'a HostName> {
    hosts.iter().zip(found).filter(|(_, found)| **found == wanted).map(|(host, _)| *host).collect()
}

/// Asks all hosts at once.
fn each(hosts: &[&HostName], ask: impl Fn(&HostName) -> Option<bool> + Sync) -> Vec<Option<bool>> {
    thread::scope(|scope| {
        let asked: Vec<_> = hosts.iter().map(|host| scope.spawn(|| ask(host))).collect();
        asked.into_iter().map(|asked| asked.join().unwrap_or(None)).collect()
    })
}

/// Whether warpscope is there; nothing where there is no connection.
fn has_warpscope(ssh: &Ssh, host: &HostName) -> Option<bool> {
    let script = run_warpscope(&build(), &["--version"], ":");
    let hello = call(ssh, host, &script, None).ok()?.hello?;
    Some(hello.means == Means::Warpscope)
}

/// Whether it was sent; why not is said.
fn send(ssh: &Ssh, host: &HostName) -> bool {
    match install(ssh, host) {
        Ok(done) => {
            output::note(format_args!("{host}: {done}"));
            true
        }
        Err(why) => {
            output::note(format_args!("{host}: {}; {}", why.what, why.remedy));
            false
        }
    }
}

/// Asks the user, who is asked once.
fn agrees(hosts: &[&HostName]) -> bool {
    let names: Vec<&str> = hosts.iter().map(|host| host.as_str()).collect();
    let names = names.join(", ");
    output::note(format_args!(
        "warpscope is not installed on {names}. Send this program into the cache folder there? `warpscope host forget` removes it. [y/N]"
    ));
    let mut answer = String::new();
    // Without an answer nothing is sent.
    let _ = io::stdin().lock().take(LONGEST).read_line(&mut answer);
    answer.trim().eq_ignore_ascii_case("y") || answer.trim().eq_ignore_ascii_case("yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_whose_user_declined_is_looked_at_where_the_program_is_always_sent() {
        let name = |text: &str| text.parse::<HostName>().expect("a name");
        let mut settled = Settled::default();
        note(&mut settled.hosts, &[&name("has")]);
        note(&mut settled.declined, &[&name("declined")]);
        for (host, choice, want) in [
            ("has", Install::Ask, true),
            ("has", Install::Always, true),
            ("declined", Install::Ask, true),
            ("declined", Install::Always, false),
            ("new", Install::Ask, false),
        ] {
            assert_eq!(settled.has(&name(host), choice), want, "{host} {choice:?}");
        }
        ["has", "declined"].iter().for_each(|host| settled.forget(&name(host)));
        assert_eq!(settled, Settled::default());
    }
}
