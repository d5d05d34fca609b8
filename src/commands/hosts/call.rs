//! One command on another machine, from its start to its end.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::io::source::hosts::script::Hello;
use crate::io::source::hosts::{HostName, PATIENCE, Ssh, Trouble};

/// Longest output, and longest that is said beside it.
const OUTPUT_MAX: u64 = 64 << 20;
const WORDS_MAX: u64 = 64 << 10;
/// Longest banner before the greeting.
const BANNER_MAX: u64 = 256 << 10;
/// The code with which ssh ends when it did not get through.
const NO_CONNECTION: i32 = 255;

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Who answered, where somebody greeted.
    pub(crate) hello: Option<Hello>,
    /// What it printed after that.
    pub(crate) output: Vec<u8>,
    /// What it said on standard error.
    pub(crate) words: String,
    /// The code it ended with.
    pub(crate) code: u8,
}

/// Runs a script of `sh` on a host, with this file as its input. An error: there was no connection.
pub(crate) fn call(
    ssh: &Ssh,
    host: &HostName,
    script: &str,
    input: Option<File>,
) -> Result<Answer, Trouble> {
    call_within(PATIENCE, ssh, host, script, input)
}

/// The same of a host that must greet within this time.
fn call_within(
    patience: Duration,
    ssh: &Ssh,
    host: &HostName,
    script: &str,
    input: Option<File>,
) -> Result<Answer, Trouble> {
    let words = ssh.words(host, script);
    let not_started =
        |error| Trouble { what: format!("ssh does not start: {error}"), remedy: String::new() };
    let [program, words @ ..] = &words[..] else {
        return Err(not_started(std::io::ErrorKind::InvalidInput.into()));
    };
    let mut command = Command::new(program);
    command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(input.map_or_else(Stdio::null, Stdio::from));
    let mut child = command.spawn().map_err(not_started)?;
    let said =
        child.stderr.take().map(|stderr| thread::spawn(move || beginning(stderr, WORDS_MAX)));
    let (greet, greeting) = channel();
    let read = child.stdout.take().map(|stdout| thread::spawn(move || greeted(stdout, &greet)));
    let hello = match greeting.recv_timeout(patience) {
        Ok(hello) => Some(hello),
        Err(RecvTimeoutError::Disconnected) => None,
        Err(RecvTimeoutError::Timeout) => {
            // What it started may hold its pipes, which nobody waits for.
            child.kill().and_then(|()| child.wait()).map_err(not_started)?;
            return Err(Trouble::of(&format!("no answer within {} s", patience.as_secs()), host));
        }
    };
    let output = read.and_then(|read| read.join().ok()).unwrap_or_default();
    let status = child.wait().map_err(not_started)?;
    let words = said.and_then(|said| said.join().ok()).unwrap_or_default();
    let words = String::from_utf8_lossy(&words).trim().to_owned();
    match status.code() {
        Some(NO_CONNECTION) if hello.is_none() => {
            Err(Trouble::of(words.lines().last().unwrap_or("ssh did not get through"), host))
        }
        code => Ok(Answer {
            hello,
            output,
            words,
            code: code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
        }),
    }
}

/// Passes on the greeting, and reads what comes after it; without one, everything.
fn greeted(output: impl Read, greet: &Sender<Hello>) -> Vec<u8> {
    let mut output = BufReader::new(output);
    let mut before = Vec::new();
    loop {
        let from = before.len();
        let left = BANNER_MAX.saturating_sub(from as u64);
        let more = output.by_ref().take(left).read_until(b'\n', &mut before);
        if !more.is_ok_and(|count| count > 0) {
            return before;
        }
        if let Some(hello) = Hello::parse(&String::from_utf8_lossy(&before[from..])) {
            // Who waited has given up.
            greet.send(hello).ok();
            return beginning(output, OUTPUT_MAX);
        }
    }
}

/// The beginning of an input; the rest is read, so that its writer does not wait, and forgotten.
fn beginning(mut input: impl Read, most: u64) -> Vec<u8> {
    let mut kept = Vec::new();
    // An input that fails has ended.
    input.by_ref().take(most).read_to_end(&mut kept).ok();
    std::io::copy(&mut input, &mut std::io::sink()).ok();
    kept
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_host_that_does_not_greet_is_given_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ssh");
        std::fs::write(&path, "#!/bin/sh\nexec sleep 1000\n").expect("is written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("is there");
        let ssh = Ssh::new(path.to_str().expect("is text")).expect("a command");
        let host = "gpu1".parse().expect("a name");
        let answer = call_within(Duration::from_millis(10), &ssh, &host, "true", None);
        assert!(answer.is_err_and(|why| why.what.contains("no answer within")));
    }
}
