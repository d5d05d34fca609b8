//! A model in a framework on a group of GPUs: every part of memory of the tightest one, and whether it fits.

use serde::Serialize;
use warpscope_probes::model::{Shape, WeightRole};

use super::activations::activations;
use super::batch::Batch;
use super::demand::{Demand, Parallel};
use super::device::Device;
use super::estimate::{Estimate, GIB, Range, gib, independent};
use super::framework::{Family, Framework};
use super::kv::{Cache, is_untold};
use super::latent::with_heads;
use super::pool::{Fits, Parts, Placed, lacks_share};
use super::runtime::{context, graphs, libraries};
use super::split::refusal;
use super::weights::{Slice, loaded, weights};
use super::words;

/// What stays in host memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Offload {
    /// Layers on GPUs; all of them where only their experts are in host memory.
    pub layers: u64,
    /// Of so many.
    pub of: u64,
    /// Bytes in host memory.
    pub host: f64,
    /// Whether all layers may fit on GPUs as well.
    pub is_careful: bool,
}

/// The memory of the tightest GPU of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Whether it fits.
    pub fits: Fits,
    /// Weights.
    pub weights: Estimate,
    /// Keys and values of everything asked for.
    pub kv: Estimate,
    /// Work space.
    pub activations: Estimate,
    /// CUDA graphs.
    pub graphs: Estimate,
    /// The CUDA context with loaded kernels.
    pub context: Estimate,
    /// Collectives and work space of libraries.
    pub libraries: Estimate,
    /// All of these.
    pub total: Range,
    /// Memory of the tightest GPU as its driver reports it.
    pub memory: f64,
    /// What of it is free.
    pub usable: f64,
    /// What is left for keys and values.
    pub room: Range,
    /// What one request of the context asked for needs, all parts.
    pub must: Range,
    /// What the framework takes by default, whether needed or not.
    pub takes: f64,
    /// Memory with which nobody has to think about it.
    pub recommended: f64,
    /// Bytes of a token on one GPU.
    pub kv_per_token: f64,
    /// Longest context at this concurrency; none where tokens take no memory and the model sets no limit.
    pub max_context: Option<u64>,
    /// Most requests at this context.
    pub max_concurrency: u64,
    /// Layers in host memory, where not all fit.
    pub offload: Option<Offload>,
    /// Why the split is refused.
    pub refusal: Option<String>,
}

/// More than the driver and a desktop hold; chosen, not measured.
const HELD: f64 = 2.0 * GIB;

impl Plan {
    /// The same on a machine with so many bytes of main memory; any number where it is not known.
    pub fn beside(self, memory: Option<u64>) -> Self {
        match (self.offload, memory.map(|bytes| bytes as f64)) {
            (Some(offload), Some(memory)) if offload.host > memory => {
                let (needs, has) = (gib(offload.host), gib(memory));
                let why = format!("{needs} GiB would lie in host memory, which has {has} GiB");
                Self { fits: Fits::DoesNotFit, refusal: Some(why), ..self }
            }
            _ => self,
        }
    }

    /// Whether others hold memory of the GPU that matters.
    pub fn is_held_by_others(&self) -> bool {
        self.memory - self.usable > HELD
    }

    /// How well it fits, the best first: what leaves layers in host memory comes behind whatever may fit whole, though it fits by then.
    pub fn rank(&self) -> (Fits, bool) {
        match self.offload {
            Some(_) => (self.fits.max(Fits::Tight), true),
            None => (self.fits, false),
        }
    }
}

