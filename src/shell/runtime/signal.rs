use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use warpscope_probes::host_provider;

use crate::features::processes::SIGNALS;

/// How far two answers about the start of one process may lie apart: the clock may be adjusted between them.
const SLACK_MS: u64 = 2000;

/// Sends a signal, and says what became of it.
///
/// The process is held by a descriptor while its start time is compared, so a pid that was
/// given to somebody else since the screen was drawn is not hit.
pub(crate) fn send(pid: u32, signal: i32, started_at: Option<u64>) -> String {
    let name = SIGNALS.iter().find(|row| row.0 == signal).map_or("?", |row| row.1);
    let target = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let (Some(target), Some(number)) = (target, Signal::from_named_raw(signal)) else {
        return format!("{pid} is not a process id.");
    };
    let held = match pidfd_open(target, PidfdFlags::empty()) {
        Ok(held) => held,
        Err(error) => return format!("SIG{name} not sent to {pid}: {error}."),
    };
    let now = host_provider::started_at(Path::new("/proc"), pid).map(|at| at.0);
    let same = started_at.zip(now).is_some_and(|(shown, now)| shown.abs_diff(now) <= SLACK_MS);
    if !same {
        return format!("SIG{name} not sent: {pid} is no longer the process that was shown.");
    }
    match pidfd_send_signal(held, number) {
        Ok(()) => format!("Sent SIG{name} to {pid}."),
        Err(error) => format!("SIG{name} not sent to {pid}: {error}."),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_signal_reaches_only_the_process_that_was_shown() {
        // Waits for its input, which stays open until the end of this test.
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("starts cat");
        let pid = child.id();
        let started = host_provider::started_at(Path::new("/proc"), pid).expect("runs").0;
        for shown in [None, Some(started - 60_000), Some(0)] {
            let answer = send(pid, 15, shown);
            assert!(answer.contains("no longer the process that was shown"), "{answer}");
        }
        assert!(send(pid, 999, Some(started)).contains("is not"), "no such signal");
        assert!(child.try_wait().expect("is asked").is_none(), "still runs");
        assert_eq!(send(pid, 15, Some(started)), format!("Sent SIGTERM to {pid}."));
        assert_eq!(child.wait().expect("ends").signal(), Some(15));
        assert!(send(pid, 15, Some(started)).starts_with("SIGTERM not sent"));
    }
}
