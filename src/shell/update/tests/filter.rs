//! Filters, popups and the keys that close them.

use super::*;

#[test]
fn a_filter_swallows_every_letter_but_ctrl_c_still_leaves() {
    let mut app = filled();
    press(&mut app, "4");
    press(&mut app, "/");
    assert_eq!(type_in(&mut app, "q?x bKT1"), []);
    assert_eq!(app.tabs.processes.filter.text, "q?x bKT1");
    assert_eq!((app.tab, app.has_popup()), (Tab::Processes, false));
    press(&mut app, "backspace");
    assert_eq!(app.tabs.processes.filter.text, "q?x bKT");
    assert_eq!(press(&mut app, "ctrl-c"), [Cmd::Quit]);
}

#[test]
fn a_filter_narrows_while_it_is_typed_stays_with_enter_and_goes_with_esc() {
    let mut app = filled();
    press(&mut app, "4");
    press(&mut app, "end");
    assert_eq!(app.tabs.processes.cursor.at, 2);
    press(&mut app, "/");
    type_in(&mut app, "rank 11");
    assert_eq!((rows(&app), app.tabs.processes.cursor.at), (1, 0));
    press(&mut app, "enter");
    assert!(!app.typing);
    assert_eq!(app.tabs.processes.selected(&app.shared.frame).map(|process| process.pid), Some(11));
    press(&mut app, "esc");
    assert_eq!((rows(&app), app.tabs.processes.filter.text.as_str()), (3, ""));
}

#[test]
fn a_filter_exists_only_where_there_are_rows_to_filter() {
    let mut app = filled();
    press(&mut app, "/");
    assert!(!app.typing);
    assert_eq!(press(&mut app, "q"), [Cmd::Quit]);
}

#[test]
fn esc_never_leaves_and_closes_every_popup() {
    let mut states = with_popups();
    states.extend(TABS.iter().map(|(tab, ..)| {
        let mut app = filled();
        app.tab = *tab;
        press(&mut app, "/");
        app
    }));
    for mut app in states {
        let before = popup(&app);
        for _ in 0..3 {
            assert_eq!(press(&mut app, "esc"), [], "{before}");
        }
        assert_eq!((app.has_popup(), app.typing), (false, false), "{before}");
    }
}

#[test]
fn ctrl_c_leaves_from_everywhere() {
    for mut app in with_popups() {
        let before = popup(&app);
        assert_eq!(press(&mut app, "ctrl-c"), [Cmd::Quit], "{before}");
    }
}

#[test]
fn details_of_a_process_stay_with_it_when_the_rows_move() {
    let mut app = filled();
    press(&mut app, "4");
    press(&mut app, "enter");
    let shown = app.tabs.processes.popup.clone();
    update(&mut app, frame(2, &["a", "b"], &[12]));
    assert!(matches!(shown, Some(Popup::Process { pid: 10, .. })), "{shown:?}");
    assert_eq!(app.tabs.processes.popup, shown);
}
