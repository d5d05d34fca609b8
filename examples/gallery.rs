//! Draws every widget once and writes the picture: `cargo run --example gallery -- out.svg [theme] [ascii] [16]`.
//!
//! For looking at a theme or a widget while working on it; the text form goes to standard output.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;
use warpscope::engine::{Cell, Confidence, Level, OUTCOMES, Outcome};
use warpscope::shell::draw::read_theme;
use warpscope::widgets::format;
use warpscope::widgets::format::Short;
use warpscope::widgets::glyphs::Glyphs;
use warpscope::widgets::svg;
use warpscope::widgets::theme::{ColorChoice, ColorDepth, Ramp, Role, Theme};
use warpscope::widgets::*;
use warpscope_probes::catalogue::How;

const WIDTH: u16 = 120;
const HEIGHT: u16 = 40;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path =
        arguments.next().ok_or("where to? gallery OUT.svg [THEME] [ascii] [never, 16, 256]")?;
    let choice = arguments.next().unwrap_or_else(|| "dark".to_owned());
    let options: Vec<String> = arguments.collect();
    let ascii = options.iter().any(|word| word == "ascii");
    let depth = match options.iter().find_map(|word| ColorChoice::parse(word)) {
        Some(ColorChoice::Exactly(depth)) => depth,
        Some(ColorChoice::Never) => ColorDepth::None,
        _ => ColorDepth::TrueColor,
    };
    let theme = Theme::load(&choice, &[], read_theme)?.at_depth(depth);
    let buffer = gallery(Look::new(&theme, Glyphs::choose(ascii)));
    std::fs::write(path, svg::svg(&buffer, &theme, &format!("Widgets, theme {choice}")))?;
    print!("{}", svg::text(&buffer));
    Ok(())
}

fn gallery(look: Look<'_>) -> Buffer {
    let area = Rect::new(0, 0, WIDTH, HEIGHT);
    let mut buffer = Buffer::empty(area);
    buffer.set_style(area, look.theme.base());
    let line = |y, height| Rect::new(0, y, WIDTH, height);
    top(look, line(0, 1), &mut buffer);
    card(look, line(1, 8), &mut buffer);
    graphs(look, line(9, 11), &mut buffer);
    table(look, Rect::new(0, 20, 72, 11), &mut buffer);
    verdicts(look, Rect::new(72, 20, 48, 11), &mut buffer);
    tape(look, Rect::new(0, 31, 72, 8), &mut buffer);
    states(look, Rect::new(72, 31, 48, 8), &mut buffer);
    popup(look, Rect::new(40, 22, 44, 14), &mut buffer);
    footer(look, line(39, 1), &mut buffer);
    buffer
}

/// A wave for the pictures; no device has measured it.
fn wave(count: usize, phase: f32) -> Vec<Option<f32>> {
    let value = |n: usize| {
        let x = n as f32 / 9.0 + phase;
        let gap = n % 97 > 90;
        (!gap).then(|| (x.sin() * 0.3 + (x * 2.7).sin() * 0.15 + 0.5) * 100.0)
    };
    (0..count).map(value).collect()
}

fn top(look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let mut pen = look.pen(buffer, area);
    pen.skip_to_last(24);
    pen.glyph(look.glyphs.record, look.style(Role::Rec)).put(" rec ", look.style(Role::Rec));
    pen.put("theme ", look.style(Role::Muted)).put(look.theme.name(), look.style(Role::Text));
}

fn card(look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let left = [look.piece("0 ", Role::Accent), look.piece("Example GPU", Role::Title)];
    let right = [
        look.piece("Hopper", Role::Muted),
        look.piece("sm_90", Role::Muted),
        look.piece("132 SM", Role::Muted),
        look.piece("139.8 GiB HBM3e", Role::Muted),
    ];
    let inner =
        Card::new(look).border(Role::BorderFocus).left(&left).right(&right).render(area, buffer);
    let row = |y: u16| Rect { x: inner.x + 1, y: inner.y + y, width: inner.width - 2, height: 1 };
    gauges(look, row(0), buffer);
    let mut pen = look.pen(buffer, row(1));
    for (value, label) in
        [("412/700 W", ""), ("1980/1980 MHz", ""), ("0", "ECC "), ("full speed", "clocks: ")]
    {
        pen.put(label, look.style(Role::Muted)).put(value, look.style(Role::Text)).skip(3);
    }
    pen.put(&format::celsius(54.0, look.glyphs), look.theme.ramp(Ramp::Temperature, 0.5));
    let (tensor, core) = (How::TensorCore, How::CudaCore);
    let symbol = |how: How| how.symbol(!look.glyphs.is_unicode);
    let items = [
        ("FP64", symbol(tensor), Role::Good),
        ("FP32", symbol(core), Role::Text),
        ("TF32", symbol(tensor), Role::Good),
        ("FP16", symbol(tensor), Role::Good),
        ("BF16", symbol(tensor), Role::Good),
        ("FP8", symbol(tensor), Role::Good),
        ("INT8", symbol(tensor), Role::Good),
        ("INT4", symbol(How::Emulated), Role::Warn),
        ("FP4", symbol(How::None), Role::Faint),
    ];
    DtypeStrip { look, items: &items }.render(row(2), buffer);
    let mut pen = look.pen(buffer, row(3));
    pen.put("decode tok/s", look.style(Role::Muted));
    let line = row(3);
    BarLine(bars(look, &BARS))
        .render(Rect { x: line.x + 14, width: line.width - 14, ..line }, buffer);
    Notice { look, severity: Severity::Error, text: "vLLM NVFP4: needs sm_100" }
        .render(row(4), buffer);
    Notice { look, severity: Severity::Warning, text: "PCIe runs at generation 3 of 5" }
        .render(row(5), buffer);
}

