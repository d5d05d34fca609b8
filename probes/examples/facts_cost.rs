//! Prints what reading the fact files and asking the host cost:
//! `cargo run --release -p warpscope-probes --example facts_cost`.

use std::io;
use std::os::unix::fs::symlink;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use warpscope_probes::catalogue::{Catalogue, FILES};
use warpscope_probes::host_provider::{HostOptions, HostProvider};
use warpscope_probes::process::GpuProcess;
use warpscope_probes::provider::{Context, Provider};

const PROCESSES: usize = 10;
const POLLS: u32 = 40;

fn main() -> io::Result<()> {
    facts();
    let mut children = (0..PROCESSES)
        .map(|_| Command::new("sleep").arg("600").spawn())
        .collect::<io::Result<Vec<Child>>>()?;
    let pids: Vec<u32> = children.iter().map(Child::id).collect();
    let measured = host(&pids);
    for child in &mut children {
        child.kill()?;
        child.wait()?;
    }
    measured
}

fn facts() {
    let bytes: usize = FILES.iter().map(|file| file.1.len()).sum();
    let before = resident_kb();
    let start = Instant::now();
    let parts = Catalogue::load().parts().len();
    let first = start.elapsed();
    let kept = resident_kb().saturating_sub(before);
    println!(
        "catalogue: {parts} parts, {bytes} bytes, first parse {first:?}, {kept} kB more resident"
    );
    println!("catalogue: mean parse {:?}", mean(|| drop(Catalogue::parse(FILES))));
    println!("find(\"T4\"): {:?}", mean(|| drop(Catalogue::load().find("T4"))));
    println!("find(miss): {:?}", mean(|| drop(Catalogue::load().find("RTX 3095"))));
}

/// The provider on this machine's files, told that its pids are the host's, so that it does all the work.
fn host(pids: &[u32]) -> io::Result<()> {
    let root = tempfile::tempdir()?;
    let own = root.path().join("self");
    std::fs::create_dir_all(own.join("ns"))?;
    symlink("pid:[4026531836]", own.join("ns/pid"))?;
    for name in ["cgroup", "mountinfo"] {
        symlink(format!("/proc/self/{name}"), own.join(name))?;
    }
    for name in pids.iter().map(u32::to_string).chain(["cpuinfo".to_owned()]) {
        symlink(format!("/proc/{name}"), root.path().join(name))?;
    }
    let options = HostOptions { proc_root: root.path().to_owned(), ..HostOptions::default() };
    let mut provider = HostProvider::new(options);
    let gpu_processes = pids.iter().map(|pid| GpuProcess { pid: *pid, ..Default::default() });
    let gpu_processes = gpu_processes.collect();
    let context =
        Context { since_last: Duration::from_secs(1), gpu_processes, ..Context::default() };
    let before = resident_kb();
    let start = Instant::now();
    provider.poll(&context);
    println!("host: first poll {:?}", start.elapsed());
    // As far apart as sysinfo wants CPU use to be asked, else it would answer from memory.
    let spent = cpu(|| {
        for _ in 0..POLLS {
            std::thread::sleep(Duration::from_millis(250));
            provider.poll(&context);
        }
    });
    println!("host: mean poll {:?} CPU", spent / POLLS);
    println!("host: {} kB more resident", resident_kb().saturating_sub(before));
    Ok(())
}

/// CPU time of all threads of this process, from its scheduler statistics.
fn cpu_now() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let times = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_ascii_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(times.sum())
}

fn cpu(run: impl FnOnce()) -> Duration {
    let start = cpu_now();
    run();
    cpu_now().saturating_sub(start)
}

/// Mean CPU time of many runs; the scheduler's clock is too coarse for one.
fn mean(mut run: impl FnMut()) -> Duration {
    const RUNS: u32 = 400;
    cpu(|| (0..RUNS).for_each(|_| run())) / RUNS
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let row = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    row.and_then(|row| row.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}
