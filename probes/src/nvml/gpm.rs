//! GPU performance metrics of Hopper and later: pipe and memory activity between two samples.
//!
//! The sample of the last poll is kept, so each value covers exactly the time between two frames.

use nvml_wrapper::Nvml;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::gpm_metrics_get;

use super::probe::Probe;
use super::raw::KeptSample;
use super::slot::Slot;
use super::{error, plausible};
use crate::Reading;
use crate::gpu::Vitals;
use crate::units::Percent;

/// What is known of GPM on one device.
#[derive(Debug, Default)]
pub(super) enum Gpm {
    /// Not asked.
    #[default]
    Unknown,
    /// Not offered; not asked again.
    Unsupported,
    /// Offered, with the sample of the last poll if there is one.
    Offered(Option<KeptSample>),
}

type Place = fn(&mut Vitals) -> &mut Reading<Percent>;

const METRICS: [(GpmMetricId, Place); 10] = [
    (GpmMetricId::SmOccupancy, |v| &mut v.gpm_sm_occupancy_pct),
    (GpmMetricId::SmUtil, |v| &mut v.gpm_sm_active_pct),
    (GpmMetricId::AnyTensorUtil, |v| &mut v.gpm_tensor_pct),
    (GpmMetricId::HmmaTensorUtil, |v| &mut v.gpm_tensor_half_pct),
    (GpmMetricId::ImmaTensorUtil, |v| &mut v.gpm_tensor_int_pct),
    (GpmMetricId::DfmaTensorUtil, |v| &mut v.gpm_tensor_double_pct),
    (GpmMetricId::Fp64Util, |v| &mut v.gpm_fp64_pct),
    (GpmMetricId::Fp32Util, |v| &mut v.gpm_fp32_pct),
    (GpmMetricId::Fp16Util, |v| &mut v.gpm_fp16_pct),
    (GpmMetricId::DramBwUtil, |v| &mut v.gpm_dram_pct),
];

/// Samples the device and computes every metric since the last sample.
pub(super) fn metrics(probe: &Probe<'_>, slot: &mut Slot) {
    if matches!(slot.gpm, Gpm::Unknown) && probe.device().is_some() {
        slot.gpm = match probe.ask(|d| d.gpm_support()) {
            Reading::Value(true) => Gpm::Offered(None),
            Reading::Value(false) | Reading::Unsupported => Gpm::Unsupported,
            absent => return fill(&mut slot.gpu.vitals, &absent.map(|_| Percent(0.0))),
        };
    }
    let Gpm::Offered(kept) = &mut slot.gpm else {
        let absent = if probe.device().is_some() {
            Reading::Unsupported
        } else {
            probe.ask(|_| Ok(Percent(0.0)))
        };
        return fill(&mut slot.gpu.vitals, &absent);
    };
    match probe.ask(|device| {
        let now = device.gpm_sample()?;
        let values = match kept.take() {
            Some(before) => Some(compute(device.nvml(), &before.sample(), &now)?),
            None => None,
        };
        *kept = probe.library().map(|nvml| KeptSample::keep(now, nvml));
        Ok(values)
    }) {
        Reading::Value(Some(values)) => {
            for ((_, place), value) in METRICS.iter().zip(values) {
                *place(&mut slot.gpu.vitals) = value;
            }
        }
        Reading::Value(None) => fill(&mut slot.gpu.vitals, &Reading::Late(None)),
        Reading::Unsupported => {
            slot.gpm = Gpm::Unsupported;
            fill(&mut slot.gpu.vitals, &Reading::Unsupported);
        }
        absent => fill(&mut slot.gpu.vitals, &absent.map(|_| Percent(0.0))),
    }
}

fn fill(vitals: &mut Vitals, reading: &Reading<Percent>) {
    for (_, place) in &METRICS {
        *place(vitals) = reading.clone();
    }
}

type Sample<'a> = nvml_wrapper::gpm::GpmSample<'a>;

fn compute<'a>(
    nvml: &'a Nvml,
    before: &Sample<'a>,
    now: &Sample<'a>,
) -> Result<Vec<Reading<Percent>>, NvmlError> {
    let ids = METRICS.map(|(id, _)| id);
    let results = gpm_metrics_get(nvml, before, now, &ids)?;
    Ok(results
        .into_iter()
        .map(|result| match result {
            Ok(metric) if metric.value.is_nan() => Reading::Late(None),
            Ok(metric) => plausible::computed_percent(metric.value)
                .map_or_else(|why| error::reading(&why), Reading::Value),
            Err(why) => error::reading(&why),
        })
        .collect())
}
