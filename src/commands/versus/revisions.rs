//! Revisions of a repository side by side, each in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::turns::{Measure, Side};
use crate::commands::cli::{CliError, Result};
use crate::commands::output;

/// Worktrees that are taken away again.
pub(crate) struct Trees {
    _folder: tempfile::TempDir,
    repository: PathBuf,
    /// From the root of the repository to the current folder.
    below: PathBuf,
    trees: Vec<(String, PathBuf)>,
}

impl Trees {
    /// Checks out every revision and builds it.
    pub(crate) fn check_out(
        revisions: &[String],
        build: Option<String>,
        measure: &Measure,
    ) -> Result<Self> {
        let mut trees = Self {
            _folder: tempfile::tempdir()?,
            repository: measure.folder.clone(),
            below: PathBuf::new(),
            trees: Vec::new(),
        };
        trees.below = trees.git(&["rev-parse", "--show-prefix"], &[])?.into();
        for (at, revision) in revisions.iter().enumerate() {
            let tree = trees._folder.path().join(at.to_string());
            trees
                .git(&["worktree", "add", "--detach", "--quiet"], &[&tree, Path::new(revision)])?;
            let place = tree.join(&trees.below);
            trees.trees.push((revision.clone(), tree));
            if !place.is_dir() {
                let why = format!("{revision} has no folder {}", trees.below.display());
                return Err(CliError::Failed(why));
            }
        }
        for (revision, tree) in &trees.trees {
            let Some(build) = &build else { continue };
            output::note(format_args!("building {revision}: {build}"));
            // What a build prints is not the comparison's output.
            let script = format!("exec >&2\n{build}");
            let place = tree.join(&trees.below);
            let status = Command::new("sh").args(["-c", &script]).current_dir(place).status()?;
            if !status.success() {
                let why = format!("{revision}: `{build}` ended with {status}");
                return Err(CliError::Failed(why));
            }
        }
        Ok(trees)
    }

    /// The command in every revision.
    pub(crate) fn sides(&self, words: &[String]) -> Vec<Side> {
        let side = |(revision, tree): &(String, PathBuf)| Side {
            name: revision.clone(),
            words: words.to_vec(),
            folder: Some(tree.join(&self.below)),
        };
        self.trees.iter().map(side).collect()
    }

    fn git(&self, words: &[&str], paths: &[&Path]) -> Result<String> {
        let mut git = Command::new("git");
        git.current_dir(&self.repository).args(words).args(paths);
        let output = git.output().map_err(|error| CliError::Failed(format!("git: {error}")))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(CliError::Failed(format!("git {}: {said}", words.join(" "))))
    }
}

impl Drop for Trees {
    fn drop(&mut self) {
        for (_, tree) in &self.trees {
            if let Err(error) = self.git(&["worktree", "remove", "--force"], &[tree]) {
                output::note(format_args!("{error}"));
            }
        }
    }
}
