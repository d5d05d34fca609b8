//! The journal of a search.

use std::path::PathBuf;

use warpscope_probes::private;

use super::super::identity::{self, now_ms};
use super::super::output;
use crate::commands::cli::{CliError, Options, Result};
use crate::commands::compare::known::noise_file_path;
use crate::config::args;
use crate::io::sink::{Holds, Limits, Recorder};
use crate::runs::run_log::{End, Mark, Record, Taken};
use crate::runs::samples::Point;
use crate::tuner::{Board, ParsedOutput, Spec, State};

/// Every checked sample, and a remark for each candidate that has none.
pub(crate) struct RunLog {
    recorder: Option<Recorder>,
    path: Option<PathBuf>,
    trouble: Option<String>,
    samples: u64,
}

impl RunLog {
    /// The journal that was named, else one by the name of the spec beside this program's state. Only the former has to be there.
    pub(crate) fn open(options: &Options, spec: &Spec) -> Result<Self> {
        let (path, is_wanted) = match options.get(&args::RECORD) {
            Some(path) => (Some(path.clone()), true),
            None => (usual(options, spec), false),
        };
        let opened = path.as_ref().map(|path| {
            Recorder::open_as(Holds::RunLog, path, Limits::default())
                .map_err(|error| error.to_string())
        });
        let recorder = match opened {
            Some(Err(why)) if is_wanted => return Err(CliError::Usage(why)),
            Some(Err(why)) => {
                warn(&format!("nothing is recorded: {why}"));
                None
            }
            Some(Ok(recorder)) => Some(recorder),
            None => None,
        };
        let path = path.filter(|_| recorder.is_some());
        Ok(Self { recorder, path, trouble: None, samples: 0 })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> Option<&PathBuf> {
        self.path.as_ref()
    }

    fn write(&mut self, record: &Record) {
        let Some(recorder) = &mut self.recorder else { return };
        let trouble = recorder.write(record).err().map(|error| error.to_string());
        if trouble != self.trouble {
            warn(trouble.as_deref().unwrap_or("recording continues"));
        }
        self.trouble = trouble;
    }

    /// A run of one state of the source.
    pub(crate) fn begin(&mut self, spec: &Spec, hash: &str) {
        let mut run = identity::here(spec.run.words().to_vec());
        run.name = Some(spec.name.clone());
        run.image = Some(hash.to_owned());
        self.samples = 0;
        self.write(&Record::Run(Box::new(run)));
    }

    /// What became of one candidate, and the samples of the baseline beside it.
    pub(crate) fn settle(&mut self, board: &Board, problem: usize, candidate: usize) {
        let trial = &board.problems[problem].trials[candidate];
        if trial.is_recalled {
            return;
        }
        let baseline = board.problems[problem].baseline.filter(|one| *one != candidate);
        if let Some(baseline) = baseline {
            self.samples(board, (problem, baseline), &trial.beside);
        }
        let config = &board.candidates[candidate];
        let what = format!("{} {config}", board.problems[problem].key);
        match &trial.state {
            State::Done => self.samples(board, (problem, candidate), &trial.said),
            State::Stopped(why) => {
                self.samples(board, (problem, candidate), &trial.said);
                self.mark(format!("stopped: {what}: {why}"));
            }
            State::Invalid(invalid) => {
                self.mark(format!("{}: {what}: {}", invalid.fault.word(), invalid.why));
            }
            State::Right => self.mark(format!("right, simulated: {what}")),
            State::Waiting | State::Running => {}
        }
    }

    /// A remark.
    pub(crate) fn mark(&mut self, text: String) {
        self.write(&Record::Mark(Mark { at_ms: now_ms(), text }));
    }

    /// Samples of one candidate: the clean ones, and those that are not to be judged.
    pub(crate) fn samples(
        &mut self,
        board: &Board,
        (problem, candidate): (usize, usize),
        said: &ParsedOutput,
    ) {
        let amount = board.problems[problem].amount_of(candidate);
        let config = board.candidates[candidate].to_string();
        let point = Point {
            key: board.problems[problem].key.clone(),
            config: Some(config).filter(|config| !config.is_empty()),
            flops: amount.flops,
            bytes: amount.bytes,
            ..Point::default()
        };
        let clean = (&said.times, &said.sm_mhz, &Vec::new());
        let tainted = said.tainted.iter().map(|one| (&one.times, &one.sm_mhz, &one.why));
        for (times, clocks, why) in std::iter::once(clean).chain(tainted) {
            self.point(Point {
                t_ns: times.clone(),
                sm_mhz: clocks.clone(),
                tainted: why.clone(),
                ..point.clone()
            });
        }
    }

    fn point(&mut self, point: Point) {
        if point.t_ns.is_empty() {
            return;
        }
        self.samples += point.t_ns.len() as u64;
        self.write(&Record::Point(Box::new(Taken { at_ms: Some(now_ms()), point, window: None })));
    }

    /// The end of a run.
    pub(crate) fn end(&mut self) {
        let end = End { at_ms: now_ms(), samples: self.samples, ..End::default() };
        self.write(&Record::End(end));
    }
}

/// `$XDG_STATE_HOME/warpscope/tune/NAME.jsonl`; nothing where there is no such place.
fn usual(options: &Options, spec: &Spec) -> Option<PathBuf> {
    Some(folder(options)?.join(format!("{}.jsonl", spec.name)))
}

/// The folder of journals and caches, made where it is missing.
pub(crate) fn folder(options: &Options) -> Option<PathBuf> {
    let folder = noise_file_path(&options.env)?.parent()?.join("tune");
    let made = private::folder(&folder);
    match made {
        Ok(()) => Some(folder),
        Err(error) => {
            warn(&format!("nothing is recorded: {}: {error}", folder.display()));
            None
        }
    }
}

fn warn(text: &str) {
    output::note(format_args!("warpscope: {text}"));
}
