//! Gauges, sparklines, graphs, bars and rooflines.

use super::*;

fn gauge(amount: Amount) -> impl Fn(Look<'_>, Rect, &mut Buffer) {
    move |look, area, buffer| {
        let label = if amount == Amount::Absent { "n/a" } else { "50%" };
        Gauge::new(look, amount, Ramp::Load).label(label, 4).render(area, buffer);
    }
}

#[test]
fn gauges_fill_by_eighths_and_tell_absent_from_empty() {
    assert_drawn((15, 1), gauge(Amount::Now(0.5)), &["█████░░░░░  50%"], &["#####-----  50%"]);
    assert_drawn((15, 1), gauge(Amount::Now(0.56)), &["█████▋░░░░  50%"], &["#####=----  50%"]);
    assert_drawn((15, 1), gauge(Amount::Now(0.001)), &["▏░░░░░░░░░  50%"], &["----------  50%"]);
    assert_drawn((15, 1), gauge(Amount::Now(0.0)), &["░░░░░░░░░░  50%"], &["----------  50%"]);
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

fn bars(look: Look<'_>) -> Bars<'_> {
    const BARS: &[Bar<'_>] = &[
        Bar { label: "fp32", value: Some(25.0), text: "25", role: Role::Fp32 },
        Bar { label: "int4", value: Some(100.0), text: "100", role: Role::Int4 },
        Bar { label: "fp8", value: None, text: "n/a", role: Role::Fp8 },
    ];
    Bars { look, bars: BARS }
}

#[test]
fn bars_share_one_scale() {
    assert_drawn(
        (17, 3),
        |look, area, buffer| bars(look).render(area, buffer),
        &["fp32 ██ 25", "int4 ████████ 100", "fp8  n/a"],
        &["fp32 ## 25", "int4 ######## 100", "fp8  n/a"],
    );
}

#[test]
fn bars_on_one_line_give_way_to_their_values() {
    let line = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        BarLine(bars(look)).render(area, buffer);
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

#[test]
fn a_roofline_without_bandwidth_is_absent() {
    let empty = |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
        Roofline { look, bandwidth: 0.0, roofs: &[], points: &[] }.render(area, buffer);
    };
    assert_drawn((20, 5), empty, &["n/a", "", "", "", ""], &["n/a", "", "", "", ""]);
}
