//! CUDA C++ to something the driver loads.

use std::path::{Path, PathBuf};

use warpscope_kernels::cuda::nvrtc::{Nvrtc, Output, Unit};
use warpscope_kernels::gpu::DeviceFacts;
use warpscope_probes::bounded::{self, Accept};
use warpscope_probes::trust::as_named;

/// Largest source that is read.
const MOST_BYTES: u64 = 16 << 20;

/// The first library that loads, and where it is from.
fn load(paths: &[PathBuf]) -> Result<(Nvrtc, PathBuf), String> {
    let open = |path: &PathBuf| {
        let path = as_named(path).map_err(|why| format!("{}: {why}", path.display()))?;
        Nvrtc::load(&path).map(|nvrtc| (nvrtc, path))
    };
    if let [only] = paths {
        return open(only);
    }
    paths.iter().find_map(|path| open(path).ok()).ok_or_else(|| {
        "no NVRTC is found, which compiles .cu: install CUDA or `pip install nvidia-cuda-nvrtc-cu12`, or name the library with \
         `nvrtc` in the spec"
            .to_owned()
    })
}

/// Folders of headers that belong to a library.
fn headers(library: &Path) -> Vec<PathBuf> {
    let Some(folder) = library.parent().filter(|folder| folder.is_absolute()) else {
        return Vec::new();
    };
    let places = ["../include", "../../cuda_runtime/include", "../../cu13/include"];
    places.iter().map(|place| folder.join(place)).filter(|path| path.is_dir()).collect()
}

/// A source that was read, and the compiler for it.
pub(super) struct Compiler {
    nvrtc: Nvrtc,
    text: String,
    name: String,
    options: Vec<String>,
}

impl Compiler {
    /// Reads the source and loads the compiler from the first of these files that is one.
    pub(super) fn new(file: &Path, options: &[String], paths: &[PathBuf]) -> Result<Self, String> {
        let bytes = read(file)?;
        let text =
            String::from_utf8(bytes).map_err(|_| format!("{} is not text", file.display()))?;
        let (nvrtc, library) = load(paths)?;
        let include = |path: &Path| format!("--include-path={}", path.display());
        let own = file.parent().map(include);
        let headers = headers(&library);
        let options =
            options.iter().cloned().chain(own).chain(headers.iter().map(|at| include(at)));
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { nvrtc, text, name, options: options.collect() })
    }

    /// PTX for the device, or an image where the driver is older than the compiler.
    pub(super) fn compile(&self, facts: &DeviceFacts, output: Output) -> Result<Vec<u8>, String> {
        let kind = match output {
            Output::Ptx => "compute",
            Output::Cubin => "sm",
        };
        let (major, minor) = (facts.sm.major, facts.sm.minor);
        let architecture = format!("--gpu-architecture={kind}_{major}{minor}");
        let mut options: Vec<&str> = self.options.iter().map(String::as_str).collect();
        options.push(&architecture);
        let unit = Unit { name: &self.name, text: &self.text, headers: &[] };
        self.nvrtc.compile(&unit, &options, output).map_err(|said| error_first(&said))
    }
}

/// What the compiler said, the first error before the rest: only one line of it is always shown.
fn error_first(said: &str) -> String {
    let found = said.lines().find(|line| line.contains("error:"));
    found.map_or_else(|| said.to_owned(), |line| format!("{line}\n{said}"))
}

/// A file of no absurd size.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let read = bounded::read(path, Accept::Files, MOST_BYTES);
    read.map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_comes_before_the_warnings() {
        let said = "NVRTC returned 6\nk.cu(1): warning: x\nk.cu(2): error: y";
        assert!(error_first(said).starts_with("k.cu(2): error: y\nNVRTC returned 6\n"));
        assert_eq!(error_first("NVRTC returned 5"), "NVRTC returned 5");
    }

    #[test]
    fn a_library_that_is_none_is_named() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let paths = [file.path().to_owned()];
        let error = Compiler::new(file.path(), &[], &paths).err().expect("no library");
        assert!(error.contains(&file.path().display().to_string()), "{error}");
        assert!(read(Path::new("/nowhere/k.cu")).is_err_and(|why| why.contains("/nowhere/k.cu")));
        assert!(read(Path::new("/")).is_err_and(|why| why == "/: is a folder, not a file"));
    }
}
