//! What lies over a tab: opening, moving, closing.

use warpscope_probes::Origin;
use warpscope_probes::text::printable;

use super::action::Action;
use super::keymap::Chord;
use super::update::{redress, suspend};
use super::view::{Cursor, Popup, Tab};
use super::{App, Cmd};
use crate::engine::Verdict;
use crate::features::compat;
use crate::features::compat::Line;
use crate::features::processes::SIGNALS;
use crate::text::clean_lines;

/// Rows the picker offers at most.
pub const PICKER_ROWS: usize = 200;

/// Opens the details of what is selected.
pub(crate) fn open(app: &mut App) {
    app.view.popup = match app.view.tab {
        Tab::Overview => {
            app.selected_gpu().map(|gpu| Popup::Gpu { key: gpu.key.clone(), scroll: 0 })
        }
        Tab::Compat => match app.selected_line() {
            Some(Line::Head { .. }) => {
                compat::keys::staying(app, compat::keys::fold);
                None
            }
            Some(Line::Row(_)) => {
                app.selected_verdict().map(|_| Popup::Why { scroll: 0, fix: 0, follow: false })
            }
            None => None,
        },
        Tab::Processes => app.selected_process().map(|process| Popup::Process {
            pid: process.pid,
            gpu: process.gpu.clone(),
            scroll: 0,
        }),
        Tab::History => app.selected_run().map(|run| Popup::Run { run: run.hash, scroll: 0 }),
        Tab::Bench => None,
    };
}

/// Asks which signal to send to the selected process.
pub(crate) fn ask_signal(app: &mut App) {
    if app.settings.readonly {
        app.view.say("Signals are off: warpscope runs with --readonly.");
        return;
    }
    if app.frame.origin != Origin::Local {
        app.view.say("These processes are not of here and now; no signal is sent to them.");
        return;
    }
    let Some(process) = app.selected_process() else { return };
    if process.visibility != warpscope_probes::process::Visibility::Visible {
        app.view.say("This process is not visible from this namespace; no signal can reach it.");
        return;
    }
    app.view.popup = Some(Popup::Signal {
        pid: process.pid,
        name: process.host.name.last().cloned().unwrap_or_default(),
        started_at: process.started_at.map(|at| at.0),
        cursor: Cursor::default(),
        confirm: false,
    });
}

/// Moves within a popup.
pub(crate) fn scroll(popup: &mut Popup, step: isize) {
    match popup {
        Popup::Help { scroll }
        | Popup::Gpu { scroll, .. }
        | Popup::Notices { scroll }
        | Popup::Run { scroll, .. }
        | Popup::Compared { scroll }
        | Popup::Process { scroll, .. } => *scroll = scroll.saturating_add_signed(step).min(10_000),
        Popup::Why { scroll, follow, .. } => {
            *scroll = scroll.saturating_add_signed(step).min(10_000);
            *follow = false;
        }
        Popup::Model { .. } => {}
        Popup::Picker { cursor, input } => cursor.step(step, found(&input.text).len()),
        Popup::Signal { cursor, .. } => cursor.step(step, SIGNALS.len()),
    }
}

/// Takes note of the first line that was drawn: a page does not scroll beyond its end.
pub(crate) fn shown(popup: &mut Popup, line: usize) {
    match popup {
        Popup::Help { scroll }
        | Popup::Gpu { scroll, .. }
        | Popup::Why { scroll, .. }
        | Popup::Notices { scroll }
        | Popup::Run { scroll, .. }
        | Popup::Compared { scroll }
        | Popup::Process { scroll, .. } => *scroll = line,
        Popup::Model { .. } | Popup::Picker { .. } | Popup::Signal { .. } => {}
    }
}

/// Parts of the catalogue that match what was typed; the newest first while that is nothing.
pub fn found(text: &str) -> Vec<&'static warpscope_probes::catalogue::Part> {
    let mut parts = warpscope_probes::catalogue::Catalogue::load().search(text);
    if text.trim().is_empty() {
        parts.reverse();
    }
    parts.truncate(PICKER_ROWS);
    parts
}

