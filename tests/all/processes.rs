//! Processes of a program under test, as `/proc` shows them.

use std::fs;
use std::time::Instant;

use crate::pty::PATIENCE;

/// A process.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    /// Its number.
    pub(crate) pid: u32,
    /// `R`, `S`, `T` where it is stopped, `Z` where it has ended.
    pub(crate) state: char,
    /// Its arguments.
    pub(crate) args: Vec<String>,
    parent: u32,
    /// Ticks from the start of the system to its own: with the number it is unique.
    started: u64,
}

impl Process {
    /// A process by its number; none that has ended.
    pub(crate) fn read(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let args = line.split(|byte| *byte == 0);
        let state = fields.first()?.chars().next()?;
        (state != 'Z').then_some(Self {
            pid,
            state,
            args: args.map(|arg| String::from_utf8_lossy(arg).into_owned()).collect(),
            parent: fields.get(1)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }

    /// The children of a process.
    pub(crate) fn children(parent: u32) -> Vec<Self> {
        let all = fs::read_dir("/proc").expect("is there").flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(Self::read).filter(|process| process.parent == parent).collect()
    }

    /// The same process now, unless it has ended.
    pub(crate) fn now(&self) -> Option<Self> {
        Self::read(self.pid).filter(|now| now.started == self.started)
    }

    /// Whether this is among its arguments.
    pub(crate) fn has(&self, arg: &str) -> bool {
        self.args.iter().any(|own| own == arg)
    }
}

/// Waits for something that no screen shows.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE * 2, "not in time: {what}");
        std::thread::yield_now();
    }
}
