//! What a terminal needs to be as it was before: prepared when it is taken, done once, by whatever comes first of leaving,
//! suspending, a panic and a signal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// Ends what may be half sent (a string, a frame), then undoes every mode: attributes, mouse, pasting, cursor, alternate screen.
const UNDO: &[u8] = b"\x1b\\\x1b[?2026l\x1b[m\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[?25h\x1b[?1049l";
/// The same on a terminal that knows links, one of which may be open.
const UNDO_LINKS: &[u8] =
    b"\x1b\\\x1b[?2026l\x1b[m\x1b]8;;\x07\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[?25h\x1b[?1049l";
/// How long a terminal that takes nothing (Ctrl-S) is waited for.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

static HELD: AtomicBool = AtomicBool::new(false);
static BEFORE: Mutex<Option<Before>> = Mutex::new(None);

#[derive(Clone)]
struct Before {
    line: Option<Termios>,
    undo: &'static [u8],
}

/// Notes how the terminal is now. From here on [`give_back`] makes it so again.
pub(crate) fn note(links: bool) {
    let undo = if links { UNDO_LINKS } else { UNDO };
    let before = Before { line: tcgetattr(stdin()).ok(), undo };
    *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
    HELD.store(true, Ordering::SeqCst);
}

/// Whether the terminal is ours to draw on.
pub(crate) fn is_held() -> bool {
    HELD.load(Ordering::SeqCst)
}

/// Makes the terminal as it was, if it is not. May be called by a signal handler: the lock is only tried, the rest are bare
/// system calls. Errors are of no use here: there may be no terminal left.
pub(crate) fn give_back() {
    if !HELD.swap(false, Ordering::SeqCst) {
        return;
    }
    let Ok(before) = BEFORE.try_lock() else { return };
    let Some(Before { line, undo }) = &*before else { return };
    write(undo);
    if let Some(line) = line {
        tcsetattr(stdin(), OptionalActions::Now, line).ok();
    }
}

fn write(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let mut ready = [PollFd::from_borrowed_fd(stdout(), PollFlags::OUT)];
        match poll(&mut ready, Some(&PATIENCE)) {
            Ok(1..) | Err(Errno::INTR) => {}
            _ => return,
        }
        match rustix::io::write(stdout(), bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}
