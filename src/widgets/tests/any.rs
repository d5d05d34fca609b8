//! Every widget in any area, with any data.

use proptest::prelude::*;

use super::*;

/// Everything at once, in one area, with data that may be anything.
fn draw_all(look: Look<'_>, area: Rect, buffer: &mut Buffer, data: &Data) {
    let words: Vec<&str> = data.words.iter().map(String::as_str).collect();
    let word = |index: usize| words.get(index).copied().unwrap_or("");
    let amount = Amount::Now(data.values.first().copied().flatten().unwrap_or(0.5));
    Gauge::new(look, amount, Ramp::Memory).label(word(0), data.number).render(area, buffer);
    Spark::new(look, &data.values, Paint::Role(Role::Good)).render(area, buffer);
    let graph = Graph::new(look, &data.values, (data.float, 10.0));
    graph.labels(word(0), word(1)).render(area, buffer);
    let bar = |value: &Option<f32>| Bar {
        label: word(0),
        value: value.map(f64::from),
        text: word(1),
        role: Role::Info,
    };
    let bars: Vec<_> = data.values.iter().map(bar).collect();
    let bars = Bars { look, bars: &bars };
    bars.render(area, buffer);
    BarLine(bars).render(area, buffer);
    let items: Vec<_> = words.iter().map(|word| (*word, *word, Role::Warn)).collect();
    DtypeStrip { look, items: &items }.render(area, buffer);
    let tokens: Vec<_> = words.iter().map(|word| (*word, Mark::Bad)).collect();
    DecodedTokens { look, tokens: &tokens }.render(area, buffer);
    let points: Vec<_> = (data.values.iter().flatten())
        .map(|value| Point {
            label: word(0),
            intensity: f64::from(*value),
            rate: f64::from(data.float),
            role: Role::Info,
        })
        .collect();
    let roofs = [Roof { label: word(1), peak: f64::from(data.float) }];
    Roofline { look, bandwidth: f64::from(data.number), roofs: &roofs, points: &points }
        .render(area, buffer);
    draw_frames(look, area, buffer, data, &words);
}

fn draw_frames(look: Look<'_>, area: Rect, buffer: &mut Buffer, data: &Data, words: &[&str]) {
    let pieces: Vec<_> = words.iter().map(|word| look.piece(word, Role::Title)).collect();
    let card = Card::new(look).left(&pieces).right(&pieces).foot(&pieces).foot_left(&pieces);
    let inner = card.render(area, buffer);
    assert_eq!(inner.intersection(area), inner);
    Popup::new(look, data.number, data.number / 2)
        .titled(|card| card.left(&pieces))
        .render(area, buffer);
    let hints: Vec<_> = words
        .iter()
        .enumerate()
        .map(|(n, word)| Hint { key: word, words: word, rank: n as u8 })
        .collect();
    let footer = Footer { look, hints: &hints };
    footer.render(area, buffer);
    assert!(footer.areas(area).all(|(_, place)| place.intersection(area) == place));
    let columns: Vec<_> = (words.iter().enumerate())
        .map(|(n, word)| {
            let column = Column::new(word, n as u16, data.number).rank((n % 3) as u8);
            if n % 2 == 0 { column.grows() } else { column.align(Align::Right) }
        })
        .collect();
    let mut table = Table::new(look, &columns, usize::from(data.number));
    (table.offset, table.selected) = (data.values.len(), Some(data.values.len() / 2));
    table.sort = Some((0, Sort::Up));
    table.render(area, buffer, |_, _, pen| _ = pen.fit("cell", Style::new()));
}

#[derive(Clone, Debug)]
struct Data {
    values: Vec<Option<f32>>,
    words: Vec<String>,
    number: u16,
    float: f32,
}

fn any_data() -> impl Strategy<Value = Data> {
    let values = proptest::collection::vec(proptest::option::of(any::<f32>()), 0..40);
    let words = proptest::collection::vec(
        "\\PC{0,12}|[\\x00-\\x1f]{0,3}|[a-z ]{0,9}|\u{65e5}\u{672c}",
        0..7,
    );
    (values, words, prop_oneof![0..60u16, any::<u16>()], any::<f32>())
        .prop_map(|(values, words, number, float)| Data { values, words, number, float })
}

proptest! {
    #[test]
    fn nothing_panics_and_nothing_is_drawn_outside(
        data in any_data(),
        (x, y, width, height) in (0..6u16, 0..6u16, 0..50u16, 0..16u16),
        ascii in any::<bool>(),
    ) {
        let theme = Theme::default();
        let look = Look::new(&theme, Glyphs::choose(ascii));
        let sentinel = ratatui::buffer::Cell::new("S");
        let mut buffer = Buffer::filled(Rect::new(0, 0, 60, 24), sentinel.clone());
        let area = Rect::new(x, y, width, height);
        draw_all(look, area, &mut buffer, &data);
        for point in buffer.area.positions().filter(|point| !area.contains(*point)) {
            prop_assert_eq!(&buffer[point], &sentinel, "{:?} of {:?}", point, area);
        }
        for point in area.positions() {
            prop_assert!(!buffer[point].symbol().contains(char::is_control));
        }
        // An area that the buffer does not have is drawn as far as it goes.
        draw_all(look, Rect::new(50, 20, width, height), &mut buffer, &data);
    }
}
