//! What the Overview says about each GPU, as plain rows.

use warpscope_kernels::Sm;
use warpscope_probes::catalogue::{Catalogue, STRIP};
use warpscope_probes::gpu::Presence;
use warpscope_probes::units::{Bytes, Scalar};
use warpscope_probes::{Gpu, Reading};

use crate::app::App;
use crate::engine::{Outcome, Verdict};
use crate::ui::format;
use crate::ui::glyphs::Glyphs;
use crate::ui::theme::Role;

/// A share of a whole with the words beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meter {
    /// 0–1; `None` where there is no value.
    pub share: Option<f32>,
    /// The value in words, or why there is none.
    pub text: String,
    /// Whether the value is the last known one.
    pub late: bool,
}

/// A short fact with its meaning.
pub type Fact = (String, Role);

/// Verdicts of one GPU in short.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// How many configurations are known.
    pub total: usize,
    /// How many of each outcome, the empty ones left out.
    pub counts: Vec<(Outcome, usize)>,
    /// The one to read first: what is bad, and why.
    pub worst: Option<(Outcome, String)>,
}

/// Everything a card shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// [`Gpu::key`], for histories.
    pub key: String,
    /// Index and name.
    pub head: String,
    /// Architecture, compute capability, SMs, memory.
    pub facts: Vec<String>,
    /// Whether a device is behind it.
    pub presence: Presence,
    /// GPU utilisation.
    pub load: Meter,
    /// Memory in use.
    pub memory: Meter,
    /// Power, temperature, clocks, link, errors.
    pub state: Vec<Fact>,
    /// Number formats: label, symbol, meaning.
    pub dtypes: Vec<(&'static str, &'static str, Role)>,
    /// Verdicts in short.
    pub summary: Summary,
}

/// Every GPU of the frame, as cards.
pub fn cards(app: &App, glyphs: &Glyphs) -> Vec<Card> {
    let gpus = app.frame.gpus.iter().enumerate();
    gpus.map(|(at, gpu)| card(app, at, gpu, glyphs)).collect()
}

fn card(app: &App, at: usize, gpu: &Gpu, glyphs: &Glyphs) -> Card {
    let name = gpu.identity.name.last().map_or("GPU", String::as_str);
    Card {
        key: gpu.key.clone(),
        head: format!("{at} {name}"),
        facts: facts(gpu),
        presence: gpu.presence,
        load: load(gpu),
        memory: memory(gpu),
        state: state(gpu, glyphs),
        dtypes: dtypes(gpu, glyphs),
        summary: summary(app.verdicts_of(at)),
    }
}

