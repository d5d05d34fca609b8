//! Xid errors: what the NVIDIA driver reports of a GPU, by number.
//!
//! Numbers and meanings: NVIDIA's catalogue <https://docs.nvidia.com/deploy/xid-errors/>, as tables taken from it list them, read
//! 2026-11-23. Which of them a program causes on a healthy GPU: `internal/rm/health.go` of NVIDIA's k8s-device-plugin (its list of
//! application errors), and 137, which the catalogue asks to ignore and to look for in the application.

use serde::{Deserialize, Serialize};

/// How often a GPU reported one Xid error while it was watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct XidCount {
    /// Number of the error.
    pub xid: u64,
    /// Reports since watching began.
    pub count: u64,
}

/// Who is to blame for an error, as far as its number tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// A program, on a GPU that is healthy.
    Program,
    /// The GPU, its slot, its power or its driver.
    Hardware,
}

use Blame::{Hardware, Program};

const XIDS: &[(u64, Blame, &str)] = &[
    (8, Hardware, "GPU stopped processing"),
    (13, Program, "exception in a kernel"),
    (16, Hardware, "display engine hung"),
    (31, Program, "memory page fault in a kernel"),
    (32, Hardware, "corrupted push buffer"),
    (38, Hardware, "driver firmware error"),
    (43, Program, "kernel stopped after a fault"),
    (45, Program, "work removed after an earlier error or a kill"),
    (48, Hardware, "uncorrectable memory error (double-bit ECC)"),
    (54, Hardware, "auxiliary power not connected"),
    (61, Hardware, "internal microcontroller warning"),
    (62, Hardware, "internal microcontroller halted"),
    (63, Hardware, "memory row remapped or page retired"),
    (64, Hardware, "memory row could not be remapped or page retired"),
    (68, Program, "video decoder exception"),
    (69, Hardware, "graphics engine class error"),
    (74, Hardware, "NVLink error"),
    (79, Hardware, "GPU has fallen off the bus"),
    (92, Hardware, "high rate of corrected memory errors"),
    (94, Hardware, "contained memory error"),
    (95, Hardware, "uncontained memory error"),
    (109, Program, "context switch timed out"),
    (119, Hardware, "GPU firmware (GSP) did not answer"),
    (120, Hardware, "GPU firmware (GSP) failed"),
    (121, Hardware, "chip-to-chip link error"),
    (137, Program, "access over NVLink that was not allowed"),
    (140, Hardware, "unrecovered memory error"),
    (143, Hardware, "GPU initialisation failed"),
    (154, Hardware, "GPU needs a reset or a reboot"),
];

/// What a number means; `None` where it is not in the table.
pub fn meaning(xid: u64) -> Option<&'static str> {
    XIDS.iter().find(|row| row.0 == xid).map(|row| row.2)
}

/// Who is to blame. A number that is not in the table counts against the hardware.
pub fn blame(xid: u64) -> Blame {
    XIDS.iter().find(|row| row.0 == xid).map_or(Hardware, |row| row.1)
}

/// The number with its meaning: `Xid 79: GPU has fallen off the bus`.
pub fn words(xid: u64) -> String {
    meaning(xid).map_or_else(|| format!("Xid {xid}"), |meaning| format!("Xid {xid}: {meaning}"))
}

/// Notes one more report; the newest error comes last.
pub fn note(counts: &mut Vec<XidCount>, xid: u64) {
    /// A driver that invents numbers fills no more.
    const MOST: usize = 32;
    let known = counts.iter().position(|one| one.xid == xid);
    let count = known.map_or(0, |at| counts.remove(at).count);
    counts.push(XidCount { xid, count: count + 1 });
    counts.drain(..counts.len().saturating_sub(MOST));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_once_and_in_order() {
        assert!(XIDS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn application_errors_are_those_of_nvidias_device_plugin_and_137() {
        let programs = (0..200).filter(|xid| blame(*xid) == Program);
        assert_eq!(programs.collect::<Vec<_>>(), [13, 31, 43, 45, 68, 109, 137]);
    }

    #[test]
    fn repeats_are_counted_and_the_newest_is_last() {
        let mut counts = Vec::new();
        [31, 79, 31].into_iter().for_each(|xid| note(&mut counts, xid));
        assert_eq!(counts, [XidCount { xid: 79, count: 1 }, XidCount { xid: 31, count: 2 }]);
        (0..1000).for_each(|xid| note(&mut counts, xid));
        assert_eq!(counts.len(), 32);
    }
}
