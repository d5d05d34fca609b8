//! Answers of a server put together to a fleet.

use std::collections::HashMap;

use super::answer::Series;
use super::order::sorted;
use super::{Cost, Exporter, Fleet, Machine, Member, Metric, State};
use crate::gpu::CLOCK_REASONS;
use crate::time::Timestamp;

/// Most GPUs that are taken; more have to be narrowed down.
pub const MOST_GPUS: usize = 65_536;
/// A machine whose values are younger is not late.
const LATE_S: f64 = 60.0;
/// So many times the usual age is late.
const LATE_TIMES: f64 = 3.0;
/// What is older is late whatever is usual: the longest pause between two collections that servers bridge is five minutes, and most collect
/// once a minute or more often.
const LATE_ALWAYS_S: f64 = 180.0;
/// A machine that is gone is shown for so long.
const REMEMBERED_S: f64 = 3600.0;

/// What is found of one exporter.
#[derive(Default)]
struct Found {
    /// The label by which its machines are named.
    host: String,
    /// Places of GPUs by machine and key.
    places: HashMap<(String, String), usize>,
}

/// Puts a fleet together.
#[derive(Default)]
pub struct Builder {
    fleet: Fleet,
    machines: HashMap<String, usize>,
    uuids: HashMap<String, usize>,
    found: HashMap<&'static str, Found>,
    models: Names,
    owners: Names,
    /// The server's time.
    at: Option<Timestamp>,
    /// GPUs left out, being too many.
    pub left_out: usize,
}

impl Builder {
    /// The GPUs of an exporter: one series each, with all its labels, and the time of its newest sample. Says by which label its machines are
    /// named; none has come: it is not there.
    pub fn members(
        &mut self,
        exporter: &'static Exporter,
        series: &[Series<'_>],
    ) -> Option<&'static str> {
        let is_on_all = |label: &&String| series.iter().all(|one| one.label(label).is_some());
        let host = exporter.host.iter().find(is_on_all)?;
        if series.is_empty() {
            return None;
        }
        self.found.insert(&exporter.name, Found { host: host.clone(), places: HashMap::new() });
        for one in series {
            self.at = self.at.max(one.values.last().map(|value| timestamp(value.0)));
            self.member(exporter, host, one);
        }
        Some(host)
    }

    fn member(&mut self, exporter: &'static Exporter, host: &str, series: &Series<'_>) {
        let (Some(name), Some(key)) = (series.label(host), series.label(&exporter.key)) else {
            return;
        };
        let machine = self.machine(machine_name(name));
        let seen = series.last().map_or(Timestamp(0), timestamp);
        let about = &mut self.fleet.machines[machine];
        about.seen = about.seen.max(seen);
        let uuid = series.label(&exporter.uuid).map(full_uuid);
        let known = uuid.as_ref().and_then(|uuid| self.uuids.get(uuid)).copied();
        let place = (machine_name(name).to_owned(), key.to_owned());
        let at =
            known.or_else(|| self.found.get(exporter.name.as_str())?.places.get(&place).copied());
        let at = match at {
            Some(at) => at,
            None if self.fleet.gpus.len() >= MOST_GPUS => {
                self.left_out += 1;
                return;
            }
            None => self.new_member(machine, key, uuid),
        };
        let member = &mut self.fleet.gpus[at];
        member.seen = member.seen.max(seen);
        if let Some(found) = self.found.get_mut(exporter.name.as_str()) {
            found.places.insert(place, at);
        }
        self.describe(exporter, at, series);
    }

    fn machine(&mut self, name: &str) -> usize {
        if let Some(at) = self.machines.get(name) {
            return *at;
        }
        let at = self.fleet.machines.len();
        self.fleet.machines.push(Machine { name: name.to_owned(), ..Machine::default() });
        self.machines.insert(name.to_owned(), at);
        at
    }

