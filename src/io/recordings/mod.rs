//! Recordings of programs that run: where they are found, and what they have written so far.

pub mod folder;
mod tail;

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use crate::runs::live::LiveRun;
use tail::Tail;

/// Name of the socket on which a recording listens, in its folder.
pub const CONTROL: &str = "control";
/// Name of the link to its run log.
pub const RUN_LOG: &str = "run-log";
/// Most recordings that are followed at once.
const MOST: usize = 8;

/// Follows the recordings of this user.
#[derive(Debug)]
pub struct Follower {
    base: PathBuf,
    followed: BTreeMap<PathBuf, Tail>,
    /// The one that ended last.
    over: Option<LiveRun>,
}

impl Follower {
    /// Follows recordings whose folders lie in `base`.
    pub fn new(base: PathBuf) -> Self {
        Self { base, followed: BTreeMap::new(), over: None }
    }

    /// Every recording that runs, as it is now; while there is none, the one that ended last.
    pub fn look(&mut self) -> Vec<LiveRun> {
        let running = self.running();
        for (folder, log) in &running {
            let tail = self.followed.entry(folder.clone()).or_insert_with(|| Tail::new(log));
            tail.read();
        }
        let is_gone = |folder: &PathBuf, _: &mut Tail| !running.contains_key(folder);
        for (_, mut tail) in self.followed.extract_if(.., is_gone) {
            tail.read();
            self.over = Some(LiveRun { is_over: true, ..tail.run });
        }
        let runs: Vec<LiveRun> = self.followed.values().map(|tail| tail.run.clone()).collect();
        if runs.is_empty() { self.over.iter().cloned().collect() } else { runs }
    }

    /// Folders of recordings that listen, with their run logs.
    fn running(&self) -> BTreeMap<PathBuf, PathBuf> {
        if folder::check_private(&self.base).is_err() {
            return BTreeMap::new();
        }
        let log = |folder: PathBuf| {
            let log = std::fs::read_link(folder.join(RUN_LOG)).ok()?;
            is_listening(&folder).then_some((folder, log))
        };
        folder::folders(&self.base).filter_map(log).take(MOST).collect()
    }
}

/// Whether the recording of a folder lives: one that was killed leaves a socket on which nobody listens.
fn is_listening(folder: &Path) -> bool {
    UnixStream::connect(folder.join(CONTROL)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::net::UnixListener;

    use super::*;

    /// A recording as its writer leaves it.
    fn start(base: &Path, log: &Path) -> (PathBuf, UnixListener) {
        let folder = folder::own(base).expect("makes");
        let _ = fs::remove_file(folder.join(CONTROL));
        let _ = fs::remove_file(folder.join(RUN_LOG));
        std::os::unix::fs::symlink(log, folder.join(RUN_LOG)).expect("links");
        let socket = UnixListener::bind(folder.join(CONTROL)).expect("binds");
        (folder, socket)
    }

    #[test]
    fn a_recording_is_followed_while_it_runs_and_its_end_stays_in_view() {
        let here = tempfile::tempdir().expect("a folder");
        let (base, log) = (here.path().join("warpscope"), here.path().join("run.jsonl"));
        let mut follower = Follower::new(base.clone());
        assert_eq!(follower.look(), [], "there is no folder yet");
        let mut file = fs::File::create(&log).expect("creates");
        let (folder, socket) = start(&base, &log);
        writeln!(file, r#"{{"type":"run","schema":1,"at_ms":1,"command":["a"]}}"#).expect("writes");
        write!(file, r#"{{"type":"point","name":"k","t_n"#).expect("writes");
        let run = follower.look().remove(0);
        assert_eq!((run.command.as_str(), run.samples), ("a", 0), "a torn line waits for its rest");
        writeln!(file, r#"s":[1,2]}}"#).expect("writes");
        assert_eq!(follower.look()[0].samples, 2);
        writeln!(file, r#"{{"type":"end","at_ms":9,"samples":2,"exit":0}}"#).expect("writes");
        drop(socket);
        let over = follower.look();
        assert_eq!((over.len(), over[0].is_over, over[0].samples), (1, true, 2));
        assert_eq!(over[0].end.as_ref().and_then(|end| end.exit), Some(0));
        fs::remove_dir_all(folder).expect("removes");
        assert_eq!(follower.look(), over);
    }

    #[test]
    fn a_file_that_is_replaced_is_read_from_its_start() {
        let here = tempfile::tempdir().expect("a folder");
        let (base, log) = (here.path().join("warpscope"), here.path().join("run.jsonl"));
        let point =
            |name: &str| format!("{{\"type\":\"point\",\"name\":\"{name}\",\"t_ns\":[1]}}\n");
        fs::write(&log, point("a").repeat(3)).expect("writes");
        let _running = start(&base, &log);
        let mut follower = Follower::new(base);
        assert_eq!(follower.look()[0].samples, 3);
        fs::rename(&log, here.path().join("run.jsonl.1")).expect("renames");
        fs::write(&log, point("b")).expect("writes");
        assert_eq!(follower.look()[0].samples, 4);
    }

    #[test]
    fn of_a_long_file_the_end_is_read() {
        let here = tempfile::tempdir().expect("a folder");
        let (base, log) = (here.path().join("warpscope"), here.path().join("run.jsonl"));
        let line = "{\"type\":\"point\",\"name\":\"a\",\"t_ns\":[1]}\n";
        fs::write(&log, line.repeat(400_000)).expect("writes");
        let _running = start(&base, &log);
        let run = Follower::new(base).look().remove(0);
        assert!(run.samples > 0 && run.samples < 400_000, "{}", run.samples);
        assert_eq!(run.kernels.len(), 1, "the line that was cut in two is none");
    }

    #[test]
    fn a_pipe_in_place_of_a_run_log_keeps_nobody_waiting() {
        let here = tempfile::tempdir().expect("a folder");
        let (base, log) = (here.path().join("warpscope"), here.path().join("run.jsonl"));
        rustix::fs::mkfifoat(rustix::fs::CWD, &log, rustix::fs::Mode::RUSR).expect("makes");
        let _running = start(&base, &log);
        assert_eq!(Follower::new(base).look()[0].samples, 0);
    }
}