fn facts(gpu: &Gpu) -> Vec<String> {
    let identity = &gpu.identity;
    let memory = gpu.vitals.memory_total_bytes.last().map(|bytes| {
        let kind = identity.memory_type.last().map(|kind| format!(" {kind}")).unwrap_or_default();
        format!("{}{kind}", format::bytes(bytes.0))
    });
    [
        identity.architecture.last().cloned(),
        identity.sm.last().map(Sm::to_string),
        identity.sm_count.last().map(|count| format!("{count} SM")),
        memory,
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn meter<T>(reading: &Reading<T>, share: impl Fn(&T) -> f32, text: impl Fn(&T) -> String) -> Meter {
    match (reading.last(), reading.absence()) {
        (Some(value), absence) => {
            Meter { share: Some(share(value)), text: text(value), late: absence.is_some() }
        }
        (None, absence) => {
            let text = absence.map_or("n/a", |absence| absence.word()).to_owned();
            Meter { share: None, text, late: false }
        }
    }
}

fn load(gpu: &Gpu) -> Meter {
    meter(&gpu.vitals.util_gpu_pct, |pct| pct.0 / 100.0, |pct| format!("{:.0}%", pct.0))
}

fn memory(gpu: &Gpu) -> Meter {
    let total = gpu.vitals.memory_total_bytes.last().copied().unwrap_or(Bytes(0)).0;
    let share = |used: &Bytes| if total == 0 { 0.0 } else { (used.0 as f64 / total as f64) as f32 };
    let text = |used: &Bytes| format!("{} / {}", format::gib(used.0), format::bytes(total));
    meter(&gpu.vitals.memory_used_bytes, share, text)
}

fn state(gpu: &Gpu, glyphs: &Glyphs) -> Vec<Fact> {
    match gpu.presence {
        Presence::WhatIf => return what_if(gpu, glyphs),
        Presence::Suspended => {
            return vec![("suspended by the kernel to save power; not woken".into(), Role::Muted)];
        }
        Presence::Lost => {
            return vec![("lost: the driver no longer reaches it; look for Xid in dmesg".into(), Role::Bad)];
        }
        Presence::Starting | Presence::Present => {}
    }
    let facts = [power(gpu), temperature(gpu, glyphs), clocks(gpu), link(gpu, glyphs), fan(gpu), errors(gpu)];
    facts.into_iter().flatten().chain([throttle(gpu)]).collect()
}

fn what_if(gpu: &Gpu, glyphs: &Glyphs) -> Vec<Fact> {
    let catalogue = [
        gpu.identity.memory_bandwidth_bps.last().map(|rate| format::rate(rate.0)),
        gpu.vitals.power_limit_w.last().map(|watts| format!("{:.0} W", watts.0)),
        gpu.vitals.clock_sm_max_mhz.last().map(|mhz| format!("{} MHz", mhz.0)),
    ];
    let mut facts = vec![(format!("what-if {} from the catalogue, nothing measured", glyphs.separator), Role::WhatIf)];
    facts.extend(catalogue.into_iter().flatten().map(|text| (text, Role::Muted)));
    facts
}

fn dim<T>(reading: &Reading<T>, role: Role) -> Role {
    if reading.is_late() { Role::Late } else { role }
}

fn power(gpu: &Gpu) -> Option<Fact> {
    let vitals = &gpu.vitals;
    let draw = vitals.power_w.last()?;
    let text = match vitals.power_limit_w.last() {
        Some(limit) => format!("{:.0}/{:.0} W", draw.0, limit.0),
        None => format!("{:.0} W", draw.0),
    };
    Some((text, dim(&vitals.power_w, Role::Text)))
}

fn temperature(gpu: &Gpu, glyphs: &Glyphs) -> Option<Fact> {
    let vitals = &gpu.vitals;
    let now = vitals.temperature_c.last()?;
    let limit = vitals.temperature_slowdown_c.last().map_or(f32::INFINITY, |limit| limit.0);
    let role = match limit - now.0 {
        left if left <= 0.0 => Role::Bad,
        left if left <= 8.0 => Role::Warn,
        _ => Role::Text,
    };
    Some((format!("{:.0} {}C", now.0, glyphs.degree), dim(&vitals.temperature_c, role)))
}

fn clocks(gpu: &Gpu) -> Option<Fact> {
    let vitals = &gpu.vitals;
    let now = vitals.clock_sm_mhz.last()?;
    let text = match vitals.clock_sm_max_mhz.last() {
        Some(max) => format!("{}/{} MHz", now.0, max.0),
        None => format!("{} MHz", now.0),
    };
    Some((text, dim(&vitals.clock_sm_mhz, Role::Text)))
}

fn link(gpu: &Gpu, glyphs: &Glyphs) -> Option<Fact> {
    let vitals = &gpu.vitals;
    let (gen_now, width) = (vitals.pcie_gen.last()?, vitals.pcie_width.last()?);
    let narrow = vitals.pcie_width_max.last().is_some_and(|max| width < max);
    let role = if narrow { Role::Warn } else { Role::Text };
    Some((format!("PCIe {gen_now}{}{width}", glyphs.times), dim(&vitals.pcie_gen, role)))
}

fn fan(gpu: &Gpu) -> Option<Fact> {
    let fan = gpu.vitals.fan_pct.last()?;
    Some((format!("fan {:.0}%", fan.0), dim(&gpu.vitals.fan_pct, Role::Text)))
}

fn errors(gpu: &Gpu) -> Option<Fact> {
    let vitals = &gpu.vitals;
    let bad = vitals.ecc_uncorrected_volatile.last()?;
    let corrected = vitals.ecc_corrected_volatile.last().copied().unwrap_or(0);
    let role = match (*bad, corrected) {
        (0, 0) => Role::Text,
        (0, _) => Role::Warn,
        _ => Role::Bad,
    };
    Some((format!("ECC {}", bad + corrected), role))
}

fn throttle(gpu: &Gpu) -> Fact {
    let active = &gpu.throttle.active;
    let Some(reasons) = active.last() else {
        return (format!("clocks: {}", active.absence().map_or("n/a", |a| a.word())), Role::Absent);
    };
    let words: Vec<_> = reasons.iter().map(|reason| reason.words()).collect();
    let slowed = reasons.iter().any(|reason| reason.slows());
    let text = if words.is_empty() { "full speed".to_owned() } else { words.join(", ") };
    let role = match (slowed, words.is_empty()) {
        (true, _) => Role::Warn,
        (false, true) => Role::Good,
        (false, false) => Role::Muted,
    };
    (format!("clocks: {text}"), dim(active, role))
}

fn dtypes(gpu: &Gpu, glyphs: &Glyphs) -> Vec<(&'static str, &'static str, Role)> {
    let Some(sm) = gpu.identity.sm.last() else { return Vec::new() };
    let support = Catalogue::load().dtype_support(*sm, gpu.identity.pci_device_id.last().copied());
    let ascii = !glyphs.braille;
    let shown = STRIP.iter().filter_map(|dtype| support.iter().find(|row| row.0 == *dtype));
    shown.map(|(dtype, support)| (dtype.label(), support.how.symbol(ascii), role_of(support.how))).collect()
}

fn role_of(how: warpscope_probes::catalogue::How) -> Role {
    use warpscope_probes::catalogue::How;
    match how {
        How::TensorCore => Role::Good,
        How::CudaCore => Role::Text,
        How::Slow | How::Emulated => Role::Warn,
        How::StorageOnly | How::Unknown => Role::Muted,
        How::None => Role::Absent,
    }
}

fn summary<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Summary {
    let mut summary = Summary::default();
    let mut worst: Option<&Verdict> = None;
    for verdict in verdicts {
        summary.total += 1;
        match summary.counts.iter_mut().find(|(outcome, _)| *outcome == verdict.outcome) {
            Some((_, count)) => *count += 1,
            None => summary.counts.push((verdict.outcome, 1)),
        }
        let worse = worst.is_none_or(|worst| verdict.outcome > worst.outcome);
        if verdict.outcome.is_bad() && worse {
            worst = Some(verdict);
        }
    }
    summary.counts.sort_by_key(|(outcome, _)| *outcome);
    summary.worst = worst.map(|verdict| {
        (verdict.outcome, format!("{} {}: {}", verdict.framework, verdict.config, verdict.reason))
    });
    summary
}

/// Text of the first number a reading has, for compact rows.
pub fn cell<T: Scalar>(reading: &Reading<T>) -> (String, Role) {
    match (reading.last(), reading.absence()) {
        (Some(value), None) => (value.text(), Role::Text),
        (Some(value), Some(_)) => (value.text(), Role::Late),
        (None, absence) => (absence.map_or("n/a", |absence| absence.word()).to_owned(), Role::Absent),
    }
}
