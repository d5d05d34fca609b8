//! One panel per tab: a model of plain rows, and its drawing.

use crate::features::{bench, compat, history, overview, processes};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::shell::App;
use crate::shell::draw::Hits;
use crate::shell::view::Tab;
use crate::widgets::Look;

/// One row of [`PANELS`].
pub struct Panel {
    /// The tab it fills.
    pub tab: Tab,
    /// Draws it into an area; says what can be clicked.
    pub render: fn(&App, Look<'_>, Rect, &mut Buffer, &mut Hits),
}

/// Every panel.
pub const PANELS: &[Panel] = &[
    Panel { tab: Tab::Overview, render: overview::render },
    Panel { tab: Tab::Compat, render: compat::panel::render },
    Panel { tab: Tab::Bench, render: bench::panel::render },
    Panel { tab: Tab::Processes, render: processes::panel::render },
    Panel { tab: Tab::History, render: history::panel::render },
];

/// The panel of a tab.
pub fn of(tab: Tab) -> &'static Panel {
    PANELS.iter().find(|panel| panel.tab == tab).expect("every tab has a panel")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::view::TABS;

    #[test]
    fn every_tab_has_one_panel() {
        for (tab, ..) in TABS {
            assert_eq!(PANELS.iter().filter(|panel| panel.tab == *tab).count(), 1);
        }
    }
}
