//! Signals: chosen, confirmed, and only to processes of this machine.

use warpscope_probes::Origin;

use super::*;
use crate::features::processes;

/// Whether the menu of signals asks again; none: it is not open.
fn confirms(app: &App) -> Option<bool> {
    match &app.tabs.processes.popup {
        Some(Popup::Signal(menu)) => Some(menu.confirm),
        _ => None,
    }
}

#[test]
fn a_signal_is_sent_after_choosing_and_confirming_only() {
    let mut app = filled();
    press(&mut app, "4");
    press(&mut app, "end");
    let pid = app.tabs.processes.selected(&app.shared.frame).expect("is selected").pid;
    assert_eq!(press(&mut app, "K"), []);
    // A confirmation before the choice is none.
    assert_eq!(press(&mut app, "y"), []);
    press(&mut app, "down");
    assert_eq!(press(&mut app, "enter"), []);
    let sent = Cmd::Processes(processes::Cmd::Signal {
        pid,
        signal: 2,
        started_at: Some(u64::from(pid) * 1000),
    });
    assert_eq!(press(&mut app, "y"), [sent]);
    assert!(!app.has_popup());
}

#[test]
fn anything_but_y_sends_no_signal() {
    for key in ["n", "enter", "q", "esc", "x", "space"] {
        let mut app = filled();
        press(&mut app, "4");
        press(&mut app, "f9");
        press(&mut app, "enter");
        assert_eq!(press(&mut app, key), [], "{key}");
        assert!(!app.has_popup(), "{key}");
    }
}

#[test]
fn no_signal_is_offered_read_only_or_to_what_cannot_be_seen() {
    let said = |app: &App| app.toast.clone().expect("is answered").0;
    let mut app = filled();
    app.shared.settings.readonly = true;
    press(&mut app, "4");
    press(&mut app, "K");
    assert!(!app.has_popup());
    assert!(said(&app).contains("--readonly"));
    for visibility in [Visibility::OtherNamespace, Visibility::Gone, Visibility::Unknown] {
        let mut app = filled();
        app.shared.frame.processes.iter_mut().for_each(|process| process.visibility = visibility);
        press(&mut app, "4");
        press(&mut app, "K");
        assert!(!app.has_popup(), "{visibility:?}");
        assert!(!said(&app).is_empty());
    }
}

#[test]
fn processes_of_a_recording_or_another_host_get_no_signal() {
    let file = Origin::Replay { file: "a.jsonl".into(), host: None };
    for origin in [file, Origin::Remote { host: "far".into() }] {
        let mut app = filled();
        app.shared.frame.origin = origin;
        press(&mut app, "4");
        press(&mut app, "K");
        assert!(!app.has_popup());
        assert!(app.toast.is_some());
    }
}

#[test]
fn a_click_in_the_signal_menu_still_needs_the_confirmation() {
    let mut app = filled();
    press(&mut app, "4");
    press(&mut app, "K");
    assert_eq!(update(&mut app, Msg::Click(Hit::Row(8))), []);
    assert_eq!(confirms(&app), Some(false));
    assert_eq!(update(&mut app, Msg::Click(Hit::Row(8))), []);
    assert_eq!(confirms(&app), Some(true));
    assert_eq!(update(&mut app, Msg::Click(Hit::Row(99))), []);
    assert!(matches!(
        press(&mut app, "y")[..],
        [Cmd::Processes(processes::Cmd::Signal { signal: 9, .. })]
    ));
}

#[test]
fn no_signal_is_offered_where_none_arrives() {
    use warpscope_probes::process::Visibility;
    let cases = [
        (Visibility::Gone, "This process has ended."),
        (
            Visibility::OtherNamespace,
            "This process runs in another PID namespace; no signal can reach it.",
        ),
    ];
    for (visibility, text) in cases {
        let mut app = filled();
        press(&mut app, "4");
        app.shared.frame.processes.iter_mut().for_each(|one| one.visibility = visibility);
        assert_eq!(press(&mut app, "K"), []);
        assert_eq!(app.toast.as_ref().map(|toast| toast.0.as_str()), Some(text));
        assert!(!app.has_popup());
    }
}
