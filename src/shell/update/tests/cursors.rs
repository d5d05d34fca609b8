//! Cursors, clicks and steps of any length.

use super::*;
use crate::features::processes::{SORTS, SortBy};

fn sort_by_pid() -> Hit {
    Hit::Sort(SORTS.iter().position(|spec| spec.by == SortBy::Pid).expect("is a column"))
}

#[test]
fn cursors_stay_on_something_when_gpus_and_processes_vanish() {
    let mut app = filled();
    press(&mut app, "end");
    press(&mut app, "4");
    press(&mut app, "end");
    update(&mut app, frame(2, &["a"], &[10]));
    assert_eq!((app.tabs.overview.cursor.at, app.tabs.processes.cursor.at), (0, 0));
    update(&mut app, frame(3, &[], &[]));
    assert!(
        app.tabs.overview.selected(&app.shared.frame).is_none()
            && app.tabs.processes.selected(&app.shared.frame).is_none()
    );
    for key in ["enter", "K", "y", "x", "down", "end", "pgdn", "right"] {
        press(&mut app, key);
    }
    assert_eq!((app.tabs.overview.cursor.at, app.tabs.processes.cursor.at), (0, 0));
}

#[test]
fn no_step_is_too_long() {
    for (tab, ..) in TABS {
        let mut app = filled();
        app.tab = *tab;
        app.tabs.bench.cursor.at = 0;
        for step in [isize::MIN, isize::MAX, -1, 1, 0, isize::MAX, isize::MAX, isize::MIN] {
            update(&mut app, Msg::Scroll(step));
        }
        assert_eq!(
            app.tabs.overview.cursor.at + app.tabs.bench.cursor.at + app.tabs.processes.cursor.at,
            0
        );
        for rows in [0, 1, usize::MAX] {
            update(&mut app, Msg::Resize { rows });
            ["pgdn", "pgup", "pgdn", "end", "home"]
                .iter()
                .for_each(|key| drop(press(&mut app, key)));
        }
    }
    for mut app in with_popups() {
        for step in [isize::MAX, isize::MAX, isize::MIN, isize::MIN, 1] {
            update(&mut app, Msg::Scroll(step));
        }
        update(&mut app, Msg::Click(Hit::Row(usize::MAX)));
        ["down", "up", "enter", "enter", "y"].iter().for_each(|key| drop(press(&mut app, key)));
    }
}

#[test]
fn clicks_on_what_is_no_longer_there_hit_nothing() {
    for (tab, ..) in TABS {
        for hit in [
            Hit::Row(usize::MAX),
            Hit::Cell { row: usize::MAX, column: usize::MAX },
            sort_by_pid(),
            Hit::Tab(2),
        ] {
            let mut app = filled();
            app.tab = *tab;
            update(&mut app, Msg::Click(hit));
            update(&mut app, Msg::Click(hit));
            assert!(app.tabs.overview.cursor.at < 2 && app.tabs.processes.cursor.at < 3);
        }
    }
}

#[test]
fn a_click_on_a_column_head_sorts_and_another_turns_it_around() {
    let mut app = filled();
    press(&mut app, "4");
    update(&mut app, Msg::Click(sort_by_pid()));
    assert_eq!(app.tabs.processes.selected(&app.shared.frame).map(|process| process.pid), Some(10));
    update(&mut app, Msg::Click(sort_by_pid()));
    assert_eq!(app.tabs.processes.selected(&app.shared.frame).map(|process| process.pid), Some(12));
    assert!(app.tabs.processes.reverse);
}
