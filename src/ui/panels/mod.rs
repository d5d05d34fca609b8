//! One panel per tab: a model of plain rows, and its drawing.

pub mod bench;
pub mod compat;
pub mod overview;
pub mod processes;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Hits;
use super::widgets::Look;
use crate::app::App;
use crate::app::view::Tab;

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
    Panel { tab: Tab::Compat, render: compat::render },
    Panel { tab: Tab::Bench, render: bench::render },
    Panel { tab: Tab::Processes, render: processes::render },
];

/// The panel of a tab.
pub fn of(tab: Tab) -> &'static Panel {
    PANELS.iter().find(|panel| panel.tab == tab).expect("every tab has a panel")
}

/// Cuts `rows` lines off the top of an area, or as many as there are.
pub(super) fn cut_top(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    let top = Rect { height: rows, ..*area };
    area.y += rows;
    area.height -= rows;
    top
}

/// Cuts `rows` lines off the bottom of an area, or as many as there are.
pub(super) fn cut_bottom(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    area.height -= rows;
    Rect { y: area.bottom(), height: rows, ..*area }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::view::TABS;

    #[test]
    fn every_tab_has_one_panel() {
        for (tab, ..) in TABS {
            assert_eq!(PANELS.iter().filter(|panel| panel.tab == *tab).count(), 1);
        }
    }

    #[test]
    fn cutting_takes_no_more_than_there_is() {
        let mut area = Rect::new(0, 0, 5, 4);
        assert_eq!(cut_top(&mut area, 3), Rect::new(0, 0, 5, 3));
        assert_eq!(cut_bottom(&mut area, 3), Rect::new(0, 3, 5, 1));
        assert_eq!(area.height, 0);
    }
}
