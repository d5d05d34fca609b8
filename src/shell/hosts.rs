//! Machines whose frames come in side by side. One is in view, in [`Shared`]; the others keep their newest frame and their histories here.

use std::collections::BTreeMap;
use std::mem::replace;

use warpscope_probes::fleet::{self, Fleet, natural};
use warpscope_probes::gpu::Presence;
use warpscope_probes::{Frame, Origin, Severity};

use crate::features::Shared;
pub use crate::features::shared::machine_name as name;
use crate::store::Store;

/// Machines that are not in view, by name.
#[derive(Debug, Default)]
pub struct Hosts {
    others: BTreeMap<String, Other>,
}

#[derive(Debug, Default)]
struct Other {
    frame: Frame,
    store: Store,
}

/// How a machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing comes from it.
    Lost,
    /// It has something to tell.
    Troubled,
    /// Nothing is wrong.
    Fine,
}

impl Hosts {
    /// The frame, where it is of the machine in view; that of another one is kept. The first one comes into view.
    pub fn take(&mut self, frame: Frame, shared: &Shared) -> Option<Frame> {
        let is_first = shared.frame.seq == 0 && shared.frame.origin == Origin::Local;
        if is_first || name(&frame) == name(&shared.frame) {
            return Some(frame);
        }
        let other = self.others.entry(name(&frame).to_owned()).or_default();
        other.store.push(&frame);
        other.frame = frame;
        None
    }

    /// Brings another machine into view: its newest frame, to be taken as if it had just come. What was in view is kept.
    pub fn show(&mut self, wanted: &str, shared: &mut Shared) -> Option<Frame> {
        let other = self.others.remove(wanted)?;
        let before = name(&shared.frame).to_owned();
        let frame = replace(
            &mut shared.frame,
            Frame { origin: other.frame.origin.clone(), ..Frame::default() },
        );
        let store = replace(&mut shared.store, other.store);
        self.others.insert(before, Other { frame, store });
        Some(other.frame)
    }

    /// Every machine's newest frame, in the order of their names, with the one in view.
    pub fn frames<'a>(&'a self, shared: &'a Shared) -> Vec<&'a Frame> {
        let mut frames: Vec<_> = self.others.values().map(|other| &other.frame).collect();
        frames.push(&shared.frame);
        frames.sort_by_cached_key(|frame| natural(name(frame)));
        frames
    }

    /// All of them at once.
    pub fn fleet(&self, shared: &Shared) -> Fleet {
        let frames = self.frames(shared);
        Fleet::of(frames.into_iter().map(|frame| {
            let how = match state(frame) {
                State::Lost => fleet::State::Lost,
                State::Troubled | State::Fine => fleet::State::Fresh,
            };
            (frame, name(frame), how)
        }))
    }

    /// How many there are, with the one in view.
    pub fn count(&self) -> usize {
        self.others.len() + 1
    }

    /// Whether there is more than one.
    pub fn are_several(&self) -> bool {
        !self.others.is_empty()
    }
}

/// How the machine of a frame does.
pub fn state(frame: &Frame) -> State {
    let lost = frame.notices.iter().any(|notice| notice.id == warpscope_probes::Notice::HOST_LOST);
    let troubled = frame.notices.iter().any(|notice| notice.severity == Severity::Error)
        || frame.gpus.iter().any(|gpu| gpu.presence == Presence::Lost);
    match (lost, troubled) {
        (true, _) => State::Lost,
        (false, true) => State::Troubled,
        (false, false) => State::Fine,
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::time::Duration;

    use warpscope_probes::Gpu;

    use super::*;
    use crate::features::Settings;

    fn of(host: &str, seq: u64) -> Frame {
        let origin = Origin::Remote { host: host.to_owned() };
        let gpus = vec![Gpu { key: format!("GPU-{host}"), ..Gpu::default() }];
        Frame { seq, origin, gpus, ..Frame::default() }
    }

    fn shared() -> Shared {
        let settings = Settings {
            interval: Duration::from_secs(1),
            readonly: false,
            inspect: false,
            theme: OsString::new(),
        };
        Shared::new(settings, crate::features::what_if::WhatIf::default())
    }

    #[test]
    fn the_first_machine_is_in_view_until_another_one_is_asked_for() {
        let (mut hosts, mut shared) = (Hosts::default(), shared());
        shared.frame = hosts.take(of("a", 1), &shared).expect("is in view");
        assert_eq!(hosts.take(of("b", 1), &shared), None);
        assert_eq!(hosts.take(of("b", 2), &shared), None);
        assert!(hosts.take(of("a", 2), &shared).is_some());
        let shown = hosts.show("b", &mut shared).expect("is known");
        assert_eq!((name(&shown), shown.seq), ("b", 2));
        assert_eq!(hosts.take(of("a", 3), &shared), None);
        shared.frame = shown;
        let names: Vec<_> = hosts.frames(&shared).into_iter().map(name).collect();
        assert_eq!(names, ["a", "b"]);
        let of_many = ["c10", "c2"].map(|host| hosts.take(of(host, 1), &shared));
        assert_eq!(of_many, [None, None]);
        let names: Vec<_> = hosts.frames(&shared).into_iter().map(name).collect();
        assert_eq!(names, ["a", "b", "c2", "c10"]);
        assert_eq!(hosts.show("c", &mut shared), None);
    }
}