/// Plans one copy of a model; none where there is no GPU.
pub fn plan(
    shape: &Shape,
    group: &[Device],
    framework: &Framework,
    demand: &Demand,
) -> Option<Plan> {
    let family = framework.family;
    let device = group.iter().min_by(|a, b| a.free.total_cmp(&b.free))?;
    let slice = slice(shape, group, device, family, demand);
    let batch = Batch::new(shape, demand, family, device);
    let demand = &Demand {
        tuning: super::demand::Tuning {
            batched_tokens: Some(batch.tokens as u64),
            ..demand.tuning.clone()
        },
        ..demand.clone()
    };
    let keeps_all = family == Family::LlamaCpp && demand.splits_rows();
    let cache_slice = if keeps_all { Slice::WHOLE } else { slice };
    let cache = Cache::new(shape, demand, family, cache_slice);
    let largest = with_heads(shape, family)
        .map_or(cache, |shape| Cache::new(&shape, demand, family, cache_slice));
    let parts = Parts {
        weights: weights(shape, demand, family, slice),
        activations: activations(shape, demand, family, device, group.len()),
        graphs: graphs(demand, family, device, batch),
        context: context(demand, device),
        libraries: libraries(demand, family, device),
    };
    let refusal = unsplit(framework, demand, group.len())
        .or_else(|| refusal(shape, family, demand.parallel))
        .or_else(|| lacks_share(family, demand, device))
        .or_else(|| beyond_model(shape, framework, demand));
    let placed = Placed { family, device, demand, cache, largest, parts };
    let plan = placed.plan(shape, refusal);
    if family == Family::KTransformers {
        let (of, host) = (shape.depth(), loaded(shape, demand, WeightRole::Experts));
        let offload = Offload { layers: of, of, host, is_careful: false };
        return Some(Plan { offload: (host > 0.0).then_some(offload), ..plan });
    }
    let spills = family == Family::LlamaCpp && !demand.tuning.all_layers;
    if plan.fits != Fits::Fits && plan.refusal.is_none() && spills {
        return Some(placed.offloaded(shape, group, plan));
    }
    Some(plan)
}

/// Why a framework has no such split on so many GPUs.
fn unsplit(framework: &Framework, demand: &Demand, gpus: usize) -> Option<String> {
    let (Parallel { tp, pp, .. }, id) = (demand.parallel, framework.id);
    let needed = demand.parallel.gpus();
    match () {
        () if tp > 1 && !framework.family.is_tensor_parallel() => {
            Some(format!("{id} gives whole layers to each GPU, without tensor parallelism"))
        }
        () if pp > 1 && !framework.is_pipelined(demand.release) => {
            let (major, minor, patch) = framework.words.pipeline_since;
            Some(match framework.words.pipeline {
                "" => format!("{id} has no pipeline parallelism"),
                _ => format!("{id} has pipeline parallelism from {major}.{minor}.{patch} on"),
            })
        }
        () if needed > gpus as u64 => Some(format!(
            "{} needs {needed} GPUs, and {gpus} {} named",
            words::parallel(demand.parallel).unwrap_or_default(),
            if gpus == 1 { "is" } else { "are" }
        )),
        () => None,
    }
}

/// Why a server does not start with a context longer than the model was made for.
fn beyond_model(shape: &Shape, framework: &Framework, demand: &Demand) -> Option<String> {
    let limit = shape.max_context.filter(|limit| demand.context > *limit)?;
    let (since, variable) = framework.words.context_limit?;
    demand.release.is_none_or(|release| release >= since).then(|| {
        format!(
            "{} tokens are more than the {limit} of the model: {} starts with RoPE scaling or {variable}=1 only",
            demand.context, framework.id
        )
    })
}

/// What the tightest GPU carries. Frameworks that give whole layers to each GPU do so by their memory.
fn slice(
    shape: &Shape,
    group: &[Device],
    device: &Device,
    family: Family,
    demand: &Demand,
) -> Slice {
    let depth = shape.depth().max(1) as f64;
    if family.is_tensor_parallel() {
        let stages = demand.parallel.pp as f64;
        let layers = (depth / stages).ceil() / depth;
        return Slice { layers, tp: demand.parallel.tp as f64, stage: demand.parallel.pp > 1 };
    }
    let all: f64 = group.iter().map(|one| one.free).sum();
    let share = device.free / all;
    // No layer is cut: the worst GPU has up to one more than its share.
    let layers = if group.len() > 1 { (share * depth).ceil() / depth } else { 1.0 };
    Slice { layers, tp: 1.0, stage: false }
}

