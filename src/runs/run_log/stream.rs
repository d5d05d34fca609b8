//! A journal as a stream of points: whatever the size of the file, a bounded part of it is held.

use std::collections::{BTreeSet, VecDeque};

use super::{Identity, Record, SampleMode};
use crate::runs::samples::Point;

/// Most points, and samples of them, a record of the machine around them may lie behind. A writer puts one in before it is more.
pub const HELD_POINTS: usize = 1 << 16;
/// As [`HELD_POINTS`], of samples.
pub const HELD_SAMPLES: usize = 1 << 20;

/// Takes records, gives points once nothing more can be said of them.
#[derive(Debug, Default)]
pub struct PointStream {
    regime: SampleMode,
    held: VecDeque<Point>,
    samples: usize,
    /// Devices of the machines the runs were on.
    pub devices: BTreeSet<String>,
}

impl PointStream {
    /// Takes one record.
    pub fn take(&mut self, record: Record, give: &mut impl FnMut(Point, SampleMode)) {
        match record {
            Record::Run(run) => {
                self.release(0, 0, give);
                self.know(*run);
            }
            Record::Identity(run) => self.know(*run),
            Record::Point(taken) => {
                self.samples += taken.point.t_ns.len();
                self.held.push_back(taken.point);
                self.release(HELD_POINTS, HELD_SAMPLES, give);
            }
            Record::Around(around) => around.mark(self.held.make_contiguous()),
            Record::Mark(_) | Record::End(_) => {}
        }
    }

    fn know(&mut self, run: Identity) {
        self.regime = run.regime;
        if run.devices.is_empty() {
            self.devices.extend(run.cpu);
        }
        self.devices.extend(run.devices.into_iter().map(|device| device.name));
    }

    /// Gives what is still held.
    pub fn flush(&mut self, give: &mut impl FnMut(Point, SampleMode)) {
        self.release(0, 0, give);
    }

    fn release(&mut self, points: usize, samples: usize, give: &mut impl FnMut(Point, SampleMode)) {
        while self.held.len() > points || self.samples > samples {
            let Some(point) = self.held.pop_front() else { return };
            self.samples -= point.t_ns.len();
            give(point, self.regime);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Reader, Taken};
    use super::*;

    fn read(text: &str) -> Vec<(String, SampleMode, bool)> {
        let mut all = Vec::new();
        let mut give = |point: Point, regime| {
            all.push((point.key.name, regime, !point.tainted.is_empty()));
        };
        let mut stream = PointStream::default();
        let mut reader = Reader::new(text.as_bytes());
        while let Some(record) = reader.record().expect("memory does not fail") {
            stream.take(record, &mut give);
        }
        stream.flush(&mut give);
        assert_eq!(reader.skipped().count, 0);
        all
    }

    #[test]
    fn points_come_in_order_with_regime_and_taint_of_their_own_run() {
        let text = r#"{"type":"run","regime":"pulse"}
name=a t_us=1
name=b t_us=1
{"type":"run","regime":"sustained"}
name=c t_us=1
{"type":"around","points":9,"tainted":["shared"]}
name=d t_us=1"#;
        let (pulse, sustained) = (SampleMode::Pulse, SampleMode::Sustained);
        let want = [
            ("a", pulse, false),
            ("b", pulse, false),
            ("c", sustained, true),
            ("d", sustained, false),
        ];
        assert_eq!(read(text), want.map(|(name, regime, bad)| (name.to_owned(), regime, bad)));
    }

    #[test]
    fn devices_found_out_later_are_known_too() {
        let mut stream = PointStream::default();
        let text = "{\"type\":\"run\"}\nname=a t_us=1\n{\"type\":\"identity\",\"devices\":[{\"name\":\"T4\"}]}";
        let mut reader = Reader::new(text.as_bytes());
        while let Some(record) = reader.record().expect("memory does not fail") {
            stream.take(record, &mut |_, _| {});
        }
        assert!(stream.devices.contains("T4"));
    }

    #[test]
    fn a_clock_that_jumps_back_loses_nothing() {
        let line = |at: u64| {
            format!("{{\"type\":\"point\",\"at_ms\":{at},\"name\":\"p{at}\",\"t_ns\":[5]}}")
        };
        let text = [9_000, 10, 20, 0, u64::MAX].map(line).join("\n");
        assert_eq!(read(&text).len(), 5);
    }

    #[test]
    fn what_is_held_has_a_bound() {
        let mut stream = PointStream::default();
        let mut given = 0;
        for _ in 0..200 {
            let point = Point { t_ns: vec![1.0; 10_000], ..Point::default() };
            let taken = Taken { point, ..Taken::default() };
            stream.take(Record::Point(Box::new(taken)), &mut |_, _| given += 1);
            assert!(stream.samples <= HELD_SAMPLES);
        }
        assert_eq!(given + stream.held.len(), 200);
    }
}
