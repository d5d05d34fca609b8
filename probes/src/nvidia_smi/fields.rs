//! What is asked of `nvidia-smi --query-gpu`, and where each answer goes.

use std::str::FromStr;

use warpscope_kernels::Sm;

use crate::Reading;
use crate::gpu::{ClockReason, Gpu};
use crate::units::{Bytes, Celsius, MegaHertz, Percent, Watts};

/// One field: its name in the query, whether drivers of before 2021 know it, and what its answer fills in.
pub(super) struct Query {
    pub(super) name: &'static str,
    pub(super) old: bool,
    pub(super) fill: fn(&mut Gpu, &str),
}

const fn query(name: &'static str, fill: fn(&mut Gpu, &str)) -> Query {
    Query { name, old: true, fill }
}

const fn newer(name: &'static str, fill: fn(&mut Gpu, &str)) -> Query {
    Query { name, old: false, fill }
}

/// Names, meanings and units: `nvidia-smi --help-query-gpu` of drivers 450 to 580. The name of the product comes last: it may hold a comma.
pub(super) const QUERIES: &[Query] = &[
    query("index", |gpu, text| gpu.index = text.parse().unwrap_or(gpu.index)),
    query("uuid", |gpu, text| gpu.identity.uuid = words(text)),
    query("pci.bus_id", |gpu, text| gpu.identity.pci_bus_id = words(text)),
    query("pci.device_id", |gpu, text| {
        gpu.identity.pci_device_id = reading(text, |text| hex(text).map(|id| id >> 16));
    }),
    query("pci.sub_device_id", |gpu, text| gpu.identity.pci_subsystem_id = reading(text, hex)),
    newer("compute_cap", |gpu, text| {
        gpu.identity.sm = reading(text, |text| Sm::from_str(text).ok())
    }),
    query("vbios_version", |gpu, text| gpu.identity.vbios = words(text)),
    query("compute_mode", |gpu, text| {
        gpu.identity.compute_mode = words(text).map(|mode| mode.to_lowercase());
    }),
    query("persistence_mode", |gpu, text| gpu.identity.persistence = switch(text)),
    newer("mig.mode.current", |gpu, text| gpu.identity.mig_mode = switch(text)),
    query("ecc.mode.current", |gpu, text| gpu.identity.ecc_mode = switch(text)),
    query("utilization.gpu", |gpu, text| gpu.vitals.util_gpu_pct = number(text).map(Percent)),
    query("utilization.memory", |gpu, text| gpu.vitals.util_memory_pct = number(text).map(Percent)),
    query("memory.total", |gpu, text| gpu.vitals.memory_total_bytes = mebibytes(text)),
    query("memory.used", |gpu, text| gpu.vitals.memory_used_bytes = mebibytes(text)),
    query("memory.free", |gpu, text| gpu.vitals.memory_free_bytes = mebibytes(text)),
    newer("memory.reserved", |gpu, text| gpu.vitals.memory_reserved_bytes = mebibytes(text)),
    query("temperature.gpu", |gpu, text| gpu.vitals.temperature_c = number(text).map(Celsius)),
    query("temperature.memory", |gpu, text| {
        gpu.vitals.temperature_memory_c = number(text).map(Celsius);
    }),
    query("power.draw", |gpu, text| gpu.vitals.power_w = number(text).map(Watts)),
    query("power.limit", |gpu, text| gpu.vitals.power_limit_w = number(text).map(Watts)),
    query("power.default_limit", |gpu, text| {
        gpu.vitals.power_limit_default_w = number(text).map(Watts);
    }),
    query("clocks.gr", |gpu, text| gpu.vitals.clock_graphics_mhz = number(text).map(MegaHertz)),
    query("clocks.sm", |gpu, text| gpu.vitals.clock_sm_mhz = number(text).map(MegaHertz)),
    query("clocks.mem", |gpu, text| gpu.vitals.clock_memory_mhz = number(text).map(MegaHertz)),
    query("clocks.max.gr", |gpu, text| {
        gpu.vitals.clock_graphics_max_mhz = number(text).map(MegaHertz);
    }),
    query("clocks.max.sm", |gpu, text| gpu.vitals.clock_sm_max_mhz = number(text).map(MegaHertz)),
    query("clocks.max.mem", |gpu, text| {
        gpu.vitals.clock_memory_max_mhz = number(text).map(MegaHertz);
    }),
    query("fan.speed", |gpu, text| gpu.vitals.fan_pct = number(text).map(Percent)),
    query("pstate", |gpu, text| {
        gpu.vitals.pstate = reading(text, |text| text.strip_prefix('P')?.parse().ok());
    }),
    query("pcie.link.gen.current", |gpu, text| gpu.vitals.pcie_gen = number(text)),
    query("pcie.link.width.current", |gpu, text| gpu.vitals.pcie_width = number(text)),
    query("pcie.link.gen.max", |gpu, text| gpu.vitals.pcie_gen_max = number(text)),
    query("pcie.link.width.max", |gpu, text| gpu.vitals.pcie_width_max = number(text)),
    query("clocks_throttle_reasons.active", |gpu, text| {
        let mask = reading(text, hex);
        gpu.throttle.unknown_bits =
            mask.value().map_or(0, |mask| ClockReason::decode((*mask).into()).1);
        gpu.throttle.active = mask.map(|mask| ClockReason::decode(mask.into()).0);
    }),
    query("ecc.errors.corrected.volatile.total", |gpu, text| {
        gpu.vitals.ecc_corrected_volatile = number(text);
    }),
    query("ecc.errors.uncorrected.volatile.total", |gpu, text| {
        gpu.vitals.ecc_uncorrected_volatile = number(text);
    }),
    query("driver_version", |_, _| {}),
    query("name", |gpu, text| gpu.identity.name = words(text)),
];

/// An answer, or in which words it was refused.
fn reading<T>(text: &str, read: impl FnOnce(&str) -> Option<T>) -> Reading<T> {
    match text {
        "[N/A]" | "N/A" | "[Not Supported]" | "[Requested functionality has been deprecated]" => {
            Reading::Unsupported
        }
        "[Insufficient Permissions]" => Reading::Denied,
        _ => match read(text) {
            Some(value) => Reading::Value(value),
            None => Reading::Failed(text.trim_matches(['[', ']']).into()),
        },
    }
}

pub(super) fn words(text: &str) -> Reading<String> {
    reading(text, |text| (!text.is_empty() && !text.starts_with('[')).then(|| text.to_owned()))
}

pub(super) fn number<T: FromStr>(text: &str) -> Reading<T> {
    reading(text, |text| text.parse().ok())
}

pub(super) fn mebibytes(text: &str) -> Reading<Bytes> {
    let bytes = |text: &str| text.parse::<u64>().ok()?.checked_mul(1 << 20).map(Bytes);
    reading(text, bytes)
}

fn switch(text: &str) -> Reading<bool> {
    reading(text, |text| match text {
        "Enabled" => Some(true),
        "Disabled" => Some(false),
        _ => None,
    })
}

fn hex(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok().and_then(|value| u32::try_from(value).ok())
}
