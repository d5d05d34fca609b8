use warpscope_probes::catalogue::Catalogue;
use warpscope_probes::gpu::Presence;
use warpscope_probes::rules::RuleBase;

use crate::features::{Action, Cursor, Effect, Flow, Input, PopupEvent, Press};
use crate::shell::App;
use crate::shell::keys::Act;
use crate::shell::update::options::{choices, rows as options};
use crate::widgets::{Menu, Stand, Surface};

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
    /// The key that does it; empty where none does.
    key: String,
    /// Other words for it.
    also: &'static str,
    effect: Effect,
}

/// Actions by the id of their key: what they are called here where a sentence of help is too long, and other words people look for, the
/// likeliest first.
const NAMES: &[(&str, &str, &str)] = &[
    ("overview", "", "gpus machine"),
    ("compat", "", "runs supported models works"),
    ("bench", "", "speed tokens measure"),
    ("processes", "", "who uses pid kill"),
    ("history", "", "runs compare regressions"),
    ("fleet", "", "hosts machines cluster"),
    ("what_if", "Add a what-if GPU", "catalogue"),
    ("remove_what_if", "Remove the selected what-if GPU", "delete"),
    ("copy", "Copy the fix or the selected line", "clipboard"),
    ("toggle_bench", "Benchmark: start or pause", "measure stop"),
    ("freeze", "Freeze the screen or go on", "pause stop"),
    ("faster", "Interval: shorter", "refresh rate speed"),
    ("slower", "Interval: longer", "refresh rate"),
    ("notices", "Notices: problems and what to do", "errors warnings alerts"),
    ("record", "Record into a file, or stop", "save"),
    ("options", "Options", "settings preferences configuration"),
    ("explain", "Explain an error", "log crash message why"),
    ("hosts", "Hosts: show another machine", "remote ssh"),
    ("layout", "Layout: next", "panels"),
    ("theme", "Theme: next", "colour color dark light"),
    ("suspend", "Put warpscope into the background", ""),
    ("longer_span", "Graph span: longer", "time history minutes hours"),
    ("model", "Model: what runs it", "llm llama plan fits"),
    ("longer_context", "Context: twice as long", "tokens length"),
    ("shorter_context", "Context: half as long", "tokens length"),
    ("more_requests", "Requests: twice as many", "concurrency batch users"),
    ("fewer_requests", "Requests: half as many", "concurrency batch users"),
    ("older_version", "Version: older", "release"),
    ("newer_version", "Version: newer", "release"),
    ("mark_gpu", "Group: one more GPU", "split tensor parallel several"),
    ("inspect", "Scan installed packages again", "environment venv"),
    ("probe", "Run checks on the selected GPU", "live test"),
    ("measure_now", "Measure the selected GPU now", "benchmark speed"),
    ("sort", "Sort by the next column", "order"),
    ("tree", "Show processes as a tree", "parents children"),
    ("signal", "Signal to the selected process", "kill stop end quit terminate"),
    ("mark_run", "Mark a run for comparison", ""),
    ("compare_runs", "Compare the two marked runs", "versus difference"),
];

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
            .filter_map(|entry| Some((entry.distance(&self.input.text)?, entry)))
            .collect();
        found.sort_by_key(|entry| entry.0);
        found.truncate(MOST);
        found.into_iter().map(|entry| entry.1).collect()
    }

    /// Everything that can be found: GPUs in view, tabs, actions of this tab, options, what runs on GPUs, GPUs of the
    /// catalogue; quitting comes last.
    fn entries(&self, app: &App) -> Vec<Entry> {
        let mut entries = Vec::new();
        let entry = |name: String, effect| Entry { name, key: String::new(), also: "", effect };
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
        let found = self.found(app).into_iter();
        let (rows, keys): (Vec<_>, Vec<_>) = found.map(|entry| (entry.name, entry.key)).unzip();
        let menu = Menu::new("Go to", &head, &rows, self.cursor.at).notes(&keys);
        let empty = "Nothing that can be shown or done has such a name.";
        menu.or(empty).stand(Stand::Steady).render(on);
    }
}

impl Entry {
    /// How far it is from what was typed; none where a word has no place in it.
    fn distance(&self, typed: &str) -> Option<u32> {
        distance(typed, &self.name, self.also)
    }
}

/// How far a name is from what was typed, word by word; none where a word has no place in it.
///
/// A word at the start of one in the name is nearest, then the start of another word for it, then one inside the name, then
/// letters in their order within one word. A library for this (nucleo) has a licence that the program's others do not, and is made for
/// lists a thousand times as long.
fn distance(typed: &str, name: &str, also: &str) -> Option<u32> {
    let name = name.to_lowercase();
    let word = |word: &str| {
        let at = name.find(word);
        if let Some(at) = at.filter(|at| !name[..*at].ends_with(char::is_alphanumeric)) {
            return Some(u32::from(at > 0));
        }
        let other = also.split(' ').position(|other| other.starts_with(word));
        if let Some(rank) = other.and_then(|rank| u32::try_from(rank).ok()) {
            return Some(2 + rank);
        }
        let mut parts = name.split(|letter: char| !letter.is_alphanumeric());
        match at {
            Some(_) => Some(10),
            None => parts.any(|part| has_in_order(part, word)).then_some(100),
        }
    };
    typed.to_lowercase().split_whitespace().map(word).sum()
}

/// Whether a word has these letters in their order, beginning with its first.
fn has_in_order(word: &str, letters: &str) -> bool {
    let mut rest = word.chars();
    let is_first = word.chars().next() == letters.chars().next();
    is_first && letters.chars().all(|letter| rest.any(|other| other == letter))
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
        let known = NAMES.iter().find(|known| known.0 == row.spec.id);
        let (name, also) = known.map_or(("", ""), |known| (known.1, known.2));
        let name = if name.is_empty() { row.spec.help.trim_end_matches('.') } else { name };
        let effect = Effect::Press(*key);
        Some(Entry { name: name.to_owned(), key: key.to_string(), also, effect })
    };
    rows.filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_word_is_nearer_than_its_inside_and_letters_in_order() {
        let far = |typed, name| distance(typed, name, "");
        assert_eq!(far("theme light", "theme light"), Some(1));
        assert!(far("vllm", "framework vLLM") < far("vllm", "nanovllm"));
        assert!(far("light", "theme light") < far("lgt", "theme light"));
        assert_eq!(far("h100", "what-if T4"), None);
    }

    #[test]
    fn letters_scattered_over_a_sentence_are_no_name() {
        for name in ["framework ik_llama.cpp", "compat FramePack", "what-if GeForce 940M"] {
            assert_eq!((distance("kill", name, ""), distance("who", name, "")), (None, None));
        }
    }

    #[test]
    fn other_words_find_an_action_and_every_row_is_of_a_key() {
        let known = |id: &str| NAMES.iter().find(|row| row.0 == id).expect("is listed");
        for (typed, id) in [("kill", "signal"), ("who", "processes"), ("llm", "model")] {
            assert!(distance(typed, known(id).1, known(id).2).is_some(), "{typed}");
        }
        for row in NAMES {
            let is_key = crate::shell::keys::rows().iter().any(|key| key.spec.id == row.0);
            assert!(is_key, "{}", row.0);
        }
    }
}
