//! Which reading becomes which metric.

use std::collections::BTreeMap;

use warpscope_probes::gpu::{CLOCK_REASONS, Presence, Vitals};
use warpscope_probes::{Frame, Gpu};

use super::family::{Family, Kind, Sample};

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

/// Every family of a frame.
pub(super) fn all(frame: &Frame, extras: &Extras) -> Vec<Family> {
    let gpus: Vec<&Gpu> =
        frame.gpus.iter().filter(|gpu| gpu.presence != Presence::WhatIf).collect();
    let mut families = vec![info(frame, &gpus), up(frame, &gpus)];
    families.extend(vitals(frame, &gpus));
    families.push(clock_reasons(frame, &gpus));
    families.push(violations(frame, &gpus));
    families.extend(links(frame, &gpus));
    families.extend(processes(frame, &gpus, extras));
    families.push(verdicts(frame, extras));
    families
}

fn family(name: &str, kind: Kind, unit: &'static str, help: &str) -> Family {
    let name = format!("warpscope_gpu_{name}");
    Family { name, kind, unit, help: help.to_owned(), samples: Vec::new() }
}

/// What every series of a GPU has.
fn labels(frame: &Frame, gpu: &Gpu) -> Vec<(&'static str, String)> {
    let host = frame.host.machine.hostname.last().cloned();
    vec![
        ("gpu", gpu.index.to_string()),
        ("uuid", gpu.identity.uuid.last().unwrap_or(&gpu.key).clone()),
        ("name", gpu.identity.name.last().cloned().unwrap_or_default()),
        ("host", host.unwrap_or_default()),
    ]
}

fn sample(
    frame: &Frame,
    gpu: &Gpu,
    more: impl IntoIterator<Item = (&'static str, String)>,
    value: f64,
) -> Sample {
    Sample { labels: labels(frame, gpu).into_iter().chain(more).collect(), value }
}

fn info(frame: &Frame, gpus: &[&Gpu]) -> Family {
    let mut family =
        family("device", Kind::Info, "", "What a GPU is, and the driver it runs with.");
    let text = |value: Option<&String>| value.cloned().unwrap_or_default();
    family.samples.extend(gpus.iter().map(|gpu| {
        let identity = &gpu.identity;
        let more = [
            ("architecture", text(identity.architecture.last())),
            ("compute_capability", identity.sm.last().map_or(String::new(), |sm| sm.cc())),
            ("pci_bus_id", text(identity.pci_bus_id.last())),
            ("vbios", text(identity.vbios.last())),
            ("driver", text(frame.driver.versions.driver.last())),
            ("cuda", text(frame.driver.versions.cuda.last())),
        ];
        sample(frame, gpu, more, 1.0)
    }));
    family
}

fn up(frame: &Frame, gpus: &[&Gpu]) -> Family {
    let mut family = family(
        "up",
        Kind::Gauge,
        "",
        "Whether a GPU answers: 1, or 0 where it is lost, asleep or late.",
    );
    let value = |gpu: &Gpu| f64::from(u8::from(gpu.presence == Presence::Present));
    family.samples.extend(gpus.iter().map(|gpu| sample(frame, gpu, [], value(gpu))));
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
fn vitals(frame: &Frame, gpus: &[&Gpu]) -> Vec<Family> {
    let of =
        |field: &warpscope_probes::Field<Vitals>| {
            let (name, kind, unit, factor) = named(field.key);
            let mut family = family(&name, kind, unit, field.doc);
            family.samples.extend(gpus.iter().filter_map(|gpu| {
                Some(sample(frame, gpu, [], (field.number)(&gpu.vitals)? * factor))
            }));
            family
        };
    Vitals::FIELDS.iter().map(of).collect()
}

fn clock_reasons(frame: &Frame, gpus: &[&Gpu]) -> Family {
    let mut family = family(
        "clock_reason",
        Kind::Gauge,
        "",
        "Whether clocks are held for a reason now: 1 or 0.",
    );
    for gpu in gpus {
        let Some(active) = gpu.throttle.active.value() else { continue };
        for (_, reason, words, _) in CLOCK_REASONS {
            let value = f64::from(u8::from(active.contains(reason)));
            family.samples.push(sample(frame, gpu, [("reason", (*words).to_owned())], value));
        }
    }
    family
}

fn violations(frame: &Frame, gpus: &[&Gpu]) -> Family {
    let help = "Time below full clocks since the driver was loaded, by cause.";
    let mut family = family("violation_seconds", Kind::Counter, "seconds", help);
    for gpu in gpus {
        for one in &gpu.throttle.violations {
            let more = [("policy", one.policy.clone())];
            family.samples.push(sample(frame, gpu, more, one.seconds.0));
        }
    }
    family
}

fn links(frame: &Frame, gpus: &[&Gpu]) -> [Family; 2] {
    let mut up = family("nvlink_up", Kind::Gauge, "", "Whether an NVLink is up: 1 or 0.");
    let help = "Errors of an NVLink: replay, recovery, CRC.";
    let mut errors = family("nvlink_errors", Kind::Counter, "", help);
    for gpu in gpus {
        for link in &gpu.nvlinks {
            let more = || [("link", link.link.to_string())];
            up.samples.push(sample(frame, gpu, more(), f64::from(u8::from(link.active))));
            if let Some(count) = link.errors {
                errors.samples.push(sample(frame, gpu, more(), count as f64));
            }
        }
    }
    [up, errors]
}

fn processes(frame: &Frame, gpus: &[&Gpu], extras: &Extras) -> [Family; 2] {
    let mut count = family("processes", Kind::Gauge, "", "Processes that hold something on a GPU.");
    let help = "GPU memory that the processes of a user hold.";
    let mut held = family("user_memory_bytes", Kind::Gauge, "bytes", help);
    for gpu in gpus.iter().filter(|_| !frame.without_processes) {
        let here = || frame.processes.iter().filter(|process| process.gpu == gpu.key);
        count.samples.push(sample(frame, gpu, [], here().count() as f64));
        let mut users: BTreeMap<String, f64> = BTreeMap::new();
        for process in here().filter(|_| extras.users) {
            let user = process.host.user.last().cloned().unwrap_or_else(|| "unknown".to_owned());
            let bytes = process.usage.gpu_memory_bytes.value().map_or(0.0, |bytes| bytes.0 as f64);
            *users.entry(user).or_default() += bytes;
        }
        held.samples.extend(
            users.into_iter().map(|(user, bytes)| sample(frame, gpu, [("user", user)], bytes)),
        );
    }
    [count, held]
}

fn verdicts(frame: &Frame, extras: &Extras) -> Family {
    let help = "Configurations of frameworks on a GPU by what becomes of them.";
    let mut family = family("configurations", Kind::Gauge, "", help);
    let gpus = frame.gpus.iter().zip(&extras.verdicts);
    for (gpu, counts) in gpus.filter(|(gpu, _)| gpu.presence != Presence::WhatIf) {
        for (outcome, count) in counts {
            let more = [("outcome", (*outcome).to_owned())];
            family.samples.push(sample(frame, gpu, more, *count as f64));
        }
    }
    family
}
