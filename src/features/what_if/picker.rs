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
        let room = Menu::steady_room(on.area.width).into();
        let rows: Vec<_> = found.into_iter().map(|part| row(part, name, room)).collect();
        let menu = Menu::new("Add a what-if GPU", &head, &rows, self.cursor.at);
        menu.or("Nothing in the catalogue matches.").stand(Stand::Steady).render(on);
    }
}

/// Name, compute capability and memory, and the bandwidth where it fits behind them.
fn row(part: &Part, name: usize, room: usize) -> String {
    let memory = format!("{} GB", part.memory_gb);
    let row = format!("{:<name$} {:<7} {memory:>8}", part.market_name, part.sm);
    let rate = format!(" {:>10}", format::rate(part.bandwidth_gbs * 1e9));
    if name + 17 + rate.len() > room { row } else { row + &rate }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_whole_in_a_narrow_menu() {
        let part = Catalogue::load().find("T4").expect("is known");
        assert_eq!(row(part, 9, 37), "NVIDIA T4 sm_75      16 GB 320.0 GB/s");
        assert_eq!(row(part, 9, 36), "NVIDIA T4 sm_75      16 GB");
    }
}
