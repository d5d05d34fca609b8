//! A machine of a fleet as a frame.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::{Fleet, Machine, State};
use crate::catalogue::{Catalogue, Part};
use crate::driver::DriverState;
use crate::gpu::{ClockReason, Gpu, Presence, Vitals};
use crate::reading::Reading;
use crate::units::Bytes;
use crate::{Frame, Notice, Origin, SCHEMA, Severity};

impl Fleet {
    /// A machine as a frame. What the server does not tell is absent.
    pub fn frame(&self, machine: usize) -> Option<Frame> {
        let about = self.machines.get(machine)?;
        let mut kinds = BTreeMap::new();
        let mut frame = Frame {
            schema: SCHEMA,
            seq: self.seq,
            at: self.at,
            interval_s: self.interval_s,
            origin: Origin::Remote { host: about.name.clone() },
            gpus: about.gpus.clone().map(|at| self.gpu(at, &mut kinds)).collect(),
            without_processes: true,
            ..Frame::default()
        };
        frame.driver.status = DriverState::Ready;
        frame.driver.versions.driver = Reading::of(about.driver.clone());
        frame.driver.versions.cuda = Reading::of(about.cuda.clone());
        frame.host.machine.hostname = about.name.clone().into();
        frame.notices.extend(notice(about, self.at.seconds_since(about.seen)));
        Some(frame)
    }

    /// `kinds` remembers products by their place: finding one compares names with the whole catalogue.
    fn gpu(&self, at: usize, kinds: &mut BTreeMap<usize, Option<&'static Part>>) -> Gpu {
        let (member, state) = (&self.gpus[at], self.state(at));
        let mut gpu = Gpu { index: member.index.unwrap_or(0), ..Gpu::default() };
        gpu.key = member.uuid.clone().unwrap_or_else(|| member.key.clone());
        gpu.presence = if state == State::Lost { Presence::Lost } else { Presence::Present };
        gpu.identity.uuid = Reading::of(member.uuid.clone());
        gpu.identity.name = Reading::of(self.model(at).map(str::to_owned));
        let found = || self.model(at).and_then(|name| Catalogue::load().find(name).ok());
        if let Some(part) = *kinds.entry(member.model).or_insert_with(found) {
            gpu.identity.sm = part.sm.into();
            let arch = Catalogue::load().arch(part.sm);
            gpu.identity.architecture = Reading::of(arch.map(|arch| arch.family.clone()));
            gpu.identity.memory_type = part.memory_type.clone().into();
        }
        gpu.vitals = self.vitals(at);
        if let Some(mask) = self.value("clock_reasons", at) {
            let (reasons, unknown) = ClockReason::decode(mask as u64);
            (gpu.throttle.active, gpu.throttle.unknown_bits) = (reasons.into(), unknown);
        }
        if state != State::Fresh {
            gpu.make_late();
        }
        gpu
    }

    fn vitals(&self, at: usize) -> Vitals {
        let values = self.columns.iter().filter_map(|(field, values)| {
            let value = values.get(at).copied().flatten()?;
            Some(((*field).to_owned(), FORMS.get(field)?(value)))
        });
        let values = Value::Object(values.collect());
        let mut vitals: Vitals = serde_json::from_value(values).unwrap_or_default();
        if vitals.memory_total_bytes == Reading::Unsupported
            && let Some(total) = self.memory_total(at)
        {
            vitals.memory_total_bytes = Bytes(total as u64).into();
        }
        vitals
    }
}

/// How a number is written that becomes a reading.
type Form = fn(f64) -> Value;

/// The form of every reading: a fraction, a whole number, or yes and no. Which one it takes is found by trying.
static FORMS: LazyLock<BTreeMap<&str, Form>> = LazyLock::new(|| {
    let forms: [Form; 3] =
        [|value| value.into(), |value| (value as u64).into(), |value| (value > 0.0).into()];
    let form = |field: &str| {
        forms.into_iter().find(|form| {
            let one = Value::Object(Map::from_iter([(field.to_owned(), form(0.5))]));
            serde_json::from_value::<Vitals>(one).is_ok()
        })
    };
    Vitals::FIELDS.iter().filter_map(|field| Some((field.key, form(field.key)?))).collect()
});

fn notice(machine: &Machine, age_s: f64) -> Option<Notice> {
    let what = match machine.state {
        State::Fresh => return None,
        State::Late => format!("The newest values of {} are {age_s:.0} s old.", machine.name),
        State::Lost => {
            format!("{} has stopped sending; these are its last values.", machine.name)
        }
    };
    Some(Notice {
        id: "fleet.old".to_owned(),
        severity: Severity::Warning,
        what,
        remedy: "Look at the state of its exporter among the server's targets.".to_owned(),
    })
}
