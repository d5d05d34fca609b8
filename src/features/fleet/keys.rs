//! What the keys of the Fleet tab do.

use super::metrics::METRICS;
use super::runs::Runs;
use super::{Fleet, ORDERS, Popup};
use crate::features::keys::keys;
use crate::features::orders::{next, words};
use crate::features::{Effect, Key, Scroll, Shared, say};

impl Fleet {
    /// The keys of the tab.
    pub const KEYS: &'static [Key<Self>] = keys! {
        "filter_fleet", ["/"], "filter", "Show only GPUs that fit: words of host, model, owner or problem, and comparisons such as util<5 or mem>90.", |_, _| vec![Effect::TypeFilter];
        "map_value", ["m"], "value", "Show another value on the map: utilization, memory, temperature, power, problems.", Self::next_metric;
        "sort_fleet", ["s", "f6"], "sort", "Order machines by name, the worst first, or the highest value first.", Self::sort;
        "fleet_runs", ["c"], "what runs", "Show on how many of the GPUs in view each configuration works.", Self::count_runs;
    };

    fn next_metric(&mut self, _shared: &Shared) -> Vec<Effect> {
        self.change(|tab| tab.metric = (tab.metric + 1) % METRICS.len());
        Vec::new()
    }

    fn sort(&mut self, _shared: &Shared) -> Vec<Effect> {
        self.change(|tab| tab.order = next(ORDERS, tab.order));
        self.cursor.at = 0;
        say(format!("Sorted: {}.", words(ORDERS, &self.order)))
    }

    fn count_runs(&mut self, _shared: &Shared) -> Vec<Effect> {
        let Some(machines) = &self.machines else { return Vec::new() };
        let runs = Runs::of(machines, &self.summary.fits, &self.rules.get());
        self.popup = Some(Popup::Runs(runs, Scroll::default()));
        Vec::new()
    }
}
