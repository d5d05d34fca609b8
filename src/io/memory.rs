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

/// Drops the pages of the program's own file that were mapped so far, and free memory of the heap. What is used again comes back from the
/// page cache: after the start that is a third of them.
fn give_back() {
    for (begin, length) in code() {
        // SAFETY: the range is one read-only mapping of the program's file that was never written to, so that each page is read anew
        // from the file when it is next used.
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

/// Mappings of the program's file that are code or constants. What the loader relocated comes behind the code and is left alone.
fn code() -> Vec<(usize, usize)> {
    let (Ok(maps), Ok(program)) =
        (fs::read_to_string("/proc/self/maps"), fs::read_link("/proc/self/exe"))
    else {
        return Vec::new();
    };
    mappings(&maps, &program.to_string_lossy())
}

fn mappings(maps: &str, program: &str) -> Vec<(usize, usize)> {
    let of_program = maps.lines().filter_map(|line| {
        let mut words = line.splitn(6, ' ');
        let (range, access, offset) = (words.next()?, words.next()?, words.next()?);
        let path = words.nth(2)?.trim_start();
        let (begin, end) = range.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        let (begin, end) = (number(begin)?, number(end)?);
        let is_fixed = access == "r-xp" || (access == "r--p" && number(offset)? == 0);
        (path == program && is_fixed && begin < end).then_some((begin, end - begin))
    });
    of_program.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d000000000-55d000800000 r--p 00000000 fe:00 123                        /opt/war scope
55d000800000-55d001800000 r-xp 00800000 fe:00 123                        /opt/war scope
55d001800000-55d001900000 r--p 01800000 fe:00 123                        /opt/war scope
55d001900000-55d001901000 rw-p 01900000 fe:00 123                        /opt/war scope
7f0000000000-7f0000100000 r-xp 00028000 fe:00 124                        /lib/libc.so.6
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]
";

    #[test]
    fn only_code_and_constants_of_the_program_are_dropped() {
        let want = [(0x55d0_0000_0000, 0x80_0000), (0x55d0_0080_0000, 0x100_0000)];
        assert_eq!(mappings(MAPS, "/opt/war scope"), want);
        assert_eq!(mappings(MAPS, "/opt/other"), []);
    }

    #[test]
    fn the_program_lives_on_without_them() {
        let before = code();
        assert!(!before.is_empty());
        give_back();
        assert_eq!(code(), before);
    }
}
