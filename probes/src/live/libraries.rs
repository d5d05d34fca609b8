//! Which copy of cuBLAS to ask, of those the inspection found.
//!
//! The copy a program here really uses comes first, for it is that one's answer that matters: what a GPU process has mapped, then what the
//! active environment would load, then what processes' environments and the others would, then the machine's own. Processes of other users do
//! not count: what they have mapped is theirs to choose.

use std::path::PathBuf;

use warpscope_kernels::Sm;

use crate::inspect::env::{CudaLibrary, Environment, Inventory, ProcessUse};
use crate::trust::Vetted;

/// Newest major version for GPUs below 7.5, whose machine code CUDA 13 no longer holds.
const LAST_FOR_VOLTA: u32 = 12;

/// Copies of `libcublas` that were found. Nothing is loaded of them before [`vet`](Self::vet) has looked at each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CublasCopies {
    /// Those that go with driver and device, best first, each once.
    found: Vec<PathBuf>,
    /// Those that only other users' processes led to, each with the process.
    foreign: Vec<(PathBuf, u32)>,
}

impl CublasCopies {
    /// Copies for a driver and a device. Processes of `user` count, others do not.
    pub fn of(inventory: &Inventory, driver_cuda: Option<&str>, sm: Option<Sm>, user: u32) -> Self {
        let own = |process: &&ProcessUse| process.uid == Some(user);
        let own_pids: Vec<u32> =
            inventory.processes.iter().filter(own).map(|one| one.pid).collect();
        let used = |home: &Environment| home.pids.iter().any(|pid| own_pids.contains(pid));
        let (mut homes, foreign_homes): (Vec<_>, Vec<_>) =
            inventory.environments.iter().partition(|home| used(home) || !home.is_by_process());
        homes.sort_by_key(|home| (!home.active, !used(home)));
        let mapped = inventory.processes.iter().filter(own).flat_map(|process| &process.cuda);
        let loaded = homes.iter().flat_map(|home| &home.cuda).filter(|one| one.wins);
        let other = homes.iter().flat_map(|home| &home.cuda).filter(|one| !one.wins);
        let fits = |one: &CudaLibrary| one.name == "cublas" && goes_with(one, driver_cuda, sm);
        let mut copies = Self::default();
        for one in mapped.chain(loaded).chain(other).chain(&inventory.cuda).filter(|one| fits(one))
        {
            if !copies.found.contains(&one.path) {
                copies.found.push(one.path.clone());
            }
        }
        let processes = inventory.processes.iter().filter(|process| !own(process));
        let mapped =
            processes.flat_map(|process| process.cuda.iter().map(|one| (one, process.pid)));
        let homes = foreign_homes.iter().flat_map(|home| {
            let pid = home.pids.first().copied().unwrap_or_default();
            home.cuda.iter().map(move |one| (one, pid))
        });
        for (one, pid) in mapped.chain(homes).filter(|(one, _)| fits(one)) {
            let known = copies.foreign.iter().any(|other| other.0 == one.path);
            if !known && !copies.found.contains(&one.path) {
                copies.foreign.push((one.path.clone(), pid));
            }
        }
        copies
    }

    /// Looks at who could have put each copy there.
    pub fn vet(self) -> Vetted {
        let mut vetted = Vetted::of(self.found);
        let of_process = |pid| format!("only process {pid} of another user led to it");
        vetted.refused.extend(self.foreign.into_iter().map(|(path, pid)| (path, of_process(pid))));
        vetted
    }
}

/// Whether a driver knows the library's CUDA, and the library the device. What is not known is left to the library to say.
fn goes_with(library: &CudaLibrary, driver_cuda: Option<&str>, sm: Option<Sm>) -> bool {
    let Some(major) = major(library) else { return true };
    let known = driver_cuda.and_then(|cuda| cuda.split('.').next()?.parse::<u32>().ok());
    let old = sm.is_some_and(|sm| (sm.major, sm.minor) < (7, 5));
    known.is_none_or(|known| major <= known) && !(old && major > LAST_FOR_VOLTA)
}

