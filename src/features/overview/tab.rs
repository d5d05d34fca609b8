use warpscope_probes::gpu::Presence;

use super::{Details, Overview, details, view};
use crate::features::popup::PopupHint;
use crate::features::shared::copied_gpu;
use crate::features::{Effect, Feature, PopupEvent, Shared};
use crate::widgets::{Hit, Surface, draw_text};

/// Keys of everything about a GPU.
const DETAILS_HINTS: &[PopupHint] =
    &[("/", "search"), ("K", "processes"), ("pgup", "back"), ("pgdn", "more"), ("esc", "close")];

impl Feature for Overview {
    fn draw(&self, shared: &Shared, on: Surface<'_>) {
        view::render(shared, self, on);
    }

    fn step(&mut self, step: isize, shared: &Shared) {
        let before = self.cursor.at;
        self.cursor.step(step, shared.frame.gpus.len());
        if self.cursor.at != before {
            self.first_process = 0;
        }
    }

    fn step_aside(&mut self, step: isize, shared: &Shared) {
        let has_graphs =
            self.selected(&shared.frame).is_some_and(|gpu| gpu.presence != Presence::WhatIf);
        if !has_graphs {
            return self.step(step, shared);
        }
        self.read(step);
    }

    fn close(&mut self) -> Vec<Effect> {
        self.reading = None;
        Vec::new()
    }

    fn open(&mut self, shared: &Shared) {
        self.details = self.selected(&shared.frame).map(|gpu| Details::new(&gpu.key));
    }

    fn click(&mut self, hit: Hit, shared: &Shared) {
        if let Hit::Row(row) = hit
            && self.cursor.hit(row)
        {
            self.open(shared);
        }
    }

    fn copy(&self, shared: &Shared) -> Option<(&'static str, String)> {
        self.selected(&shared.frame).map(copied_gpu)
    }

    fn offers(&self, key: &str, shared: &Shared) -> bool {
        !matches!(key, "open" | "copy" | "longer_span") || !shared.frame.gpus.is_empty()
    }

    fn gpu(&self) -> Option<usize> {
        Some(self.cursor.at)
    }

    fn select_gpu(&mut self, at: usize) {
        self.cursor.at = at;
    }

    fn has_popup(&self) -> bool {
        self.details.is_some()
    }

    fn draw_popup(&self, shared: &Shared, on: Surface<'_>) {
        if let Some(details) = &self.details {
            let page = details::page(shared, on.look, details, on.page_width());
            on.hits.show_details();
            draw_text(page, details.page.scroll.0, on);
        }
    }

    fn popup_takes_text(&self) -> bool {
        self.details.as_ref().is_some_and(|details| details.page.typing)
    }

    fn popup_hints(&self) -> &'static [PopupHint] {
        DETAILS_HINTS
    }

    fn on_popup(&mut self, event: PopupEvent, shared: &Shared) -> Vec<Effect> {
        let Some(mut details) = self.details.take() else { return Vec::new() };
        if let PopupEvent::Key(press) = event
            && press.chord.typed() == Some('K')
            && !details.page.typing
            && let Some(gpu) = shared.frame.gpus.iter().find(|gpu| gpu.key == details.key)
        {
            return vec![Effect::FindProcesses(format!("gpu {}", gpu.index))];
        }
        details.page.on(event).keep(details, &mut self.details)
    }
}
