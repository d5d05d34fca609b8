//! A machine with NVIDIA GPUs that is not there: a folder with the stand-ins for driver, NVML, cuBLAS and cuBLASLt under the
//! names programs ask for, and what they pretend. A program that is started on it finds them before any real ones.
//!
//! ```text
//! let stage = stage::Stage::new("h200x2").fault("oom@3");
//! let output = stage.command("warpscope").arg("doctor").output();
//! ```
//!
//! A dynamic linker reads its search path when a process starts, so a test that wants to load the stand-ins itself runs itself
//! again: [`Stage::again`], and the two speak by [`tell`] and [`said`].

#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use tempfile::TempDir;

/// Libraries: as cargo names them, and as programs ask for them.
const LIBRARIES: [(&str, &str); 4] = [
    ("libcuda.so", CUDA),
    ("libnvidia_ml.so", NVML),
    ("libcublas.so", CUBLAS),
    ("libcublas_lt.so", CUBLAS_LT),
];

/// The driver.
pub const CUDA: &str = "libcuda.so.1";
/// NVML.
pub const NVML: &str = "libnvidia-ml.so.1";
/// cuBLAS of CUDA 12.
pub const CUBLAS: &str = "libcublas.so.12";
/// cuBLASLt of CUDA 12.
pub const CUBLAS_LT: &str = "libcublasLt.so.12";

/// A machine.
pub struct Stage {
    folder: TempDir,
    boards: String,
    driver: Option<u32>,
    faults: Vec<String>,
    cublas: String,
}

impl Stage {
    /// A machine with these boards, and whatever else the scenarios of the stand-in NVML and driver both know: `t4`, `v100x4`,
    /// `h200+procs`.
    ///
    /// # Panics
    /// If the stand-ins were not built, or there is no room for a folder.
    pub fn new(boards: &str) -> Self {
        let folder = TempDir::with_prefix("stage-").expect("room for a folder");
        for (built_as, name) in LIBRARIES {
            let made = std::os::unix::fs::symlink(built(built_as), folder.path().join(name));
            made.expect("a link in an empty folder");
        }
        fs::create_dir(folder.path().join("ledger")).expect("room for a folder");
        let boards = boards.to_owned();
        Self { folder, boards, driver: None, faults: Vec::new(), cublas: String::new() }
    }

    /// CUDA version the driver supports: `12080` for 12.8.
    #[must_use]
    pub fn driver(mut self, cuda: u32) -> Self {
        self.driver = Some(cuda);
        self
    }

    /// Something that goes wrong in the driver, by the words of `faults` there: `oom@3`, `hang:cuStreamSynchronize`.
    #[must_use]
    pub fn fault(mut self, fault: &str) -> Self {
        self.faults.push(fault.to_owned());
        self
    }

    /// What cuBLAS and cuBLASLt pretend, by the words of `scenario` there: `version:12.1.3+latte`. Of another major version than
    /// 12 the files are named so: `libcublas.so.13`.
    ///
    /// # Panics
    /// If the libraries are not there any more.
    #[must_use]
    pub fn cublas(mut self, words: &str) -> Self {
        let version = words.split('+').find_map(|word| word.strip_prefix("version:"));
        let major = version.and_then(|version| version.split('.').next()).unwrap_or("12");
        for name in [CUBLAS, CUBLAS_LT] {
            let place = |name: &str| self.folder.path().join(name);
            let named = place(name).with_extension(major);
            fs::rename(place(name), named).expect("a library of the stage");
        }
        words.clone_into(&mut self.cublas);
        self
    }

    /// A library of before these functions: their names are cut out of it.
    ///
    /// # Panics
    /// If the library has no such function.
    #[must_use]
    pub fn before(self, library: &str, functions: &[&str]) -> Self {
        let path = self.folder.path().join(library);
        let mut image = fs::read(&path).expect("the stand-in");
        for function in functions {
            let name = [&[0], function.as_bytes(), &[0]].concat();
            let found = |at: &usize| image[*at..].starts_with(&name);
            let places: Vec<_> = (0..image.len() - name.len()).filter(found).collect();
            assert!(!places.is_empty(), "{library} has {function}");
            places.into_iter().for_each(|at| image[at + 1] = b'_');
        }
        fs::remove_file(&path).expect("a link");
        fs::write(path, image).expect("the cut copy");
        self
    }

    /// A machine without one of the libraries, as far as the folder goes.
    ///
    /// # Panics
    /// If there is no such library.
    #[must_use]
    pub fn without(self, library: &str) -> Self {
        fs::remove_file(self.folder.path().join(library)).expect("a library of the stage");
        self
    }

    /// The folder with the libraries. It goes with the stage.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What must be set for a program that runs on the machine.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let folder = self.folder().display();
        let driver = self.driver.map(|cuda| format!("+driver:{cuda}")).unwrap_or_default();
        let boards = format!("{}{driver}", self.boards);
        vec![
            ("LD_LIBRARY_PATH", folder.to_string()),
            ("FAKE_NVML", boards.clone()),
            ("FAKE_CUDA", boards),
            ("FAKE_CUDA_FAULT", self.faults.join(",")),
            ("FAKE_CUBLAS", self.cublas.clone()),
            ("FAKE_LEDGER", format!("{folder}/ledger")),
        ]
    }

    /// A program on the machine.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_remove("CUDA_VISIBLE_DEVICES").envs(self.variables());
        command
    }

    /// One ignored test of the running test binary, on the machine.
    ///
    /// # Panics
    /// If the running program has no path.
    pub fn again(&self, test: &str) -> Command {
        let mut command = self.command(env::current_exe().expect("a test binary has a path"));
        command.args(["--ignored", "--exact", "--nocapture", test]);
        command
    }
}

/// What marks the lines of [`tell`] among those of the test harness.
const MARK: &str = "stage> ";

/// Says something to the test that started this one.
pub fn tell(what: impl std::fmt::Display) {
    // The harness may have begun a line.
    println!("\n{MARK}{what}");
}

/// What a test that was started said, line by line.
pub fn said(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| line.strip_prefix(MARK)).map(str::to_owned).collect()
}

/// A stand-in as cargo built it: beside the running test, or, for an example, in the folder of dependencies.
fn built(name: &str) -> PathBuf {
    let program = env::current_exe().expect("a program has a path");
    let folder = program.parent().expect("and lies in a folder");
    let places =
        [folder.join(name), folder.join("deps").join(name), folder.join("../deps").join(name)];
    let found = places.iter().find(|place| place.exists());
    found
        .unwrap_or_else(|| panic!("{name} is built with the tests, beside {}", program.display()))
        .clone()
}