const BARS: [Bar<'_>; 4] = [
    Bar { label: "fp32", value: Some(3.0e3), text: "3.0k", role: Role::Fp32 },
    Bar { label: "fp16", value: Some(11.2e3), text: "11.2k", role: Role::Fp16 },
    Bar { label: "bf16", value: Some(11.2e3), text: "11.2k", role: Role::Bf16 },
    Bar { label: "int4", value: Some(21.0e3), text: "21.0k", role: Role::Int4 },
];

fn bars<'a>(look: Look<'a>, bars: &'a [Bar<'a>]) -> Bars<'a> {
    Bars { look, bars }
}

fn gauges(look: Look<'_>, row: Rect, buffer: &mut Buffer) {
    let mut pen = look.pen(buffer, row);
    pen.put("gpu", look.style(Role::Muted)).skip(68).put("mem", look.style(Role::Muted));
    let at = |x: u16, width: u16| Rect { x: row.x + x, width, ..row };
    let load = Gauge::new(look, Amount::Now(0.82), Ramp::Load).label("82%", 4);
    load.render(at(4, 40), buffer);
    Spark::new(look, &wave(22, 0.4), Paint::Ramp(Ramp::Load)).max(100.0).render(at(46, 22), buffer);
    let memory = format::bytes_of(Some(65.7e9), 150.1e9);
    Gauge::new(look, Amount::Now(0.438), Ramp::Memory)
        .label(&memory, 16)
        .render(at(75, 41), buffer);
}

fn graphs(look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let at = |x, width| Rect { x, width, ..area };
    let framed = |title, area, buffer: &mut Buffer| {
        let left = [look.piece(title, Role::Title)];
        Card::new(look).left(&left).render(area, buffer)
    };
    let inner = framed("load", at(0, 44), buffer);
    Graph::new(look, &wave(200, 0.0), (0.0, 100.0))
        .paint(Paint::Ramp(Ramp::Load))
        .labels("100%", "0%")
        .render(inner, buffer);
    let inner = framed("received", at(44, 36), buffer);
    Graph::new(look, &wave(200, 1.0), (0.0, 100.0)).render(inner, buffer);
    let inner = framed("roofline", at(80, 40), buffer);
    let roofs = [Roof { label: "1.2 TFLOP/s", peak: 1.2e12 }];
    let points = [
        Point { label: "fp32", intensity: 0.5, rate: 1.6e10, role: Role::Fp32 },
        Point { label: "fp16", intensity: 1.0, rate: 3.5e10, role: Role::Fp16 },
        Point { label: "int4", intensity: 60.0, rate: 7.0e11, role: Role::Int4 },
    ];
    Roofline { look, bandwidth: 4.0e10, roofs: &roofs, points: &points }.render(inner, buffer);
}

fn table(look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    const COLUMNS: [Column<'_>; 5] = [
        Column::new("PID", 7, 7).align(Align::Right),
        Column::new("USER", 6, 8).rank(2),
        Column::new("GPU", 5, 5).align(Align::Right),
        Column::new("MEM", 6, 8).align(Align::Right),
        Column::new("COMMAND", 10, 20).grows(),
    ];
    const NAMES: [&str; 4] = [
        "python train.py --dtype bf16 --batch 16 --layers 48",
        "ollama serve",
        "Xorg",
        "vllm serve",
    ];
    let left = [look.piece("Processes", Role::Title)];
    let foot = [look.piece("3 of 24", Role::Muted)];
    let inner = Card::new(look).left(&left).foot(&foot).render(area, buffer);
    let mut table = Table::new(look, &COLUMNS, 24);
    (table.selected, table.sort) = (Some(2), Some((3, Sort::Down)));
    table.render(inner, buffer, |row, column, pen| {
        let (text, role) = match column {
            0 => (Short::of(4100 + row * 37), Role::Text),
            1 => (Short::of(["alice", "bob"][row % 2]), Role::Muted),
            2 => (Short::of(format_args!("{}%", 96 - row * 3)), Role::Text),
            3 => (format::bytes(((40 - row) as f64) * 4.1e8), Role::Text),
            _ => {
                pen.fit(NAMES[row % 4], look.style(Role::Text));
                return;
            }
        };
        pen.fit(&text, look.style(role));
    });
}

