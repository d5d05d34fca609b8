//! Sends this program to hosts that lack it, where the user wants that.

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
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

/// Hosts that have warpscope, or whose user wants none there, as of one version of this program.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Settled {
    build: String,
    hosts: BTreeSet<String>,
}

/// Looks which hosts lack warpscope, once for each, and sends it there where the options say so or the user does.
pub(crate) fn offer(options: &Options, hosts: &[HostName], ssh: &Ssh) {
    let choice = options.get(&args::INSTALL);
    let can_ask = io::stdin().is_terminal() && io::stderr().is_terminal();
    if choice == Install::Never || (choice == Install::Ask && !can_ask) {
        return;
    }
    let file = state_folder(&options.env).map(|folder| folder.join(FILE));
    let remembered = file.as_ref().and_then(|file| {
        state_file::read(file, |text| serde_json::from_str(text).map_err(|why| why.to_string()))
            .ok()
    });
    let mut settled: Settled = remembered.unwrap_or_default();
    if settled.build != build() {
        settled = Settled { build: build(), hosts: BTreeSet::new() };
    }
    let open: Vec<&HostName> =
        hosts.iter().filter(|host| !settled.hosts.contains(host.as_str())).collect();
    if open.is_empty() {
        return;
    }
    let found = each(&open, |host| has_warpscope(ssh, host));
    let lacking: Vec<&HostName> = with(&open, &found, Some(false));
    settle(&mut settled, &with(&open, &found, Some(true)));
    if !lacking.is_empty() && (choice == Install::Always || agrees(&lacking)) {
        let sent = each(&lacking, |host| Some(send(ssh, host)));
        settle(&mut settled, &with(&lacking, &sent, Some(true)));
    } else {
        settle(&mut settled, &lacking);
    }
    if let Some(file) = file
        && let Err(error) = state_file::write(&file, &settled)
    {
        output::note(format_args!("{}: {error}", file.display()));
    }
}

fn settle(settled: &mut Settled, hosts: &[&HostName]) {
    settled.hosts.extend(hosts.iter().map(|host| host.to_string()));
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
