//! Reads the store of runs on a thread of its own: it may lie on a slow disk, and two runs may hold millions of samples.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::alert::AlertOutput;
use super::aside;
use super::mailbox::MailboxSender;
use crate::features::history::Msg;
use crate::io::recordings::Follower;
use crate::io::sink::history::History;
use crate::io::sink::noise_file;
use crate::runs::compare::{Comparison, Terms, compare_groups};
use crate::runs::noise::{KnownNoise, Noise};

/// Where what was kept lies; none where nothing says where.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// The store of recorded runs.
    pub store: Option<PathBuf>,
    /// Recordings that run; none where nobody knows where they are found.
    pub recordings: Option<Arc<Mutex<Follower>>>,
    /// This machine's noise.
    pub noise: Option<PathBuf>,
    /// The configuration file.
    pub config: Option<PathBuf>,
    /// Where alerts go besides the screen.
    pub alert: AlertOutput,
}

/// Starts reading; the answer comes as an event.
pub(crate) fn read_aside(path: Option<PathBuf>, post: MailboxSender) -> io::Result<()> {
    aside("history", move || {
        let read = open(path).and_then(|store| match store {
            Some(store) => store.trends().map_err(|error| error.to_string()),
            None => Ok(Vec::new()),
        });
        post.tell(Msg::Read(read));
    })
}

/// Starts comparing two runs; the answer comes as an event.
pub(crate) fn compare_aside(kept: Kept, runs: (i64, i64), post: MailboxSender) -> io::Result<()> {
    aside("history", move || {
        let result =
            open(kept.store).and_then(|store| side_by_side(store, runs, kept.noise.as_deref()));
        post.tell(Msg::Compared(runs, result));
    })
}

/// Looks for recordings that run; the answer comes as an event.
pub(crate) fn follow_aside(
    recordings: Option<Arc<Mutex<Follower>>>,
    post: MailboxSender,
) -> io::Result<()> {
    aside("history", move || {
        let look = |all: Arc<Mutex<Follower>>| all.lock().map(|mut one| one.look()).ok();
        post.tell(Msg::Live(recordings.and_then(look).unwrap_or_default()));
    })
}

fn open(path: Option<PathBuf>) -> Result<Option<History>, String> {
    let path = path.ok_or(
        "Neither XDG_DATA_HOME nor HOME is set; one of them is needed to locate the history.",
    )?;
    History::open(&path).map_err(|error| error.to_string())
}

fn side_by_side(
    store: Option<History>,
    (before, after): (i64, i64),
    noise: Option<&Path>,
) -> Result<Comparison, String> {
    let gone = || "The history is gone; nothing is left to compare.".to_owned();
    let store = store.ok_or_else(gone)?;
    let samples = |run| store.samples(run).map_err(|error| error.to_string());
    let noise = noise.map_or_else(|| Ok(Noise::default()), noise_file::read)?;
    let commands = [before, after].into_iter().filter_map(|run| store.command(run)).collect();
    let known = KnownNoise::new(None, &noise, &noise_file::machine(), &commands);
    let terms = Terms { known: &|key| known.spread(key), ..Terms::default() };
    Ok(compare_groups(vec![samples(before)?, samples(after)?], &terms))
}
