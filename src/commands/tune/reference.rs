//! Whether a candidate computed what it should.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use warpscope_probes::bounded::{self, Accept};

use super::workspace::{Wanted, Workspace, invalid};
use crate::tuner::{Check, Fault, Halt, Job, ParsedOutput, compare, default_limit};

/// Largest file of results that is read.
const MAX_RESULTS: u64 = 256 << 20;

impl Workspace<'_> {
    /// What the reference of a problem gives, once.
    fn wanted(&mut self, job: Job, values: &BTreeMap<String, String>) -> Result<&Wanted, Halt> {
        if !self.wanted.contains_key(&job.problem) {
            let answer = match self.ask(job.problem, values) {
                Ok(numbers) => Ok(numbers),
                Err(Halt::Interrupted) => return Err(Halt::Interrupted),
                Err(Halt::Invalid(invalid)) => Err(format!("the reference: {}", invalid.why)),
            };
            self.wanted.insert(job.problem, answer);
        }
        Ok(&self.wanted[&job.problem])
    }

    fn ask(&self, problem: usize, values: &BTreeMap<String, String>) -> Result<Vec<f64>, Halt> {
        let output = self.scratch.join(format!("wanted-{problem}"));
        let mut values = values.clone();
        values.insert("output".to_owned(), output.to_string_lossy().into_owned());
        match &self.spec.contract.check {
            Check::Error(_) | Check::Format => Ok(Vec::new()),
            Check::Checksum(reference, _) => {
                let said = self.listen(&reference.fill(&values))?;
                if said.checksums.is_empty() {
                    return Err(invalid(Fault::Runtime, "prints no checksum=".to_owned()));
                }
                Ok(said.checksums)
            }
            Check::Output(reference, _, numbers) => {
                self.listen(&reference.fill(&values))?;
                let bytes = contents(&output).map_err(|why| invalid(Fault::Runtime, why))?;
                numbers.read(&bytes).map_err(|why| invalid(Fault::Runtime, why.to_string()))
            }
        }
    }

    /// Whether a run computed what it should; its error where that is known.
    pub(super) fn check(
        &mut self,
        job: Job,
        values: &BTreeMap<String, String>,
        said: &ParsedOutput,
    ) -> Result<Option<f64>, Halt> {
        let wrong = |why: String| invalid(Fault::Correctness, why);
        if said.error.is_some_and(f64::is_nan) {
            return Err(wrong("error=NaN".to_owned()));
        }
        match &self.spec.contract.check {
            Check::Error(most) => within(said.error, *most).map_err(wrong),
            Check::Format => {
                let dtype = values.get("dtype").map_or("", String::as_str);
                let most = default_limit(self.spec.contract.work, dtype);
                within(said.error, most.unwrap_or(0.0)).map_err(wrong)
            }
            Check::Checksum(_, accuracy) => {
                let accuracy = *accuracy;
                let wanted =
                    self.wanted(job, values)?.as_ref().map_err(|why| wrong(why.clone()))?;
                if said.checksums.is_empty() {
                    return Err(wrong("prints no checksum=".to_owned()));
                }
                // A program may say them anew with every line of points.
                let rounds = said.checksums.chunks(wanted.len());
                let errors = rounds.map(|round| compare(round, wanted, accuracy));
                let error = errors.collect::<Result<Vec<f64>, _>>();
                let error = error.map_err(|why| wrong(format!("checksum: {why}")))?;
                Ok(error.into_iter().reduce(f64::max))
            }
            Check::Output(_, accuracy, numbers) => {
                let (accuracy, numbers) = (*accuracy, *numbers);
                let bytes = contents(Path::new(&values["output"])).map_err(wrong)?;
                let got = numbers.read(&bytes).map_err(|why| wrong(why.to_string()))?;
                let wanted =
                    self.wanted(job, values)?.as_ref().map_err(|why| wrong(why.clone()))?;
                compare(&got, wanted, accuracy).map(Some).map_err(wrong)
            }
        }
    }
}

/// The error that a program told, if it is no larger than this.
fn within(told: Option<f64>, most: f64) -> Result<Option<f64>, String> {
    match told {
        None => Err("prints no error=, so its result cannot be checked".to_owned()),
        Some(error) if error.abs() <= most => Ok(told),
        Some(error) => Err(format!("error {error:e}, allowed {most:e}")),
    }
}

fn contents(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => "wrote no output".to_owned(),
        _ => format!("{}: {error}", path.display()),
    };
    bounded::read(path, Accept::Files, MAX_RESULTS).map_err(failed)
}
