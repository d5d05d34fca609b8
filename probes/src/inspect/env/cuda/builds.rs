//! Builds of one library for several versions of CUDA, of which a package loads the one that fits: `libbitsandbytes_cuda128.so`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Major and minor version of CUDA.
pub type Cuda = (u32, u32);

/// End of the name of the build that bitsandbytes loads on GPUs older than 7.5 in place of the other (0.41:
/// `bitsandbytes/cuda_setup/main.py`, `is_cublasLt_compatible`).
const FOR_OLDER: &str = "_nocublaslt";

/// What builds of one library have in common: their path without the CUDA version in the file's name and without a folder's architecture.
pub fn family(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_arch = |folder: &str| {
        let digits = folder.strip_prefix("sm").map(|rest| rest.trim_start_matches('_'));
        digits.is_some_and(|digits| {
            digits.len() >= 2 && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let parts = folder.components().filter(|part| !part.as_os_str().to_str().is_some_and(is_arch));
    parts.collect::<PathBuf>().join(without_cuda(&name).0)
}

/// The CUDA that a file's name says it was built for.
pub fn version(path: &Path) -> Option<Cuda> {
    without_cuda(&path.file_name()?.to_string_lossy()).1
}

/// A name with the number after `cuda` taken out, and the version it is.
fn without_cuda(name: &str) -> (String, Option<Cuda>) {
    let plain = || (name.to_owned(), None);
    let Some((before, rest)) = name.split_once("cuda") else { return plain() };
    let (digits, rest) =
        rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    // `cuda92` is 9.2; every CUDA since has a major of two digits.
    let major = if digits.starts_with('1') { 2 } else { 1 };
    let Some((major, minor)) = digits.split_at_checked(major) else { return plain() };
    let minor = if minor.is_empty() { "0" } else { minor };
    match (major.parse(), minor.parse()) {
        (Ok(major), Ok(minor)) if digits.len() >= 2 => {
            let rest = rest.strip_prefix(FOR_OLDER).unwrap_or(rest);
            (format!("{before}cuda{rest}"), Some((major, minor)))
        }
        _ => plain(),
    }
}

/// The build that is loaded beside a runtime, as bitsandbytes chooses it (`get_cuda_bnb_library_path`): the very version, else the newest
/// older one of its major, else the oldest newer one; never one of another major.
pub fn fitting(builds: &BTreeSet<Cuda>, runtime: Cuda) -> Option<Cuda> {
    let mut same = builds.iter().copied().filter(|build| build.0 == runtime.0);
    let older = same.clone().rfind(|build| *build <= runtime);
    older.or_else(|| same.next())
}

/// Takes out of libraries those of which another build is loaded beside the runtime.
pub fn retain_loaded(paths: &mut Vec<PathBuf>, runtime: Cuda) {
    let mut families: BTreeMap<PathBuf, BTreeSet<Cuda>> = BTreeMap::new();
    for path in &*paths {
        families.entry(family(path)).or_default().extend(version(path));
    }
    paths.retain(|path| {
        let builds = &families[&family(path)];
        builds.len() < 2 || version(path) == fitting(builds, runtime)
    });
}

/// `11.8, 12.1 and 12.8`.
pub fn list(builds: &BTreeSet<Cuda>) -> String {
    let mut names: Vec<String> =
        builds.iter().map(|(major, minor)| format!("{major}.{minor}")).collect();
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_told_by_their_names() {
        let of = |name: &str| without_cuda(name);
        for (name, version) in [
            ("libbitsandbytes_cuda128.so", (12, 8)),
            ("libbitsandbytes_cuda92.so", (9, 2)),
            ("libbitsandbytes_cuda130.so", (13, 0)),
            ("libbitsandbytes_cuda12.so", (12, 0)),
            ("libbitsandbytes_cuda118_nocublaslt.so", (11, 8)),
        ] {
            assert_eq!(of(name), ("libbitsandbytes_cuda.so".into(), Some(version)), "{name}");
        }
        for plain in ["libtorch_cuda.so", "_C.abi3.so", "libx_cuda1.so"] {
            assert_eq!(of(plain), (plain.into(), None));
        }
    }

    #[test]
    fn a_name_in_two_folders_is_two_libraries_unless_the_folders_are_architectures() {
        let of = |path: &str| family(Path::new(path));
        assert_ne!(of("xformers/_C.so"), of("xformers/flash_attn_3/_C.so"));
        assert_eq!(of("sgl_kernel/sm90/ops.so"), of("sgl_kernel/sm100/ops.so"));
        assert_ne!(of("pkg/small/ops.so"), of("pkg/smart/ops.so"));
        assert_eq!(of("b/libx_cuda118.so"), of("b/libx_cuda128.so"));
        assert_eq!(of("x.whl!a/_C.so"), of("x.whl!a/_C.so"));
    }

    /// The cases that the rule of bitsandbytes names.
    #[test]
    fn the_build_is_chosen_as_bitsandbytes_does() {
        let builds = BTreeSet::from([(11, 8), (12, 1), (12, 6), (13, 0)]);
        for (runtime, chosen) in [
            ((12, 6), Some((12, 6))),
            ((12, 5), Some((12, 1))),
            ((12, 9), Some((12, 6))),
            ((12, 0), Some((12, 1))),
            ((11, 7), Some((11, 8))),
            ((13, 2), Some((13, 0))),
            ((10, 2), None),
            ((14, 0), None),
        ] {
            assert_eq!(fitting(&builds, runtime), chosen, "{runtime:?}");
        }
        assert_eq!(list(&builds), "11.8, 12.1, 12.6 and 13.0");
        assert_eq!(list(&BTreeSet::from([(12, 8)])), "12.8");
    }
}
