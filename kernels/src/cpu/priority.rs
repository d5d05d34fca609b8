//! Scheduling priority of the calling thread and of those it starts later.
#![expect(unsafe_code, reason = "the standard library has no call for niceness")]

/// The niceness in force; `None` where the system does not tell.
#[cfg(unix)]
pub fn nice() -> Option<i32> {
    // SAFETY: it takes no pointer; 0 names the caller.
    let in_force = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    (-20..=19).contains(&in_force).then_some(in_force)
}

/// Asks for a niceness and returns the one in force; `None` where the system does not tell.
#[cfg(unix)]
pub fn set_nice(wanted: i32) -> Option<i32> {
    // SAFETY: it takes no pointer; 0 names the caller.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, wanted) };
    nice()
}

/// The niceness in force; `None` where the system does not tell.
#[cfg(not(unix))]
pub fn nice() -> Option<i32> {
    None
}

/// Asks for a niceness and returns the one in force; `None` where the system does not tell.
#[cfg(not(unix))]
pub fn set_nice(_wanted: i32) -> Option<i32> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The kernel's own record of the thread is the witness. A thread of its own keeps the other tests at their priority.
    #[test]
    fn the_thread_becomes_nicer() {
        let told = std::thread::spawn(|| {
            let told = set_nice(19);
            let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("Linux has it");
            let behind_name = stat.rsplit_once(')').expect("stat has a name").1;
            let nice = behind_name.split_ascii_whitespace().nth(16).map(str::to_owned);
            (told, super::nice(), nice)
        });
        let (told, read, recorded) = told.join().expect("no panic");
        assert_eq!((told, read), (Some(19), Some(19)));
        assert_eq!(recorded.as_deref(), Some("19"));
    }
}
