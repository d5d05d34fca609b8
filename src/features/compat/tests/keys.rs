//! Keys and clicks on the tab.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use warpscope_probes::gpu::Presence;

use super::*;
use crate::features::Feature;
use crate::widgets::glyphs::Glyphs;
use crate::widgets::theme::Theme;
use crate::widgets::{Hits, Look, Surface};

/// The line the cursor is on, as text.
fn here(app: &App) -> String {
    text(&app.tabs.compat.verdicts, &app.tabs.compat.view)[app.tabs.compat.view.row.at].clone()
}

#[test]
fn the_cursor_begins_on_a_row_and_stays_on_it_whatever_is_hidden_around_it() {
    let mut app = app();
    assert_eq!((here(&app).as_str(), app.tabs.compat.view.row.at), ("half precision", 1));
    press(&mut app, "l j j j");
    assert_eq!(app.tabs.compat.selected_line(), Some(Line::Row(2)));
    for keys in ["f", "s", "s", "s", "s", "f", "f", "/ a l enter", "esc"] {
        press(&mut app, keys);
        assert_eq!(app.tabs.compat.selected_line(), Some(Line::Row(2)), "{keys}");
    }
    press(&mut app, "z");
    assert_eq!(here(&app), "ALPHA 2");
    press(&mut app, "Z");
    assert_eq!(
        text(&app.tabs.compat.verdicts, &app.tabs.compat.view),
        ["ZETA 2", "ALPHA 2", "VLLM 2"]
    );
    assert_eq!(here(&app), "ALPHA 2");
    press(&mut app, "Z enter");
    assert_eq!(here(&app), "ALPHA 2", "enter folds a head");
    press(&mut app, "enter j enter");
    assert!(matches!(app.tabs.compat.popup, Some(Popup::Why(_))), "and opens a row");
}

#[test]
fn a_click_on_a_head_folds_it_and_the_second_on_a_cell_opens_it() {
    let mut app = app();
    let click = |app: &mut App, hit| drop(update(app, Msg::Click(hit)));
    click(&mut app, Hit::Cell { row: 0, column: 0 });
    assert_eq!(here(&app), "ZETA 2");
    click(&mut app, Hit::Cell { row: 2, column: 1 });
    assert_eq!((here(&app).as_str(), app.tabs.compat.view.column.at), ("half precision", 1));
    assert_eq!(app.tabs.compat.popup, None);
    click(&mut app, Hit::Cell { row: 2, column: 1 });
    assert!(matches!(app.tabs.compat.popup, Some(Popup::Why(_))));
    press(&mut app, "esc");
    click(&mut app, Hit::Gpu(2));
    assert_eq!(app.tabs.compat.view.column.at, 2);
}

#[test]
fn keys_step_through_versions_and_take_the_choice_back() {
    let mut app = app();
    press(&mut app, "<");
    assert_eq!(
        app.tabs.compat.verdicts.given("zeta").map(|given| given.version.as_str()),
        Some("1.5")
    );
    press(&mut app, "< <");
    assert_eq!(
        app.tabs.compat.verdicts.given("zeta").map(|given| given.version.as_str()),
        Some("1.0")
    );
    assert!(app.toast.as_ref().is_some_and(|toast| toast.0.contains("no older version")));
    assert!(app.toast.as_ref().is_some_and(|toast| toast.0.contains("Zeta")));
    press(&mut app, "> V");
    assert_eq!(app.tabs.compat.verdicts.given("zeta"), None);
    press(&mut app, "V");
    assert!(app.toast.is_some());
}

#[test]
fn a_version_is_picked_from_a_list_or_typed() {
    let mut app = app();
    let given =
        |app: &App| app.tabs.compat.verdicts.given("alpha").map(|given| given.version.clone());
    press(&mut app, "l j j j");
    assert_eq!(app.tabs.compat.selected_line(), Some(Line::Row(2)));
    // Half precision on a T4: from 1.5 on.
    let at = |app: &App, version| app.tabs.compat.verdicts.at_version(2, 1, version);
    for (version, want) in
        [("2.0", Outcome::Works), ("1.5", Outcome::Works), ("1.0", Outcome::Fails)]
    {
        assert_eq!(at(&app, version), Some(want), "{version}");
    }
    press(&mut app, "v down enter");
    assert_eq!(given(&app).as_deref(), Some("1.5"), "2.0 and 1.5 are the first two");
    press(&mut app, "v 1 . 4 . 2 enter");
    assert_eq!(given(&app).as_deref(), Some("1.4.2"), "which no rule names");
    assert_eq!(app.tabs.compat.verdicts.cell(2, 1).map(|cell| cell.outcome), Some(Outcome::Fails));
    press(&mut app, "v x enter");
    assert!(matches!(app.tabs.compat.popup, Some(Popup::Versions(_))), "that is no version");
    press(&mut app, "esc v home enter");
    assert_eq!(given(&app), None, "the first line takes the choice back");
}

