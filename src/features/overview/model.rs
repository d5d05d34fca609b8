//! What the Overview says about each GPU, as plain rows.

use std::sync::Arc;

use warpscope_kernels::{Dtype, Sm};
use warpscope_probes::catalogue::How;
use warpscope_probes::gpu::{MigInstance, Presence};
use warpscope_probes::{Gpu, Reading, Scalar, Timestamp};

use crate::engine::{Outcome, Verdict};
use crate::features::Shared;
use crate::features::shared::{GpuDecode, Judged, short_name};
use crate::store::TRACKS;
use crate::widgets::Amount;
use crate::widgets::format::{self, Units};
use crate::widgets::glyphs::Glyphs;
use crate::widgets::theme::Role;

/// Younger results are of now.
const LIVE_S: f64 = 10.0;

/// A share of a whole with the words beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Meter {
    /// How much of the whole.
    pub amount: Amount,
    /// The value in words, or why there is none.
    pub text: String,
}

/// What a short fact is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// Whether and how the device is there.
    Presence,
    /// Draw and limit.
    Power,
    /// Core temperature.
    Temperature,
    /// Its MIG instances.
    Mig,
    /// SM clock now and at most.
    Clock,
    /// PCIe generation and width.
    Link,
    /// Fan.
    Fan,
    /// ECC errors.
    Errors,
    /// Why clocks are held.
    Throttle,
    /// From the catalogue.
    Catalogue,
}

/// A short fact with its meaning.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fact {
    /// What it is about.
    pub about: About,
    /// The fact.
    pub text: String,
    /// How it is drawn.
    pub role: Role,
}

fn fact(about: About, text: impl Into<String>, role: Role) -> Fact {
    Fact { about, text: text.into(), role }
}

/// Verdicts of one GPU in short.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Summary {
    /// How many configurations are known.
    pub total: usize,
    /// How many of each outcome, the empty ones left out.
    pub counts: Vec<(Outcome, usize)>,
    /// Whether the rules are still being read.
    pub is_awaited: bool,
    /// The one to read first: what is bad, and why.
    pub worst: Option<(Outcome, String)>,
}

impl Summary {
    /// Whether there is something to say, or will be in a moment.
    pub(super) fn has_line(&self) -> bool {
        self.total > 0 || self.is_awaited
    }
}

/// Everything a card shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Card {
    /// [`Gpu::key`], for histories.
    pub key: String,
    /// Its name.
    pub name: String,
    /// Whether facts, number formats and verdicts are told once for all like it.
    pub is_of_kind: bool,
    /// Index and name.
    pub head: String,
    /// Whether something happened to it that the user has not read about.
    pub is_alerted: bool,
    /// Architecture, compute capability, SMs, memory.
    pub facts: Vec<String>,
    /// Whether a device is behind it.
    pub presence: Presence,
    /// Whether it ever told of itself.
    pub has_history: bool,
    /// GPU utilization.
    pub load: Meter,
    /// Memory in use.
    pub memory: Meter,
    /// Power, temperature, clocks, link, errors.
    pub state: Vec<Fact>,
    /// Number formats: label, symbol, meaning.
    pub dtypes: Vec<(&'static str, &'static str, Role)>,
    /// Verdicts in short.
    pub summary: Summary,
    /// What the benchmark reached, and when.
    pub decode: Option<(Timestamp, String)>,
}

impl Card {
    /// As much of the name as tells it apart.
    pub(super) fn short(&self) -> String {
        short_name(&self.name)
    }
}

/// Every GPU of the frame, as cards.
pub(crate) fn cards(shared: &Shared, glyphs: &Glyphs) -> Vec<Card> {
    let gpus = shared.frame.gpus.iter().enumerate();
    let card = |(at, gpu): (usize, &Gpu)| {
        let writing = Writing { glyphs, units: shared.display.units };
        let mut card = card(shared.judged.get(at), at, gpu, writing);
        if gpu.presence != Presence::Lost {
            card.decode = shared.gpu_decode.get(&gpu.key).map(|one| decode(one, shared.frame.at));
            card.summary.is_awaited = shared.awaits_rules;
        }
        card.has_history = TRACKS
            .iter()
            .any(|spec| shared.store.has_span(&gpu.key, spec.track, shared.display.span));
        card.is_alerted =
            shared.unread.iter().any(|alert| alert.gpu.as_deref() == Some(gpu.key.as_str()));
        card
    };
    gpus.map(card).collect()
}

/// Characters and units of what is written.
#[derive(Clone, Copy)]
struct Writing<'a> {
    glyphs: &'a Glyphs,
    units: Units,
}

