use ratatui::text::{Line, Span};

use crate::engine::OUTCOMES;
use crate::shell::keymap::Keymap;
use crate::shell::keys::{Row, Scope};
use crate::shell::tabs::TABS;
use crate::widgets::theme::Role;
use crate::widgets::{Look, Titled};

/// Every key of the table, and what the symbols mean.
pub(super) fn page(keymap: &Keymap, look: Look<'_>) -> Titled {
    let style = |role| look.style(role);
    let mut lines = Vec::new();
    for (Row { spec, scope, .. }, keys) in keymap.rows() {
        let keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
        let place = match *scope {
            Scope::Global | Scope::Off(_) => String::new(),
            Scope::Replay => " (recordings)".into(),
            Scope::On(tab) => TABS
                .iter()
                .find(|row| row.0 == tab)
                .map_or(String::new(), |row| format!(" ({})", row.2)),
        };
        lines.push(Line::from(vec![
            Span::styled(format!("{:>18}  ", keys.join(" ")), style(Role::Key)),
            Span::styled(spec.help, style(Role::Text)),
            Span::styled(place, style(Role::Muted)),
        ]));
    }
    lines.push(Line::default());
    lines.push(Line::styled(
        "Outcomes, each with the level of its evidence: m measured, i inspected, w wheel, r rule",
        style(Role::Header),
    ));
    for (outcome, ..) in OUTCOMES {
        let role = crate::widgets::outcome_role(*outcome);
        lines.push(Line::from(vec![
            Span::styled(format!("{:>18}  ", outcome.symbol(!look.glyphs.is_unicode)), style(role)),
            Span::styled(outcome.words(), style(Role::Text)),
        ]));
    }
    lines.push(Line::default());
    lines.push(Line::styled(
        "Below the graph of clocks: T slowed by heat, P slowed by power",
        style(Role::Header),
    ));
    lines.push(Line::default());
    lines.push(Line::styled("Number formats", style(Role::Header)));
    for how in warpscope_probes::catalogue::HOWS {
        lines.push(Line::from(vec![
            Span::styled(
                format!("{:>18}  ", how.0.symbol(!look.glyphs.is_unicode)),
                style(Role::Text),
            ),
            Span::styled(how.0.words(), style(Role::Text)),
        ]));
    }
    ("Help".into(), lines)
}
