use ratatui::layout::Rect;
use warpscope_probes::driver::DriverState;
use warpscope_probes::gpu::Presence;
use warpscope_probes::{Frame, Origin, Severity};

use super::lines::Lines;
use super::model::Card;
use super::{Overview, card, host, kinds, model, rows, users};
use crate::features::load::Load;
use crate::features::{Alert, Shared};
use crate::widgets::format::counted;
use crate::widgets::layout::{columns, cut_bottom, cut_top, inset};
use crate::widgets::{Hit, NO_BREAK, Notice, Severity as Urgency, Surface, wrap};

/// Narrowest card that shows everything; twice this and there are two beside each other.
const CARD_WIDTH: u16 = 78;

/// So many cards are worth more than rows, even without graphs.
const FEW: usize = 2;
/// Host, common facts, heads and a few processes; where they and the GPUs do not fit, they shrink.
const ABOVE_ROWS: u16 = 11;
/// Most lines of a notice.
const NOTICE_ROWS: u16 = 2;

/// Draws the tab.
pub(crate) fn render(shared: &Shared, tab: &Overview, mut on: Surface<'_>) {
    let (selected, reading) = (tab.cursor.at, tab.reading);
    let mut cards = model::cards(shared, on.look.glyphs);
    let rows = u16::try_from(cards.len()).unwrap_or(u16::MAX);
    let is_short = rows.saturating_add(ABOVE_ROWS) > on.area.height;
    notice(shared, if is_short { 1 } else { NOTICE_ROWS }, &mut on);
    if shared.display.has_panel("host") && awaited_host(&shared.frame).is_none() {
        host::render(shared, is_short, &mut on);
    }
    if cards.is_empty() {
        return waiting(shared, on);
    }
    if !shared.display.has_panel("formats") {
        cards.iter_mut().for_each(|card| card.dtypes.clear());
    }
    in_common(shared, is_short, &mut cards, &mut on);
    let mut above = on.area;
    cut_bottom(&mut above, users::lines(shared, on.area.height));
    match grid(&cards, above) {
        Some(places) => {
            let end = places.iter().map(|place| place.bottom()).max().unwrap_or(above.y);
            for (at, (card, place)) in cards.iter().zip(places).enumerate() {
                if card::render(shared, card, (at == selected, reading), on.at(place)) {
                    on.hits.show_details();
                }
                on.hits.add(place, Hit::Row(at));
            }
            on.area = Rect { y: end, height: on.area.bottom() - end, ..on.area };
        }
        None => compact(shared, (&cards, selected, reading), &mut on),
    }
    users::render(shared, tab, on);
}

/// What identical GPUs have in common, above them; beside each where that would take too much room.
fn in_common(shared: &Shared, is_short: bool, cards: &mut [Card], on: &mut Surface<'_>) {
    let (kinds, width) = (kinds::shared(cards, on.look.glyphs.times), on.area.width);
    let lines: u16 = kinds.iter().map(|(kind, _)| kind.height(width, is_short)).sum();
    if kinds.is_empty() || lines > on.area.height / 3 {
        return;
    }
    for (mut kind, alike) in kinds {
        kinds::tell_once(cards, &alike);
        let load = Load::of(alike.iter().filter_map(|at| shared.frame.gpus.get(*at)));
        kind.facts.extend(load.words(shared.display.units));
        kind.render(on.cut_top(kind.height(width, is_short)));
    }
}

/// What is wrong or has happened: an error, else an alert that was not read yet, else a warning.
fn notice(shared: &Shared, most: u16, on: &mut Surface<'_>) {
    let loud = shared.frame.notices.iter().filter(|notice| notice.severity > Severity::Info);
    let loud = loud.max_by_key(|notice| notice.severity);
    let is_error = loud.is_some_and(|notice| notice.severity == Severity::Error);
    let alert = unread(&shared.unread).filter(|_| !is_error);
    let told = alert.map(|told| (told, Urgency::Warning));
    let Some(((what, way), severity)) = told.or_else(|| Some(loud_text(&shared.frame, loud?)))
    else {
        return;
    };
    let width = on.area.width.saturating_sub(2);
    let text =
        with_way(&what, way, (width.saturating_sub(2).into(), most), on.look.glyphs.ellipsis);
    let notice = Notice { look: on.look, severity, text: &text };
    let rows = notice.height(width).min(most);
    let lines = cut_top(&mut on.area, rows);
    on.at(inset(lines)).draw(&notice);
}