/// A key while a popup is open. The popup was taken out; it is put back unless it closes.
pub(crate) fn key(app: &mut App, popup: Popup, chord: Chord) -> Vec<Cmd> {
    let action = app.keymap.action(chord, |_| true);
    match popup {
        Popup::Picker { .. } => picker_key(app, popup, chord, action),
        Popup::Signal { .. } => signal_key(app, popup, chord, action),
        Popup::Model { input, state } => compat::model::key(app, (input, state), chord),
        Popup::Why { scroll, fix, .. } => match choice(app, fix, chord, action) {
            Some(fix) => {
                app.view.popup = Some(Popup::Why { scroll, fix, follow: true });
                Vec::new()
            }
            None => page_key(app, popup, action),
        },
        _ => page_key(app, popup, action),
    }
}

/// The fix a key selects: by its number, or the one before or after.
fn choice(app: &App, now: usize, chord: Chord, action: Option<Action>) -> Option<usize> {
    let count = app.selected_verdict().map_or(0, |verdict| verdict.fixes.len());
    let digit = chord.typed().and_then(|character| character.to_digit(10));
    let wanted = match (digit, action) {
        (Some(digit), _) => (digit as usize).checked_sub(1)?,
        (None, Some(Action::Left | Action::PreviousTab)) => now.saturating_sub(1),
        (None, Some(Action::Right | Action::NextTab)) => now + 1,
        _ => return None,
    };
    (count > 0).then(|| wanted.min(count - 1))
}

fn page_key(app: &mut App, mut popup: Popup, action: Option<Action>) -> Vec<Cmd> {
    let page = app.view.page.saturating_sub(4).max(1).cast_signed();
    let copied = match action {
        Some(Action::Quit) => return vec![Cmd::Quit],
        Some(Action::Close | Action::Open | Action::Help | Action::Notices) => return Vec::new(),
        Some(Action::Copy) => copy(app, Some(&popup)),
        Some(Action::Repaint) => vec![Cmd::Repaint],
        Some(Action::Suspend) => suspend(app),
        _ => Vec::new(),
    };
    let step = match action {
        Some(Action::Up) => -1,
        Some(Action::Down) => 1,
        Some(Action::PageUp) => -page,
        Some(Action::PageDown) => page,
        Some(Action::First) => isize::MIN,
        Some(Action::Last) => isize::MAX,
        _ => 0,
    };
    scroll(&mut popup, step);
    app.view.popup = Some(popup);
    copied
}

fn picker_key(app: &mut App, mut popup: Popup, chord: Chord, action: Option<Action>) -> Vec<Cmd> {
    if let Popup::Picker { input, cursor } = &mut popup {
        match (chord.typed(), action) {
            (Some(character), _) => {
                input.push(character);
                cursor.at = 0;
            }
            (None, Some(Action::Quit)) => return vec![Cmd::Quit],
            (None, Some(Action::Close)) => return Vec::new(),
            (None, Some(Action::Open)) => return add_picked(app, popup),
            (None, Some(Action::Up)) => scroll(&mut popup, -1),
            (None, Some(Action::Down)) => scroll(&mut popup, 1),
            (None, Some(Action::PageUp)) => scroll(&mut popup, -10),
            (None, Some(Action::PageDown)) => scroll(&mut popup, 10),
            (None, _) if chord.is_backspace() => drop(input.text.pop()),
            _ => {}
        }
    }
    app.view.popup = Some(popup);
    Vec::new()
}

