//! Stand-ins for what a test machine lacks: an NVML library, and a sysfs tree with NVIDIA GPUs in it.
//!
//! The library is built by cargo itself, as a development dependency, so a plain `cargo test` has it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::TempDir;

/// Name by which programs ask for NVML.
pub(crate) const LIBRARY: &str = "libnvidia-ml.so.1";

/// The stand-in as cargo built it, beside this test binary.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("a test binary has a path");
    let beside = test.parent().expect("and lies in a folder").join("libnvidia_ml.so");
    assert!(beside.exists(), "{} is built with the tests", beside.display());
    beside
}

/// A folder that holds the stand-in under its real name, for `LD_LIBRARY_PATH` of programs under test.
/// Those choose a scenario with `FAKE_NVML`.
pub(crate) fn nvml_dir() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        let dir = built().with_file_name("fake-nvml");
        let library = dir.join(LIBRARY);
        fs::create_dir_all(&dir).expect("folder for the stand-in");
        if fs::read_link(&library).ok() != Some(built()) {
            // Another test process may be as far; one of the two makes the link.
            let _ = fs::remove_file(&library);
            let _ = std::os::unix::fs::symlink(built(), &library);
        }
        assert!(library.exists(), "{} is linked", library.display());
        dir
    })
}

/// A stand-in of one's own: its scenario can change while it is loaded, and the calls made of it are counted.
/// The copy has its own state, whatever else runs in the process.
pub(crate) struct OwnNvml {
    dir: TempDir,
}

impl OwnNvml {
    /// A copy with a scenario.
    pub(crate) fn new(scenario: &str) -> Self {
        let own = Self { dir: tempfile::tempdir().expect("temporary folder") };
        fs::copy(built(), own.library()).expect("copy of the stand-in");
        own.set(scenario);
        own
    }

    /// A copy of a driver from before the given functions existed: their names are cut out of the library.
    pub(crate) fn without(scenario: &str, functions: &[&str]) -> Self {
        let own = Self::new(scenario);
        let mut image = fs::read(own.library()).expect("the copy");
        for function in functions {
            let mut name = function.as_bytes().to_vec();
            name.push(0);
            let places: Vec<_> = (0..image.len() - name.len())
                .filter(|at| image[*at..].starts_with(&name))
                .collect();
            assert!(!places.is_empty(), "the stand-in exports {function}");
            places.into_iter().for_each(|at| image[at] = b'_');
        }
        fs::write(own.library(), image).expect("the cut copy");
        own
    }

    /// Path of the library.
    pub(crate) fn library(&self) -> PathBuf {
        self.dir.path().join(LIBRARY)
    }

    /// Changes the scenario; noticed at the next count of devices.
    pub(crate) fn set(&self, scenario: &str) {
        let new = self.dir.path().join("scenario.new");
        fs::write(&new, scenario).expect("scenario file");
        fs::rename(new, self.dir.path().join("scenario")).expect("scenario in place");
    }

    /// Calls made per function, known once the library was shut down.
    pub(crate) fn calls(&self) -> HashMap<String, u64> {
        let text = fs::read_to_string(self.dir.path().join("stats")).unwrap_or_default();
        let mut calls = HashMap::new();
        for (function, n) in text.lines().filter_map(|line| line.split_once(' ')) {
            *calls.entry(function.to_owned()).or_default() += n.parse::<u64>().expect("a count");
        }
        calls
    }
}

/// A sysfs tree with NVIDIA GPUs, to be given as its root.
pub(crate) struct Sysfs {
    dir: TempDir,
}

impl Sysfs {
    /// GPUs by address, device id and runtime power status.
    pub(crate) fn new(gpus: &[(&str, u32, &str)]) -> Self {
        let sysfs = Self { dir: tempfile::tempdir().expect("temporary folder") };
        for (address, device, status) in gpus {
            sysfs.add(address, *device, status);
        }
        sysfs
    }

    /// One more GPU.
    pub(crate) fn add(&self, address: &str, device: u32, status: &str) {
        let folder = self.folder(address);
        fs::create_dir_all(folder.join("power")).expect("device folder");
        for (file, text) in [("vendor", "0x10de"), ("class", "0x030000"), ("power/control", "auto")]
        {
            fs::write(folder.join(file), format!("{text}\n")).expect(file);
        }
        fs::write(folder.join("device"), format!("{device:#06x}\n")).expect("device id");
        self.set(address, status);
    }

    /// Changes the power status of a GPU: `active`, `suspended`.
    pub(crate) fn set(&self, address: &str, status: &str) {
        fs::write(self.folder(address).join("power/runtime_status"), format!("{status}\n"))
            .expect("status");
    }

    /// The root of the tree.
    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    fn folder(&self, address: &str) -> PathBuf {
        self.dir.path().join("bus/pci/drivers/nvidia").join(address)
    }
}
