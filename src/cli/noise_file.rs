//! Where this machine's noise is kept: `$XDG_STATE_HOME/warpscope/noise.json`.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use super::exit::CliError;
use crate::bench::noise::Noise;
use crate::config::Environment;
use crate::sink::jsonl;

/// Largest file that is read.
const MAX_FILE: u64 = 16 << 20;

/// The file's name; `None` where neither XDG_STATE_HOME nor HOME is set.
pub(super) fn path(env: &Environment) -> Option<PathBuf> {
    let absolute = |name| env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("warpscope/noise.json"))
}

/// What was measured; nothing where there is no file.
pub(super) fn read(env: &Environment) -> Result<Noise, CliError> {
    let Some(path) = path(env) else { return Ok(Noise::default()) };
    let failed = |why: String| CliError::Failed(format!("{}: {why}", path.display()));
    let file = match std::fs::File::open(&path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Noise::default());
        }
        other => other.map_err(|error| failed(error.to_string()))?,
    };
    let mut text = String::new();
    let read = file.take(MAX_FILE).read_to_string(&mut text);
    read.map_err(|error| failed(error.to_string()))?;
    Noise::parse(&text).map_err(failed)
}

/// Puts a new file in place of the old one, whole or not at all.
pub(super) fn write(env: &Environment, noise: &Noise) -> Result<PathBuf, CliError> {
    let Some(path) = path(env) else {
        return Err(CliError::Usage(
            "set HOME or XDG_STATE_HOME: there is nowhere to keep it".to_owned(),
        ));
    };
    let failed = |error: std::io::Error| CliError::Failed(format!("{}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    }
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let bytes = jsonl::pretty(noise).map_err(super::output::not_json)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(&new).and_then(|mut file| {
        file.write_all(&bytes)?;
        file.sync_all()
    });
    let done = written.and_then(|()| std::fs::rename(&new, &path));
    if done.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    done.map(|()| path.clone()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::noise::Floor;
    use crate::bench::points::Key;

    #[test]
    fn what_is_kept_is_found_again_and_no_other_file_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let env = [("XDG_STATE_HOME", folder.path().as_os_str())].into_iter().collect();
        assert_eq!(read(&env).expect("no file is no fault"), Noise::default());
        let mut noise = Noise::default();
        let key = Key { name: "a".into(), device: Some("cpu".into()), ..Key::default() };
        noise.set(&key, Floor { share: 0.02, blocks: 9, at_ms: 1 });
        for _ in 0..2 {
            let path = write(&env, &noise).expect("writes");
            assert_eq!(read(&env).expect("reads"), noise);
            assert_eq!(
                std::fs::read_dir(path.parent().expect("a folder")).expect("lists").count(),
                1
            );
        }
        std::fs::write(path(&env).expect("a path"), "garbage").expect("writes");
        assert!(read(&env).is_err_and(|error| error.to_string().contains("noise.json")));
    }
}
