//! A model in one framework on a group of GPUs, as it would be started there.

use serde::Serialize;
use warpscope_probes::model::Shape;

use super::demand::{Demand, Parallel};
use super::device::Device;
use super::framework::Framework;
use super::placement::{Plan, plan};
use super::pool::Fits;
use super::search::best;
use super::speed::{Speed, speed};
use super::split::refusal;

/// How a model is spread, what that takes and how fast it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The split and what was asked.
    pub demand: Demand,
    /// GPUs it uses.
    pub gpus: usize,
    /// Memory; absent where there is no GPU whose memory is known, or fewer than the split needs.
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
        let demand = framework.met(demand, group);
        let named = Some(demand.parallel).filter(|split| *split != Parallel::default());
        let split = split.or(named);
        let planned = match split {
            Some(parallel) => {
                let demand = Demand { parallel, ..demand.clone() };
                let used = used(group, &demand, framework);
                let planned = used.and_then(|used| plan(shape, used, framework, &demand));
                planned.map(|plan| (demand, plan))
            }
            None => best(shape, group, framework, &demand),
        };
        let (demand, plan) = planned.map_or((demand, None), |(demand, plan)| (demand, Some(plan)));
        let whole = Parallel { tp: group.len() as u64, ..Parallel::default() };
        let refused = refusal(shape, framework.family, whole).filter(|_| split.is_none());
        let used = used(group, &demand, framework).unwrap_or(group);
        let speed = plan.as_ref().and_then(|plan| speed(shape, used, framework, &demand, plan));
        Self { gpus: used.len(), demand, plan, speed, refused, link: Link::of(used) }
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

/// The GPUs that a split uses; none where there are too few.
pub fn used<'d>(
    group: &'d [Device],
    demand: &Demand,
    framework: &Framework,
) -> Option<&'d [Device]> {
    match framework.family.is_tensor_parallel() {
        true => group.get(..usize::try_from(demand.parallel.gpus()).ok()?),
        false => Some(group),
    }
}
