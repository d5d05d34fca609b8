//! The command line.

use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::{SystemTime, UNIX_EPOCH};

use warpscope_fuzz::targets::{TARGETS, Target};

/// What `--help` prints.
pub(crate) const HELP: &str = "\
usage: warpscope-fuzz [--seconds N] [--jobs N] [--seed HEX] [--target NAME]… [--list] [FILE]…

  --seconds N    time for each group of targets; 60
  --jobs N       groups at a time; one for each processor
  --seed HEX     the same seed gives the same inputs; up to 16 digits, by the clock
  --target NAME  a target or a group; all
  --list         prints the groups and their targets
  FILE           inputs that one --target is to try, and nothing else";

/// What was asked for.
pub(crate) struct Arguments {
    pub(crate) seconds: u64,
    pub(crate) jobs: usize,
    pub(crate) seed: u64,
    pub(crate) targets: Vec<&'static Target>,
    pub(crate) files: Vec<PathBuf>,
    /// Whether this is a process for one group.
    pub(crate) worker: bool,
}

impl Arguments {
    /// Reads the words of the command line.
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut all = Self {
            seconds: 60,
            jobs: available_parallelism().map_or(1, usize::from),
            seed: now.as_nanos() as u64,
            targets: Vec::new(),
            files: Vec::new(),
            worker: false,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--seconds" => all.seconds = number(&word, &value()?, 10)?,
                "--jobs" => all.jobs = number(&word, &value()?, 10)?.clamp(1, 256) as usize,
                "--seed" => all.seed = number(&word, &value()?, 16)?,
                "--target" => all.targets.extend(named(&value()?)?),
                "--worker" => all.worker = true,
                _ if word.starts_with('-') => return Err(format!("{word:?} is not known")),
                _ => all.files.push(word.into()),
            }
        }
        if !all.files.is_empty() && all.targets.len() != 1 {
            return Err("inputs need the one --target that is to try them".to_owned());
        }
        if all.targets.is_empty() {
            all.targets = TARGETS.iter().collect();
        }
        Ok(all)
    }
}

fn number(option: &str, text: &str, base: u32) -> Result<u64, String> {
    u64::from_str_radix(text, base).map_err(|error| format!("{option} {text:?}: {error}"))
}

fn named(name: &str) -> Result<Vec<&'static Target>, String> {
    let found: Vec<_> =
        TARGETS.iter().filter(|target| target.name == name || target.group == name).collect();
    if found.is_empty() { Err(format!("no target {name:?}\n{}", list())) } else { Ok(found) }
}

/// Groups and their targets, one a line.
pub(crate) fn list() -> String {
    let line = |target: &Target| format!("  {:14} {}", target.group, target.name);
    TARGETS.iter().map(line).collect::<Vec<_>>().join("\n")
}
