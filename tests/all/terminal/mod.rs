//! The dashboard in a real terminal, on the stand-in NVML library.

mod bench;
mod compat;
mod drivers;
mod embedded;
mod ends;
mod gpu_bench;
mod hostile;
mod jobs;
mod keys;
mod looks;
mod mouse;
mod recording;

use crate::fake::OwnNvml;
use crate::frames;
use crate::pty::{Session, Start};

/// A dashboard on a driver of its own.
struct Live {
    nvml: OwnNvml,
    screen: Session,
}

impl Live {
    /// With one scenario of the stand-in, at 120×36, the benchmark off.
    fn start(scenario: &str) -> Self {
        Self::with(OwnNvml::new(scenario), &[], (120, 36))
    }

    /// With more arguments, and another size.
    fn with(nvml: OwnNvml, more: &[&str], size: (u16, u16)) -> Self {
        let args: Vec<&str> =
            ["--no-bench", "--interval", "200ms"].iter().chain(more).copied().collect();
        let library = nvml.library().display().to_string();
        let env = [("WARPSCOPE_LIBRARY", library.as_str())];
        let screen = Session::start(&Start { args: &args, env: &env, size, ..Start::default() });
        Self { nvml, screen }
    }
}

/// What starts a program that leaves no core dump behind, whatever ends it: for `sh`, before the program and its arguments.
const NO_CORE: [&str; 2] = ["-c", "ulimit -c 0; exec \"$0\" \"$@\""];

/// A recording that plays.
fn replay(file: &str, more: &[&str], size: (u16, u16)) -> Session {
    let path = frames::path(file).display().to_string();
    let args: Vec<&str> = ["replay", &path].into_iter().chain(more.iter().copied()).collect();
    Session::start(&Start { args: &args, size, ..Start::default() })
}

/// Ends a dashboard by its key.
fn quit(screen: &mut Session) {
    screen.keys("q");
    assert_eq!(screen.end(), 0);
    screen.assert_clean();
}
