//! What running processes use: the best evidence there is, since the loader has already decided.
//!
//! `/proc/PID/maps` names every library that is really mapped, `/proc/PID/root` leads into a container without asking its engine.
//! Both need the permission to trace the process; where it is missing that is said, and nothing is guessed.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use super::cuda::{self, Machine};
use super::disk::{self, Disk};
use super::find::Environments;
use super::inventory::{CudaLibrary, EnvKind, Environment, ProcessUse};
use super::metadata::is_library;
use super::native::native;
use super::places::Places;
use super::progress::Progress;
use crate::text::printable;

/// The largest maps met have some 10 000 lines of 100 bytes.
pub(super) const MAPS_BYTES: u64 = 16 << 20;
const ENVIRON_BYTES: u64 = 1 << 20;
const STATUS_BYTES: u64 = 64 << 10;
const COMMAND_BYTES: u64 = 64 << 10;
/// Packages named of one process.
const MOST_PACKAGES: usize = 32;

/// Libraries that are not Python's: how their file's name begins, whose they are.
const PROGRAMS: &[(&str, &str)] = &[
    ("libggml", "llama.cpp"),
    ("libllama", "llama.cpp"),
    ("libnvinfer", "TensorRT"),
    ("libtritonserver", "Triton Inference Server"),
    ("libonnxruntime", "onnxruntime"),
    ("libtensorflow", "tensorflow"),
    ("libtorch", "torch"),
    ("libc10", "torch"),
];

/// One file a process has mapped, and how many bytes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapped {
    pub(super) path: PathBuf,
    bytes: u64,
}

/// Files in `/proc/PID/maps`, each once.
fn parse(maps: &str) -> Vec<Mapped> {
    let mut all: HashMap<&str, u64> = HashMap::new();
    for line in maps.lines() {
        let mut columns = line.splitn(6, ' ');
        let Some((from, to)) = columns.next().and_then(|range| range.split_once('-')) else {
            continue;
        };
        let Some(path) = columns.nth(4).map(str::trim_start) else { continue };
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        let (Ok(from), Ok(to)) = (u64::from_str_radix(from, 16), u64::from_str_radix(to, 16))
        else {
            continue;
        };
        if path.starts_with('/') && path.len() <= 4096 {
            let bytes = all.entry(path).or_default();
            *bytes = bytes.saturating_add(to.saturating_sub(from));
        }
    }
    let mut all: Vec<_> =
        all.into_iter().map(|(path, bytes)| Mapped { path: path.into(), bytes }).collect();
    all.sort_by(|a, b| (b.bytes, &a.path).cmp(&(a.bytes, &b.path)));
    all
}

/// A process as `/proc` shows it.
pub(super) struct Shown {
    pub(super) pid: u32,
    uid: Option<u32>,
    /// Its file system, and whether that is ours.
    pub(super) disk: Disk,
    contained: bool,
    pub(super) mapped: Vec<Mapped>,
    vars: HashMap<String, String>,
    command: String,
    pub(super) program: Option<PathBuf>,
}

impl Shown {
    /// Looks at a process; the reason why it cannot be seen otherwise.
    fn read(places: &Places, pid: u32, progress: &mut Progress<'_>) -> Result<Self, String> {
        let folder = places.proc_root.join(pid.to_string());
        let text = |name: &str, most: u64| -> io::Result<String> {
            Ok(String::from_utf8_lossy(&disk::kernel_file(&folder.join(name), most)?).into_owned())
        };
        let maps = text("maps", MAPS_BYTES).map_err(|error| hidden(&error))?;
        progress.read(maps.len() as u64);
        let environ = text("environ", ENVIRON_BYTES).unwrap_or_default();
        let vars = environ.split('\0').filter_map(|pair| pair.split_once('='));
        let vars = vars.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let command = text("cmdline", COMMAND_BYTES).unwrap_or_default();
        let root = folder.join("root");
        let contained = !disk::same_file(&root, &places.root).map_err(|error| hidden(&error))?;
        Ok(Self {
            pid,
            uid: user(&text("status", STATUS_BYTES).unwrap_or_default()),
            disk: Disk::new(if contained { &root } else { &places.root }),
            contained,
            mapped: parse(&maps),
            vars,
            command: command.split('\0').next().unwrap_or_default().to_owned(),
            program: folder.join("exe").read_link().ok(),
        })
    }