#[test]
fn outcomes_at_versions_are_worked_out_when_they_come_into_view() {
    let mut app = app();
    press(&mut app, "l j j j v");
    let asked = |app: &App| match &app.tabs.compat.popup {
        Some(Popup::Versions(picker)) => picker.asked(),
        _ => panic!("it is open"),
    };
    assert_eq!(asked(&app), 0, "to open it costs nothing");
    let (theme, area) = (Theme::default(), Rect::new(0, 0, 80, 6));
    let (mut buffer, mut hits) = (Buffer::empty(area), Hits::default());
    let look = Look::new(&theme, Glyphs::unicode());
    let on = Surface { look, area, buffer: &mut buffer, hits: &mut hits };
    app.tabs.compat.draw_popup(&app.shared, on);
    assert_eq!(asked(&app), 1, "of three, one is in view");
}

#[test]
fn a_what_if_gpu_comes_with_its_column_selected_and_goes_again() {
    let mut app = app();
    press(&mut app, "w b 2 0 0 enter");
    assert_eq!((app.shared.frame.gpus.len(), app.tabs.compat.view.column.at), (4, 3));
    assert_eq!(app.shared.frame.gpus[3].presence, Presence::WhatIf);
    assert_eq!(app.tabs.compat.verdicts.cell(0, 3).map(|cell| cell.outcome), Some(Outcome::Works));
    press(&mut app, "x");
    assert_eq!((app.shared.frame.gpus.len(), app.tabs.compat.view.column.at), (3, 2));
    press(&mut app, "x");
    assert_eq!(app.shared.frame.gpus.len(), 3, "a real one stays");
}

#[test]
fn the_selected_fix_is_copied() {
    let mut app = app();
    let mut verdict = app.tabs.compat.selected_verdict().expect("is there").as_ref().clone();
    let fix = |text: &str| crate::engine::Fix {
        cost: warpscope_probes::rules::Cost::Flag,
        title: "do".into(),
        text: text.into(),
        then: None,
    };
    let harm = "pip a\u{1b}[201~\r\u{9b}\u{202e}b\npip c";
    verdict.fixes = vec![fix(harm)];
    app.tabs.compat.verdicts.last.replace(Some((0, 0, Arc::new(verdict.clone()))));
    let shown = "pip a\u{fffd}[201~ \u{fffd}\u{fffd}b\npip c".to_owned();
    assert_eq!(press(&mut app, "y"), [Cmd::Copy(shown)], "its lines stay lines");
    let sentence = fix("use another GPU, such as a T4");
    verdict.fixes = vec![sentence, fix("pip first"), fix("pip second")];
    app.tabs.compat.verdicts.last.replace(Some((0, 0, Arc::new(verdict))));
    let copied = |text: &str| [Cmd::Copy(text.to_owned())];
    assert_eq!(press(&mut app, "y"), copied("pip first"), "a sentence is no command");
    assert_eq!(press(&mut app, "enter y"), copied("pip first"));
    assert_eq!(press(&mut app, "3 y"), copied("pip second"));
    assert_eq!(press(&mut app, "h y"), copied("pip first"));
    assert_eq!(press(&mut app, "9 y"), copied("pip second"), "the last there is");
    update(&mut app, Msg::Click(Hit::Row(0)));
    assert_eq!(press(&mut app, "y"), copied("pip first"));
}

#[test]
fn a_row_is_found_by_its_name() {
    let mut app = app();
    press(&mut app, "f : a l p h a space f u l l enter");
    let found = app.tabs.compat.selected_line().and_then(|line| match line {
        Line::Row(row) => Some(app.tabs.compat.verdicts.all_rows()[row].name()),
        Line::Head { .. } => None,
    });
    assert_eq!(found.as_deref(), Some("Alpha full precision"));
}
