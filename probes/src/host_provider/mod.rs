//! The host and what it knows of the processes on the GPUs.
//!
//! The machine comes from sysinfo: names, CPU use, memory, load, uptime. Read from `/proc` and `/sys` is what sysinfo lacks: which
//! instruction sets the kernel has switched on, what a control group uses without the file cache it could give back, the container, the
//! battery, and processes: sysinfo drops one that is hidden like one that ended, and counts starts in whole seconds, too coarse to know a
//! process again before it is signalled. What cannot change is asked once, and of processes only the pids NVML named are looked at.
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
use std::time::Duration;

use sysinfo::{MINIMUM_CPU_UPDATE_INTERVAL, System};

use crate::host::{CpuFeature, Host, Machine};
use crate::notice::{Notice, Severity};
use crate::process::{Process, Visibility};
use crate::provider::{Context, HostSection, Provider, Section};
use crate::reading::Reading;
use crate::text::printable;
use crate::time::Timestamp;
use crate::units::{Bytes, Percent, Seconds};

use battery::Battery;
use memory::{Group, Memory};
use namespace::View;
use process::{Processes, Units};
use stat::Stat;

/// Where to look for what sysinfo does not tell; tests look elsewhere.
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

/// Polls from one look at what no summary shows to the next, and at whether a limit of memory was set.
const TURN: u64 = 10;

/// What does not change while the machine runs, asked at the first poll, and the load as last asked.
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
    system: Option<System>,
    watched: Duration,
    polls: u64,
    /// Whether the control group was what limits memory when last asked.
    is_limited: bool,
}

/// When a process started, as of now; `None` once it is gone. Together with the pid this says which process
/// it is, but only to a second or two: the kernel derives the moment of boot from a clock that is adjusted.
pub fn started_at(proc_root: &Path, pid: u32) -> Option<Timestamp> {
    let stat = files::bytes(&proc_root.join(format!("{pid}/stat")), 4096);
    Units::here().started(&Stat::parse(stat.value()?)?)
}

impl HostProvider {
    /// A provider that has asked nothing yet.
    pub fn new(options: HostOptions) -> Self {
        let battery = Battery::new(&options.sys_root);
        Self {
            options,
            battery,
            fixed: None,
            system: System::new().ok(),
            watched: Duration::ZERO,
            polls: 0,
            is_limited: false,
        }
    }

    /// Use since the last poll; before sysinfo compares for the first time there is nothing to tell.
    fn cpu_use(&mut self, since: Duration) -> (Reading<Percent>, Vec<Percent>) {
        let Some(system) = &mut self.system else { return (Reading::Unsupported, Vec::new()) };
        system.refresh_cpu_usage();
        self.watched = self.watched.saturating_add(since);
        match system.cpus() {
            [] => (Reading::Unsupported, Vec::new()),
            _ if self.watched < MINIMUM_CPU_UPDATE_INTERVAL => (Reading::Late(None), Vec::new()),
            each => {
                let each = each.iter().map(|cpu| Percent(cpu.usage())).collect();
                (Percent(system.global_cpu_usage()).into(), each)
            }
        }
    }

    fn put_memory(&mut self, machine: &mut Machine, is_turn: bool) {
        let Some(system) = &mut self.system else { return };
        system.refresh_memory();
        let group = self.fixed.as_ref().and_then(|fixed| fixed.group.as_ref());
        let all = Memory::of(system);
        let memory = all.within(group.filter(|_| self.is_limited || is_turn));
        self.is_limited = memory.total != all.total;
        let bytes = |bytes: Option<u64>| Reading::of(bytes.map(Bytes));
        machine.memory_total_bytes = bytes(memory.total);
        machine.memory_used_bytes = bytes(memory.used);
        machine.swap_total_bytes = bytes(memory.swap_total);
        machine.swap_used_bytes = bytes(memory.swap_used);
    }
}

impl Provider for HostProvider {
    fn name(&self) -> &'static str {
        "host"
    }

    fn prepare(&mut self) {
        self.fixed.get_or_insert_with(|| Fixed::ask(&self.options));
        self.system.iter_mut().for_each(System::refresh_cpu_usage);
    }

    fn poll(&mut self, context: &Context) -> Section {
        let fixed = self.fixed.get_or_insert_with(|| Fixed::ask(&self.options));
        let processes = fixed.processes.ask(&context.gpu_processes, context.since_last);
        let cpu_features = fixed.features.clone();
        let is_turn = self.polls.is_multiple_of(TURN);
        self.polls += 1;
        if is_turn || !context.brief {
            put_load(&mut fixed.machine);
        }
        let mut machine = fixed.machine.clone();
        machine.on_battery = self.battery.on_battery(context.since_last);
        let (cpu_pct, cpu_each_pct) = self.cpu_use(context.since_last);
        machine.cpu_pct = cpu_pct;
        // Names its CPUs from the first refresh on.
        let brand = self.system.as_ref().and_then(|system| Some(system.cpus().first()?.brand()));
        machine.cpu_name = Reading::of(brand.filter(|brand| !brand.is_empty()).map(printable));
        self.put_memory(&mut machine, is_turn);
        let host = Host { machine, cpu_each_pct, cpu_features };
        let notices = notices(&processes);
        Section::Host(Box::new(HostSection { host, processes, notices }))
    }
}

impl Fixed {
    fn ask(options: &HostOptions) -> Self {
        let proc = &options.proc_root;
        let read = |file: &str, limit: usize| files::text(&proc.join(file), limit);
        let cpuinfo = read("cpuinfo", 16 << 10);
        let cgroup = read("self/cgroup", 4096).value().cloned().unwrap_or_default();
        let release = System::kernel_version().ok();
        let machine = Machine {
            hostname: Reading::of(System::host_name().ok().map(|name| printable(&name))),
            kernel: Reading::of(release.map(|release| printable(&format!("Linux {release}")))),
            cpu_cores: Reading::of(allowed_cpus()),
            container: Reading::of(
                container::own(&options.root, &cgroup).map(|kind| printable(&kind)),
            ),
            ..Machine::default()
        };
        let features = cpuinfo.value().map(|text| cpu::features(text)).unwrap_or_default();
        let view = View::of(proc);
        let processes = Processes::new(proc, &options.root, view, Units::here());
        let group = Group::tightest(&options.sys_root, &cgroup);
        Self { machine, features, group, processes }
    }
}

/// CPUs the scheduler lets this process run on.
fn allowed_cpus() -> Option<u32> {
    rustix::thread::sched_getaffinity(None).ok().map(|cpus| cpus.count())
}

fn put_load(machine: &mut Machine) {
    if let Ok(load) = System::load_average() {
        machine.load_1 = load.one.into();
        machine.load_5 = load.five.into();
        machine.load_15 = load.fifteen.into();
    }
    machine.uptime_s = Reading::of(System::uptime().ok().map(|seconds| Seconds(seconds as f64)));
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
