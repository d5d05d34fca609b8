//! What goes on passing output to where it belongs when the recording has ended and processes of the program still write.
//!
//! They would otherwise be killed by a closed pipe. A process of its own, since the caller waits for the exit code of this one.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::super::worker;

/// The worker's argument.
pub(in super::super) const ARGUMENT: &str = "relay";

/// Leaves the output to a process that ends with its last writer.
pub(super) fn start(output: OwnedFd) -> io::Result<()> {
    // By this name the program is found even when its file was replaced meanwhile.
    let mut relay = Command::new("/proc/self/exe");
    relay.args([worker::NAME, ARGUMENT]).stdin(output).stderr(Stdio::null());
    // Neither a key of the terminal nor a folder that is to go away concerns it.
    relay.current_dir("/").process_group(0).spawn().map(drop)
}

/// Passes standard input on until it ends, or until nobody takes it.
pub(in super::super) fn run() -> io::Result<()> {
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    io::copy(&mut input, &mut output).map(drop)
}
