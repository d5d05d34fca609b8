//! Builds candidates, runs them and checks what they computed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use warpscope_probes::private;

use crate::commands::cli::WORKER;
use crate::commands::process::{self, End, MAX_OUTPUT};
use crate::commands::tune::cache::Cache;
use crate::io::sink::noise_file::machine;
use crate::tuner::{
    Board, CUDA_ARGUMENT, Candidate, CandidateRun, Cuda, ENERGY, FIND, Fault, Halt, Invalid, Job,
    Kind, Libraries, ParsedOutput, Runner, Spec, Winners, read_output, why_missing,
};

/// Lines of a compiler that are shown.
const BUILD_LINES: usize = 12;

/// What a reference said, to be compared with.
pub(super) type Wanted = Result<Vec<f64>, String>;

/// Where one state of the source is built and run.
pub(crate) struct Workspace<'a> {
    pub(super) spec: &'a Spec,
    pub(super) folder: &'a Path,
    pub(super) scratch: &'a Path,
    pub(super) stop: &'a dyn Fn() -> bool,
    pub(super) libraries: &'a Libraries,
    /// By candidate, where builds differ by it.
    pub(super) builds: BTreeMap<usize, Result<(), Invalid>>,
    /// What earlier searches measured.
    pub(crate) cache: Option<Rc<Cache>>,
    /// Winners of earlier searches.
    pub(crate) winners: Winners,
    /// By problem.
    pub(super) wanted: BTreeMap<usize, Wanted>,
}

impl Workspace<'_> {
    /// Builds what all candidates share; nothing where each has a build of its own. Before that, whether there is a GPU for them.
    pub(crate) fn prepare(&self) -> Result<(), Halt> {
        if self.spec.cuda.is_some() {
            self.find_device()?;
        }
        match &self.spec.build {
            Some(build) if build.names().next().is_none() => self.make(&BTreeMap::new()),
            _ => Ok(()),
        }
    }

    /// One sentence for all candidates where there is nothing to run them on.
    fn find_device(&self) -> Result<(), Halt> {
        let device = self.spec.device.clone().unwrap_or_default();
        let words = [own()?, WORKER.to_owned(), CUDA_ARGUMENT.to_owned(), FIND.to_owned(), device];
        let late = || invalid(Fault::Runtime, "the driver does not answer".to_owned());
        let (complaint, ended) = self.finish(&words, self.spec.timeout, Fault::Runtime, late)?;
        if complaint.is_none() {
            return Ok(());
        }
        let said = process::head(&ended.stderr, 1).concat();
        let said = said.strip_prefix("warpscope: ").unwrap_or(&said).to_owned();
        Err(invalid(Fault::Constraints, said))
    }

    fn make(&self, values: &BTreeMap<String, String>) -> Result<(), Halt> {
        let Some(build) = &self.spec.build else { return Ok(()) };
        let limit = self.spec.build_timeout;
        let shown = humantime::format_duration(limit);
        let late = || invalid(Fault::Compile, format!("the build was killed after {shown}"));
        let (complaint, ended) = self.finish(&build.fill(values), limit, Fault::Compile, late)?;
        let Some(why) = complaint else { return Ok(()) };
        let said = if ended.stderr.is_empty() { &ended.stdout } else { &ended.stderr };
        let mut lines = vec![format!("the build {why}")];
        lines.extend(process::head(said, BUILD_LINES));
        Err(invalid(Fault::Compile, lines.join("\n")))
    }

    /// Runs words until they end by themselves, within a limit that has a halt of its own; gives what is wrong with that end, too.
    fn finish(
        &self,
        words: &[String],
        limit: Duration,
        fault: Fault,
        late: impl FnOnce() -> Halt,
    ) -> Result<(Option<String>, process::Ended), Halt> {
        let name = words.first().map_or("", String::as_str);
        let cannot = |error| invalid(fault, format!("cannot start {name}: {error}"));
        let ended = process::run(words, self.folder, limit, self.stop).map_err(cannot)?;
        match ended.end {
            End::Stopped => Err(Halt::Interrupted),
            End::Timeout => Err(late()),
            End::Exit(status) => Ok((process::complaint(status), ended)),
        }
    }

    /// What stands for the names in commands.
    fn values(&self, board: &Board, job: Job, output: &Path) -> BTreeMap<String, String> {
        let problem = &board.problems[job.problem];
        let mut values = problem.key.shape.0.clone();
        values.extend(board.candidates[job.candidate].0.clone());
        values.extend(problem.key.dtype.clone().map(|dtype| ("dtype".to_owned(), dtype)));
        values.insert("samples".to_owned(), job.samples.to_string());
        let paths = [("output", output.to_owned()), ("build", self.build_folder(job.candidate))];
        values.extend(
            paths.map(|(name, path)| (name.to_owned(), path.to_string_lossy().into_owned())),
        );
        values
    }

    fn build_folder(&self, candidate: usize) -> PathBuf {
        self.scratch.join(format!("build-{candidate}"))
    }

    /// The build of one candidate, once.
    fn build(&mut self, candidate: usize, values: &BTreeMap<String, String>) -> Result<(), Halt> {
        let own = self.spec.build.as_ref().is_some_and(|build| build.names().next().is_some());
        if !own {
            return Ok(());
        }
        if let Some(built) = self.builds.get(&candidate) {
            return built.clone().map_err(Halt::Invalid);
        }
        let folder = self.build_folder(candidate);
        let made = private::folder(&folder);
        let built = made
            .map_err(|error| invalid(Fault::Compile, format!("{}: {error}", folder.display())))
            .and_then(|()| self.make(values));
        let kept = match built {
            Err(Halt::Interrupted) => return Err(Halt::Interrupted),
            Err(Halt::Invalid(why)) => Err(why),
            Ok(()) => Ok(()),
        };
        self.builds.insert(candidate, kept.clone());
        kept.map_err(Halt::Invalid)
    }

    /// Runs words to a good end and gives what they said.
    pub(super) fn listen(&self, words: &[String]) -> Result<ParsedOutput, Halt> {
        let shown = humantime::format_duration(self.spec.timeout);
        let late = || invalid(Fault::Timeout, format!("killed after {shown}"));
        let (complaint, ended) = self.finish(words, self.spec.timeout, Fault::Runtime, late)?;
        if let Some(why) = complaint {
            let first = process::head(&ended.stderr, 1);
            let why = [vec![why], first].concat().join(": ");
            return Err(invalid(Fault::Runtime, why));
        }
        if ended.stdout.len() > MAX_OUTPUT {
            return Err(invalid(
                Fault::Runtime,
                format!("prints more than {} MiB", MAX_OUTPUT >> 20),
            ));
        }
        read_output(&String::from_utf8_lossy(&ended.stdout))
            .map_err(|why| invalid(Fault::Runtime, why))
    }

    /// What the child is told that launches the candidate.
    fn cuda(
        &self,
        cuda: &Cuda,
        board: &Board,
        job: Job,
        values: &BTreeMap<String, String>,
    ) -> Result<Vec<String>, Halt> {
        let problem = &board.problems[job.problem];
        let said = &problem.trials[job.candidate].said;
        let is_first = said.times.is_empty() && !said.numbers.contains_key(ENERGY);
        let candidate = Candidate {
            folder: self.folder,
            name: &self.spec.name,
            work: self.spec.contract.work,
            dtype: problem.key.dtype.as_deref().unwrap_or_default(),
            shape: &problem.key.shape.0,
            values,
            samples: job.samples,
            energy: is_first && self.spec.uses_energy(),
            device: self.spec.device.as_deref(),
            libraries: self.libraries,
        };
        let job = cuda.job(&candidate).map_err(|why| invalid(Fault::Constraints, why))?;
        let job = serde_json::to_string(&job);
        let job = job.map_err(|error| invalid(Fault::Runtime, error.to_string()))?;
        Ok(vec![own()?, WORKER.to_owned(), CUDA_ARGUMENT.to_owned(), job])
    }

    fn words(&self, values: &BTreeMap<String, String>) -> Result<Vec<String>, Halt> {
        let mut words = self.spec.run.fill(values);
        if self.spec.kind == Kind::Cpu {
            words[0] = own()?;
        }
        Ok(words)
    }
}

