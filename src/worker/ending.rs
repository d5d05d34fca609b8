//! How a worker ended, in a sentence: a fault in it is evidence about the device or the driver, and never shared.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Code a child ends with when its context was lost: it said why before.
pub const CONTEXT_LOST: u8 = 70;
/// Code of a panic.
const PANIC: i32 = 101;

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ending")]
pub enum Ending {
    /// By itself.
    Exit {
        /// Code.
        code: i32,
    },
    /// By a signal that was not ours.
    Signal {
        /// Its number.
        signal: i32,
    },
    /// It said nothing for so long and was killed.
    Silent {
        /// How long, milliseconds.
        after_ms: u64,
    },
    /// It worked longer than it may and was killed.
    OverTime {
        /// How long it may, milliseconds.
        limit_ms: u64,
    },
    /// What it said was not understood, and it was killed.
    Garbled {
        /// What was wrong with it.
        why: String,
    },
    /// It never was.
    NotStarted {
        /// Why not.
        why: String,
    },
}

/// Signals by number: Linux, `signal(7)`, on x86 and ARM. What each says of a child that calls into a driver.
const SIGNALS: &[(i32, &str, &str)] = &[
    (
        4,
        "SIGILL",
        "the driver or a library ran into an instruction this CPU does not have, or gave up that way",
    ),
    (5, "SIGTRAP", "the driver or a library gave up that way"),
    (6, "SIGABRT", "the driver or a library gave up"),
    (7, "SIGBUS", "memory that was mapped is gone: the device may have fallen off the bus"),
    (8, "SIGFPE", "the driver or a library divided by zero"),
    (9, "SIGKILL", "something killed it: the system when memory ran out, or a person"),
    (11, "SIGSEGV", "the driver or a library touched memory that is not there"),
    (15, "SIGTERM", "something told it to end"),
    (24, "SIGXCPU", "it used up the CPU time it was allowed"),
    (31, "SIGSYS", "a sandbox forbids a system call the driver makes"),
];

impl Ending {
    /// What happened, as half a sentence; `said` is the last the child wrote on stderr.
    pub fn what(&self, said: Option<&str>) -> String {
        let said = said.map(|said| format!(" ({said})")).unwrap_or_default();
        match self {
            Self::Exit { code: 0 } => "the process ended before it was finished".to_owned(),
            Self::Exit { code } if *code == i32::from(CONTEXT_LOST) => {
                "the device's context was lost".to_owned()
            }
            Self::Exit { code: PANIC } => format!("warpscope's own code failed{said}"),
            Self::Exit { code } => format!("the process ended with code {code}{said}"),
            Self::Signal { signal } => signal_text(*signal, &said),
            Self::Silent { after_ms } => format!(
                "nothing came back for {}: the device or the driver hangs; the process was killed",
                time(*after_ms)
            ),
            Self::OverTime { limit_ms } => {
                format!("it took longer than {} and was killed", time(*limit_ms))
            }
            Self::Garbled { why } => format!("the process is not understood: {why}"),
            Self::NotStarted { why } => format!("the process did not start: {why}"),
        }
    }
}

fn signal_text(signal: i32, said: &str) -> String {
    match SIGNALS.iter().find(|row| row.0 == signal) {
        Some((_, name, meaning)) => format!("the process died of {name}: {meaning}{said}"),
        None => format!("the process died of signal {signal}{said}"),
    }
}

/// The name of a signal by its number, such as `SIGSEGV`; `signal 40` for one without.
pub fn signal_name(signal: i32) -> String {
    let row = SIGNALS.iter().find(|row| row.0 == signal);
    row.map_or_else(|| format!("signal {signal}"), |row| row.1.to_owned())
}

fn time(milliseconds: u64) -> String {
    humantime::format_duration(Duration::from_millis(milliseconds)).to_string()
}

/// What is worth telling of a child's stderr: of a panic its message, else the last line.
pub(super) fn telling(stderr: &str) -> Option<String> {
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let panic = lines.iter().position(|line| line.contains("panicked at"));
    let line = panic.and_then(|at| lines.get(at + 1)).or(lines.last())?;
    let clean: String = line.chars().filter(|c| !c.is_control()).take(200).collect();
    Some(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ending_has_a_sentence_of_its_own() {
        let mut endings: Vec<Ending> =
            SIGNALS.iter().map(|row| Ending::Signal { signal: row.0 }).collect();
        endings.extend([0, 2, PANIC, CONTEXT_LOST.into()].map(|code| Ending::Exit { code }));
        endings.extend([
            Ending::Signal { signal: 40 },
            Ending::Silent { after_ms: 60_000 },
            Ending::OverTime { limit_ms: 1_000 },
            Ending::Garbled { why: "line 3".to_owned() },
            Ending::NotStarted { why: "no such file".to_owned() },
        ]);
        let told: std::collections::BTreeSet<_> = endings.iter().map(|e| e.what(None)).collect();
        assert_eq!(told.len(), endings.len());
        assert!(told.iter().all(|text| text.len() > 15 && !text.ends_with('.')));
    }

    #[test]
    fn signals_are_those_of_this_system() {
        for (name, number) in [
            ("SIGILL", libc::SIGILL),
            ("SIGABRT", libc::SIGABRT),
            ("SIGFPE", libc::SIGFPE),
            ("SIGKILL", libc::SIGKILL),
            ("SIGSEGV", libc::SIGSEGV),
            ("SIGTERM", libc::SIGTERM),
        ] {
            assert!(SIGNALS.iter().any(|row| row.0 == number && row.1 == name), "{name}");
        }
        assert!(SIGNALS.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn a_panic_is_told_by_its_message() {
        let stderr = "thread 'main' panicked at src/x.rs:1:2:\nindex out of bounds\nnote: run with";
        assert_eq!(telling(stderr).as_deref(), Some("index out of bounds"));
        assert_eq!(telling("one\ntwo \u{1b}[31m\n\n").as_deref(), Some("two [31m"));
        assert_eq!(telling(" \n"), None);
        let text = Ending::Exit { code: 101 }.what(Some("index out of bounds"));
        assert_eq!(text, "warpscope's own code failed (index out of bounds)");
    }
}
