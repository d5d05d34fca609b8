//! Widgets against literal screens, in both sets of glyphs, and against any size and data.

use proptest::prelude::*;
use ratatui::layout::Position;
use ratatui::style::Modifier;
use ratatui::widgets::Widget;

use super::*;
use crate::engine::{Level, OUTCOMES, Outcome};
use crate::widgets::svg::text;
use crate::widgets::theme::ColorDepth;

/// A theme without colours: gauges then have a track that can be read here.
fn plain() -> Theme {
    Theme::default().at_depth(ColorDepth::None)
}

fn drawn(size: (u16, u16), ascii: bool, draw: impl Fn(Look<'_>, Rect, &mut Buffer)) -> Vec<String> {
    let theme = plain();
    let area = Rect::new(0, 0, size.0, size.1);
    let mut buffer = Buffer::empty(area);
    draw(Look::new(&theme, Glyphs::choose(ascii)), area, &mut buffer);
    text(&buffer).lines().map(str::to_owned).collect()
}

/// Compares a drawing in both sets of glyphs.
fn assert_drawn(
    size: (u16, u16),
    draw: impl Fn(Look<'_>, Rect, &mut Buffer),
    unicode: &[&str],
    ascii: &[&str],
) {
    assert_eq!(drawn(size, false, &draw), unicode);
    assert_eq!(drawn(size, true, &draw), ascii);
}

fn gauge(amount: Amount) -> impl Fn(Look<'_>, Rect, &mut Buffer) {
    move |look, area, buffer| {
        let label = if amount == Amount::Absent { "n/a" } else { "50%" };
        Gauge::new(look, amount, Ramp::Load).label(label, 4).peak(Some(0.8)).render(area, buffer);
    }
}

#[test]
fn gauges_fill_by_eighths_and_tell_absent_from_empty() {
    assert_drawn((15, 1), gauge(Amount::Now(0.5)), &["█████░░░▕░  50%"], &["#####---|-  50%"]);
    assert_drawn((15, 1), gauge(Amount::Now(0.56)), &["█████▋░░▕░  50%"], &["#####=--|-  50%"]);
    assert_drawn((15, 1), gauge(Amount::Now(0.001)), &["▏░░░░░░░▕░  50%"], &["--------|-  50%"]);
    assert_drawn((15, 1), gauge(Amount::Now(0.0)), &["░░░░░░░░▕░  50%"], &["--------|-  50%"]);
    assert_drawn((15, 1), gauge(Amount::Now(7.0)), &["██████████  50%"], &["##########  50%"]);
    assert_drawn((15, 1), gauge(Amount::Absent), &["··········  n/a"], &["..........  n/a"]);
    assert_drawn((15, 1), gauge(Amount::Now(f32::NAN)), &["··········  50%"], &["..........  50%"]);
    assert_drawn((5, 1), gauge(Amount::Now(0.5)), &[""], &[""]);
}

#[test]
fn late_gauges_lose_their_colours() {
    let theme = Theme::default();
    let look = Look::new(&theme, Glyphs::unicode());
    let mut buffer = Buffer::empty(Rect::new(0, 0, 10, 2));
    let [now, late] =
        [Amount::Now(1.0), Amount::Late(1.0)].map(|a| Gauge::new(look, a, Ramp::Load));
    now.render(Rect::new(0, 0, 10, 1), &mut buffer);
    late.render(Rect::new(0, 1, 10, 1), &mut buffer);
    assert_eq!(Some(buffer[(0, 0)].fg), theme.style(Role::LoadLow).fg);
    assert_eq!(Some(buffer[(9, 0)].fg), theme.style(Role::LoadHigh).fg);
    assert_eq!(Some(buffer[(0, 1)].fg), theme.style(Role::Late).fg);
    assert_eq!(Some(buffer[(9, 1)].fg), theme.style(Role::Late).fg);
}

#[test]
fn readings_become_amounts() {
    use warpscope_probes::units::Percent;
    assert_eq!(Amount::of(&Reading::Value(Percent(50.0)), 100.0), Amount::Now(0.5));
    assert_eq!(Amount::of(&Reading::Late(Some(Percent(50.0))), 100.0), Amount::Late(0.5));
    assert_eq!(Amount::of(&Reading::Late(None::<Percent>), 100.0), Amount::Absent);
    assert_eq!(Amount::of(&Reading::<Percent>::Denied, 100.0), Amount::Absent);
    assert_eq!(Amount::of(&Reading::Value(Percent(50.0)), 0.0), Amount::Absent, "of nothing");
}

#[test]
fn sparklines_leave_gaps_and_keep_zero_visible() {
    let values = [Some(9.0), Some(0.0), Some(50.0), None, Some(100.0), Some(f32::NAN), Some(25.0)];
    let spark = |values: &'static [Option<f32>]| {
        move |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
            Spark::new(look, values, Paint::Ramp(Ramp::Load)).max(100.0).render(area, buffer);
        }
    };
    let values = Box::leak(Box::new(values));
    assert_drawn((9, 1), spark(values), &["  ▂▁▅ █ ▃"], &["  :.+ # -"]);
    assert_drawn((3, 1), spark(values), &["█ ▃"], &["# -"]);
    assert_drawn((4, 1), spark(&[None, None]), &["····"], &["...."]);
    assert_drawn((4, 1), spark(&[]), &["····"], &["...."]);
}

