//! Revisions of a repository side by side, each in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::turns::{Measure, Side};
use crate::commands::cli::CliError;
use crate::commands::output;

/// Worktrees that are taken away again.
pub(crate) struct Trees {
    _folder: tempfile::TempDir,
    repository: PathBuf,
    trees: Vec<(String, PathBuf)>,
}

impl Trees {
    /// Checks out every revision and builds it.
    pub(crate) fn check_out(
        revisions: &[String],
        build: Option<String>,
        measure: &Measure,
    ) -> Result<Self, CliError> {
        let folder = tempfile::tempdir()?;
        let mut trees =
            Self { repository: measure.folder.clone(), trees: Vec::new(), _folder: folder };
        for (at, revision) in revisions.iter().enumerate() {
            let tree = trees._folder.path().join(at.to_string());
            trees
                .git(&["worktree", "add", "--detach", "--quiet"], &[&tree, Path::new(revision)])?;
            trees.trees.push((revision.clone(), tree));
        }
        for (revision, tree) in &trees.trees {
            let Some(build) = &build else { continue };
            output::note(format_args!("building {revision}: {build}"));
            let status = Command::new("sh").args(["-c", build]).current_dir(tree).status()?;
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
            folder: Some(tree.clone()),
        };
        self.trees.iter().map(side).collect()
    }

    fn git(&self, words: &[&str], paths: &[&Path]) -> Result<(), CliError> {
        let mut git = Command::new("git");
        git.current_dir(&self.repository).args(words).args(paths);
        let output = git.output().map_err(|error| CliError::Failed(format!("git: {error}")))?;
        if output.status.success() {
            return Ok(());
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
