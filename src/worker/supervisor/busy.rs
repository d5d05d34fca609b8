//! Jobs that another process keeps from the device: tried again for a while, and then named.

use std::time::Duration;

use crate::worker::protocol::Command;

/// Time after a job that gave way in which nothing is sent.
const REST: Duration = Duration::from_secs(1);

/// What other processes have cost so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Busy {
    /// Why the job that runs now stops for another process.
    pub(super) why: Option<String>,
    /// When the next job may be sent.
    pub(super) until: Duration,
    /// Time of jobs that gave way, and of the rests after them.
    lost: Duration,
}

impl Busy {
    /// A job that began at a time has given way: whether jobs are tried again, where so much may be lost in all.
    pub(super) fn goes_on(&mut self, now: Duration, since: Duration, most: Duration) -> bool {
        self.lost += now.saturating_sub(since) + REST;
        self.until = now + REST;
        self.lost <= most
    }
}

/// What other processes kept from being done, in a sentence.
pub fn not_done(why: &str, jobs: &[Command]) -> String {
    let names: Vec<String> = jobs.iter().map(Command::to_string).collect();
    format!("{why}; not done: {}", names.join(", "))
}
