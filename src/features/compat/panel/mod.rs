//! What runs where: lines of frameworks and configurations, columns of GPUs, and the selected answer in words.

mod answer;
mod grid;
mod matrix;
mod names;
mod plan;

use ratatui::layout::Rect;

pub(crate) use answer::{title, whole};

use self::grid::Grid;
use self::matrix::{Matrix, request, symbol};
use self::names::whole_name;
use crate::widgets::layout::{cut_bottom, cut_right};
use warpscope_probes::gpu::Presence;
use warpscope_probes::inspect::ScanProgress;

use crate::engine::plan::{Demand, tokens};
use crate::engine::{Origin, Outcome};
use crate::features::Shared;
use crate::features::compat::view::{CompatView, ONLY, ORDERS, Only, Order};
use crate::features::compat::{Compat, Line};
use crate::features::orders::words;
use crate::widgets::theme::Role;
use crate::widgets::{Card, Look, Notice, Severity, Surface, format, outcome_role, text_width};

/// Fewest and most columns of an answer beside the matrix.
const BESIDE: (u16, u16) = (58, 92);
/// Fewest and most lines of an answer below the matrix, frame included.
const BELOW: (u16, u16) = (7, 16);
/// Fewest lines of the tab that leave room for an answer.
const ROOMY: u16 = 14;

/// Draws the tab.
pub(crate) fn render(state: &Compat, shared: &Shared, mut on: Surface<'_>) {
    let lines = state.lines();
    let [area, pane] = places((state, shared), on.look, on.area);
    let mut inner = on.at(area);
    frame(state, shared, &lines, &mut inner);
    if shared.frame.gpus.is_empty() {
        return say("Which GPU? w picks one from the catalogue. Which model? m picks one.", inner);
    }
    if lines.is_empty() {
        return say(&nothing(state), inner);
    }
    if inner.area.height > 8 {
        counts(state, shared, inner.cut_top(1));
    }
    Matrix::new((state, shared), inner.look, &lines, inner.area.width).render(inner);
    answer::pane(state, shared, on.at(pane));
}

/// Matrix and answer: beside each other where the matrix needs little, else below each other, else the matrix alone.
fn places((state, shared): (&Compat, &Shared), look: Look<'_>, mut area: Rect) -> [Rect; 2] {
    let spare = area.width.saturating_sub(Grid::comfortable(request(state, shared, look)) + 6);
    let none = Rect { height: 0, ..area };
    if shared.frame.gpus.is_empty() || area.height < ROOMY {
        return [area, none];
    }
    let pane = if spare >= BESIDE.0 {
        cut_right(&mut area, spare.min(BESIDE.1))
    } else {
        let height = (area.height * 3 / 10).clamp(BELOW.0, BELOW.1);
        cut_bottom(&mut area, height)
    };
    [area, pane]
}

/// Draws the frame with what was set and where the cursor is.
fn frame(state: &Compat, shared: &Shared, lines: &[Line], on: &mut Surface<'_>) {
    let look = on.look;
    let view = &state.view;
    let (all, shown) = (state.verdicts.all_rows().len(), state.verdicts.passing(view).count());
    let count = format::part(shown, all, "row");
    let filter = format!("/{}", view.filter.text);
    let mut facts = Vec::new();
    if all > 0 {
        facts.push(look.piece(&count, Role::Muted));
    }
    if !view.filter.text.is_empty() {
        facts.push(look.piece(&filter, Role::Accent));
    }
    if view.only != Only::All {
        facts.push(look.piece(words(ONLY, &view.only), Role::Warn));
    }
    if view.order != Order::Given {
        facts.push(look.piece(words(ORDERS, &view.order), Role::Accent));
    }
    let only_named = shared.frame.gpus.iter().all(|gpu| gpu.presence == Presence::WhatIf);
    if only_named && state.verdicts.assumptions().model.is_none() {
        facts.push(look.piece("which GPU? w", Role::Accent));
        facts.push(look.piece("which model? m", Role::Accent));
    }
    let looking = state.looking.as_ref().map(looking);
    if let Some(looking) = &looking {
        facts.push(look.piece(looking, Role::Muted));
    }
    let model = state.verdicts.assumptions().model.as_ref();
    let model = model.map(|model| format!(" for {}{}", model.name, asked(state, look)));
    let mut left = vec![look.piece("What runs where", Role::Title)];
    left.extend(model.as_deref().map(|model| look.piece(model, Role::Accent)));
    let place = place(lines, view.row.at);
    let foot = place.as_deref().map(|place| look.piece(place, Role::Muted));
    let foot = foot.as_slice();
    on.frame(Card::new(look).left(&left).right(&facts).foot(foot));
}

/// The row the cursor is on, counted among the rows; headings are none.
fn place(lines: &[Line], at: usize) -> Option<String> {
    let rows = |line: &Line| match line {
        Line::Row(_) => 1,
        Line::Head { rows, folded, .. } => {
            if *folded {
                rows.len()
            } else {
                0
            }
        }
    };
    matches!(lines.get(at)?, Line::Row(_)).then_some(())?;
    let (before, all) =
        (lines[..at].iter().map(rows).sum::<usize>(), lines.iter().map(rows).sum::<usize>());
    Some(format!("{}/{all}", before + 1))
}

