use super::*;

/// A part of a row that goes left, and what comes in behind it.
fn moves() -> impl Strategy<Value = (u16, std::ops::Range<u16>, String)> {
    let part = (0..AREA.width - 4, 4..AREA.width);
    let part = part.prop_map(|(begin, long)| begin..(begin + long).min(AREA.width));
    (0..AREA.height, part, "[ab⣿⣶ ]{1,3}")
}

fn go_left(buffer: &mut Buffer, y: u16, part: std::ops::Range<u16>, come: &str) {
    let is_wide = |x: u16| buffer[(x, y)].cell_width() != 1;
    if (part.start.saturating_sub(1)..part.end).any(is_wide) {
        return;
    }
    let by = come.chars().count() as u16;
    for x in part.start..part.end - by {
        buffer[(x, y)] = buffer[(x + by, y)].clone();
    }
    for (x, symbol) in (part.end - by..part.end).zip(come.chars()) {
        buffer[(x, y)].set_char(symbol);
    }
}

proptest! {
    #[test]
    fn what_goes_left_arrives(
        strokes in prop::collection::vec(stroke(), 0..12),
        frames in prop::collection::vec(prop::collection::vec(moves(), 0..4), 1..6),
        erases_in_color: bool,
    ) {
        let [rows, columns] = [AREA.height, AREA.width].map(|size| size.try_into().unwrap());
        let mut terminal = vt100::Parser::new(rows, columns, 0);
        let mut canvas = Canvas::new(AREA, erases_in_color);
        let mut buffer = Buffer::empty(AREA);
        for (x, y, text, style) in strokes {
            buffer.set_stringn(x, y, text, usize::from(AREA.width - x), style);
        }
        terminal.process(canvas.update(&buffer, &[]));
        for frame in frames {
            for (y, part, come) in frame {
                go_left(&mut buffer, y, part, &come);
            }
            terminal.process(canvas.update(&buffer, &[]));
            compare(&buffer, &terminal)?;
        }
    }
}

#[test]
fn a_history_is_moved_and_only_its_newest_value_written() {
    let (before, after) = ("100 ⣀⣤⣶⣿⣷⣦⣤⣄⣀⣠⣴ now 5%", "100 ⣤⣶⣿⣷⣦⣤⣄⣀⣠⣴⣾ now 5%");
    let mut canvas = Canvas::new(AREA, true);
    canvas.update(&text(before), &[]);
    assert_eq!(sent(&mut canvas, &text(after)), "\x1b[1;5H\x1b[P\x1b[10C\x1b[@⣾");
    assert_eq!(sent(&mut canvas, &text(after)), "");
    let further = text("100 ⣿⣷⣦⣤⣄⣀⣠⣴⣾⣿⣶ now 5%");
    assert_eq!(sent(&mut canvas, &further), "\x1b[11D\x1b[2P\x1b[9C\x1b[2@⣿⣶");
}

#[test]
fn nothing_is_moved_on_a_terminal_that_may_not_know_how_or_where_it_is_no_shorter() {
    let moved = |before, after, known| {
        let mut canvas = Canvas::new(AREA, known);
        canvas.update(&text(before), &[]);
        sent(&mut canvas, &text(after)).contains('@')
    };
    let (before, after) = ("⣀⣤⣶⣿⣷⣦⣤⣄⣀⣠⣴", "⣤⣶⣿⣷⣦⣤⣄⣀⣠⣴⣾");
    assert!(moved(before, after, true));
    assert!(!moved(before, after, false));
    assert!(!moved("⣀⣤⣶⣿", "⣤⣶⣿⣿", true));
    assert!(!moved("aaaaaaaaaaab", "aaaaaaaaaabb", true));
    // A wide character elsewhere in the row could be cut in two.
    assert!(!moved("漢 ⣀⣤⣶⣿⣷⣦⣤⣄⣀⣠⣴", "漢 ⣤⣶⣿⣷⣦⣤⣄⣀⣠⣴⣾", true));
}