fn card(judged: Option<&Arc<Judged>>, at: usize, gpu: &Gpu, writing: Writing<'_>) -> Card {
    // Nothing is known of what a lost GPU can run.
    let judged = judged.filter(|_| gpu.presence != Presence::Lost);
    let name = gpu.identity.name.last().map_or("GPU", String::as_str);
    Card {
        key: gpu.key.clone(),
        name: name.to_owned(),
        is_of_kind: false,
        head: format!("{at} {name}"),
        is_alerted: false,
        facts: facts(gpu, writing.units),
        presence: gpu.presence,
        has_history: false,
        load: load(gpu),
        memory: memory(gpu, writing.units),
        state: state(gpu, writing),
        dtypes: dtypes(judged.map_or(&[], |judged| &judged.dtypes), writing.glyphs),
        summary: judged.map_or_else(Summary::default, |judged| summary(judged)),
        decode: None,
    }
}

/// `decode 812 fp16, 790 bf16 tok/s, 3 min ago`.
fn decode(measured: &GpuDecode, now: Timestamp) -> (Timestamp, String) {
    let rates = measured.rates.iter();
    let rates = rates.map(|(label, rate)| format!("{} {label}", format::count(*rate)));
    let rates: Vec<_> = rates.collect();
    let age = now.seconds_since(measured.at);
    let when = match age < LIVE_S {
        true => String::new(),
        false => format!(", {} ago", format::duration(age)),
    };
    (measured.at, format!("decode {} tok/s{when}", rates.join(", ")))
}

