//! Which processes belong to the recorded program, and so which GPU it works on.

use std::collections::HashMap;

use warpscope_probes::process::Visibility;
use warpscope_probes::{Frame, Gpu};

/// Longest chain of parents that is followed.
const GENERATIONS: usize = 64;

/// Processes remembered, so that one is known for what it was after it has gone.
const PROCESSES: usize = 1 << 16;

/// What a process is to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kin {
    /// The program or a descendant.
    Member,
    /// Certainly somebody else's.
    Other,
    /// It was gone before it could be asked, or lives in another namespace.
    Unknown,
}

/// The family of one process.
pub(crate) struct Family {
    /// The program; none for points whose program nobody knows.
    root: Option<u32>,
    known: HashMap<u32, Kin>,
}

impl Family {
    /// A program and its descendants.
    pub(crate) fn of(root: u32) -> Self {
        Self { root: Some(root), known: HashMap::new() }
    }

    /// Nobody's in particular.
    pub(crate) fn unknown() -> Self {
        Self { root: None, known: HashMap::new() }
    }

    /// The program, where it is known.
    pub(crate) fn root(&self) -> Option<u32> {
        self.root
    }

    /// Learns the processes of a frame while they live.
    pub(crate) fn see(&mut self, frame: &Frame) {
        if self.known.len() > PROCESSES {
            self.known.clear();
        }
        for process in &frame.processes {
            let seen = self.known.get(&process.pid).copied();
            if matches!(seen, None | Some(Kin::Unknown)) {
                let visible = process.visibility == Visibility::Visible;
                let kin = if visible { self.kin(process.pid) } else { Kin::Unknown };
                self.known.insert(process.pid, kin);
            }
        }
    }

    /// Whether a process is certainly not the program's.
    pub(crate) fn is_other(&self, pid: u32) -> bool {
        self.known.get(&pid) == Some(&Kin::Other)
    }

    /// The GPU the program works on. Where the driver names processes of another namespace, as it does in containers, the only GPU is
    /// taken; of several none is guessed.
    pub(crate) fn gpu<'a>(&self, frame: &'a Frame) -> Option<&'a Gpu> {
        let on = |kin: Kin| {
            let mut keys: Vec<&str> = frame
                .processes
                .iter()
                .filter(|process| self.known.get(&process.pid) == Some(&kin))
                .map(|process| process.gpu.as_str())
                .collect();
            keys.dedup();
            keys
        };
        let (members, unknown) = (on(Kin::Member), on(Kin::Unknown));
        let key = match (members.first(), unknown.first(), frame.gpus.len()) {
            (Some(key), ..) => key,
            (None, Some(key), 1) => key,
            _ => return None,
        };
        frame.gpus.iter().find(|gpu| gpu.key == *key)
    }

    fn kin(&self, pid: u32) -> Kin {
        let Some(root) = self.root else { return Kin::Unknown };
        let mut at = pid;
        for _ in 0..GENERATIONS {
            if at == root {
                return Kin::Member;
            }
            match parent(at) {
                Some(0) => return Kin::Other,
                Some(next) => at = next,
                None => return Kin::Unknown,
            }
        }
        Kin::Unknown
    }
}

/// The parent of a process; 0 for the first one.
fn parent(pid: u32) -> Option<u32> {
    u32::try_from(stat(pid, 1)?).ok()
}

/// When a process started, in ticks since the machine did: with its number, this names a process for good.
pub(crate) fn started(pid: u32) -> Option<u64> {
    stat(pid, 19)
}

/// A number of `/proc/PID/stat`, counted from the state, which is 0. A name may hold spaces and brackets.
pub(crate) fn stat(pid: u32, place: usize) -> Option<u64> {
    stat_fields(pid)?.get(place).copied()
}

/// All numbers of `/proc/PID/stat` from the state on; 0 for what is no number, and for what is below zero.
pub(crate) fn stat_fields(pid: u32) -> Option<Vec<u64>> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, behind_name) = stat.rsplit_once(')')?;
    Some(behind_name.split_ascii_whitespace().map(|word| word.parse().unwrap_or(0)).collect())
}

#[cfg(test)]
mod tests {
    use warpscope_probes::process::Process;

    use super::*;

    fn frame(gpus: &[&str], processes: &[(u32, &str, Visibility)]) -> Frame {
        Frame {
            gpus: gpus.iter().map(|key| Gpu { key: (*key).into(), ..Gpu::default() }).collect(),
            processes: processes
                .iter()
                .map(|(pid, gpu, visibility)| Process {
                    pid: *pid,
                    gpu: (*gpu).into(),
                    visibility: *visibility,
                    ..Process::default()
                })
                .collect(),
            ..Frame::default()
        }
    }

    #[test]
    fn descendants_are_own_and_strangers_are_not() {
        let me = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("starts");
        let all = [me, child.id(), 1].map(|pid| (pid, "b", Visibility::Visible));
        let mut family = Family::of(me);
        let frame = frame(&["a", "b"], &all);
        family.see(&frame);
        assert_eq!([me, child.id(), 1].map(|pid| family.is_other(pid)), [false, false, true]);
        assert_eq!(family.gpu(&frame).map(|gpu| gpu.key.as_str()), Some("b"));
        child.kill().expect("ends");
        child.wait().expect("ends");
    }

    #[test]
    fn in_a_container_the_only_gpu_is_taken_and_of_two_none() {
        let hidden = [(4_000_000, "a", Visibility::OtherNamespace)];
        let mut family = Family::of(std::process::id());
        for (gpus, want) in [(&["a"][..], Some("a")), (&["a", "b"][..], None)] {
            let frame = frame(gpus, &hidden);
            family.see(&frame);
            assert_eq!(family.gpu(&frame).map(|gpu| gpu.key.as_str()), want);
            assert!(!family.is_other(4_000_000));
        }
    }
}
