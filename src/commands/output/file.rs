//! The file that an option names to be written.

use std::fs::{Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use crate::commands::cli::{CliError, Result};
use warpscope_probes::private::draft;

/// A file to write: a new one, or with force one in the place of another. A link is never followed: in a folder that others may write to
/// it could lead anywhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) path: &'a Path,
    pub(crate) force: bool,
}

impl Target<'_> {
    /// The permissions of the file to be replaced; an error where something is in the way.
    pub(crate) fn check(&self) -> Result<Option<Permissions>> {
        let about = match self.path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|error| self.failed(&error))?,
        };
        let name = self.path.display();
        match obstacle(&about) {
            Some(why) => Err(CliError::Usage(format!("{name} {why}"))),
            None if self.force => Ok(Some(about.permissions())),
            None => Err(CliError::Usage(format!("{name} exists; --force replaces it"))),
        }
    }

    /// Writes the file. What fails leaves nothing behind, and a file to be replaced as it was.
    pub(crate) fn write(&self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let old = self.check()?;
        let place = if old.is_some() { draft(self.path) } else { self.path.to_owned() };
        let file = OpenOptions::new().write(true).create_new(true).open(&place);
        let file = file.map_err(|error| self.failed(&error))?;
        let finish = || {
            let mut out = BufWriter::new(file);
            fill(&mut out)?;
            let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            let Some(permissions) = old else { return Ok(()) };
            file.set_permissions(permissions)?;
            std::fs::rename(&place, self.path)
        };
        finish().map_err(|error| {
            let _ = std::fs::remove_file(&place);
            self.failed(&error)
        })
    }

    fn failed(&self, error: &io::Error) -> CliError {
        CliError::Failed(format!("cannot write {}: {error}", self.path.display()))
    }
}

/// What cannot be replaced by a file.
fn obstacle(about: &Metadata) -> Option<&'static str> {
    match () {
        () if about.is_file() => None,
        () if about.is_symlink() => {
            Some("is a symbolic link, which is not followed; name the file it leads to")
        }
        () if about.is_dir() => Some("is a folder; name a file in it"),
        () => Some("is not a regular file; omit the option to write to standard output"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn write(path: &Path, force: bool, text: &str) -> Result<(), String> {
        let target = Target { path, force };
        target.write(|out| out.write_all(text.as_bytes())).map_err(|error| match error {
            CliError::Usage(why) | CliError::Failed(why) => why,
            other => format!("{other:?}"),
        })
    }

    fn read(path: &Path) -> String {
        fs::read_to_string(path).expect("is there")
    }

    #[test]
    fn a_file_that_is_there_is_replaced_only_by_force_and_keeps_its_permissions() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("out.csv");
        write(&path, false, "one").expect("is new");
        let error = write(&path, false, "two").expect_err("is there");
        assert!(error.ends_with("out.csv exists; --force replaces it"), "{error}");
        assert_eq!(read(&path), "one");
        fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("is ours");
        write(&path, true, "three").expect("is forced");
        assert_eq!(read(&path), "three");
        assert_eq!(path.metadata().expect("is there").permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(dir.path()).expect("lists").count(), 1);
    }

    #[test]
    fn no_link_is_followed_even_by_force() {
        let dir = tempfile::tempdir().expect("a folder");
        let (other, link) = (dir.path().join("other"), dir.path().join("link"));
        for (content, force) in [(None, false), (None, true), (Some("precious"), true)] {
            if let Some(content) = content {
                fs::write(&other, content).expect("writes");
            }
            let _ = fs::remove_file(&link);
            symlink(&other, &link).expect("links");
            let error = write(&link, force, "x").expect_err("is a link");
            assert!(error.contains("symbolic link"), "{error}");
            assert_eq!(fs::read_to_string(&other).ok().as_deref(), content);
        }
        for path in [Path::new("/dev/null"), dir.path()] {
            write(path, true, "x").expect_err("is no file");
        }
    }

    #[test]
    fn what_fails_leaves_no_half_a_file() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("out.csv");
        for old in [None, Some("old")] {
            if let Some(old) = old {
                fs::write(&path, old).expect("writes");
            }
            let target = Target { path: &path, force: true };
            let done = target.write(|out| {
                out.write_all(b"half")?;
                Err(ErrorKind::StorageFull.into())
            });
            assert!(matches!(done, Err(CliError::Failed(_))));
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), old);
            assert_eq!(fs::read_dir(dir.path()).expect("lists").count(), old.iter().count());
        }
    }
}
