use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sysinfo::System;

use super::namespace::{self, View};
use super::stat::Stat;
use super::users::Users;
use super::{container, files};
use crate::process::{GpuProcess, HostSide, Process, Visibility};
use crate::reading::Reading;
use crate::text::printable;
use crate::time::Timestamp;
use crate::units::{Bytes, Percent};

/// Ancestors that are asked for a command: a worker's engine, its server, and a shell between them.
const MOST_ANCESTORS: usize = 4;

/// How the kernel counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Units {
    /// Clock ticks in a second.
    pub(super) ticks_per_second: u64,
    /// Bytes in a page of memory.
    pub(super) page_bytes: u64,
    /// Seconds from the epoch to boot.
    pub(super) boot_s: Option<u64>,
}

impl Units {
    /// Those of this kernel.
    pub(super) fn here() -> Self {
        Self {
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1),
            page_bytes: rustix::param::page_size() as u64,
            boot_s: System::boot_time().ok(),
        }
    }

    /// When a process started.
    pub(super) fn started(&self, stat: &Stat) -> Option<Timestamp> {
        let after_ms = stat.started_ticks.checked_mul(1000)? / self.ticks_per_second;
        Some(Timestamp(self.boot_s?.checked_mul(1000)?.checked_add(after_ms)?))
    }
}

/// What does not change while a process lives, asked once.
#[derive(Clone, Debug)]
struct Known {
    started_ticks: u64,
    cpu_ticks: u64,
    name: String,
    ours: bool,
    user: Reading<String>,
    command: Reading<String>,
    container: Reading<String>,
}

/// The processes on the GPUs as they were at the last question.
pub(super) struct Processes {
    proc_root: PathBuf,
    view: View,
    units: Units,
    users: Users,
    known: HashMap<u32, Known>,
}

type Answer = (Visibility, HostSide, Option<Timestamp>);

impl Processes {
    pub(super) fn new(proc_root: &Path, root: &Path, view: View, units: Units) -> Self {
        let (proc_root, users) = (proc_root.to_owned(), Users::new(root));
        Self { proc_root, view, units, users, known: HashMap::new() }
    }

    /// Says of each process what the host knows of it; each pid is asked once however many GPUs it uses.
    pub(super) fn ask(&mut self, processes: &[GpuProcess], since: Duration) -> Vec<Process> {
        let mut answers: HashMap<u32, Answer> = HashMap::with_capacity(processes.len());
        let mut before = std::mem::take(&mut self.known);
        let with_host = |process: &GpuProcess| {
            let pid = process.pid;
            let answer =
                answers.entry(pid).or_insert_with(|| self.ask_one(pid, before.remove(&pid), since));
            Process {
                pid,
                gpu: process.gpu.clone(),
                mig: process.mig,
                kind: process.kind,
                usage: process.usage.clone(),
                visibility: answer.0,
                host: answer.1.clone(),
                started_at: answer.2,
            }
        };
        processes.iter().map(with_host).collect()
    }

    fn ask_one(&mut self, pid: u32, before: Option<Known>, since: Duration) -> Answer {
        let stat = match files::bytes(&self.file(pid, "stat"), 4096) {
            Reading::Value(bytes) => bytes,
            Reading::Denied if !self.view.nested => return denied(Visibility::Visible),
            Reading::Failed(_) => return self.unreadable(),
            _ => return self.missing(),
        };
        let Some(stat) = Stat::parse(&stat) else { return self.unreadable() };
        let before = before.filter(|known| known.started_ticks == stat.started_ticks);
        let cpu = self.cpu(&stat, before.as_ref(), since);
        let known = self.refresh(pid, &stat, before);
        if !known.ours {
            self.known.insert(pid, known);
            return self.missing();
        }
        let started = self.units.started(&stat);
        let host = HostSide {
            user: known.user.clone(),
            name: printable(&stat.name).into(),
            command: known.command.clone(),
            parent: stat.parent.into(),
            cpu_pct: cpu,
            memory_bytes: Bytes(stat.resident_pages.saturating_mul(self.units.page_bytes)).into(),
            started: Reading::of(started.map(|at| at.to_string())),
            container: known.container.clone(),
        };
        self.known.insert(pid, known);
        (Visibility::Visible, host, started)
    }

