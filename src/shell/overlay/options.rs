use crate::config::args;
use crate::features::popup::PopupHint;
use crate::features::{Action, Cursor, Effect, Flow, PopupEvent, Press};
use crate::shell::App;
use crate::shell::update::options::{OptionRow, moved, rows, spelt};
use crate::widgets::{Menu, Stand, Surface};

/// Its keys.
const HINTS: &[PopupHint] =
    &[("left", "previous"), ("right", "next"), ("w", "save"), ("esc", "close")];

/// Its keys on a column, which can be moved.
const COLUMN_HINTS: &[PopupHint] = &[
    ("left", "previous"),
    ("right", "next"),
    ("<", "column left"),
    (">", "column right"),
    ("w", "save"),
    ("esc", "close"),
];

/// The options, and the selected one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionsMenu {
    cursor: Cursor,
}

impl OptionsMenu {
    /// What an event changes.
    pub(super) fn on(&mut self, event: PopupEvent, app: &App) -> Flow {
        let rows = rows(app);
        match event {
            PopupEvent::Key(press) => return self.key(press, app, &rows),
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

    fn key(&mut self, press: Press, app: &App, rows: &[OptionRow]) -> Flow {
        match press.chord.typed() {
            Some('w') => return Flow::Stay(vec![Effect::SaveOptions]),
            Some('<') => return self.shift(app, rows, -1),
            Some('>') => return self.shift(app, rows, 1),
            _ => {}
        }
        match press.action {
            Some(Action::Quit) => return Flow::quit(),
            Some(Action::Close | Action::Options) => return Flow::close(),
            Some(Action::Left) => return self.step(rows, -1),
            Some(Action::Right | Action::Open) => return self.step(rows, 1),
            Some(action) => self.cursor.step(action.rows(press.page).unwrap_or(0), rows.len()),
            None => {}
        }
        Flow::stay()
    }

    /// Its keys on the selected row.
    pub(super) fn hints(&self, app: &App) -> &'static [PopupHint] {
        match rows(app).get(self.cursor.at) {
            Some(row) if *row.spec == args::COLUMNS.spec => COLUMN_HINTS,
            _ => HINTS,
        }
    }

    /// Moves the selected column, and the cursor with it; of other rows the value.
    fn shift(&mut self, app: &App, rows: &[OptionRow], by: isize) -> Flow {
        let Some(row) = rows.get(self.cursor.at) else { return Flow::stay() };
        if *row.spec != args::COLUMNS.spec {
            return self.step(rows, by);
        }
        let Some(text) = moved(app, row, by) else { return Flow::stay() };
        self.cursor.step(by, rows.len());
        Flow::Stay(vec![Effect::SetOption(row.spec, text)])
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
            let label = match row.word {
                Some(word) => format!("{}: {}", row.label, spelt(word)),
                None => row.label.to_owned(),
            };
            let value = spelt(&row.value(app));
            format!("{mark} {label:<28} < {value} >")
        };
        let rows: Vec<_> = rows(app).into_iter().map(row).collect();
        let head = "* changed; w writes it to the configuration file";
        Menu::new("Options", head, &rows, self.cursor.at).stand(Stand::Aside).render(on);
    }
}
