//! Keeps the journal of a running recording: points at once, the machine around them with the next frame.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use warpscope_probes::Frame;

use super::super::identity::{Checkout, add_machine, now_ms};
use super::lines::as_shown;
use super::port::From;
use super::{Moment, cpu, say};
use crate::commands::frames::is_complete;
use crate::commands::record::family::Family;
use crate::io::sink::Recorder;
use crate::runs::run_log::{
    Around, CpuSample, CpuWindow, End, HELD_POINTS, HELD_SAMPLES, Identity, Mark, Record, Taken,
    Window,
};
use crate::runs::samples::{Found, Point, Scan};

/// Frames kept: a sample that began before the first of them has its window cut short.
const FRAMES: usize = 512;

/// Longest fault that is told.
const MAX_FAULT: usize = 200;

/// The journal and what is needed to write its next lines.
pub(crate) struct RunLog {
    recorder: Recorder,
    scan: Scan,
    frames: VecDeque<(Instant, Frame)>,
    /// The CPUs, as they were at the start, with each frame and whenever points were surrounded.
    cpus: VecDeque<(Instant, CpuSample)>,
    /// When points began that are on paper and whose surroundings are not.
    waiting: Vec<Instant>,
    waiting_samples: usize,
    family: Family,
    run: Identity,
    /// The part of it that is written.
    written: Identity,
    /// What is not known of the run yet: its commit, its machine.
    unknown: [bool; 2],
    signal: Option<Signal>,
    summary: Summary,
}

impl RunLog {
    /// Writes down at once what is known of the run.
    pub(crate) fn new(recorder: Recorder, scan: Scan, family: Family, run: Identity) -> Self {
        let first = Record::Run(Box::new(run.clone()));
        let mut log = Self {
            recorder,
            scan,
            frames: VecDeque::new(),
            cpus: VecDeque::new(),
            waiting: Vec::new(),
            waiting_samples: 0,
            family,
            written: run.clone(),
            run,
            unknown: [true; 2],
            signal: None,
            summary: Summary::default(),
        };
        // Told where it happened; a full disk may have room again when the points come.
        let _ = log.write(&first);
        log.look_at_cpus();
        log
    }

    fn look_at_cpus(&mut self) {
        let Some(look) = self.family.root().and_then(cpu::look) else { return };
        if self.run.governor.is_none() {
            self.run.governor.clone_from(&look.governor);
        }
        if self.cpus.len() == FRAMES {
            self.cpus.pop_front();
        }
        self.cpus.push_back((Instant::now(), look));
    }

    /// What is checked out where the run is.
    pub(crate) fn checkout(&mut self, found: Checkout) {
        found.put_into(&mut self.run);
        self.unknown[0] = false;
        self.identify();
    }

    /// Whether all is known of the run.
    pub(crate) fn is_identified(&self) -> bool {
        self.unknown == [false; 2]
    }

    /// Writes at once what has become known.
    fn identify(&mut self) {
        if self.run != self.written {
            self.written = self.run.clone();
            let whole = Record::Identity(Box::new(self.run.clone()));
            let _ = self.write(&whole);
        }
    }

    /// A signal that asks the run to end.
    pub(crate) fn signal(&mut self, signal: Signal) {
        self.signal = Some(signal);
    }

    /// Writes a record; says on stderr when trouble comes, changes and goes.
    pub(crate) fn write(&mut self, record: &Record) -> Result<(), String> {
        let outcome = self.recorder.write(record).map_err(|error| error.to_string());
        let trouble = outcome.clone().err();
        if trouble != self.summary.trouble {
            say(trouble.as_deref().unwrap_or("recording continues"));
        }
        self.summary.trouble = trouble;
        outcome
    }

    /// Lines of the program.
    pub(crate) fn lines(&mut self, from: From, lines: &[String], read: Moment) {
        for line in lines {
            let found = match from {
                From::Output => self.scan.take(&as_shown(line)),
                From::Points => vec![Scan::only(line)],
            };
            for one in found {
                match one {
                    Found::Point(point) => self.point(*point, read),
                    Found::Remark(text) => drop(self.remark(text)),
                    Found::Damaged(why) => self.damage(1, &why),
                }
            }
        }
    }

