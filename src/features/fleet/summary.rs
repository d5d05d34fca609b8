//! What is counted of a fleet, worked out once for each refresh and filter.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use warpscope_probes::fleet::{Fleet, State};

use super::Order;
use super::filter::Filter;
use super::metrics::METRICS;
use super::problems::{self, Problem};

/// GPUs with one thing in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Share {
    pub(super) name: String,
    pub(super) gpus: usize,
    /// Of those whose utilization is told.
    pub(super) busy_pct: Option<f64>,
    told: usize,
}

/// What is counted.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// Machines in view, in their order.
    pub(super) order: Vec<usize>,
    /// Whether the filter lets a GPU through.
    pub(super) fits: Vec<bool>,
    /// GPUs in view.
    pub(super) gpus: usize,
    pub(super) lost: usize,
    pub(super) late: usize,
    pub(super) busy_pct: Option<f64>,
    pub(super) watts: Option<f64>,
    pub(super) memory: Option<(f64, f64)>,
    /// The worst GPUs in view with what is wrong, the worst first.
    pub(super) worst: Vec<(usize, Problem)>,
    pub(super) models: Vec<Share>,
    /// By namespace, job or user; of `namespace/pod` the namespace.
    pub(super) owners: Vec<Share>,
}

impl Summary {
    /// Counts the GPUs that a filter lets through.
    pub(super) fn of(fleet: &Fleet, filter: &str, order: Order, metric: usize) -> Self {
        let filter = Filter::new(filter);
        let fits: Vec<bool> =
            (0..fleet.gpus.len()).map(|gpu| filter.is_empty() || filter.fits(fleet, gpu)).collect();
        let in_view = || (0..fleet.gpus.len()).filter(|gpu| fits[*gpu]);
        let mut worst: Vec<(usize, Problem)> =
            in_view().filter_map(|gpu| Some((gpu, problems::of(fleet, gpu)?))).collect();
        worst.sort_by(|a, b| b.1.weight.total_cmp(&a.1.weight).then(a.0.cmp(&b.0)));
        let machines = fleet.machines.iter().enumerate();
        let shown = machines
            .filter(|(_, machine)| machine.gpus.clone().any(|gpu| fits[gpu]))
            .map(|(at, _)| at);
        let mut summary = Self { order: shown.collect(), worst, ..Self::default() };
        summary.sort(fleet, order, metric);
        summary.count(fleet, in_view());
        let count =
            |state| summary.order.iter().filter(|at| fleet.machines[**at].state == state).count();
        (summary.lost, summary.late) = (count(State::Lost), count(State::Late));
        Self { fits, ..summary }
    }

    fn sort(&mut self, fleet: &Fleet, order: Order, metric: usize) {
        match order {
            Order::Name => {}
            Order::Worst => {
                let mut heaviest = vec![0.0; fleet.machines.len()];
                for (gpu, problem) in &self.worst {
                    heaviest[fleet.gpus[*gpu].machine] += problem.weight;
                }
                self.order.sort_by(|a, b| heaviest[*b].total_cmp(&heaviest[*a]));
            }
            Order::Value => {
                let value = |at: &usize| machine(fleet, *at, metric);
                let values: BTreeMap<usize, _> =
                    self.order.iter().map(|at| (*at, value(at))).collect();
                self.order.sort_by(|a, b| higher_first(values[a], values[b]));
            }
        }
    }

    fn count(&mut self, fleet: &Fleet, gpus: impl Iterator<Item = usize>) {
        let (mut busy, mut told) = (0.0, 0);
        let mut models: BTreeMap<&str, Share> = BTreeMap::new();
        let mut owners: BTreeMap<&str, Share> = BTreeMap::new();
        for gpu in gpus {
            self.gpus += 1;
            let load = fleet.value("util_gpu_pct", gpu);
            if let Some(load) = load {
                (busy, told) = (busy + load, told + 1);
            }
            let watts = fleet.value("power_w", gpu);
            self.watts = watts.map_or(self.watts, |watts| Some(self.watts.unwrap_or(0.0) + watts));
            let memory = fleet.value("memory_used_bytes", gpu).zip(fleet.memory_total(gpu));
            if let Some((used, total)) = memory {
                let (before, all) = self.memory.unwrap_or_default();
                self.memory = Some((before + used, all + total));
            }
            models.entry(fleet.model(gpu).unwrap_or("unknown")).or_default().add(load);
            let owner = fleet.owner(gpu).unwrap_or("unused or not reported");
            owners.entry(owner.split('/').next().unwrap_or(owner)).or_default().add(load);
        }
        self.busy_pct = (told > 0).then(|| busy / f64::from(told));
        self.models = shares(models);
        self.owners = shares(owners);
    }
}

impl Share {
    fn add(&mut self, load: Option<f64>) {
        self.gpus += 1;
        if let Some(load) = load {
            let sum = self.busy_pct.unwrap_or(0.0) * self.told as f64 + load;
            self.told += 1;
            self.busy_pct = Some(sum / self.told as f64);
        }
    }
}

/// The largest first.
fn shares(by_name: BTreeMap<&str, Share>) -> Vec<Share> {
    let named = |(name, share): (&str, Share)| Share { name: name.to_owned(), ..share };
    let mut shares: Vec<Share> = by_name.into_iter().map(named).collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.gpus));
    shares
}

fn higher_first(a: Option<f64>, b: Option<f64>) -> Ordering {
    b.unwrap_or(f64::NEG_INFINITY).total_cmp(&a.unwrap_or(f64::NEG_INFINITY))
}

/// What stands for a machine on the map.
pub(super) fn machine(fleet: &Fleet, at: usize, metric: usize) -> Option<f64> {
    let metric = &METRICS[metric];
    let values = fleet.machines[at].gpus.clone().filter_map(|gpu| (metric.value)(fleet, gpu));
    let (mut sum, mut count, mut highest) = (0.0, 0, f64::NEG_INFINITY);
    for value in values {
        (sum, count, highest) = (sum + value, count + 1, highest.max(value));
    }
    match (count, metric.takes_highest) {
        (0, _) => None,
        (_, true) => Some(highest),
        (count, false) => Some(sum / f64::from(count)),
    }
}