fn verdicts(look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    const COLUMNS: [Column<'_>; 4] = [
        Column::new("OUTCOME", 13, 16),
        Column::new("H200", 6, 8).align(Align::Center),
        Column::new("T4", 6, 8).align(Align::Center),
        Column::new("1060", 6, 8).align(Align::Center),
    ];
    let left = [look.piece("Compat", Role::Title)];
    let inner = Card::new(look).left(&left).render(area, buffer);
    Table::new(look, &COLUMNS, OUTCOMES.len()).render(inner, buffer, |row, column, pen| {
        let outcome = OUTCOMES[row].0;
        let cell = |outcome, level| Cell {
            outcome,
            level: Some(level),
            disputed: row == 1,
            confidence: (row == 2).then_some(Confidence::Medium),
        };
        match column {
            0 => _ = pen.fit(outcome.words(), look.style(outcome_role(outcome))),
            1 => verdict_cell(look, pen, &cell(outcome, Level::Live)),
            2 => verdict_cell(look, pen, &cell(Outcome::Works, Level::Inspected)),
            _ => verdict_cell(look, pen, &cell(outcome, Level::Rule)),
        }
    });
}

fn tape(look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let left = [look.piece("fp16 ", Role::Fp16), look.piece("writes", Role::Title)];
    let inner = Card::new(look).left(&left).render(area, buffer);
    let mut tokens: Vec<_> = "The quick brown fox jumps over the lazy dog and goes on to say that"
        .split_inclusive(' ')
        .map(|word| (word, Mark::Good))
        .collect();
    tokens.extend([
        ("!!!!", Mark::Bad),
        ("!!", Mark::Bad),
        (" then", Mark::Pending),
        ("\n", Mark::Pending),
    ]);
    let half = Rect { height: 3, ..inner };
    DecodedTokens { look, tokens: &tokens }.render(half, buffer);
    let rest = Rect { y: inner.y + 3, height: inner.height - 3, ..inner };
    bars(look, &BARS).render(Rect { width: rest.width / 2, ..rest }, buffer);
}

fn states(look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let left = [look.piece("States", Role::Title), look.piece(" what-if", Role::WhatIf)];
    let inner = Card::new(look).left(&left).render(area, buffer);
    let amounts = [
        (Amount::Now(0.05), Ramp::Load, "5%"),
        (Amount::Now(1.0), Ramp::Load, "100%"),
        (Amount::Now(0.9), Ramp::Temperature, "90%"),
        (Amount::Late(0.6), Ramp::Load, "60%"),
        (Amount::Now(0.0), Ramp::Load, "0%"),
        (Amount::Absent, Ramp::Load, format::ABSENT),
    ];
    for (row, (amount, ramp, label)) in inner.rows().zip(amounts) {
        Gauge::new(look, amount, ramp).label(label, 5).render(row, buffer);
    }
}

fn popup(look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let title = [look.piece("Send a signal", Role::Title)];
    let foot = [look.piece("Esc closes", Role::Muted)];
    let inner =
        Popup::new(look, 38, 7).titled(|card| card.left(&title).foot(&foot)).render(area, buffer);
    for (row, (key, words)) in inner.rows().zip([
        ("15", "TERM  ask it to end"),
        ("9", "KILL  end it"),
        ("2", "INT   as Ctrl-C does"),
    ]) {
        let mut pen = look.pen(buffer, row);
        pen.put(&format!("{key:>3}"), look.style(Role::Key))
            .skip(2)
            .put(words, look.style(Role::Text));
    }
    let selected = Rect { y: inner.y, height: 1, ..inner };
    buffer.set_style(selected, look.theme.selection());
    let mut pen = look.pen(buffer, Rect { y: inner.bottom() - 1, height: 1, ..inner });
    pen.put("python train.py, pid 4174", Style::new().patch(look.style(Role::Muted)));
}

fn footer(look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let hint = |key, words, rank| Hint { key, words, rank };
    let hints = [
        hint("?", "help", 1),
        hint("/", "filter", 2),
        hint("s", "sort", 3),
        hint("b", "bench on/off", 3),
        hint("w", "what-if", 4),
        hint("T", "theme", 5),
        hint("Space", "pause", 4),
        hint("q", "quit", 0),
    ];
    Footer { look, hints: &hints }.render(area, buffer);
}
