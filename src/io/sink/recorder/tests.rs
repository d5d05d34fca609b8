use std::os::unix::fs::PermissionsExt;

use warpscope_probes::{Frame, SCHEMA};

use std::io::Write;

use super::lines::Shorten;
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
    let journal = || Recorder::open_as(Holds::RunLog, &path, Limits::default());
    std::fs::write(&path, "{\"type\":\"ru").expect("writes");
    journal().expect("a torn first line").write(&1).expect("writes");
    assert_eq!(std::fs::read_to_string(&path).expect("reads"), "{\"type\":\"ru\n1\n");
    let error = Recorder::open(&path, Limits::default()).expect_err("holds runs");
    assert!(matches!(error, RecordError::NotARecording(_, Holds::Frames)), "{error}");
    let line = jsonl::line(&frame(1)).expect("is JSON");
    std::fs::write(&path, line).expect("writes");
    assert!(matches!(journal(), Err(RecordError::NotARecording(_, Holds::RunLog))));
    std::fs::write(&path, "precious notes").expect("writes");
    assert!(matches!(journal(), Err(RecordError::NotARecording(_, Holds::RunLog))));
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
    let mut recorder = Recorder::open(&path, Limits::default()).expect("a torn first line is fine");
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
    let error = Recorder::open(&folder.path().join("run.jsonl"), limits).expect_err("in the way");
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
    let rooms = (0..lines[0].len() + lines[1].len()).flat_map(|room| [(room, true), (room, false)]);
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
