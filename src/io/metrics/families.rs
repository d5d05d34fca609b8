//! Which reading becomes which metric.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use warpscope_probes::driver::DriverState;
use warpscope_probes::gpu::{CLOCK_REASONS, MigInstance, Presence, Vitals};
use warpscope_probes::units::Bytes;
use warpscope_probes::{Frame, Gpu};

use super::family::{Family, Kind, Sample};
use super::text::Labels;

/// What is told beside the readings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extras {
    /// How many configurations have each outcome, by the place of the GPU in the frame.
    pub verdicts: Vec<Vec<(&'static str, usize)>>,
    /// Whether GPU memory is told by user.
    pub users: bool,
}

/// Ends of keys: what they become, the unit, and the factor to the base unit.
const UNITS: &[(&str, &str, &str, f64)] = &[
    ("_pct", "_ratio", "ratio", 0.01),
    ("_bytes", "_bytes", "bytes", 1.0),
    ("_c", "_celsius", "celsius", 1.0),
    ("_w", "_watts", "watts", 1.0),
    ("_mhz", "_hertz", "hertz", 1e6),
    ("_bps", "_bytes_per_second", "", 1.0),
];

/// Readings that only grow, with the names of their counters.
const COUNTERS: &[(&str, &str, &str)] = &[
    ("energy_j", "energy_joules", "joules"),
    ("pcie_replays", "pcie_replays", ""),
    ("ecc_corrected_volatile", "ecc_corrected_since_load", ""),
    ("ecc_uncorrected_volatile", "ecc_uncorrected_since_load", ""),
    ("ecc_corrected_aggregate", "ecc_corrected", ""),
    ("ecc_uncorrected_aggregate", "ecc_uncorrected", ""),
];

/// The GPUs that are told of.
pub(super) fn told(frame: &Frame) -> Vec<&Gpu> {
    frame.gpus.iter().filter(|gpu| gpu.presence != Presence::WhatIf).collect()
}

/// What every series of the machine has.
pub(super) fn of_machine(frame: &Frame) -> Labels {
    vec![("host", frame.host.machine.hostname.last().cloned().unwrap_or_default())]
}

/// What every series of a GPU has.
pub(super) fn of_gpu(frame: &Frame, gpu: &Gpu) -> Labels {
    let own = [
        ("gpu", gpu.index.to_string()),
        ("uuid", gpu.identity.uuid.last().unwrap_or(&gpu.key).clone()),
        ("name", gpu.identity.name.last().cloned().unwrap_or_default()),
    ];
    own.into_iter().chain(of_machine(frame)).collect()
}

/// Every family of a frame.
pub(super) fn all<'a>(frame: &'a Frame, gpus: &[&'a Gpu], extras: &Extras) -> Vec<Family<'a>> {
    let mut families = vec![driver(frame), info(frame, gpus), up(gpus)];
    families.extend(vitals(gpus));
    families.push(clock_reasons(gpus));
    families.push(violations(gpus));
    families.push(xids(gpus));
    families.extend(links(gpus));
    families.extend(mig(gpus));
    families.extend(processes(frame, gpus, extras));
    families.push(verdicts(frame, extras));
    families
}

fn family<'a>(name: &str, kind: Kind, unit: &'static str, help: &'static str) -> Family<'a> {
    let name = format!("warpscope_gpu_{name}");
    Family { name, kind, unit, help, samples: Vec::new() }
}

fn plain<'a>(gpu: usize, value: f64) -> Sample<'a> {
    Sample { gpu: Some(gpu), more: Vec::new(), value }
}

fn labelled<'a>(
    gpu: usize,
    label: &'static str,
    text: impl Into<Cow<'a, str>>,
    value: f64,
) -> Sample<'a> {
    Sample { gpu: Some(gpu), more: vec![(label, text.into())], value }
}

/// The GPUs that answer, with their places: of others, what is no reading would be told as it was.
fn answering<'g, 'a>(gpus: &'g [&'a Gpu]) -> impl Iterator<Item = (usize, &'a Gpu)> + use<'g, 'a> {
    gpus.iter().copied().enumerate().filter(|(_, gpu)| gpu.answers())
}

