//! Programs that bring their own GPU code: llama.cpp and Ollama. Found by their files; none is started.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::cuda::{self, Machine};
use super::disk::{Disk, Identity};
use super::inventory::{EnvKind, Environment, Library, Package};
use super::places::{Places, fits};
use super::progress::Progress;
use crate::text::printable;

/// Files of one program that are looked at, and how deep below its folder.
const MOST: usize = 4096;
const DEEPEST: usize = 3;

/// One program: how it is called, files that mark its folder, where its folder is looked for, what of it holds code.
struct Program {
    name: &'static str,
    marks: &'static [&'static str],
    places: &'static [&'static str],
    binaries: &'static [&'static str],
    /// Folders below, or beside, that belong to it.
    beside: &'static [&'static str],
}

const PROGRAMS: &[Program] = &[
    Program {
        name: "llama.cpp",
        marks: &[
            "llama-server",
            "llama-cli",
            "llama-bench",
            "libggml-cuda.so",
            "libggml-cuda.so.0",
        ],
        places: &[
            "$PATH",
            "/usr/local/bin",
            "/usr/bin",
            "/usr/local/lib",
            "/usr/lib/llama.cpp",
            "/app",
            "/opt/llama.cpp*",
            "/opt/llama.cpp*/bin",
            "/opt/llama.cpp*/build/bin",
            "~/llama.cpp*/build*/bin",
            "~/llama.cpp*/bin",
            "~/llama.cpp*",
            "~/*/llama.cpp/build*/bin",
            "/workspace/llama.cpp/build*/bin",
            "~/.local/bin",
        ],
        binaries: &[
            "llama-server",
            "llama-cli",
            "llama-bench",
            "libggml*.so*",
            "libllama.so*",
            "libmtmd.so*",
        ],
        beside: &["../lib", "../lib64", "../lib/llama.cpp", "../lib/x86_64-linux-gnu/ggml"],
    },
    Program {
        name: "ollama",
        marks: &["libggml-base.so", "cuda_v13", "cuda_v12", "cuda_v11"],
        places: &[
            "$PATH/../lib/ollama",
            "/usr/lib/ollama",
            "/usr/local/lib/ollama",
            "/opt/ollama/lib/ollama",
            "~/.local/lib/ollama",
            "~/ollama/lib/ollama",
            "/lib/ollama",
        ],
        binaries: &["lib*.so*", "llama-server", "ollama*"],
        beside: &["../../bin"],
    },
];

/// Finds programs; each is an environment with one package for the program and one for each of its runners.
pub(super) fn find(
    disk: &Disk,
    places: &Places,
    machine: &Machine,
    progress: &mut Progress<'_>,
) -> Vec<Environment> {
    let mut all = Vec::new();
    for program in PROGRAMS {
        let mut known: HashSet<Identity> = HashSet::new();
        for pattern in program.places {
            for dir in places.expand(disk, pattern, progress) {
                if progress.cancelled() {
                    return all;
                }
                let Some(root) = program.root(disk, &dir) else { continue };
                let new = disk.identity(&root).is_some_and(|identity| known.insert(identity));
                if !new {
                    continue;
                }
                progress.at(&disk.outer(&root));
                all.extend(program.read(disk, root, pattern, machine, progress));
            }
        }
    }
    all
}

impl Program {
    /// The folder that has one of the marks, where the mark's links end.
    fn root(&self, disk: &Disk, dir: &Path) -> Option<PathBuf> {
        let mark = self
            .marks
            .iter()
            .map(|mark| dir.join(mark))
            .find_map(|mark| disk.canonical(&mark).ok())?;
        if disk.is_dir(&mark) {
            return disk.canonical(dir).ok();
        }
        // One program that carries the other's: Ollama's own llama-server is Ollama's.
        let root = mark.parent()?.to_owned();
        (self.name == "ollama" || !root.ends_with("ollama")).then_some(root)
    }

