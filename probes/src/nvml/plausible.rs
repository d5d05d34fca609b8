//! Values no device can have. A driver that says so is wrong about the value, and no number of it is shown.
//!
//! Each limit is far above what is built, and far below what a sentinel or an overflow looks like.

use nvml_wrapper::error::NvmlError;

use super::error::absurd;
use crate::units::*;

fn at_most<T: PartialOrd>(value: T, most: T) -> Result<T, NvmlError> {
    if value <= most { Ok(value) } else { Err(absurd()) }
}

/// A share of a whole.
pub(super) fn percent(share: u32) -> Result<Percent, NvmlError> {
    at_most(share, 100).map(|share| Percent(share as f32))
}

/// The share of a metric that is computed, which may exceed the whole by its own error.
pub(super) fn computed_percent(share: f64) -> Result<Percent, NvmlError> {
    const ERROR: f64 = 10.0;
    let near = (-ERROR..=100.0 + ERROR).contains(&share);
    if near { Ok(Percent(share.clamp(0.0, 100.0) as f32)) } else { Err(absurd()) }
}

/// Speed of a fan; NVML's may exceed its nominal one.
pub(super) fn fan_percent(share: u32) -> Result<Percent, NvmlError> {
    at_most(share, 200).map(|share| Percent(share as f32))
}

/// Speed of a fan.
pub(super) fn rpm(speed: u32) -> Result<Rpm, NvmlError> {
    at_most(speed, 100_000).map(Rpm)
}

/// Temperature; silicon and solder do not live to see more.
pub(super) fn celsius(degrees: u64) -> Result<Celsius, NvmlError> {
    at_most(degrees, 250).map(|degrees| Celsius(degrees as f32))
}

/// Temperature of the memory; boards without a sensor say 0.
pub(super) fn memory_celsius(degrees: u64) -> Result<Celsius, NvmlError> {
    if degrees == 0 { Err(NvmlError::NotSupported) } else { celsius(degrees) }
}

/// Degrees between two temperatures.
pub(super) fn tlimit(degrees: i32) -> Result<TLimit, NvmlError> {
    at_most(degrees.unsigned_abs(), 250).map(|_| TLimit(degrees))
}

/// Power: a rack draws 100 kW.
pub(super) fn milliwatts(power: u32) -> Result<Watts, NvmlError> {
    at_most(power, 100_000_000).map(|power| Watts(f64::from(power) / 1e3))
}

/// Power drawn at a moment: a board that is on draws some.
pub(super) fn drawn_milliwatts(power: u64) -> Result<Watts, NvmlError> {
    match u32::try_from(power) {
        Ok(0) => Err(NvmlError::NotSupported),
        Ok(power) => milliwatts(power),
        Err(_) => Err(absurd()),
    }
}

/// Energy: 100 kW over ten years are 3.2 × 10^16 mJ.
pub(super) fn millijoules(energy: u64) -> Result<Joules, NvmlError> {
    at_most(energy, 1 << 55).map(|energy| Joules(energy as f64 / 1e3))
}

/// Clock: 100 GHz is far from any.
pub(super) fn megahertz(clock: u32) -> Result<MegaHertz, NvmlError> {
    at_most(clock, 100_000).map(MegaHertz)
}

/// Throughput in units of 1000 bytes: 1 TB/s is eight times the widest PCIe link there is.
pub(super) fn kilobytes_per_second(rate: u32) -> Result<BytesPerSecond, NvmlError> {
    at_most(rate, 1_000_000_000).map(|rate| BytesPerSecond(f64::from(rate) * 1e3))
}

/// Bytes per second over all links of a device.
pub(super) fn link_rate(rate: f64) -> Option<BytesPerSecond> {
    (rate <= 1e14).then_some(BytesPerSecond(rate))
}

/// Memory of a device: 1 PiB is a thousand times the largest.
pub(super) fn memory(total: u64) -> Result<u64, NvmlError> {
    at_most(total, 1 << 50)
}

/// A part of a whole.
pub(super) fn part(part: u64, whole: u64) -> Result<Bytes, NvmlError> {
    at_most(part, whole).map(Bytes)
}

/// Count of events: what is beyond cannot be counted one by one in the life of a device.
pub(super) fn events(count: u64) -> Result<u64, NvmlError> {
    at_most(count, 1 << 53)
}

/// A counter of 32 bits. All ones is what a register that does not answer is read as.
pub(super) fn register(count: u32) -> Result<u32, NvmlError> {
    at_most(count, u32::MAX - 1)
}

/// Number of things of which a board has a few.
pub(super) fn few(count: u32) -> Result<u32, NvmlError> {
    at_most(count, 1 << 20)
}

/// Nanoseconds of a hundred years at most.
pub(super) fn nanoseconds(time: u64) -> Result<Seconds, NvmlError> {
    at_most(time, 3_155_760_000_000_000_000).map(|time| Seconds(time as f64 / 1e9))
}

/// On or off.
pub(super) fn switch(state: u32) -> Result<bool, NvmlError> {
    at_most(state, 1).map(|state| state == 1)
}

/// One half of a compute capability.
pub(super) fn capability(number: i32) -> Result<u8, NvmlError> {
    u8::try_from(number).ok().filter(|number| *number < 100).ok_or_else(absurd)
}

