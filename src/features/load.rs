//! What several GPUs do together.

use warpscope_probes::Gpu;

use crate::widgets::format::{self, Units, percent};

/// GPUs together, of what they answer now.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// How many there are.
    pub(crate) gpus: usize,
    /// Mean utilization in percent.
    pub(crate) busy: Option<f64>,
    /// In use and in all, where both are known.
    pub(crate) memory: Option<(f64, f64)>,
    /// Watts, of those that tell.
    watts: Option<f64>,
}

impl Load {
    /// Adds GPUs up.
    pub(crate) fn of<'a>(gpus: impl Iterator<Item = &'a Gpu>) -> Self {
        let (mut all, mut busy) = (Self::default(), Vec::new());
        for gpu in gpus {
            all.gpus += 1;
            busy.extend(gpu.vitals.util_gpu_pct.value().map(|percent| f64::from(percent.0)));
            let used = gpu.vitals.memory_used_bytes.value();
            if let Some((used, total)) = used.zip(gpu.vitals.memory_total_bytes.last()) {
                let (before, whole) = all.memory.unwrap_or_default();
                all.memory = Some((before + used.0 as f64, whole + total.0 as f64));
            }
            if let Some(draw) = gpu.vitals.power_w.value() {
                all.watts = Some(all.watts.unwrap_or_default() + draw.0);
            }
        }
        all.busy = (!busy.is_empty()).then(|| busy.iter().sum::<f64>() / busy.len() as f64);
        all
    }

    /// `52% busy`, `312.0 / 640.0 GiB`, `2.1 kW`: what is known.
    pub(crate) fn words(&self, units: Units) -> Vec<String> {
        let busy = self.busy.map(|busy| format!("{} busy", percent(busy)));
        let memory = self.memory.map(|(used, total)| units.bytes_of(Some(used), total).to_string());
        let watts = self.watts.map(|watts| format::watts(watts).to_string());
        [busy, memory, watts].into_iter().flatten().collect()
    }
}