#[test]
fn graphs_grow_from_the_right_and_gaps_stay_open() {
    let values =
        [Some(0.0), Some(25.0), Some(50.0), Some(75.0), None, None, Some(100.0), Some(100.0)];
    let graph = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        Graph::new(look, &values, (0.0, 100.0)).labels("100%", "0%").render(area, buffer);
    };
    assert_drawn(
        (13, 2),
        graph,
        &["100%      ⣠ ⣿", "  0%     ⣰⣿ ⣿"],
        &["100%      = #", "  0%     *# #"],
    );
}

#[test]
fn graphs_draw_absence_as_absence() {
    let graph = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        Graph::new(look, &[None, None], (0.0, 1.0)).render(area, buffer);
    };
    assert_drawn((4, 3), graph, &["", "····", ""], &["", "....", ""]);
}

#[test]
fn a_second_series_is_a_line_over_the_first() {
    let (first, second) =
        ([Some(1.0); 6], [Some(0.0), Some(0.0), Some(0.0), Some(1.0), Some(1.0), Some(1.0)]);
    let graph = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        Graph::new(look, &first, (0.0, 1.0)).second(&second).render(area, buffer);
    };
    assert_drawn((3, 2), graph, &["⣿⢸⠉", "⣀⡸⣿"], &["#**", "**#"]);
}

fn bars<'a>(look: Look<'a>, scale: Scale) -> Bars<'a> {
    const BARS: &[Bar<'_>] = &[
        Bar { label: "fp32", value: Some(25.0), text: "25", role: Role::Fp32 },
        Bar { label: "int4", value: Some(100.0), text: "100", role: Role::Int4 },
        Bar { label: "fp8", value: None, text: "n/a", role: Role::Fp8 },
    ];
    Bars { look, bars: BARS, scale, max: None }
}

#[test]
fn bars_share_one_scale() {
    assert_drawn(
        (17, 3),
        |look, area, buffer| bars(look, Scale::Linear).render(area, buffer),
        &["fp32 ██ 25", "int4 ████████ 100", "fp8  n/a"],
        &["fp32 ## 25", "int4 ######## 100", "fp8  n/a"],
    );
    assert_drawn(
        (17, 2),
        |look, area, buffer| bars(look, Scale::Log).render(area, buffer),
        &["fp32 ██▋ 25", "int4 ████████ 100"],
        &["fp32 ##= 25", "int4 ######## 100"],
    );
}

#[test]
fn bars_on_one_line_give_way_to_their_values() {
    let line = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        BarLine(bars(look, Scale::Linear)).render(area, buffer);
    };
    assert_drawn(
        (40, 1),
        line,
        &["fp32 ▊ 25  int4 ███ 100  fp8 n/a"],
        &["fp32 = 25  int4 ### 100  fp8 n/a"],
    );
    assert_drawn((17, 1), line, &["fp32 25  int4 100"], &["fp32 25  int4 100"]);
    assert_drawn((9, 1), line, &["fp32 ▎ 25"], &["fp32 25"]);
    assert_drawn((8, 1), line, &["fp32 25"], &["fp32 25"]);
    assert_drawn((6, 1), line, &[""], &[""]);
}

