use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::process::GpuProcess;
use crate::time::Timestamp;

const SECOND: Duration = Duration::from_secs(1);
const INITIAL: &str = "pid:[4026531836]";
const NESTED: &str = "pid:[4026532770]";

/// A machine made of files.
struct Fake(TempDir);

impl Fake {
    fn new() -> Self {
        let fake = Self(tempfile::tempdir().expect("temporary directory"));
        fake.put(
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Xeon X\nflags\t\t: fpu fma avx2 avx512_bf16 amx_int8x\n",
        );
        fake.put("proc/self/cgroup", "0::/user.slice/session.scope\n");
        fake.put("etc/passwd", "root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n");
        fake.link("proc/self/ns/pid", INITIAL);
        fake
    }

    fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("directory");
        fs::write(path, bytes).expect("file");
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("directory");
        let _ = fs::remove_file(&path);
        symlink(target, path).expect("link");
    }

    /// A process of user 1000 that started 100 s after boot and holds 256 pages.
    fn process(&self, pid: u32, name: &str, ticks: u64) {
        self.stat(pid, name, ticks, 10_000);
        self.put(&format!("proc/{pid}/status"), "Name:\tx\nUid:\t1000\t0\t0\t0\n");
        self.put(&format!("proc/{pid}/cmdline"), "python\0train.py\0--lr\0\x31\0");
        self.put(&format!("proc/{pid}/cgroup"), "0::/user.slice\n");
    }

    fn stat(&self, pid: u32, name: &str, ticks: u64, started: u64) {
        let rest = format!("S 7 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 {started} 9 256 0");
        self.put(&format!("proc/{pid}/stat"), format!("{pid} ({name}) {rest}\n"));
    }

    fn provider(&self) -> HostProvider {
        let at = |name: &str| self.0.path().join(name);
        let root = self.0.path().to_owned();
        HostProvider::new(HostOptions { proc_root: at("proc"), sys_root: at("sys"), root })
    }
}

fn poll(provider: &mut HostProvider, pids: &[u32], since_last: Duration) -> HostSection {
    let process = |pid: &u32| GpuProcess { pid: *pid, gpu: "GPU-1".into(), ..Default::default() };
    let gpu_processes = pids.iter().map(process).collect();
    match provider.poll(&Context { since_last, gpu_processes, ..Context::default() }) {
        Section::Host(section) => *section,
        Section::Gpu(_) => panic!("the host provider speaks of the host"),
    }
}

fn one(provider: &mut HostProvider, pid: u32) -> Process {
    poll(provider, &[pid], SECOND).processes.remove(0)
}

/// The number in the row of a file that begins with the key.
fn row(text: &str, key: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(key))?
        .split_ascii_whitespace()
        .next()?
        .parse()
        .ok()
}

#[cfg(target_os = "linux")]
#[test]
fn the_machine_is_the_one_the_kernel_describes() {
    let asked = |path: &str| fs::read_to_string(path).expect("Linux has it");
    let mut provider =
        HostProvider::new(HostOptions { root: "/nowhere".into(), ..HostOptions::default() });
    let first = poll(&mut provider, &[], Duration::ZERO).host;
    assert_eq!((first.machine.cpu_pct, first.cpu_each_pct.len()), (Reading::Late(None), 0));
    let host = poll(&mut provider, &[], SECOND).host;
    let machine = host.machine;
    let release = format!("Linux {}", asked("/proc/sys/kernel/osrelease").trim());
    assert_eq!(machine.kernel.value(), Some(&release));
    let name = asked("/proc/sys/kernel/hostname");
    assert_eq!(machine.hostname.value().map(String::as_str), Some(name.trim()));
    let (status, stat) = (asked("/proc/self/status"), asked("/proc/stat"));
    let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:\t"));
    let allowed = mask.map(|mask| mask.chars().filter_map(|c| c.to_digit(16)).map(u32::count_ones));
    assert_eq!(machine.cpu_cores.value().copied(), allowed.map(Iterator::sum));
    let rows =
        stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count();
    assert_eq!(host.cpu_each_pct.len(), rows);
    assert!(host.cpu_each_pct.iter().all(|one| (0.0..=100.0).contains(&one.0)));
    let (memory, kib) = (asked("/proc/meminfo"), |bytes: &Bytes| bytes.0 / 1024);
    assert!(machine.memory_total_bytes.value().map(kib) <= row(&memory, "MemTotal:"));
    assert!(machine.memory_used_bytes.value() < machine.memory_total_bytes.value());
    assert_eq!(machine.swap_total_bytes.value().map(kib), row(&memory, "SwapTotal:"));
    assert!(
        machine.load_1.value().is_some() && machine.uptime_s.value().is_some_and(|up| up.0 > 0.0)
    );
}

