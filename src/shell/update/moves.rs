//! What moves a cursor: steps, clicks and the wheel.

use super::settle;
use crate::features::compat::Line;
use crate::features::history;
use crate::shell::view::Tab;
use crate::shell::{App, Cmd, Hit, Shown, popups};

pub(crate) fn page(app: &App) -> isize {
    let lines = match (app.view.tab, app.view.compat.visible) {
        (Tab::Compat, visible @ 1..) => visible - 1,
        _ => app.view.page.saturating_sub(4),
    };
    lines.max(1).cast_signed()
}

/// Rows of the tab in view.
pub(crate) fn rows(app: &App) -> usize {
    match app.view.tab {
        Tab::Overview => app.frame.gpus.len(),
        Tab::Compat => app.compat_lines().len(),
        Tab::Bench => app.bench_lines(),
        Tab::Processes => app.view.processes.rows(&app.frame).len(),
        Tab::History => app.view.history.rows(&app.history.trends).len(),
    }
}

pub(crate) fn step_by(app: &mut App, step: isize) -> Vec<Cmd> {
    if let Some(popup) = &mut app.view.popup {
        popups::scroll(popup, step);
        return Vec::new();
    }
    let count = rows(app);
    let cursor = match app.view.tab {
        Tab::Overview => &mut app.view.overview,
        Tab::Compat => &mut app.view.compat.row,
        Tab::Bench => &mut app.view.bench,
        Tab::Processes => &mut app.view.processes.cursor,
        Tab::History => &mut app.view.history.cursor,
    };
    cursor.step(step, count);
    Vec::new()
}

pub(crate) fn step_aside(app: &mut App, step: isize) {
    let gpus = app.frame.gpus.len();
    match app.view.tab {
        Tab::Compat => app.view.compat.column.step(step, gpus),
        Tab::Overview => app.view.overview.step(step, gpus),
        Tab::History => history::step_run(app, step),
        Tab::Bench => {
            let devices = app.bench_gpus().count() + 1;
            app.view.bench_gpu.step(step, devices);
        }
        Tab::Processes => {}
    }
}

/// Takes note of where the drawing is, so that the next one starts from there.
pub(crate) fn shown(app: &mut App, part: Shown) {
    match &mut app.view.popup {
        Some(popup) => popups::shown(popup, part.line),
        None => {
            app.view.compat.top = (part.line, part.column);
            app.view.compat.visible = part.lines;
        }
    }
}

pub(crate) fn click(app: &mut App, hit: Hit) -> Vec<Cmd> {
    app.view.typing = false;
    match (hit, app.view.popup.take()) {
        (Hit::Tab(tab), _) => app.view.tab = tab,
        (Hit::Row(row), Some(popup)) => return popups::click(app, popup, row),
        (Hit::Sort(by), None) => app.view.processes.sort_by(by),
        (Hit::Cell { row, column }, None) => click_cell(app, row, column),
        (Hit::Gpu(line), None) if app.view.tab == Tab::Bench => app.view.bench_gpu.at = line,
        (Hit::Gpu(column), None) => app.view.compat.column.at = column,
        (Hit::Answer, None) => popups::open(app),
        (Hit::Row(row), None) => {
            let cursor = match app.view.tab {
                Tab::Overview => &mut app.view.overview,
                Tab::Compat => &mut app.view.compat.row,
                Tab::Bench => &mut app.view.bench,
                Tab::Processes => &mut app.view.processes.cursor,
                Tab::History => &mut app.view.history.cursor,
            };
            let again = std::mem::replace(&mut cursor.at, row) == row;
            if again {
                popups::open(app);
            }
        }
        (Hit::Sort(_) | Hit::Cell { .. } | Hit::Gpu(_) | Hit::Answer, Some(_)) => {}
    }
    settle(app);
    Vec::new()
}

/// A head folds at once; a cell is selected first, and opened by the second click.
fn click_cell(app: &mut App, row: usize, column: usize) {
    let view = &mut app.view.compat;
    let again = (view.row.at, view.column.at) == (row, column);
    (view.row.at, view.column.at) = (row, column);
    let is_head = matches!(app.selected_line(), Some(Line::Head { .. }));
    if again || is_head {
        popups::open(app);
    }
}
