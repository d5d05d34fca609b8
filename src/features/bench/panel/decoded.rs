//! The text a path generates, one card for each weight profile.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use warpscope_kernels::model::piece;

use crate::widgets::layout::cut_top;
use crate::widgets::theme::Role;
use crate::widgets::{Card, DecodedTokens, Look, Mark};
use crate::worker::PathReport;

/// Weight profiles with a tape, in the order on screen.
pub(crate) const PROFILES: [&str; 2] = ["clean", "glm4"];

/// One card below the other, as high as there is room.
pub(crate) fn render(shown: &[&PathReport], look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let mut rest = area;
    let each = area.height / u16::try_from(shown.len().max(1)).unwrap_or(1);
    for report in shown {
        let place = cut_top(&mut rest, each);
        one(report, look, place, buffer);
    }
}

fn one(report: &PathReport, look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let title = format!("{} {}", report.label(), report.profile);
    let note = match report.profile.as_str() {
        "glm4" => "synthetic model, the mechanism of llama.cpp #13607",
        "gemma3" => "synthetic model, a residual stream beyond fp16 as Gemma 3's",
        "kq" => "synthetic model, raw attention scores beyond fp16",
        "cancel" => "synthetic model, partial sums beyond fp16 that cancel",
        _ => "synthetic model",
    };
    let bad = report.first_bad.as_ref().map(|bad| {
        format!(
            "  first bad: layer {} {}, token {}, channel {}",
            bad.layer, bad.op, bad.token, bad.channel
        )
    });
    // Of a GPU's paths there are too many to know them by name.
    let way = report.path.as_ref().and_then(|_| report.precision());
    let about = way.filter(|_| bad.is_none()).map(|way| format!("  {}", way.title));
    let mut left = vec![look.piece(&title, Role::Title)];
    left.extend(about.as_ref().map(|text| look.piece(text, Role::Muted)));
    left.extend(bad.as_ref().map(|text| look.piece(text, Role::Bad)));
    let right = [look.piece(note, Role::Muted)];
    let inner = Card::new(look).left(&left).right(&right).render(area, buffer);
    let pieces: Vec<String> = report.tokens.iter().map(|token| piece(*token)).collect();
    let marks = report.tokens.iter().enumerate();
    let marks = marks.map(|(at, token)| mark(report.expected_tokens.get(at), *token));
    let tokens: Vec<(&str, Mark)> = pieces.iter().map(String::as_str).zip(marks).collect();
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    DecodedTokens { look, tokens: &tokens }.render(inner, buffer);
}

fn mark(expected: Option<&u32>, token: u32) -> Mark {
    match expected {
        Some(expected) if *expected == token => Mark::Good,
        Some(_) => Mark::Bad,
        None => Mark::Pending,
    }
}