    /// Folders that may be its environment, the surest first: where its modules come from, what it was told, how it was started.
    fn candidates(&self) -> Vec<PathBuf> {
        let modules = self.mapped.iter().filter_map(|one| site(&one.path));
        let told =
            ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(|name| self.vars.get(name));
        let started = [Some(PathBuf::from(&self.command)), self.program.clone()];
        let started = started.into_iter().flatten().filter(|path| is_python(path));
        let all = modules.map(Path::to_owned).chain(told.map(PathBuf::from)).chain(started);
        let mut kept: Vec<PathBuf> = Vec::new();
        for path in all.filter(|path| path.is_absolute()) {
            if !kept.contains(&path) {
                kept.push(path);
            }
        }
        kept.truncate(8);
        kept
    }

    /// Packages by what is mapped of them, the largest first.
    fn packages(&self, environment: Option<&Environment>) -> Vec<String> {
        let libraries = environment.into_iter().flat_map(|one| &one.packages);
        let owners: HashMap<PathBuf, &str> = libraries
            .flat_map(|package| {
                package.libraries.iter().map(move |one| (one.path.clone(), package.name.as_str()))
            })
            .collect();
        let mut sizes: HashMap<String, u64> = HashMap::new();
        for one in &self.mapped {
            let owner = owners.get(&self.disk.outer(&one.path)).map(|name| (*name).to_owned());
            let owner = owner.or_else(|| by_path(&one.path));
            // NVIDIA's packages say nothing of the framework; what matters of them is among the CUDA libraries.
            if let Some(owner) = owner.filter(|owner| !owner.starts_with("nvidia")) {
                *sizes.entry(owner).or_default() += one.bytes;
            }
        }
        let mut sizes: Vec<_> = sizes.into_iter().collect();
        sizes.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
        sizes.into_iter().take(MOST_PACKAGES).map(|(name, _)| printable(&name)).collect()
    }

    fn cuda(
        &self,
        environment: Option<&Environment>,
        progress: &mut Progress<'_>,
    ) -> Vec<CudaLibrary> {
        let paths: Vec<_> = self.mapped.iter().map(|one| one.path.clone()).collect();
        let packages = environment.map(|one| one.packages.as_slice()).unwrap_or_default();
        cuda::mapped(&self.disk, &paths, packages, progress)
    }

    /// The machine as this process sees it.
    fn places(&self, places: &Places) -> Places {
        let root = match self.contained {
            true => places.proc_root.join(self.pid.to_string()).join("root"),
            false => places.root.clone(),
        };
        Places { vars: self.vars.clone().into_iter().collect(), ..Places::at(root) }
    }
}

/// The user in `/proc/PID/status`, where real, effective, saved and file system user are one.
fn user(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let ids = line.split_whitespace().map(|id| id.parse().ok()).collect::<Option<Vec<u32>>>()?;
    ids.first().copied().filter(|first| ids.iter().all(|id| id == first))
}

/// The `site-packages` a file lies in.
fn site(path: &Path) -> Option<&Path> {
    let is_site = |dir: &&Path| {
        dir.file_name().is_some_and(|name| name == "site-packages" || name == "dist-packages")
    };
    path.ancestors().skip(1).find(is_site)
}

pub(super) fn is_python(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("python"))
}

/// Whose a library is, by where it lies or what it is called.
pub(super) fn by_path(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    if let Some(site) = site(path).filter(|_| is_library(name)) {
        let top = path.strip_prefix(site).ok()?.components().next()?;
        let top = top.as_os_str().to_str()?;
        return Some(top.split('.').next().unwrap_or(top).to_owned());
    }
    if path.to_str()?.contains("/ollama") {
        return Some("ollama".to_owned());
    }
    PROGRAMS.iter().find(|row| name.starts_with(row.0)).map(|row| row.1.to_owned())
}

fn hidden(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "has ended".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "permission denied: run as the user of the process, or as root".to_owned()
        }
        _ if error.raw_os_error() == Some(libc::ESRCH) => "has ended".to_owned(),
        _ => error.to_string(),
    }
}

