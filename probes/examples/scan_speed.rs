//! How fast the binary scanner reads: warm, from disk, next to NVIDIA's own tool, and in how much memory.
//!
//! `cargo run --release -p warpscope-probes --example scan_speed -- FILE…`; `CUOBJDUMP` names the tool if it is not on the path.

#![expect(
    unsafe_code,
    reason = "dropping a file from the page cache and asking for the peak of memory need libc"
)]

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use warpscope_probes::inspect::binary::{Scan, scan_file};

/// Warm scans per file; the fastest counts, for both programs.
const ROUNDS: usize = 5;

fn main() {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if files.is_empty() {
        eprintln!("usage: scan_speed FILE…");
        std::process::exit(2);
    }
    println!(
        "{:>8} {:>11} {:>10} {:>10} {:>13} {:>8}  file",
        "MB", "containers", "warm", "cold", "cold MB/s", "times"
    );
    for file in &files {
        row(file);
    }
    println!("peak of resident memory: {:.1} MB", peak() as f64 / 1e6);
}

fn row(file: &Path) {
    drop_cached(file);
    let (cold, scan) = timed(|| scan_file(file));
    let scan = match scan {
        Ok(scan) => scan,
        Err(error) => return println!("{error}"),
    };
    let warm = (0..ROUNDS).map(|_| timed(|| scan_file(file)).0).min().unwrap_or_default();
    let megabytes = scan.bytes as f64 / 1e6;
    let times = cuobjdump(file)
        .map_or("-".to_owned(), |own| format!("{:.0}", own.as_secs_f64() / warm.as_secs_f64()));
    println!(
        "{megabytes:>8.1} {:>11} {:>10} {:>10} {:>13.0} {times:>8}  {}",
        containers(&scan),
        text(warm),
        text(cold),
        megabytes / cold.as_secs_f64(),
        file.display()
    );
    for warning in &scan.warnings {
        println!("{:>8} {warning}", "");
    }
}

fn containers(scan: &Scan) -> u32 {
    let own = |scan: &Scan| {
        [&scan.executable, &scan.relocatable, &scan.data]
            .into_iter()
            .flatten()
            .map(|(_, count)| count)
            .sum::<u32>()
    };
    own(scan) + scan.members.iter().map(own).sum::<u32>()
}

fn text(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), result)
}

/// The fastest of two runs of NVIDIA's tool, its output thrown away; nothing if it is not there or refuses the file.
fn cuobjdump(file: &Path) -> Option<Duration> {
    let tool = std::env::var_os("CUOBJDUMP").unwrap_or_else(|| OsString::from("cuobjdump"));
    let run = || {
        let mut command = Command::new(&tool);
        command.arg("--list-elf").arg(file).stdout(Stdio::null()).stderr(Stdio::null());
        let (time, status) = timed(|| command.status());
        status.ok()?.success().then_some(time)
    };
    (0..2).filter_map(|_| run()).min()
}

/// Has the kernel forget the file's pages.
fn drop_cached(file: &Path) {
    let Ok(file) = File::open(file) else { return };
    // Pages not yet written are not dropped.
    let _ = file.sync_all();
    // SAFETY: the descriptor is open for the length of the call, which touches no memory of ours.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
}

/// Most memory this process had resident, in bytes.
fn peak() -> u64 {
    // SAFETY: zeros are a valid rusage, and it is ours to be written to.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: see above.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024
}
