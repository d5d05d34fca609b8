//! What identical GPUs have in common, told once above them.

use ratatui::layout::Rect;
use warpscope_probes::Timestamp;
use warpscope_probes::gpu::Presence;

use super::card::{counts, counts_width, strip_height, summary};
use super::model::{Card, Summary};
use crate::widgets::layout::{cut_top, inset};
use crate::widgets::theme::Role;
use crate::widgets::{DtypeStrip, Surface, text_width};

/// From this width on, number formats and verdicts stand on one line.
const WIDE: u16 = 150;

/// Several GPUs that differ in nothing but their state.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kind {
    /// `8×NVIDIA H100 80GB HBM3`.
    pub(super) head: String,
    /// Architecture, compute capability, SMs, memory.
    pub(super) facts: Vec<String>,
    /// Number formats: label, symbol, meaning.
    pub(super) dtypes: Vec<(&'static str, &'static str, Role)>,
    /// Verdicts in short.
    pub(super) summary: Summary,
    /// What the benchmark reached last on one of them, and when.
    pub(super) decode: Option<(Timestamp, String)>,
}

/// What several cards have in common, and which those are. What-if GPUs are as they are: their card says nothing else.
pub(super) fn shared(cards: &[Card], times: &str) -> Vec<(Kind, Vec<usize>)> {
    let mut kinds: Vec<(Kind, Vec<usize>)> = Vec::new();
    for first in 0..cards.len() {
        let is_told = |at: &usize| kinds.iter().any(|(_, alike)| alike.contains(at));
        let alike: Vec<usize> =
            (first..cards.len()).filter(|at| alike(cards, first, *at) && !is_told(at)).collect();
        if alike.len() < 2 || alike[0] != first {
            continue;
        }
        let card = &cards[first];
        let kind = Kind {
            head: format!("{}{times}{}", alike.len(), card.name),
            facts: alike
                .iter()
                .map(|at| &cards[*at].facts)
                .max_by_key(|facts| facts.concat().len())
                .cloned()
                .unwrap_or_default(),
            dtypes: card.dtypes.clone(),
            summary: card.summary.clone(),
            decode: newest(alike.iter().map(|at| &cards[*at])),
        };
        kinds.push((kind, alike));
    }
    kinds
}

/// Removes from the cards what their kind already shows.
pub(super) fn tell_once(cards: &mut [Card], alike: &[usize]) {
    for at in alike {
        let card = &mut cards[*at];
        card.dtypes.clear();
        card.summary = Summary::default();
        card.decode = None;
        card.is_of_kind = true;
    }
}

fn newest<'c>(cards: impl Iterator<Item = &'c Card>) -> Option<(Timestamp, String)> {
    cards.filter_map(|card| card.decode.clone()).max_by_key(|one| one.0)
}

fn alike(cards: &[Card], one: usize, other: usize) -> bool {
    let (one, other) = (&cards[one], &cards[other]);
    let plain = |card: &Card| card.presence == Presence::Present;
    let same =
        (&one.name, &one.dtypes, &one.summary) == (&other.name, &other.dtypes, &other.summary);
    plain(one) && plain(other) && same && agree(&one.facts, &other.facts)
}

/// Whether facts agree as far as both are read: `80.0 GiB` may still become `80.0 GiB HBM3`.
fn agree(one: &[String], other: &[String]) -> bool {
    let agrees =
        |(one, other): (&String, &String)| one.starts_with(other) || other.starts_with(one);
    one.iter().zip(other).all(agrees)
}

impl Kind {
    /// Lines it takes at this width: one where the room is short.
    pub(super) fn height(&self, width: u16, is_short: bool) -> u16 {
        if is_short {
            return 1;
        }
        let verdicts = u16::from(self.summary.has_line() || self.decode.is_some());
        if width >= WIDE { 1 + verdicts } else { 1 + self.strip_height(width) + verdicts }
    }

    fn strip_height(&self, width: u16) -> u16 {
        if self.dtypes.is_empty() { 0 } else { strip_height(&self.dtypes, width) }
    }

    /// Draws it.
    pub(super) fn render(&self, mut on: Surface<'_>) {
        let (look, area) = (on.look, on.area);
        on.area = inset(area);
        let line = cut_top(&mut on.area, 1);
        let mut pen = look.pen(on.buffer, line);
        pen.put(&self.head, look.style(Role::Title));
        let counted = if area.height == 1 { 2 + counts_width(&self.summary) } else { 0 };
        for fact in &self.facts {
            if pen.rest() < 2 + text_width(fact) + counted {
                break;
            }
            pen.skip(2).put(fact, look.style(Role::Muted));
        }
        if area.height == 1 {
            pen.skip(2);
            return counts(look, &mut pen, &self.summary);
        }
        let strip = DtypeStrip { look, items: &self.dtypes };
        pen.skip(3);
        let beside = Rect { x: pen.x(), width: pen.rest(), ..line };
        match area.width >= WIDE {
            true => on.at(beside).draw(&strip),
            false => on.cut_top(self.strip_height(area.width)).draw(&strip),
        }
        if self.summary.has_line() || self.decode.is_some() {
            summary((&self.summary, &self.decode), on.cut_top(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::overview::model::Meter;
    use crate::widgets::Amount;

    fn card(name: &str, load: &str) -> Card {
        Card {
            name: name.to_owned(),
            facts: vec!["sm_90".to_owned()],
            presence: Presence::Present,
            load: Meter { amount: Amount::Absent, text: load.to_owned() },
            dtypes: vec![("FP16", "●", Role::Good)],
            ..Card::default()
        }
    }

    #[test]
    fn equal_boards_are_told_once_whatever_they_do() {
        let mut cards = vec![card("H100", "1%"), card("T4", "1%"), card("H100", "90%")];
        let kinds = shared(&cards, "×");
        let heads: Vec<_> = kinds.iter().map(|(kind, _)| kind.head.as_str()).collect();
        assert_eq!(heads, ["2×H100"]);
        tell_once(&mut cards, &kinds[0].1);
        assert_eq!(kinds[0].0.dtypes, cards[1].dtypes);
        assert!(cards[0].dtypes.is_empty() && cards[2].dtypes.is_empty());
    }

    #[test]
    fn the_newest_measurement_speaks_for_all() {
        let measured = |at, text: &str| Card {
            decode: Some((Timestamp(at), text.to_owned())),
            ..card("H100", "1%")
        };
        let mut cards = [measured(7, "decode 812 fp16"), measured(9, "decode 790 fp16")];
        let kinds = shared(&cards, "×");
        tell_once(&mut cards, &kinds[0].1);
        assert_eq!(kinds[0].0.decode, Some((Timestamp(9), "decode 790 fp16".to_owned())));
        assert_eq!(cards[0].decode, None);
    }
}