    /// What is known of the process, brought up to date; a new name means it has become another program.
    fn refresh(&mut self, pid: u32, stat: &Stat, before: Option<Known>) -> Known {
        if let Some(known) = before
            && known.name == stat.name
        {
            return Known { cpu_ticks: stat.cpu_ticks, ..known };
        }
        let ours = !self.view.nested || namespace::holds_gpu(&self.proc_root, pid);
        let cgroup = files::text(&self.file(pid, "cgroup"), 4096);
        Known {
            started_ticks: stat.started_ticks,
            cpu_ticks: stat.cpu_ticks,
            name: stat.name.clone(),
            ours,
            user: self.user(pid),
            command: self.command(pid, stat),
            container: match cgroup {
                Reading::Value(cgroup) => match container::of_process(&cgroup) {
                    Some(name) => printable(&name).into(),
                    None => Reading::Unsupported,
                },
                absent => absent,
            },
        }
    }

    fn file(&self, pid: u32, name: &str) -> PathBuf {
        self.proc_root.join(format!("{pid}/{name}"))
    }

    fn user(&mut self, pid: u32) -> Reading<String> {
        let status = files::text(&self.file(pid, "status"), 4096);
        let uid = |status: &String| {
            let row = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
            row.split_ascii_whitespace().next()?.parse().ok()
        };
        match status {
            Reading::Value(status) => match uid(&status) {
                Some(uid) => printable(&self.users.name(uid)).into(),
                None => Reading::Failed("no user id in /proc".into()),
            },
            absent => absent,
        }
    }

    fn command(&self, pid: u32, stat: &Stat) -> Reading<String> {
        self.command_line(pid).map(|line| match line.words.as_str() {
            // Kernel threads and zombies have none; ps shows them so.
            "" => printable(&format!("[{}]", stat.name)),
            title if line.is_title() => match self.launcher(stat.parent) {
                Some(launcher) => printable(&format!("{title} of {launcher}")),
                None => printable(title),
            },
            words => printable(words),
        })
    }

    fn command_line(&self, pid: u32) -> Reading<CommandLine> {
        files::bytes(&self.file(pid, "cmdline"), 16 << 10).map(|mut line| {
            let end = line.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            line.truncate(end);
            let arguments = line.split(|byte| *byte == 0).count();
            line.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
            CommandLine { words: String::from_utf8_lossy(&line).into_owned(), arguments }
        })
    }

    /// The command that started a worker: that of the nearest ancestor which has not given itself a title.
    fn launcher(&self, parent: u32) -> Option<String> {
        let mut pid = parent;
        for _ in 0..MOST_ANCESTORS {
            let line = self.command_line(pid).value().cloned()?;
            if !line.is_title() {
                return Some(line.words).filter(|words| !words.is_empty());
            }
            pid = Stat::parse(files::bytes(&self.file(pid, "stat"), 4096).value()?)?.parent;
        }
        None
    }

    fn cpu(&self, stat: &Stat, before: Option<&Known>, since: Duration) -> Reading<Percent> {
        let spent = before.and_then(|known| stat.cpu_ticks.checked_sub(known.cpu_ticks));
        match spent {
            Some(ticks) if !since.is_zero() => {
                let seconds = ticks as f64 / self.units.ticks_per_second as f64;
                Percent((seconds / since.as_secs_f64() * 100.0) as f32).into()
            }
            _ => Reading::Late(None),
        }
    }

    fn missing(&self) -> Answer {
        match self.view {
            View { nested: true, .. } => (Visibility::OtherNamespace, HostSide::default(), None),
            View { hides: true, .. } => denied(Visibility::Unknown),
            _ => (Visibility::Gone, HostSide::default(), None),
        }
    }

    /// The process is there and its file makes no sense.
    fn unreadable(&self) -> Answer {
        if self.view.nested {
            return self.missing();
        }
        let failed = || Reading::Failed("damaged /proc entry".into());
        let host = HostSide { name: failed(), command: failed(), ..HostSide::default() };
        (Visibility::Visible, host, None)
    }
}

/// The arguments of a process.
#[derive(Clone, Debug)]
struct CommandLine {
    words: String,
    arguments: usize,
}

impl CommandLine {
    /// Whether a worker has written a title in the place of its arguments: `VLLM::Worker_TP0`, `sglang::scheduler_TP0`.
    fn is_title(&self) -> bool {
        self.arguments == 1 && self.words.contains("::")
    }
}

fn denied(visibility: Visibility) -> Answer {
    let host = HostSide {
        user: Reading::Denied,
        name: Reading::Denied,
        command: Reading::Denied,
        parent: Reading::Denied,
        cpu_pct: Reading::Denied,
        memory_bytes: Reading::Denied,
        started: Reading::Denied,
        container: Reading::Denied,
    };
    (visibility, host, None)
}
