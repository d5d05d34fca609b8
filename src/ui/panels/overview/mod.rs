//! The Overview: the host, and a card per GPU; compact rows where cards do not fit.

mod card;
mod host;
mod model;
mod rows;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::widgets::Widget;
use warpscope_probes::Severity;
use warpscope_probes::driver::DriverState;

use super::{cut_bottom, cut_top};
use crate::app::{App, Hit};
use crate::ui::Hits;
use crate::ui::widgets::{Look, Notice, Severity as Urgency};

pub use model::{Card, cards};

/// Narrowest card that shows everything; twice this and there are two beside each other.
const CARD_WIDTH: u16 = 78;

/// Draws the tab.
pub fn render(app: &App, look: Look<'_>, area: Rect, buffer: &mut Buffer, hits: &mut Hits) {
    let mut area = area;
    notice(app, look, &mut area, buffer);
    host::render(app, look, &mut area, buffer);
    let cards = model::cards(app, look.glyphs);
    if cards.is_empty() {
        waiting(app, look, area, buffer);
        return;
    }
    match grid(&cards, area) {
        Some(places) => {
            for (at, (card, place)) in cards.iter().zip(places).enumerate() {
                card::render(app, look, card, at == app.view.overview.at, place, buffer);
                hits.add(place, Hit::Row(at));
            }
        }
        None => compact(app, look, &cards, area, buffer, hits),
    }
}

/// The loudest notice, on one line.
fn notice(app: &App, look: Look<'_>, area: &mut Rect, buffer: &mut Buffer) {
    let loud = app.frame.notices.iter().filter(|notice| notice.severity > Severity::Info);
    let Some(notice) = loud.max_by_key(|notice| notice.severity) else { return };
    let severity = match notice.severity {
        Severity::Error => Urgency::Error,
        Severity::Warning => Urgency::Warning,
        Severity::Info => Urgency::Info,
    };
    let line = cut_top(area, 1);
    let inner = Rect { x: line.x + 1, width: line.width.saturating_sub(2), ..line };
    Notice { look, severity, text: &notice.what }.render(inner, buffer);
}

/// What to say while there is no GPU to show.
fn waiting(app: &App, look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let text = match app.frame.driver.status {
        DriverState::Starting => "Asking the NVIDIA driver; values fill in as they come.",
        _ => "No GPU in view. w adds one of the catalogue as what-if.",
    };
    let line = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    Notice { look, severity: Urgency::Info, text }.render(line, buffer);
}

/// Places for all cards, if they fit: in as few columns as possible, spare rows for the graphs.
fn grid(cards: &[Card], area: Rect) -> Option<Vec<Rect>> {
    let most = (area.width / CARD_WIDTH).max(1);
    let fitting = (1..=most).find_map(|columns| {
        let heights: Vec<u16> = cards
            .chunks(usize::from(columns))
            .map(|row| {
                row.iter().map(|card| card::height(card, area.width / columns)).max().unwrap_or(0)
            })
            .collect();
        let total: u16 = heights.iter().fold(0, |sum, height| sum.saturating_add(*height));
        (total <= area.height).then_some((columns, heights, area.height - total))
    });
    let (columns, mut heights, mut spare) = fitting?;
    let live: Vec<usize> = (0..heights.len())
        .filter(|row| {
            cards
                .chunks(usize::from(columns))
                .nth(*row)
                .is_some_and(|row| row.iter().any(card::has_graph))
        })
        .collect();
    for (done, row) in live.iter().enumerate() {
        let more = (spare / u16::try_from(live.len() - done).unwrap_or(1)).min(card::GRAPH_MOST);
        if more >= card::GRAPH_LEAST {
            heights[*row] += more;
            spare -= more;
        }
    }
    let mut places = Vec::with_capacity(cards.len());
    let mut rest = area;
    for height in heights {
        let line = cut_top(&mut rest, height);
        let cells = Layout::horizontal(vec![Constraint::Fill(1); usize::from(columns)]).split(line);
        places.extend(cells.iter().copied());
    }
    Some(places)
}

/// One row per GPU, and the card of the selected one below where there is room.
fn compact(
    app: &App,
    look: Look<'_>,
    cards: &[Card],
    area: Rect,
    buffer: &mut Buffer,
    hits: &mut Hits,
) {
    let mut area = area;
    let selected = cards.get(app.view.overview.at);
    let rows = u16::try_from(cards.len()).unwrap_or(u16::MAX).saturating_add(1);
    if let Some(card) = selected {
        let least = card::height(card, area.width);
        let spare = area.height.saturating_sub(rows);
        if spare >= least {
            let most = if card::has_graph(card) { least + card::GRAPH_MOST } else { least };
            let height = if spare >= least + card::GRAPH_LEAST { spare.min(most) } else { least };
            let place = cut_bottom(&mut area, height);
            card::render(app, look, card, true, place, buffer);
        }
    }
    rows::render(app, look, cards, area, buffer, hits);
}