/// A sentence and the key that tells more, which stays whole where the sentence is cut to fit.
fn with_way(what: &str, way: &str, (columns, rows): (usize, u16), ellipsis: &str) -> String {
    let way = way.replace(' ', &NO_BREAK.to_string());
    let words: Vec<&str> = what.split(' ').collect();
    let cut = |kept: usize| match kept == words.len() {
        true => format!("{what} {way}"),
        false => format!("{}{ellipsis} {way}", words[..kept].join(" ")),
    };
    let fits = |text: &String| wrap(text, columns).len() <= rows.into();
    let all = cut(words.len());
    match way.is_empty() {
        true => what.to_owned(),
        false => (1..=words.len()).rev().map(cut).find(fits).unwrap_or(all),
    }
}

/// The newest alert, how many there are besides, and the key that tells more.
fn unread(alerts: &[Alert]) -> Option<(String, &'static str)> {
    let (newest, others) = alerts.split_last()?;
    let more = match others.len() {
        0 => String::new(),
        count => format!(", and {}", counted(count, "other alert")),
    };
    Some((format!("{}{more}.", newest.text), "n: what happened"))
}

fn loud_text(
    frame: &Frame,
    notice: &warpscope_probes::Notice,
) -> ((String, &'static str), Urgency) {
    let severity = match notice.severity {
        Severity::Error => Urgency::Error,
        Severity::Warning => Urgency::Warning,
        Severity::Info => Urgency::Info,
    };
    let what = several_lost(frame).filter(|_| notice.id == "gpu.lost");
    let what = what.as_deref().unwrap_or(&notice.what);
    let way = if notice.remedy.is_empty() { "" } else { "n: what to do" };
    ((what.to_owned(), way), severity)
}

/// `2 GPUs are lost: 1, 3.`
fn several_lost(frame: &Frame) -> Option<String> {
    let lost = frame.gpus.iter().filter(|gpu| gpu.presence == Presence::Lost);
    let lost: Vec<_> = lost.map(|gpu| gpu.index.to_string()).collect();
    (lost.len() > 1).then(|| format!("{} GPUs are lost: {}.", lost.len(), lost.join(", ")))
}

/// The machine in view of which nothing has come so far.
fn awaited_host(frame: &Frame) -> Option<&str> {
    match &frame.origin {
        Origin::Remote { host } if frame.seq == 0 => Some(host),
        _ => None,
    }
}

/// What to say while there is no GPU to show.
fn waiting(shared: &Shared, mut on: Surface<'_>) {
    let text = match (awaited_host(&shared.frame), &shared.frame.driver.status) {
        (Some(host), _) => {
            format!("Nothing has come from {host} yet; its GPUs appear once it answers.")
        }
        (None, DriverState::Starting) => {
            "Asking the NVIDIA driver; values fill in as they come.".to_owned()
        }
        _ => "No GPU in view. w adds one from the catalogue as what-if.".to_owned(),
    };
    let notice = Notice { look: on.look, severity: Urgency::Info, text: &text };
    on.at(inset(on.area)).draw(&notice);
}

/// Places for all cards, if they fit with every graph: in as few columns as give graphs a good height, else in those that give them the
/// most; a few cards also without. Spare rows go to the graphs.
fn grid(cards: &[Card], area: Rect) -> Option<Vec<Rect>> {
    let most = usize::from(area.width / CARD_WIDTH).clamp(1, cards.len());
    let fitting: Vec<Grid> =
        (1..=most).filter_map(|columns| Grid::fit(cards, columns, area)).collect();
    let good = fitting.iter().find(|grid| grid.graph_lines() >= card::GRAPH_GOOD);
    // Of equals the last is taken: the one with the fewest columns.
    let tallest = || fitting.iter().rev().max_by_key(|grid| grid.graph_lines());
    let best = good.or_else(tallest)?;
    (best.has_room() || cards.len() <= FEW).then(|| best.places(area))
}

/// Cards in columns, before they are placed.
struct Grid {
    columns: usize,
    /// Lines of each row of cards.
    heights: Vec<u16>,
    /// Rows that have something to draw a history of.
    live: Vec<usize>,
    spare: u16,
}

impl Grid {
    fn fit(cards: &[Card], columns: usize, area: Rect) -> Option<Self> {
        let width = area.width / u16::try_from(columns).ok()?;
        let tallest =
            |row: &[Card]| row.iter().map(|card| card::height(card, width)).max().unwrap_or(0);
        let heights: Vec<u16> = cards.chunks(columns).map(tallest).collect();
        let total = heights.iter().fold(0_u16, |sum, height| sum.saturating_add(*height));
        let rows = cards.chunks(columns).enumerate();
        let live =
            rows.filter(|(_, row)| row.iter().any(card::has_graph)).map(|(at, _)| at).collect();
        Some(Self { columns, heights, live, spare: area.height.checked_sub(total)? })
    }

    /// Lines the graphs of each row get; what has none lacks none.
    fn graph_lines(&self) -> u16 {
        let rows = u16::try_from(self.live.len()).unwrap_or(u16::MAX);
        self.spare.checked_div(rows).map_or(card::GRAPH_MOST, |each| each.min(card::GRAPH_MOST))
    }

    fn has_room(&self) -> bool {
        self.graph_lines() >= card::GRAPH_LEAST
    }

    fn places(&self, area: Rect) -> Vec<Rect> {
        let each = if self.has_room() { self.graph_lines() } else { 0 };
        let more = |row| if self.live.contains(&row) { each } else { 0 };
        let mut rest = area;
        let lines = self
            .heights
            .iter()
            .enumerate()
            .map(|(row, height)| cut_top(&mut rest, height + more(row)));
        lines.flat_map(|line| columns(line, self.columns as u16, 0)).collect()
    }
}

/// One row per GPU, and the card of the selected one below where there is room. What is left is for processes.
fn compact(
    shared: &Shared,
    (cards, selected, reading): (&[Card], usize, Option<usize>),
    on: &mut Surface<'_>,
) {
    let shown = cards.get(selected);
    let wanted = Lines {
        rows: u16::try_from(cards.len()).unwrap_or(u16::MAX).saturating_add(1),
        card: shown.map_or(0, |card| card::height(card, on.area.width)),
        processes: users::wanted(shared),
    };
    let lines = Lines::divide(on.area.height, wanted, shown.is_some_and(card::has_graph));
    let rows = cut_top(&mut on.area, lines.rows);
    rows::render(shared, cards, selected, on.at(inset(rows)));
    if let Some(card) = shown.filter(|_| lines.card > 0)
        && card::render(shared, card, (true, reading), on.cut_top(lines.card))
    {
        on.hits.show_details();
    }
}

#[cfg(test)]
mod tests {
    use warpscope_probes::Gpu;

    use super::*;

    #[test]
    fn the_key_that_tells_more_stays_whole() {
        let told = |columns, rows| {
            let text = with_way("It is lost for good.", "n: what to do", (columns, rows), "…");
            wrap(&text, columns).join("|")
        };
        assert_eq!(told(40, 1), "It is lost for good. n: what to do");
        assert_eq!(told(26, 1), "It is lost… n: what to do");
        assert_eq!(told(26, 2), "It is lost for good.|n: what to do");
        assert_eq!(with_way("It is lost.", "", (4, 1), "…"), "It is lost.");
    }

    #[test]
    fn several_lost_gpus_are_named_together() {
        let lost = |lost: &[u32]| {
            let gpu = |index| {
                let presence =
                    if lost.contains(&index) { Presence::Lost } else { Presence::Present };
                Gpu { index, presence, ..Gpu::default() }
            };
            several_lost(&Frame { gpus: (0..4).map(gpu).collect(), ..Frame::default() })
        };
        assert_eq!((lost(&[]), lost(&[1])), (None, None));
        assert_eq!(lost(&[1, 3]).as_deref(), Some("2 GPUs are lost: 1, 3."));
    }
}
