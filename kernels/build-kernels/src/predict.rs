//! A time for a work before anybody measured it: what each part of a GPU needs for what a kernel's loop does, and the longest of these. Neither the
//! start and the end of a launch nor waiting are in it, nor clocks that fall under load: it is what a kernel cannot be faster than, as written.

use warpscope_kernels::gpu::Launch;

use crate::figures::{Doing, Launched};
use crate::gpus::Plan;

/// Instructions of a warp that a multiprocessor begins in a clock.
const ISSUED: f64 = 4.0;
/// The same of integer and logic instructions, of which 16 lanes of 32 are served in each part.
const INTEGER: f64 = 2.0;
/// The same of special functions.
const SPECIAL: f64 = 0.5;
/// Bytes of shared memory in a clock.
const SHARED: f64 = 128.0;

/// What limits a work, and its time if nothing else did, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bound {
    /// Part of the GPU.
    pub by: &'static str,
    /// Microseconds of one launch; none where a rate is unknown.
    pub us: Option<f64>,
}

/// A work's bounds, in a fixed order.
pub(crate) fn bounds(doing: &Doing) -> Option<[Bound; 6]> {
    let inner = doing.figure.inner.as_ref()?;
    let (gpu, work) = (doing.gpu, &doing.work);
    let launches = doing.times as f64;
    let turns = match inner.weights {
        0 => work.flops / inner.flops,
        weights => work.flops / 2.0 / f64::from(work.shape.m.max(1)) / f64::from(weights),
    } / launches;
    let clocks = f64::from(gpu.sms) * gpu.mhz;
    let busiest = if doing.asked.equal { busiest(&doing.launch, gpu.sms) } else { 1.0 };
    let us = |each: f64, rate: f64| Some(turns * each / rate / clocks * busiest);
    let kind = |kind: &str| f64::from(inner.kind(kind));
    let product = inner.product.as_deref();
    let rate = product.map(|product| gpu.rate(product).map(|rate| 2.0 * rate));
    Some([
        Bound { by: "memory", us: Some(work.bytes / launches / gpu.own.read_gb_s / 1e3) },
        Bound { by: "issue", us: us(f64::from(inner.all), ISSUED) },
        Bound { by: "integer", us: us(kind("alu"), INTEGER) },
        Bound { by: "special", us: us(kind("sfu"), SPECIAL) },
        Bound {
            by: "mma",
            us: rate.map_or(Some(0.0), |rate| rate.and_then(|rate| us(inner.flops, rate))),
        },
        Bound { by: "shared", us: us(inner.shared_bytes, SHARED) },
    ])
}

/// What the multiprocessor with most blocks has more than an even share: blocks that are as many as it holds at once are one of their waves.
fn busiest(launch: &Launch, sms: u32) -> f64 {
    let blocks: u32 = launch.grid.iter().product();
    f64::from(blocks.div_ceil(sms)) * f64::from(sms) / f64::from(blocks)
}

/// The longest of those that are known, and whether that is all of them.
pub(crate) fn longest(bounds: &[Bound]) -> Option<(f64, &'static str, bool)> {
    let known =
        bounds.iter().filter_map(|bound| Some((bound.us.filter(|us| us.is_finite())?, bound.by)));
    let (us, by) = known.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    Some((us, by, bounds.iter().all(|bound| bound.us.is_some_and(f64::is_finite))))
}

/// What the work needs at least, however it is written: its memory or, where tiles are what counts, the tensor cores. None where a rate is unknown.
pub(crate) fn roof(doing: &Doing, bounds: &[Bound]) -> Option<f64> {
    let us = |by: &str| bounds.iter().find(|bound| bound.by == by)?.us;
    let weighs = doing.figure.inner.as_ref().is_some_and(|inner| inner.weights > 0);
    if weighs { us("memory") } else { Some(us("memory")?.max(us("mma")?)) }
}

/// How often the blocks of a launch fill the GPU.
pub(crate) fn waves(plan: &Plan, doing: &Doing) -> Option<f64> {
    let launch = &doing.launch;
    let launched =
        Launched { threads: launch.block.iter().product(), dynamic: launch.shared_bytes };
    let held = doing.figure.held(plan, Some(launched)).filter(|held| *held > 0)?;
    let blocks: f64 = launch.grid.iter().map(|side| f64::from(*side)).product();
    Some(blocks / f64::from(held) / f64::from(doing.gpu.sms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_multiprocessor_with_most_blocks_takes_longest() {
        let busiest = |blocks, sms| {
            let launch = Launch {
                family: "",
                entry: "",
                grid: [blocks, 1, 1],
                block: [1, 1, 1],
                shared_bytes: 0,
                args: Vec::new(),
                early: false,
            };
            busiest(&launch, sms)
        };
        assert_eq!((busiest(64, 128), busiest(128, 128), busiest(192, 128)), (2.0, 1.0, 4.0 / 3.0));
    }

    #[test]
    fn the_longest_bound_is_the_time_unless_one_is_unknown() {
        let bound = |by, us| Bound { by, us };
        let all = [bound("memory", Some(3.0)), bound("issue", Some(5.0)), bound("mma", Some(0.0))];
        assert_eq!(longest(&all), Some((5.0, "issue", true)));
        assert_eq!(longest(&[all[0], bound("mma", None)]), Some((3.0, "memory", false)));
        assert_eq!(longest(&[bound("mma", Some(f64::NAN))]), None);
    }
}
