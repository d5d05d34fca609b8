use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use warpscope_probes::text::printable;

use super::{Popup, Processes, SORTS, panel};
use crate::features::{Effect, Feature, Input, PopupEvent, Scroll, Shared};
use crate::widgets::{Hit, Hits, Look};

impl Feature for Processes {
    fn draw(
        &self,
        shared: &Shared,
        look: Look<'_>,
        area: Rect,
        buffer: &mut Buffer,
        hits: &mut Hits,
    ) {
        panel::render(self, shared, look, area, buffer, hits);
    }

    fn step(&mut self, step: isize, shared: &Shared) {
        self.cursor.step(step, self.rows(&shared.frame).len());
    }

    fn open(&mut self, shared: &Shared) {
        self.popup = self.selected(&shared.frame).map(|process| Popup::Process {
            pid: process.pid,
            gpu: process.gpu.clone(),
            scroll: Scroll::default(),
        });
    }

    fn click(&mut self, hit: Hit, shared: &Shared) {
        match hit {
            Hit::Sort(at) if at < SORTS.len() => self.sort_by(SORTS[at].by),
            Hit::Row(row) if self.cursor.hit(row) => self.open(shared),
            _ => {}
        }
    }

    fn close(&mut self, _shared: &Shared) -> Vec<Effect> {
        self.filter.text.clear();
        Vec::new()
    }

    fn copy(&self, shared: &Shared) -> Option<(&'static str, String)> {
        let command = self.selected(&shared.frame)?.host.command.last()?;
        Some(("selected line", printable(command)))
    }

    fn filter(&self) -> Option<&Input> {
        Some(&self.filter)
    }

    fn edit_filter(&mut self, edit: &dyn Fn(&mut Input), _shared: &Shared) {
        edit(&mut self.filter);
    }

    fn has_popup(&self) -> bool {
        self.popup.is_some()
    }

    fn draw_popup(
        &self,
        shared: &Shared,
        look: Look<'_>,
        area: Rect,
        buffer: &mut Buffer,
        hits: &mut Hits,
    ) {
        if let Some(popup) = &self.popup {
            popup.draw(shared, look, area, buffer, hits);
        }
    }

    fn on_popup(&mut self, event: PopupEvent, _shared: &Shared) -> Vec<Effect> {
        let Some(mut popup) = self.popup.take() else { return Vec::new() };
        popup.on(event).keep(popup, &mut self.popup)
    }
}
