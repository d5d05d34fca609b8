use warpscope_probes::{Frame, Gpu};

use super::popup::Why;
use super::{Compat, Line, Popup, panel};
use crate::features::popup::PopupHint;
use crate::features::{Effect, Feature, Input, PopupEvent, Shared};
use crate::text::clean_lines;
use crate::widgets::{Hit, Shown, Surface};

/// Frames for which the rules stay in memory once the tab is left, a minute at the usual interval: who comes back soon does not wait.
const KEPT: u8 = 60;

impl Feature for Compat {
    fn draw(&self, shared: &Shared, on: Surface<'_>) {
        panel::render(self, shared, on);
    }

    fn frame(&mut self, shared: &Shared, before: &Frame) -> Vec<Effect> {
        if shared.awaits_rules {
            // The first values are not kept waiting: with the rules come all GPUs in view.
        } else if self.verdicts.all_rows().is_empty() {
            self.gpus_changed(shared);
        } else if self.counts_free() || !is_alike(before, &shared.frame) {
            self.renew(&shared.frame);
        }
        self.kept = self.kept.saturating_sub(1);
        let mut effects = self.look_around(shared, shared.was_unplugged(before));
        effects.extend(self.recall(shared));
        effects.extend(self.watch(shared));
        effects
    }

    fn gpus_changed(&mut self, shared: &Shared) {
        self.renew(&shared.frame);
    }

    /// Out of view, what was answered is all that is shown.
    fn follow(&mut self, _shared: &Shared, in_view: bool) -> Vec<Effect> {
        if in_view {
            self.kept = KEPT;
        } else if self.kept == 0 {
            self.verdicts.let_rules_go();
        }
        Vec::new()
    }

    fn publish(&self, shared: &mut Shared) {
        shared.judged = self.verdicts.judged();
        shared.survey = self.verdicts.survey().cloned();
    }

    fn step(&mut self, step: isize, _shared: &Shared) {
        self.view.column.step(0, self.verdicts.columns.all().len());
        self.view.row.step(step, self.lines().len());
    }

    fn step_aside(&mut self, step: isize, _shared: &Shared) {
        let columns = self.verdicts.columns.all().len();
        self.keep_selection(|tab| tab.view.column.step(step, columns));
    }

    fn page(&self) -> Option<usize> {
        self.view.visible.checked_sub(1)
    }

    fn open(&mut self, _shared: &Shared) {
        match self.selected_line() {
            Some(Line::Head { .. }) => drop(self.fold()),
            Some(Line::Row(_)) => {
                self.popup = self.selected_verdict().map(|_| Popup::Why(Why::default()));
            }
            None => {}
        }
    }

    /// A head folds at once; a cell is selected first, and opened by the second click.
    fn click(&mut self, hit: Hit, shared: &Shared) {
        match hit {
            Hit::Gpu(column) => self.select_column(column),
            Hit::Answer => self.open(shared),
            Hit::Cell { row, column } => {
                let again = self.view.row.hit(row) && self.view.column.at == column;
                self.select_column(column);
                if again || matches!(self.selected_line(), Some(Line::Head { .. })) {
                    self.open(shared);
                }
            }
            _ => {}
        }
    }

    fn shown(&mut self, part: Shown) {
        self.view.top = (part.line, part.column);
        self.view.visible = part.lines;
    }

    /// The filter; the model stays until another is named, or none.
    fn close(&mut self) -> Vec<Effect> {
        self.keep_selection(|tab| tab.view.filter.text.clear());
        Vec::new()
    }

    /// The text of a fix, or the command that starts what works, to be pasted into a shell: its lines stay lines.
    fn copy(&self, _shared: &Shared) -> Option<(&'static str, String)> {
        let chosen = match &self.popup {
            Some(Popup::Why(why)) => why.fix,
            _ => 0,
        };
        let verdict = self.selected_verdict()?;
        if let Some(Line::Row(row)) = self.selected_line()
            && verdict.fix.is_none()
            && let Some(start) = self.verdicts.start(row, self.view.column.at)
        {
            return Some(("start command", clean_lines(&start)));
        }
        // What is chosen, or without a choice the first that is no sentence.
        let command = verdict.fixes.get(chosen).and_then(|fix| fix.command());
        let first = || verdict.fixes.iter().find_map(|fix| fix.command());
        let fix = if chosen == 0 { command.or_else(first) } else { command }?;
        Some(("fix", clean_lines(fix)))
    }

    fn filter(&self) -> Option<&Input> {
        Some(&self.view.filter)
    }

    fn edit_filter(&mut self, edit: &dyn Fn(&mut Input)) {
        self.keep_selection(|tab| edit(&mut tab.view.filter));
    }

    fn gpu(&self) -> Option<usize> {
        self.verdicts.columns.all().get(self.view.column.at)?.gpus.first().copied()
    }

    fn select_gpu(&mut self, at: usize) {
        if let Some(column) = self.verdicts.columns.of_gpu(at) {
            self.select_column(column);
        }
    }

    fn has_popup(&self) -> bool {
        self.popup.is_some()
    }

    fn popup_takes_text(&self) -> bool {
        matches!(self.popup, Some(Popup::Model(_) | Popup::Versions(_)))
    }

    fn popup_hints(&self) -> &'static [PopupHint] {
        match &self.popup {
            Some(Popup::Model(_)) => &[("enter", "read"), ("tab", "complete"), ("esc", "close")],
            Some(Popup::Versions(_)) => &[("enter", "ask about it"), ("esc", "close")],
            _ => &[("y", "copy"), ("esc", "close")],
        }
    }

    fn draw_popup(&self, shared: &Shared, on: Surface<'_>) {
        if let Some(popup) = &self.popup {
            popup.draw((self, shared), on);
        }
    }

    fn on_popup(&mut self, event: PopupEvent, _shared: &Shared) -> Vec<Effect> {
        self.popup_event(event)
    }
}

impl Compat {
    /// Whether free memory counts, or will as soon as the model that is being named is read.
    fn counts_free(&self) -> bool {
        self.verdicts.has_model() || matches!(self.popup, Some(Popup::Model(_)))
    }
}

/// Whether the GPUs of two frames get the same verdicts, as long as free memory does not count.
fn is_alike(before: &Frame, now: &Frame) -> bool {
    let facts =
        |gpu: &Gpu| (gpu.index, gpu.presence, gpu.vitals.memory_total_bytes.last().copied());
    let same = |(one, other): (&Gpu, &Gpu)| {
        facts(one) == facts(other) && one.key == other.key && one.identity == other.identity
    };
    before.driver == now.driver
        && before.gpus.len() == now.gpus.len()
        && before.gpus.iter().zip(&now.gpus).all(same)
}
