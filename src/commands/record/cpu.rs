//! A look at the CPUs, from `/proc` and `/sys`.

use std::collections::{BTreeMap, BTreeSet};

use crate::commands::record::family::stat_fields;
use crate::runs::run_log::CpuSample;

/// The CPUs this process may run on, as they are now; `root` is the program that is measured.
pub(crate) fn look(root: u32) -> Option<CpuSample> {
    let allowed = allowed(&read("/proc/self/status")?)?;
    let mut look = CpuSample { cpus: allowed.len() as u64, ..CpuSample::default() };
    for (busy, idle) in read("/proc/stat")?.lines().filter_map(|line| cpu_line(line, &allowed)) {
        look.busy += busy;
        look.idle += idle;
    }
    let processes = processes();
    let family = family(&processes, root);
    for (pid, process) in &processes {
        if family.contains(pid) {
            look.own += process.own + process.children;
        } else if *pid == std::process::id() {
            look.own += process.own;
        } else {
            look.others.insert(*pid, process.own);
        }
    }
    let clocks = allowed.iter().filter_map(|cpu| frequency(*cpu, "scaling_cur_freq")?.parse().ok());
    look.mhz = clocks.map(|khz: f64| khz / 1e3).reduce(f64::max);
    look.governor = allowed.first().and_then(|cpu| frequency(*cpu, "scaling_governor"));
    look.load_1 = read("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok());
    Some(look)
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn frequency(cpu: u32, file: &str) -> Option<String> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}");
    read(&path).map(|text| text.trim().to_owned())
}

/// Numbers of the CPUs a process may run on: `Cpus_allowed_list: 0-2,8`.
fn allowed(status: &str) -> Option<BTreeSet<u32>> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let mut all = BTreeSet::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        all.extend(first..=last);
    }
    Some(all)
}

/// Ticks a CPU worked and did not, by proc_stat(5): user nice system idle iowait irq softirq steal, then guests, which are part of user.
fn cpu_line(line: &str, allowed: &BTreeSet<u32>) -> Option<(u64, u64)> {
    let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
    let number: u32 = words.next()?.parse().ok()?;
    let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
    let idle = ticks.get(3)? + ticks.get(4)?;
    let is_ours = line.as_bytes().get(3) != Some(&b' ') && allowed.contains(&number);
    is_ours.then(|| (ticks.iter().sum::<u64>() - idle, idle))
}

/// Ticks of one process, and of children it has waited for.
struct Process {
    parent: u32,
    own: u64,
    children: u64,
}

fn processes() -> BTreeMap<u32, Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| Some((pid, process(&stat_fields(pid)?)?))).collect()
}

/// By proc_pid_stat(5), counted from the state: the parent is 1, times are 11 to 14.
fn process(fields: &[u64]) -> Option<Process> {
    let parent = u32::try_from(*fields.get(1)?).ok()?;
    let times: [u64; 4] = fields.get(11..15)?.try_into().ok()?;
    Some(Process { parent, own: times[0] + times[1], children: times[2] + times[3] })
}

/// A process and its descendants.
fn family(processes: &BTreeMap<u32, Process>, root: u32) -> BTreeSet<u32> {
    let mut family = BTreeSet::from([root]);
    loop {
        let born = processes.iter().filter(|(_, process)| family.contains(&process.parent));
        let born: Vec<u32> =
            born.map(|(pid, _)| *pid).filter(|pid| !family.contains(pid)).collect();
        if born.is_empty() {
            return family;
        }
        family.extend(born);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cpus_a_process_may_run_on_count() {
        let allowed = allowed("Name:\tx\nCpus_allowed_list:\t0-1,4\n").expect("a list");
        assert_eq!(allowed, [0, 1, 4].into());
        let lines = ["cpu  9 9 9 9 9 9 9 9 9 9", "cpu1 10 1 2 100 5 3 4 6 7 0", "cpu2 1 1 1 1 1"];
        assert_eq!(lines.map(|line| cpu_line(line, &allowed)), [None, Some((26, 105)), None]);
        assert_eq!(cpu_line("cpu0 10 1", &allowed), None);
        assert_eq!(cpu_line("intr 5", &allowed), None);
    }

    #[test]
    fn what_a_program_started_is_its_own() {
        let process = |parent| Process { parent, own: 1, children: 0 };
        let all = [(2, 1), (5, 9), (7, 5), (9, 2), (8, 1)].map(|(pid, of)| (pid, process(of)));
        assert_eq!(family(&all.into(), 2), [2, 5, 7, 9].into());
    }

    #[test]
    fn this_process_is_found() {
        let look = look(std::process::id()).expect("runs on Linux");
        assert!(look.cpus > 0 && look.idle + look.busy > 0);
        assert!(!look.others.contains_key(&std::process::id()));
    }
}
