use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::Instant;

use proptest::prelude::*;

use super::*;

fn why(path: &Path, accept: Accept) -> String {
    read(path, accept, 1 << 10).expect_err("is refused").to_string()
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("starts").success());
}

#[test]
fn what_is_no_file_is_named_and_not_waited_for() {
    let dir = tempfile::tempdir().expect("a folder");
    let (pipe, socket) = (dir.path().join("pipe"), dir.path().join("socket"));
    fifo(&pipe);
    let _listener = UnixListener::bind(&socket).expect("binds");
    for (path, part) in [
        (Path::new("/dev/zero"), "is a device, not a file"),
        (dir.path(), "is a folder, not a file"),
        (&socket, "is a socket, not a file"),
        (&pipe, "is a pipe, not a file"),
    ] {
        let why = why(path, Accept::Files);
        assert!(why.starts_with(part), "{}: {why}", path.display());
    }
    let missing = open(&dir.path().join("missing")).expect_err("is missing");
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

#[test]
fn the_null_device_is_an_empty_file() {
    assert_eq!(read(Path::new("/dev/null"), Accept::Files, 1 << 10).expect("opens"), b"");
}

#[test]
fn a_pipe_gives_what_is_written_into_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let pipe = dir.path().join("pipe");
    fifo(&pipe);
    let path = pipe.clone();
    let writer = std::thread::spawn(move || std::fs::write(path, "through a pipe"));
    assert_eq!(text(&pipe, Accept::Pipes, 100).expect("reads"), "through a pipe");
    writer.join().expect("ends").expect("writes");
}

#[test]
fn a_pipe_nobody_writes_into_is_given_up() {
    let dir = tempfile::tempdir().expect("a folder");
    let pipe = dir.path().join("pipe");
    fifo(&pipe);
    let mut input = Input::open(&pipe, Accept::Pipes).expect("opens at once");
    input.patience = Duration::from_secs(1);
    let start = Instant::now();
    let error = input.read(&mut [0; 8]).expect_err("nobody writes");
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(start.elapsed() >= Duration::from_secs(1), "{error}");
    assert!(error.to_string().contains("for 1 s"), "{error}");
}

#[test]
fn the_limit_holds_whatever_size_the_file_system_reports() {
    let dir = tempfile::tempdir().expect("a folder");
    let sparse = dir.path().join("sparse");
    File::create(&sparse).expect("creates").set_len(6 << 30).expect("grows");
    assert_eq!(why(&sparse, Accept::Files), "larger than 1 KiB, the limit for such a file");
    // Reports a size of zero.
    let maps = Path::new("/proc/self/maps");
    assert_eq!(
        read(maps, Accept::Files, 64).expect_err("is longer").kind(),
        ErrorKind::FileTooLarge
    );
    assert!(!read(maps, Accept::Files, 1 << 26).expect("reads").is_empty());
    std::fs::write(&sparse, [b'x'; 1 << 10]).expect("writes");
    assert_eq!(read(&sparse, Accept::Files, 1 << 10).expect("just fits").len(), 1 << 10);
}

#[test]
fn text_loses_its_mark_and_damage_is_named_by_line() {
    assert_eq!(into_text("\u{feff}a\u{feff}".into()).expect("is text"), "a\u{feff}");
    let error = into_text(b"a\nb\n\xff".to_vec()).expect_err("is no text");
    assert_eq!(error.to_string(), "line 3 is not UTF-8 text; save the file as UTF-8");
}

/// Values as text with their lines; `None` for one that is too long.
fn values(bytes: &[u8], longest: usize) -> Vec<(u64, Option<String>)> {
    let mut values = Values::new(bytes, longest);
    let mut all = Vec::new();
    while let Some(value) = values.next().expect("memory does not fail") {
        let text = value.bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        if let Some(part) = value.bytes {
            let start = usize::try_from(value.offset).expect("small");
            assert_eq!(&bytes[start..start + part.len()], part);
        }
        all.push((value.line, text));
    }
    assert_eq!(values.position(), bytes.len() as u64);
    all
}

#[test]
fn lines_and_pretty_printed_values_come_one_by_one() {
    let text = "\u{feff}{\"a\":1}\n\nname=b t_us=1\n{\n  \"c\": {\n    \"d\": 1\n  }\n}\n{\"e\":2}";
    let want = [
        (1, "{\"a\":1}"),
        (2, ""),
        (3, "name=b t_us=1"),
        (4, "{\n  \"c\": {\n    \"d\": 1\n  }\n}"),
        (9, "{\"e\":2}"),
    ];
    let want = want.map(|(line, text)| (line, Some(text.to_owned())));
    assert_eq!(values(text.as_bytes(), 100), want);
    let windows = text.replace('\n', "\r\n");
    assert_eq!(values(windows.as_bytes(), 100).len(), want.len());
}

#[test]
fn a_value_that_breaks_off_ends_before_the_next() {
    for next in ["{\"b\":1}", "{", "name=b t_us=1"] {
        let text = format!("{{\n  \"a\": [\n    1,\n{next}\n");
        let found = values(text.as_bytes(), 100);
        assert_eq!(found[0], (1, Some("{\n  \"a\": [\n    1,".to_owned())), "{next}");
        assert_eq!(found[1..], [(4, Some(next.to_owned()))]);
    }
}

#[test]
fn what_is_too_long_is_skipped_and_not_held() {
    let long = "x".repeat(100_000);
    let text = format!("a\n{long}\nb\n{{\n \"{long}\n}}\nc\n{long}");
    let found = values(text.as_bytes(), 1000);
    let (a, b, c) = (Some("a".to_owned()), Some("b".to_owned()), Some("c".to_owned()));
    assert_eq!(
        found,
        [(1, a), (2, None), (3, b), (4, None), (6, Some("}".into())), (7, c), (8, None)]
    );
    let mut values = Values::new(text.as_bytes(), 1000);
    while values.next().expect("reads").is_some() {
        assert!(values.text.capacity() <= 4096, "{}", values.text.capacity());
    }
}

#[test]
fn a_line_without_end_can_be_given_up() {
    let endless = std::io::BufReader::with_capacity(1 << 20, std::io::repeat(0));
    let mut values = Values::new(endless, 1000);
    for _ in 0..3 {
        let value = values.next().expect("reads").expect("goes on");
        assert_eq!((value.line, value.bytes), (1, None));
    }
    let line = std::io::repeat(b'x').take(200 << 20).chain(&b"\nnext"[..]);
    let mut values = Values::new(std::io::BufReader::with_capacity(1 << 20, line), 1000);
    let mut last = None;
    while let Some(value) = values.next().expect("reads") {
        last = Some((value.line, value.offset, value.bytes.map(<[u8]>::to_vec)));
    }
    assert_eq!(last, Some((2, (200 << 20) + 1, Some(b"next".to_vec()))));
}

#[test]
fn what_was_skipped_is_told_in_a_line() {
    let mut skipped = Skipped::default();
    skipped.add(3, "no JSON");
    assert_eq!(skipped.to_string(), "1 damaged line skipped: line 3: no JSON");
    skipped.add(9, Skipped::TOO_LONG);
    assert_eq!(skipped.to_string(), "2 damaged lines skipped, the first at line 3: no JSON");
}

proptest! {
    #[test]
    fn no_bytes_are_lost_or_given_twice(text in "([{}a \n]|\\{\n|\n\\}\n){0,40}", longest in 1usize..20) {
        let lines = text.split_inclusive('\n').count() as u64;
        let found = values(text.as_bytes(), longest);
        prop_assert!(found.iter().all(|(line, _)| *line <= lines));
        prop_assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
