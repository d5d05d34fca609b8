//! Frames from JSON Lines, or other streams of JSON values, of unknown origin and health.
//!
//! A damaged line costs one frame and is counted; the text before and after it stays readable. The
//! length of a line is bounded before it is believed.

use std::io::{self, BufRead};

use serde::Deserialize;
use warpscope_probes::bounded::{Skipped, Values};
use warpscope_probes::{Frame, SCHEMA, Timestamp};

/// Longest line that is read; a longer one is skipped as damaged. Sixteen GPUs with a hundred
/// processes each take less than a sixteenth of it.
pub const MAX_LINE: usize = 16 << 20;
/// Bytes without any frame after which a stream is taken for something else.
const HOPELESS: u64 = 256 << 20;

/// The first fields of a frame: enough to know that a line is one, and when.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Head {
    /// Number of the format.
    pub schema: u32,
    /// Number of the frame.
    pub seq: u64,
    /// When it was put together.
    pub at: Timestamp,
    /// Seconds between frames the source aimed at.
    pub interval_s: f64,
}

/// What was met while reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Frames understood.
    pub frames: u64,
    /// Lines that are no frame, or too long.
    pub damaged: u64,
    /// Frames of a format newer than this program's; understood as far as it knows them.
    pub newer: u64,
}

/// One line that was understood, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Located<T> {
    /// Offset of its first byte.
    pub offset: u64,
    /// Bytes, without the line feed.
    pub length: u32,
    /// What it says.
    pub what: T,
}

/// Reads frames, or their heads, one after the other.
#[derive(Debug)]
pub struct FrameReader<R> {
    values: Values<R>,
    stats: ReadStats,
    skipped: Skipped,
}

impl<R: BufRead> FrameReader<R> {
    /// Reads from the current position of `input`.
    pub fn new(input: R) -> Self {
        Self {
            values: Values::new(input, MAX_LINE),
            stats: ReadStats::default(),
            skipped: Skipped::default(),
        }
    }

    /// What was met so far.
    pub fn stats(&self) -> ReadStats {
        ReadStats { damaged: self.skipped.count, ..self.stats }
    }

