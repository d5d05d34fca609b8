use super::Style;
use crate::io::sink::printer::{TextColor, colored};
use crate::text::{clean, fit, width};

/// Cells between two columns.
const GAP: usize = 2;
/// Narrowest the widest column may become.
const NARROWEST: usize = 8;

/// Where a cell's text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// One column of a table of `T`.
pub(crate) struct Column<T> {
    pub(crate) head: &'static str,
    pub(crate) side: Side,
    /// 0 always stays; of the others the highest goes first.
    pub(crate) rank: u8,
    pub(crate) cell: fn(&T, Style) -> String,
}

impl<T> Column<T> {
    /// A column of texts.
    pub(crate) const fn left(head: &'static str, rank: u8, cell: fn(&T, Style) -> String) -> Self {
        Self { head, side: Side::Left, rank, cell }
    }

    /// A column of numbers.
    pub(crate) const fn right(head: &'static str, rank: u8, cell: fn(&T, Style) -> String) -> Self {
        Self { head, side: Side::Right, rank, cell }
    }
}

/// Rows under their heads, as wide as needed and never wider than allowed.
pub(crate) fn grid<T>(columns: &[Column<T>], rows: &[T], style: Style) -> String {
    let cells = |column: &Column<T>| {
        let cell = |row| clean(&(column.cell)(row, style), style.ascii).into_owned();
        let mut all = vec![column.head.to_owned()];
        all.extend(rows.iter().map(cell));
        all
    };
    let mut shown: Vec<_> = columns.iter().map(|column| (column, cells(column))).collect();
    let mut widths = widths(&shown);
    if let Some(limit) = style.width {
        while total(&widths) > limit
            && let Some(least) = least_important(&shown)
        {
            shown.remove(least);
            widths.remove(least);
        }
        shrink(&mut widths, limit);
    }
    (0..=rows.len()).map(|row| line(&shown, &widths, row, style)).collect()
}

type Shown<'a, T> = (&'a Column<T>, Vec<String>);

fn widths<T>(shown: &[Shown<'_, T>]) -> Vec<usize> {
    let widest = |cells: &Vec<String>| cells.iter().map(|cell| width(cell)).max().unwrap_or(0);
    shown.iter().map(|(_, cells)| widest(cells)).collect()
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

fn least_important<T>(shown: &[Shown<'_, T>]) -> Option<usize> {
    let optional = shown.iter().enumerate().filter(|(_, (column, _))| column.rank > 0);
    optional.max_by_key(|(_, (column, _))| column.rank).map(|(place, _)| place)
}

/// Takes the missing room from the widest column, again and again.
fn shrink(widths: &mut [usize], limit: usize) {
    while total(widths) > limit {
        match widths.iter_mut().max() {
            Some(widest) if *widest > NARROWEST => *widest -= 1,
            _ => return,
        }
    }
}

fn line<T>(shown: &[Shown<'_, T>], widths: &[usize], row: usize, style: Style) -> String {
    let mut line = String::new();
    for ((column, cells), room) in shown.iter().zip(widths) {
        let cell = fit(&cells[row], *room, style.ascii);
        let padding = " ".repeat(room.saturating_sub(width(&cell)));
        if !line.is_empty() {
            line.push_str(&" ".repeat(GAP));
        }
        match column.side {
            Side::Left => line += &(cell.into_owned() + &padding),
            Side::Right => line += &(padding + &cell),
        }
    }
    let line = fit(line.trim_end(), style.width.unwrap_or(usize::MAX), style.ascii);
    let line =
        if row == 0 && style.color { colored(TextColor::Bold, &line) } else { line.into_owned() };
    line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column<(u32, &str)>] = &[
        Column { head: "n", side: Side::Right, rank: 0, cell: |row, _| row.0.to_string() },
        Column { head: "name", side: Side::Left, rank: 0, cell: |row, _| row.1.to_owned() },
        Column {
            head: "twice",
            side: Side::Right,
            rank: 2,
            cell: |row, _| (row.0 * 2).to_string(),
        },
    ];

    const ROWS: &[(u32, &str)] = &[(7, "seven"), (100, "a hundred\u{1b}[m")];

    fn drawn(width: Option<usize>) -> Vec<String> {
        let style = Style { width, ..Style::default() };
        grid(COLUMNS, ROWS, style).lines().map(str::to_owned).collect()
    }

    #[test]
    fn columns_are_aligned_and_cleaned() {
        assert_eq!(
            drawn(None),
            [
                "  n  name          twice",
                "  7  seven            14",
                "100  a hundred\u{fffd}[m    200"
            ]
        );
    }

    #[test]
    fn the_least_important_column_goes_first_then_the_widest_shrinks() {
        assert_eq!(drawn(Some(18))[2], "100  a hundred\u{fffd}[m");
        assert_eq!(drawn(Some(14))[2], "100  a hundre…");
    }

    #[test]
    fn no_line_is_wider_than_allowed() {
        for limit in 0..40 {
            assert!(drawn(Some(limit)).iter().all(|line| width(line) <= limit), "{limit}");
        }
    }
}
