//! Where other programs leave points and remarks: a FIFO and three sockets in the folder of the recording.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, chmod, mkfifoat};

use crate::commands::cli::{CliError, Result};
use crate::config::Environment;
use crate::io::recordings::folder::{base, check_private, folders, own};
use crate::io::recordings::{CONTROL as CONTROL_NAME, RUN_LOG};

/// Variable with the FIFO that takes points.
pub(crate) const POINTS: &str = "WARPSCOPE_POINTS";
/// Variable with the datagram socket that takes points.
pub(crate) const DATAGRAMS: &str = "WARPSCOPE_POINTS_DATAGRAM";
/// Variable with the stream socket that takes points.
pub(crate) const STREAM: &str = "WARPSCOPE_POINTS_STREAM";
/// Variable with the folder of the recording a command runs in.
pub(crate) const RECORDING: &str = "WARPSCOPE_RECORDING";

/// Variable with the folder for what lives as long as the user's session.
pub(crate) const RUNTIME: &str = "XDG_RUNTIME_DIR";

/// Names within the folder of one recording.
const FIFO_NAME: &str = "points";
const DATAGRAM_NAME: &str = "points.dgram";
const STREAM_NAME: &str = "points.stream";

/// The open ends of one recording. Its names go when it goes.
pub(crate) struct Inbox {
    folder: PathBuf,
    /// Points as a file.
    pub(crate) fifo: Option<File>,
    /// Points as datagrams.
    pub(crate) datagrams: Option<UnixDatagram>,
    /// Points as streams.
    pub(crate) stream: Option<UnixListener>,
    /// Remarks.
    pub(crate) control: Option<UnixListener>,
}

impl Inbox {
    /// Opens all ends in a folder of this process, beside a link to the run log.
    pub(crate) fn open(env: &Environment, run_log: &Path) -> Result<Self> {
        let base = base(env.get(RUNTIME));
        sweep(&base);
        let folder = own(&base).map_err(CliError::Failed)?;
        let mut inbox = Self { folder, fifo: None, datagrams: None, stream: None, control: None };
        inbox
            .fill(run_log)
            .map_err(|error| CliError::Failed(format!("{}: {error}", inbox.folder.display())))?;
        Ok(inbox)
    }

    fn fill(&mut self, run_log: &Path) -> io::Result<()> {
        remove_names(&self.folder); // of a process that had the same number and was killed
        symlink(std::path::absolute(run_log)?, self.folder.join(RUN_LOG))?;
        let fifo = self.folder.join(FIFO_NAME);
        mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR)?;
        // Open for writing too, so that it stays open when a writer goes.
        let nofollow = libc::O_NOFOLLOW;
        self.fifo =
            Some(OpenOptions::new().read(true).write(true).custom_flags(nofollow).open(fifo)?);
        self.datagrams = Some(UnixDatagram::bind(self.folder.join(DATAGRAM_NAME))?);
        self.stream = Some(UnixListener::bind(self.folder.join(STREAM_NAME))?);
        self.control = Some(UnixListener::bind(self.folder.join(CONTROL_NAME))?);
        // A socket takes its mode from the umask, which may be anything.
        [DATAGRAM_NAME, STREAM_NAME, CONTROL_NAME].iter().try_for_each(|name| {
            chmod(self.folder.join(name), Mode::RUSR | Mode::WUSR).map_err(io::Error::from)
        })
    }

    /// Variables that tell a program where the ends are.
    pub(crate) fn variables(&self) -> [(&'static str, PathBuf); 4] {
        [
            (POINTS, self.folder.join(FIFO_NAME)),
            (DATAGRAMS, self.folder.join(DATAGRAM_NAME)),
            (STREAM, self.folder.join(STREAM_NAME)),
            (RECORDING, self.folder.clone()),
        ]
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        remove_names(&self.folder);
        let _ = std::fs::remove_dir(&self.folder);
    }
}