#[test]
fn the_dtype_strip_wraps_between_items() {
    let strip = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        let g = look.glyphs;
        let items = [
            ("FP16", g.tensor, Role::Good),
            ("INT4", g.emulated, Role::Warn),
            ("FP4", g.none, Role::Faint),
        ];
        let strip = DtypeStrip { look, items: &items };
        assert_eq!((strip.height(20), strip.height(14), strip.height(0)), (2, 2, 3));
        strip.render(area, buffer);
    };
    assert_drawn((14, 2), strip, &["FP16 ●  INT4 ◐", "FP4 ·"], &["FP16 @  INT4 %", "FP4 ."]);
    assert_drawn((14, 1), strip, &["FP16 ●  INT4 ◐"], &["FP16 @  INT4 %"]);
}

const TOKENS: &[(&str, Mark)] = &[
    ("The", Mark::Good),
    (" quick", Mark::Good),
    (" brown", Mark::Good),
    ("!!", Mark::Bad),
    ("\n", Mark::Pending),
    ("\u{1b}[2Jx", Mark::Pending),
];

#[test]
fn the_tape_wraps_and_keeps_the_newest_visible() {
    let tape = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        DecodedTokens { look, tokens: TOKENS }.render(area, buffer);
    };
    assert_drawn(
        (10, 3),
        tape,
        &["The quick", "brown!!↵", "\u{fffd}[2Jx"],
        &["The quick", "brown!!$", "\u{fffd}[2Jx"],
    );
    assert_drawn((10, 2), tape, &["brown!!↵", "\u{fffd}[2Jx"], &["brown!!$", "\u{fffd}[2Jx"]);
}

#[test]
fn bad_tokens_differ_without_colour() {
    for theme in [plain(), Theme::default()] {
        let look = Look::new(&theme, Glyphs::unicode());
        let mut buffer = Buffer::empty(Rect::new(0, 0, 30, 1));
        DecodedTokens { look, tokens: TOKENS }.render(buffer.area, &mut buffer);
        let reversed = |x: u16| buffer[(x, 0)].modifier.contains(Modifier::REVERSED);
        assert!(!reversed(14) && reversed(15) && reversed(16) && !reversed(17));
    }
}

#[test]
fn the_roofline_shows_its_roof_and_points() {
    let roofline = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        let roofs = [Roof { label: "peak", peak: 1e12 }];
        let points = [Point { label: "a", intensity: 1.0, rate: 1e10, role: Role::Fp32 }];
        Roofline { look, bandwidth: 1e11, roofs: &roofs, points: &points }.render(area, buffer);
    };
    assert_drawn(
        (22, 8),
        roofline,
        &[
            "│2.0 TFLOP/s",
            "│            ⣀⠤⠤⠤⠤⠤⠤⠤⠤",
            "│      ⣀⡠⠤⠒⠊⠉     peak",
            "│⢀⣀⠤⠔⠊⠉",
            "│⠁",
            "│   ●              ● a",
            "└─────────────────────",
            "0.5        50.0 FLOP/B",
        ],
        &[
            "|2.0 TFLOP/s",
            "|             ........",
            "|       ......    peak",
            "|.......",
            "|",
            "|   1              1 a",
            "+---------------------",
            "0.5        50.0 FLOP/B",
        ],
    );
}

/// Ten runs, one of them without a clean sample, and a step after the fifth.
fn stepped(look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let level = |at: usize| {
        let median = if at < 5 { 100.0 } else { 200.0 };
        (at != 7).then_some(super::Level { lower: median - 8.0, median, upper: median + 8.0 })
    };
    let levels: Vec<_> = (0..10).map(level).collect();
    let steps = [Step { at: 5, label: "+100.0 % abc".into(), role: Role::Bad }];
    let trend = super::Trend {
        look,
        levels: &levels,
        steps: &steps,
        cursor: Some(9),
        marked: &[(1, "A")],
        ends: ("May", "June"),
        text: |value, _| crate::widgets::format::count(value),
    };
    trend.render(area, buffer);
}

