//! Rows, columns and scrolling.

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
fn the_selected_row_is_marked_as_a_whole() {
    let theme = plain();
    let look = Look::new(&theme, Glyphs::unicode());
    let mut buffer = Buffer::empty(Rect::new(0, 0, 48, 8));
    let area = Rect::new(10, 2, 38, 4);
    table(look, area, &mut buffer);
    let row: Vec<_> =
        (10..46).map(|x| buffer[(x, 5)].modifier.contains(Modifier::REVERSED)).collect();
    assert!(row.iter().all(|reversed| *reversed));
    assert!(!buffer[(12, 4)].modifier.contains(Modifier::REVERSED));
}

#[test]
fn columns_without_room_are_cut_off_on_the_right() {
    const COLUMNS: [Column<'_>; 4] = [
        Column::new("what", 4, 4),
        Column::new("H200", 4, 4),
        Column::new("T4", 4, 4),
        Column::new("V100", 4, 4),
    ];
    let draw = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        Table::new(look, &COLUMNS, 1).render(area, buffer, |_, column, pen| {
            _ = pen.fit(COLUMNS[column].title, Style::new())
        });
    };
    assert_drawn(
        (18, 2),
        draw,
        &["what  H200  T4   ›", "what  H200  T4"],
        &["what  H200  T4   >", "what  H200  T4"],
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
