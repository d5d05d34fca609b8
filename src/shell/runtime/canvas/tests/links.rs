use super::*;

/// Which cells of a terminal belong to which link, read from what it is sent.
struct Links {
    terminal: vt100::Parser,
    at: std::collections::HashMap<(u16, u16), String>,
    open: String,
}

impl Links {
    fn new() -> Self {
        let [rows, columns] = [AREA.height, AREA.width].map(|size| size.try_into().unwrap());
        let terminal = vt100::Parser::new(rows, columns, 0);
        Self { terminal, at: Default::default(), open: String::new() }
    }

    fn read(&mut self, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).unwrap();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let token = match rest.as_bytes() {
                [b'\x1b', b']', ..] => &rest[..=rest.find('\x07').expect("ends")],
                [b'\x1b', b'[', tail @ ..] => {
                    let end = tail.iter().position(|byte| (b'@'..=b'~').contains(byte));
                    &rest[..3 + end.expect("ends")]
                }
                _ => &rest[..first.len_utf8()],
            };
            self.take(token);
            rest = &rest[token.len()..];
        }
    }

    fn take(&mut self, token: &str) {
        let (y, x) = self.terminal.screen().cursor_position();
        if let Some(address) = token.strip_prefix("\x1b]8;;") {
            self.open = address.trim_end_matches('\x07').to_owned();
        } else if !token.starts_with('\x1b') {
            let wide = ratatui::text::Span::raw(token).width();
            // What is written on the last column stays there, wherever the cursor says it is.
            if wide > 0 {
                self.at.insert((x.min(AREA.width - 1), y), self.open.clone());
            }
        } else if let Some(erased) = erased(token) {
            (x..x.saturating_add(erased)).for_each(|x| drop(self.at.remove(&(x, y))));
        }
        self.terminal.process(token.as_bytes());
    }
}

/// Cells that a sequence erases from the cursor on.
fn erased(token: &str) -> Option<u16> {
    let inner = token.strip_prefix("\x1b[")?;
    match inner.strip_suffix('X') {
        Some(count) => Some(count.parse().unwrap_or(1)),
        None => (inner == "K").then_some(AREA.width),
    }
}

fn links() -> impl Strategy<Value = Vec<Link>> {
    let link = (0..AREA.width, 0..AREA.height, 1..12u16, 0..3u8).prop_map(|(x, y, width, to)| {
        let area = Rect::new(x, y, width, 1).intersection(AREA);
        Link { area, address: format!("https://example.com/{to}") }
    });
    prop::collection::vec(link, 0..3)
}

proptest! {
    #[test]
    fn a_terminal_links_what_was_drawn_as_a_link_and_nothing_else(
        frames in prop::collection::vec(
            (prop::collection::vec(stroke(), 0..6), links()),
            1..6,
        ),
        erases_in_color: bool,
        keeps: bool,
    ) {
        let mut terminal = Links::new();
        let mut canvas = Canvas::new(AREA, erases_in_color);
        let mut buffer = Buffer::empty(AREA);
        for (strokes, links) in frames {
            if !keeps {
                buffer.reset();
            }
            for (x, y, text, style) in strokes {
                let room = usize::from(AREA.width - x);
                buffer.set_stringn(x, y, text, room, style);
            }
            terminal.read(canvas.update(&buffer, &links));
            compare(&buffer, &terminal.terminal)?;
            prop_assert_eq!(&terminal.open, "", "nothing stays open");
            for y in 0..AREA.height {
                let mut x = 0;
                while x < AREA.width {
                    let drawn = &buffer[(x, y)];
                    let here = |link: &&Link| link.area.contains(Position::new(x, y));
                    let wanted = links.iter().rev().find(here).map_or("", |link| &link.address);
                    let shown = terminal.at.get(&(x, y)).map_or("", String::as_str);
                    let plain = drawn.cell_width() == 1 && !Shown::of(drawn).is_blank();
                    prop_assert!(!plain || shown == wanted, "{},{}: {} {}", x, y, shown, wanted);
                    x += drawn.cell_width().max(1);
                }
            }
        }
    }
}

#[test]
fn a_link_is_sent_once_and_closed_and_costs_nothing_where_there_is_none() {
    let address = "https://example.com/a".to_owned();
    let links = [Link { area: Rect::new(4, 0, 4, 1), address }];
    let mut canvas = Canvas::new(AREA, true);
    canvas.update(&text("see here now"), &[]);
    let linked = String::from_utf8(canvas.update(&text("see here now"), &links).to_vec()).unwrap();
    assert_eq!(
        linked,
        "\x1b[?2026h\x1b[1;5H\x1b]8;;https://example.com/a\x07here\x1b]8;;\x07\x1b[?2026l"
    );
    assert_eq!(canvas.update(&text("see here now"), &links), b"");
    // What changes beside the link does not send it again; what changes within does.
    let beside = String::from_utf8(canvas.update(&text("see here too"), &links).to_vec()).unwrap();
    assert!(!beside.contains("\x1b]8"), "{beside:?}");
    let gone = String::from_utf8(canvas.update(&text("see here too"), &[]).to_vec()).unwrap();
    assert_eq!(gone, "\x1b[?2026h\x1b[8Dhere\x1b[?2026l");
}

#[test]
fn links_go_to_terminals_that_know_them_or_pass_over_them() {
    assert!(knows_links("xterm-256color") && knows_links("tmux-256color"));
    assert!(!knows_links("dumb") && !knows_links("linux") && !knows_links(""));
}
