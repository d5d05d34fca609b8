//! What a framework's share of a GPU leaves for keys and values, and what has to stand beside it.

use serde::Serialize;

use super::demand::Demand;
use super::device::Device;
use super::estimate::{Estimate, Range, independent};
use super::framework::{Family, Release};
use super::kv::Cache;
use super::runtime::context;

/// Whether it fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fits {
    /// At the upper end of the range still.
    Fits,
    /// Within the error bar.
    Tight,
    /// At the lower end of the range not.
    DoesNotFit,
    /// Too little is known.
    Unknown,
}

/// Shares that pools take by default.
const VLLM_SHARE: f64 = 0.9;
const LMDEPLOY_SHARE: f64 = 0.8;
const TGI_SHARE: f64 = 0.95;
const TENSORRT_SHARE: f64 = 0.9;
/// From this on vLLM leaves room for graphs within its share (`envs.py@v0.20.0:VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS`); before, it
/// filled the share with the cache and captured them beside it.
const VLLM_GRAPHS_INSIDE: Release = (0, 20, 0);
/// LMDeploy up to this took its share of the whole GPU.
const LMDEPLOY_OF_TOTAL: (u32, u32, u32) = (0, 2, 1);

/// The largest share that the fullest of these GPUs has free, where that is less than vLLM takes by default; none where all have enough. It
/// stops if less is free once the context is there ("Free memory on device … is less than desired GPU memory utilization",
/// `gpu_worker.py@v0.9.1:init_device`).
pub(super) fn smaller_share(demand: &Demand, group: &[Device]) -> Option<f64> {
    let shares = group.iter().map(|device| free_share(demand, device));
    let share = shares.min_by(f64::total_cmp)?;
    (share < VLLM_SHARE).then(|| (share * 100.0).floor().max(1.0) / 100.0)
}

/// Share of a GPU that is free for vLLM; all of it where nobody else holds any.
fn free_share(demand: &Demand, device: &Device) -> f64 {
    if device.free >= device.usable {
        return 1.0;
    }
    (device.free - context(demand, device).bytes.mid) / device.usable
}

/// What a context takes is known as well as this.
const UNSURE: f64 = 0.02;

/// Why vLLM does not start with the share that was asked for.
pub(super) fn lacks_share(family: Family, demand: &Demand, device: &Device) -> Option<String> {
    let share = demand.tuning.utilization.filter(|_| family == Family::Vllm)?;
    let free = free_share(demand, device);
    (share > free + UNSURE && free < 1.0).then(|| {
        format!("{share} of the memory was asked for, and only {:.2} of it is free", free.max(0.0))
    })
}

/// Everything but keys and values.
pub(super) struct Parts {
    pub(super) weights: Estimate,
    pub(super) activations: Estimate,
    pub(super) graphs: Estimate,
    pub(super) context: Estimate,
    pub(super) libraries: Estimate,
}

impl Parts {
    pub(super) fn sum(&self) -> Range {
        let parts = [self.weights, self.activations, self.graphs, self.context, self.libraries];
        independent(parts.map(|part| part.bytes))
    }
}

/// One of the GPUs with what stands on it.
pub(super) struct Placed<'a> {
    pub(super) family: Family,
    pub(super) device: &'a Device,
    pub(super) demand: &'a Demand,
    pub(super) cache: Cache,
    /// The cache of the layout that takes most, where a file's is not known.
    pub(super) largest: Cache,
    pub(super) parts: Parts,
}

impl Placed<'_> {
    pub(super) fn share(&self) -> f64 {
        let usual = match self.family {
            Family::Vllm => VLLM_SHARE,
            Family::Lmdeploy => LMDEPLOY_SHARE,
            Family::Tgi => TGI_SHARE,
            Family::TensorRtLlm => TENSORRT_SHARE,
            _ => 1.0,
        };
        self.demand.tuning.utilization.unwrap_or(usual)
    }

    /// What is left for keys and values by the framework's rule, never more than what the GPU has left.
    pub(super) fn room(&self) -> Range {
        let free = self.device.free;
        let all = self.parts.sum().taken_from(free);
        let Parts { weights, activations, graphs, context, libraries } = &self.parts;
        let by_rule = match self.family {
            Family::Vllm => {
                let graphs = if self.graphs_are_inside() { graphs.bytes } else { Range::default() };
                let inside =
                    independent([weights.bytes, activations.bytes, libraries.bytes, graphs]);
                inside.taken_from((self.share() * self.device.usable).min(free))
            }
            Family::Lmdeploy => {
                let before = independent([weights.bytes, context.bytes, libraries.bytes]);
                let whole = self.demand.release.is_some_and(|release| release <= LMDEPLOY_OF_TOTAL);
                let left = before.taken_from(free);
                if whole {
                    Range::exact(self.share() * self.device.usable)
                } else {
                    left * self.share()
                }
            }
            Family::Tgi | Family::TensorRtLlm => all * self.share(),
            _ => return all,
        };
        Range {
            low: by_rule.low.min(all.low),
            mid: by_rule.mid.min(all.mid),
            high: by_rule.high.min(all.high),
        }
    }

    pub(super) fn fits(&self, room: Range, kv: Range) -> Fits {
        self.in_pool(room, kv).max(self.beside_pool())
    }

    pub(super) fn graphs_are_inside(&self) -> bool {
        self.demand.release.is_none_or(|release| release >= VLLM_GRAPHS_INSIDE)
    }

    /// Servers fill their share with the cache, needed or not. The rest must do for LMDeploy's work space, for what TGI's requests need
    /// beyond its warm-up (servers that had started ran out of memory: TGI issues 1374, 2744), and for the graphs of an older vLLM
    /// (vLLM issue 17327).
    fn beside_pool(&self) -> Fits {
        let Parts { weights, activations, graphs, context, libraries } = &self.parts;
        let taken = independent([weights.bytes, context.bytes, libraries.bytes]);
        let rest = (1.0 - self.share()).max(0.0);
        let left = taken.taken_from(self.device.free) * rest;
        let work = activations.bytes;
        let (work, left) = match self.family {
            Family::Lmdeploy => (work, left),
            Family::Tgi => (Range { low: 0.0, mid: 0.0, high: work.high - work.mid }, left),
            Family::Vllm if !self.graphs_are_inside() && !self.demand.tuning.eager => {
                let beside = independent([graphs.bytes, context.bytes]);
                (beside, Range::exact(self.device.usable * rest))
            }
            _ => return Fits::Fits,
        };
        match () {
            () if work.high <= left.low => Fits::Fits,
            () if work.low <= left.high => Fits::Tight,
            () => Fits::DoesNotFit,
        }
    }

    fn in_pool(&self, room: Range, kv: Range) -> Fits {
        match () {
            () if kv.high <= room.low => Fits::Fits,
            () if kv.low <= room.high => Fits::Tight,
            () => Fits::DoesNotFit,
        }
    }
}
