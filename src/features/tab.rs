//! What the shell asks of the feature behind a tab.

use warpscope_probes::Frame;

use super::effect::Effect;
use super::input::Input;
use super::keys::Action;
use super::popup::{CLOSE_HINTS, PopupEvent, PopupHint};
use super::shared::Shared;
use crate::widgets::{Hit, Shown, Surface};

/// The feature behind a tab. What it leaves out is what a tab without it does.
pub trait Feature {
    /// Draws the tab; says what can be clicked.
    fn draw(&self, shared: &Shared, on: Surface<'_>);

    /// A new frame is in `shared`; this was the one before.
    fn frame(&mut self, _shared: &Shared, _before: &Frame) -> Vec<Effect> {
        Vec::new()
    }

    /// What-if GPUs came or went.
    fn gpus_changed(&mut self, _shared: &Shared) {}

    /// After everything that happens, with whether the tab is in view.
    fn follow(&mut self, _shared: &Shared, _in_view: bool) -> Vec<Effect> {
        Vec::new()
    }

    /// Leaves in `shared` what other features show of this one.
    fn publish(&self, _shared: &mut Shared) {}

    /// Moves the cursor by rows, and keeps it on one that exists: also by none.
    fn step(&mut self, _step: isize, _shared: &Shared) {}

    /// Moves the other cursor, or the only one, to the side.
    fn step_aside(&mut self, _step: isize, _shared: &Shared) {}

    /// Rows a page key moves by, where it is not the height of the screen that says.
    fn page(&self) -> Option<usize> {
        None
    }

    /// Opens what is selected.
    fn open(&mut self, _shared: &Shared) {}

    /// A click on something that [`Feature::draw`] named.
    fn click(&mut self, _hit: Hit, _shared: &Shared) {}

    /// Which part of something that scrolls was drawn.
    fn shown(&mut self, _part: Shown) {}

    /// Takes back what was typed.
    fn close(&mut self) -> Vec<Effect> {
        self.edit_filter(&|filter| filter.text.clear());
        Vec::new()
    }

    /// What is selected, as text: the word for it, and the text.
    fn copy(&self, shared: &Shared) -> Option<(&'static str, String)>;

    /// What an action does here, in the word the footer has for it; empty where it does nothing worth saying.
    fn hint(&self, _action: Action) -> Option<&'static str> {
        None
    }

    /// Whether a key has something to work on now, by its id: the footer leaves out those that have not.
    fn offers(&self, _key: &str, _shared: &Shared) -> bool {
        true
    }

    /// What can be typed into the filter besides words.
    fn filter_hint(&self) -> &'static str {
        ""
    }

    /// The filter, where there is one.
    fn filter(&self) -> Option<&Input> {
        None
    }

    /// The same, to be changed.
    fn filter_mut(&mut self) -> Option<&mut Input> {
        None
    }

    /// Changes the filter, and what is in view with it.
    fn edit_filter(&mut self, edit: &dyn Fn(&mut Input)) {
        if let Some(filter) = self.filter_mut() {
            edit(filter);
        }
    }

    /// The GPU the cursor is on, by its place in the frame.
    fn gpu(&self) -> Option<usize> {
        None
    }

    /// Puts the cursor on a GPU.
    fn select_gpu(&mut self, _at: usize) {}

    /// Whether a popup lies over the tab.
    fn has_popup(&self) -> bool {
        false
    }

    /// Whether characters go into a text field of the popup over the tab.
    fn popup_takes_text(&self) -> bool {
        false
    }

    /// Keys of the popup over the tab, with what they do.
    fn popup_hints(&self) -> &'static [PopupHint] {
        CLOSE_HINTS
    }

    /// Draws the popup over the body of the screen.
    fn draw_popup(&self, _shared: &Shared, _on: Surface<'_>) {}

    /// Something happens to the popup.
    fn on_popup(&mut self, _event: PopupEvent, _shared: &Shared) -> Vec<Effect> {
        Vec::new()
    }
}