    fn new_member(&mut self, machine: usize, key: &str, uuid: Option<String>) -> usize {
        let at = self.fleet.gpus.len();
        if let Some(uuid) = &uuid {
            self.uuids.insert(uuid.clone(), at);
        }
        let model = self.models.place("");
        let key = key.to_owned();
        let seen = Timestamp(0);
        self.fleet.gpus.push(Member { machine, index: None, key, uuid, model, owner: None, seen });
        at
    }

    /// Takes what labels say of a GPU and of its machine, as far as it is not known.
    fn describe(&mut self, exporter: &Exporter, at: usize, series: &Series<'_>) {
        let fleet = &mut self.fleet;
        let member = &mut fleet.gpus[at];
        member.index = member.index.or_else(|| series.label(&exporter.index)?.parse().ok());
        if member.model == self.models.place("") {
            member.model = self.models.place(series.label(&exporter.model).unwrap_or_default());
        }
        if member.owner.is_none() {
            let words = exporter.owners.iter().find_map(|labels| owner(series, labels));
            member.owner = words.map(|words| self.owners.place(&words));
        }
        let machine = &mut fleet.machines[member.machine];
        let version = |label: &Option<String>| series.label(label.as_ref()?).map(str::to_owned);
        machine.driver = machine.driver.take().or_else(|| version(&exporter.driver));
        machine.cuda = machine.cuda.take().or_else(|| version(&exporter.cuda));
    }

    /// Takes the labels of an exporter's metric that says what GPUs are.
    pub fn info(&mut self, exporter: &Exporter, series: &[Series<'_>]) {
        for one in series {
            if let Some(at) = self.place(exporter, one) {
                self.describe(exporter, at, one);
            }
        }
    }

    fn place(&self, exporter: &Exporter, series: &Series<'_>) -> Option<usize> {
        let found = self.found.get(exporter.name.as_str())?;
        let machine = machine_name(series.label(&found.host)?).to_owned();
        found.places.get(&(machine, series.label(&exporter.key)?.to_owned())).copied()
    }

    /// Takes the values of a metric. What another exporter told already stays.
    pub fn values(&mut self, exporter: &Exporter, metric: &'static Metric, series: &[Series<'_>]) {
        if series.is_empty() {
            return;
        }
        let mut told: HashMap<usize, f64> = HashMap::with_capacity(series.len());
        for one in series {
            let value = one.last().and_then(|value| metric.reading(value));
            let (Some(at), Some(value)) = (self.place(exporter, one), value) else { continue };
            match &metric.reasons {
                Some(label) => {
                    let bit = one.label(label).map_or(0, reason) as f64;
                    *told.entry(at).or_default() += if value > 0.0 { bit } else { 0.0 };
                }
                None => {
                    told.insert(at, value);
                }
            }
        }
        for (at, value) in told {
            self.column(&metric.field)[at].get_or_insert(value);
        }
    }

    /// The values of a reading, with room for every GPU.
    fn column(&mut self, field: &'static str) -> &mut [Option<f64>] {
        let count = self.fleet.gpus.len();
        let columns = &mut self.fleet.columns;
        let known = columns.iter().position(|column| column.0 == field);
        let column = known.unwrap_or_else(|| {
            columns.push((field, Vec::new()));
            columns.len() - 1
        });
        columns[column].1.resize(count, None);
        &mut columns[column].1
    }

    /// The fleet, in order, with what the one before had and is gone. `at` is the time here, for when the server told none.
    pub fn finish(mut self, at: Timestamp, cost: Cost, before: Option<&Fleet>) -> Fleet {
        let at = self.at.unwrap_or(at);
        self.judge(at);
        if let Some(before) = before {
            self.remember(at, before);
        }
        let mut fleet = sorted(self.fleet);
        (fleet.models, fleet.owners) = (self.models.into_list(), self.owners.into_list());
        (fleet.at, fleet.cost) = (at, cost);
        fleet.seq = before.map_or(0, |before| before.seq) + 1;
        fleet
    }