#[test]
fn what_files_would_tell_is_absent_without_them() {
    let empty = Fake(tempfile::tempdir().expect("temporary directory"));
    let section = poll(&mut empty.provider(), &[1], SECOND);
    assert_eq!(section.host.machine.container, Reading::Unsupported);
    assert_eq!(section.host.machine.on_battery, Reading::Unsupported);
    assert!(section.host.cpu_features.is_empty());
    assert_eq!(section.processes[0].visibility, Visibility::Gone);
}

#[test]
fn a_container_has_the_memory_it_may_use() {
    let fake = Fake::new();
    fake.put(".dockerenv", "");
    fake.put("proc/self/cgroup", "0::/\n");
    fake.put("sys/fs/cgroup/memory.max", "67108864\n");
    fake.put("sys/fs/cgroup/memory.current", "33554432\n");
    fake.put("sys/fs/cgroup/memory.stat", "anon 1\ninactive_file 3554432\n");
    let machine = poll(&mut fake.provider(), &[], SECOND).host.machine;
    assert_eq!(machine.container.value().map(String::as_str), Some("docker"));
    assert_eq!(machine.memory_total_bytes.value(), Some(&Bytes(64 << 20)));
    assert_eq!(machine.memory_used_bytes.value(), Some(&Bytes(30_000_000)));

    fake.put("proc/self/cgroup", "7:cpu,memory:/a/b\n0::/\n");
    fake.put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1048576\n");
    fake.put("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    let machine = poll(&mut fake.provider(), &[], SECOND).host.machine;
    assert_eq!(machine.memory_total_bytes.value(), Some(&Bytes(1 << 20)));
    assert_eq!(machine.memory_used_bytes, Reading::Unsupported, "no usage file, so no number");

    fake.put("proc/self/cgroup", "0::/../../outside\n");
    fake.put("sys/fs/cgroup/memory.max", "max\n");
    let machine = poll(&mut fake.provider(), &[], SECOND).host.machine;
    assert!(machine.memory_total_bytes.value() > Some(&Bytes(1 << 20)), "no limit that counts");
}

#[test]
fn a_laptop_off_the_mains_runs_on_battery() {
    let fake = Fake::new();
    fake.put("sys/class/power_supply/AC/type", "Mains\n");
    fake.put("sys/class/power_supply/AC/online", "0\n");
    fake.put("sys/class/power_supply/BAT0/type", "Battery\n");
    fake.put("sys/class/power_supply/BAT0/status", "Discharging\n");
    let mut provider = fake.provider();
    let on_battery = |provider: &mut HostProvider, since| {
        poll(provider, &[], since).host.machine.on_battery.value().copied()
    };
    assert_eq!(on_battery(&mut provider, SECOND), Some(true));
    fake.put("sys/class/power_supply/AC/online", "1\n");
    assert_eq!(on_battery(&mut provider, SECOND), Some(true), "asked every ten seconds only");
    assert_eq!(on_battery(&mut provider, SECOND * 10), Some(false));

    fake.put("sys/class/power_supply/AC/online", "0\n");
    fake.put("sys/class/power_supply/BAT0/scope", "Device\n");
    assert_eq!(on_battery(&mut fake.provider(), SECOND), Some(false), "a mouse is no laptop");
}

#[test]
fn a_process_is_named() {
    let fake = Fake::new();
    fake.process(42, "python", 100);
    let id = "3f".repeat(32);
    fake.put("proc/42/cgroup", format!("0::/system.slice/docker-{id}.scope\n"));
    let mut provider = fake.provider();
    let first = one(&mut provider, 42);
    assert_eq!(first.visibility, Visibility::Visible);
    assert_eq!(first.host.user.value().map(String::as_str), Some("ada"));
    assert_eq!(first.host.command.value().map(String::as_str), Some("python train.py --lr 1"));
    assert_eq!(first.host.parent.value(), Some(&7));
    assert_eq!(first.host.memory_bytes.value(), Some(&Bytes(256 * 4096)));
    assert_eq!(first.host.container.value().map(String::as_str), Some("docker 3f3f3f3f3f3f"));
    let boot = row(&fs::read_to_string("/proc/stat").expect("Linux has it"), "btime ");
    let started = boot.map(|boot| Timestamp((boot + 100) * 1000));
    assert_eq!(first.started_at, started);
    assert_eq!(first.host.started.value().cloned(), started.map(|at| at.to_string()));
    assert_eq!(first.host.cpu_pct, Reading::Late(None));

    fake.stat(42, "python", 250, 10_000);
    assert_eq!(one(&mut provider, 42).host.cpu_pct.value(), Some(&Percent(150.0)));
}

/// Titles as vLLM 0.11 and SGLang 0.5 give them with setproctitle.
#[test]
fn a_worker_with_a_title_is_named_with_what_started_it() {
    let fake = Fake::new();
    fake.process(42, "VLLM::Worker_TP", 1);
    fake.put("proc/42/cmdline", "VLLM::Worker_TP0\0\0\0\0");
    let command = || one(&mut fake.provider(), 42).host.command.value().cloned();
    assert_eq!(command().as_deref(), Some("VLLM::Worker_TP0"), "nobody is there");
    fake.process(7, "VLLM::EngineCore", 1);
    fake.put("proc/7/cmdline", "VLLM::EngineCore\0");
    assert_eq!(command().as_deref(), Some("VLLM::Worker_TP0"), "its own parent for ever");
    let rest = "S 6 1 1 0 -1 0 0 0 0 0 1 0 0 0 20 0 1 0 10000 9 256 0";
    fake.put("proc/7/stat", format!("7 (VLLM::EngineCor) {rest}\n"));
    fake.put("proc/6/cmdline", "vllm\0serve\0Qwen/Qwen3-8B\0");
    let want = "VLLM::Worker_TP0 of vllm serve Qwen/Qwen3-8B";
    assert_eq!(command().as_deref(), Some(want));
}

#[test]
fn two_gpus_of_one_process_get_the_same_answer() {
    let fake = Fake::new();
    fake.process(42, "python", 100);
    let mut provider = fake.provider();
    poll(&mut provider, &[42], SECOND);
    fake.stat(42, "python", 110, 10_000);
    let both = poll(&mut provider, &[42, 42], SECOND).processes;
    assert_eq!(both[0], both[1]);
    assert_eq!(both[0].host.cpu_pct.value(), Some(&Percent(10.0)));
}

#[test]
fn a_reused_pid_is_another_process() {
    let fake = Fake::new();
    fake.process(42, "python", 5000);
    let mut provider = fake.provider();
    one(&mut provider, 42);
    fake.stat(42, "python", 6000, 99_000);
    fake.put("proc/42/cmdline", "python\0other.py\0");
    let reused = one(&mut provider, 42);
    assert_eq!(reused.host.cpu_pct, Reading::Late(None), "no time of the one that is gone");
    assert_eq!(reused.host.command.value().map(String::as_str), Some("python other.py"));

    fake.stat(42, "bash", 6000, 99_000);
    fake.put("proc/42/cmdline", "bash\0");
    let changed = one(&mut provider, 42);
    assert_eq!(changed.host.command.value().map(String::as_str), Some("bash"));
    assert_eq!(changed.host.cpu_pct.value(), Some(&Percent(0.0)), "exec keeps the process");
}

#[test]
fn names_and_commands_cannot_reach_the_terminal() {
    let fake = Fake::new();
    fake.process(42, "evil) R 1 (\u{1b}]0;x\u{7}\n", 1);
    fake.put("proc/42/cmdline", b"\x1b[2J\0\xff\xfe\0\xc2\x9b31m\0\xe2\x80\xae\0");
    let hostile = one(&mut fake.provider(), 42);
    assert_eq!(
        hostile.host.name.value().map(String::as_str),
        Some("evil) R 1 (\u{fffd}]0;x\u{fffd} ")
    );
    assert_eq!(hostile.host.parent.value(), Some(&7), "read behind the last bracket");
    assert_eq!(
        hostile.host.command.value().map(String::as_str),
        Some("\u{fffd}[2J \u{fffd}\u{fffd} \u{fffd}31m \u{fffd}")
    );

    fake.process(43, "kworker", 1);
    fake.put("proc/43/cmdline", "");
    fake.put("proc/43/status", "Uid:\t31337\t0\t0\t0\n");
    let bare = one(&mut fake.provider(), 43);
    assert_eq!(bare.host.command.value().map(String::as_str), Some("[kworker]"));
    assert_eq!(bare.host.user.value().map(String::as_str), Some("31337"));

    fake.put("proc/43/cmdline", vec![b'x'; 1 << 20]);
    let long = one(&mut fake.provider(), 43);
    assert_eq!(long.host.command.value().map(|text| text.chars().count()), Some(4096));
}

#[test]
fn a_damaged_entry_is_a_failure_and_not_a_zero() {
    let fake = Fake::new();
    let whole = "42 (python) S 7 1 1 0 -1 0 0 0 0 0 5 5 0 0 20 0 1 0 900 9 256";
    for cut in 0..whole.len() - " 256".len() {
        fake.put("proc/42/stat", &whole[..cut]);
        let damaged = one(&mut fake.provider(), 42);
        assert!(matches!(damaged.host.name, Reading::Failed(_)), "{cut}");
        assert_eq!(damaged.host.memory_bytes.value(), None, "{cut}");
    }
}

#[test]
fn in_a_nested_namespace_a_number_is_no_proof() {
    let fake = Fake::new();
    fake.link("proc/self/ns/pid", NESTED);
    fake.process(42, "innocent", 1);
    let mut provider = fake.provider();
    let section = poll(&mut provider, &[42, 43], SECOND);
    for process in &section.processes {
        assert_eq!(process.visibility, Visibility::OtherNamespace);
        assert_eq!(process.host, Default::default(), "no name of a stranger");
    }
    assert_eq!(section.notices.len(), 1);
    assert_eq!(section.notices[0].id, "host.pid_namespace");

    fs::create_dir_all(fake.0.path().join("proc/42/fd")).expect("directory");
    fake.link("proc/42/fd/5", "/dev/nvidiactl");
    assert_eq!(one(&mut fake.provider(), 42).visibility, Visibility::OtherNamespace);
    fake.link("proc/42/fd/6", "/dev/nvidia-uvm");
    let proved = one(&mut fake.provider(), 42);
    assert_eq!(proved.visibility, Visibility::Visible);
    assert_eq!(proved.host.name.value().map(String::as_str), Some("innocent"));
}

#[test]
fn a_process_that_ended_is_gone_unless_proc_hides_it() {
    let fake = Fake::new();
    let section = poll(&mut fake.provider(), &[42], SECOND);
    assert_eq!(section.processes[0].visibility, Visibility::Gone);
    assert!(section.notices.is_empty());

    fake.put(
        "proc/self/mountinfo",
        "22 1 0:21 / /proc rw,nosuid shared:5 - proc proc rw,hidepid=invisible\n",
    );
    let section = poll(&mut fake.provider(), &[42], SECOND);
    assert_eq!(section.processes[0].visibility, Visibility::Unknown);
    assert_eq!(section.processes[0].host.name, Reading::Denied);
    assert_eq!(section.notices[0].id, "host.hidepid");

    fake.process(1, "systemd", 1);
    let section = poll(&mut fake.provider(), &[42], SECOND);
    assert_eq!(section.processes[0].visibility, Visibility::Gone, "nothing is hidden from root");
}

#[test]
fn control_groups_name_their_container() {
    let id = "0123456789abcdef".repeat(4);
    let pod = "kubepods-burstable-pod12345678_1234.slice";
    for (path, want) in [
        (format!("/docker/{id}"), Some("docker 0123456789ab")),
        (format!("/system.slice/docker-{id}.scope"), Some("docker 0123456789ab")),
        (format!("/machine.slice/libpod-{id}.scope/container"), Some("podman 0123456789ab")),
        (
            format!("/kubepods.slice/{pod}/cri-containerd-{id}.scope"),
            Some("kubernetes 0123456789ab"),
        ),
        (format!("/kubepods/besteffort/pod12/{id}"), Some("kubernetes 0123456789ab")),
        ("/lxc/web/init.scope".into(), Some("lxc web")),
        ("/lxc.payload.web/system.slice".into(), Some("lxc web")),
        ("/slurm/uid_1000/job_4711/step_0".into(), Some("slurm 4711")),
        ("/system.slice/ollama.service".into(), Some("systemd ollama.service")),
        ("/user.slice/user-1000.slice/session-3.scope".into(), None),
        ("/system.slice/docker.service".into(), Some("systemd docker.service")),
        ("/docker/short".into(), None),
        ("/".into(), None),
    ] {
        let text = format!("12:memory:{path}\n0::{path}\n");
        assert_eq!(container::of_process(&text).as_deref(), want, "{path}");
    }
}

#[test]
fn features_are_whole_words_of_the_first_cpu() {
    let fake = Fake::new();
    let features = poll(&mut fake.provider(), &[], SECOND).host.cpu_features;
    let present: Vec<_> = features.iter().filter(|f| f.present).map(|f| f.id.as_str()).collect();
    assert_eq!(present, ["fma", "avx2", "avx512_bf16"], "amx_int8x is not amx_int8");
    let arm = cpu::features("processor : 0\nFeatures\t: fp asimd asimddp i8mm\n");
    assert!(arm.iter().any(|f| f.id == "i8mm" && f.present));
    assert!(arm.iter().any(|f| f.id == "sve" && !f.present));
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn the_kernel_and_the_cpu_agree_about_features() {
    let here = poll(&mut HostProvider::new(HostOptions::default()), &[], SECOND).host.cpu_features;
    for (id, detected) in [
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
        ("f16c", is_x86_feature_detected!("f16c")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
        ("avx512bw", is_x86_feature_detected!("avx512bw")),
        ("avx512vl", is_x86_feature_detected!("avx512vl")),
        ("avx512_vnni", is_x86_feature_detected!("avx512vnni")),
        ("avx512_bf16", is_x86_feature_detected!("avx512bf16")),
        ("avx512_fp16", is_x86_feature_detected!("avx512fp16")),
        ("avx_vnni", is_x86_feature_detected!("avxvnni")),
    ] {
        assert!(here.contains(&CpuFeature { id: id.to_owned(), present: detected }), "{id}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn sysinfo_agrees_about_this_process() {
    use sysinfo::{Pid, ProcessesToUpdate, System, get_current_pid};

    let pid = get_current_pid().map(Pid::as_u32).expect("has a pid");
    let mut system = System::new().expect("a supported system");
    system.refresh_processes(ProcessesToUpdate::Some(&[Pid::from_u32(pid)]), true);
    let theirs = system.process(Pid::from_u32(pid)).expect("runs");
    let (proc, root) = (Path::new("/proc"), Path::new("/"));
    let view = View { nested: false, hides: false };
    let asked = GpuProcess { pid, ..GpuProcess::default() };
    let ours = Processes::new(proc, root, view, Units::here()).ask(&[asked], SECOND).remove(0);
    assert_eq!(ours.host.parent.value().copied(), theirs.parent().map(Pid::as_u32));
    assert_eq!(ours.started_at.map(|at| at.0 / 1000), Some(theirs.start_time()));
    assert_eq!(started_at(proc, pid), ours.started_at);
    assert_eq!(started_at(proc, u32::MAX), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_make_it_panic(stat in any::<Vec<u8>>(), text in any::<String>(), pairs in "([0-9a-f ():/,.-]|\\n|cpu|kB|Uid|flags){0,120}") {
        let fake = Fake::new();
        fake.process(42, "x", 1);
        for (path, bytes) in [("proc/42/stat", stat.as_slice()), ("proc/42/cgroup", text.as_bytes()), ("proc/42/status", pairs.as_bytes()), ("proc/self/cgroup", pairs.as_bytes()), ("proc/self/mountinfo", text.as_bytes()), ("etc/passwd", pairs.as_bytes())] {
            fake.put(path, bytes);
        }
        let mut provider = fake.provider();
        poll(&mut provider, &[42, u32::MAX], SECOND);
        fake.put("proc/cpuinfo", &pairs);
        let section = poll(&mut provider, &[42], SECOND);
        poll(&mut fake.provider(), &[42], SECOND);
        prop_assert_eq!(section.processes.len(), 1);
    }

    #[test]
    fn a_whole_stat_is_read_whatever_the_name(name in any::<Vec<u8>>(), ticks in any::<u64>(), started in any::<u64>(), pages in any::<u64>()) {
        let mut bytes = b"1 (".to_vec();
        bytes.extend(&name);
        bytes.extend(format!(") S 7 1 1 0 -1 0 0 0 0 0 {ticks} 1 0 0 20 0 1 0 {started} 9 {pages}").bytes());
        let read = stat::Stat::parse(&bytes).expect("whole");
        prop_assert_eq!(read.name, String::from_utf8_lossy(&name));
        prop_assert_eq!((read.cpu_ticks, read.started_ticks, read.resident_pages), (ticks.saturating_add(1), started, pages));
    }
}
