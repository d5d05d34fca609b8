//! The text a path generates, one card for each weight profile.

use warpscope_kernels::model::piece;

use crate::widgets::theme::Role;
use crate::widgets::{Card, DecodedTokens, Mark, Surface};
use crate::worker::PathReport;

/// Weight profiles with a tape, in the order on screen.
pub(crate) const PROFILES: [&str; 2] = ["clean", "glm4"];

/// One card below the other, as high as there is room.
pub(crate) fn render(shown: &[&PathReport], mut on: Surface<'_>) {
    let each = on.area.height / u16::try_from(shown.len().max(1)).unwrap_or(1);
    shown.iter().for_each(|report| one(report, on.cut_top(each)));
}

fn one(report: &PathReport, mut on: Surface<'_>) {
    let look = on.look;
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
    on.frame(Card::new(look).left(&left).right(&[look.piece(note, Role::Muted)]));
    let pieces: Vec<String> = report.tokens.iter().map(|token| piece(*token)).collect();
    let marks = report.tokens.iter().enumerate();
    let marks = marks.map(|(at, token)| mark(report.expected_tokens.get(at), *token));
    let tokens: Vec<(&str, Mark)> = pieces.iter().map(String::as_str).zip(marks).collect();
    on.draw(&DecodedTokens { look, tokens: &tokens });
}

fn mark(expected: Option<&u32>, token: u32) -> Mark {
    match expected {
        Some(expected) if *expected == token => Mark::Good,
        Some(_) => Mark::Bad,
        None => Mark::Pending,
    }
}
