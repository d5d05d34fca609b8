//! Which copy of cuBLAS to ask, of those the inspection found.
//!
//! The copy a program here really uses comes first, for it is that one's answer that matters: what a GPU process has mapped, then what the
//! active environment would load, then what processes' environments and the others would, then the machine's own.

use std::path::PathBuf;

use warpscope_kernels::Sm;

use crate::inspect::env::{CudaLibrary, Inventory};

/// Newest major version for GPUs below 7.5, whose machine code CUDA 13 no longer holds.
const LAST_FOR_VOLTA: u32 = 12;

/// Copies of `libcublas` that a driver and a device go with, best first, each once.
pub fn cublas_copies(
    inventory: &Inventory,
    driver_cuda: Option<&str>,
    sm: Option<Sm>,
) -> Vec<PathBuf> {
    let mapped = inventory.processes.iter().flat_map(|process| &process.cuda);
    let mut homes: Vec<_> = inventory.environments.iter().collect();
    homes.sort_by_key(|home| (!home.active, home.pids.is_empty()));
    let loaded = homes.iter().flat_map(|home| &home.cuda).filter(|one| one.wins);
    let other = homes.iter().flat_map(|home| &home.cuda).filter(|one| !one.wins);
    let all = mapped.chain(loaded).chain(other).chain(&inventory.cuda);
    let mut paths: Vec<PathBuf> = Vec::new();
    for one in all.filter(|one| one.name == "cublas" && goes_with(one, driver_cuda, sm)) {
        if !paths.contains(&one.path) {
            paths.push(one.path.clone());
        }
    }
    paths
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
    use crate::inspect::env::{Environment, ProcessUse};

    fn library(path: &str, wins: bool) -> CudaLibrary {
        let name = if path.contains("Lt") { "cublasLt" } else { "cublas" };
        CudaLibrary { name: name.into(), path: path.into(), wins, ..CudaLibrary::default() }
    }

    fn home(active: bool, pids: &[u32], cuda: Vec<CudaLibrary>) -> Environment {
        Environment { active, pids: pids.to_vec(), cuda, ..Environment::default() }
    }

    fn copies(inventory: &Inventory, cuda: &str, sm: Sm) -> Vec<String> {
        let paths = cublas_copies(inventory, Some(cuda), Some(sm)).into_iter();
        paths.map(|path| path.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_is_in_use_goes_before_what_lies_around() {
        let mapped =
            ProcessUse { cuda: vec![library("/p/libcublas.so.12", true)], ..ProcessUse::default() };
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
