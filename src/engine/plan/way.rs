//! A model in one framework on a group of GPUs, as it would be started there.

use serde::Serialize;
use warpscope_probes::model::Shape;

use super::demand::{Demand, Parallel};
use super::device::Device;
use super::framework::Framework;
use super::placement::{Plan, plan};
use super::pool::Fits;
use super::search::{Split, best};
use super::speed::{Speed, speed};
use super::split::refusal;

/// How a model is spread, what that takes and how fast it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The split and what was asked.
    pub demand: Demand,
    /// The first so many GPUs of the group are used.
    pub gpus: usize,
    /// Memory; absent where there is no GPU whose memory is known.
    pub plan: Option<Plan>,
    /// Speed, where bandwidth is known.
    pub speed: Option<Speed>,
    /// Why all GPUs do not share each layer.
    pub refused: Option<String>,
    /// What the GPUs talk over, where there are several.
    pub link: Option<Link>,
}

/// What GPUs of a group talk over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// NVLink on every board.
    Nvlink,
    /// PCI Express.
    Pcie,
}

/// Tokens and the part of the longest context that is not looked for more closely.
const STEP: u64 = 256;

/// Beyond any context.
const BEYOND: u64 = 1 << 32;

/// The longest context that surely fits; none where no length does not. Where work space grows with it, plans for others are tried.
fn longest(
    shape: &Shape,
    used: &[Device],
    framework: &Framework,
    demand: &Demand,
    now: &Plan,
) -> Option<u64> {
    if !framework.family.works_on_all_tokens() {
        return now.max_context;
    }
    let fits = |context| {
        let demand = Demand { context, ..demand.clone() };
        let plan = plan(shape, used, framework, &demand);
        plan.is_some_and(|plan| plan.rank() == (Fits::Fits, false))
    };
    let (mut least, mut most) = match now.rank() {
        (Fits::Fits, false) => {
            (demand.context, now.max_context.unwrap_or(BEYOND).max(demand.context))
        }
        _ => (0, demand.context),
    };
    while most - least > STEP.max(most / STEP) {
        let middle = least.midpoint(most);
        *(if fits(middle) { &mut least } else { &mut most }) = middle;
    }
    if least == 0 { now.max_context } else { Some(least) }
}

impl Link {
    fn of(used: &[Device]) -> Option<Self> {
        let all = used.iter().all(|device| device.nvlink);
        (used.len() > 1).then_some(if all { Self::Nvlink } else { Self::Pcie })
    }

    /// Its name.
    pub fn words(self) -> &'static str {
        match self {
            Self::Nvlink => "NVLink",
            Self::Pcie => "PCIe",
        }
    }
}

impl Way {
    /// With the split that was asked for, else the one that a configuration names, else the best.
    pub fn new(
        shape: &Shape,
        group: &[Device],
        framework: &Framework,
        demand: Demand,
        split: Option<Parallel>,
    ) -> Self {
        let named = Some(demand.parallel).filter(|split| *split != Parallel::default());
        let split = split.or(named);
        let planned = match split {
            Some(parallel) => {
                let whole_layers = !framework.family.is_tensor_parallel();
                let needed = usize::try_from(parallel.gpus()).unwrap_or(usize::MAX);
                let gpus = if whole_layers { group.len() } else { needed.min(group.len()) };
                let used = &group[..gpus];
                let demand = framework.met(Demand { parallel, ..demand.clone() }, used);
                let plan = plan(shape, used, framework, &demand);
                plan.map(|plan| Split { demand, gpus, plan })
            }
            None => best(shape, group, framework, &demand),
        };
        let Some(Split { demand, gpus, plan }) = planned else {
            return Self::unknown(demand, group.len());
        };
        let whole = Parallel { tp: group.len() as u64, ..Parallel::default() };
        let refused = refusal(shape, framework.family, whole).filter(|_| split.is_none());
        let used = &group[..gpus];
        let decodes = !shape.is_encoder();
        let speed = decodes.then(|| speed(shape, used, framework, &demand, &plan)).flatten();
        let plan = Plan { max_context: longest(shape, used, framework, &demand, &plan), ..plan };
        Self { gpus, demand, plan: Some(plan), speed, refused, link: Link::of(used) }
    }

    /// Nothing is known of the model's dimensions, or of how the framework takes memory.
    pub fn unknown(demand: Demand, gpus: usize) -> Self {
        Self { demand, gpus, plan: None, speed: None, refused: None, link: None }
    }

    /// Whether it fits.
    pub fn fits(&self) -> Fits {
        self.plan.as_ref().map_or(Fits::Unknown, |plan| plan.fits)
    }

    /// Tokens a second of all requests.
    pub fn tokens_per_second(&self) -> f64 {
        self.speed.map_or(0.0, |speed| speed.decode_total.mid)
    }

    /// A command with the words for what was planned.
    pub fn command(&self, text: &str, framework: &Framework) -> String {
        match &self.plan {
            Some(plan) => framework.words.command(text, &self.demand, plan),
            None => text.to_owned(),
        }
    }
}
