//! What a GPU brings: memory a program can have, bandwidth and peak.

use warpscope_probes::catalogue::{Catalogue, Link, Part, Peak, Segment};

use super::estimate::MIB;
use crate::engine::Target;

/// One GPU of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Memory as the driver reports it.
    pub total: f64,
    /// Memory a program can have when nobody else has any.
    pub usable: f64,
    /// Memory that is free now; all that is usable where it is not known.
    pub free: f64,
    /// Compute capability, major and minor.
    pub sm: Option<(u8, u8)>,
    /// Memory bandwidth in bytes per second.
    pub bandwidth: Option<f64>,
    /// Dense peak for 16-bit weights in operations per second.
    pub peak: Option<f64>,
    /// Whether it talks to its neighbours over NVLink.
    pub nvlink: bool,
    /// Whether it shares its memory with the CPU.
    pub integrated: bool,
}

/// What the driver keeps of a GPU: NVML's total against what CUDA reports, in published logs. A T4 has 15360 and 14909 MiB, an H100
/// 81559 and 81089, an A10 23028 and 22517; a 4090 has 24564 and 24217, a 3090 24576 and 24259.
const KEPT: f64 = 470.0 * MIB;
/// The same of GeForce boards.
const KEPT_GEFORCE: f64 = 330.0 * MIB;

impl Device {
    /// A GPU that was asked about; absent where its memory is not known.
    pub fn new(target: &Target) -> Option<Self> {
        let total = target.memory_bytes? as f64;
        let part = part_of(target);
        let geforce = part.map_or(total < 33.0 * 1024.0 * MIB, |part| {
            matches!(part.segment, Segment::Geforce | Segment::Titan | Segment::Laptop)
        });
        let usable = total - if geforce { KEPT_GEFORCE } else { KEPT };
        let free = target.memory_free_bytes.map_or(usable, |free| (free as f64).min(usable));
        let peaks = part.map(peak16);
        Some(Self {
            name: target.label.clone(),
            total,
            usable,
            free,
            sm: target.sm.map(|sm| (sm.major, sm.minor)),
            bandwidth: part.map(|part| part.bandwidth_gbs * 1e9),
            peak: peaks.flatten(),
            nvlink: part.is_some_and(|part| matches!(part.nvlink, Some(Link::Board))),
            integrated: target.is_integrated(),
        })
    }

    /// Puts those with the most free memory first: what needs fewer of them takes the first.
    pub fn most_free_first<T>(group: &mut [T], device: impl Fn(&T) -> Option<Self>) {
        let free = |one: &T| device(one).map_or(0.0, |device| device.free);
        group.sort_by(|a, b| free(b).total_cmp(&free(a)));
    }

    /// Whether it has at least this compute capability.
    pub fn at_least(&self, major: u8, minor: u8) -> bool {
        self.sm.is_some_and(|sm| sm >= (major, minor))
    }
}

/// Its entry in the catalogue: by name, and where several share a name, the one with as much memory.
fn part_of(target: &Target) -> Option<&'static Part> {
    let parts = Catalogue::load().parts();
    let named = |part: &&Part| {
        part.market_name == target.label
            || part.name == target.label
            || part.own_names().any(|name| name == target.label)
    };
    let gap = |part: &&Part| {
        let nominal = f64::from(part.memory_gb) * 1024.0 * MIB;
        (target.memory_bytes.unwrap_or(0) as f64 - nominal).abs() as u64
    };
    parts.iter().filter(named).min_by_key(gap)
}

/// Tensor cores with 32-bit sums, else what is faster of 16 and 32 bits: Pascal boards but one have next to no 16-bit units.
fn peak16(part: &Part) -> Option<f64> {
    let arch = Catalogue::load().arch(part.sm)?;
    let plain = || {
        let peaks = [Peak::Fp16x2, Peak::Fp32].into_iter().filter_map(|peak| part.peak(peak, arch));
        peaks.max_by(f64::total_cmp)
    };
    part.peak(Peak::Fp16Tensor, arch).or_else(plain).map(|tera| tera * 1e12)
}
