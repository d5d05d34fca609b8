use crate::features::{Action, Cursor, Effect, Flow, PopupEvent, Press};
use crate::shell::App;
use crate::shell::update::options::{OptionRow, rows};
use crate::widgets::{Menu, Surface};

/// The options, and the selected one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionsMenu {
    cursor: Cursor,
}

impl OptionsMenu {
    /// What an event changes.
    pub(super) fn on(&mut self, event: PopupEvent, _app: &App) -> Flow {
        let rows = rows();
        match event {
            PopupEvent::Key(press) => return self.key(press, &rows),
            PopupEvent::Scroll(step) => self.cursor.step(step, rows.len()),
            PopupEvent::Click(row) => {
                if self.cursor.hit(row) {
                    return self.step(&rows, 1);
                }
            }
            PopupEvent::Shown(_) => {}
            PopupEvent::Close => return Flow::close(),
        }
        Flow::stay()
    }

    fn key(&mut self, press: Press, rows: &[OptionRow]) -> Flow {
        if press.chord.typed() == Some('w') {
            return Flow::Stay(vec![Effect::SaveOptions]);
        }
        match press.action {
            Some(Action::Quit) => return Flow::quit(),
            Some(Action::Close | Action::Options) => return Flow::close(),
            Some(Action::Left) => return self.step(rows, -1),
            Some(Action::Right | Action::Open | Action::Freeze) => return self.step(rows, 1),
            Some(action) => self.cursor.step(action.rows(press.page).unwrap_or(0), rows.len()),
            None => {}
        }
        Flow::stay()
    }

    fn step(&self, rows: &[OptionRow], by: isize) -> Flow {
        let row = rows.get(self.cursor.at);
        Flow::Stay(row.map(|row| Effect::StepOption(row.spec, row.word, by)).into_iter().collect())
    }

    /// Draws it over the body of the screen.
    pub(super) fn draw(&self, app: &App, on: Surface<'_>) {
        let changed = &app.shared.display.changed;
        let row = |row: OptionRow| {
            let mark =
                if row.spec.key.is_some_and(|key| changed.contains_key(key)) { "*" } else { " " };
            let label = format!("{} {}", row.label, row.word.unwrap_or_default());
            let value = row.value(app);
            format!("{mark} {label:<24} < {value} >")
        };
        let rows: Vec<_> = rows().into_iter().map(row).collect();
        let first = |visible| self.cursor.first(visible, rows.len());
        let head = "left right change   w write changed (*) to the file   esc close";
        let (title, empty) = ("Options", "");
        let menu = Menu { title, head, rows: &rows, empty, selected: self.cursor.at };
        menu.render(first, on);
    }
}
