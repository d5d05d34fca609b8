//! What is wrong with the CUDA libraries of an environment, as sentences with cause and way out.

use std::path::Path;

use super::super::disk::Disk;
use super::copies::{Copy, Place, is_private};
use super::loader::Loaded;

/// Libraries that belong together and must be of one version: the first, the others, what people see when they are not.
const FAMILIES: &[(&str, &[&str], &str)] = &[
    ("cublas", &["cublasLt"], "CUBLAS_STATUS_NOT_SUPPORTED or CUBLAS_STATUS_NOT_INITIALIZED"),
    (
        "cudnn",
        &[
            "cudnn_ops",
            "cudnn_cnn",
            "cudnn_adv",
            "cudnn_graph",
            "cudnn_heuristic",
            "cudnn_engines_precompiled",
            "cudnn_engines_runtime_compiled",
        ],
        "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
    ),
];

/// What people see when two versions of a library meet.
const SYMPTOMS: &[(&str, &str)] = &[
    ("cublas", "CUBLAS_STATUS_NOT_SUPPORTED or CUBLAS_STATUS_NOT_INITIALIZED"),
    ("cublasLt", "CUBLAS_STATUS_NOT_SUPPORTED"),
    ("cudnn", "CUDNN_STATUS_NOT_INITIALIZED or a version mismatch"),
    ("cusparse", "undefined symbol: __nvJitLink…"),
    ("nvjitlink", "undefined symbol: __nvJitLink…"),
    ("nccl", "undefined symbol: ncclCommRegister or a hang in the first collective"),
];

/// Looks for versions that do not go together.
pub(super) fn find(disk: &Disk, root: &Path, copies: &[Copy], loaded: &[Loaded]) -> Vec<String> {
    let mut problems = mismatched(disk, loaded);
    problems.extend(shadowed(disk, root, copies, loaded));
    problems.extend(doubled(disk, root, copies, loaded));
    problems
}

/// Members of one family of different versions, as they would be loaded.
fn mismatched(disk: &Disk, loaded: &[Loaded]) -> Vec<String> {
    let mut problems = Vec::new();
    let shared = || loaded.iter().filter(|one| !is_private(&one.copy.path));
    for (first, others, symptom) in FAMILIES {
        for other in shared().filter(|other| others.contains(&other.copy.name)) {
            // Two majors may be loaded side by side, each with its own.
            let same =
                |one: &&Loaded| one.copy.name == *first && same_major(&one.copy, &other.copy);
            let firsts: Vec<_> = shared().filter(same).collect();
            let alone = firsts.iter().all(|one| differ(&one.copy, &other.copy));
            let Some(one) = firsts.first().filter(|_| alone) else { continue };
            problems.push(format!(
                "{} and {} would be loaded together, which gives {symptom}. They belong to one release: take both from the same place, \
                 or reinstall the framework with its own CUDA libraries.",
                told(disk, one), told(disk, other),
            ));
        }
    }
    problems
}

/// A copy from outside that is taken instead of the environment's own.
fn shadowed(disk: &Disk, root: &Path, copies: &[Copy], loaded: &[Loaded]) -> Vec<String> {
    let mut problems = Vec::new();
    for one in loaded.iter().filter(|one| !one.copy.real.starts_with(root) && !is_own(&one.copy)) {
        let same =
            |copy: &&Copy| copy.name == one.copy.name && is_own(copy) && !is_private(&copy.path);
        let Some(own) = copies.iter().filter(same).find(|own| differ(own, &one.copy)) else {
            continue;
        };
        let way_out = match one.via.as_str() {
            "LD_LIBRARY_PATH" => "Start it without that folder in LD_LIBRARY_PATH.",
            _ => {
                "Reinstall the framework from its own index so that its run path leads to its own CUDA libraries."
            }
        };
        problems.push(format!(
            "{} is taken instead of {}, which the environment brought for it{}. {way_out}",
            told(disk, one),
            described(disk, own),
            may_give(one.copy.name),
        ));
    }
    problems
}

/// Two versions of one library inside the environment, of which the loader finds but one.
fn doubled(disk: &Disk, root: &Path, copies: &[Copy], loaded: &[Loaded]) -> Vec<String> {
    let inside =
        |copy: &&Copy| (is_own(copy) || copy.real.starts_with(root)) && !is_private(&copy.path);
    let own: Vec<_> = copies.iter().filter(inside).collect();
    let mut problems = Vec::new();
    for (at, one) in own.iter().enumerate() {
        let same = |other: &Copy| other.name == one.name && same_major(one, other);
        let first = !own[..at].iter().any(|other| same(other));
        let other = own.iter().skip(at + 1).find(|other| same(other) && differ(one, other));
        let (true, Some(other)) = (first, other) else { continue };
        let taken = loaded.iter().find(|loaded| same(&loaded.copy));
        let taken = taken.map_or_else(String::new, |taken| {
            format!(
                " {} asks for the one in {}.",
                file(&taken.needed_by),
                disk.outer(taken.copy.path.parent().unwrap_or(root)).display()
            )
        });
        problems.push(format!(
            "Two versions of {} are in one environment: {} and {}{}.{taken} Keep the one the framework was built with and uninstall the other.",
            one.name, described(disk, one), described(disk, other), may_give(one.name),
        ));
    }
    problems
}

fn is_own(copy: &Copy) -> bool {
    matches!(copy.place, Place::Wheel(_) | Place::Bundled(_) | Place::Conda)
}

fn may_give(name: &str) -> String {
    let symptom = SYMPTOMS.iter().find(|row| row.0 == name);
    symptom.map_or_else(String::new, |row| format!(", which may give {}", row.1))
}

/// Whether one could be taken for the other: libraries of another major have another soname, and each finds its own.
fn same_major(one: &Copy, other: &Copy) -> bool {
    let (one, other) = (numbers(one).0, numbers(other).0);
    one.is_some() && one == other
}

/// Whether two copies of one major differ in minor, as far as both are known.
fn differ(one: &Copy, other: &Copy) -> bool {
    let minors = (numbers(one).1, numbers(other).1);
    same_major(one, other) && matches!(minors, (Some(one), Some(other)) if one != other)
}

/// Major and minor of a version, as far as they are known.
fn numbers(copy: &Copy) -> (Option<&str>, Option<&str>) {
    let mut numbers = copy.version.iter().flat_map(|version| version.split('.'));
    (numbers.next(), numbers.next())
}

/// `cublas 12.8.4.1 (wheel nvidia-cublas-cu12)`.
fn described(disk: &Disk, copy: &Copy) -> String {
    let version = copy.version.as_deref().unwrap_or("of unknown version");
    let place = match &copy.place {
        place @ (Place::Wheel(_) | Place::Bundled(_)) => place.to_string(),
        _ => disk.outer(&copy.path).display().to_string(),
    };
    format!("{} {version} ({place})", copy.name)
}

/// `cublas 12.1.3.1 (/usr/local/cuda/lib64/libcublas.so.12, by LD_LIBRARY_PATH)`.
fn told(disk: &Disk, loaded: &Loaded) -> String {
    let version = loaded.copy.version.as_deref().unwrap_or("of unknown version");
    let (name, path) = (loaded.copy.name, disk.outer(&loaded.copy.path));
    format!("{name} {version} ({}, by {})", path.display(), loaded.via)
}

fn file(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or("the framework")
}
