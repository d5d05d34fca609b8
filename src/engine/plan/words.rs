//! Words for plans, the same on every screen and in every command.

use super::demand::{Demand, Parallel};
use super::estimate::{Range, gib};
use super::placement::Plan;
use super::pool::Fits;

/// `9.0 weights + 2.0 KV (8k × 4) + 1.8 CUDA and work space = 12.8`, in GiB.
pub fn parts(plan: &Plan, demand: &Demand, ascii: bool) -> String {
    let (weights, kv) = (plan.weights.bytes.mid, plan.kv.bytes.mid);
    let other = (plan.total.mid - weights - kv).max(0.0);
    let times = if ascii { "x" } else { "×" };
    format!(
        "{} weights + {} KV ({} {times} {}) + {} CUDA and work space = {}",
        gib(weights),
        gib(kv),
        tokens(demand.context),
        demand.concurrency,
        gib(other),
        gib(plan.total.mid)
    )
}

/// `up to 9000 tokens of context at this concurrency, or 1 request of 8k`; none where there is no room, or nothing is kept of tokens.
pub fn room(plan: &Plan, demand: &Demand) -> Option<String> {
    if plan.kv.bytes.mid <= 0.0 || plan.fits == Fits::DoesNotFit || plan.offload.is_some() {
        return None;
    }
    let longest = match plan.max_context {
        Some(0) => None,
        Some(most) => Some(format!("up to {most} tokens of context at this concurrency")),
        None => Some("context of any length at this concurrency".to_owned()),
    };
    let is_first = plan.max_context.is_some_and(|most| most > 0);
    let most = (plan.max_concurrency > 0).then(|| {
        let up_to = if is_first { "" } else { "up to " };
        let name = if plan.max_concurrency == 1 { "request" } else { "requests" };
        format!("{up_to}{} {name} of {}", plan.max_concurrency, tokens(demand.context))
    });
    let room: Vec<String> = longest.into_iter().chain(most).collect();
    (!room.is_empty()).then(|| room.join(", or "))
}

/// `tensor parallel 2, pipeline parallel 2`; none on one GPU.
pub fn parallel(split: Parallel) -> Option<String> {
    let part = |name: &str, count: u64| (count > 1).then(|| format!("{name} parallel {count}"));
    let parts = [part("tensor", split.tp), part("pipeline", split.pp)];
    let words: Vec<String> = parts.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// `2×T4`, `T4 + RTX 3090`.
pub fn named<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match kinds.iter_mut().find(|kind| kind.0 == name) {
            Some(kind) => kind.1 += 1,
            None => kinds.push((name, 1)),
        }
    }
    let words: Vec<_> = kinds
        .iter()
        .map(|(name, count)| match count {
            1 => (*name).to_owned(),
            count => format!("{count}×{name}"),
        })
        .collect();
    words.join(" + ")
}

/// `8k`, `1500`.
pub fn tokens(count: u64) -> String {
    if count.is_multiple_of(1024) { format!("{}k", count / 1024) } else { count.to_string() }
}

/// `12–17`.
pub fn span(range: Range, ascii: bool) -> String {
    let digits = usize::from(range.low < 10.0);
    let dash = if ascii { "-" } else { "–" };
    format!("{:.digits$}{dash}{:.digits$}", range.low, range.high)
}

#[cfg(test)]
mod tests {
    use warpscope_probes::catalogue::{Catalogue, what_if};
    use warpscope_probes::driver::Driver;
    use warpscope_probes::model::Model;

    use super::super::{Device, Framework, plan};
    use super::*;
    use crate::engine::Target;

    #[test]
    fn room_is_told_in_words_and_not_at_all_where_there_is_none() {
        let demand = Demand::new(8192);
        let part = Catalogue::load().find("L40S").expect("a GPU");
        let target = Target::from_gpu(&what_if(part, 0), &Driver::default());
        let device = Device::new(&target).expect("its memory");
        let shape = Model::known("Qwen/Qwen3-8B").and_then(|model| model.shape).expect("a model");
        let framework = Framework::find("vllm").expect("a framework");
        let some = plan(&shape, &[device], framework, &demand).expect("a plan");
        let words = |max_context, max_concurrency| {
            room(&Plan { max_context, max_concurrency, ..some.clone() }, &demand)
        };
        let said = |text: &str| Some(text.to_owned());
        assert_eq!(
            words(Some(9000), 1),
            said("up to 9000 tokens of context at this concurrency, or 1 request of 8k")
        );
        assert_eq!(
            words(None, 3),
            said("context of any length at this concurrency, or up to 3 requests of 8k")
        );
        assert_eq!(words(Some(0), 2), said("up to 2 requests of 8k"));
        assert_eq!(words(Some(0), 0), None);
    }
}