#[test]
fn a_trend_shows_its_step_its_gap_its_cursor_and_its_marks() {
    assert_drawn(
        (34, 9),
        stepped,
        &[
            "                    +100.0 % abc",
            "210│                ⢠⠤⠤⠤      ⠤⠤⠤◆",
            "   │               ⢀⠎            ·",
            "   │              ⢀⡜│            ·",
            "   │              ⢰⠁│            ·",
            "   │             ⢠⠃ │            ·",
            " 90│⠒⠒⠒A⠒⠒⠒⠒⠒⠒⠒⠒⠒⠊  │            ·",
            "   └──────────────────────────────",
            "    May                       June",
        ],
        &[
            "                    +100.0 % abc",
            "210|                ****      ***2",
            "   |               .*...      ....",
            "   |               *|            .",
            "   |              * |            .",
            "   |..............* |            .",
            " 90|***A**********  |            .",
            "   +------------------------------",
            "    May                       June",
        ],
    );
}

#[test]
fn a_trend_of_nothing_is_absent_and_of_one_run_in_the_middle() {
    let of = |levels: &'static [Option<super::Level>]| {
        move |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
            let trend = super::Trend {
                look,
                levels,
                steps: &[],
                cursor: None,
                marked: &[],
                ends: ("May", "May"),
                text: |value, _| crate::widgets::format::count(value),
            };
            trend.render(area, buffer);
        }
    };
    assert_eq!(drawn((30, 5), false, of(&[])), ["n/a", "", "", "", ""]);
    assert_eq!(drawn((30, 5), true, of(&[None, None])), ["n/a", "", "", "", ""]);
    const ONE: [Option<super::Level>; 1] =
        [Some(super::Level { lower: 9.0, median: 10.0, upper: 11.0 })];
    assert_drawn(
        (30, 5),
        of(&ONE),
        &[
            " 10│",
            "   │            ⠐",
            "9.9│",
            "   └──────────────────────────",
            "               May",
        ],
        &[
            " 10|",
            "   |            *",
            "9.9|",
            "   +--------------------------",
            "               May",
        ],
    );
}

#[test]
fn a_roofline_without_bandwidth_is_absent() {
    let empty = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        Roofline { look, bandwidth: 0.0, roofs: &[], points: &[] }.render(area, buffer);
    };
    assert_drawn((20, 5), empty, &["n/a", "", "", "", ""], &["n/a", "", "", "", ""]);
}

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

fn card(look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let left = [look.piece("0 ", Role::Accent), look.piece("NVIDIA T4", Role::Title)];
    let right = ["Turing", "sm_75", "40 SM"].map(|fact| look.piece(fact, Role::Muted));
    let foot = [look.piece("1 of 4", Role::Muted)];
    Card::new(look).left(&left).right(&right).foot(&foot).render(area, buffer);
}

#[test]
fn cards_shed_facts_before_their_name() {
    assert_drawn(
        (44, 3),
        card,
        &[
            "╭ 0 NVIDIA T4 ───── Turing · sm_75 · 40 SM ╮",
            "│                                          │",
            "╰────────────────────────────────── 1 of 4 ╯",
        ],
        &[
            "+ 0 NVIDIA T4 ----- Turing | sm_75 | 40 SM +",
            "|                                          |",
            "+---------------------------------- 1 of 4 +",
        ],
    );
    assert_drawn(
        (33, 2),
        card,
        &["╭ 0 NVIDIA T4 ── Turing · sm_75 ╮", "╰─────────────────────── 1 of 4 ╯"],
        &["+ 0 NVIDIA T4 -- Turing | sm_75 +", "+----------------------- 1 of 4 +"],
    );
    assert_drawn(
        (14, 2),
        card,
        &["╭ 0 NVIDIA … ╮", "╰──── 1 of 4 ╯"],
        &["+ 0 NVIDIA ~ +", "+---- 1 of 4 +"],
    );
    assert_drawn((5, 2), card, &["╭ … ╮", "╰───╯"], &["+ ~ +", "+---+"]);
    assert_drawn((1, 2), card, &["", ""], &["", ""]);
}

