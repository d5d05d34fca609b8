//! What searches measured, so that one that was ended can go on.
//!
//! A line a candidate, in a file beside the journal. A line counts for the very sources, spec, machine and baseline it was measured with: what is
//! compared is the share of the baseline's time, which lasts, and not the time, which drifts. What may have failed by chance is tried again.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use warpscope_probes::bounded::{self, Accept};

use crate::io::sink::jsonl;
use crate::io::sink::noise_file::machine;
use crate::tuner::{Board, CandidateRun, Fault, Invalid, State};

/// Largest file that is read.
const MAX_FILE: u64 = 256 << 20;

/// One candidate that was measured.
#[derive(Serialize, Deserialize)]
struct Line {
    /// Hash of sources and spec.
    source: String,
    machine: String,
    /// Size and number format.
    problem: String,
    /// The candidate it was timed against; itself where it is the baseline, none where there was none yet.
    baseline: Option<String>,
    candidate: String,
    run: CandidateRun,
}

/// Candidates by problem, baseline and name.
type Known = HashMap<(String, Option<String>, String), CandidateRun>;

/// What was measured of one state of the sources.
pub(crate) struct Cache {
    path: Option<PathBuf>,
    source: String,
    known: Known,
}

impl Cache {
    /// With `resume`, what the file knows of these sources; else nothing, and what is measured now is kept all the same.
    pub(crate) fn open(path: Option<PathBuf>, source: &str, resume: bool) -> Self {
        let known = path.as_deref().filter(|_| resume).map(|path| known(path, source));
        Self { path, source: source.to_owned(), known: known.unwrap_or_default() }
    }

    /// How many candidates it knows.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// What it knows of a candidate against the present baseline.
    pub(crate) fn recall(
        &self,
        board: &Board,
        problem: usize,
        candidate: usize,
    ) -> Option<CandidateRun> {
        let (problem, baseline, candidate) = names(board, problem, candidate);
        let own = Some(candidate.clone());
        let against =
            |baseline| self.known.get(&(problem.clone(), baseline, candidate.clone())).cloned();
        // Without a baseline yet: the one of the earlier search, or a candidate that was invalid before there was one.
        if baseline.is_none() { against(own).or_else(|| against(None)) } else { against(baseline) }
    }

    /// Keeps what became of a candidate.
    pub(crate) fn keep(&self, board: &Board, problem: usize, candidate: usize) -> io::Result<()> {
        let run = &board.problems[problem].trials[candidate];
        let Some(path) = self.path.as_ref().filter(|_| lasts(&run.state) && !run.is_recalled)
        else {
            return Ok(());
        };
        let (problem, baseline, candidate) = names(board, problem, candidate);
        let (source, machine, run) = (self.source.clone(), machine(), run.clone());
        let line = Line { source, machine, problem, baseline, candidate, run };
        open(path)?.write_all(&jsonl::line(&line)?)
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
}

fn known(path: &Path, source: &str) -> Known {
    let text = bounded::text(path, Accept::Files, MAX_FILE).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
    let own = lines.filter(|line| line.source == source && line.machine == machine());
    own.map(|line| ((line.problem, line.baseline, line.candidate), line.run)).collect()
}

fn names(board: &Board, problem: usize, candidate: usize) -> (String, Option<String>, String) {
    let name = |at: usize| board.candidates[at].to_string();
    let problem = &board.problems[problem];
    let key = format!("{} {}", problem.key.shape, problem.key.dtype.as_deref().unwrap_or_default());
    (key, problem.baseline.map(name), name(candidate))
}

/// Whether trying again would come to the same.
fn lasts(state: &State) -> bool {
    match state {
        State::Done | State::Right => true,
        State::Invalid(Invalid { fault, .. }) => !matches!(fault, Fault::Timeout | Fault::Runtime),
        State::Stopped(_) | State::Waiting | State::Running => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::samples::Key;
    use crate::tuner::{Parameters, Problem};

    fn board(baseline: Option<usize>) -> Board {
        let candidate = |block: u32| Parameters([("block".to_owned(), block.to_string())].into());
        let trial = |state| CandidateRun { state, blocks: vec![0.5], ..CandidateRun::default() };
        let crashed = Invalid { fault: Fault::Runtime, why: "by chance".into() };
        let trials = vec![trial(State::Done), trial(State::Done), trial(State::Invalid(crashed))];
        let key = Key { name: "k".into(), ..Key::default() };
        Board {
            candidates: [1, 2, 4].map(candidate).to_vec(),
            problems: vec![Problem { key, trials, baseline, ..Problem::default() }],
        }
    }

    #[test]
    fn what_was_kept_is_known_to_the_same_sources_and_baseline_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = Some(folder.path().join("k.cache.jsonl"));
        let cache = Cache::open(path.clone(), "5eed", false);
        let board = board(Some(0));
        (0..3).for_each(|candidate| cache.keep(&board, 0, candidate).expect("writes"));
        let again = Cache::open(path.clone(), "5eed", true);
        assert_eq!(again.len(), 2, "a crash is tried again");
        assert_eq!(again.recall(&board, 0, 1).map(|run| run.blocks), Some(vec![0.5]));
        let none = super::tests::board(None);
        assert!(again.recall(&none, 0, 0).is_some(), "the baseline itself");
        assert!(again.recall(&none, 0, 1).is_none(), "a share of nothing known");
        assert!(again.recall(&super::tests::board(Some(2)), 0, 1).is_none());
        assert_eq!(Cache::open(path.clone(), "other", true).len(), 0);
        assert_eq!(Cache::open(path, "5eed", false).len(), 0);
        assert_eq!(Cache::open(None, "5eed", true).len(), 0);
    }
}
