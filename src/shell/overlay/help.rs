use ratatui::text::{Line, Span};
use warpscope_probes::catalogue::{HOWS, How};

use crate::engine::{DISPUTED, MEDIUM, OUTCOMES, Outcome};
use crate::features::{Chord, SearchPage};
use crate::shell::App;
use crate::shell::keys::{Row, Scope};
use crate::shell::tabs::TABS;
use crate::widgets::theme::Role;
use crate::widgets::{Look, Titled, outcome_role, text_width, wrap};

/// Columns of keys and symbols, with the gap behind them.
const KEYS: usize = 20;

/// What a key or a symbol means, and how the latter is drawn.
type Entry = (String, Role, &'static str);

/// The keys of the tab in view, then all others, and what the symbols mean; of these the lines with the words searched.
pub(super) fn page(app: &App, look: Look<'_>, searched: &SearchPage, width: usize) -> Titled {
    let mut lines = Vec::new();
    for (title, entries) in keys(app).into_iter().chain(symbols(look)) {
        let is_found =
            |entry: &Entry| searched.filter.matches(&format!("{title} {} {}", entry.0, entry.2));
        let found: Vec<_> = entries.into_iter().filter(is_found).collect();
        if !found.is_empty() {
            lines.push(Line::styled(title, look.style(Role::Header)));
            lines.extend(found.iter().flat_map(|entry| row(look, entry, width)));
            lines.push(Line::default());
        }
    }
    if lines.is_empty() {
        let none = "No key or symbol has these words; Esc clears them.";
        lines.push(Line::styled(none, look.style(Role::Muted)));
    }
    (format!("Help{}", searched.search(look.glyphs.cursor)), lines)
}

/// Keys by where they work, those of the tab in view first.
fn keys(app: &App) -> Vec<(String, Vec<Entry>)> {
    let of = |wanted: &dyn Fn(Scope) -> bool| -> Vec<Entry> {
        let rows = app.keymap.rows().filter(|(row, keys)| wanted(row.scope) && !keys.is_empty());
        let entry = |(row, keys): (&'static Row, &[Chord])| {
            let keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
            (keys.join(" "), Role::Key, row.spec.help)
        };
        rows.map(entry).collect()
    };
    let name = |tab| TABS.iter().find(|row| row.0 == tab).map_or("", |row| row.2);
    let here = (name(app.tab).to_owned(), of(&|scope| scope == Scope::On(app.tab)));
    let everywhere = of(&|scope| matches!(scope, Scope::Global | Scope::Off(_)));
    let mut groups = vec![here, ("Everywhere".to_owned(), everywhere)];
    groups.push(("In a recording".to_owned(), of(&|scope| scope == Scope::Replay)));
    groups.push(("While the footer asks".to_owned(), of(&|scope| scope == Scope::Question)));
    let others = TABS.iter().filter(|row| row.0 != app.tab);
    groups.extend(others.map(|row| (row.2.to_owned(), of(&|scope| scope == Scope::On(row.0)))));
    groups
}

/// What is drawn, and what it means.
fn symbols(look: Look<'_>) -> Vec<(String, Vec<Entry>)> {
    let is_ascii = !look.glyphs.is_unicode;
    let outcome = |outcome: &Outcome| {
        (outcome.symbol(is_ascii).to_owned(), outcome_role(*outcome), outcome.words())
    };
    let evidence = [
        ("m", "measured on this GPU"),
        ("i", "inspected: what the installed binaries carry"),
        ("w", "read from the published wheel"),
        ("r", "by a documented rule"),
        DISPUTED,
        MEDIUM,
    ];
    let text = |(symbol, words): (&str, &'static str)| (symbol.to_owned(), Role::Text, words);
    let clocks = [("T", "slowed by heat"), ("P", "slowed by power")];
    let how = |how: &How| (how.symbol(is_ascii).to_owned(), Role::Text, how.words());
    let fits_barely = (
        look.glyphs.tight.to_owned(),
        Role::Warn,
        "tight: the model fits only within the error of the prediction",
    );
    let weights = [
        ("clean", "weights of ordinary size"),
        ("glm4", "weights that lead to a value too large for fp16, as GLM-4 does"),
        ("f16acc16", "products of fp16 that are also summed in fp16"),
    ];
    let outcomes = OUTCOMES.iter().map(|row| outcome(&row.0)).chain([fits_barely]);
    vec![
        ("Outcomes".to_owned(), outcomes.collect()),
        ("Evidence, behind an outcome".to_owned(), evidence.map(text).into()),
        ("Number formats".to_owned(), HOWS.iter().map(|row| how(&row.0)).collect()),
        ("Below the graph of clocks".to_owned(), clocks.map(text).into()),
        ("What Bench measures".to_owned(), weights.map(text).into()),
    ]
}

fn row(look: Look<'_>, (sign, role, meaning): &Entry, width: usize) -> Vec<Line<'static>> {
    let room = width.saturating_sub(KEYS).max(1);
    let pad = (KEYS - 2).saturating_sub(usize::from(text_width(sign)));
    let blank = |columns: usize| Span::raw(" ".repeat(columns));
    let sign = Span::styled(sign.clone(), look.style(*role));
    let text = |text: String| Span::styled(text, look.style(Role::Text));
    let mut words = wrap(meaning, room).into_iter();
    let first =
        Line::from(vec![blank(pad), sign, blank(2), text(words.next().unwrap_or_default())]);
    let more = words.map(|words| Line::from(text(format!("{:KEYS$}{words}", ""))));
    std::iter::once(first).chain(more).collect()
}

#[cfg(test)]
mod tests {
    use ratatui::style::Modifier;

    use super::*;
    use crate::widgets::glyphs::Glyphs;
    use crate::widgets::theme::{ColorDepth, Theme};

    #[test]
    fn blanks_are_never_underlined() {
        let theme = Theme::default().at_depth(ColorDepth::None);
        let look = Look::new(&theme, Glyphs::ascii());
        let lines = row(look, &("#".to_owned(), Role::WrongOutput, "wrong output"), 60);
        for span in lines.iter().flat_map(|line| &line.spans) {
            let underlined = span.style.add_modifier.contains(Modifier::UNDERLINED);
            assert_eq!(underlined, span.content == "#", "{span:?}");
        }
    }
}
