//! A recording on disk: every complete line readable whatever happens to the writer.
//!
//! A line is one `write` in append mode, so a killed program leaves at most its last line torn. A line
//! another recorder left torn is closed with a line feed and becomes one damaged line; cutting it off instead
//! was rejected, because a recorder should never destroy what it did not write. What a full disk left of a
//! line of its own is taken back.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use warpscope_probes::{bounded, private};

use super::jsonl;
use super::reader::{FrameReader, MAX_LINE};
use crate::runs::journal::begins_journal;

/// How much disk a recording may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// A new file is begun before this one grows beyond it. A single line larger than it is still written.
    pub max_size: Option<u64>,
    /// Older files kept beside it: `FILE.1`, the newest, to `FILE.keep`.
    pub keep: u64,
}

/// What a file holds, so that nothing else is written into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Frames.
    Frames,
    /// Runs of a kernel: a journal.
    Journal,
}

impl Holds {
    /// What its first line begins with.
    pub fn start(self) -> &'static [u8] {
        match self {
            Self::Frames => b"{\"schema\":",
            Self::Journal => b"{\"type\":\"",
        }
    }

    /// What people call such a file.
    fn word(self) -> &'static str {
        match self {
            Self::Frames => "recording",
            Self::Journal => "journal of runs",
        }
    }
}

/// Why nothing was recorded.
#[derive(Debug)]
pub enum RecordError {
    /// The file exists and holds something else.
    NotARecording(PathBuf, Holds),
    /// It is a device, a pipe or a folder.
    NotAFile(PathBuf),
    /// Another program records into it.
    InUse(PathBuf),
    /// The system refused; recording may be tried again with the next frame.
    Io(PathBuf, io::Error),
    /// A frame could not be put into JSON.
    Json(serde_json::Error),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARecording(path, holds) => {
                write!(f, "{} exists and is no {}; name another file", path.display(), holds.word())
            }
            Self::NotAFile(path) => {
                write!(
                    f,
                    "{} is no regular file; `warpscope stream` writes to pipes",
                    path.display()
                )
            }
            Self::InUse(path) => {
                write!(
                    f,
                    "{} is being recorded into by another program; name another file",
                    path.display()
                )
            }
            Self::Io(path, error) if error.kind() == ErrorKind::StorageFull => {
                write!(
                    f,
                    "no room left on the disk of {}; free some, recording goes on by itself",
                    path.display()
                )
            }
            Self::Io(path, error) => write!(f, "cannot write {}: {error}", path.display()),
            Self::Json(error) => write!(f, "cannot put a frame into JSON: {error}"),
        }
    }
}

impl std::error::Error for RecordError {}

/// Appends frames to a recording, or records to a journal.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    holds: Holds,
    limits: Limits,
    /// The file being written; `None` after a rotation until the next one could be opened.
    out: Option<Lines<File>>,
}

impl Recorder {
    /// Creates a recording, or goes on with an existing one. Never follows a symbolic link, never
    /// touches a file that is no recording.
    pub fn open(path: &Path, limits: Limits) -> Result<Self, RecordError> {
        Self::open_as(Holds::Frames, path, limits)
    }

    /// As [`Recorder::open`], for a file that holds something else.
    pub fn open_as(holds: Holds, path: &Path, limits: Limits) -> Result<Self, RecordError> {
        for number in 1..=limits.keep.min(MAX_KEEP) {
            match bounded::open(&numbered(path, number)) {
                Ok(file) => check(holds, &numbered(path, number), &file)?,
                Err(error) if error.kind() == ErrorKind::NotFound => break,
                Err(error) => return Err(RecordError::Io(numbered(path, number), error)),
            }
        }
        let out = Some(open_file(holds, path)?);
        let limits = Limits { keep: limits.keep.min(MAX_KEEP), ..limits };
        Ok(Self { path: path.to_owned(), holds, limits, out })
    }

    /// Appends one frame or record. After an error the next may be tried all the same.
    pub fn write<T: Serialize>(&mut self, frame: &T) -> Result<(), RecordError> {
        let line = jsonl::line(frame).map_err(RecordError::Json)?;
        let full = |out: &Lines<File>| {
            let after = out.size + line.len() as u64;
            out.size > 0 && self.limits.max_size.is_some_and(|max| after > max)
        };
        if self.out.as_ref().is_some_and(full) {
            self.rotate()?;
        }
        let out = match self.out.take() {
            Some(out) => out,
            None => open_file(self.holds, &self.path)?,
        };
        self.out.insert(out).write(&line).map_err(|error| RecordError::Io(self.path.clone(), error))
    }