fn facts(gpu: &Gpu, units: Units) -> Vec<String> {
    let identity = &gpu.identity;
    let memory = gpu.vitals.memory_total_bytes.last().map(|bytes| {
        let kind = identity.memory_type.last().map(|kind| format!(" {kind}")).unwrap_or_default();
        format!("{}{kind}", units.bytes(bytes.0 as f64))
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

fn meter<T: Scalar>(
    gpu: &Gpu,
    reading: &Reading<T>,
    whole: f64,
    text: impl Fn(f64) -> String,
) -> Meter {
    let amount = Amount::of(reading, whole);
    let text = match (reading.last().and_then(Scalar::number), reading.absence()) {
        (Some(value), _) => text(value),
        (None, _) if gpu.presence == Presence::Lost => "lost".to_owned(),
        (None, absence) => absence.map_or("n/a", |absence| absence.word()).to_owned(),
    };
    Meter { amount, text }
}

/// A GPU that is divided has no load of its own.
fn load(gpu: &Gpu) -> Meter {
    let load = &gpu.vitals.util_gpu_pct;
    let meter = meter(gpu, load, 100.0, |pct| format::percent(pct).to_string());
    match load.last().is_none() && !gpu.mig.is_empty() {
        true => Meter { text: "MIG".to_owned(), ..meter },
        false => meter,
    }
}

fn memory(gpu: &Gpu, units: Units) -> Meter {
    let total = gpu.vitals.memory_total_bytes.last().map_or(0.0, |total| total.0 as f64);
    meter(gpu, &gpu.vitals.memory_used_bytes, total, |used| {
        units.bytes_of(Some(used), total).to_string()
    })
}

fn state(gpu: &Gpu, writing: Writing<'_>) -> Vec<Fact> {
    let presence = |text: &str, role| vec![fact(About::Presence, text, role)];
    match gpu.presence {
        Presence::WhatIf => return what_if(gpu),
        Presence::Suspended => {
            return presence("suspended by the kernel to save power; not woken", Role::Muted);
        }
        Presence::Lost => {
            return presence(
                "lost: the driver no longer reaches it; look for Xid in dmesg",
                Role::Bad,
            );
        }
        Presence::Starting => return presence("has not answered yet", Role::Late),
        Presence::Present => {}
    }
    // What comes first stays where the room is short: above all what takes speed away, and damage.
    let facts = [
        Some(throttle(gpu)),
        errors(gpu),
        power(gpu),
        temperature(gpu, writing),
        clocks(gpu),
        mig(gpu, writing.units),
        fan(gpu),
        link(gpu, writing.glyphs),
    ];
    let mut facts: Vec<_> = facts.into_iter().flatten().collect();
    facts.sort_by_key(|fact| match (fact.about, fact.role) {
        (About::Throttle, Role::Warn) => 0,
        (About::Errors, Role::Bad) => 1,
        (About::Throttle, _) => 3,
        (About::Errors, _) => 4,
        (About::Fan | About::Link, _) => 5,
        _ => 2,
    });
    facts
}

fn what_if(gpu: &Gpu) -> Vec<Fact> {
    let bus = gpu.identity.memory_bandwidth_bps.last().map(|rate| format::rate(rate.0).to_string());
    let power = gpu.vitals.power_limit_w.last().map(|limit| format::watts(limit.0).to_string());
    let mut facts =
        vec![fact(About::Presence, "what-if: from the catalogue, nothing measured", Role::WhatIf)];
    facts.extend(
        [bus, power].into_iter().flatten().map(|text| fact(About::Catalogue, text, Role::Muted)),
    );
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
    Some(fact(About::Power, text, dim(&vitals.power_w, Role::Text)))
}

fn temperature(gpu: &Gpu, Writing { glyphs, units }: Writing<'_>) -> Option<Fact> {
    let vitals = &gpu.vitals;
    let now = vitals.temperature_c.last()?;
    let role = match vitals.slowdown_celsius().unwrap_or(f32::INFINITY) - now.0 {
        left if left <= 0.0 => Role::Bad,
        left if left <= 8.0 => Role::Warn,
        _ => Role::Text,
    };
    let text = units.celsius(f64::from(now.0), glyphs).to_string();
    Some(fact(About::Temperature, text, dim(&vitals.temperature_c, role)))
}

/// `MIG: 3g.40gb 6.3 / 39.5 GiB, 1g.10gb 1.6 / 9.8 GiB`.
fn mig(gpu: &Gpu, units: Units) -> Option<Fact> {
    let instance = |one: &MigInstance| {
        let used = one.memory_used_bytes.map(|used| used.0 as f64);
        let total = one.memory_total_bytes.map_or(f64::NAN, |total| total.0 as f64);
        format!("{} {}", one.name.trim_start_matches("MIG "), units.bytes_of(used, total))
    };
    let all: Vec<_> = gpu.mig.iter().map(instance).collect();
    (!all.is_empty()).then(|| fact(About::Mig, format!("MIG: {}", all.join(", ")), Role::Text))
}

fn clocks(gpu: &Gpu) -> Option<Fact> {
    let vitals = &gpu.vitals;
    let now = vitals.clock_sm_mhz.last()?;
    let text = match vitals.clock_sm_max_mhz.last() {
        Some(max) => format!("{}/{} MHz", now.0, max.0),
        None => format!("{} MHz", now.0),
    };
    Some(fact(About::Clock, text, dim(&vitals.clock_sm_mhz, Role::Text)))
}

fn link(gpu: &Gpu, glyphs: &Glyphs) -> Option<Fact> {
    let vitals = &gpu.vitals;
    let (gen_now, width) = (vitals.pcie_gen.last()?, vitals.pcie_width.last()?);
    let narrow = vitals.pcie_width_max.last().is_some_and(|max| width < max);
    let role = if narrow { Role::Warn } else { Role::Text };
    let text = format!("PCIe {gen_now}{}{width}", glyphs.times);
    Some(fact(About::Link, text, dim(&vitals.pcie_gen, role)))
}

fn fan(gpu: &Gpu) -> Option<Fact> {
    let fan = gpu.vitals.fan_pct.last()?;
    Some(fact(About::Fan, format!("fan {:.0}%", fan.0), dim(&gpu.vitals.fan_pct, Role::Text)))
}

fn errors(gpu: &Gpu) -> Option<Fact> {
    let vitals = &gpu.vitals;
    let bad = vitals.ecc_uncorrected_volatile.last()?;
    let corrected = vitals.ecc_corrected_volatile.last().copied().unwrap_or(0);
    let (text, role) = match (*bad, corrected) {
        (0, 0) => ("ECC 0".to_owned(), Role::Text),
        (0, _) => (format!("ECC {corrected} corrected"), Role::Warn),
        _ => (format!("ECC {bad} uncorrected"), Role::Bad),
    };
    Some(fact(About::Errors, text, role))
}

fn throttle(gpu: &Gpu) -> Fact {
    let active = &gpu.throttle.active;
    let Some(reasons) = active.last() else {
        let word = active.absence().map_or("n/a", |absence| absence.word());
        return fact(About::Throttle, format!("clocks: {word}"), Role::Absent);
    };
    let words: Vec<_> = reasons.iter().map(|reason| reason.words()).collect();
    let slowed = reasons.iter().any(|reason| reason.slows());
    let text = if words.is_empty() { "full speed".to_owned() } else { words.join(", ") };
    let role = match (slowed, words.is_empty()) {
        (true, _) => Role::Warn,
        (false, true) => Role::Good,
        (false, false) => Role::Muted,
    };
    fact(About::Throttle, format!("clocks: {text}"), dim(active, role))
}

/// Number formats of the strip, in its order.
const STRIP: &[Dtype] = &[
    Dtype::Fp64,
    Dtype::Fp32,
    Dtype::Tf32,
    Dtype::Fp16,
    Dtype::Bf16,
    Dtype::Fp8E4m3,
    Dtype::Int8,
    Dtype::Int4,
    Dtype::Nvfp4,
];

fn dtypes(support: &[(Dtype, How)], glyphs: &Glyphs) -> Vec<(&'static str, &'static str, Role)> {
    let shown = STRIP.iter().filter_map(|dtype| support.iter().find(|row| row.0 == *dtype));
    shown
        .map(|(dtype, how)| (dtype.label(), how.symbol(!glyphs.is_unicode), role_of(*how)))
        .collect()
}

fn role_of(how: How) -> Role {
    match how {
        How::TensorCore => Role::Good,
        How::CudaCore => Role::Text,
        How::Slow | How::Emulated => Role::Warn,
        How::StorageOnly | How::Unknown => Role::Muted,
        How::None => Role::Absent,
    }
}

fn summary(judged: &Judged) -> Summary {
    let worst = |verdict: &Verdict| {
        (verdict.outcome, format!("{} {}: {}", verdict.framework, verdict.config, verdict.reason))
    };
    Summary {
        total: judged.counts.iter().map(|row| row.1).sum(),
        counts: judged.counts.clone(),
        is_awaited: false,
        worst: judged.worst.as_ref().map(worst),
    }
}

#[cfg(test)]
mod tests {
    use warpscope_probes::gpu::ClockReason;
    use warpscope_probes::units::{Bytes, Watts};

    use super::*;

    fn gibibytes(count: f64) -> Option<Bytes> {
        Some(Bytes((count * f64::from(1 << 30)) as u64))
    }

    #[test]
    fn a_divided_gpu_tells_of_its_instances() {
        let instance = |name: &str, used, total| MigInstance {
            name: name.to_owned(),
            memory_used_bytes: gibibytes(used),
            memory_total_bytes: gibibytes(total),
            index: 0,
            uuid: None,
            gpu_instance: None,
            compute_instance: None,
            sm_count: None,
        };
        let instances =
            vec![instance("MIG 3g.40gb", 6.25, 39.5), instance("MIG 1g.10gb", 1.625, 9.75)];
        let gpu = Gpu { mig: instances, ..Gpu::default() };
        let text = mig(&gpu, Units::default()).map(|fact| fact.text);
        let want = "MIG: 3g.40gb 6.2 / 39.5 GiB, 1g.10gb 1.6 / 9.8 GiB";
        assert_eq!(text.as_deref(), Some(want));
        assert_eq!(load(&gpu).text, "MIG");
        assert_ne!(load(&Gpu::default()).text, "MIG");
    }

    #[test]
    fn what_slows_the_clocks_comes_first_and_a_normal_state_after_the_values() {
        let writing = Writing { glyphs: Glyphs::ascii(), units: Units::default() };
        let abouts = |reasons: Vec<ClockReason>| {
            let mut gpu = Gpu { presence: Presence::Present, ..Gpu::default() };
            gpu.vitals.power_w = Watts(300.0).into();
            gpu.vitals.ecc_uncorrected_volatile = 0_u64.into();
            gpu.throttle.active = reasons.into();
            state(&gpu, writing).iter().map(|fact| fact.about).collect::<Vec<_>>()
        };
        let (power, clocks, errors) = (About::Power, About::Throttle, About::Errors);
        assert_eq!(abouts(vec![ClockReason::SwPowerCap]), [clocks, power, errors]);
        assert_eq!(abouts(vec![ClockReason::Idle]), [power, clocks, errors]);
    }

    #[test]
    fn a_lost_gpu_is_not_judged() {
        let judged = Arc::new(Judged { counts: vec![(Outcome::Fails, 1)], ..Judged::default() });
        let writing = Writing { glyphs: Glyphs::ascii(), units: Units::default() };
        let of = |presence| {
            let mut gpu = Gpu { presence, ..Gpu::default() };
            gpu.vitals.util_gpu_pct = Reading::Failed("GPU is lost".into());
            let card = card(Some(&judged), 0, &gpu, writing);
            (card.summary.total, card.load.text)
        };
        assert_eq!(of(Presence::Present), (1, "failed".to_owned()));
        assert_eq!(of(Presence::Lost), (0, "lost".to_owned()));
    }

    #[test]
    fn corrected_errors_are_told_from_others() {
        let of = |bad: u64, corrected: u64| {
            let mut gpu = Gpu::default();
            gpu.vitals.ecc_uncorrected_volatile = bad.into();
            gpu.vitals.ecc_corrected_volatile = corrected.into();
            errors(&gpu).map(|fact| fact.text).unwrap_or_default()
        };
        let texts = [of(0, 0), of(0, 1), of(2, 1)];
        assert_eq!(texts, ["ECC 0", "ECC 1 corrected", "ECC 2 uncorrected"]);
    }
}
