//! How the work of one device went, whatever the work was: what failed, and why it ended early.

use std::io::{self, Write};

use serde::Serialize;
use warpscope_kernels::gpu::MachineError;

use super::progress::Progress;
use super::session::{Session, talk};
use super::{GIVEN_UP, reason};
use crate::commands::cli::Result;
use crate::text::clean;
use crate::worker::{Command, Update, WorkerEvent, not_done};

/// How the work of one device went.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Outcome {
    /// What failed, each in a sentence.
    pub(crate) troubles: Vec<String>,
    /// Why the device was not used, or not to the end.
    pub(crate) paused: Option<String>,
    pub(crate) interrupted: bool,
}

impl Outcome {
    /// Whether everything was done that was asked.
    pub(crate) fn is_fine(&self) -> bool {
        self.troubles.is_empty() && self.paused.is_none() && !self.interrupted
    }

    /// What a child said before it died is said once.
    pub(crate) fn fail(&mut self, why: String) {
        if !self.troubles.contains(&why) {
            self.troubles.push(why);
        }
    }

    /// Takes what any work may say; gives what is about this one.
    pub(crate) fn handle(&mut self, update: Update) -> Option<WorkerEvent> {
        match update {
            Update::Event(event) => match *event {
                WorkerEvent::Paused { why } => self.paused = Some(why),
                WorkerEvent::Failed(failure) if failure.error == MachineError::Stopped => {}
                WorkerEvent::Failed(failure) => {
                    self.fail(format!("{}: {}", failure.what, reason(&failure)));
                }
                event => return Some(event),
            },
            Update::Died(death) => {
                self.fail(death.sentence);
                if death.given_up {
                    self.paused = Some(GIVEN_UP.to_owned());
                }
            }
            Update::Left { why, jobs } => self.paused = Some(not_done(&why, &jobs)),
            Update::Sent(_) | Update::Retry(_) | Update::Idle => {}
        }
        None
    }

    /// The lines below what was done.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.troubles.iter().try_for_each(|why| writeln!(out, "{}", clean(why, false)))?;
        match &self.paused {
            Some(why) => writeln!(out, "stopped early: {}", clean(why, false)),
            None if self.interrupted => writeln!(out, "stopped early: interrupted"),
            None => Ok(()),
        }
    }
}

/// Has jobs done and shows which; says whether the user ended them.
pub(crate) fn run(
    session: &Session<'_>,
    jobs: Vec<Command>,
    mut handle: impl FnMut(Update),
) -> Result<bool> {
    let progress = Progress::new(jobs.len());
    let mut done = 0;
    let interrupted = talk(session, jobs, |update| {
        if let Update::Sent(job) = &update {
            progress.step(done, &job.to_string());
            done += 1;
        }
        if let Update::Retry(_) = &update {
            done -= 1;
        }
        handle(update);
    })?;
    progress.end();
    Ok(interrupted)
}
