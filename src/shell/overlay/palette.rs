use warpscope_probes::catalogue::Catalogue;
use warpscope_probes::gpu::Presence;
use warpscope_probes::rules::RuleBase;

use crate::features::{Action, Cursor, Effect, Flow, Input, PopupEvent, Press};
use crate::shell::App;
use crate::shell::keys::Act;
use crate::shell::update::options::{choices, rows as options};
use crate::widgets::{Menu, Surface};

/// Entries offered at most.
const MOST: usize = 200;

/// What is typed after the colon, and the selected row of what is found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Palette {
    input: Input,
    cursor: Cursor,
    frameworks: Vec<String>,
}

/// Something that can be found by name, and what it does.
struct Entry {
    name: String,
    effect: Effect,
}

impl Palette {
    /// Nothing is typed yet.
    pub(crate) fn new() -> Self {
        let rules = RuleBase::shared();
        let frameworks = rules.frameworks().iter().map(|one| one.name.clone()).collect();
        Self { frameworks, ..Self::default() }
    }

    /// What an event changes.
    pub(super) fn on(&mut self, event: PopupEvent, app: &App) -> Flow {
        match event {
            PopupEvent::Key(press) => return self.key(press, app),
            PopupEvent::Scroll(step) => self.cursor.step(step, self.found(app).len()),
            PopupEvent::Click(row) => {
                if self.cursor.hit(row) {
                    return self.pick(app);
                }
            }
            PopupEvent::Shown(_) => {}
            PopupEvent::Close => return Flow::close(),
        }
        Flow::stay()
    }

    fn key(&mut self, press: Press, app: &App) -> Flow {
        match (press.chord.typed(), press.action) {
            (Some(character), _) => {
                self.input.push(character);
                self.cursor.at = 0;
            }
            (None, Some(Action::Quit)) => return Flow::quit(),
            (None, Some(Action::Close)) => return Flow::close(),
            (None, Some(Action::Open)) => return self.pick(app),
            (None, Some(Action::NextTab)) => {
                if let Some(entry) = self.found(app).into_iter().nth(self.cursor.at) {
                    self.input.text = entry.name.chars().take(Input::LIMIT).collect();
                    self.cursor.at = 0;
                }
            }
            (None, _) if press.chord.is_backspace() => self.input.erase(),
            (None, Some(action)) => {
                self.cursor.step(action.rows(10).unwrap_or(0), self.found(app).len());
            }
            (None, None) => {}
        }
        Flow::stay()
    }

    fn pick(&self, app: &App) -> Flow {
        let found = self.found(app).into_iter().nth(self.cursor.at);
        found.map_or_else(Flow::stay, |entry| Flow::Close(vec![entry.effect]))
    }

    /// What matches, the best first, otherwise in the order of [`Palette::entries`].
    fn found(&self, app: &App) -> Vec<Entry> {
        let mut found: Vec<(u32, Entry)> = self
            .entries(app)
            .into_iter()
            .filter_map(|entry| Some((distance(&self.input.text, &entry.name)?, entry)))
            .collect();
        found.sort_by_key(|entry| entry.0);
        found.truncate(MOST);
        found.into_iter().map(|entry| entry.1).collect()
    }