    /// FILE.2 becomes FILE.3, FILE.1 FILE.2, FILE FILE.1; the oldest goes.
    fn rotate(&mut self) -> Result<(), RecordError> {
        let name =
            |number| if number == 0 { self.path.clone() } else { numbered(&self.path, number) };
        let moved = |from: u64| match std::fs::rename(name(from), name(from + 1)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(RecordError::Io(name(from), error))
            }
            _ => Ok(()),
        };
        (0..self.limits.keep).rev().try_for_each(moved)?;
        if self.limits.keep == 0 {
            std::fs::remove_file(&self.path)
                .map_err(|error| RecordError::Io(self.path.clone(), error))?;
        }
        self.out = None;
        Ok(())
    }
}

/// The beginning that shows what a file holds.
const HEAD: u64 = 1 << 20;
/// More files than anyone keeps; bounds the loops over their names.
const MAX_KEEP: u64 = 1000;

fn numbered(path: &Path, number: u64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

fn open_file(holds: Holds, path: &Path) -> Result<Lines<File>, RecordError> {
    let failed = |error| RecordError::Io(path.to_owned(), error);
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(private::MODE)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .map_err(failed)?;
    check(holds, path, &file)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(RecordError::InUse(path.to_owned())),
        // A file system without locks is no reason not to record.
        Err(TryLockError::Error(_)) => {}
    }
    let size = file.seek(SeekFrom::End(0)).map_err(failed)?;
    let torn = size > 0 && last_byte(&mut file).map_err(failed)? != b'\n';
    Ok(Lines { out: file, torn, size })
}

fn last_byte(file: &mut File) -> io::Result<u8> {
    let mut byte = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// An existing file must be empty or have a frame or record, whole or torn, in it.
fn check(holds: Holds, path: &Path, file: &File) -> Result<(), RecordError> {
    let failed = |error| RecordError::Io(path.to_owned(), error);
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(RecordError::NotAFile(path.to_owned()));
    }
    let fits = match holds {
        Holds::Frames => holds_frames(file),
        Holds::Journal => holds_records(file),
    };
    if about.len() == 0 || fits.map_err(failed)? {
        return Ok(());
    }
    Err(RecordError::NotARecording(path.to_owned(), holds))
}

/// Whether a frame is found near the start, or nothing but a first line torn while it was written.
fn holds_frames(file: &File) -> io::Result<bool> {
    let mut input = BufReader::new(file.take(2 * MAX_LINE as u64));
    let begins_as_one = begins_as(input.fill_buf()?, Holds::Frames);
    let mut reader = FrameReader::new(input);
    let found = reader.next_head()?.is_some();
    Ok(found || (begins_as_one && reader.stats().damaged == 1))
}

/// Whether a record is found near the start, or nothing but a first line torn while it was written.
fn holds_records(file: &File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.take(HEAD).read_to_end(&mut head)?;
    Ok(begins_journal(&head) || begins_as(&head, Holds::Journal))
}

fn begins_as(first: &[u8], holds: Holds) -> bool {
    let start = holds.start();
    let common = first.len().min(start.len());
    first[..common] == start[..common]
}

/// Complete lines on a writer that may fail halfway.
#[derive(Debug)]
struct Lines<W> {
    out: W,
    /// Whether the last line has no end.
    torn: bool,
    size: u64,
}

/// What the beginning of a line can be taken back from.
trait Shorten {
    /// Makes it as long as before; fails where another process has written meanwhile.
    fn shorten(&mut self, now: u64, before: u64) -> io::Result<()>;
}

impl Shorten for File {
    fn shorten(&mut self, now: u64, before: u64) -> io::Result<()> {
        if self.metadata()?.len() != now {
            return Err(ErrorKind::ResourceBusy.into());
        }
        self.set_len(before)
    }
}