    fn read(
        &self,
        disk: &Disk,
        root: PathBuf,
        found_by: &str,
        machine: &Machine,
        progress: &mut Progress<'_>,
    ) -> Option<Environment> {
        let mut packages = vec![self.package(self.name.to_owned())];
        self.collect(disk, &root, &mut packages, DEEPEST, progress);
        for beside in self.beside {
            let dir = super::links::lexical(&root.join(beside));
            self.files(disk, &dir, &mut packages[0], progress);
        }
        packages[0].version =
            packages[0].libraries.iter().find_map(|one| version(&one.path)).unwrap_or_default();
        packages.retain(|package| !package.libraries.is_empty());
        if packages.is_empty() {
            return None;
        }
        let mut environment = Environment {
            kind: EnvKind::Program,
            root: disk.outer(&root),
            found_by: found_by.to_owned(),
            ..Environment::default()
        };
        for package in &packages {
            // Each runner is started by itself, so two of them may well carry two versions.
            let cuda = cuda::read(disk, &root, std::slice::from_ref(package), machine, progress);
            environment.cuda.extend(cuda.libraries);
            environment.problems.extend(cuda.problems.iter().map(|problem| printable(problem)));
        }
        environment.packages = packages;
        Some(environment)
    }

    fn package(&self, name: String) -> Package {
        Package { normalized: super::normalized(&name), name, ..Package::default() }
    }

    /// Binaries of a folder, and of those below it, each a runner of its own.
    fn collect(
        &self,
        disk: &Disk,
        dir: &Path,
        packages: &mut Vec<Package>,
        depth: usize,
        progress: &mut Progress<'_>,
    ) {
        let Some(mut package) = packages.pop() else { return };
        self.files(disk, dir, &mut package, progress);
        packages.push(package);
        if depth == 0 || self.name != "ollama" {
            return;
        }
        for name in disk.list(dir, progress) {
            let (path, Some(name)) = (dir.join(&name), name.to_str()) else { continue };
            if disk.is_real_dir(&path) && packages.len() < 64 {
                packages.push(self.package(format!("{} {}", self.name, printable(name))));
                self.collect(disk, &path, packages, depth - 1, progress);
            }
        }
    }

    fn files(&self, disk: &Disk, dir: &Path, package: &mut Package, progress: &mut Progress<'_>) {
        for name in disk.list(dir, progress) {
            let wanted = self.binaries.iter().any(|pattern| fits(pattern, &name));
            if !wanted || package.libraries.len() >= MOST {
                continue;
            }
            let path = dir.join(&name);
            let linked = disk.link(&path).is_ok_and(|target| target.is_some());
            let end = if linked { disk.canonical(&path).ok() } else { Some(path) };
            let Some((path, bytes)) = end.and_then(|path| disk.file(&path)) else { continue };
            if !package.libraries.iter().any(|one| one.path == path) {
                package.libraries.push(Library { path, bytes, recorded: None });
            }
        }
    }
}

/// The version in a library's name: llama.cpp counted builds as `libllama.so.0.0.6869`, which its people call b6869.
fn version(path: &Path) -> Option<String> {
    let version = path.file_name()?.to_str()?.strip_prefix("libllama.so.")?;
    let plain = version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !plain || version.len() > 32 || !version.contains('.') {
        return None;
    }
    Some(
        version
            .strip_prefix("0.0.")
            .map_or_else(|| version.to_owned(), |build| format!("b{build}")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_named_as_their_people_name_them() {
        for (file, expected) in [
            ("libllama.so.0.0.6869", Some("b6869")),
            ("libllama.so.1.2.0", Some("1.2.0")),
            ("libllama.so.0", None),
            ("libllama.so", None),
            ("libggml-base.so.0.9.4", None),
        ] {
            assert_eq!(version(Path::new(file)).as_deref(), expected, "{file}");
        }
    }
}
