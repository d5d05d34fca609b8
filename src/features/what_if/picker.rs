//! The popup a GPU of the catalogue is chosen in.

use std::cmp::Reverse;

use warpscope_probes::catalogue::{Catalogue, Part, Segment};

use crate::features::keys::Action;
use crate::features::popup::{Flow, PopupEvent, Press};
use crate::features::{Cursor, Effect, Input};
use crate::widgets::{Menu, Stand, Surface, format};

/// Rows the picker offers at most.
const ROWS: usize = 200;

/// What is searched, and the selected row of what is found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picker {
    input: Input,
    cursor: Cursor,
}

impl Picker {
    /// What an event changes.
    pub fn on(&mut self, event: PopupEvent) -> Flow {
        match event {
            PopupEvent::Key(press) => return self.key(press),
            PopupEvent::Scroll(step) => self.cursor.step(step, self.found().len()),
            PopupEvent::Click(row) => {
                if self.cursor.hit(row) {
                    return self.pick();
                }
            }
            PopupEvent::Shown(_) => {}
            PopupEvent::Close => return Flow::close(),
        }
        Flow::stay()
    }

    fn key(&mut self, press: Press) -> Flow {
        let step = match (press.chord.typed(), press.action) {
            (Some(character), _) => {
                self.input.push(character);
                self.cursor.at = 0;
                return Flow::stay();
            }
            (None, Some(Action::Quit)) => return Flow::quit(),
            (None, Some(Action::Close)) => return Flow::close(),
            (None, Some(Action::Open)) => return self.pick(),
            (None, Some(action)) => action.rows(10).unwrap_or(0),
            (None, None) => 0,
        };
        if press.chord.is_backspace() {
            self.input.erase();
        }
        self.cursor.step(step, self.found().len());
        Flow::stay()
    }

    fn pick(&self) -> Flow {
        match self.found().get(self.cursor.at) {
            Some(part) => Flow::Close(vec![Effect::AddWhatIf(part)]),
            None => Flow::stay(),
        }
    }

    /// Parts of the catalogue that match what was typed; while that is nothing the newest first, and those of laptops and boards last.
    fn found(&self) -> Vec<&'static Part> {
        let mut parts = Catalogue::load().search(&self.input.text);
        if self.input.text.trim().is_empty() {
            parts.reverse();
            let is_built_in = |part: &Part| matches!(part.segment, Segment::Laptop | Segment::Soc);
            parts.sort_by_key(|part| (is_built_in(part), Reverse(part.sm)));
        }
        parts.truncate(ROWS);
        parts
    }

    /// Draws it over the body of the screen.
    pub fn draw(&self, on: Surface<'_>) {
        let head = format!("/{}{}", self.input.text, on.look.glyphs.cursor);
        let found = self.found();
        let name = found.iter().map(|part| part.market_name.chars().count()).max().unwrap_or(0);
        let rows: Vec<_> = found.into_iter().map(|part| row(part, name)).collect();
        let title = "Add a what-if GPU";
        let empty = "Nothing in the catalogue matches.";
        let menu = Menu {
            title,
            head: &head,
            rows: &rows,
            empty,
            selected: self.cursor.at,
            stand: Stand::Steady,
        };
        menu.render(on);
    }
}

fn row(part: &Part, name: usize) -> String {
    let memory = format!("{} GB", part.memory_gb);
    let rate = format::rate(part.bandwidth_gbs * 1e9);
    format!("{:<name$} {:<7} {memory:>8} {rate:>10}", part.market_name, part.sm)
}