impl<W: Write + Shorten> Lines<W> {
    /// One `write` per line; a line torn before is closed first, and one that cannot be written whole is taken back.
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.torn {
            self.put(b"\n")?;
            self.torn = false;
        }
        let before = self.size;
        let outcome = self.put(line);
        if self.torn && self.out.shorten(self.size, before).is_ok() {
            self.size = before;
            self.torn = false;
        }
        outcome
    }

    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = match self.out.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => written,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            bytes = &bytes[written..];
            self.size += written as u64;
            self.torn = !bytes.is_empty();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use warpscope_probes::{Frame, SCHEMA};

    use super::*;

    fn frame(seq: u64) -> Frame {
        Frame { schema: SCHEMA, seq, interval_s: 1.0, ..Frame::default() }
    }

    fn seqs(bytes: &[u8]) -> Vec<u64> {
        let mut reader = FrameReader::new(bytes);
        std::iter::from_fn(|| reader.next_frame().expect("reads")).map(|frame| frame.seq).collect()
    }

    fn seqs_of(path: &Path) -> Vec<u64> {
        seqs(&std::fs::read(path).expect("is there"))
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    #[test]
    fn it_is_the_owners_only_and_is_continued() {
        let folder = folder();
        let path = folder.path().join("run.jsonl");
        for seq in [1, 2] {
            let mut recorder = Recorder::open(&path, Limits::default()).expect("opens");
            recorder.write(&frame(seq)).expect("writes");
        }
        assert_eq!(seqs_of(&path), [1, 2]);
        let mode = path.metadata().expect("is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn frames_and_runs_are_never_mixed_in_one_file() {
        let folder = folder();
        let path = folder.path().join("run.jsonl");
        let journal = || Recorder::open_as(Holds::Journal, &path, Limits::default());
        std::fs::write(&path, "{\"type\":\"ru").expect("writes");
        journal().expect("a torn first line").write(&1).expect("writes");
        assert_eq!(std::fs::read_to_string(&path).expect("reads"), "{\"type\":\"ru\n1\n");
        let error = Recorder::open(&path, Limits::default()).expect_err("holds runs");
        assert!(matches!(error, RecordError::NotARecording(_, Holds::Frames)), "{error}");
        let line = jsonl::line(&frame(1)).expect("is JSON");
        std::fs::write(&path, line).expect("writes");
        assert!(matches!(journal(), Err(RecordError::NotARecording(_, Holds::Journal))));
        std::fs::write(&path, "precious notes").expect("writes");
        assert!(matches!(journal(), Err(RecordError::NotARecording(_, Holds::Journal))));
    }

    #[test]
    fn a_torn_last_line_costs_itself_only() {
        let folder = folder();
        let path = folder.path().join("run.jsonl");
        let whole = jsonl::line(&frame(1)).expect("is JSON");
        for end in 1..whole.len() {
            std::fs::write(&path, [&whole[..], &whole[..end]].concat()).expect("writes");
            let mut recorder = Recorder::open(&path, Limits::default()).expect("opens");
            recorder.write(&frame(2)).expect("writes");
            let all = seqs_of(&path);
            assert_eq!((all.first(), all.last()), (Some(&1), Some(&2)), "torn at {end}");
        }
        std::fs::write(&path, &whole[..20]).expect("writes");
        let mut recorder =
            Recorder::open(&path, Limits::default()).expect("a torn first line is fine");
        recorder.write(&frame(3)).expect("writes");
        assert_eq!(seqs_of(&path), [3]);
    }

    #[test]
    fn what_is_no_recording_is_not_touched() {
        let folder = folder();
        let path = folder.path().join("thesis.tex");
        for content in [
            &b"\\documentclass{article}\n"[..],
            b"{\"name\":1}\n",
            b"\0\x01",
            b"{\"schema\":1,\"verdicts\":[]}\nx\n",
        ] {
            std::fs::write(&path, content).expect("writes");
            let error = Recorder::open(&path, Limits::default()).expect_err("is refused");
            assert!(matches!(error, RecordError::NotARecording(..)), "{error}");
            assert_eq!(std::fs::read(&path).expect("is there"), content);
        }
        std::fs::write(folder.path().join("run.jsonl.1"), "mine").expect("writes");
        let limits = Limits { max_size: Some(1), keep: 2 };
        let error =
            Recorder::open(&folder.path().join("run.jsonl"), limits).expect_err("in the way");
        assert!(error.to_string().contains("run.jsonl.1"), "{error}");
    }

    #[test]
    fn links_devices_folders_and_files_in_use_are_refused() {
        let folder = folder();
        let (path, link) = (folder.path().join("run.jsonl"), folder.path().join("link"));
        std::os::unix::fs::symlink(&path, &link).expect("links");
        assert!(Recorder::open(&link, Limits::default()).is_err());
        assert!(!path.exists(), "the link was followed");
        let device = Recorder::open(Path::new("/dev/null"), Limits::default());
        assert!(matches!(device, Err(RecordError::NotAFile(_))));
        assert!(Recorder::open(folder.path(), Limits::default()).is_err());
        let _first = Recorder::open(&path, Limits::default()).expect("opens");
        let second = Recorder::open(&path, Limits::default());
        assert!(matches!(second, Err(RecordError::InUse(_))));
    }

    #[test]
    fn full_files_are_rotated_and_the_oldest_goes() {
        let folder = folder();
        let path = folder.path().join("run.jsonl");
        let line = jsonl::line(&frame(1)).expect("is JSON").len() as u64;
        let limits = Limits { max_size: Some(2 * line), keep: 2 };
        let mut recorder = Recorder::open(&path, limits).expect("opens");
        for seq in 1..=9 {
            recorder.write(&frame(seq)).expect("writes");
        }
        assert_eq!(seqs_of(&path), [9]);
        assert_eq!(seqs_of(&numbered(&path, 1)), [7, 8]);
        assert_eq!(seqs_of(&numbered(&path, 2)), [5, 6]);
        assert!(!numbered(&path, 3).exists());
    }

    #[test]
    fn with_nothing_to_keep_one_file_stays() {
        let folder = folder();
        let path = folder.path().join("run.jsonl");
        let limits = Limits { max_size: Some(1), keep: 0 };
        let mut recorder = Recorder::open(&path, limits).expect("opens");
        for seq in 1..=3 {
            recorder.write(&frame(seq)).expect("writes");
        }
        assert_eq!(seqs_of(&path), [3]);
        assert_eq!(std::fs::read_dir(folder.path()).expect("lists").count(), 1);
    }

    #[test]
    fn a_rotation_that_fails_is_reported_and_loses_no_older_file() {
        let folder = folder();
        let path = folder.path().join("run.jsonl");
        let limits = Limits { max_size: Some(1), keep: 2 };
        let mut recorder = Recorder::open(&path, limits).expect("opens");
        recorder.write(&frame(1)).expect("writes");
        let in_the_way = numbered(&path, 1);
        std::fs::create_dir(&in_the_way).expect("makes");
        std::fs::create_dir(numbered(&path, 2)).expect("makes");
        std::fs::write(numbered(&path, 2).join("full"), "").expect("writes");
        for seq in [2, 3] {
            assert!(recorder.write(&frame(seq)).is_err());
        }
        std::fs::remove_dir(&in_the_way).expect("removes");
        recorder.write(&frame(4)).expect("goes on");
        assert_eq!((seqs_of(&path), seqs_of(&in_the_way)), (vec![4], vec![1]));
    }

    /// A disk with so much room.
    struct Disk {
        room: usize,
        content: Vec<u8>,
        is_shortened: bool,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.room);
            if taken == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            self.room -= taken;
            self.content.extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Shorten for Disk {
        fn shorten(&mut self, now: u64, before: u64) -> io::Result<()> {
            if !self.is_shortened {
                return Err(ErrorKind::Unsupported.into());
            }
            self.content.truncate(before as usize);
            self.room += (now - before) as usize;
            Ok(())
        }
    }

    #[test]
    fn a_disk_full_at_any_byte_is_reported_and_recording_goes_on_after() {
        let lines: Vec<_> = (1..=3).map(|seq| jsonl::line(&frame(seq)).expect("is JSON")).collect();
        let rooms =
            (0..lines[0].len() + lines[1].len()).flat_map(|room| [(room, true), (room, false)]);
        for (room, is_shortened) in rooms {
            let disk = Disk { room, content: Vec::new(), is_shortened };
            let mut out = Lines { out: disk, torn: false, size: 0 };
            let outcomes: Vec<_> = lines[..2].iter().map(|line| out.write(line).is_ok()).collect();
            assert!(!outcomes[1], "there was room for one line at most");
            let is_whole = matches!(out.out.content.last(), None | Some(b'\n'));
            assert!(is_whole || !is_shortened, "a torn line is left: room {room}");
            out.out.room = usize::MAX;
            out.write(&lines[2]).expect("there is room again");
            let all = seqs(&out.out.content);
            let missing = usize::from(!is_shortened); // without its line feed a line reads all the same
            assert_eq!(all.first() == Some(&1), room + missing >= lines[0].len(), "room {room}");
            assert_eq!(all.last(), Some(&3), "room {room}");
            assert_eq!(out.size, out.out.content.len() as u64);
        }
    }
}
