//! Keeps the program's memory small, and gives back what only its start needed.

#![expect(
    unsafe_code,
    reason = "the standard library can neither trim its heap nor drop mapped pages"
)]

use std::{fs, ptr};

/// Has all threads share one heap, to be called before there are any: they are few, and each heap of its own keeps what it freed.
pub(crate) fn share_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes no pointers; a value it does not know changes nothing.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        // Small pieces are cached for each thread; a second cache would be emptied with each large piece that is freed.
        libc::mallopt(libc::M_MXFAST, 0);
    };
}

/// Counts rounds of a program's work until what only its start needed can go.
#[derive(Debug, Default)]
pub(crate) struct Startup {
    rounds: u32,
}

impl Startup {
    /// Whether a round is done.
    pub(crate) fn has_passed(&self) -> bool {
        self.rounds > 0
    }

    /// Notes that one more round is done.
    pub(crate) fn passed(&mut self) {
        /// Values that are read once come in the first round, those that take turns in the next ten.
        const ROUNDS: u32 = 12;
        self.rounds = self.rounds.saturating_add(1);
        if self.rounds == ROUNDS {
            give_back();
        }
    }
}

/// Drops the pages of program and libraries that were mapped so far, and free memory of the heap. What is used again comes back from the
/// page cache: after the start that is a third of them.
fn give_back() {
    for (begin, length) in unwritten() {
        // SAFETY: the range is one read-only mapping of a file that holds no page of its own, so that each is read anew from the file when
        // it is next used.
        unsafe {
            libc::madvise(ptr::with_exposed_provenance_mut(begin), length, libc::MADV_DONTNEED)
        };
    }
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes no pointers and may be called at any time from any thread.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// Mappings of files, code or constants, that nothing was written to.
fn unwritten() -> Vec<(usize, usize)> {
    fs::read_to_string("/proc/self/smaps").map(|smaps| mappings(&smaps)).unwrap_or_default()
}

fn mappings(smaps: &str) -> Vec<(usize, usize)> {
    let (mut found, mut head, mut is_written) = (Vec::new(), "", false);
    for (word, rest) in smaps.lines().filter_map(|line| Some((line.split_once(' ')?.0, line))) {
        let is_zero = || rest.ends_with(" 0 kB");
        match word {
            "Anonymous:" => is_written = !is_zero(),
            "Swap:" if !is_written && is_zero() => found.extend(file_range(head)),
            _ if !word.ends_with(':') => head = rest,
            _ => {}
        }
    }
    found
}

/// The range of a mapping, if it is of a file and cannot be written to.
fn file_range(head: &str) -> Option<(usize, usize)> {
    let mut words = head.split_ascii_whitespace();
    let (range, access) = (words.next()?, words.next()?);
    let (begin, end) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    let (begin, end) = (number(begin)?, number(end)?);
    let is_file = words.nth(3).is_some_and(|path| path.starts_with('/'));
    (is_file && matches!(access, "r-xp" | "r--p") && begin < end).then(|| (begin, end - begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(head: &str, anonymous: &str, swap: &str) -> String {
        format!(
            "{head}\nRss:      64 kB\nAnonymous:    {anonymous}\nSwap:      {swap}\nVmFlags: rd ex mr mw me\n"
        )
    }

    #[test]
    fn only_mappings_of_files_that_nobody_wrote_to_are_dropped() {
        let smaps = [
            mapping(
                "55d000000000-55d000800000 r--p 00000000 fe:00 1  /opt/war scope",
                "0 kB",
                "0 kB",
            ),
            mapping(
                "55d000800000-55d001800000 r-xp 00800000 fe:00 1  /opt/war scope",
                "0 kB",
                "0 kB",
            ),
            mapping(
                "55d001800000-55d001900000 r--p 01800000 fe:00 1  /opt/war scope",
                "840 kB",
                "0 kB",
            ),
            mapping(
                "55d001900000-55d001901000 rw-p 01900000 fe:00 1  /opt/war scope",
                "0 kB",
                "0 kB",
            ),
            mapping(
                "7f0000000000-7f0000100000 r-xp 00028000 fe:00 2  /lib/libc.so.6",
                "0 kB",
                "4 kB",
            ),
            mapping(
                "7f0000200000-7f0000300000 r-xp 00010000 fe:00 3  /lib/libm.so.6",
                "0 kB",
                "0 kB",
            ),
            mapping("7f0000400000-7f0000500000 r--p 00000000 00:00 0 ", "0 kB", "0 kB"),
            mapping("7ffc00000000-7ffc00021000 r-xp 00000000 00:00 0  [vdso]", "0 kB", "0 kB"),
        ];
        let want = [
            (0x55d0_0000_0000, 0x80_0000),
            (0x55d0_0080_0000, 0x100_0000),
            (0x7f00_0020_0000, 0x10_0000),
        ];
        assert_eq!(mappings(&smaps.concat()), want);
    }

    #[test]
    fn the_program_lives_on_without_them() {
        assert!(!unwritten().is_empty());
        give_back();
        assert!(!unwritten().is_empty());
    }
}