    fn point(&mut self, point: Point, read: Moment) {
        let took = Duration::try_from_secs_f64(point.t_ns.iter().sum::<f64>() / 1e9);
        let began = took.ok().and_then(|took| read.at.checked_sub(took)).unwrap_or(read.at);
        let samples = point.t_ns.len();
        let taken = Taken { at_ms: Some(read.ms), point, window: None };
        if self.write(&Record::Point(Box::new(taken))).is_err() {
            self.summary.lost += samples as u64;
        } else {
            self.summary.samples += samples as u64;
            self.waiting.push(began);
            self.waiting_samples += samples;
            if self.waiting.len() >= HELD_POINTS || self.waiting_samples >= HELD_SAMPLES / 2 {
                self.surround();
            }
        }
    }

    /// Counts lines that could not be read.
    pub(crate) fn damage(&mut self, lines: u64, why: &str) {
        if lines == 0 {
            return;
        }
        self.summary.damaged += lines;
        self.summary.first_damage.get_or_insert_with(|| why.chars().take(MAX_FAULT).collect());
    }

    /// A remark of the user or of a tool.
    pub(crate) fn remark(&mut self, text: String) -> Result<(), String> {
        self.write(&Record::Mark(Mark { at_ms: now_ms(), text }))
    }

    /// A frame: what stood before it is now surrounded.
    pub(crate) fn frame(&mut self, frame: Frame) {
        self.family.see(&frame);
        if self.unknown[1] {
            add_machine(&mut self.run, &frame);
            if is_complete(&frame) {
                self.unknown[1] = false;
                self.identify();
            }
        }
        if self.frames.len() == FRAMES {
            self.frames.pop_front();
        }
        self.frames.push_back((Instant::now(), frame));
        self.look_at_cpus();
        // One frame cannot show what moved: points older than the first wait for two.
        if self.frames.len() > 1 {
            self.surround();
        }
    }

    /// Whether points wait for a frame that can say something of them.
    pub(crate) fn waits(&self) -> bool {
        !self.waiting.is_empty()
            && self.frames.back().is_some_and(|(_, frame)| self.family.gpu(frame).is_some())
    }

    /// Writes the machine around the points that wait, from before the earliest of them: one line for all, since a line counts
    /// backwards and cannot speak of points with others after them.
    fn surround(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_samples = 0;
        let Some(began) = waiting.iter().min().copied() else { return };
        let around = self.around(began, waiting.len() as u64);
        if around.window.is_some() || around.cpu.is_some() {
            // Told where it happened; the points themselves are written.
            let _ = self.write(&Record::Around(Box::new(around)));
        }
    }

    fn around(&self, began: Instant, points: u64) -> Around {
        let frames = since(&self.frames, began);
        let gpu = self.frames.back().and_then(|(_, frame)| self.family.gpu(frame));
        let window = gpu.map(|gpu| {
            let mut window = Window::of(frames, &gpu.key, &[]);
            window.others.retain(|pid| self.family.is_other(*pid));
            window
        });
        let cpu = match window {
            Some(_) => None,
            None => CpuWindow::of(&since(&self.cpus, began).collect::<Vec<_>>()),
        };
        let tainted = match (&window, &cpu) {
            (Some(window), _) => window.taints(),
            (None, Some(cpu)) => cpu.taints(),
            (None, None) => Vec::new(),
        };
        Around {
            at_ms: now_ms(),
            points,
            device: gpu.and_then(|gpu| gpu.identity.name.last().cloned()),
            tainted,
            window,
            cpu,
        }
    }

    /// Closes the run and says what became of it.
    pub(crate) fn end(mut self, exit: Option<i32>) -> Summary {
        if !self.waiting.is_empty() {
            self.look_at_cpus();
        }
        self.surround();
        self.identify();
        let signal = self.signal.map(Signal::as_raw);
        let samples = self.summary.samples;
        let _ = self.write(&Record::End(End { at_ms: now_ms(), samples, exit, signal }));
        self.summary
    }
}

/// What was seen from the last time before a moment on.
fn since<T>(seen: &VecDeque<(Instant, T)>, began: Instant) -> impl Iterator<Item = &T> + Clone {
    let first = seen.iter().rposition(|(at, _)| *at <= began).unwrap_or(0);
    seen.iter().skip(first).map(|(_, one)| one)
}

/// What became of a recording.
#[derive(Default)]
pub(crate) struct Summary {
    /// Samples that are in the journal.
    pub(crate) samples: u64,
    /// Samples that could not be written.
    pub(crate) lost: u64,
    /// Lines that were meant as points, and the first one's fault.
    pub(crate) damaged: u64,
    pub(crate) first_damage: Option<String>,
    pub(crate) trouble: Option<String>,
}

#[cfg(test)]
mod tests;
