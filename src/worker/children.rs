//! Child processes of this program: they stop, continue and end with it.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, kill_process, set_parent_process_death_signal};
use rustix::stdio::stdin;

/// How long a child may go on after its parent closed its input: what it does may hang inside a driver.
const FAREWELL: Duration = Duration::from_secs(5);

static CHILDREN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A child that stops and continues with this process, for as long as this value lives.
pub struct Companion(u32);

impl Companion {
    /// The child with this process id. To be dropped when it was waited for: the id may then be given to another process.
    pub fn new(pid: u32) -> Self {
        children().insert(pid);
        Self(pid)
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        children().remove(&self.0);
    }
}

fn children() -> MutexGuard<'static, BTreeSet<u32>> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stops every child, those in process groups of their own too.
pub fn stop_all() {
    signal_all(Signal::STOP);
}

/// Lets every child go on.
pub fn continue_all() {
    signal_all(Signal::CONT);
}

fn signal_all(signal: Signal) {
    for pid in children().iter() {
        // One that has just ended needs no signal.
        let _ = Pid::from_raw(pid.cast_signed()).map(|pid| kill_process(pid, signal));
    }
}

/// Has the system kill this process, a child, when the thread that started it ends, be it by `kill -9`.
pub fn die_with_parent() {
    // Where the system cannot, the end of the input has to do.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}

/// Kills this process, a child, some time after the other end of its standard input was closed, whatever it is doing then. Covers
/// also a parent that was gone before [`die_with_parent`] took effect.
pub fn die_with_input() {
    let watch = || {
        // No event is asked for: what remains is the end of the other side.
        let mut input = [PollFd::from_borrowed_fd(stdin(), PollFlags::empty())];
        loop {
            match poll(&mut input, None) {
                Ok(1..) => break,
                Ok(0) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
        thread::sleep(FAREWELL);
        // Not `exit`: what a library has registered to run then may hang as well.
        let _ = kill_process(getpid(), Signal::KILL);
    };
    drop(thread::Builder::new().name("input".into()).stack_size(64 << 10).spawn(watch));
}
