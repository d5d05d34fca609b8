//! Runs kept to be compared with: a folder per machine and name, with a folder per run in it.
//!
//! The files are kept as they are, not as what was read of them: what a later version reads better is not lost.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use warpscope_probes::bounded::{self, Accept};
use warpscope_probes::private;

use super::read::{MAX_DOCUMENT, files_beside};
use crate::commands::cli::{CliError, Options, Result};
use crate::commands::{identity, output};
use crate::config::{args, data_folder};
use crate::io::sink::noise_file::machine;

/// Stands for the branch that is checked out, as in git.
const CHECKED_OUT: &str = "@";

/// The kept runs that the options name.
pub(super) struct Baselines {
    /// Folder of this machine; none where nothing is kept or asked for.
    machine: PathBuf,
    load: Option<String>,
    save: Option<String>,
}

impl Baselines {
    pub(super) fn new(options: &Options) -> Result<Self> {
        let [load, save] = [&args::BASELINE, &args::SAVE_BASELINE].map(|arg| options.get(arg));
        let (load, save) = (load.map(branch).transpose()?, save.map(branch).transpose()?);
        let kept = || Some(data_folder(&options.env)?.join("baselines"));
        let folder = options.get(&args::BASELINES).or_else(kept).unwrap_or_default();
        if folder.as_os_str().is_empty() && (load.is_some() || save.is_some()) {
            let why = "set HOME or XDG_DATA_HOME, or name a folder by --baselines";
            return Err(CliError::usage(why));
        }
        Ok(Self { machine: folder.join(file_name(&machine())), load, save })
    }

    pub(super) fn are_named(&self) -> bool {
        self.load.is_some() || self.save.is_some()
    }

    /// Name and files of the runs to compare with.
    pub(super) fn load(&self) -> Result<Option<(String, Vec<PathBuf>)>> {
        let Some(name) = &self.load else { return Ok(None) };
        let folder = self.machine.join(file_name(name));
        match runs(&folder) {
            Ok(files) if !files.is_empty() => Ok(Some((name.clone(), files))),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(&folder, &error)),
            _ => Err(CliError::Usage(format!(
                "no baseline {name} is kept in {}; `warpscope compare --save-baseline {name} RUN...` keeps one",
                self.machine.display()
            ))),
        }
    }

    /// Keeps runs in place of those kept under the name before.
    pub(super) fn save(&self, files: &[PathBuf]) -> Result<()> {
        let Some(name) = &self.save else { return Ok(()) };
        let folder = self.machine.join(file_name(name));
        keep(&self.machine, &folder, files).map_err(|error| failed(&folder, &error))?;
        output::note(format_args!("kept as {name} in {}", folder.display()));
        Ok(())
    }
}

fn branch(name: String) -> Result<String> {
    if name != CHECKED_OUT {
        return Ok(name);
    }
    let none = || CliError::usage("no branch is checked out here; name the baseline");
    identity::branch().ok_or_else(none)
}

fn failed(folder: &Path, error: &io::Error) -> CliError {
    CliError::Failed(format!("{}: {error}", folder.display()))
}

/// A name as one part of a path: `feature/x` is `feature%2Fx`.
fn file_name(name: &str) -> String {
    let is_plain = |at: usize, byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || (byte == b'.' && at > 0)
    };
    let part = |(at, byte): (usize, u8)| match is_plain(at, byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    name.bytes().enumerate().map(part).collect()
}

/// The documents of the kept runs, each the one file in its folder; files it names lie in folders below.
fn runs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<PathBuf>>>()?;
    folders.sort();
    let documents = folders.iter().map(|run| run.join(DOCUMENT));
    Ok(documents.filter(|document| document.is_file()).collect())
}

/// Name of a kept document in the folder of its run.
const DOCUMENT: &str = "run";

/// Copies the files into a new folder, which then takes the place of the old one.
fn keep(machine: &Path, folder: &Path, files: &[PathBuf]) -> io::Result<()> {
    private::folder(machine)?;
    let staging = tempfile::Builder::new().prefix(".new").tempdir_in(machine)?;
    for (at, path) in files.iter().enumerate() {
        let run = staging.path().join(format!("new/{at:04}"));
        let document = bounded::read(path, Accept::Files, MAX_DOCUMENT)?;
        let beside = path.parent().unwrap_or(Path::new(""));
        for name in files_beside(path, &document) {
            let content = bounded::read(&beside.join(&name), Accept::Files, MAX_DOCUMENT)?;
            private::replace(&run.join(&name), &content)?;
        }
        private::replace(&run.join(DOCUMENT), &document)?;
    }
    match fs::rename(folder, staging.path().join("old")) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => fs::rename(staging.path().join("new"), folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_part_of_a_path_and_stay_apart() {
        assert_eq!(file_name("feature/x"), "feature%2Fx");
        assert_eq!(file_name(".."), "%2E.");
        assert_eq!(file_name("v1.2-é"), "v1.2-%C3%A9");
        assert_ne!(file_name("a%2Fb"), file_name("a/b"));
    }

    #[test]
    fn kept_runs_replace_those_before_with_the_files_they_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let (machine, main) = (folder.path().join("here"), folder.path().join("here/main"));
        let document = r#"{"meta":{"argv":[]},"devices":[],"benchmarks":[{"name":"copy","states":[
            {"summaries":[{"tag":"nv/cold/time/gpu/mean","data":[{"name":"value","value":"1e-5"}]},
            {"tag":"nv/json/bin:nv/cold/sample_times","data":[{"name":"filename","value":"out.json-bin/0.bin"},{"name":"size","value":"1"}]}]}]}]}"#;
        let path = folder.path().join("out.json");
        fs::write(&path, document).expect("writes");
        fs::create_dir(folder.path().join("out.json-bin")).expect("makes");
        fs::write(folder.path().join("out.json-bin/0.bin"), 1e-5_f32.to_le_bytes())
            .expect("writes");
        keep(&machine, &main, &[path.clone(), path.clone()]).expect("keeps");
        assert_eq!(runs(&main).expect("lists").len(), 2);
        keep(&machine, &main, &[path]).expect("keeps");
        assert_eq!(runs(&main).expect("lists"), [main.join("0000/run")]);
        assert!(main.join("0000/out.json-bin/0.bin").is_file());
        assert_eq!(fs::read_dir(&machine).expect("lists").count(), 1, "nothing else is left");
    }
}
