use warpscope_probes::Frame;

use super::update::gpu_tasks;
use super::{Bench, Phase, panel};
use crate::features::shared::copied_gpu;
use crate::features::{CpuDecode, Effect, Feature, Shared};
use crate::widgets::{Hit, Surface};

impl Feature for Bench {
    fn draw(&self, shared: &Shared, on: Surface<'_>) {
        panel::render(self, &shared.frame, on);
    }

    fn frame(&mut self, shared: &Shared, before: &Frame) -> Vec<Effect> {
        self.mind_battery(shared, shared.was_unplugged(before))
    }

    fn follow(&mut self, _shared: &Shared, in_view: bool) -> Vec<Effect> {
        gpu_tasks(self.gpus.see(in_view)).collect()
    }

    fn publish(&self, shared: &mut Shared) {
        let asked = self.phase != Phase::Off || !self.reports.is_empty();
        shared.cpu_decode = asked.then(|| {
            let waits = matches!(self.phase, Phase::Paused(_) | Phase::Died(_) | Phase::Starting);
            CpuDecode { waits: waits.then(|| self.status()), rates: panel::decode_rates(self) }
        });
    }

    fn step(&mut self, step: isize, shared: &Shared) {
        self.device.step(0, self.devices(&shared.frame).count() + 1);
        self.cursor.step(step, self.lines(&shared.frame));
    }

    fn step_aside(&mut self, step: isize, shared: &Shared) {
        let devices = self.devices(&shared.frame).count() + 1;
        self.device.step(step, devices);
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
}
