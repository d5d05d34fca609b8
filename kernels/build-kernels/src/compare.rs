//! What was built aside, against what is committed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::manifest::{Family, Manifest};
use crate::pack::pack;

/// What the packs hold, beside them.
pub(crate) const MANIFEST: &str = "manifest.toml";

/// Packs that belong into the folder, and the manifest.
fn expected(manifest: &Manifest) -> BTreeSet<String> {
    let packs = manifest.family.iter().map(Family::pack);
    packs.chain([MANIFEST.to_owned()]).collect()
}

fn names(folder: &Path) -> Result<BTreeSet<String>, String> {
    let files = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(files.flatten().map(|file| file.file_name().to_string_lossy().into_owned()).collect())
}

/// Names every image that differs from what was built, is missing, or is built no more. `unpacked` holds the committed ones.
pub(crate) fn same(
    built: &Path,
    unpacked: &Path,
    committed: &Path,
    manifest: &Manifest,
) -> Result<(), String> {
    let (built_names, unpacked_names) = (names(built)?, names(unpacked)?);
    let mut wrong = Vec::new();
    for name in &built_names {
        let bytes = |folder: &Path| fs::read(folder.join(name)).ok();
        if !unpacked_names.contains(name) {
            wrong.push(format!("{name} is missing"));
        } else if bytes(built) != bytes(unpacked) {
            wrong.push(format!("{name} differs from what its sources give"));
        }
    }
    let listed: BTreeSet<&String> =
        manifest.family.iter().flat_map(|family| &family.image).map(|image| &image.file).collect();
    let stale = unpacked_names.iter().filter(|name| !listed.contains(name) && *name != MANIFEST);
    let foreign = names(committed)?.difference(&expected(manifest)).cloned().collect::<Vec<_>>();
    wrong.extend(stale.chain(&foreign).map(|name| format!("{name} is built from nothing")));
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!(
        "kernels/image is stale, run build-kernels and commit what it writes:\n{}",
        wrong.join("\n")
    ))
}

/// Packs what was built, puts it in place and removes what is built no more. A pack whose images are the same stays as it is.
pub(crate) fn replace(
    built: &Path,
    unpacked: &Path,
    committed: &Path,
    manifest: &Manifest,
) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", committed.display());
    let (built_names, unpacked_names) = (names(built)?, names(unpacked)?);
    let read = |folder: &Path, name: &str| fs::read(folder.join(name)).ok();
    let same = |name: &str| read(built, name) == read(unpacked, name);
    for family in &manifest.family {
        let of_family = |name: &&String| name.starts_with(&format!("{}.", family.name));
        let files: Vec<&String> = family.image.iter().map(|image| &image.file).collect();
        let newly = files.iter().all(|file| built_names.contains(*file));
        let known = unpacked_names.iter().filter(of_family).count() == files.len();
        if newly && !(known && files.iter().all(|file| same(file))) {
            fs::write(committed.join(family.pack()), pack(built, family)?).map_err(failed)?;
        }
    }
    fs::copy(built.join(MANIFEST), committed.join(MANIFEST)).map_err(failed)?;
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
        let packs = folder(&[("manifest.toml", ""), ("old.lzma2", "")]);
        same(folder(built).path(), folder(committed).path(), packs.path(), &Manifest::default())
    }

    #[test]
    fn every_kind_of_drift_is_named() {
        let error = verdict(
            &[("manifest.toml", "1"), ("a.ptx", "")],
            &[("manifest.toml", "2"), ("b.ptx", "")],
        );
        let error = error.unwrap_err();
        for said in
            ["a.ptx is missing", "manifest.toml differs", "b.ptx is built", "old.lzma2 is built"]
        {
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn replacing_leaves_what_was_built() {
        let built = folder(&[(MANIFEST, "1")]);
        let unpacked = folder(&[("b.ptx", ""), (MANIFEST, "2")]);
        let committed = folder(&[("b.lzma2", ""), (MANIFEST, "2")]);
        let paths = [&built, &unpacked, &committed].map(tempfile::TempDir::path);
        replace(paths[0], paths[1], paths[2], &Manifest::default()).unwrap();
        assert_eq!(names(paths[2]).unwrap(), [MANIFEST.to_owned()].into());
        assert_eq!(fs::read_to_string(paths[2].join(MANIFEST)).unwrap(), "1");
        assert_eq!(same(paths[0], paths[0], paths[2], &Manifest::default()), Ok(()));
    }
}
