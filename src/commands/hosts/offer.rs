//! Sends this program to hosts that lack it, where the user wants that.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::thread;

use super::settled::{Settled, file, note};
use super::{build, call};
use crate::commands::cli::Options;
use crate::commands::host::install;
use crate::commands::output;
use crate::config::args::{self, Install};
use crate::io::source::hosts::script::{Means, run_warpscope};
use crate::io::source::hosts::{HostName, Ssh};

/// Longest answer that is read.
const LONGEST: u64 = 64;

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