/// CUDA version: 12080 is 12.8.
pub(super) fn cuda_version(version: i32) -> Result<i32, NvmlError> {
    if (1000..100_000).contains(&version) { Ok(version) } else { Err(absurd()) }
}

/// PCIe generation, or lanes.
pub(super) fn link(number: u32) -> Result<u32, NvmlError> {
    at_most(number, 64)
}

/// A reading that somebody else took, in the unit that its key ends in; none where no device can have it.
pub(crate) fn told(key: &str, value: f64) -> Option<f64> {
    let (whole, small) = (value as u64, value as u32);
    let unit = key.rsplit('_').next().unwrap_or_default();
    let checked = match (key, unit) {
        ("fan_pct", _) => fan_percent(value.ceil() as u32).map(drop),
        (_, "pct") => return computed_percent(value).ok().map(|_| value.clamp(0.0, 100.0)),
        _ if key.starts_with("tlimit") => tlimit(value as i32).map(drop),
        _ if value < 0.0 => Err(absurd()),
        ("temperature_memory_c", _) => memory_celsius(whole).map(drop),
        (_, "c") => celsius(whole).map(drop),
        (_, "w") => milliwatts((value * 1e3) as u32).map(drop),
        (_, "j") => millijoules((value * 1e3) as u64).map(drop),
        (_, "mhz") => megahertz(small).map(drop),
        (_, "bps") => link_rate(value).map(drop).ok_or_else(absurd),
        (_, "bytes") => memory(whole).map(drop),
        (_, "failed" | "pending") => switch(small).map(drop),
        ("pcie_gen" | "pcie_width" | "pstate", _) => link(small).map(drop),
        _ => events(whole).map(drop),
    };
    checked.ok().map(|()| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_let_through_what_is_built_and_nothing_that_is_a_sentinel() {
        assert!(percent(100).is_ok() && percent(101).is_err() && percent(u32::MAX).is_err());
        assert!(fan_percent(110).is_ok() && fan_percent(u32::MAX).is_err());
        assert!(celsius(110).is_ok() && celsius(u64::from(u32::MAX)).is_err());
        assert!(memory_celsius(95).is_ok() && memory_celsius(0).is_err());
        assert!(milliwatts(1_400_000).is_ok() && milliwatts(u32::MAX).is_err());
        assert!(millijoules(1_400_000 * 86_400 * 3650).is_ok() && millijoules(u64::MAX).is_err());
        assert!(megahertz(14_001).is_ok() && megahertz(u32::MAX).is_err());
        assert!(memory(288 << 30).is_ok() && memory(u64::MAX).is_err());
        assert!(part(7, 7).is_ok() && part(8, 7).is_err());
        assert!(events(3).is_ok() && events(u64::MAX).is_err());
        assert!(register(3 << 20).is_ok() && register(u32::MAX).is_err());
        assert!(
            nanoseconds(u64::MAX).is_err() && few(u32::MAX).is_err() && link(u32::MAX).is_err()
        );
        assert!(kilobytes_per_second(63_000_000).is_ok());
        assert!(kilobytes_per_second(u32::MAX).is_err() && rpm(u32::MAX).is_err());
        assert!(link_rate(1.8e12).is_some() && link_rate(f64::MAX).is_none());
    }

    /// DCGM's blanks: dcgm_structs.h of DCGM 4, DCGM_INT64_BLANK and its kin, and DCGM_FP64_BLANK.
    #[test]
    fn what_another_program_tells_is_limited_as_what_nvml_tells() {
        let keys = crate::gpu::Vitals::FIELDS.iter().map(|field| field.key);
        for key in keys.chain(["xid", "clock_reasons"]) {
            for blank in [9_223_372_036_854_775_792.0, 9_223_372_036_854_775_794.0, 1e300] {
                assert_eq!(told(key, blank), None, "{key} {blank}");
            }
        }
        for key in ["power_w", "gpm_tensor_pct", "pcie_rx_bps"] {
            assert_eq!(told(key, 140_737_488_355_328.0), None, "{key}");
        }
        for (key, value, want) in [
            ("temperature_c", 0.0, Some(0.0)),
            ("temperature_c", -1.0, None),
            ("temperature_memory_c", 0.0, None),
            ("temperature_memory_c", 95.0, Some(95.0)),
            ("util_gpu_pct", 100.000_001, Some(100.0)),
            ("util_gpu_pct", 900.0, None),
            ("fan_pct", 110.0, Some(110.0)),
            ("tlimit_c", -3.0, Some(-3.0)),
            ("power_w", 70.5, Some(70.5)),
            ("memory_used_bytes", 8e10, Some(8e10)),
            ("rows_failed", 1.0, Some(1.0)),
            ("rows_failed", 7.0, None),
            ("pstate", 99.0, None),
            ("ecc_uncorrected_aggregate", 3.0, Some(3.0)),
            ("up", 0.0, Some(0.0)),
        ] {
            assert_eq!(told(key, value), want, "{key} {value}");
        }
    }

    #[test]
    fn a_computed_share_may_miss_the_whole_by_a_little() {
        assert_eq!(computed_percent(100.3).ok(), Some(Percent(100.0)));
        assert_eq!(computed_percent(-0.2).ok(), Some(Percent(0.0)));
        for absurd in [f64::NAN, f64::INFINITY, -50.0, 1e9] {
            assert!(computed_percent(absurd).is_err(), "{absurd}");
        }
    }
}
