//! What the child answers: what differs from its answer before. Most of a GPU never changes, and writing and reading it
//! again every second costs more than asking the driver.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use warpscope_probes::driver::Driver;
use warpscope_probes::gpu::{Identity, MigInstance, NvLink, Presence, ReadAt, Throttle, Vitals};
use warpscope_probes::process::GpuProcess;
use warpscope_probes::provider::GpuSection;
use warpscope_probes::reading::{Difference, Readings};
use warpscope_probes::xid::XidCount;
use warpscope_probes::{Gpu, Notice};

/// A part, unless it is as before.
type Changed<'a, T> = Option<Cow<'a, T>>;

/// The parts of an answer that changed.
#[derive(Serialize, Deserialize)]
pub(super) struct Changes<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    driver: Changed<'a, Driver>,
    /// `None`: as before.
    gpus: Vec<Option<GpuChanges<'a>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    processes: Changed<'a, [GpuProcess]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notices: Changed<'a, [Notice]>,
}

/// The parts of a GPU that changed; all of them where another GPU had its place.
#[derive(Serialize, Deserialize)]
struct GpuChanges<'a> {
    index: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Changed<'a, str>,
    #[serde(default)]
    presence: Presence,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<Difference<'a, Identity>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vitals: Option<Difference<'a, Vitals>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    throttle: Changed<'a, Throttle>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nvlinks: Changed<'a, [NvLink]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mig: Changed<'a, [MigInstance]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    processes_failed: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    xids: Changed<'a, [XidCount]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_at: Option<ReadAt>,
}

fn changed<'a, T: PartialEq + ToOwned + ?Sized>(before: &T, now: &'a T) -> Changed<'a, T> {
    (before != now).then_some(Cow::Borrowed(now))
}

fn differing<'a, R: Readings + PartialEq>(before: &'a R, now: &'a R) -> Option<Difference<'a, R>> {
    (before != now).then_some(Difference::Between(before, now))
}

fn put<T: ToOwned + ?Sized>(part: Changed<'_, T>, into: &mut T::Owned) {
    if let Some(part) = part {
        *into = part.into_owned();
    }
}

impl<'a> Changes<'a> {
    /// What makes the one the other.
    pub(super) fn between(before: &'a GpuSection, now: &'a GpuSection) -> Self {
        static NONE: LazyLock<Gpu> = LazyLock::new(Gpu::default);
        let gpu = |(at, gpu): (usize, &'a Gpu)| {
            let before = before.gpus.get(at);
            (before != Some(gpu)).then(|| GpuChanges::between(before.unwrap_or(&NONE), gpu))
        };
        Self {
            driver: changed(&before.driver, &now.driver),
            gpus: now.gpus.iter().enumerate().map(gpu).collect(),
            processes: changed(&before.processes[..], &now.processes),
            notices: changed(&before.notices[..], &now.notices),
        }
    }

    /// Brings the answer before up to date.
    pub(super) fn apply(self, to: &mut GpuSection) {
        put(self.driver, &mut to.driver);
        put(self.processes, &mut to.processes);
        put(self.notices, &mut to.notices);
        to.gpus.resize_with(self.gpus.len(), Gpu::default);
        for (changes, gpu) in self.gpus.into_iter().zip(&mut to.gpus) {
            changes.into_iter().for_each(|changes| changes.apply(gpu));
        }
    }
}

impl<'a> GpuChanges<'a> {
    fn between(before: &'a Gpu, now: &'a Gpu) -> Self {
        // Every part by its name, so that a new one is not forgotten.
        let Gpu {
            index,
            key,
            presence,
            identity,
            vitals,
            throttle,
            nvlinks,
            mig,
            processes_failed,
            xids,
            read_at,
        } = now;
        Self {
            index: *index,
            key: changed(&before.key[..], key),
            presence: *presence,
            identity: differing(&before.identity, identity),
            vitals: differing(&before.vitals, vitals),
            throttle: changed(&before.throttle, throttle),
            nvlinks: changed(&before.nvlinks[..], nvlinks),
            mig: changed(&before.mig[..], mig),
            processes_failed: processes_failed.as_deref().map(Cow::Borrowed),
            xids: changed(&before.xids[..], xids),
            read_at: (before.read_at != *read_at).then_some(*read_at),
        }
    }

    fn apply(self, to: &mut Gpu) {
        (to.index, to.presence) = (self.index, self.presence);
        put(self.key, &mut to.key);
        self.identity.into_iter().for_each(|changes| changes.apply(&mut to.identity));
        self.vitals.into_iter().for_each(|changes| changes.apply(&mut to.vitals));
        put(self.throttle, &mut to.throttle);
        put(self.nvlinks, &mut to.nvlinks);
        put(self.mig, &mut to.mig);
        to.processes_failed = self.processes_failed.map(Cow::into_owned);
        put(self.xids, &mut to.xids);
        to.read_at = self.read_at.unwrap_or(to.read_at);
    }
}

#[cfg(test)]
mod tests {
    use warpscope_probes::Timestamp;
    use warpscope_probes::units::{Celsius, Watts};

    use super::*;

    fn gpu(key: &str, watts: f64) -> Gpu {
        let mut gpu = Gpu { key: key.into(), presence: Presence::Present, ..Gpu::default() };
        gpu.identity.name = "NVIDIA H100".to_owned().into();
        gpu.vitals.power_w = Watts(watts).into();
        gpu
    }

    fn section(gpus: Vec<Gpu>) -> GpuSection {
        GpuSection { gpus, ..GpuSection::default() }
    }

    /// As it arrives at the other end.
    fn sent(before: &GpuSection, now: &GpuSection) -> (GpuSection, usize) {
        let line = serde_json::to_string(&Changes::between(before, now)).expect("serialises");
        let mut to = before.clone();
        serde_json::from_str::<Changes<'_>>(&line).expect("reads back").apply(&mut to);
        (to, line.len())
    }

    #[test]
    fn every_answer_arrives_whole_whatever_came_before() {
        let mut late = gpu("b", 70.0);
        late.make_late();
        late.vitals.temperature_c = Celsius(41.0).into();
        late.xids.push(XidCount { xid: 79, count: 1 });
        late.processes_failed = Some("NVML error 999".into());
        late.read_at.turn = Some(Timestamp(1_795_255_872_345));
        late.nvlinks.push(NvLink {
            link: 3,
            active: true,
            version: None,
            remote: None,
            errors: None,
        });
        let answers = [
            GpuSection::default(),
            section(vec![gpu("a", 60.0), gpu("b", 70.0)]),
            section(vec![gpu("a", 60.0), late]),
            section(vec![gpu("b", 70.0)]),
            section(vec![gpu("b", 70.0), Gpu::default(), gpu("c", 1.0)]),
        ];
        for before in &answers {
            for now in &answers {
                assert_eq!(sent(before, now).0, *now, "after {before:?}");
            }
        }
    }

    #[test]
    fn what_stays_is_not_sent() {
        let (before, now) = (section(vec![gpu("a", 60.0)]), section(vec![gpu("a", 61.0)]));
        assert_eq!(sent(&before, &before).1, "{\"gpus\":[null]}".len());
        assert!(sent(&before, &now).1 < 80);
    }
}