/// The major version by the file's name, which the loader goes by, or else by what it says of itself.
fn major(library: &CudaLibrary) -> Option<u32> {
    let name = library.path.file_name()?.to_str()?;
    let of_name = name.split_once(".so.").and_then(|(_, rest)| rest.split('.').next());
    let of_version = library.version.as_deref().and_then(|version| version.split('.').next());
    of_name.or(of_version)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: u32 = 1000;

    fn library(path: &str, wins: bool) -> CudaLibrary {
        let name = if path.contains("Lt") { "cublasLt" } else { "cublas" };
        CudaLibrary { name: name.into(), path: path.into(), wins, ..CudaLibrary::default() }
    }

    fn home(active: bool, pids: &[u32], cuda: Vec<CudaLibrary>) -> Environment {
        Environment { active, pids: pids.to_vec(), cuda, ..Environment::default() }
    }

    fn process(pid: u32, uid: Option<u32>, cuda: Vec<CudaLibrary>) -> ProcessUse {
        ProcessUse { pid, uid, cuda, ..ProcessUse::default() }
    }

    fn copies(inventory: &Inventory, cuda: &str, sm: Sm) -> Vec<String> {
        let paths = CublasCopies::of(inventory, Some(cuda), Some(sm), ME).found.into_iter();
        paths.map(|path| path.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_is_in_use_goes_before_what_lies_around() {
        let mapped = process(7, Some(ME), vec![library("/p/libcublas.so.12", true)]);
        let inventory = Inventory {
            environments: vec![
                home(false, &[], vec![library("/e/libcublas.so.12", true)]),
                home(
                    false,
                    &[7],
                    vec![
                        library("/q/libcublas.so.12", true),
                        library("/q/libcublasLt.so.12", true),
                    ],
                ),
                home(
                    true,
                    &[],
                    vec![library("/x/libcublas.so.11", false), library("/a/libcublas.so.12", true)],
                ),
            ],
            processes: vec![mapped],
            cuda: vec![
                library("/usr/local/cuda/lib64/libcublas.so.12", false),
                library("/a/libcublas.so.12", true),
            ],
            ..Inventory::default()
        };
        let want = [
            "/p/libcublas.so.12",
            "/a/libcublas.so.12",
            "/q/libcublas.so.12",
            "/e/libcublas.so.12",
            "/x/libcublas.so.11",
            "/usr/local/cuda/lib64/libcublas.so.12",
        ];
        assert_eq!(copies(&inventory, "12.8", Sm::new(8, 0)), want);
    }

    /// Whose process it is decides, not what it says of itself; what is found otherwise as well counts as that.
    #[test]
    fn processes_of_other_users_lead_to_nothing_that_is_loaded() {
        let of = |path: &str| vec![library(path, true)];
        let by =
            |found_by: &str, home: Environment| Environment { found_by: found_by.into(), ..home };
        let inventory = Inventory {
            environments: vec![
                by("pid 8", home(false, &[8], of("/evil/libcublas.so.12"))),
                by("pid 9", home(false, &[9], of("/hidden/libcublas.so.12"))),
                by("pid 8", home(false, &[8, 7], of("/both/libcublas.so.12"))),
                by("~/.venv", home(false, &[8], of("/mine/libcublas.so.12"))),
                by("~/.venv", home(true, &[], of("/active/libcublas.so.12"))),
            ],
            processes: vec![
                process(7, Some(ME), Vec::new()),
                process(8, Some(65_534), of("/evil/lib/libcublas.so.12")),
                process(9, None, of("/usr/lib/libcublas.so.12")),
                process(10, Some(0), of("/admin/libcublas.so.12")),
            ],
            cuda: of("/usr/lib/libcublas.so.12"),
            ..Inventory::default()
        };
        let copies = CublasCopies::of(&inventory, Some("12.8"), Sm::new(8, 0).into(), ME);
        let want = ["/active", "/both", "/mine", "/usr/lib"]
            .map(|at| PathBuf::from(at).join("libcublas.so.12"));
        assert_eq!(copies.found, want);
        let foreign = [("/evil/lib", 8), ("/admin", 10), ("/evil", 8), ("/hidden", 9)];
        let foreign = foreign.map(|(at, pid)| (PathBuf::from(at).join("libcublas.so.12"), pid));
        assert_eq!(copies.foreign, foreign);
    }

    /// CUDA 13 needs a driver of branch 580 and holds nothing below 7.5 (CUDA 13.0 release notes).
    #[test]
    fn what_cannot_go_with_driver_or_device_is_left_out() {
        let both = vec![library("/n/libcublas.so.13", true), library("/o/libcublas.so.12", true)];
        let inventory =
            Inventory { environments: vec![home(true, &[], both)], ..Inventory::default() };
        assert_eq!(copies(&inventory, "13.0", Sm::new(7, 5)).len(), 2);
        assert_eq!(copies(&inventory, "12.8", Sm::new(7, 5)), ["/o/libcublas.so.12"]);
        assert_eq!(copies(&inventory, "13.0", Sm::new(7, 0)), ["/o/libcublas.so.12"]);
    }
}