/// Looks at processes; environments not known yet are added to `environments`, those known learn of their pids.
pub(super) fn read(
    places: &Places,
    pids: &[u32],
    known: &mut Environments,
    environments: &mut Vec<Environment>,
    progress: &mut Progress<'_>,
) -> Vec<ProcessUse> {
    let mut uses = Vec::with_capacity(pids.len());
    for pid in pids {
        if progress.cancelled() {
            break;
        }
        let folder = places.proc_root.join(pid.to_string());
        progress.at(&folder);
        let shown = match Shown::read(places, *pid, progress) {
            Ok(shown) => shown,
            Err(reason) => {
                if reason != "has ended" {
                    progress.unreadable(&folder, &reason);
                }
                uses.push(ProcessUse { pid: *pid, hidden: Some(reason), ..ProcessUse::default() });
                continue;
            }
        };
        let at = environment(places, &shown, known, environments, progress)
            .or_else(|| native(&shown, known, environments));
        let environment = at.and_then(|at| environments.get_mut(at));
        let environment = environment.map(|one| {
            one.pids.push(*pid);
            &*one
        });
        uses.push(ProcessUse {
            pid: *pid,
            uid: shown.uid,
            environment: environment.map(|one| one.root.clone()),
            packages: shown.packages(environment),
            cuda: shown.cuda(environment, progress),
            hidden: None,
        });
    }
    uses
}

/// Position of the environment a process uses; a new one is read and added.
fn environment(
    places: &Places,
    shown: &Shown,
    known: &mut Environments,
    environments: &mut Vec<Environment>,
    progress: &mut Progress<'_>,
) -> Option<usize> {
    let label = format!("pid {}", shown.pid);
    for path in shown.candidates() {
        let before = known.found.len();
        let Some(at) = known.add(&shown.disk, &path, EnvKind::Process, &label, progress) else {
            continue;
        };
        let machine = (known.found.len() > before)
            .then(|| Machine::read(&shown.disk, &shown.places(places), progress));
        for found in known.found.iter().skip(before) {
            let machine = machine.as_ref()?;
            let read =
                super::sweep::environment(&shown.disk, found.clone(), (machine, false), progress);
            environments.push(read);
            progress.done_one();
        }
        return Some(at);
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lines as `proc_pid_maps(5)` describes them.
    #[test]
    fn maps_are_added_up_by_file() {
        let maps = "\
7f1000000000-7f1000001000 r--p 00000000 08:01 42                         /usr/lib/libx.so.1\n\
7f1000001000-7f1000003000 r-xp 00001000 08:01 42                         /usr/lib/libx.so.1\n\
7f2000000000-7f2000001000 rw-p 00000000 00:00 0 \n\
7f3000000000-7f3000001000 r--p 00000000 08:01 43                         /home/a b/site-packages/y.so (deleted)\n\
7ffd00000000-7ffd00001000 rw-p 00000000 00:00 0                          [stack]\nnonsense\n";
        let mapped = |path: &str, bytes| Mapped { path: path.into(), bytes };
        assert_eq!(
            parse(maps),
            [mapped("/usr/lib/libx.so.1", 0x3000), mapped("/home/a b/site-packages/y.so", 0x1000)]
        );
    }

    /// Lines as `proc_pid_status(5)` describes them.
    #[test]
    fn a_process_has_a_user_where_all_four_are_one() {
        let of = |ids: &str| user(&format!("Name:\tx\nUid:\t{ids}\nGid:\t5\t5\t5\t5\n"));
        assert_eq!(of("1000\t1000\t1000\t1000"), Some(1000));
        assert_eq!(of("1000\t0\t0\t0"), None, "setuid");
        assert_eq!((of(""), of("x\tx\tx\tx"), user("")), (None, None, None));
    }

    #[test]
    fn libraries_are_told_by_place_and_name() {
        for (path, owner) in [
            ("/v/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so", Some("torch")),
            (
                "/v/lib/python3.11/site-packages/_cffi_backend.cpython-311-x86_64-linux-gnu.so",
                Some("_cffi_backend"),
            ),
            ("/usr/local/lib/ollama/cuda_v12/libggml-cuda.so", Some("ollama")),
            ("/opt/llama.cpp/bin/libggml-cuda.so", Some("llama.cpp")),
            ("/usr/lib/libnvinfer.so.10", Some("TensorRT")),
            ("/usr/lib/libc.so.6", None),
        ] {
            assert_eq!(by_path(Path::new(path)).as_deref(), owner, "{path}");
        }
    }

    proptest! {
        #[test]
        fn any_maps_are_survived(text in "[0-9a-f\\-rwxp :/.é\n]{0,300}") {
            for one in parse(&text) {
                prop_assert!(one.path.is_absolute());
                by_path(&one.path);
            }
        }
    }
}
