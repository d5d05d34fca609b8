//! The host and what it knows of the processes on the GPUs, read straight from `/proc` and `/sys`.
//!
//! sysinfo was measured and rejected: asking it for CPU, memory and ten processes took 0.40 ms of CPU
//! a time, this takes 0.14 ms (`cargo run --release -p warpscope-probes --example facts_cost`). What cannot
//! change is asked once, and of processes only the pids NVML named are looked at.
//! On systems without `/proc` every reading is unsupported.
//!
//! NVML gives pids of the host. In a nested pid namespace an equal number may be another process, so
//! there a process is named only when it holds the CUDA device itself; otherwise it is said to live
//! in another namespace. Better no name than somebody else's.

mod battery;
mod container;
mod cpu;
mod files;
mod memory;
mod namespace;
mod process;
mod stat;
#[cfg(all(test, unix))]
mod tests;
mod users;

use std::path::{Path, PathBuf};

use crate::frame::{Notice, Severity};
use crate::host::{CpuFeature, Host, Machine};
use crate::process::{Process, Visibility};
use crate::provider::{Context, HostSection, Provider, Section};
use crate::reading::Reading;
use crate::text::printable;
use crate::time::Timestamp;
use crate::units::{Bytes, Percent, Seconds};

use battery::Battery;
use cpu::Times;
use memory::{Group, Memory};
use namespace::View;
use process::{Processes, Units};
use stat::Stat;

/// Enough for the `cpu` rows of some 700 CPUs.
const STAT_BYTES: usize = 64 << 10;

/// Where to look; tests look elsewhere.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// Mount point of the process file system.
    pub proc_root: PathBuf,
    /// Mount point of sysfs.
    pub sys_root: PathBuf,
    /// Root of everything else: `/etc/passwd`, marks of container engines.
    pub root: PathBuf,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self { proc_root: "/proc".into(), sys_root: "/sys".into(), root: "/".into() }
    }
}

/// What does not change while the machine runs, asked at the first poll.
struct Fixed {
    machine: Machine,
    features: Vec<CpuFeature>,
    group: Option<Group>,
    processes: Processes,
}

/// Asks the host for itself and for the processes on the GPUs.
pub struct HostProvider {
    options: HostOptions,
    battery: Battery,
    fixed: Option<Fixed>,
    times: Times,
}

/// When a process started, as of now; `None` once it is gone. Together with the pid this says which process
/// it is, but only to a second or two: the kernel derives the moment of boot from a clock that is adjusted.
pub fn started_at(proc_root: &Path, pid: u32) -> Option<Timestamp> {
    let stat = files::bytes(&proc_root.join(format!("{pid}/stat")), 4096);
    units(proc_root).started(&Stat::parse(stat.value()?)?)
}

impl HostProvider {
    /// A provider that has asked nothing yet.
    pub fn new(options: HostOptions) -> Self {
        let battery = Battery::new(&options.sys_root);
        Self { options, battery, fixed: None, times: Times::default() }
    }

    /// Use since the last poll; at the first one there is nothing to compare with.
    fn cpu_use(&mut self, proc: &Path) -> (Reading<Percent>, Vec<Percent>) {
        let stat = match files::text(&proc.join("stat"), STAT_BYTES) {
            Reading::Value(stat) => stat,
            absent => return (absent.map(|_| Percent(0.0)), Vec::new()),
        };
        let now = Times::parse(&stat);
        let shares = now.since(&self.times);
        self.times = now;
        match shares {
            Some((all, each)) => (all.into(), each),
            None => (Reading::Late(None), Vec::new()),
        }
    }
}

impl Provider for HostProvider {
    fn name(&self) -> &'static str {
        "host"
    }

    fn poll(&mut self, context: &Context) -> Section {
        let proc = self.options.proc_root.clone();
        let fixed = self.fixed.get_or_insert_with(|| Fixed::ask(&self.options));
        let processes = fixed.processes.ask(&context.gpu_processes, context.since_last);
        let cpu_features = fixed.features.clone();
        let mut machine = fixed.machine.clone();
        let meminfo = files::text(&proc.join("meminfo"), 8192);
        put_memory(&mut machine, &meminfo, fixed.group.as_ref());
        put_load(&mut machine, &proc);
        machine.on_battery = self.battery.on_battery(context.since_last);
        let (cpu_pct, cpu_each_pct) = self.cpu_use(&proc);
        machine.cpu_pct = cpu_pct;
        let host = Host { machine, cpu_each_pct, cpu_features };
        let notices = notices(&processes);
        Section::Host(Box::new(HostSection { host, processes, notices }))
    }
}

