//! How the work of one device went, whatever the work was: what failed, and why it ended early.

use std::io::{self, Write};

use serde::Serialize;
use warpscope_kernels::gpu::MachineError;

use super::progress::Progress;
use super::session::{Session, talk};
use super::{GIVEN_UP, reason};
use crate::commands::cli::CliError;
use crate::text::clean;
use crate::worker::gpu::{Next, Request, Told};
use crate::worker::{BenchEvent, BenchState};

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
    pub(crate) fn hear(&mut self, told: Told) -> Option<BenchEvent> {
        match told {
            Told::Said(event) => match *event {
                BenchEvent::State(BenchState::Paused { why }) => self.paused = Some(why),
                BenchEvent::Failed(failure) if failure.error == MachineError::Stopped => {}
                BenchEvent::Failed(failure) => {
                    self.fail(format!("{}: {}", failure.what, reason(&failure)));
                }
                event => return Some(event),
            },
            Told::Died(death) => {
                self.fail(death.sentence);
                if death.next == Next::GivenUp {
                    self.paused = Some(GIVEN_UP.to_owned());
                }
            }
            Told::Doing(_) | Told::Idle => {}
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
    jobs: Vec<Request>,
    mut hear: impl FnMut(Told),
) -> Result<bool, CliError> {
    let progress = Progress::new(jobs.len());
    let mut done = 0;
    let interrupted = talk(session, jobs, |told| {
        if let Told::Doing(job) = &told {
            progress.step(done, &job.to_string());
            done += 1;
        }
        hear(told);
    })?;
    progress.end();
    Ok(interrupted)
}
