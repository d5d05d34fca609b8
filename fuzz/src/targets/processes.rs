//! What the kernel shows of the machine and of processes, which name themselves and their files as they like.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use warpscope_probes::host_provider::{HostOptions, HostProvider, started_at};
use warpscope_probes::inspect::env::{Places, Progress, Sweep};
use warpscope_probes::process::GpuProcess;
use warpscope_probes::provider::{Context, Provider, Section};

use crate::Trace;
use crate::archive::sections;
use crate::runner::scratch;

/// Files of `/proc` and `/sys` that are read. The process is number 42.
const FILES: &[&str] = &[
    "proc/cpuinfo",
    "proc/self/cgroup",
    "proc/self/mountinfo",
    "proc/42/stat",
    "proc/42/status",
    "proc/42/cmdline",
    "proc/42/cgroup",
    "proc/42/maps",
    "proc/42/environ",
    "sys/fs/cgroup/memory.max",
    "sys/fs/cgroup/memory.current",
    "sys/fs/cgroup/memory.stat",
    "sys/class/power_supply/AC/online",
    "sys/class/power_supply/AC/type",
    "etc/passwd",
];

/// A machine of files, each behind a line `@@ PATH`. The host is asked twice, the processes for their libraries once.
pub(super) fn processes(bytes: &[u8], trace: &mut Trace) {
    let root = scratch::folder("machine");
    fill(&root, bytes);
    let at = |name: &str| root.join(name);
    let options = HostOptions { proc_root: at("proc"), sys_root: at("sys"), root: root.clone() };
    let mut provider = HostProvider::new(options);
    let process = GpuProcess { pid: 42, gpu: "GPU-1".into(), ..GpuProcess::default() };
    for _ in 0..2 {
        let context = Context {
            since_last: Duration::from_secs(1),
            brief: false,
            gpu_processes: vec![process.clone()],
        };
        let section = provider.poll(&context);
        let Section::Host(section) = section else { panic!("it is the host that was asked") };
        assert!(section.processes.len() <= 1);
        trace.value(&section.processes);
        trace.value(&section.host.cpu_features);
        trace.value(&section.host.machine.container);
    }
    trace.value(&started_at(&at("proc"), 42));
    let places = Places { proc_root: at("proc"), ..Places::at(root) };
    let sweep = Sweep { places, pids: vec![42], only_named: true };
    let inventory = sweep.run(&mut Progress::silent());
    let json = serde_json::to_string(&inventory).expect("an inventory can be written");
    assert!(json.len() <= 20_000 + 64 * bytes.len(), "{} from {}", json.len(), bytes.len());
    trace.value(&inventory);
}

/// Writes the files the input has and empties the others.
fn fill(root: &Path, bytes: &[u8]) {
    let parts = sections(bytes);
    for name in FILES {
        let contents = parts.iter().find(|part| part.0 == *name).map(|part| part.1);
        let path = root.join(name);
        if fs::write(&path, contents.unwrap_or_default()).is_err() {
            fs::create_dir_all(path.parent().expect("it has one")).expect("takes folders");
            fs::write(&path, contents.unwrap_or_default()).expect("takes files");
        }
    }
    // There from the second input on.
    let _ = symlink(root, root.join("proc/42/root"));
}
