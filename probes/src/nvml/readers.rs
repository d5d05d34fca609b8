//! Every value read from a device, as a table: how often, where it goes, which question. A new value is a new line.

use std::time::SystemTime;

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{
    Clock, EccCounter, MemoryError, PcieUtilCounter, RetirementCause, TemperatureSensor,
};
use nvml_wrapper::error::NvmlError;
use warpscope_kernels::Sm;

use super::probe::Probe;
use super::slot::Slot;
use super::{
    blocks, error, events, gpm, links, lists, mig, plausible, processes, raw, temperature,
    throttle, words,
};
use crate::gpu::Gpu;
use crate::units::*;
use crate::{Reading, Timestamp};

/// How often a value is read, by what it costs and how fast it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cadence {
    /// Once, and again when a device comes back.
    Once,
    /// Every poll.
    Poll,
    /// Every poll while everything is wanted, otherwise as [`Cadence::Turn`].
    Detail,
    /// At first, and then when it is the device's turn.
    Turn,
    /// Only when it is the device's turn: a call takes milliseconds.
    Rare,
    /// As [`Cadence::Rare`] while everything is wanted, otherwise in one turn of [`LONG_TURN`]: as many calls as the rest together.
    Seldom,
}

/// Polls from one turn of a device to its next.
pub(super) const TURN: u64 = 10;

/// Turns from one in which a device is asked for everything to the next, where a summary is all that is wanted.
pub(super) const LONG_TURN: u64 = 6;

/// What is due of one device in one poll, besides what always is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Due {
    /// Values no summary shows.
    pub(super) details: bool,
    /// Values that take turns.
    pub(super) turn: bool,
    /// Values that take long turns.
    pub(super) seldom: bool,
}

impl Due {
    /// What is due of the device at `position` of `count`. Turns are spread, so that up to [`TURN`] devices never share a poll,
    /// and the first poll of all is nobody's.
    pub(super) fn of(poll: u64, (position, count): (usize, usize), brief: bool) -> Self {
        let phase = position as u64 * TURN / count.max(1) as u64;
        let turn = poll > 0 && (poll - 1) % TURN == phase;
        let long_turn = (poll.saturating_sub(1) / TURN).is_multiple_of(LONG_TURN);
        Self { details: turn || !brief, turn, seldom: turn && (long_turn || !brief) }
    }
}

