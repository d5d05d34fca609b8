//! Passing the program's output on: while it is recorded, and after that by a process of its own.
//!
//! What the program left running would be killed by a closed pipe. The caller waits for the exit code of this process, so another one stays.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::say;
use crate::commands::cli::WORKER;

/// The worker's argument.
pub(crate) const ARGUMENT: &str = "relay";

/// Where output is passed on to.
pub(crate) struct Out {
    out: Box<dyn Write + Send>,
    is_failing: bool,
}

impl Out {
    pub(crate) fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out, is_failing: false }
    }

    /// Passes a piece on. A failure is reported and the piece recorded all the same; an error means that the reader is gone.
    pub(crate) fn pass(&mut self, piece: &[u8]) -> io::Result<()> {
        let outcome = self.out.write_all(piece).and_then(|()| self.out.flush());
        let Err(error) = outcome else {
            self.is_failing = false;
            return Ok(());
        };
        if error.kind() == ErrorKind::BrokenPipe {
            return Err(error);
        }
        if !std::mem::replace(&mut self.is_failing, true) {
            say(&format!("the program's output cannot be passed on: {error}"));
        }
        Ok(())
    }
}

/// The read end of a FIFO, where another process has it open for writing.
pub(crate) fn still_written(fifo: File) -> Option<OwnedFd> {
    let reading = File::open(format!("/proc/self/fd/{}", fifo.as_raw_fd())).ok()?;
    drop(fifo); // open for writing too
    let mut fds = [PollFd::new(&reading, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).ok()?;
    let is_over = fds[0].revents().contains(PollFlags::HUP);
    (!is_over).then(|| reading.into())
}

/// Leaves the input to a process that ends with its last writer.
pub(crate) fn start(input: OwnedFd, out: Stdio) -> io::Result<()> {
    // By this name the program is found even when its file was replaced meanwhile.
    let mut relay = Command::new("/proc/self/exe");
    relay.args([WORKER, ARGUMENT]).stdin(input).stdout(out).stderr(Stdio::null());
    // Neither a key of the terminal nor a folder that is to go away concerns it.
    relay.current_dir("/").process_group(0).spawn().map(drop)
}

/// Passes standard input on until it ends or its reader is gone.
pub(crate) fn run() -> io::Result<()> {
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    io::copy(&mut input, &mut output).map(drop)
}