#[test]
fn popups_hide_what_is_behind_them() {
    let popup = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        for row in area.rows() {
            look.pen(buffer, row).repeat("x", area.width, Style::new());
        }
        let title = [look.piece("Help", Role::Title)];
        let inner = Popup::new(look, 12, 3).titled(|card| card.left(&title)).render(area, buffer);
        look.pen(buffer, inner).put("text", Style::new());
    };
    assert_drawn(
        (16, 5),
        popup,
        &[
            "xxxxxxxxxxxxxxxx",
            "xx╭ Help ────╮xx",
            "xx│ text     │xx",
            "xx╰──────────╯xx",
            "xxxxxxxxxxxxxxxx",
        ],
        &[
            "xxxxxxxxxxxxxxxx",
            "xx+ Help ----+xx",
            "xx| text     |xx",
            "xx+----------+xx",
            "xxxxxxxxxxxxxxxx",
        ],
    );
}

const HINTS: [Hint<'_>; 3] = [
    Hint { key: "?", words: "help", rank: 1 },
    Hint { key: "s", words: "sort", rank: 2 },
    Hint { key: "q", words: "quit", rank: 0 },
];

#[test]
fn the_footer_leaves_out_what_matters_least() {
    let footer = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        Footer { look, hints: &HINTS }.render(area, buffer)
    };
    for (width, want) in
        [(22, "? help  s sort  q quit"), (21, "? help  q quit"), (8, "q quit"), (5, "")]
    {
        assert_drawn((width, 1), footer, &[want], &[want]);
    }
    let theme = plain();
    let footer = Footer { look: Look::new(&theme, Glyphs::ascii()), hints: &HINTS };
    let area = Rect::new(2, 0, 21, 1);
    let places: Vec<_> = footer.areas(area).map(|(at, place)| (at, place.x, place.width)).collect();
    assert_eq!(places, [(0, 2, 6), (2, 10, 6)]);
}

#[test]
fn tabs_shrink_to_their_keys_and_know_what_was_clicked() {
    const TABS: [(&str, &str); 2] = [("1", "Overview"), ("2", "Bench")];
    let tabs = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        Tabs { look, tabs: &TABS, active: 0 }.render(area, buffer)
    };
    assert_drawn((22, 1), tabs, &[" 1 Overview  2 Bench"], &[" 1 Overview  2 Bench"]);
    assert_drawn((16, 1), tabs, &[" 1 Overview  2"], &[" 1 Overview  2"]);
    let theme = plain();
    let tabs = Tabs { look: Look::new(&theme, Glyphs::ascii()), tabs: &TABS, active: 0 };
    let area = Rect::new(1, 0, 22, 1);
    assert_eq!(
        [0, 1, 12, 13, 21, 22].map(|x| tabs.hit(area, x)),
        [None, Some(0), Some(0), Some(1), Some(1), None]
    );
    assert_eq!(tabs.width(22), 21);
}

#[test]
fn notices_and_verdicts_begin_with_their_symbol() {
    let notice = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        Notice { look, severity: Severity::Warning, text: "disk is full" }.render(area, buffer);
    };
    assert_drawn((12, 1), notice, &["▲ disk is f…"], &["! disk is f~"]);
    let verdicts = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        for (row, (outcome, ..)) in area.rows().zip(OUTCOMES) {
            verdict_cell(
                look,
                &mut look.pen(buffer, row),
                (*outcome, Level::Live),
                *outcome == Outcome::Slow,
            );
        }
    };
    assert_drawn(
        (4, 8),
        verdicts,
        &["✔m", "↪m", "▽m!", "○m", "◐m", "≠m", "✖m", "?"],
        &["+m", ">m", "vm!", "om", "%m", "!m", "xm", "?"],
    );
}

#[test]
fn scrollbars_reach_both_ends() {
    let bar = |offset| {
        move |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
            Scrollbar { look, total: 100, offset }.render(area, buffer);
        }
    };
    assert_drawn((1, 4), bar(0), &["┃", "│", "│", "│"], &["#", "|", "|", "|"]);
    assert_drawn((1, 4), bar(96), &["│", "│", "│", "┃"], &["|", "|", "|", "#"]);
    assert_drawn((1, 4), bar(usize::MAX), &["│", "│", "│", "┃"], &["|", "|", "|", "#"]);
}

#[test]
fn pens_cut_at_the_end_and_replace_hostile_characters() {
    let pen = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        let mut pen = look.pen(buffer, area);
        pen.put("a\u{1b}[m\u{7}", Style::new())
            .elide("日本語", 5, Style::new())
            .put("cdef", Style::new());
    };
    assert_drawn((12, 1), pen, &["a\u{fffd}[m\u{fffd}日本…cd"], &["a\u{fffd}[m\u{fffd}日本~cd"]);
    assert_eq!(text_width("a\u{1b}b"), 3);
    assert_eq!(text_width("é\u{202e}日"), 4);
}

