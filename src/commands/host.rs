//! `warpscope host`: what is kept of this program on other machines.

use std::fs::File;
use std::io;

use super::hosts::{Answer, build, call, digest, resolve, settled, ssh, this_program};
use super::output;
use crate::commands::cli::{CONFIG_FILE, CommandSpec, Exit, Options, Result};
use crate::config::args::{self, HostAction};
use crate::io::source::hosts::script::{FOLDER, Platform, greeting};
use crate::io::source::hosts::{HostName, Ssh, Trouble};

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "host",
    about: "Send this program to other machines, or remove it from them",
    more: "install sends this program over ssh into the user's cache folder on the host, verifies it, and starts it once. It runs only\n\
           while this machine is connected, and listens on no port. forget removes it.",
    args: &[&[&args::HOST_ACTION, &args::HOST_NAMES, &args::SSH], CONFIG_FILE],
    examples: &[
        ("host install gpu1 ana@gpu2", "so that they tell as much as this machine"),
        ("host forget gpu1", "and nothing is left there"),
    ],
    run,
    ..CommandSpec::BASE
};

fn run(options: &Options) -> Result<Exit> {
    let hosts = resolve(&options.get(&args::HOST_NAMES), options)?;
    let ssh = ssh(options)?;
    let action = options.get(&args::HOST_ACTION);
    let work = match action {
        HostAction::Install => |ssh: &_, host: &_| install(ssh, host),
        HostAction::Forget => |ssh: &_, host: &_| forget(ssh, host),
    };
    let mut exit = Exit::Fine;
    for host in &hosts {
        match work(&ssh, host) {
            Ok(done) => {
                if action == HostAction::Forget {
                    settled::forget(options, host);
                }
                output::print(&format!("{host}: {done}"))?;
            }
            Err(why) => {
                output::note(format_args!("{host}: {}; {}", why.what, why.remedy));
                exit = Exit::CheckFailed;
            }
        }
    }
    Ok(exit)
}

/// Sends this program to a host of the same kind.
pub(crate) fn install(ssh: &Ssh, host: &HostName) -> Result<String, Trouble> {
    let greeted = answer(ssh, host, &greeting("nothing"), None)?;
    let there = greeted.hello.map(|hello| hello.platform);
    let here = Platform::here();
    if there.as_ref() != Some(&here) {
        let there = there.map_or_else(|| "unknown".to_owned(), |there| there.to_string());
        return Err(Trouble {
            what: format!("it is {there}, and this program is for {here}"),
            remedy: "install a build for that platform there yourself".to_owned(),
        });
    }
    let local = |error: io::Error| Trouble {
        what: format!("this program cannot be read: {error}"),
        remedy: String::new(),
    };
    let (program, digest) = (this_program().map_err(local)?, digest().map_err(local)?);
    answer(ssh, host, &receive(&digest), Some(program))?;
    Ok(format!("sent as {FOLDER}/{}", build()))
}

fn forget(ssh: &Ssh, host: &HostName) -> Result<String, Trouble> {
    let script = format!(
        "n=0; for f in \"{FOLDER}\"/warpscope-*; do [ -e \"$f\" ] && rm -f \"$f\" && n=$((n+1)); done; \
         rmdir \"{FOLDER}\" 2>/dev/null; {}; echo \"$n\"",
        greeting("nothing")
    );
    let answer = answer(ssh, host, &script, None)?;
    match String::from_utf8_lossy(&answer.output).trim() {
        "0" => Ok("nothing was kept there".to_owned()),
        count => Ok(format!("{count} removed")),
    }
}

/// Codes with which the script of [`receive`] ends, and what they mean.
const FAILURES: &[(u8, &str, &str)] = &[
    (10, "it could not be written there", "Look for space with: ssh HOST df -h"),
    (11, "what arrived is not what was sent", "Try again."),
    (
        12,
        "it does not start there",
        "It needs glibc 2.17 or later and a folder from which programs may run.",
    ),
];

/// Writes what comes in beside its place, checks it, starts it once, and only then puts it there.
fn receive(digest: &str) -> String {
    let build = build();
    format!(
        "{greeting}; d=\"{FOLDER}\"; umask 077; t=\"$d/.new.$$\"; \
         {{ mkdir -p \"$d\" && cat > \"$t\" && chmod 700 \"$t\"; }} || {{ rm -f \"$t\"; exit 10; }}; \
         s=$(sha1sum \"$t\"); [ \"${{s%% *}}\" = {digest} ] || {{ rm -f \"$t\"; exit 11; }}; \
         \"$t\" --version >/dev/null || {{ rm -f \"$t\"; exit 12; }}; \
         mv -f \"$t\" \"$d/{build}\"",
        greeting = greeting("nothing"),
    )
}

/// The answer of a script that must end well.
fn answer(
    ssh: &Ssh,
    host: &HostName,
    script: &str,
    input: Option<File>,
) -> Result<Answer, Trouble> {
    let answer = call(ssh, host, script, input)?;
    let said = answer.words.lines().last().unwrap_or_default();
    match (answer.code, FAILURES.iter().find(|row| row.0 == answer.code)) {
        (0, _) if answer.hello.is_some() => Ok(answer),
        (_, Some((_, what, remedy))) => {
            let said = if said.is_empty() { String::new() } else { format!(" ({said})") };
            let remedy = remedy.replace("HOST", host.as_str());
            Err(Trouble { what: format!("{what}{said}"), remedy })
        }
        (code, None) => {
            let what = if said.is_empty() {
                format!("its shell ended with code {code}")
            } else {
                said.to_owned()
            };
            Err(Trouble::of(&what, host))
        }
    }
}