impl Runner for Workspace<'_> {
    fn last_winner(&self, board: &Board, problem: usize) -> Option<usize> {
        let last = self.winners.last(&machine(), &board.problems[problem].key)?;
        board.candidates.iter().position(|candidate| candidate == last)
    }

    fn recall(&self, board: &Board, problem: usize, candidate: usize) -> Option<CandidateRun> {
        self.cache.as_ref()?.recall(board, problem, candidate)
    }

    fn run(&mut self, board: &Board, job: Job) -> Result<ParsedOutput, Halt> {
        if (self.stop)() {
            return Err(Halt::Interrupted);
        }
        let output = self.scratch.join("output");
        let values = self.values(board, job, &output);
        if self.spec.kind == Kind::Cpu
            && let Some(why) = why_missing(&values["dtype"], &values["kernel"])
        {
            return Err(invalid(Fault::Constraints, why));
        }
        self.build(job.candidate, &values)?;
        // What an earlier run wrote is not the result of this one.
        let _ = std::fs::remove_file(&output);
        let words = match &self.spec.cuda {
            Some(cuda) => self.cuda(cuda, board, job, &values)?,
            None => self.words(&values)?,
        };
        let mut said = self.listen(&words)?;
        if said.invalid.is_some() {
            return Ok(said);
        }
        said.error = self.check(job, &values, &said)?;
        Ok(said)
    }
}

/// This program, to be its own child.
fn own() -> Result<String, Halt> {
    let exe = std::env::current_exe();
    let exe = exe.map_err(|error| invalid(Fault::Runtime, error.to_string()))?;
    Ok(exe.to_string_lossy().into_owned())
}

pub(super) fn invalid(fault: Fault, why: String) -> Halt {
    Halt::Invalid(Invalid { fault, why })
}
