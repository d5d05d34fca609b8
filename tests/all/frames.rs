//! The recordings under `tests/frames`: still what their builder makes, readable, and playable.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock};

use warpscope::io::sink::{FrameReader, jsonl};
use warpscope::io::source::replay::{AtEnd, ReplayError, ReplaySource};
use warpscope::io::source::{Control, Seek, Source};
use warpscope_probes::{Frame, Origin};

use crate::synthetic::RECORDINGS;

/// A minute of eight GPUs, 1.5 MB: made anew by every run of the tests, and not committed.
const LONG: &str = "synthetic-h100x8.jsonl";

static LONG_PATH: LazyLock<PathBuf> = LazyLock::new(|| {
    let (_, build) = RECORDINGS.iter().find(|one| one.0 == LONG).expect("is listed");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut file = tempfile::NamedTempFile::new_in(folder).expect("a file");
    std::io::Write::write_all(&mut file, &bytes(&build())).expect("writes");
    file.persist(folder.join(LONG)).expect("is renamed");
    folder.join(LONG)
});

pub(crate) fn path(name: &str) -> PathBuf {
    match name {
        LONG => LONG_PATH.clone(),
        _ => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/frames").join(name),
    }
}

fn bytes(frames: &[Frame]) -> Vec<u8> {
    frames.iter().flat_map(|frame| jsonl::line(frame).expect("is JSON")).collect()
}

/// `UPDATE_FRAMES=1 cargo test recordings` writes them anew.
#[test]
fn recordings_are_what_their_builder_makes() {
    for (name, build) in RECORDINGS.iter().filter(|one| one.0 != LONG) {
        let bytes = bytes(&build());
        if std::env::var_os("UPDATE_FRAMES").is_some() {
            fs::write(path(name), &bytes).expect("writes");
        }
        let committed = fs::read(path(name)).expect("is committed");
        assert!(committed == bytes, "{name} is stale: run UPDATE_FRAMES=1 cargo test recordings");
    }
}

#[test]
fn recordings_read_back_as_built_and_own_up_to_being_synthetic() {
    for (name, build) in RECORDINGS {
        let bytes = fs::read(path(name)).expect("is committed");
        let mut reader = FrameReader::new(bytes.as_slice());
        let frames = std::iter::from_fn(|| reader.next_frame().expect("reads")).collect::<Vec<_>>();
        assert_eq!(frames, build(), "{name}");
        let says = |frame: &Frame| {
            frame.host.machine.hostname.last().is_some_and(|host| host == "synthetic")
        };
        assert!(name.starts_with("synthetic-") && frames.iter().all(says), "{name}");
    }
}

/// What a real GPU said is kept to the byte, and shows it at work.
#[test]
fn frames_of_a_real_gpu_read_back_as_recorded() {
    let bytes = fs::read(path("h200.jsonl")).expect("is committed");
    let mut reader = FrameReader::new(bytes.as_slice());
    let frames: Vec<Frame> = std::iter::from_fn(|| reader.next_frame().expect("reads")).collect();
    assert!(self::bytes(&frames) == bytes, "a frame changes when it is written again");
    let gpus = frames.iter().map(|frame| &frame.gpus[0]);
    assert!(gpus.clone().all(|gpu| gpu.identity.name.last().is_some_and(|it| it == "NVIDIA H200")));
    let watts = gpus.map(|gpu| gpu.vitals.power_w.value().expect("has a value").0);
    let most = watts.fold(0.0, f64::max);
    assert!((600.0..=720.0).contains(&most), "{most} W of a board of 700");
}

fn play(source: ReplaySource) -> (Receiver<Frame>, Box<dyn Control>) {
    let (sender, frames) = channel();
    let control = Box::new(source).start(Arc::new(move |frame| sender.send(frame).is_ok()));
    (frames, control)
}

#[test]
fn a_replay_gives_every_frame_in_order_says_so_and_ends() {
    let source = ReplaySource::open(&path("synthetic-t4.jsonl")).expect("opens");
    let (frames, control) = play(source.at_speed(1000.0).ending(AtEnd::Stop));
    let frames: Vec<_> = frames.iter().collect();
    assert_eq!(frames.iter().map(|frame| frame.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    let origin = Origin::Replay { file: "synthetic-t4.jsonl".into(), host: None };
    assert!(frames.iter().all(|frame| frame.origin == origin));
    let position = control.position().expect("a recording has one");
    assert_eq!((position.at_s, position.length_s, position.damaged), (4.0, 4.0, 0));
}

#[test]
fn a_replay_goes_where_it_is_told_even_while_paused() {
    let source = ReplaySource::open(&path("synthetic-h100x8.jsonl")).expect("opens");
    let (frames, mut control) = play(source.at_speed(0.01));
    assert_eq!(frames.recv().expect("the first").seq, 1);
    control.set_paused(true);
    control.seek(Seek::To(1.0));
    assert_eq!(frames.recv().expect("the last").seq, 60);
    control.seek(Seek::By(-10.0));
    assert_eq!(frames.recv().expect("ten back").seq, 50);
    let position = control.position().expect("a recording has one");
    assert_eq!((position.at_s, position.paused, position.speed), (49.0, true, 0.01));
    drop(control);
    assert!(frames.recv().is_err(), "the source lives on without its control");
}

#[test]
fn damaged_lines_are_counted_and_skipped() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("torn.jsonl");
    let whole = fs::read(path("synthetic-none.jsonl")).expect("is committed");
    let torn = [&whole[..], b"{\"schema\":1,\"se\nnonsense\n\xff\xfe\n", &whole[..whole.len() / 2]]
        .concat();
    fs::write(&file, torn).expect("writes");
    let source = ReplaySource::open(&file).expect("opens");
    let stats = source.stats();
    assert_eq!((stats.frames, stats.damaged), (4, 4));
    let (frames, control) = play(source.at_speed(1000.0).ending(AtEnd::Stop));
    assert_eq!(frames.iter().count(), 4);
    assert_eq!(control.position().map(|position| position.damaged), Some(4));
}

#[test]
fn a_line_that_only_begins_as_a_frame_is_counted_once_however_often_one_seeks() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("odd.jsonl");
    let whole = fs::read(path("synthetic-none.jsonl")).expect("is committed");
    let odd = br#"{"schema":1,"seq":9,"at":"2026-11-21T11:00:00Z","interval_s":1,"gpus":3}"#;
    fs::write(&file, [&whole[..], odd].concat()).expect("writes");
    let (frames, mut control) = play(ReplaySource::open(&file).expect("opens").at_speed(0.01));
    control.set_paused(true);
    for _ in 0..3 {
        control.seek(Seek::To(1.0));
        control.seek(Seek::To(0.0));
    }
    assert!(frames.iter().take(4).all(|frame| frame.seq == 1));
    assert_eq!(control.position().map(|position| position.damaged), Some(1));
}

#[test]
fn what_is_no_recording_is_named() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let error = ReplaySource::open(&root.join("Cargo.toml")).expect_err("is refused");
    assert!(matches!(error, ReplayError::NotARecording(_)), "{error}");
    let error = ReplaySource::open(&root.join("src")).expect_err("is refused");
    assert!(error.to_string().ends_with("src: is a folder, not a file"), "{error}");
    let error = ReplaySource::open(&path("none-such.jsonl")).expect_err("is missing");
    assert!(error.to_string().contains("none-such.jsonl"));
}
