//! Words for plans, the same on every screen and in every command.

use super::demand::{Demand, Parallel};
use super::estimate::{Range, gib};
use super::placement::Plan;

/// `9.0 weights + 2.0 KV (8k × 4) + 1.8 other = 12.8`, in GiB.
pub fn parts(plan: &Plan, demand: &Demand, ascii: bool) -> String {
    let (weights, kv) = (plan.weights.bytes.mid, plan.kv.bytes.mid);
    let other = (plan.total.mid - weights - kv).max(0.0);
    let times = if ascii { "x" } else { "×" };
    format!(
        "{} weights + {} KV ({} {times} {}) + {} other = {}",
        gib(weights),
        gib(kv),
        tokens(demand.context),
        demand.concurrency,
        gib(other),
        gib(plan.total.mid)
    )
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
