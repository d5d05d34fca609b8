//! What lies over the Compat tab: a verdict in full, and the dialogs that name a model and a version.

use super::model::{self, Dialog};
use super::picker::{self, Picked, Picker};
use super::{Compat, Line, panel};
use crate::features::keys::Action;
use crate::features::popup::{Flow, PopupEvent, Press, Scroll};
use crate::features::{Effect, Shared};
use crate::widgets::{Hit, Surface, draw_page};

/// What lies over the tab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Popup {
    /// Why the selected verdict is what it is.
    Why(Why),
    /// The model every row is asked about.
    Model(Dialog),
    /// The version a framework is asked about.
    Versions(Picker),
}

/// A verdict in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Why {
    scroll: Scroll,
    /// Selected fix.
    pub(super) fix: usize,
    /// Whether it was just selected, and has to be in view.
    follow: bool,
}

impl Why {
    /// What an event changes, with the number of fixes there are.
    fn on(&mut self, event: PopupEvent, fixes: usize) -> Flow {
        let chosen = match event {
            PopupEvent::Click(row) => Some(row),
            PopupEvent::Key(press) => self.choice(press, fixes),
            _ => None,
        };
        if let Some(fix) = chosen {
            (self.fix, self.follow) = (fix, true);
            return Flow::stay();
        }
        self.follow &= matches!(event, PopupEvent::Shown(_));
        self.scroll.on(event)
    }

    /// The fix a key selects: by its number, or the one before or after.
    fn choice(&self, press: Press, fixes: usize) -> Option<usize> {
        let digit = press.chord.typed().and_then(|character| character.to_digit(10));
        let wanted = match (digit, press.action) {
            (Some(digit), _) => (digit as usize).checked_sub(1)?,
            (None, Some(Action::Left | Action::PreviousTab)) => self.fix.saturating_sub(1),
            (None, Some(Action::Right | Action::NextTab)) => self.fix + 1,
            _ => return None,
        };
        (fixes > 0).then(|| wanted.min(fixes - 1))
    }

    /// The chain, the evidence, the message, the ways out.
    fn draw(&self, (state, shared): (&Compat, &Shared), on: Surface<'_>) {
        let Some(verdict) = state.selected_verdict() else { return };
        let Some(Line::Row(row)) = state.selected_line() else { return };
        let page = panel::whole((state, shared), on.look, self.fix, on.page_width());
        let title = panel::title(on.look, &verdict, (state, row));
        let title = title.each_ref().map(|(text, role)| on.look.piece(text, *role));
        let focus = if self.follow { page.lines_of(Hit::Row(self.fix)) } else { None };
        draw_page(&title, &page, (self.scroll.0, focus), on);
    }
}

impl Compat {
    pub(super) fn popup_event(&mut self, event: PopupEvent) -> Vec<Effect> {
        let fixes = self.selected_verdict().map_or(0, |verdict| verdict.fixes.len());
        let Some(mut popup) = self.popup.take() else { return Vec::new() };
        let flow = match &mut popup {
            Popup::Why(why) => why.on(event, fixes),
            Popup::Model(dialog) if dialog.takes_back(event) => Flow::Close(self.forget_model()),
            Popup::Model(dialog) => dialog.on(event),
            Popup::Versions(picker) => match picker.picked(event) {
                Some(picked) => Flow::Close(self.pick_version(picker.framework(), &picked)),
                None => picker.on(event),
            },
        };
        flow.keep(popup, &mut self.popup)
    }
}

impl Compat {
    /// Asks about the version that was picked.
    fn pick_version(&mut self, framework: &str, picked: &Picked) -> Vec<Effect> {
        self.keep_selection(|tab| match picked {
            Picked::Version(version) => tab.verdicts.choose_version(framework, version),
            Picked::Reset => drop(tab.verdicts.reset_version(framework)),
        });
        Vec::new()
    }
}

impl Popup {
    pub(super) fn draw(&self, (state, shared): (&Compat, &Shared), on: Surface<'_>) {
        match self {
            Self::Why(why) => why.draw((state, shared), on),
            Self::Model(dialog) => model::render(dialog, on),
            Self::Versions(picker) => picker::render(picker, &state.verdicts, on),
        }
    }
}
