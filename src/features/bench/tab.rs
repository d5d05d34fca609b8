use super::device::Device;
use super::update::effects;
use super::{Bench, panel};
use crate::features::shared::{GpuDecode, copied_gpu};
use crate::features::{Action, CpuDecode, Effect, Feature, Shared};
use crate::widgets::{Hit, Surface};
use warpscope_probes::Gpu;

impl Feature for Bench {
    fn draw(&self, shared: &Shared, on: Surface<'_>) {
        panel::render(self, &shared.frame, on);
    }

    fn follow(&mut self, _shared: &Shared, in_view: bool) -> Vec<Effect> {
        effects(self.devices.see(in_view))
    }

    fn publish(&self, shared: &mut Shared) {
        let (cpu, now) = (self.devices.cpu(), self.devices.now());
        let asked = cpu.has_worker() || !cpu.results.is_empty();
        shared.cpu_decode = asked.then(|| {
            let waits = !cpu.has_worker() || cpu.is_starting();
            CpuDecode {
                waits: waits.then(|| panel::why(cpu, now)),
                rates: panel::decode_rates(self),
            }
        });
        let decode = |gpu: &Gpu| Some((gpu.key.clone(), gpu_decode(self.devices.get(&gpu.key)?)?));
        shared.gpu_decode = self.gpus(&shared.frame).filter_map(decode).collect();
    }

    fn step(&mut self, step: isize, shared: &Shared) {
        self.device.step(0, self.gpus(&shared.frame).count() + 1);
        self.cursor.step(step, self.lines(&shared.frame));
    }

    fn step_aside(&mut self, step: isize, shared: &Shared) {
        let devices = self.gpus(&shared.frame).count() + 1;
        self.device.step(step, devices);
    }

    fn hint(&self, action: Action) -> Option<&'static str> {
        match action {
            Action::Open => Some(""),
            Action::Right => Some("next device"),
            _ => None,
        }
    }

    fn click(&mut self, hit: Hit, _shared: &Shared) {
        match hit {
            Hit::Gpu(line) => self.device.at = line,
            Hit::Row(row) => self.cursor.at = row,
            _ => {}
        }
    }

    fn copy(&self, shared: &Shared) -> Option<(&'static str, String)> {
        self.selected_gpu(&shared.frame).map(|(gpu, _)| copied_gpu(gpu))
    }

    fn offers(&self, key: &str, shared: &Shared) -> bool {
        !matches!(key, "copy" | "all_paths") || self.selected_gpu(&shared.frame).is_some()
    }
}

/// The rates of the usual paths but fp32, where any was measured.
fn gpu_decode(device: &Device) -> Option<GpuDecode> {
    let measured = panel::DTYPES[1..].iter().filter_map(|dtype| {
        let speed = device.results.speed_of(*dtype)?;
        Some((dtype.id(), speed.value.decode_tokens_per_s?, speed.at))
    });
    let measured: Vec<_> = measured.collect();
    let at = measured.iter().map(|one| one.2).max()?;
    Some(GpuDecode { rates: measured.iter().map(|one| (one.0, one.1)).collect(), at })
}
