//! The signals that end a recording: each is written down, and the program gets it too.

use std::io;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::Sender;

use super::Event;
use crate::commands::record::family::stat;

const ENDINGS: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM];

/// Sends an event for each of them. One that was ignored from the start stays so, here and in the program: `nohup` and background jobs of
/// scripts rely on it, and a handler would undo it.
pub(crate) fn watch(sender: &Sender<Event>) -> io::Result<()> {
    let ignored = ignored();
    for ending in ENDINGS.into_iter().filter(|ending| ignored >> (ending.as_raw() - 1) & 1 == 0) {
        let mut signals = signal(SignalKind::from_raw(ending.as_raw()))?;
        let sender = sender.downgrade();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                let Some(sender) = sender.upgrade() else { return };
                let _ = sender.send(Event::Signal(ending)).await;
            }
        });
    }
    Ok(())
}

/// The signals this process ignores, one bit each; the hang-up where that cannot be known.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(1)
}

/// Passes a signal on, unless the terminal sent it to the program as well: two interrupts would end what one only asks to end.
pub(crate) fn pass(child: &Child, signal: Signal) {
    if !(matches!(signal, Signal::INT | Signal::QUIT) && terminal_reaches(child.id())) {
        send(child, signal);
    }
}

/// Sends a signal. A child that has ended keeps its number until its exit code is taken, so no other process is hit.
pub(crate) fn send(child: &Child, signal: Signal) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Whether a key of the terminal signals both this process and another.
fn terminal_reaches(other: u32) -> bool {
    let own = std::process::id();
    let group = stat(own, 2);
    let foreground = stat(own, 5);
    group.is_some() && foreground == group && stat(other, 2) == group
}
