//! Cutting areas into lines and columns.

use ratatui::layout::Rect;

/// Cuts `rows` lines off the top of an area, or as many as there are.
pub(crate) fn cut_top(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    let top = Rect { height: rows, ..*area };
    area.y += rows;
    area.height -= rows;
    top
}

/// Cuts `rows` lines off the bottom of an area, or as many as there are.
pub(crate) fn cut_bottom(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    area.height -= rows;
    Rect { y: area.bottom(), height: rows, ..*area }
}

/// An area without its first and its last column.
pub(crate) fn inset(area: Rect) -> Rect {
    Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area }
}

/// Cuts `columns` off the right of an area, or as many as there are.
pub(crate) fn cut_right(area: &mut Rect, columns: u16) -> Rect {
    let columns = columns.min(area.width);
    area.width -= columns;
    Rect { x: area.right(), width: columns, ..*area }
}

/// Cuts the place of a one-line history off a bar that is long enough to share, and a column before it.
pub(crate) fn cut_history(bar: &mut Rect) -> Rect {
    let columns = if bar.width > 30 { (bar.width / 4).min(24) } else { 0 };
    let history = cut_right(bar, columns);
    cut_right(bar, columns.min(1));
    history
}

/// An area in `count` columns of equal width with `gap` between them.
///
/// Ratatui's own layout solves a system of constraints for this, which was half of the work of a frame.
pub(crate) fn columns(area: Rect, count: u16, gap: u16) -> impl Iterator<Item = Rect> {
    let count = count.max(1);
    let free = u32::from(area.width.saturating_sub(gap.saturating_mul(count - 1)));
    let edge = move |at: u16| {
        ((free * u32::from(at) * 2 + u32::from(count)) / (u32::from(count) * 2)) as u16
    };
    (0..count).map(move |at| {
        let x = area
            .x
            .saturating_add(edge(at))
            .saturating_add(at.saturating_mul(gap))
            .min(area.right());
        let width = (edge(at + 1) - edge(at)).min(area.right() - x);
        Rect { x, width, ..area }
    })
}

/// Two columns of equal width with `gap` between them.
pub(crate) fn halves(area: Rect, gap: u16) -> [Rect; 2] {
    let mut both = columns(area, 2, gap);
    std::array::from_fn(|_| both.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use ratatui::layout::{Constraint, Layout};

    use super::*;

    #[test]
    fn cutting_takes_no_more_than_there_is() {
        let mut area = Rect::new(0, 0, 5, 4);
        assert_eq!(cut_top(&mut area, 3), Rect::new(0, 0, 5, 3));
        assert_eq!(cut_bottom(&mut area, 3), Rect::new(0, 3, 5, 1));
        assert_eq!(area.height, 0);
        assert_eq!(cut_right(&mut area, 2), Rect { x: 3, width: 2, ..area });
        assert_eq!(cut_right(&mut area, 9).width, 3);
    }

    #[test]
    fn columns_are_those_of_the_solver() {
        for (width, count) in (0..=240).flat_map(|width| (1..=6).map(move |count| (width, count))) {
            for gap in [0, 2] {
                let area = Rect::new(3, 1, width, 2);
                if width < count * (gap + 1) {
                    assert!(columns(area, count, gap).all(|column| area.union(column) == area));
                    continue;
                }
                let solved = Layout::horizontal(vec![Constraint::Fill(1); count.into()])
                    .spacing(gap)
                    .split(area);
                let ours: Vec<_> = columns(area, count, gap).collect();
                assert_eq!(ours, solved.to_vec(), "{width} {count} {gap}");
            }
        }
    }
}