    fn judge(&mut self, at: Timestamp) {
        let machines = &mut self.fleet.machines;
        let mut ages: Vec<f64> = machines.iter().map(|it| at.seconds_since(it.seen)).collect();
        let ages_of = ages.clone();
        ages.sort_by(f64::total_cmp);
        let usual = ages.get(ages.len() / 2).copied().unwrap_or(0.0);
        let limit = (LATE_TIMES * usual).clamp(LATE_S, LATE_ALWAYS_S);
        for (machine, age) in machines.iter_mut().zip(ages_of) {
            machine.state = if age > limit { State::Late } else { State::Fresh };
        }
    }

    /// Keeps machines that were there before, and GPUs of those that still are.
    fn remember(&mut self, at: Timestamp, before: &Fleet) {
        let is_old = |seen| at.seconds_since(seen) > REMEMBERED_S;
        for machine in before.machines.iter().filter(|machine| !is_old(machine.seen)) {
            let is_gone = !self.machines.contains_key(&machine.name);
            let here = self.machine(&machine.name);
            if is_gone {
                self.fleet.machines[here] = Machine { state: State::Lost, ..machine.clone() };
            }
            for old in machine.gpus.clone() {
                let member = &before.gpus[old];
                if is_gone {
                    self.keep(here, before, old);
                } else if !is_old(member.seen) && !self.has(&machine.name, member) {
                    let new = self.keep(here, before, old);
                    self.column("up")[new] = Some(0.0);
                }
            }
        }
    }

    /// Whether an exporter told of a GPU.
    fn has(&self, machine: &str, member: &Member) -> bool {
        let is_known = member.uuid.as_ref().is_some_and(|uuid| self.uuids.contains_key(uuid));
        let place = (machine.to_owned(), member.key.clone());
        is_known || self.found.values().any(|found| found.places.contains_key(&place))
    }

    /// Takes over a GPU with its last values, and says where.
    fn keep(&mut self, machine: usize, before: &Fleet, old: usize) -> usize {
        let member = &before.gpus[old];
        let new = self.new_member(machine, &member.key, member.uuid.clone());
        let model = self.models.place(before.model(old).unwrap_or_default());
        let owner = before.owner(old).map(|owner| self.owners.place(owner));
        let gpu = &mut self.fleet.gpus[new];
        (gpu.index, gpu.seen, gpu.model, gpu.owner) = (member.index, member.seen, model, owner);
        for (field, _) in &before.columns {
            self.column(field)[new] = before.value(field, old);
        }
        new
    }
}

/// Texts, each once.
#[derive(Default)]
pub(super) struct Names(HashMap<String, usize>);

impl Names {
    /// The place of a text, which is given one where it is new.
    pub(super) fn place(&mut self, text: &str) -> usize {
        let next = self.0.len();
        match self.0.get(text) {
            Some(place) => *place,
            None => *self.0.entry(text.to_owned()).or_insert(next),
        }
    }

    pub(super) fn into_list(self) -> Vec<String> {
        let mut all: Vec<_> = self.0.into_iter().collect();
        all.sort_by_key(|(_, place)| *place);
        all.into_iter().map(|(text, _)| text).collect()
    }
}

/// Who holds a GPU by these labels. An exporter that runs as a pod puts its own name where nobody holds the GPU.
fn owner(series: &Series<'_>, labels: &[String]) -> Option<String> {
    let parts = labels.iter().map(|label| series.label(label));
    let words = parts.collect::<Option<Vec<_>>>()?.join("/");
    (!words.contains("exporter")).then_some(words)
}

fn reason(words: &str) -> u64 {
    CLOCK_REASONS.iter().find(|row| row.2 == words).map_or(0, |row| row.0)
}

/// A machine without the port of its exporter.
fn machine_name(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((host, port))
            if !host.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            host
        }
        _ => name,
    }
}

fn full_uuid(uuid: &str) -> String {
    let known = ["GPU-", "MIG-"].iter().any(|start| uuid.starts_with(start));
    if known { uuid.to_owned() } else { format!("GPU-{uuid}") }
}

fn timestamp(seconds: f64) -> Timestamp {
    const YEAR_9999: f64 = 253_402_300_799.0;
    Timestamp((seconds.clamp(0.0, YEAR_9999) * 1000.0) as u64)
}
