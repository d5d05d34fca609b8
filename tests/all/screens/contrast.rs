//! What is really drawn can be read: every cell with a letter or a digit, selected or not, in every theme and depth.

use std::collections::BTreeSet;

use ratatui::buffer::Cell;
use ratatui::style::Style;
use warpscope::widgets::theme::{Rgb, Role, Theme};

use super::*;

const DEPTHS: [ColorDepth; 4] =
    [ColorDepth::TrueColor, ColorDepth::Indexed256, ColorDepth::Ansi16, ColorDepth::None];

/// Text that may be overlooked: absent values, separators.
const QUIET: f64 = 1.7;
/// WCAG's level for large text and symbols.
const TEXT: f64 = 3.0;
/// WCAG's level AA, for words of a selected line; outcomes keep their colours there.
const SELECTED: f64 = 4.5;

/// Foreground and background as a terminal shows them; none where that is the terminal's choice.
fn shown(cell: &Cell, theme: &Theme) -> Option<(Rgb, Rgb)> {
    if theme.depth() <= ColorDepth::Ansi16 {
        // What these look like the terminal says; a colour on itself is not seen anywhere.
        return (cell.fg == cell.bg && cell.fg != Color::Reset)
            .then_some((Rgb(0, 0, 0), Rgb(0, 0, 0)));
    }
    let (text, behind) = theme.backdrop();
    let rgb = |color, default| match color {
        Color::Reset => Some(default),
        color => Rgb::of(color),
    };
    let (fg, bg) = (rgb(cell.fg, text)?, rgb(cell.bg, behind)?);
    Some(if cell.modifier.contains(Modifier::REVERSED) { (bg, fg) } else { (fg, bg) })
}

fn is_selected(cell: &Cell, selection: Style) -> bool {
    match selection.add_modifier.contains(Modifier::REVERSED) {
        true => cell.modifier.contains(Modifier::REVERSED),
        false => Some(cell.bg) == selection.bg,
    }
}

/// Every tab, and popups with a selected row.
fn views() -> Vec<(&'static str, App)> {
    let keys = [
        ("1", ""),
        ("2", ""),
        ("3", ""),
        ("4", ""),
        ("5", ""),
        ("1", "o"),
        ("1", "w"),
        ("1", ":"),
        ("1", "?"),
    ];
    let view = |(tab, popup): (&'static str, &'static str)| {
        let mut app = complete("synthetic-h100x8");
        press(&mut app, tab);
        press(&mut app, "down");
        if popup.is_empty() {
            return (tab, app);
        }
        press(&mut app, popup);
        press(&mut app, "down");
        (popup, app)
    };
    keys.into_iter().map(view).collect()
}

#[test]
fn every_text_that_is_drawn_can_be_read_and_selection_stands_out() {
    let views = views();
    let mut found = BTreeSet::new();
    for (name, _) in BUILTIN {
        for depth in DEPTHS {
            let appearance = appearance(name, depth, false);
            let (theme, look) = (&appearance.theme, appearance.look());
            let quiet = [Role::Faint, Role::Absent, Role::Border, Role::Track, Role::Late]
                .map(|role| look.style(role).fg);
            for (view, app) in &views {
                let buffer = drawn(app, &appearance, (120, 36));
                let selected = |cell: &Cell| is_selected(cell, theme.selection());
                let some = buffer.content.iter().filter(|cell| selected(cell)).count();
                let beside =
                    buffer.content.windows(2).any(|pair| selected(&pair[0]) != selected(&pair[1]));
                if !beside || some > buffer.content.len() / 2 {
                    found.insert(format!("{name} {depth:?} {view}: {some} cells are selected"));
                }
                for cell in buffer
                    .content
                    .iter()
                    .filter(|cell| cell.symbol().chars().all(char::is_alphanumeric))
                {
                    let Some((fg, bg)) = shown(cell, theme) else { continue };
                    let least = match selected(cell) {
                        true if theme.selection().fg == Some(cell.fg) => SELECTED,
                        true => TEXT,
                        false if quiet.contains(&Some(cell.fg)) => QUIET,
                        false => TEXT,
                    };
                    if fg.contrast(bg) < least {
                        found.insert(format!(
                            "{name} {depth:?} {view}: {:.2} < {least} {:?} on {:?} {:?}",
                            fg.contrast(bg),
                            cell.fg,
                            cell.bg,
                            cell.modifier
                        ));
                    }
                }
            }
        }
    }
    assert!(
        found.is_empty(),
        "{} faults\n{}",
        found.len(),
        found.into_iter().collect::<Vec<_>>().join("\n")
    );
}
