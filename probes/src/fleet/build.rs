//! Answers of a server put together to a fleet.

use std::collections::HashMap;

use super::answer::Series;
use super::{Cost, Exporter, Fleet, Machine, Member, Metric, State};
use crate::gpu::CLOCK_REASONS;
use crate::time::Timestamp;

/// Most GPUs that are taken; more have to be narrowed down.
pub const MOST_GPUS: usize = 65_536;
/// A machine whose values are older is late, unless all are.
const LATE_S: f64 = 60.0;
/// So many times the usual age is late.
const LATE_TIMES: f64 = 3.0;
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
        self.fleet.gpus.push(Member { machine, index: None, key, uuid, model, owner: None });
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
            let (Some(at), Some(value)) = (self.place(exporter, one), one.last()) else { continue };
            match &metric.reasons {
                Some(label) => {
                    let bit = one.label(label).map_or(0, reason) as f64;
                    *told.entry(at).or_default() += if value > 0.0 { bit } else { 0.0 };
                }
                None => {
                    told.insert(at, value * metric.factor);
                }
            }
        }
        let count = self.fleet.gpus.len();
        let columns = &mut self.fleet.columns;
        let column = match columns.iter().position(|column| column.0 == metric.field) {
            Some(column) => column,
            None => {
                columns.push((&metric.field, Vec::new()));
                columns.len() - 1
            }
        };
        let values = &mut columns[column].1;
        values.resize(count, None);
        for (at, value) in told {
            values[at].get_or_insert(value);
        }
    }

    /// The fleet, in order, with machines of the one before that are gone.
    pub fn finish(mut self, at: Timestamp, cost: Cost, before: Option<&Fleet>) -> Fleet {
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
        let limit = LATE_S.max(LATE_TIMES * usual);
        for (machine, age) in machines.iter_mut().zip(ages_of) {
            machine.state = if age > limit { State::Late } else { State::Fresh };
        }
    }

    /// Keeps machines that were there before.
    fn remember(&mut self, at: Timestamp, before: &Fleet) {
        for (place, machine) in before.machines.iter().enumerate() {
            let is_gone = !self.machines.contains_key(&machine.name);
            if !is_gone || at.seconds_since(machine.seen) > REMEMBERED_S {
                continue;
            }
            let here = self.machine(&machine.name);
            self.fleet.machines[here] = Machine { state: State::Lost, ..machine.clone() };
            for (old, member) in before.gpus.iter().enumerate().filter(|it| it.1.machine == place) {
                let new = self.new_member(here, &member.key, member.uuid.clone());
                let gpu = &mut self.fleet.gpus[new];
                gpu.index = member.index;
                gpu.model = self.models.place(before.model(old).unwrap_or_default());
                gpu.owner = before.owner(old).map(|owner| self.owners.place(owner));
                for (field, values) in &mut self.fleet.columns {
                    values.resize(new + 1, None);
                    values[new] = before.value(field, old);
                }
            }
        }
    }
}

/// Texts, each once.
#[derive(Default)]
struct Names(HashMap<String, usize>);

impl Names {
    /// The place of a text, which is given one where it is new.
    fn place(&mut self, text: &str) -> usize {
        let next = self.0.len();
        match self.0.get(text) {
            Some(place) => *place,
            None => *self.0.entry(text.to_owned()).or_insert(next),
        }
    }

    fn into_list(self) -> Vec<String> {
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

pub(super) fn timestamp(seconds: f64) -> Timestamp {
    Timestamp((seconds.max(0.0) * 1000.0) as u64)
}

/// Machines by name, numbers in names as numbers; GPUs by machine and number.
fn sorted(fleet: Fleet) -> Fleet {
    let Fleet { machines, gpus, columns, .. } = &fleet;
    let mut order: Vec<usize> = (0..machines.len()).collect();
    order.sort_by_cached_key(|at| natural(&machines[*at].name));
    let mut rank = vec![0; machines.len()];
    for (new, old) in order.iter().enumerate() {
        rank[*old] = new;
    }
    let mut members: Vec<usize> = (0..gpus.len()).collect();
    members.sort_by_cached_key(|at| {
        let member = &gpus[*at];
        (rank[member.machine], member.index.unwrap_or(u32::MAX), member.key.clone())
    });
    let columns = columns.iter().map(|(field, values)| {
        (*field, members.iter().map(|at| values.get(*at).copied().flatten()).collect())
    });
    let columns = columns.collect();
    let mut gpus: Vec<Member> = members.iter().map(|at| gpus[*at].clone()).collect();
    gpus.iter_mut().for_each(|gpu| gpu.machine = rank[gpu.machine]);
    let mut machines: Vec<Machine> = order.iter().map(|at| machines[*at].clone()).collect();
    let mut from = 0;
    for (at, machine) in machines.iter_mut().enumerate() {
        let count = gpus[from..].iter().take_while(|gpu| gpu.machine == at).count();
        machine.gpus = from..from + count;
        from += count;
    }
    Fleet { machines, gpus, columns, ..fleet }
}

/// A name whose numbers compare as numbers.
pub(super) fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let digits =
            rest[text..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |n| text + n);
        parts.push((rest[..text].to_lowercase(), rest[text..digits].parse().unwrap_or(u64::MAX)));
        rest = &rest[digits..];
    }
    parts
}