/// Nothing while it is not known: before the first answer, and while every GPU sleeps and the driver is not asked.
fn driver<'a>(frame: &Frame) -> Family<'a> {
    let help = "Whether the NVIDIA driver answers: 1 or 0.";
    let name = "warpscope_driver_up".to_owned();
    let value = match frame.driver.status {
        DriverState::Starting | DriverState::AllSuspended => None,
        DriverState::Ready | DriverState::NoDevice => Some(1.0),
        _ => Some(0.0),
    };
    let samples = value.map(|value| Sample { gpu: None, more: Vec::new(), value });
    let samples = samples.into_iter().collect();
    Family { name, kind: Kind::Gauge, unit: "", help, samples }
}

fn info<'a>(frame: &'a Frame, gpus: &[&'a Gpu]) -> Family<'a> {
    let mut family =
        family("device", Kind::Info, "", "What a GPU is, and the driver it runs with.");
    let text = |value: Option<&'a String>| Cow::from(value.map_or("", String::as_str));
    family.samples.extend(gpus.iter().enumerate().map(|(at, gpu)| {
        let identity = &gpu.identity;
        let sm = identity.sm.last().map_or_else(String::new, |sm| sm.cc());
        let more = vec![
            ("architecture", text(identity.architecture.last())),
            ("compute_capability", sm.into()),
            ("pci_bus_id", text(identity.pci_bus_id.last())),
            ("vbios", text(identity.vbios.last())),
            ("driver", text(frame.driver.versions.driver.last())),
            ("cuda", text(frame.driver.versions.cuda.last())),
        ];
        Sample { gpu: Some(at), more, value: 1.0 }
    }));
    family
}

fn up<'a>(gpus: &[&Gpu]) -> Family<'a> {
    let mut family = family(
        "up",
        Kind::Gauge,
        "",
        "Whether a GPU answers: 1, or 0 where it is lost, asleep or late.",
    );
    let value = |gpu: &Gpu| f64::from(u8::from(gpu.answers()));
    family.samples.extend(gpus.iter().enumerate().map(|(at, gpu)| plain(at, value(gpu))));
    family
}

/// The name of a reading as a metric: kind, unit and factor.
fn named(key: &str) -> (String, Kind, &'static str, f64) {
    if let Some(row) = COUNTERS.iter().find(|row| row.0 == key) {
        return (row.1.to_owned(), Kind::Counter, row.2, 1.0);
    }
    let by_end = UNITS.iter().find_map(|row| Some((key.strip_suffix(row.0)?, row)));
    match by_end {
        Some((stem, row)) => (format!("{stem}{}", row.1), Kind::Gauge, row.2, row.3),
        None => (key.to_owned(), Kind::Gauge, "", 1.0),
    }
}

/// A family for each reading. What is late or absent has no sample, so that nobody takes an old value for a new one.
fn vitals<'a>(gpus: &[&Gpu]) -> Vec<Family<'a>> {
    let of = |field: &warpscope_probes::Field<Vitals>| {
        let (name, kind, unit, factor) = named(field.key);
        let mut family = family(&name, kind, unit, field.doc);
        family.samples.extend(
            gpus.iter()
                .enumerate()
                .filter_map(|(at, gpu)| Some(plain(at, (field.number)(&gpu.vitals)? * factor))),
        );
        family
    };
    Vitals::FIELDS.iter().map(of).collect()
}

fn clock_reasons<'a>(gpus: &[&Gpu]) -> Family<'a> {
    let help = "Whether clocks are held for a reason now: 1 or 0.";
    let mut family = family("clock_reason", Kind::Gauge, "", help);
    for (at, gpu) in gpus.iter().enumerate() {
        let Some(active) = gpu.throttle.active.value() else { continue };
        for (_, reason, words, _) in CLOCK_REASONS {
            let value = f64::from(u8::from(active.contains(reason)));
            family.samples.push(labelled(at, "reason", *words, value));
        }
    }
    family
}

fn violations<'a>(gpus: &[&'a Gpu]) -> Family<'a> {
    let help = "Time below full clocks since the driver was loaded, by cause.";
    let mut family = family("violation_seconds", Kind::Counter, "seconds", help);
    for (at, gpu) in answering(gpus) {
        for one in &gpu.throttle.violations {
            family.samples.push(labelled(at, "policy", &one.policy, one.seconds.0));
        }
    }
    family
}