impl Fixed {
    fn ask(options: &HostOptions) -> Self {
        let proc = &options.proc_root;
        let read = |file: &str, limit: usize| files::text(&proc.join(file), limit);
        let line = |file: &str| read(file, 1024).map(|text| printable(text.trim()));
        let cpuinfo = read("cpuinfo", 16 << 10);
        let cgroup = read("self/cgroup", 4096).value().cloned().unwrap_or_default();
        let machine = Machine {
            hostname: line("sys/kernel/hostname"),
            kernel: line("sys/kernel/osrelease").map(|release| format!("Linux {release}")),
            cpu_name: known(cpuinfo.value().and_then(|text| cpu::model(text)).map(printable)),
            cpu_cores: known(read("self/status", 16 << 10).value().and_then(|text| allowed(text))),
            container: known(container::own(&options.root, &cgroup).map(|kind| printable(&kind))),
            ..Machine::default()
        };
        let features = cpuinfo.value().map(|text| cpu::features(text)).unwrap_or_default();
        let view = View::of(proc);
        let processes = Processes::new(proc, &options.root, view, units(proc));
        let group = Group::tightest(&options.sys_root, &cgroup);
        Self { machine, features, group, processes }
    }
}

fn known<T>(value: Option<T>) -> Reading<T> {
    value.map_or(Reading::Unsupported, Reading::Value)
}

/// CPUs the scheduler lets this process run on, from its status.
fn allowed(status: &str) -> Option<u32> {
    cpu::count(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?)
}

/// How this kernel counts. Tick and page size stand in the auxiliary vector, which spares an
/// unsafe call to sysconf; where it cannot be read, 100 Hz and 4 KiB hold on nearly every Linux.
fn units(proc: &Path) -> Units {
    const PAGE_SIZE: usize = 6;
    const CLOCK_TICK: usize = 17;
    const WORD: usize = size_of::<usize>();
    let vector = files::bytes(&proc.join("self/auxv"), 4096);
    let entry = |wanted: usize| {
        let mut pairs = vector.value()?.chunks_exact(2 * WORD).filter_map(|pair| {
            let (key, value) = pair.split_first_chunk::<WORD>()?;
            Some((usize::from_ne_bytes(*key), usize::from_ne_bytes(value.try_into().ok()?)))
        });
        let value = pairs.find(|(key, _)| *key == wanted)?.1;
        u64::try_from(value).ok().filter(|value| *value > 0)
    };
    let stat = files::text(&proc.join("stat"), 1 << 20);
    let boot = |stat: &String| {
        stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
    };
    Units {
        ticks_per_second: entry(CLOCK_TICK).unwrap_or(100),
        page_bytes: entry(PAGE_SIZE).unwrap_or(4096),
        boot_s: stat.value().and_then(boot),
    }
}

fn put_memory(machine: &mut Machine, meminfo: &Reading<String>, group: Option<&Group>) {
    let text = match meminfo {
        Reading::Value(text) => text.as_str(),
        _ => "",
    };
    let memory = Memory::parse(text).within(group);
    let absent = || meminfo.clone().map(|_| Bytes(0));
    for (reading, bytes) in [
        (&mut machine.memory_total_bytes, memory.total),
        (&mut machine.memory_used_bytes, memory.used),
        (&mut machine.swap_total_bytes, memory.swap_total),
        (&mut machine.swap_used_bytes, memory.swap_used),
    ] {
        *reading = match bytes {
            Some(bytes) => Bytes(bytes).into(),
            None if meminfo.value().is_some() => Reading::Unsupported,
            None => absent(),
        };
    }
}

fn put_load(machine: &mut Machine, proc: &Path) {
    let number = |text: &str, at: usize| -> Reading<f64> {
        let word = text.split_ascii_whitespace().nth(at).and_then(|word| word.parse().ok());
        known(word.filter(|number: &f64| number.is_finite()))
    };
    let load = files::text(&proc.join("loadavg"), 256);
    let uptime = files::text(&proc.join("uptime"), 256);
    let nth = |file: &Reading<String>, at: usize| match file {
        Reading::Value(text) => number(text, at),
        absent => absent.clone().map(|_| 0.0),
    };
    machine.load_1 = nth(&load, 0);
    machine.load_5 = nth(&load, 1);
    machine.load_15 = nth(&load, 2);
    machine.uptime_s = nth(&uptime, 0).map(Seconds);
}

/// One row per reason why a process has no name: which, id, what was found, the way out.
const NAMELESS: &[(Visibility, &str, &str, &str)] = &[
    (
        Visibility::OtherNamespace,
        "host.pid_namespace",
        "Some processes on the GPUs live outside this container and cannot be named from here.",
        "Start the container with the host's pid namespace: docker run --pid=host, or hostPID: true.",
    ),
    (
        Visibility::Unknown,
        "host.hidepid",
        "/proc is mounted with hidepid, so processes of other users cannot be named.",
        "Run as root, or join the group named by gid= in the mount options of /proc.",
    ),
];

fn notices(processes: &[Process]) -> Vec<Notice> {
    let found = NAMELESS.iter().filter(|row| processes.iter().any(|one| one.visibility == row.0));
    let notice = |row: &(Visibility, &str, &str, &str)| Notice {
        id: row.1.to_owned(),
        severity: Severity::Info,
        what: row.2.to_owned(),
        remedy: row.3.to_owned(),
    };
    found.map(notice).collect()
}
