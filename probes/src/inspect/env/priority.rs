//! The lowest I/O priority for the thread that sweeps, so that nobody else's work waits for it.
//!
//! The only file here with a raw call: neither std nor the libraries at hand offer `ioprio_set`.

#![expect(unsafe_code, reason = "ioprio_set has no wrapper in libc")]

use std::io;

/// Idle: served only when nobody else wants the disk (`ioprio_set(2)`).
#[cfg(any(target_os = "linux", target_os = "android"))]
const IDLE: libc::c_long = 3 << 13;

/// Puts the calling thread behind everybody else who wants the disk. What it starts later inherits this.
///
/// # Errors
/// When the kernel refuses, or knows no such call; the sweep then runs as any other program.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn yield_disk() -> io::Result<()> {
    const WHO_PROCESS: libc::c_long = 1;
    const THIS_THREAD: libc::c_long = 0;
    // SAFETY: the call takes three plain numbers and touches no memory of ours.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, THIS_THREAD, IDLE) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// There is no such thing here.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn yield_disk() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The kernel's own answer is the truth.
    #[test]
    fn the_thread_ends_up_idle() {
        let asked = std::thread::spawn(|| {
            yield_disk().map(|()| {
                // SAFETY: as above.
                unsafe { libc::syscall(libc::SYS_ioprio_get, 1_i64, 0_i64) }
            })
        });
        match asked.join().expect("does not panic") {
            Ok(priority) => assert_eq!(priority, IDLE),
            Err(error) => println!("SKIPPED: the kernel refuses: {error}"),
        }
    }
}