impl Placed<'_> {
    fn plan(&self, shape: &Shape, refusal: Option<String>) -> Plan {
        let (demand, room) = (self.demand, self.room());
        let kv = self.kv(demand.concurrency);
        let one = self.kv(1);
        let fixed = self.parts.sum();
        let total = fixed + kv;
        let must = fixed + one;
        let pool = self.family.is_tensor_parallel();
        let graphs = if self.graphs_are_inside() { 0.0 } else { self.parts.graphs.bytes.mid };
        let beside = self.parts.context.bytes.mid + graphs;
        let takes = match self.family {
            Family::Vllm => (self.share() * self.device.usable + beside).min(self.device.free),
            _ if pool => fixed.mid + room.mid.max(0.0),
            _ => total.mid,
        };
        let sequences = if one.mid > 0.0 { (room.mid / one.mid).max(0.0) } else { 0.0 };
        Plan {
            fits: match refusal {
                Some(_) => Fits::DoesNotFit,
                None if is_untold(shape, demand, self.family) => {
                    self.fits(room, kv).max(Fits::Tight)
                }
                None => self.fits(room, kv),
            },
            weights: self.parts.weights,
            kv: Estimate::of_model(kv, shape.source),
            activations: self.parts.activations,
            graphs: self.parts.graphs,
            context: self.parts.context,
            libraries: self.parts.libraries,
            total,
            memory: self.device.total,
            usable: self.device.free,
            room,
            must,
            takes,
            recommended: total.high * 1.05,
            kv_per_token: self.cache.per_token(),
            max_context: [shape.max_context, self.cache.longest(room.mid, demand.concurrency)]
                .into_iter()
                .flatten()
                .min(),
            max_concurrency: sequences as u64,
            offload: None,
            refusal,
        }
    }

    /// What so many requests of the context keep: at most what the larger layout does.
    fn kv(&self, requests: u64) -> Range {
        let of = |cache: &Cache| cache.bytes(self.demand.context, requests);
        let mid = of(&self.cache);
        Range { low: mid, mid, high: of(&self.largest).max(mid) }
    }

    /// As many layers on the GPUs as fit with their share of the cache, the others in host memory.
    fn offloaded(&self, shape: &Shape, group: &[Device], plan: Plan) -> Plan {
        let depth = shape.depth().max(1);
        let roles =
            [WeightRole::Attention, WeightRole::Mlp, WeightRole::Experts, WeightRole::Small];
        let weights: f64 = roles.into_iter().map(|role| loaded(shape, self.demand, role)).sum();
        let with_heads = with_heads(shape, self.family);
        let widest = with_heads.as_ref().unwrap_or(shape);
        let whole = Cache::new(widest, self.demand, self.family, Slice::WHOLE);
        let kv = whole.bytes(self.demand.context, self.demand.concurrency);
        let layer = (weights + kv) / depth as f64;
        let beside = self.parts.activations.bytes.high
            + self.parts.context.bytes.high
            + self.parts.libraries.bytes.high;
        let free: f64 = group.iter().map(|one| (one.free - beside).max(0.0)).sum();
        let head = loaded(shape, self.demand, WeightRole::Head);
        let layers = (((free - head) / layer).max(0.0) as u64).min(depth - 1);
        if layers == 0 {
            return plan;
        }
        let host = layer * (depth - layers) as f64;
        let kept = layers as f64 / depth as f64;
        let weights = Estimate { bytes: plan.weights.bytes * kept, ..plan.weights };
        let kv = Estimate { bytes: plan.kv.bytes * kept, ..plan.kv };
        let parts = [weights, kv, plan.activations, plan.context, plan.libraries];
        let total = independent(parts.map(|part| part.bytes));
        let is_careful = plan.fits == Fits::Tight;
        let offload = Some(Offload { layers, of: depth, host, is_careful });
        Plan { fits: Fits::Fits, offload, weights, kv, total, ..plan }
    }
}
