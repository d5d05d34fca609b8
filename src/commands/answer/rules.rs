//! The rules in force: those that come with the program, and the user's own on top.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpscope_probes::bounded::{self, Accept};
use warpscope_probes::rules::RuleBase;

use crate::commands::cli::{CliError, Options, Result};
use crate::config;
use crate::config::args;

/// Rule files are some ten kilobytes.
const MOST_BYTES: u64 = 1 << 20;
/// Files in one folder.
const MOST_FILES: usize = 1000;

/// The rules every answer is given by. Without rules of the user's own nothing is copied.
pub(crate) fn rule_base(options: &Options) -> Result<Arc<RuleBase>> {
    Ok(users_rules(options)?.unwrap_or_else(RuleBase::shared))
}

/// The rules with the user's own on top; `None` where the user has none, and then nothing is read.
pub(crate) fn users_rules(options: &Options) -> Result<Option<Arc<RuleBase>>> {
    let mut files = Vec::new();
    if let Some(folder) = config::folder(&options.env) {
        files.extend(read(&folder.join("rules"), false)?);
    }
    for folder in options.get(&args::RULES) {
        files.extend(read(&folder, true)?);
    }
    if files.is_empty() {
        return Ok(None);
    }
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let base = RuleBase::shared().with_user(&files);
    base.map(|base| Some(Arc::new(base))).map_err(CliError::usage)
}

/// Name and text of every `*.toml` in a folder, by name. One that was named must be there.
fn read(folder: &Path, named: bool) -> Result<Vec<(String, String)>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if !named && is_missing(&error) => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(folder, &error.to_string())),
    };
    let mut paths: Vec<PathBuf> = entries
        .take(MOST_FILES)
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .collect();
    paths.sort();
    paths.iter().map(|path| Ok((path.display().to_string(), text(path)?))).collect()
}

fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn text(path: &Path) -> Result<String> {
    bounded::text(path, Accept::Files, MOST_BYTES)
        .map_err(|error| unreadable(path, &error.to_string()))
}

fn unreadable(path: &Path, why: &str) -> CliError {
    CliError::Usage(format!("cannot read rules from {}: {why}", path.display()))
}
