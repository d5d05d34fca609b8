//! One run of a program of the user, in a process group of its own, killed as a whole when its time is over.

use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// Most of its output that is kept.
pub(crate) const MAX_OUTPUT: usize = 16 << 20;
/// Time between two looks at whether to go on.
const LOOK: Duration = Duration::from_millis(50);
/// How long output is waited for that somebody else still holds open.
const TAIL: Duration = Duration::from_secs(1);

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Exit(ExitStatus),
    /// Killed at its time limit.
    Timeout,
    /// Killed because the command ends.
    Stopped,
}

/// A run that ended.
pub(crate) struct Ended {
    pub(crate) end: End,
    /// From its start to its end; output that others still held open was waited for after that.
    pub(crate) took: Duration,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// What the threads around a program tell.
enum Event {
    /// It has ended and still has its process number.
    Ended,
    /// One of its outputs is closed.
    Closed,
}

/// Runs a program to its end, its limit, or until `stop` says so.
pub(crate) fn run(
    words: &[String],
    folder: &Path,
    limit: Duration,
    stop: &dyn Fn() -> bool,
) -> io::Result<Ended> {
    let (name, rest) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(name);
    command.args(rest).current_dir(folder).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let begun = Instant::now();
    let mut child = command.spawn()?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (sender, events) = channel();
    let outputs = [
        child.stdout.take().map(|pipe| collect(pipe, &sender)),
        child.stderr.take().map(|pipe| collect(pipe, &sender)),
    ];
    std::thread::spawn(move || {
        // The number of the group stays taken until it is killed.
        wait_for_end(group);
        let _ = sender.send(Event::Ended);
    });
    let deadline = begun + limit;
    let mut open = outputs.iter().flatten().count();
    let killed = loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match events.recv_timeout(left.min(LOOK)) {
            Ok(Event::Ended) | Err(RecvTimeoutError::Disconnected) => break None,
            Ok(Event::Closed) => open -= 1,
            Err(RecvTimeoutError::Timeout) if stop() => break Some(End::Stopped),
            Err(RecvTimeoutError::Timeout) if left.is_zero() => break Some(End::Timeout),
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    let took = begun.elapsed();
    // Also after a good end: what it left behind would disturb the next run.
    let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    let status = child.wait()?;
    let deadline = Instant::now() + TAIL;
    while open > 0
        && let Ok(event) = events.recv_timeout(deadline.saturating_duration_since(Instant::now()))
    {
        open -= usize::from(matches!(event, Event::Closed));
    }
    let [stdout, stderr] = outputs.map(|output| output.map_or_else(Vec::new, |kept| taken(&kept)));
    Ok(Ended { end: killed.unwrap_or(End::Exit(status)), took, stdout, stderr })
}

/// Waits for a child and leaves its exit code, so that its number stays taken.
pub(crate) fn wait_for_end(child: Option<Pid>) {
    if let Some(pid) = child {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
    }
}

type Kept = Arc<Mutex<Vec<u8>>>;

fn taken(kept: &Kept) -> Vec<u8> {
    std::mem::take(&mut kept.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Reads to the end, keeps the beginning.
fn collect(mut pipe: impl Read + Send + 'static, sender: &Sender<Event>) -> Kept {
    let kept = Kept::default();
    let (ours, sender) = (Arc::clone(&kept), sender.clone());
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let mut kept = ours.lock().unwrap_or_else(PoisonError::into_inner);
                    let room = (MAX_OUTPUT + 1).saturating_sub(kept.len()).min(count);
                    kept.extend_from_slice(&buffer[..room]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let _ = sender.send(Event::Closed);
    });
    kept
}

/// A bad end in words; `None` for a good one.
pub(crate) fn complaint(status: ExitStatus) -> Option<String> {
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("ends with {code}")),
        (None, Some(signal)) => Some(format!("killed by signal {signal}")),
        (None, None) => Some("ends for an unknown reason".to_owned()),
    }
}

/// The first lines that say something.
pub(crate) fn head(bytes: &[u8], lines: usize) -> Vec<String> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(64 << 10)]);
    let lines = text.lines().filter(|line| !line.trim().is_empty()).take(lines);
    lines.map(|line| line.chars().take(300).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, seconds: u64, stop: &dyn Fn() -> bool) -> Ended {
        let words = ["sh", "-c", script].map(str::to_owned);
        run(&words, Path::new("/"), Duration::from_secs(seconds), stop).expect("starts")
    }

    #[test]
    fn output_and_end_are_told_apart() {
        let ended = sh("echo out; echo err >&2; exit 3", 30, &|| false);
        assert_eq!((&ended.stdout[..], &ended.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
        let End::Exit(status) = ended.end else { panic!("{:?}", ended.end) };
        assert_eq!(complaint(status).as_deref(), Some("ends with 3"));
        let End::Exit(status) = sh("kill -SEGV $$", 30, &|| false).end else { panic!() };
        assert_eq!(complaint(status).as_deref(), Some("killed by signal 11"));
    }

    #[test]
    fn a_hang_is_killed_with_its_children_and_what_it_said_is_kept() {
        let start = Instant::now();
        let ended = sh("echo before; sleep 1000 & sleep 1000", 1, &|| false);
        assert_eq!((ended.end, &ended.stdout[..]), (End::Timeout, &b"before\n"[..]));
        assert_eq!(sh("sleep 1000", 1000, &|| true).end, End::Stopped);
        assert!(start.elapsed() < Duration::from_secs(60), "nobody waited for the sleepers");
    }

    #[test]
    fn what_a_program_leaves_behind_is_ended_with_it() {
        let start = Instant::now();
        let ended = sh("sleep 1000 & echo done", 500, &|| false);
        assert!(matches!(ended.end, End::Exit(_)) && ended.stdout == b"done\n");
        assert!(start.elapsed() < Duration::from_secs(60));
    }

    /// The sleeper is in a session of its own and keeps the output open: it is not ended, and its output is waited for.
    #[test]
    fn output_that_others_hold_open_is_waited_for_and_not_counted() {
        let start = Instant::now();
        let folder = tempfile::tempdir().expect("a folder");
        let ready = folder.path().join("ready").display().to_string();
        let apart = format!("setsid sh -c 'echo $$; : >{ready}; exec sleep 600' &");
        let ended = sh(&format!("{apart} until test -e {ready}; do :; done"), 500, &|| false);
        assert!(start.elapsed() >= TAIL && ended.took < start.elapsed() - TAIL / 2);
        let pid = String::from_utf8(ended.stdout).expect("is text").trim().parse().expect("a pid");
        let pid = Pid::from_raw(pid).expect("a process");
        rustix::process::kill_process(pid, Signal::KILL).expect("still runs");
    }

    #[test]
    fn endless_output_is_cut() {
        let ended = sh("head -c 20000000 /dev/zero", 100, &|| false);
        assert_eq!(ended.stdout.len(), MAX_OUTPUT + 1);
    }
}