fn add_picked(app: &mut App, popup: Popup) -> Vec<Cmd> {
    let Popup::Picker { input, cursor } = &popup else { return Vec::new() };
    let Some(part) = found(&input.text).get(cursor.at).copied() else {
        app.view.popup = Some(popup);
        return Vec::new();
    };
    let ordinal = u32::try_from(app.frame.gpus.len()).unwrap_or(u32::MAX);
    let gpu = warpscope_probes::catalogue::what_if(part, ordinal);
    let said = format!("Added {} as what-if; x removes it.", part.market_name);
    app.what_if.add(gpu, &app.frame);
    redress(app);
    app.view.overview.at = app.frame.gpus.len().saturating_sub(1);
    app.view.compat.column.at = app.view.overview.at;
    app.view.say(said);
    Vec::new()
}

fn signal_key(app: &mut App, mut popup: Popup, chord: Chord, action: Option<Action>) -> Vec<Cmd> {
    let Popup::Signal { pid, started_at, cursor, confirm, .. } = &mut popup else {
        return Vec::new();
    };
    let leaves = action == Some(Action::Quit) && chord.typed().is_none();
    if leaves {
        return vec![Cmd::Quit];
    }
    if *confirm {
        return match chord.typed() {
            Some('y' | 'Y') => vec![Cmd::Signal {
                pid: *pid,
                signal: SIGNALS[cursor.at].0,
                started_at: *started_at,
            }],
            _ => Vec::new(),
        };
    }
    match action {
        Some(Action::Quit | Action::Close) => return Vec::new(),
        Some(Action::Open) => *confirm = true,
        Some(Action::Up) => scroll(&mut popup, -1),
        Some(Action::Down) => scroll(&mut popup, 1),
        _ => {}
    }
    app.view.popup = Some(popup);
    Vec::new()
}

/// A click on a row of a popup: the picker and the signal menu choose, the others close.
pub(crate) fn click(app: &mut App, mut popup: Popup, row: usize) -> Vec<Cmd> {
    match &mut popup {
        Popup::Picker { cursor, .. } if cursor.at == row => return add_picked(app, popup),
        Popup::Picker { cursor, .. } => cursor.at = row,
        Popup::Why { fix, follow, .. } => (*fix, *follow) = (row, true),
        Popup::Signal { cursor, confirm, .. } if row < SIGNALS.len() => {
            *confirm = cursor.at == row;
            cursor.at = row;
        }
        _ => {}
    }
    app.view.popup = Some(popup);
    Vec::new()
}

/// The text of a way out, to be pasted into a shell: its lines stay lines.
fn fix(verdict: &Verdict, at: usize) -> Option<String> {
    let text = verdict.fixes.get(at).map(|fix| &fix.text).or(verdict.fix.as_ref())?;
    Some(clean_lines(text))
}

/// Copies the fix of the verdict in view, or one line on what is selected.
pub(crate) fn copy(app: &mut App, popup: Option<&Popup>) -> Vec<Cmd> {
    let compat = app.view.tab == Tab::Compat && matches!(popup, None | Some(Popup::Why { .. }));
    let chosen = match popup {
        Some(Popup::Why { fix, .. }) => *fix,
        _ => 0,
    };
    let text = match app.view.tab {
        _ if compat => app.selected_verdict().and_then(|verdict| fix(&verdict, chosen)),
        Tab::Processes => app
            .selected_process()
            .and_then(|process| process.host.command.last())
            .map(|text| printable(text)),
        Tab::History => app
            .selected_run()
            .and_then(|run| run.identity.commit.as_ref())
            .map(|text| printable(text)),
        _ => app.selected_gpu().map(|gpu| {
            let name = gpu.identity.name.last().cloned().unwrap_or_default();
            printable(&format!("{name} {}", gpu.identity.uuid.last().unwrap_or(&gpu.key)))
        }),
    };
    let Some(text) = text else {
        app.view.say("There is nothing to copy here.");
        return Vec::new();
    };
    let what = if compat { "fix" } else { "selected line" };
    app.view.say(format!("Copied the {what} to the clipboard."));
    vec![Cmd::Copy(text)]
}