/// Connects to the one recording that runs, or to the one this process runs in.
pub(crate) fn call(env: &Environment) -> Result<UnixStream> {
    if let Some(folder) = env.get(RECORDING) {
        let folder = PathBuf::from(folder);
        return UnixStream::connect(folder.join(CONTROL_NAME)).map_err(|error| {
            let shown = folder.display();
            CliError::Failed(format!("the recording named by {RECORDING}, {shown}: {error}"))
        });
    }
    let base = base(env.get(RUNTIME));
    if base.exists() {
        check_private(&base).map_err(CliError::Failed)?;
    }
    let mut open = folders(&base)
        .filter_map(|folder| Some((UnixStream::connect(folder.join(CONTROL_NAME)).ok()?, folder)));
    let Some((stream, first)) = open.next() else {
        return Err(CliError::failed(
            "no recording is running; start one with `warpscope record run.jsonl -- COMMAND`",
        ));
    };
    match open.next() {
        None => Ok(stream),
        Some((_, second)) => {
            let (first, second) = (first.display(), second.display());
            Err(CliError::Usage(format!(
                "several recordings are running: {first}, {second}; name one: {RECORDING}={first} warpscope mark …"
            )))
        }
    }
}

/// Removes what recordings left that were killed: nobody listens there any more.
fn sweep(base: &Path) {
    for folder in folders(base) {
        let call = UnixStream::connect(folder.join(CONTROL_NAME));
        if call.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            remove_names(&folder);
            let _ = std::fs::remove_dir(&folder);
        }
    }
}

fn remove_names(folder: &Path) {
    for name in [FIFO_NAME, DATAGRAM_NAME, STREAM_NAME, CONTROL_NAME, RUN_LOG] {
        let _ = std::fs::remove_file(folder.join(name)); // most are not there
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::io::recordings::folder::make_private;

    const LOG: &str = "run.jsonl";

    fn env(path: &Path) -> Environment {
        [("XDG_RUNTIME_DIR", path.as_os_str())].into_iter().collect()
    }

    fn why<T>(outcome: Result<T>) -> String {
        outcome.err().map(|error| error.to_string()).expect("is refused")
    }

    #[test]
    fn a_folder_others_may_enter_is_refused_and_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().join("warpscope");
        std::fs::create_dir(&base).expect("makes");
        for (mode, fine) in [(0o755, false), (0o770, false), (0o700, true)] {
            std::fs::set_permissions(&base, PermissionsExt::from_mode(mode)).expect("sets");
            let inbox = Inbox::open(&env(folder.path()), Path::new(LOG));
            assert_eq!(inbox.is_ok(), fine, "{mode:o}");
        }
        std::fs::remove_dir(&base).expect("is empty again");
        std::os::unix::fs::symlink(folder.path(), &base).expect("links");
        let error = why(Inbox::open(&env(folder.path()), Path::new(LOG)));
        assert!(error.contains("is no folder") && error.contains("warpscope"), "{error}");
    }

    #[test]
    fn names_go_with_the_recording_and_those_of_a_killed_one_with_the_next() {
        let folder = tempfile::tempdir().expect("a folder");
        let env = env(folder.path());
        let base = folder.path().join("warpscope");
        let killed = base.join("record-1");
        make_private(&base).expect("makes");
        make_private(&killed).expect("makes");
        drop(UnixListener::bind(killed.join(CONTROL_NAME)).expect("binds"));
        assert!(why(call(&env)).contains("no recording is running"));
        let inbox = Inbox::open(&env, Path::new(LOG)).expect("opens");
        assert_eq!(folders(&base).count(), 1, "the killed one is still there");
        assert!(call(&env).is_ok());
        drop(inbox);
        assert_eq!(folders(&base).count(), 0);
    }

    #[test]
    fn of_two_recordings_none_is_guessed() {
        let folder = tempfile::tempdir().expect("a folder");
        let env = env(folder.path());
        let _inbox = Inbox::open(&env, Path::new(LOG)).expect("opens");
        let other = folder.path().join("warpscope/record-2");
        make_private(&other).expect("makes");
        let _listener = UnixListener::bind(other.join(CONTROL_NAME)).expect("binds");
        assert!(why(call(&env)).contains("WARPSCOPE_RECORDING="));
        let named = [(RECORDING, other.as_os_str())].into_iter().collect();
        assert!(call(&named).is_ok());
    }
}
