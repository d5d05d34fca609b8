//! Medians of runs over time.

use super::*;

/// Ten runs, one of them without a clean sample, and a step after the fifth.
fn stepped(look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let level = |at: usize| {
        let median = if at < 5 { 100.0 } else { 200.0 };
        (at != 7).then_some(Level { lower: median - 8.0, median, upper: median + 8.0 })
    };
    let levels: Vec<_> = (0..10).map(level).collect();
    let steps = [Step { at: 5, label: "+100.0% abc".into(), role: Role::Bad }];
    let trend = Trend {
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
            "                    +100.0% abc",
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
            "                    +100.0% abc",
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
    let of = |levels: &'static [Option<Level>]| {
        move |look: Look<'_>, area: Rect, buffer: &mut Buffer| {
            let trend = Trend {
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
    const ONE: [Option<Level>; 1] = [Some(Level { lower: 9.0, median: 10.0, upper: 11.0 })];
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
