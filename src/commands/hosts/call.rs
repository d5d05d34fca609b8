//! One command on another machine, from its start to its end.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::thread;

use crate::io::source::hosts::script::Hello;
use crate::io::source::hosts::{HostName, Ssh, Trouble};

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
    let (hello, output) = child.stdout.take().map(greeted).unwrap_or_default();
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

/// The greeting, and what comes after it; without one, everything.
fn greeted(output: impl Read) -> (Option<Hello>, Vec<u8>) {
    let mut output = BufReader::new(output);
    let mut before = Vec::new();
    loop {
        let from = before.len();
        let left = BANNER_MAX.saturating_sub(from as u64);
        let more = output.by_ref().take(left).read_until(b'\n', &mut before);
        if !more.is_ok_and(|count| count > 0) {
            return (None, before);
        }
        let hello = Hello::parse(&String::from_utf8_lossy(&before[from..]));
        if hello.is_some() {
            return (hello, beginning(output, OUTPUT_MAX));
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
