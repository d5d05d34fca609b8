//! Prints what drawing each widget costs at 200×50, in microseconds: the median of many frames.
//!
//! `cargo run --release --example draw_bench`. Figures for comparing changes on one machine.

use std::hint::black_box;
use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use warpscope::engine::{Cell, Confidence, Level, Outcome};
use warpscope::widgets::format;
use warpscope::widgets::glyphs::Glyphs;
use warpscope::widgets::svg;
use warpscope::widgets::theme::{Ramp, Role, Theme};
use warpscope::widgets::*;

const AREA: Rect = Rect::new(0, 0, 200, 50);
const FRAMES: usize = 400;

type Draw<'a> = &'a dyn Fn(Look<'_>, &mut Buffer);

fn main() {
    let theme = Theme::default();
    let look = Look::new(&theme, Glyphs::unicode());
    let values: Vec<Option<f32>> =
        (0..400).map(|n| (n % 50 != 0).then_some((n * 37 % 100) as f32)).collect();
    let tokens: Vec<_> = (0..2000).map(|n| (" token", [Mark::Good, Mark::Bad][n % 2])).collect();
    let widgets: [(&str, Draw<'_>); 7] = [
        ("background", &|look, buffer| buffer.set_style(AREA, look.theme.base())),
        ("50 gauges", &gauges),
        ("50 sparklines", &|look, buffer| {
            AREA.rows().for_each(|row| {
                Spark::new(look, &values, Paint::Ramp(Ramp::Load)).render(row, buffer)
            });
        }),
        ("graph", &|look, buffer| Graph::new(look, &values, (0.0, 100.0)).render(AREA, buffer)),
        ("table", &table),
        ("tokens", &|look, buffer| DecodedTokens { look, tokens: &tokens }.render(AREA, buffer)),
        ("dashboard", &|look, buffer| dashboard(look, buffer, &values)),
    ];
    println!("{:<20} {:>9}", "at 200x50", "us/frame");
    for (name, draw) in widgets {
        println!("{name:<20} {:>9.1}", median(look, draw));
    }
    println!("{:<20} {:>9.1}", "theme, parsed", time(|| drop(black_box(Theme::builtin("light")))));
    let mut buffer = Buffer::empty(AREA);
    dashboard(look, &mut buffer, &values);
    println!(
        "{:<20} {:>9.1}",
        "svg of dashboard",
        time(|| drop(black_box(svg::svg(&buffer, &theme, ""))))
    );
}

fn median(look: Look<'_>, draw: Draw<'_>) -> f64 {
    let mut buffer = Buffer::empty(AREA);
    let mut frames: Vec<f64> = (0..FRAMES)
        .map(|_| {
            buffer.reset();
            let start = Instant::now();
            draw(look, black_box(&mut buffer));
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    frames.sort_by(f64::total_cmp);
    frames[FRAMES / 2]
}

fn time(mut work: impl FnMut()) -> f64 {
    let mut runs: Vec<f64> = (0..51)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    runs[25]
}

fn gauges(look: Look<'_>, buffer: &mut Buffer) {
    for (index, row) in AREA.rows().enumerate() {
        let amount = Amount::Now(index as f32 / 50.0);
        Gauge::new(look, amount, Ramp::Load).label("82%", 4).render(row, buffer);
    }
}

fn table(look: Look<'_>, buffer: &mut Buffer) {
    const COLUMNS: [Column<'_>; 8] = [
        Column::new("PID", 7, 8).align(Align::Right),
        Column::new("USER", 6, 12).rank(3),
        Column::new("GPU", 4, 6).align(Align::Right),
        Column::new("MEM", 8, 10).align(Align::Right),
        Column::new("CPU", 6, 8).align(Align::Right).rank(2),
        Column::new("VERDICT", 7, 9).align(Align::Center),
        Column::new("TIME", 7, 9).align(Align::Right).rank(4),
        Column::new("COMMAND", 10, 40).grows(),
    ];
    let mut table = Table::new(look, &COLUMNS, 5000);
    (table.offset, table.selected) = (1000, Some(1010));
    let cell = Cell {
        outcome: Outcome::Works,
        level: Some(Level::Live),
        disputed: false,
        confidence: Some(Confidence::High),
    };
    table.render(AREA, buffer, |row, column, pen| {
        let text = match column {
            0 => format::Short::of(row),
            3 => format::bytes(row as f64 * 1e6),
            5 => return verdict_cell(look, pen, &cell),
            6 => format::duration(row as f64),
            7 => format::Short::of("python train.py --dtype bf16"),
            _ => format::percent((row % 100) as f64),
        };
        pen.fit(&text, look.style(Role::Text));
    });
}

/// Eight cards with everything a card has, and a graph below them.
fn dashboard(look: Look<'_>, buffer: &mut Buffer, values: &[Option<f32>]) {
    buffer.set_style(AREA, look.theme.base());
    for index in 0..8u16 {
        card(look, Rect::new(index % 2 * 100, 1 + index / 2 * 8, 100, 8), buffer, values);
    }
    let below = Card::new(look).render(Rect::new(0, 33, 200, 16), buffer);
    Graph::new(look, values, (0.0, 100.0)).labels("100%", "0%").render(below, buffer);
    let hints = ["help", "filter", "sort", "quit"].map(|words| Hint { key: "k", words, rank: 0 });
    Footer { look, hints: &hints }.render(Rect { y: 49, height: 1, ..AREA }, buffer);
}

fn card(look: Look<'_>, area: Rect, buffer: &mut Buffer, values: &[Option<f32>]) {
    let left = [look.piece("0 ", Role::Accent), look.piece("Example GPU", Role::Title)];
    let right = ["sm_90", "132 SM", "139.8 GiB"].map(|fact| look.piece(fact, Role::Muted));
    let inner = Card::new(look).left(&left).right(&right).render(area, buffer);
    let row = |line| Rect { y: inner.y + line, height: 1, ..inner };
    let half = |line, x| Rect { x: inner.x + x, width: inner.width / 2 - 2, ..row(line) };
    Gauge::new(look, Amount::Now(0.8), Ramp::Load).label("80%", 4).render(half(0, 0), buffer);
    Spark::new(look, values, Paint::Ramp(Ramp::Load)).render(half(0, 50), buffer);
    let memory = format::bytes_of(Some(6.5e10), 1.5e11);
    Gauge::new(look, Amount::Now(0.4), Ramp::Memory).label(&memory, 16).render(half(1, 0), buffer);
    let mut pen = look.pen(buffer, row(2));
    pen.put(&format::watts(412.0), look.style(Role::Text)).skip(3);
    pen.put(&format::celsius(54.0, look.glyphs), look.style(Role::Text)).skip(3);
    pen.put(&format::megahertz(1980.0), look.style(Role::Text));
    let items = ["FP64", "FP32", "TF32", "FP16", "BF16", "FP8", "INT8", "INT4", "FP4"];
    let items = items.map(|label| (label, look.glyphs.record, Role::Good));
    DtypeStrip { look, items: &items }.render(row(3), buffer);
    let bars = ["fp32", "fp16", "bf16", "int4"].map(|label| Bar {
        label,
        value: Some(11.2e3),
        text: "11.2k",
        role: Role::Fp16,
    });
    BarLine(Bars { look, bars: &bars }).render(row(4), buffer);
    Notice { look, severity: Severity::Error, text: "vLLM NVFP4: needs sm_100" }
        .render(row(5), buffer);
}
