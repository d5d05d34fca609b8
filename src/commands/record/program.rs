//! The program that is recorded: started here, running already, or at the other end of standard input.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal};
use tokio::sync::mpsc::Sender;

use super::inbox::Inbox;
use super::port::Port;
use super::terminal::{self, Terminal};
use super::{Event, Subject, signals};
use crate::commands::process::wait_for_end;
use crate::commands::record::family::{Family, started};

/// What is recorded, once it runs.
pub(crate) enum Program {
    Child {
        child: Child,
        /// Where its output arrives; none where it is a pipe.
        terminal: Option<OwnedFd>,
    },
    /// Its number and when it started.
    Process(u32, u64),
    Input,
}

impl Program {
    /// Starts what is to be started.
    pub(crate) fn start(
        subject: Subject,
        inbox: &Inbox,
        sender: &Sender<Event>,
    ) -> Result<Self, String> {
        match subject {
            Subject::Command(words) => Self::spawn(&words, inbox, sender),
            Subject::Process { pid, start } => Ok(Self::Process(pid, start)),
            Subject::Input => Ok(Self::Input),
        }
    }

    fn spawn(words: &[String], inbox: &Inbox, sender: &Sender<Event>) -> Result<Self, String> {
        let Some((name, rest)) = words.split_first() else { return Err("no command".to_owned()) };
        // Without pseudo-terminals, as in some sandboxes, a pipe remains.
        let (mut command, terminal) = match Terminal::open() {
            Ok(terminal) => {
                let mut command = terminal::launcher(words);
                let terminal = terminal.give(&mut command);
                (command, Some(terminal))
            }
            Err(_) => {
                let mut command = Command::new(name);
                command.args(rest).stdout(Stdio::piped());
                (command, None)
            }
        };
        let child =
            command.envs(inbox.variables()).spawn().map_err(|error| format!("{name}: {error}"))?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let sender = sender.clone();
        std::thread::spawn(move || {
            wait_for_end(pid);
            let _ = sender.blocking_send(Event::Ended);
        });
        Ok(Self::Child { child, terminal })
    }

    pub(crate) fn family(&self) -> Family {
        match self {
            Self::Child { child, .. } => Family::of(child.id()),
            Self::Process(pid, _) => Family::of(*pid),
            Self::Input => Family::unknown(),
        }
    }

    /// What is to be read and passed on.
    pub(crate) fn output(&mut self) -> io::Result<Option<Port>> {
        Ok(match self {
            Self::Child { child, terminal } => match terminal.take() {
                Some(terminal) => Some(Port::Terminal(terminal.into())),
                None => child.stdout.take().map(|pipe| Port::Output(OwnedFd::from(pipe).into())),
            },
            Self::Process(..) => None,
            Self::Input => Some(Port::Output(io::stdin().as_fd().try_clone_to_owned()?.into())),
        })
    }

    /// A pipe whose reader is gone would end the program at its next line; a terminal only refuses that line.
    pub(crate) fn end_like_a_pipe(&self) {
        if let Self::Child { child, .. } = self {
            signals::send(child, Signal::PIPE);
        }
    }

    /// Whether a process that nobody waits for is gone.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Self::Process(pid, start) => started(*pid) != Some(*start),
            Self::Child { .. } | Self::Input => false,
        }
    }

    pub(crate) fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        match self {
            Self::Child { child, .. } => child.wait().map(Some),
            Self::Process(..) | Self::Input => Ok(None),
        }
    }
}

/// The code a shell gives: 128 and the number where a signal ended it.
pub(crate) fn shell_code(status: ExitStatus) -> i32 {
    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}
