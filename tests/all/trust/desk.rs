//! A machine on which somebody planted libraries.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use stage::Stage;
use tempfile::TempDir;

pub(super) const PROGRAM: &str = env!("CARGO_BIN_EXE_warpscope");
pub(super) const SITE: &str = "lib/python3.12/site-packages";
pub(super) const CUBLAS: &str = "lib/python3.12/site-packages/nvidia/cublas/lib/libcublas.so.12";
pub(super) const NOBODY: u32 = 65_534;

/// Code that runs when it is loaded. It has none of the functions of the libraries it is named after.
const SOURCE: &str = r#"
#include <stdio.h>
__attribute__((constructor)) static void mark(void) {
    FILE *file = fopen(MARK, "w");
    if (file) fclose(file);
}
"#;

/// A folder with an environment that has cuBLAS, and a project two folders below, in which commands run.
pub(super) struct Desk {
    folder: TempDir,
    /// Where commands find driver and NVML.
    pub(super) stage: Stage,
}

impl Desk {
    /// Nothing where there is no compiler to build the library with, or where temporary folders are not the user's own.
    pub(super) fn new() -> Option<Self> {
        let folder = TempDir::new().expect("a folder");
        let desk = Self { folder, stage: Stage::new("t4").without(stage::CUBLAS) };
        for path in ["project/deep", "home", ".venv", "marks"] {
            fs::create_dir_all(desk.at(path)).expect("a folder");
        }
        fs::write(desk.at(".venv/pyvenv.cfg"), "home = /usr/bin\nversion = 3.12.1\n")
            .expect("writes");
        let info = format!(".venv/{SITE}/nvidia_cublas_cu12-12.8.4.1.dist-info");
        fs::create_dir_all(desk.at(&info)).expect("a folder");
        let metadata = "Metadata-Version: 2.1\nName: nvidia-cublas-cu12\nVersion: 12.8.4.1\n";
        fs::write(desk.at(&format!("{info}/METADATA")), metadata).expect("writes");
        let record = "nvidia/cublas/lib/libcublas.so.12,,\n";
        fs::write(desk.at(&format!("{info}/RECORD")), record).expect("writes");
        if !desk.plant(&format!(".venv/{CUBLAS}")) {
            crate::skip::skipped(format_args!("there is no cc to build a library with"));
            return None;
        }
        for path in ["", ".venv", ".venv/lib"] {
            desk.mode(path, 0o755);
        }
        desk.mode("marks", 0o777);
        if let Err(why) = warpscope_probes::trust::check(&desk.cublas()) {
            crate::skip::skipped(format_args!("temporary folders are not trusted here: {why}"));
            return None;
        }
        Some(desk)
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        let folder = self.folder.path().canonicalize().expect("is there");
        if path.is_empty() { folder } else { folder.join(path) }
    }

    /// A library that leaves the mark.
    pub(super) fn plant(&self, path: &str) -> bool {
        let (path, source) = (self.at(path), self.at("planted.c"));
        fs::create_dir_all(path.parent().expect("has one")).expect("a folder");
        fs::write(&source, SOURCE).expect("writes");
        let mark = format!("-DMARK={:?}", self.at("marks/mark").display().to_string());
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC"]).arg(mark).arg("-o").arg(&path).arg(&source);
        compiler.status().is_ok_and(|status| status.success())
    }

    pub(super) fn cublas(&self) -> PathBuf {
        self.at(".venv").join(CUBLAS)
    }

    pub(super) fn mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.at(path), Permissions::from_mode(mode)).expect("own");
    }

    /// A command on the stage, below the environment.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.stage.command(PROGRAM);
        for name in ["VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "WARPSCOPE_CONFIG"] {
            command.env_remove(name);
        }
        let home = self.at("home");
        command.env("HOME", &home).env("XDG_CACHE_HOME", &home).env("XDG_STATE_HOME", home);
        command.current_dir(self.at("project/deep")).args(arguments);
        command
    }

    /// What `probe` says and ends with, and whether the planted library ran.
    pub(super) fn probe(&self, more: &[&str]) -> (String, Option<i32>, bool) {
        self.run(self.command(&["probe", "--only", "cublas.hgemm"]).args(more))
    }

    pub(super) fn run(&self, command: &mut Command) -> (String, Option<i32>, bool) {
        let output = command.output().expect("starts");
        let mark = self.at("marks/mark");
        let ran = mark.exists();
        if ran {
            fs::remove_file(mark).expect("own");
        }
        (said(&output), output.status.code(), ran)
    }

    /// The planted library is named with the component that is in the way, it does not run, and the command ends as if there were none.
    #[track_caller]
    pub(super) fn left_alone(&self, component: &str, why: &str) {
        let (said, code, ran) = self.probe(&[]);
        assert!(!ran, "{said}");
        assert_eq!(code, Some(0), "{said}");
        let line = said
            .lines()
            .find(|line| line.contains("not loaded: "))
            .unwrap_or_else(|| panic!("{said}"));
        assert!(line.contains(&self.cublas().display().to_string()), "{line}");
        assert!(line.contains(&format!(" {} {why}", self.at(component).display())), "{line}");
        assert!(said.contains("name it with --cublas PATH"), "{said}");
    }
}

pub(super) fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stderr) + &text(&output.stdout)
}

pub(super) fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        crate::skip::skipped(format_args!("only root can give files to another user"));
    }
    root
}

pub(super) fn give(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).expect("root may");
}