    /// Everything that can be found: GPUs in view, tabs, actions of this tab, options, what runs on GPUs, GPUs of the
    /// catalogue; quitting comes last.
    fn entries(&self, app: &App) -> Vec<Entry> {
        let mut entries = Vec::new();
        let entry = |name: String, effect| Entry { name, effect };
        let gpus = app.shared.frame.gpus.iter().enumerate();
        let real = gpus.filter(|(_, gpu)| gpu.presence != Presence::WhatIf);
        entries.extend(real.map(|(at, gpu)| {
            let name = gpu.identity.name.last().map_or("GPU", String::as_str);
            entry(format!("gpu {at} {name}"), Effect::SelectGpu(at))
        }));
        entries.extend(actions(app, |action| matches!(action, Some(Action::Go(_)))));
        entries.extend(actions(app, is_listed));
        let layouts = app.shared.display.layouts.iter().enumerate();
        entries.extend(
            layouts.map(|(at, (name, _))| entry(format!("layout {name}"), Effect::SetLayout(at))),
        );
        for row in options(app) {
            match row.word {
                Some(word) => entries.push(entry(
                    format!("{} {word}", row.label.to_lowercase()),
                    Effect::StepOption(row.spec, Some(word), 1),
                )),
                None => entries.extend(choices(row.spec).into_iter().map(|choice| {
                    let name = format!("{} {choice}", row.label.to_lowercase());
                    entry(name, Effect::SetOption(row.spec, choice.to_owned()))
                })),
            }
        }
        let frameworks = self.frameworks.iter();
        entries.extend(
            frameworks.map(|name| entry(format!("framework {name}"), Effect::Find(name.clone()))),
        );
        entries.extend(app.tabs.compat.verdicts.all_rows().iter().map(|row| {
            let name = row.name();
            entry(format!("compat {name}"), Effect::Find(name))
        }));
        let parts = Catalogue::load().search("");
        entries.extend(
            parts.into_iter().rev().map(|part| {
                entry(format!("what-if {}", part.market_name), Effect::AddWhatIf(part))
            }),
        );
        entries.extend(actions(app, |action| action == Some(Action::Quit)));
        entries
    }

    /// Draws it over the body of the screen.
    pub(super) fn draw(&self, app: &App, on: Surface<'_>) {
        let head = format!(":{}{}", self.input.text, on.look.glyphs.cursor);
        let rows: Vec<_> = self.found(app).into_iter().map(|entry| entry.name).collect();
        let (title, empty) = ("Go to", "Nothing that can be shown or done has such a name.");
        let menu =
            Menu { title, head: &head, rows: &rows, empty, selected: self.cursor.at, aside: false };
        menu.render(on);
    }
}

/// How far a name is from what was typed, word by word; none where a word has no place in it.
///
/// A word at the start of one in the name is nearest, then one inside it, then letters in their order. A library for this
/// (nucleo) has a licence that the program's others do not, and is made for lists a thousand times as long.
fn distance(typed: &str, name: &str) -> Option<u32> {
    let name = name.to_lowercase();
    let word = |word: &str| {
        if let Some(at) = name.find(word) {
            let starts = !name[..at].ends_with(char::is_alphanumeric);
            return Some(if starts { u32::from(at > 0) } else { 10 });
        }
        let mut rest = name.chars();
        word.chars().all(|letter| rest.any(|other| other == letter)).then_some(100)
    };
    typed.to_lowercase().split_whitespace().map(word).sum()
}

/// Whether an action stands in the list itself: nobody searches for what moves the cursor, opens and closes.
fn is_listed(action: Option<Action>) -> bool {
    use Action as A;
    let Some(action) = action else { return true };
    let is_near =
        matches!(action, A::Left | A::Right | A::Open | A::Close | A::NextTab | A::PreviousTab);
    let is_apart = matches!(action, A::Go(_) | A::Quit | A::Help | A::Palette);
    !is_near && !is_apart && action.rows(1).is_none()
}

/// What keys of a kind do on the tab in view, with the key.
fn actions(app: &App, wanted: impl Fn(Option<Action>) -> bool) -> Vec<Entry> {
    let action = |act| match act {
        Act::Shell(action) => Some(action),
        Act::Tab(_) => None,
    };
    let rows = app.keymap.rows();
    let rows = rows.filter(|(row, _)| app.is_active(row.scope) && wanted(action(row.act)));
    let entry = |(row, keys): (&crate::shell::keys::Row, &[crate::features::Chord])| {
        let key = keys.first()?;
        let name = format!("{} ({key})", row.spec.help.trim_end_matches('.'));
        Some(Entry { name, effect: Effect::Press(*key) })
    };
    rows.filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_word_is_nearer_than_its_inside_and_letters_in_order() {
        let far = |typed, name| distance(typed, name);
        assert_eq!(far("theme light", "theme light"), Some(1));
        assert!(far("vllm", "framework vLLM") < far("vllm", "nanovllm"));
        assert!(far("light", "theme light") < far("tlt", "theme light"));
        assert_eq!(far("h100", "what-if T4"), None);
    }
}
