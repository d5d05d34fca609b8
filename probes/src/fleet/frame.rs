//! A machine of a fleet as a frame.

use serde_json::{Map, Value};

use super::{Fleet, Machine, State};
use crate::catalogue::Catalogue;
use crate::driver::DriverState;
use crate::gpu::{ClockReason, Gpu, Presence, Vitals};
use crate::reading::Reading;
use crate::units::Bytes;
use crate::{Frame, Notice, Origin, SCHEMA, Severity};

impl Fleet {
    /// A machine as a frame. What the server does not tell is absent.
    pub fn frame(&self, machine: usize) -> Option<Frame> {
        let about = self.machines.get(machine)?;
        let mut frame = Frame {
            schema: SCHEMA,
            seq: self.seq,
            at: self.at,
            interval_s: self.interval_s,
            origin: Origin::Remote { host: about.name.clone() },
            gpus: about.gpus.clone().map(|at| self.gpu(at, about.state)).collect(),
            ..Frame::default()
        };
        frame.driver.status = DriverState::Ready;
        frame.driver.versions.driver = reading(about.driver.clone());
        frame.driver.versions.cuda = reading(about.cuda.clone());
        frame.host.machine.hostname = about.name.clone().into();
        frame.notices.extend(notice(about, self.at.seconds_since(about.seen)));
        Some(frame)
    }

    fn gpu(&self, at: usize, state: State) -> Gpu {
        let member = &self.gpus[at];
        let mut gpu = Gpu { index: member.index.unwrap_or(0), ..Gpu::default() };
        gpu.key = member.uuid.clone().unwrap_or_else(|| member.key.clone());
        gpu.presence = if state == State::Lost { Presence::Lost } else { Presence::Present };
        gpu.identity.uuid = reading(member.uuid.clone());
        gpu.identity.name = reading(self.model(at).map(str::to_owned));
        let part = self.model(at).and_then(|name| Catalogue::load().find(name).ok());
        if let Some(part) = part {
            gpu.identity.sm = part.sm.into();
            let arch = Catalogue::load().arch(part.sm);
            gpu.identity.architecture = reading(arch.map(|arch| arch.family.clone()));
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
        // A number fits a reading as a fraction, as a whole number or as yes and no; one that does not fit must not take the others with it.
        let values = self.columns.iter().filter_map(|(field, values)| {
            let value = values.get(at).copied().flatten()?;
            [Value::from(value), Value::from(value as i64), Value::from(value > 0.0)]
                .into_iter()
                .map(|value| Map::from_iter([((*field).to_owned(), value)]))
                .find(|one| read(one.clone()).is_some())
        });
        let mut vitals = read(values.flatten().collect()).unwrap_or_default();
        if vitals.memory_total_bytes == Reading::Unsupported
            && let Some(total) = self.memory_total(at)
        {
            vitals.memory_total_bytes = Bytes(total as u64).into();
        }
        vitals
    }
}

fn read(values: Map<String, Value>) -> Option<Vitals> {
    serde_json::from_value(Value::Object(values)).ok()
}

fn reading<T>(value: Option<T>) -> Reading<T> {
    value.map_or(Reading::Unsupported, Reading::Value)
}

fn notice(machine: &Machine, age_s: f64) -> Option<Notice> {
    let what = match machine.state {
        State::Fresh => return None,
        State::Late => format!("The newest values of {} are {age_s:.0} s old.", machine.name),
        State::Lost => {
            format!("{} sends nothing any more; these are its last values.", machine.name)
        }
    };
    Some(Notice {
        id: "fleet.old".to_owned(),
        severity: Severity::Warning,
        what,
        remedy: "Look at the state of its exporter among the server's targets.".to_owned(),
    })
}
