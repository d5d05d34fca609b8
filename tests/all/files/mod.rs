//! Files that are named: hostile ones are refused, damaged journals are read, and what is written is written safely.

mod hostile;
mod journals;
mod names;
mod written;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder that is also the home of the program.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("writes");
        path
    }

    /// A shell that runs the program, as `"$@"`, after something else.
    fn shell(&self, before: &str) -> Command {
        let mut command = Command::new("sh");
        let script = format!("{before}; exec \"$@\"");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_warpscope")]);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for (name, folder) in [
            ("HOME", "home"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
        ] {
            command.env(name, self.path(folder));
        }
        command.env("XDG_RUNTIME_DIR", self.0.path()).env("LANG", "C.UTF-8");
        command.stdin(std::process::Stdio::null());
        command
    }

    /// A search of two candidates that takes no time.
    fn spec(&self) -> PathBuf {
        self.file("sum.sh", include_str!("../../../examples/tune/sum.sh"));
        let spec = include_str!("../../../examples/tune/sum.toml");
        let short =
            [("100000", "100"), ("[1, 2, 3, 4, 8]", "[1, 2]"), ("samples = 20", "samples = 4")];
        let spec =
            short.iter().fold(spec.to_owned(), |spec, (long, short)| spec.replace(long, short));
        self.file("spec.toml", spec)
    }

    fn run<I: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = I>) -> Output {
        self.shell(":").args(words).output().expect("starts")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("starts").success());
}

/// A journal of one run with ten samples of each kernel.
fn journal(kernels: &[&str]) -> String {
    let run = r#"{"type":"run","schema":1,"at_ms":1000,"command":["tune"],"regime":"pulse"}"#;
    let point = |name: &&str| {
        let times = "10.5,11,10,12,11,10,11,10,11,10";
        format!(
            "{{\"type\":\"point\",\"at_ms\":2000,\"name\":\"{name}\",\"shape\":{{\"m\":\"16\"}},\"t_ns\":[{times}]}}"
        )
    };
    let lines: Vec<String> = kernels.iter().map(point).collect();
    format!("{run}\n{}\n{{\"type\":\"end\",\"at_ms\":3000,\"samples\":10}}\n", lines.join("\n"))
}

/// A recording.
fn frames() -> String {
    std::fs::read_to_string(crate::frames::path("synthetic-t4.jsonl")).expect("is there")
}