fn xids<'a>(gpus: &[&'a Gpu]) -> Family<'a> {
    let help = "Xid errors the driver reported while warpscope watched, by number.";
    let mut family = family("xid_errors", Kind::Counter, "", help);
    for (at, gpu) in gpus.iter().enumerate() {
        for one in &gpu.xids {
            family.samples.push(labelled(at, "xid", one.xid.to_string(), one.count as f64));
        }
    }
    family
}

fn links<'a>(gpus: &[&'a Gpu]) -> [Family<'a>; 2] {
    let mut up = family("nvlink_up", Kind::Gauge, "", "Whether an NVLink is up: 1 or 0.");
    let help = "Errors of an NVLink: replay, recovery, CRC.";
    let mut errors = family("nvlink_errors", Kind::Counter, "", help);
    for (at, gpu) in answering(gpus) {
        for link in &gpu.nvlinks {
            let name = link.link.to_string();
            up.samples.push(labelled(at, "link", name.clone(), f64::from(u8::from(link.active))));
            if let Some(count) = link.errors {
                errors.samples.push(labelled(at, "link", name, count as f64));
            }
        }
    }
    [up, errors]
}

fn mig<'a>(gpus: &[&'a Gpu]) -> [Family<'a>; 2] {
    let of = |name, help, bytes: fn(&MigInstance) -> Option<Bytes>| {
        let mut family = family(name, Kind::Gauge, "bytes", help);
        for (at, gpu) in answering(gpus) {
            family.samples.extend(gpu.mig.iter().filter_map(|instance| {
                let profile = instance.name.trim_start_matches("MIG ");
                let more =
                    vec![("mig", instance.index.to_string().into()), ("profile", profile.into())];
                Some(Sample { gpu: Some(at), more, value: bytes(instance)?.0 as f64 })
            }));
        }
        family
    };
    [
        of("mig_memory_used_bytes", "Memory in use of a MIG instance.", |it| it.memory_used_bytes),
        of("mig_memory_total_bytes", "Memory of a MIG instance.", |it| it.memory_total_bytes),
    ]
}

fn processes<'a>(frame: &'a Frame, gpus: &[&'a Gpu], extras: &Extras) -> [Family<'a>; 2] {
    let mut count = family("processes", Kind::Gauge, "", "Processes that hold something on a GPU.");
    let help = "GPU memory that the processes of a user hold.";
    let mut held = family("user_memory_bytes", Kind::Gauge, "bytes", help);
    let is_listed = |gpu: &Gpu| !frame.without_processes && gpu.processes_failed.is_none();
    for (at, gpu) in answering(gpus).filter(|(_, gpu)| is_listed(gpu)) {
        let here = || frame.processes.iter().filter(|process| process.gpu == gpu.key);
        // One that uses several MIG instances is listed for each.
        let pids: BTreeSet<u32> = here().map(|process| process.pid).collect();
        count.samples.push(plain(at, pids.len() as f64));
        let mut users: BTreeMap<&str, f64> = BTreeMap::new();
        for process in here().filter(|_| extras.users) {
            let user = process.host.user.last().map_or("unknown", String::as_str);
            let bytes = process.usage.gpu_memory_bytes.value().map_or(0.0, |bytes| bytes.0 as f64);
            *users.entry(user).or_default() += bytes;
        }
        held.samples
            .extend(users.into_iter().map(|(user, bytes)| labelled(at, "user", user, bytes)));
    }
    [count, held]
}

fn verdicts<'a>(frame: &Frame, extras: &Extras) -> Family<'a> {
    let help = "Configurations of frameworks on a GPU by what becomes of them.";
    let mut family = family("configurations", Kind::Gauge, "", help);
    let gpus = frame.gpus.iter().zip(&extras.verdicts);
    let real = gpus.filter(|(gpu, _)| gpu.presence != Presence::WhatIf);
    for (at, (_, counts)) in real.enumerate() {
        for (outcome, count) in counts {
            family.samples.push(labelled(at, "outcome", *outcome, *count as f64));
        }
    }
    family
}
