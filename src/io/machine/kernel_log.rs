//! Xid errors in the kernel's log, where it may be read.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use warpscope_probes::text::printable;
use warpscope_probes::xid::{self, Blame};

use crate::engine::explain::{Facts, Origin};

/// Records read; a kernel keeps some thousand.
const RECORDS: usize = 100_000;
/// The longest record: the kernel cuts at less.
const RECORD_BYTES: usize = 16 << 10;
/// An older error no longer explains what fails now.
const RECENT: Duration = Duration::from_secs(3600);

/// One Xid error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Logged {
    /// Its number.
    pub(crate) xid: u64,
    /// PCI address of the GPU, as the driver writes it.
    pub(crate) address: String,
    /// Time since boot.
    pub(crate) at: Duration,
}

impl Logged {
    /// The error in words: `Xid 79: GPU has fallen off the bus, PCI:0000:01:00, 3 min ago`.
    pub(crate) fn words(&self) -> String {
        let seconds = self.age().as_secs();
        let age = match seconds {
            0..120 => format!("{seconds} s"),
            120..7200 => format!("{} min", seconds / 60),
            _ => format!("{} h", seconds / 3600),
        };
        format!("{}, {}, {age} ago", xid::words(self.xid), self.address)
    }

    fn age(&self) -> Duration {
        since_boot().saturating_sub(self.at)
    }

    /// Whether it may still explain what fails now.
    pub(crate) fn is_recent(&self) -> bool {
        self.age() < RECENT
    }

    /// Whether no program causes it.
    pub(crate) fn is_hardware(&self) -> bool {
        xid::blame(self.xid) == Blame::Hardware
    }
}

/// Xid errors since boot as far as the log goes back, the newest last.
///
/// # Errors
///
/// The log is not there, as in most containers, or is root's alone (`kernel.dmesg_restrict`).
pub(crate) fn xids() -> io::Result<Vec<Logged>> {
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).expect("a flag of open");
    let mut log = OpenOptions::new().read(true).custom_flags(nonblocking).open("/dev/kmsg")?;
    let mut record = vec![0; RECORD_BYTES];
    let mut found = Vec::new();
    for _ in 0..RECORDS {
        match log.read(&mut record) {
            Ok(0) => break,
            Ok(length) => found.extend(parse(&String::from_utf8_lossy(&record[..length]))),
            Err(why) if why.kind() == ErrorKind::WouldBlock => break,
            // The record was overwritten before it could be read; the next read goes on behind it.
            Err(why) if matches!(why.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) => {}
            Err(why) => return Err(why),
        }
    }
    Ok(found)
}

/// One record: `4,1234,56789012,-;NVRM: Xid (PCI:0000:01:00): 79, pid=1234, GPU has fallen off the bus.`
fn parse(record: &str) -> Option<Logged> {
    let (head, message) = record.split_once(';')?;
    let rest = message.strip_prefix("NVRM: Xid (")?;
    let (address, rest) = rest.split_once("): ")?;
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    let microseconds = head.split(',').nth(2)?.parse().ok()?;
    Some(Logged {
        xid: digits.parse().ok()?,
        address: printable(address),
        at: Duration::from_micros(microseconds),
    })
}

fn since_boot() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}

/// The newest error of the last hour that no program causes, and whether there is one.
pub(super) fn facts(facts: &mut Facts) {
    let Ok(all) = xids() else { return };
    let newest = all.iter().rev().find(|one| one.is_recent() && one.is_hardware());
    facts.count("hardware_xid", newest.map_or(0.0, |one| one.xid as f64), Origin::Here);
    if let Some(newest) = newest {
        facts.state("logged_xid", &newest.words(), Origin::Here);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_the_driver_are_read_and_others_are_not() {
        let text = "4,2861,7513628917,-;NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n";
        let logged = parse(text).expect("an Xid error");
        assert_eq!((logged.xid, logged.address.as_str()), (79, "PCI:0000:01:00"));
        assert_eq!(logged.at, Duration::from_micros(7_513_628_917));
        assert!(logged.is_hardware());
        assert!(logged.words().starts_with("Xid 79: GPU has fallen off the bus, PCI:0000:01:00, "));
        for other in [
            "6,1,2,-;NVRM: loading NVIDIA UNIX Open Kernel Module",
            "6,1,2,-;a process writes NVRM: Xid (PCI:0000:01:00): 79",
            "6,1,2,-;NVRM: Xid (PCI:0000:01:00)",
            "NVRM: Xid (PCI:0000:01:00): 79",
            "6;NVRM: Xid (x): 79",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