    /// What could not be read so far.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// The next frame; `None` at the end, or where a long stretch has shown that there is none. An error is one of the input itself.
    pub fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        let found = self.next_of(|frame: &Frame| frame.schema)?;
        Ok(found.map(|found| found.what))
    }

    /// The next head and where its line stands; `None` at the end.
    pub fn next_head(&mut self) -> io::Result<Option<Located<Head>>> {
        self.next_of(|head: &Head| head.schema)
    }

    fn next_of<T: for<'de> Deserialize<'de>>(
        &mut self,
        schema: fn(&T) -> u32,
    ) -> io::Result<Option<Located<T>>> {
        while self.stats.frames > 0 || self.values.position() < HOPELESS {
            let Some(value) = self.values.next()? else { return Ok(None) };
            let Some(line) = value.bytes else {
                self.skipped.add(value.line, Skipped::TOO_LONG);
                continue;
            };
            if line.trim_ascii().is_empty() {
                continue;
            }
            match serde_json::from_slice::<T>(line) {
                Ok(what) => {
                    self.stats.frames += 1;
                    self.stats.newer += u64::from(schema(&what) > SCHEMA);
                    let length = u32::try_from(line.len()).unwrap_or(u32::MAX);
                    return Ok(Some(Located { offset: value.offset, length, what }));
                }
                Err(why) => self.skipped.add(value.line, why),
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warpscope_probes::{Gpu, Reading};

    use super::*;
    use crate::io::sink::jsonl;

    fn read(bytes: &[u8]) -> (Vec<Frame>, ReadStats) {
        let mut reader = FrameReader::new(bytes);
        let frames = std::iter::from_fn(|| reader.next_frame().expect("memory does not fail"));
        (frames.collect(), reader.stats())
    }

    fn frame() -> impl Strategy<Value = Frame> {
        let reading = prop_oneof![
            any::<f32>()
                .prop_filter("finite", |x| x.is_finite())
                .prop_map(|x| Reading::Value(warpscope_probes::units::Percent(x))),
            Just(Reading::Denied),
            Just(Reading::Late(None)),
            any::<String>().prop_map(|why| Reading::Failed(why.into())),
        ];
        let gpu = (any::<u32>(), any::<String>(), any::<String>(), reading).prop_map(
            |(index, key, name, util)| {
                let mut gpu = Gpu { index, key, ..Gpu::default() };
                gpu.identity.name = name.into();
                gpu.vitals.util_gpu_pct = util;
                gpu
            },
        );
        (any::<u64>(), 0u64..253_402_300_799_000, 0.1f64..60.0, prop::collection::vec(gpu, 0..4))
            .prop_map(|(seq, at, interval_s, gpus)| Frame {
                schema: SCHEMA,
                seq,
                at: Timestamp(at),
                interval_s,
                gpus,
                ..Frame::default()
            })
    }

    fn bytes_of(frames: &[Frame]) -> Vec<u8> {
        frames.iter().flat_map(|frame| jsonl::line(frame).expect("writes")).collect()
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let (frames, stats) = read(&bytes);
            prop_assert_eq!(frames.len() as u64, stats.frames);
        }

        #[test]
        fn frames_survive_the_round_trip(frames in prop::collection::vec(frame(), 0..4)) {
            let (back, stats) = read(&bytes_of(&frames));
            prop_assert_eq!(back, frames);
            prop_assert_eq!(stats.damaged, 0);
        }

        #[test]
        fn a_damaged_byte_costs_at_most_the_lines_it_touches(
            frames in prop::collection::vec(frame(), 3..5), at in any::<prop::sample::Index>(), byte in any::<u8>(),
        ) {
            let mut bytes = bytes_of(&frames);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let (back, _) = read(&bytes);
            prop_assert!(back.len() + 2 >= frames.len());
        }
    }

    #[test]
    fn cut_off_at_any_byte_all_complete_lines_before_it_are_read() {
        let frames: Vec<_> = (1..4)
            .map(|seq| Frame {
                schema: SCHEMA,
                seq,
                interval_s: 1.0,
                gpus: vec![Gpu::default()],
                ..Frame::default()
            })
            .collect();
        let bytes = bytes_of(&frames);
        for end in 0..=bytes.len() {
            let complete = bytes[..end].iter().filter(|byte| **byte == b'\n').count();
            let (back, stats) = read(&bytes[..end]);
            assert_eq!(back[..complete], frames[..complete]);
            assert!(back.len() <= complete + 1 && stats.damaged <= 1, "cut at {end}");
        }
    }

    #[test]
    fn newer_formats_are_read_as_far_as_they_go_and_counted() {
        let text = format!(
            "{{\"schema\":{},\"seq\":1,\"at\":\"2026-11-21T10:11:12Z\",\"interval_s\":1,\"smell\":{{\"of\":3}}}}",
            SCHEMA + 1
        );
        let (frames, stats) = read(text.as_bytes());
        assert_eq!((frames.len(), stats.newer, stats.damaged), (1, 1, 0));
    }

    #[test]
    fn a_line_without_end_is_skipped_without_holding_it() {
        let good =
            bytes_of(&[Frame { schema: SCHEMA, seq: 7, interval_s: 1.0, ..Frame::default() }]);
        let long = std::iter::repeat_n(b'x', MAX_LINE + 1).chain([b'\n']);
        let bytes: Vec<u8> = good.iter().copied().chain(long).chain(good.iter().copied()).collect();
        let mut reader = FrameReader::new(bytes.as_slice());
        let first = reader.next_head().expect("reads").expect("a head");
        let second = reader.next_head().expect("reads").expect("a head");
        assert_eq!((first.what.seq, second.what.seq), (7, 7));
        assert_eq!(second.offset, (good.len() + MAX_LINE + 2) as u64);
        assert_eq!(usize::try_from(second.length).expect("small") + 1, good.len());
        assert_eq!(reader.stats().damaged, 1);
    }

    #[test]
    fn deep_nesting_is_damage_and_not_a_crash() {
        let (frames, stats) = read("[".repeat(100_000).as_bytes());
        assert_eq!((frames.len(), stats.damaged), (0, 1));
    }
}
