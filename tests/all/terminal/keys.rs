use std::time::Duration;

use super::*;

#[test]
fn the_harness_can_fail() {
    let mut live = Live::start("t4");
    live.screen.see("Tesla T4");
    let absent = live.screen.wait(Duration::from_millis(50), |text| text.contains("never comes"));
    assert!(absent.is_err_and(|why| why.contains("not seen in time") && why.contains("Tesla T4")));
    quit(&mut live.screen);
    let ended = live.screen.wait(Duration::from_secs(120), |text| text.contains("never comes"));
    assert!(ended.is_err_and(|why| why.contains("ended before")));
}

#[test]
fn every_tab_opens_by_its_number_and_by_tab() {
    let mut live = Live::start("1gpu");
    let screen = &mut live.screen;
    screen.see("RTX 4090");
    let heads = [
        ("2", "What runs where"),
        ("3", "off; b starts it"),
        ("4", " 0 processes"),
        ("5", "No run is in the history yet."),
        ("1", "RTX 4090"),
    ];
    for (key, head) in heads {
        screen.keys(key);
        screen.see(head);
    }
    for (_, head) in heads {
        screen.keys("\t");
        screen.see(head);
    }
    screen.keys("\x1b[Z");
    screen.see("No run is in the history yet.");
    quit(screen);
}

#[test]
fn popups_open_close_and_esc_never_leaves() {
    let mut live = Live::start("t4");
    let screen = &mut live.screen;
    screen.see("Tesla T4");
    for (key, head) in [("?", "Leave warpscope."), ("n", "Notices"), ("\r", "Number formats")] {
        screen.keys(key);
        screen.see(head);
        screen.keys("\x1b");
        screen.see_gone(head);
    }
    quit(screen);
}

#[test]
fn a_pasted_error_is_explained_and_none_of_its_letters_is_a_key() {
    let mut live = Live::start("t4");
    let screen = &mut live.screen;
    screen.see("Tesla T4");
    let error =
        "q\rRuntimeError: CUDA error: no kernel image is available for execution on the device";
    screen.keys(&format!("\x1b[200~{error}\x1b[201~"));
    screen.see("Explain an error");
    screen.see("of this machine");
    screen.keys("\x1b");
    screen.see_gone("Explain an error");
    screen.keys("e");
    screen.see("Paste an error message");
    screen.keys("e");
    screen.see_gone("Paste an error message");
    quit(screen);
}

#[test]
fn a_filter_takes_q_as_a_letter() {
    let mut live = Live::start("t4+procs");
    let screen = &mut live.screen;
    screen.keys("4");
    screen.see("─ 3 processes");
    screen.keys("/");
    screen.keys("q4200001");
    screen.see("No process matches");
    screen.keys("\x1b");
    screen.see("─ 3 processes");
    screen.keys("/4200001\r");
    screen.see("1 of 3 processes");
    quit(screen);
}

#[test]
fn a_gpu_of_the_catalogue_comes_and_goes() {
    let mut live = Live::start("t4");
    let screen = &mut live.screen;
    screen.see("Tesla T4");
    screen.keys("w");
    screen.see("Add a what-if GPU");
    screen.keys("titan v");
    screen.see("/titan v");
    screen.keys("\r");
    screen.see("nothing measured");
    screen.see("TITAN V");
    screen.keys("x");
    screen.see_gone("nothing measured");
    screen.keys("x");
    screen.see("this one is real");
    quit(screen);
}

#[test]
fn the_screen_freezes_paces_and_changes_its_theme() {
    let mut live = Live::start("t4");
    let screen = &mut live.screen;
    screen.see("Tesla T4");
    for (key, word) in [
        (" ", "frozen"),
        ("-", "Interval: 500 ms."),
        ("+", "Interval: 200 ms."),
        ("T", "Theme: light."),
        ("\x0c", "frozen"),
    ] {
        screen.keys(key);
        screen.see(word);
    }
    screen.keys(" ");
    screen.see_gone("frozen");
    quit(screen);
}

#[test]
fn the_background_and_a_repaint_bring_the_whole_screen_back() {
    let mut live = Live::start("t4");
    let screen = &mut live.screen;
    screen.see("Tesla T4");
    for key in ["\x0c", "\x1a", "\x0c"] {
        // Each time from the start: what was on the screen before does not count.
        screen.forget();
        screen.keys(key);
        screen.see("Overview");
        screen.see("Tesla T4");
        screen.see("q quit");
    }
    quit(screen);
}

#[test]
fn a_line_is_copied_through_the_terminal() {
    let mut live = Live::start("t4");
    live.screen.see("Tesla T4");
    live.screen.keys("y");
    live.screen.see("Copied the selected line");
    quit(&mut live.screen);
    let raw = String::from_utf8_lossy(&live.screen.raw);
    // `Tesla T4 ` in base64, then the rest.
    assert!(raw.contains("\x1b]52;c;VGVzbGEgVDQg"), "no OSC 52 with the name");
}

#[test]
fn a_recording_plays_pauses_and_seeks() {
    let mut screen = replay("synthetic-h100x8.jsonl", &[], (160, 48));
    screen.see("synthetic-h100x8.jsonl");
    screen.see("H100");
    screen.keys(" ");
    screen.see("paused");
    let before = position(&screen);
    screen.keys("]");
    screen.see(&format!(" {}/59 s", before + 10));
    screen.keys("[");
    screen.see(&format!(" {before}/59 s"));
    screen.keys("+");
    screen.see("x2 paused");
    screen.keys(" ");
    screen.see_gone("paused");
    quit(&mut screen);
}

/// The second the header says the recording stands at.
fn position(screen: &Session) -> u64 {
    let text = screen.text();
    let before = text.split("/59 s").next().and_then(|head| head.rsplit(' ').next());
    before.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}
