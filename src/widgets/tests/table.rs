//! Rows, columns, clicks and scrolling.

use ratatui::layout::Position;

use super::*;

const COLUMNS: [Column<'_>; 4] = [
    Column::new("PID", 5, 6).align(Align::Right),
    Column::new("USER", 4, 6).rank(2),
    Column::new("MEM", 4, 5).align(Align::Right).rank(1),
    Column::new("COMMAND", 7, 9).grows(),
];

fn table(look: Look<'_>, area: Rect, buffer: &mut Buffer) -> TableLayout {
    let mut table = Table::new(look, &COLUMNS, 9);
    (table.offset, table.selected, table.sort) = (1, Some(3), Some((2, Sort::Down)));
    table.render(area, buffer, |row, column, pen| {
        let text = match column {
            0 => (100 + row).to_string(),
            1 => "alice".to_owned(),
            2 => format!("{row}G"),
            _ => "python train.py".to_owned(),
        };
        pen.fit(&text, look.style(Role::Text));
    })
}

#[test]
fn tables_use_the_room_and_leave_out_what_matters_least() {
    let draw = |look: Look<'_>, area: Rect, buffer: &mut Buffer| _ = table(look, area, buffer);
    assert_drawn(
        (38, 4),
        draw,
        &[
            "   PID  USER     MEM▼  COMMAND",
            "   101  alice      1G  python trai…  ┃",
            "   102  alice      2G  python trai…  │",
            "   103  alice      3G  python trai…  │",
        ],
        &[
            "   PID  USER     MEMv  COMMAND",
            "   101  alice      1G  python trai~  #",
            "   102  alice      2G  python trai~  |",
            "   103  alice      3G  python trai~  |",
        ],
    );
    assert_drawn(
        (24, 2),
        draw,
        &["   PID  MEM▼  COMMAND", "   103    3G  python…  ┃"],
        &["   PID  MEMv  COMMAND", "   103    3G  python~  #"],
    );
}

#[test]
fn a_click_finds_head_row_and_scrollbar() {
    let theme = plain();
    let look = Look::new(&theme, Glyphs::unicode());
    let mut buffer = Buffer::empty(Rect::new(0, 0, 48, 8));
    let area = Rect::new(10, 2, 38, 4);
    let layout = table(look, area, &mut buffer);
    let mut table = Table::new(look, &COLUMNS, 9);
    table.offset = 1;
    let hit = |x, y| table.hit(&layout, Position::new(x, y));
    assert_eq!(hit(12, 2), Some(TableHit::Header(0)));
    assert_eq!(hit(30, 2), Some(TableHit::Header(2)));
    assert_eq!(hit(12, 3), Some(TableHit::Row(1, Some(0))));
    assert_eq!(hit(16, 5), Some(TableHit::Row(3, None)), "between two columns");
    assert_eq!(hit(47, 5), Some(TableHit::Scroll(6)));
    assert_eq!(hit(47, 3), Some(TableHit::Scroll(0)));
    assert_eq!(hit(12, 6), None);
    assert_eq!(hit(0, 3), None);
    let row: Vec<_> =
        (10..46).map(|x| buffer[(x, 5)].modifier.contains(Modifier::REVERSED)).collect();
    assert!(row.iter().all(|reversed| *reversed), "the selected row is marked as a whole");
    assert!(!buffer[(12, 4)].modifier.contains(Modifier::REVERSED));
}

#[test]
fn wide_tables_scroll_sideways_past_frozen_columns() {
    const COLUMNS: [Column<'_>; 4] = [
        Column::new("what", 4, 4),
        Column::new("H200", 4, 4),
        Column::new("T4", 4, 4),
        Column::new("V100", 4, 4),
    ];
    let draw = |skipped| {
        move |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
            let mut table = Table::new(look, &COLUMNS, 1);
            (table.frozen, table.skipped) = (1, skipped);
            table.render(area, buffer, |_, column, pen| {
                _ = pen.fit(COLUMNS[column].title, Style::new())
            });
        }
    };
    assert_drawn(
        (18, 2),
        draw(0),
        &["what  H200  T4   ›", "what  H200  T4"],
        &["what  H200  T4   >", "what  H200  T4"],
    );
    assert_drawn(
        (18, 2),
        draw(1),
        &["what ‹T4    V100", "what  T4    V100"],
        &["what <T4    V100", "what  T4    V100"],
    );
}

#[test]
fn scrolling_follows_the_selection_and_wastes_no_room() {
    for (offset, selected, rows, height, want) in [
        (0, Some(5), 10, 3, 3),
        (5, Some(2), 10, 3, 2),
        (9, None, 10, 3, 7),
        (4, Some(5), 10, 3, 4),
        (0, Some(0), 0, 3, 0),
        (3, Some(3), 10, 0, 3),
    ] {
        assert_eq!(
            scroll_to(offset, selected, rows, height),
            want,
            "{offset} {selected:?} {rows} {height}"
        );
    }
}