/// Why no row is shown, and the keys that show some.
fn nothing(state: &Compat) -> String {
    let CompatView { filter, only, .. } = &state.view;
    let model = state.verdicts.assumptions().model.as_ref();
    let of_model = model.map(|model| format!(" for {}", model.name)).unwrap_or_default();
    let way_out = match (filter.text.is_empty(), only) {
        (true, Only::All) => return format!("There is no row{of_model}."),
        (false, Only::All) => "; esc clears the filter",
        (true, _) => "; f shows more",
        (false, _) => "; esc clears the filter, f shows more",
    };
    let words = match only {
        Only::All => String::new(),
        _ => format!(" ({})", words(ONLY, only)),
    };
    let what =
        if filter.text.is_empty() { String::new() } else { format!(" has \"{}\"", filter.text) };
    format!("No row{of_model}{what}{words}{way_out}.")
}

/// What plans are made for: `, 8k tokens × 1 request`.
fn asked(state: &Compat, look: Look<'_>) -> String {
    let planned = &state.verdicts.planned;
    let Demand { context, concurrency, .. } = planned.demand;
    match planned.is_there() {
        true => {
            let requests = if concurrency == 1 { "request" } else { "requests" };
            format!(", {} tokens {} {concurrency} {requests}", tokens(context), look.glyphs.times)
        }
        false => String::new(),
    }
}

/// How far the look at what is installed has come.
fn looking(advance: &ScanProgress) -> String {
    match advance.files_total {
        0 => "scanning for installed packages".to_owned(),
        total => {
            let left = advance.left.map(|left| format!(", {} s left", left.as_secs()));
            format!(
                "inspecting {} of {total} files, {} of {}{}",
                advance.files,
                format::bytes(advance.bytes as f64),
                format::bytes(advance.bytes_total as f64),
                left.unwrap_or_default()
            )
        }
    }
}

/// Columns between two counts.
const GAP: u16 = 2;

/// How many of the rows in view have each outcome on the selected GPU; the words are the legend of the symbols.
fn counts(state: &Compat, shared: &Shared, mut on: Surface<'_>) {
    let look = on.look;
    let at = state.view.column.at;
    let Some(column) = state.verdicts.columns.all().get(at) else { return };
    let (tight, rows): (Vec<usize>, Vec<usize>) =
        state.verdicts.passing(&state.view).partition(|row| state.verdicts.is_tight(*row, at));
    let counts = state.verdicts.counts(rows.into_iter(), at);
    let outcome = |(outcome, count): &(Outcome, usize)| {
        (symbol(look, *outcome), *count, outcome.words(), outcome_role(*outcome))
    };
    let mut counts: Vec<_> = counts.iter().map(outcome).collect();
    if !tight.is_empty() {
        let works = counts.partition_point(|one| one.3 == Role::Works);
        counts.insert(works, (look.glyphs.tight, tight.len(), "tight", Role::Warn));
    }
    let head = whole_name(column, shared, look.glyphs, 26);
    let texts = |words: bool| -> Vec<String> {
        let text = |(symbol, count, what, _): &(&str, usize, &str, Role)| match words {
            true => format!("{symbol} {count} {what}"),
            false => format!("{symbol} {count}"),
        };
        counts.iter().map(text).collect()
    };
    let width = |texts: &[String]| texts.iter().map(|text| GAP + text_width(text)).sum::<u16>();
    // The name also stands in the head of the column: where not everything fits, the words tell more.
    let (long, room) = (texts(true), on.area.width);
    let (head, texts) = match width(&long) {
        long_width if long_width + text_width(&head) <= room => (head.as_str(), long),
        long_width if long_width <= room + GAP => ("", long),
        _ => (head.as_str(), texts(false)),
    };
    let mut pen = on.pen();
    pen.put(head, look.style(Role::Text));
    for (at, (text, (.., role))) in texts.iter().zip(&counts).enumerate() {
        let gap = if at == 0 && head.is_empty() { 0 } else { GAP };
        pen.skip(gap).put(text, look.style(*role));
    }
    let figures = "/s: tokens a second, GiB: needed where it does not fit";
    if state.verdicts.planned.is_there() && pen.rest() >= text_width(figures) + 3 {
        pen.skip_to_last(text_width(figures)).put(figures, look.style(Role::Muted));
    }
}

/// Whether every GPU of a column is lost.
fn is_lost(state: &Compat, shared: &Shared, column: usize) -> bool {
    let column = state.verdicts.columns.all().get(column);
    let mut gpus = column.map_or(&[][..], |column| &column.gpus).iter();
    let is_lost =
        |at: &usize| shared.frame.gpus.get(*at).is_some_and(|gpu| gpu.presence == Presence::Lost);
    gpus.len() > 0 && gpus.all(is_lost)
}

/// The word for where a version comes from; nothing for that of the rules.
fn origin_word(origin: Origin) -> &'static str {
    match origin {
        Origin::Known => "",
        Origin::Asked => "chosen",
        Origin::Installed => "installed",
    }
}

fn say(text: &str, mut on: Surface<'_>) {
    let notice = Notice { look: on.look, severity: Severity::Info, text };
    on.cut_top(1).draw(&notice);
}
