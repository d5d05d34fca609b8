//! Cards, popups, the footer and scrollbars.

use super::*;

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
        (16, 7),
        popup,
        &[
            "xxxxxxxxxxxxxxxx",
            "xxxxxxxxxxxxxxxx",
            "xx╭ Help ────╮xx",
            "xx│ text     │xx",
            "xx╰──────────╯xx",
            "xxxxxxxxxxxxxxxx",
            "xxxxxxxxxxxxxxxx",
        ],
        &[
            "xxxxxxxxxxxxxxxx",
            "xxxxxxxxxxxxxxxx",
            "xx+ Help ----+xx",
            "xx| text     |xx",
            "xx+----------+xx",
            "xxxxxxxxxxxxxxxx",
            "xxxxxxxxxxxxxxxx",
        ],
    );
    // A line or two of what is behind would only be in the way.
    assert_drawn(
        (15, 4),
        popup,
        &["╭ Help ───────╮", "│ text        │", "│             │", "╰─────────────╯"],
        &["+ Help -------+", "| text        |", "|             |", "+-------------+"],
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