#[test]
fn a_pen_draws_widgets_and_readings_in_line() {
    let line = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        let mut pen = look.pen(buffer, area);
        let gauge = Gauge::new(look, Amount::Now(0.5), Ramp::Load);
        pen.put("gpu ", Style::new()).widget(4, &gauge).skip(1);
        for watts in
            [Reading::Value(412.0), Reading::Late(Some(8.0)), Reading::Late(None), Reading::Denied]
        {
            let (text, style) = look.reading(&watts, |watts| crate::widgets::format::watts(*watts));
            pen.put(&text, style).skip(1);
        }
        pen.widget(9, &gauge);
    };
    assert_drawn(
        (30, 1),
        line,
        &["gpu ██░░ 412 W 8.0 W n/a n/a ▌"],
        &["gpu ##-- 412 W 8.0 W n/a n/a ="],
    );
    let theme = plain();
    let look = Look::new(&theme, Glyphs::ascii());
    let style = |reading: &Reading<f64>| {
        look.reading(reading, |watts| crate::widgets::format::watts(*watts)).1
    };
    assert_eq!(style(&Reading::Late(Some(1.0))), look.style(Role::Late));
    assert_eq!(style(&Reading::Unsupported), look.style(Role::Absent));
}

#[test]
fn what_is_written_over_leaves_no_trace() {
    let theme = plain();
    let look = Look::new(&theme, Glyphs::unicode());
    let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 2));
    let title = [look.piece("Title", Role::Title), look.piece("é", Role::Title)];
    Card::new(look).left(&title).render(buffer.area, &mut buffer);
    assert_eq!(buffer[(0, 0)].modifier, Modifier::DIM, "the frame is dim without colours");
    for x in [2, 7] {
        assert_eq!(buffer[(x, 0)].modifier, Modifier::BOLD, "its title is not");
    }
}

/// Everything at once, in one area, with data that may be anything.
fn draw_all(look: Look<'_>, area: Rect, buffer: &mut Buffer, data: &Data) {
    let words: Vec<&str> = data.words.iter().map(String::as_str).collect();
    let word = |index: usize| words.get(index).copied().unwrap_or("");
    let amount = Amount::Now(data.values.first().copied().flatten().unwrap_or(0.5));
    Gauge::new(look, amount, Ramp::Memory)
        .label(word(0), data.number)
        .peak(Some(data.float))
        .render(area, buffer);
    Spark::new(look, &data.values, Paint::Role(Role::Good)).render(area, buffer);
    let graph = Graph::new(look, &data.values, (data.float, 10.0)).labels(word(0), word(1));
    graph.second(&data.values).render(area, buffer);
    let bar = |value: &Option<f32>| Bar {
        label: word(0),
        value: value.map(f64::from),
        text: word(1),
        role: Role::Info,
    };
    let bars: Vec<_> = data.values.iter().map(bar).collect();
    let scale = if data.number.is_multiple_of(2) { Scale::Log } else { Scale::Linear };
    let bars = Bars { look, bars: &bars, scale, max: None };
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
    let titles: Vec<_> = words.iter().map(|word| (*word, *word)).collect();
    let tabs = Tabs { look, tabs: &titles, active: usize::from(data.number) };
    tabs.render(area, buffer);
    tabs.hit(area, data.number);
    let columns: Vec<_> = (words.iter().enumerate())
        .map(|(n, word)| {
            let column = Column::new(word, n as u16, data.number).rank((n % 3) as u8);
            if n % 2 == 0 { column.grows() } else { column.align(Align::Right) }
        })
        .collect();
    let mut table = Table::new(look, &columns, usize::from(data.number));
    (table.offset, table.selected) = (data.values.len(), Some(data.values.len() / 2));
    (table.sort, table.frozen, table.skipped) =
        (Some((0, Sort::Up)), 1, usize::from(data.number % 4));
    let layout = table.render(area, buffer, |_, _, pen| _ = pen.fit("cell", Style::new()));
    for point in area.positions() {
        table.hit(&layout, point);
    }
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
