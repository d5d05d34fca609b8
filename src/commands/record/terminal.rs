//! A terminal for the program's output: programs write each line at once to a terminal, and hold kilobytes back from a pipe.
//!
//! It changes no byte, echoes nothing and is nobody's controlling terminal: keys, signals and job control stay with the one the user sits at.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};

use super::say;
use crate::commands::cli::{Exit, WORKER};

/// Both ends of a pseudo-terminal.
pub(crate) struct Terminal {
    ours: OwnedFd,
    theirs: OwnedFd,
}

impl Terminal {
    /// One that passes bytes as they are.
    pub(crate) fn open() -> io::Result<Self> {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let theirs = open(ptsname(&ours, Vec::new())?, flags, Mode::empty())?;
        let mut settings = tcgetattr(&theirs)?;
        settings.make_raw();
        tcsetattr(&theirs, OptionalActions::Now, &settings)?;
        match_size(&ours);
        Ok(Self { ours, theirs })
    }

    /// Makes it the output of a command, and gives the end to read from. Where nobody sees the output, programs are asked for plain text.
    pub(crate) fn give(self, command: &mut Command) -> OwnedFd {
        command.stdout(self.theirs);
        if !io::stdout().is_terminal() {
            command.env("TERM", "dumb").env("NO_COLOR", "1");
        }
        self.ours
    }
}

/// The worker's argument.
pub(crate) const ARGUMENT: &str = "launch";
/// What shells answer to a command that is not there.
pub(crate) const NOT_FOUND: u8 = 127;

/// Starts a program by way of [`launch`].
pub(crate) fn launcher(words: &[String]) -> Command {
    // By this name the program is found even when its file was replaced meanwhile.
    let mut command = Command::new("/proc/self/exe");
    command.args([WORKER, ARGUMENT]).args(words);
    command
}

/// Becomes a program that is ended when its recorder dies, however it dies. A pipe would end it at its next line; a terminal that is gone only
/// refuses that line, and a loop in a shell would go on for ever.
pub(crate) fn launch(words: &[OsString]) -> Exit {
    let Some((name, rest)) = words.split_first() else { return Exit::Command(NOT_FOUND) };
    // Where the system cannot, lines that are refused have to do.
    let _ = set_parent_process_death_signal(Some(Signal::PIPE));
    let error = Command::new(name).args(rest).exec();
    say(&format!("{}: {error}", name.display()));
    Exit::Command(NOT_FOUND)
}

/// Gives a terminal the size of the one the output is passed on to.
pub(crate) fn match_size(terminal: impl AsFd) {
    let Ok(size) = tcgetwinsize(io::stdout()) else { return };
    let is_same = tcgetwinsize(&terminal)
        .is_ok_and(|own| (own.ws_col, own.ws_row) == (size.ws_col, size.ws_row));
    if !is_same {
        let _ = tcsetwinsize(&terminal, size);
    }
}
