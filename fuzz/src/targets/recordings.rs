//! What warpscope records itself: frames, which are also what `stream` sends, and journals.

use std::time::Duration;

use warpscope::io::sink::export::{EXPORTS, Recordings};
use warpscope::io::sink::{FrameReader, csv, jsonl};
use warpscope::io::source::replay::ReplaySource;
use warpscope::runs::run_log::{Journal, PointStream, Reader, Record};
use warpscope_probes::Frame;

use crate::Trace;
use crate::runner::scratch;

/// Every frame that is read can be written, and reads back as itself; damage costs the lines it touches.
pub(super) fn frames(bytes: &[u8], trace: &mut Trace) {
    let lines = 1 + bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    let mut reader = FrameReader::new(bytes);
    while let Some(frame) = reader.next_frame().expect("memory can be read") {
        trace.value(&frame);
        let line = jsonl::line(&frame).expect("a frame can be written");
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert!(line.len() <= 100_000 + 16 * bytes.len(), "{} from {}", line.len(), bytes.len());
        let again: Option<Frame> = FrameReader::new(&line[..]).next_frame().expect("is memory");
        assert_eq!(again.as_ref(), Some(&frame));
        assert_eq!(csv::rows(&frame).lines().count(), frame.gpus.len());
    }
    let stats = reader.stats();
    assert!(stats.frames + stats.damaged <= lines && stats.newer <= stats.frames);
    trace.count("damaged", stats.damaged as usize);
    let mut heads = FrameReader::new(bytes);
    let mut end = 0;
    while let Some(head) = heads.next_head().expect("memory can be read") {
        assert!(head.offset >= end);
        end = head.offset + u64::from(head.length);
        assert!(end <= bytes.len() as u64);
    }
    assert!(heads.stats().frames >= stats.frames, "a frame begins with a head");
}

/// A recording that is opened can be wound to any moment.
pub(super) fn replay(bytes: &[u8], trace: &mut Trace) {
    let lines = 1 + bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    let result = ReplaySource::open(&scratch::file("run.jsonl", bytes));
    trace.result(&result.as_ref().map(ReplaySource::stats));
    if let Ok(source) = result {
        let stats = source.stats();
        assert!(stats.frames > 0 && stats.frames + stats.damaged <= lines);
        trace.value(&source.from(Duration::from_secs(5)).at_speed(1e9).from(Duration::MAX));
    }
}

/// A journal that is read can be exported, in documents that hold no more than it does.
pub(super) fn export(bytes: &[u8], trace: &mut Trace) {
    let mut recordings = Recordings::default();
    let mut reader = Reader::new(bytes);
    while let Some(record) = reader.record().expect("memory can be read") {
        recordings.take(record);
    }
    trace.value(&recordings);
    for export in EXPORTS {
        let mut written = Vec::new();
        (export.write)(&recordings.runs, &mut written).expect("memory takes everything");
        let most = 10_000 + 100 * bytes.len();
        assert!(written.len() <= most, "{}: {} from {}", export.id, written.len(), bytes.len());
        let text = String::from_utf8(written).expect("exports are text");
        match export.id {
            "t4" | "nvbench" | "perfetto" => {
                let json: Result<serde_json::Value, _> = serde_json::from_str(&text);
                json.unwrap_or_else(|error| panic!("{}: {error}: {text}", export.id));
            }
            "prometheus" => assert!(text.lines().all(is_sample), "{text}"),
            _ => {}
        }
    }
}

/// Whether a line of Prometheus' text is a remark or ends with a number.
fn is_sample(line: &str) -> bool {
    let number = line.rsplit(' ').next().unwrap_or_default();
    line.is_empty() || line.starts_with('#') || number.parse::<f64>().is_ok()
}

/// Both readers of a journal take the same points from it.
pub(super) fn journal(bytes: &[u8], trace: &mut Trace) {
    let journal = Journal::read(bytes).expect("memory can be read");
    let (mut reader, mut stream) = (Reader::new(bytes), PointStream::default());
    let mut streamed = 0;
    while let Some(record) = reader.record().expect("memory can be read") {
        stream.take(record, &mut |_, _| streamed += 1);
    }
    stream.flush(&mut |_, _| streamed += 1);
    let kept: usize = journal.runs.iter().map(|run| run.points.len()).sum();
    assert_eq!((kept, &journal.skipped), (streamed, reader.skipped()));
    trace.value(&journal);
    trace.count("skipped", journal.skipped.count as usize);
}

/// A record that is read can be written, and reads back as itself.
pub(super) fn record_line(bytes: &[u8], trace: &mut Trace) {
    for line in bytes.split(|byte| *byte == b'\n') {
        let Some(record) = record(line) else { continue };
        trace.value(&record);
        let written = serde_json::to_string(&record).expect("a record can be written");
        assert!(written.len() <= 2000 + 32 * line.len(), "{} from {}", written.len(), line.len());
        assert_eq!(self::record(written.as_bytes()), Some(record), "{written}");
    }
}

/// The first record of some bytes.
pub(super) fn record(bytes: &[u8]) -> Option<Record> {
    Reader::new(bytes).record().expect("memory can be read")
}
