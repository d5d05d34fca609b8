//! How often the scheduler took the processor away from this process.
#![expect(unsafe_code, reason = "the standard library does not ask for resource usage")]

/// Involuntary context switches of all threads of this process so far; `None` where the system does not tell.
///
/// All threads and not the caller alone: a team computes on several, and one that waits for the processor holds up the others.
#[cfg(unix)]
pub fn interruptions() -> Option<u64> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a whole `rusage`, which the call fills; all zeroes is a valid one too.
    let usage = unsafe {
        let done = libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) == 0;
        done.then(|| usage.assume_init())?
    };
    u64::try_from(usage.ru_nivcsw).ok()
}

/// Involuntary context switches of all threads of this process so far; `None` where the system does not tell.
#[cfg(not(unix))]
pub fn interruptions() -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The kernel's own record of the threads is the witness; other tests are interrupted meanwhile, so it is asked before and after.
    #[test]
    fn it_counts_what_the_kernel_records() {
        let recorded = || -> u64 {
            let tasks = std::fs::read_dir("/proc/self/task").expect("Linux has it").flatten();
            let status =
                tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
            let count = |text: String| -> Option<u64> {
                let line = text.lines().find(|l| l.starts_with("nonvoluntary_ctxt_switches"))?;
                line.split_ascii_whitespace().nth(1)?.parse().ok()
            };
            status.filter_map(count).sum()
        };
        let before = recorded();
        let told = interruptions().expect("Linux tells");
        // Threads that ended are counted too, so it may be more than the living ones have.
        assert!(told >= before, "{told} against {before}");
        assert!(interruptions().expect("Linux tells") >= told);
    }
}