/// One line of the table.
pub(super) struct Reader {
    cadence: Cadence,
    /// The prefix of its fields' keys; empty where their age is not shown.
    keys: &'static str,
    /// Whether the device offers it, as far as is known.
    is_offered: fn(&Slot) -> bool,
    read: fn(&Probe<'_>, &mut Slot),
}

macro_rules! table {
    ($($cadence:ident $kind:ident $target:tt $(. $field:ident = $question:expr)?;)*) => {
        &[$(table!(@line $cadence $kind $target $(. $field $question)?)),*]
    };
    (@line $cadence:ident block [$read:path $(=> $keys:literal)?]) => {
        Reader {
            cadence: Cadence::$cadence,
            keys: concat!($($keys)?),
            is_offered: |_| true,
            read: $read,
        }
    };
    (@line $cadence:ident block [$read:path, $part:ident . $field:ident]) => {
        table!(@field $cadence $part.$field $read)
    };
    (@line $cadence:ident $ask:ident $part:ident . $field:ident $question:expr) => {
        table!(@field $cadence $part.$field |probe, slot| {
            slot.gpu.$part.$field = probe.$ask($question);
        })
    };
    (@field $cadence:ident $part:ident . $field:ident $read:expr) => {
        Reader {
            cadence: Cadence::$cadence,
            keys: stringify!($field),
            is_offered: |slot| slot.gpu.$part.$field != Reading::Unsupported,
            read: $read,
        }
    };
}

/// The table. `block` lines fill several fields from one answer, or the one named last; identity comes before what depends on it.
const READERS: &[Reader] = table! {
    Once text identity.name = lists::name;
    Once text identity.uuid = lists::uuid;
    Once block [blocks::pci];
    Once ask identity.architecture = |d| d.architecture().map(|it| it.to_string());
    Once ask identity.sm = compute_capability;
    Once ask identity.cuda_cores = |d| d.num_cores().and_then(plausible::few);
    Once ask identity.sm_count = sm_count;
    Once ask identity.memory_bus_bit = |d| d.memory_bus_width().and_then(plausible::few).map(Bits);
    Once ask identity.memory_bandwidth_bps = memory_bandwidth;
    Once ask identity.brand = |d| d.brand().map(|it| words::brand(it).to_owned());
    Once text identity.vbios = lists::vbios_version;
    Once text identity.board_part_number = lists::board_part_number;
    Once block [temperature::limits];
    Once ask vitals.power_limit_default_w = |d| d.power_management_limit_default().and_then(plausible::milliwatts);
    Once ask vitals.clock_graphics_max_mhz = |d| d.max_clock_info(Clock::Graphics).and_then(plausible::megahertz);
    Once ask vitals.clock_sm_max_mhz = |d| d.max_clock_info(Clock::SM).and_then(plausible::megahertz);
    Once ask vitals.clock_memory_max_mhz = |d| d.max_clock_info(Clock::Memory).and_then(plausible::megahertz);
    Once ask vitals.clock_video_max_mhz = |d| d.max_clock_info(Clock::Video).and_then(plausible::megahertz);
    Once ask vitals.pcie_gen_max = |d| d.max_pcie_link_gen().and_then(plausible::link);
    Once ask vitals.pcie_width_max = |d| d.max_pcie_link_width().and_then(plausible::link);
    Once block [blocks::fan_count];

    Turn ask identity.compute_mode = |d| d.compute_mode().map(|it| words::compute_mode(it).to_owned());
    Turn ask identity.persistence = |d| d.is_in_persistent_mode();
    Turn ask identity.mig_mode = |d| d.mig_mode().and_then(|mode| plausible::switch(mode.current));
    Turn ask identity.vgpu_mode = words::virtualization;
    Turn ask identity.ecc_mode = |d| d.is_ecc_enabled().map(|mode| mode.currently_enabled);
    Turn block [mig::instances];
    Turn block [events::watch];

    Poll block [blocks::utilization];
    Detail ask vitals.util_encoder_pct = |d| d.encoder_utilization().and_then(|it| plausible::percent(it.utilization));
    Detail ask vitals.util_decoder_pct = |d| d.decoder_utilization().and_then(|it| plausible::percent(it.utilization));
    Detail ask vitals.util_jpeg_pct = |d| raw::jpeg_utilization(d).and_then(plausible::percent);
    Detail ask vitals.util_ofa_pct = |d| raw::ofa_utilization(d).and_then(plausible::percent);
    Poll block [blocks::memory];
    Poll ask vitals.tlimit_c = |d| raw::margin_temperature(d).and_then(plausible::tlimit);
    Poll ask vitals.temperature_c = |d| d.temperature(TemperatureSensor::Gpu).and_then(celsius);
    Poll ask vitals.power_w = |d| d.power_usage().and_then(plausible::milliwatts);
    Detail ask vitals.energy_j = |d| d.total_energy_consumption().and_then(plausible::millijoules);
    Detail ask vitals.clock_graphics_mhz = |d| d.clock_info(Clock::Graphics).and_then(plausible::megahertz);
    Poll ask vitals.clock_sm_mhz = |d| d.clock_info(Clock::SM).and_then(plausible::megahertz);
    Detail ask vitals.clock_memory_mhz = |d| d.clock_info(Clock::Memory).and_then(plausible::megahertz);
    Detail ask vitals.clock_video_mhz = |d| d.clock_info(Clock::Video).and_then(plausible::megahertz);
    Detail ask vitals.pstate = performance_state;
    Poll block [blocks::fan_percent, vitals.fan_pct];
    Detail block [blocks::fan_rpm, vitals.fan_rpm];
    Poll block [throttle::reasons];
    Detail block [throttle::shares];
    Detail block [links::counters];
    Detail block [gpm::metrics];
    Detail block [processes::want_every_list];
    Poll block [processes::list];

    Turn ask vitals.power_limit_w = |d| d.enforced_power_limit().and_then(plausible::milliwatts);
    Turn ask vitals.clock_graphics_app_mhz = |d| d.applications_clock(Clock::Graphics).and_then(plausible::megahertz);
    Turn ask vitals.clock_memory_app_mhz = |d| d.applications_clock(Clock::Memory).and_then(plausible::megahertz);
    Turn ask vitals.pcie_gen = |d| d.current_pcie_link_gen().and_then(plausible::link);
    Turn ask vitals.pcie_width = |d| d.current_pcie_link_width().and_then(plausible::link);
    Turn ask vitals.pcie_replays = |d| d.pcie_replay_counter().and_then(plausible::register);
    Turn block [blocks::bar1 => "bar1_"];
    Turn ask vitals.ecc_corrected_volatile = |d| ecc(d, MemoryError::Corrected, EccCounter::Volatile);
    Turn ask vitals.ecc_uncorrected_volatile = |d| ecc(d, MemoryError::Uncorrected, EccCounter::Volatile);
    Turn ask vitals.ecc_corrected_aggregate = |d| ecc(d, MemoryError::Corrected, EccCounter::Aggregate);
    Turn ask vitals.ecc_uncorrected_aggregate = |d| ecc(d, MemoryError::Uncorrected, EccCounter::Aggregate);
    Turn block [blocks::remapped_rows => "rows_"];

    Rare ask vitals.pcie_rx_bps = |d| d.pcie_throughput(PcieUtilCounter::Receive).and_then(plausible::kilobytes_per_second);
    Rare ask vitals.pcie_tx_bps = |d| d.pcie_throughput(PcieUtilCounter::Send).and_then(plausible::kilobytes_per_second);
    Seldom ask vitals.retired_pages_sbe = |d| retired(d, RetirementCause::MultipleSingleBitEccErrors);
    Seldom ask vitals.retired_pages_dbe = |d| retired(d, RetirementCause::DoubleBitEccError);
    Seldom ask vitals.retired_pages_pending = |d| d.are_pages_pending_retired();
    Seldom block [throttle::violations];
    Seldom block [links::states];
};

/// When the field with this key was read last, if it is one that takes turns.
pub fn read_at(key: &str, gpu: &Gpu) -> Option<Timestamp> {
    let fills = |reader: &&Reader| !reader.keys.is_empty() && key.starts_with(reader.keys);
    match READERS.iter().find(fills)?.cadence {
        Cadence::Turn | Cadence::Rare => gpu.read_at.turn,
        Cadence::Seldom => gpu.read_at.long_turn,
        Cadence::Once | Cadence::Poll | Cadence::Detail => None,
    }
}

/// Reads what is due: everything of `Poll`, the rest on first sight or in turn. What a device does not offer is asked for in its turn
/// only. `after` sees the slot after each answer.
pub(super) fn read_due(probe: &Probe<'_>, slot: &mut Slot, due: Due, mut after: impl FnMut(&Slot)) {
    let first = !slot.identified;
    for reader in READERS {
        let is_due = match reader.cadence {
            Cadence::Once => first,
            Cadence::Poll => true,
            Cadence::Detail => first || due.details,
            Cadence::Turn => first || due.turn,
            Cadence::Rare => due.turn,
            Cadence::Seldom => due.seldom,
        };
        if is_due && (first || due.turn || (reader.is_offered)(slot)) {
            (reader.read)(probe, slot);
            after(slot);
        }
    }
    let now = || Some(Timestamp::from_system(SystemTime::now()));
    if first || due.turn {
        slot.gpu.read_at.turn = now();
    }
    if due.seldom {
        slot.gpu.read_at.long_turn = now();
    }
}

/// Reads everything; for a target that gives the same answer to every question.
pub(super) fn read_all(probe: &Probe<'_>, slot: &mut Slot) {
    for reader in READERS {
        (reader.read)(probe, slot);
    }
}

pub(super) fn celsius(degrees: u32) -> Result<Celsius, NvmlError> {
    plausible::celsius(u64::from(degrees))
}

fn ecc(device: &Device<'_>, kind: MemoryError, counter: EccCounter) -> Result<u64, NvmlError> {
    device.total_ecc_errors(kind, counter).and_then(plausible::events)
}

fn retired(device: &Device<'_>, cause: RetirementCause) -> Result<u32, NvmlError> {
    lists::retired_pages(device, cause).and_then(plausible::few)
}

fn compute_capability(device: &Device<'_>) -> Result<Sm, NvmlError> {
    let cc = device.cuda_compute_capability()?;
    Ok(Sm::new(plausible::capability(cc.major)?, plausible::capability(cc.minor)?))
}

/// NVML counts CUDA cores, and SMs only of MIG devices; the cores of one SM follow from the compute capability.
fn sm_count(device: &Device<'_>) -> Result<u32, NvmlError> {
    let sm = compute_capability(device)?;
    let lanes = words::cores_per_sm(sm).ok_or(NvmlError::NotSupported)?;
    Ok(plausible::few(device.num_cores()?)? / lanes)
}

/// Bus width times highest memory clock times two: NVML gives half the data rate of every memory since GDDR5.
/// Checked against NVIDIA's figures of T4 (320), V100 (898), RTX 3090 (936) and H100 (3352 GB/s).
fn memory_bandwidth(device: &Device<'_>) -> Result<BytesPerSecond, NvmlError> {
    let bytes = f64::from(plausible::few(device.memory_bus_width()?)?) / 8.0;
    let clock = f64::from(plausible::megahertz(device.max_clock_info(Clock::Memory)?)?.0) * 1e6;
    Ok(BytesPerSecond(bytes * clock * 2.0))
}

fn performance_state(device: &Device<'_>) -> Result<u8, NvmlError> {
    let state = device.performance_state()?.as_c();
    u8::try_from(state).ok().filter(|state| *state < 16).ok_or(NvmlError::NotSupported)
}

/// Asks by the newer name, and by the older where the driver lacks it.
pub(super) fn newer_or_older<T>(
    newer: Result<T, NvmlError>,
    older: impl FnOnce() -> Result<T, NvmlError>,
) -> Result<T, NvmlError> {
    newer.or_else(|why| if error::is_missing_symbol(&why) { older() } else { Err(why) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_to_ten_devices_never_share_a_poll_and_none_waits_longer_than_a_turn() {
        for count in 1..=16 {
            let mut turns = vec![0; count];
            let is_turn = |poll, position| Due::of(poll, (position, count), false).turn;
            assert_eq!((0..count).filter(|position| is_turn(0, *position)).count(), 0);
            for poll in 1..=TURN {
                let due: Vec<_> = (0..count).filter(|position| is_turn(poll, *position)).collect();
                assert!(due.len() <= count.div_ceil(10), "{count} devices, poll {poll}: {due:?}");
                due.iter().for_each(|position| turns[*position] += 1);
            }
            assert!(turns.iter().all(|n| *n == 1), "{count} devices: {turns:?}");
        }
    }

    #[test]
    fn where_a_summary_is_wanted_details_come_in_turn_and_the_many_once_a_minute() {
        let counted = |brief| {
            let polls = (1..=TURN * LONG_TURN).map(|poll| Due::of(poll, (3, 8), brief));
            polls.fold((0, 0, 0), |(details, turn, seldom), due| {
                (
                    details + u64::from(due.details),
                    turn + u64::from(due.turn),
                    seldom + u64::from(due.seldom),
                )
            })
        };
        assert_eq!(counted(false), (TURN * LONG_TURN, LONG_TURN, LONG_TURN));
        assert_eq!(counted(true), (LONG_TURN, LONG_TURN, 1));
    }

    #[test]
    fn a_slow_field_is_as_old_as_the_turn_it_was_read_in() {
        let mut gpu = Gpu::default();
        (gpu.read_at.turn, gpu.read_at.long_turn) = (Some(Timestamp(2)), Some(Timestamp(1)));
        let times = [
            ("power_w", None),
            ("pcie_gen_max", None),
            ("energy_j", None),
            ("pcie_gen", Some(2)),
            ("pcie_rx_bps", Some(2)),
            ("bar1_used_bytes", Some(2)),
            ("rows_pending", Some(2)),
            ("ecc_mode", Some(2)),
            ("retired_pages_dbe", Some(1)),
        ];
        for (key, at) in times {
            assert_eq!(read_at(key, &gpu), at.map(Timestamp), "{key}");
        }
    }

    #[test]
    fn a_device_not_asked_yet_is_late_in_every_field_it_has() {
        let slot = Slot::new(0, "GPU-x".into());
        for field in crate::gpu::Vitals::FIELDS {
            assert_eq!((field.text)(&slot.gpu.vitals), Err(crate::Absence::Late), "{}", field.key);
        }
        let not_nvml = ["memory_type", "cuda_ordinal"];
        for field in
            crate::gpu::Identity::FIELDS.iter().filter(|field| !not_nvml.contains(&field.key))
        {
            assert_eq!(
                (field.text)(&slot.gpu.identity),
                Err(crate::Absence::Late),
                "{}",
                field.key
            );
        }
        assert_eq!(slot.gpu.throttle.active, crate::Reading::Late(None));
    }
}
