//! What was built aside, against what is committed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::manifest::Manifest;

/// The files that belong in the folder.
fn expected(manifest: &Manifest) -> BTreeSet<String> {
    let images = manifest.family.iter().flat_map(|family| &family.image);
    images.map(|image| image.file.clone()).chain(["manifest.toml".to_owned()]).collect()
}

fn names(folder: &Path) -> Result<BTreeSet<String>, String> {
    let files = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(files.flatten().map(|file| file.file_name().to_string_lossy().into_owned()).collect())
}

/// Names every committed file that differs from what was built, is missing, or is built no more.
pub(crate) fn same(built: &Path, committed: &Path, manifest: &Manifest) -> Result<(), String> {
    let (built_names, committed_names) = (names(built)?, names(committed).unwrap_or_default());
    let mut wrong = Vec::new();
    for name in &built_names {
        let bytes = |folder: &Path| fs::read(folder.join(name)).ok();
        if !committed_names.contains(name) {
            wrong.push(format!("{name} is missing"));
        } else if bytes(built) != bytes(committed) {
            wrong.push(format!("{name} differs from what its sources give"));
        }
    }
    let stale = committed_names.difference(&expected(manifest)).cloned().collect::<Vec<_>>();
    wrong.extend(stale.iter().map(|name| format!("{name} is built from nothing")));
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!(
        "kernels/image is stale, run forge and commit what it writes:\n{}",
        wrong.join("\n")
    ))
}

/// Puts what was built in place and removes what is built no more. What is the same already keeps its time of change.
pub(crate) fn replace(built: &Path, committed: &Path, manifest: &Manifest) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", committed.display());
    fs::create_dir_all(committed).map_err(failed)?;
    for name in names(built)? {
        let bytes = fs::read(built.join(&name)).map_err(failed)?;
        let path = committed.join(&name);
        if fs::read(&path).ok().as_ref() != Some(&bytes) {
            fs::write(path, bytes).map_err(failed)?;
        }
    }
    for name in names(committed)?.difference(&expected(manifest)) {
        fs::remove_file(committed.join(name)).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn verdict(built: &[(&str, &str)], committed: &[(&str, &str)]) -> Result<(), String> {
        same(folder(built).path(), folder(committed).path(), &Manifest::default())
    }

    #[test]
    fn every_kind_of_drift_is_named() {
        assert_eq!(verdict(&[("manifest.toml", "1")], &[("manifest.toml", "1")]), Ok(()));
        let error = verdict(
            &[("manifest.toml", "1"), ("a.ptx", "")],
            &[("manifest.toml", "2"), ("b.ptx", "")],
        );
        let error = error.unwrap_err();
        for said in
            ["a.ptx is missing", "manifest.toml differs from", "b.ptx is built from nothing"]
        {
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn replacing_leaves_what_was_built() {
        let (built, committed) =
            (folder(&[("manifest.toml", "1")]), folder(&[("b.ptx", ""), ("manifest.toml", "2")]));
        replace(built.path(), committed.path(), &Manifest::default()).unwrap();
        assert_eq!(names(committed.path()).unwrap(), ["manifest.toml".to_owned()].into());
        assert_eq!(fs::read_to_string(committed.path().join("manifest.toml")).unwrap(), "1");
    }
}
