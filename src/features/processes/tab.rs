use warpscope_probes::text::printable;

use super::keys::{out_of_reach, sends_none};
use super::{Popup, Processes, SORTS, panel};
use crate::features::popup::{CLOSE_HINTS, PopupHint};
use crate::features::{Effect, Feature, Input, PopupEvent, Scroll, Shared};
use crate::widgets::{Hit, Surface};

impl Feature for Processes {
    fn draw(&self, shared: &Shared, on: Surface<'_>) {
        panel::render(self, shared, on);
    }

    fn step(&mut self, step: isize, shared: &Shared) {
        self.cursor.step(step, self.rows(&shared.frame).len());
    }

    fn open(&mut self, shared: &Shared) {
        self.popup = self.selected(&shared.frame).map(|process| Popup::Process {
            pid: process.pid,
            gpu: process.gpu.clone(),
            scroll: Scroll::default(),
            is_reachable: sends_none(shared).is_none() && out_of_reach(process).is_none(),
        });
    }

    fn click(&mut self, hit: Hit, shared: &Shared) {
        match hit {
            Hit::Sort(at) if at < SORTS.len() => self.sort_by(SORTS[at].by),
            Hit::Row(row) if self.cursor.hit(row) => self.open(shared),
            _ => {}
        }
    }

    fn copy(&self, shared: &Shared) -> Option<(&'static str, String)> {
        let command = self.selected(&shared.frame)?.host.command.last()?;
        Some(("selected line", printable(command)))
    }

    fn offers(&self, key: &str, shared: &Shared) -> bool {
        match key {
            "open" => self.selected(&shared.frame).is_some(),
            "copy" => self.copy(shared).is_some(),
            "signal" => sends_none(shared).is_none() && self.selected(&shared.frame).is_some(),
            "filter_processes" | "sort" | "tree" => !shared.frame.processes.is_empty(),
            _ => true,
        }
    }

    fn filter_hint(&self) -> &'static str {
        "words of a process, its PID, or gpu 3"
    }

    fn filter(&self) -> Option<&Input> {
        Some(&self.filter)
    }

    fn filter_mut(&mut self) -> Option<&mut Input> {
        Some(&mut self.filter)
    }

    fn has_popup(&self) -> bool {
        self.popup.is_some()
    }

    fn popup_hints(&self) -> &'static [PopupHint] {
        self.popup.as_ref().map_or(CLOSE_HINTS, Popup::hints)
    }

    fn draw_popup(&self, shared: &Shared, on: Surface<'_>) {
        if let Some(popup) = &self.popup {
            popup.draw(shared, on);
        }
    }

    fn on_popup(&mut self, event: PopupEvent, shared: &Shared) -> Vec<Effect> {
        let Some(mut popup) = self.popup.take() else { return Vec::new() };
        if let (Popup::Process { pid, gpu, .. }, PopupEvent::Key(press)) = (&popup, event)
            && press.chord.typed() == Some('K')
        {
            let mut all = shared.frame.processes.iter();
            let process = all.find(|one| one.pid == *pid && one.gpu == *gpu);
            self.popup = Some(popup);
            return process.map_or_else(Vec::new, |process| self.ask_signal_to(process, shared));
        }
        popup.on(event).keep(popup, &mut self.popup)
    }
}
