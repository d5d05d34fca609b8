use super::*;
use crate::hostile::{Inputs, is_harmful};

/// Every control sequence the program itself writes, as patterns: `#` is a run of digits, `:` or `;`.
const OWN: &[&str] = &[
    "\x1b[?1049h",
    "\x1b[?1049l", // alternate screen
    "\x1b[?25h",
    "\x1b[?25l", // cursor
    "\x1b[?2026h",
    "\x1b[?2026l", // synchronized update
    "\x1b[?1000h",
    "\x1b[?1002h",
    "\x1b[?1003h",
    "\x1b[?1015h",
    "\x1b[?1006h", // mouse
    "\x1b[?1000l",
    "\x1b[?1002l",
    "\x1b[?1003l",
    "\x1b[?1015l",
    "\x1b[?1006l",
    "\x1b[?2004h",
    "\x1b[?2004l", // pasting
    "\x1b[#H",
    "\x1b[#J",
    "\x1b[#m",
    "\x1b[m", // place, clear, style
    "\x1b[#A",
    "\x1b[A",
    "\x1b[#B",
    "\x1b[B",
    "\x1b[#C",
    "\x1b[C",
    "\x1b[#D",
    "\x1b[D", // up, down, right, left
    "\x1b[#P",
    "\x1b[P",
    "\x1b[#@",
    "\x1b[@", // delete and insert cells
    "\x1b[#X",
    "\x1b[X",
    "\x1b[K",               // erase cells, erase to the end of the line
    "\x1b]0;warpscope\x07", // title
    "\x1b\\",               // the end of a text that may be half sent
];

/// Control sequences of an output, parameters of digits made `#`; a single control character stands for itself.
pub(super) fn sequences(raw: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(raw);
    let mut found = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(first) = rest.next() {
        if !first.is_control() {
            continue;
        }
        let mut sequence = first.to_string();
        if first == '\x1b' {
            let kind = rest.next().unwrap_or_default();
            sequence.push(kind);
            let ends = |character: char| match kind {
                '[' => ('@'..='~').contains(&character),
                ']' => character == '\x07',
                _ => true,
            };
            if matches!(kind, '[' | ']') {
                for character in rest.by_ref() {
                    sequence.push(character);
                    if ends(character) {
                        break;
                    }
                }
            }
        }
        if let Some(address) = sequence.strip_prefix("\x1b]8;;") {
            assert_address(address.trim_end_matches('\x07'));
            continue;
        }
        found.push(if OWN.contains(&sequence.as_str()) { sequence } else { generic(&sequence) });
    }
    found
}

/// Where a link leads is a source of our own rules: https, and nothing a terminal could take for a command.
fn assert_address(address: &str) {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"\"'<>\\^`{|}".contains(&byte);
    let good = address.is_empty() || address.starts_with("https://");
    assert!(good && address.bytes().all(plain), "{address:?}");
}

fn generic(sequence: &str) -> String {
    let digits = |character: char| character.is_ascii_digit() || matches!(character, ';' | ':');
    let mut out = String::new();
    for character in sequence.chars() {
        match (digits(character), out.ends_with('#')) {
            (true, true) => {}
            (true, false) => out.push('#'),
            (false, _) => out.push(character),
        }
    }
    out
}

fn assert_own(raw: &[u8]) {
    let foreign: std::collections::BTreeSet<_> =
        sequences(raw).into_iter().filter(|found| !OWN.contains(&found.as_str())).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    let text = String::from_utf8_lossy(raw);
    let harmful = text.chars().find(|letter| is_harmful(*letter) && !letter.is_control());
    assert_eq!(harmful, None);
}

#[test]
fn the_search_for_foreign_sequences_finds_them() {
    let found = sequences(
        "a\x1b[1;31mb\x1b]8;;https://a.org\x07\x1b]8;;\x07\x1b]0;owned\x07c\x1b]0;warpscope\x07\u{9b}2J\x1b[2;9H\x1b[?1049h\x08"
            .as_bytes(),
    );
    let want = [
        "\x1b[#m",
        "\x1b]#owned\x07",
        "\x1b]0;warpscope\x07",
        "\u{9b}",
        "\x1b[#H",
        "\x1b[?1049h",
        "\x08",
    ];
    assert_eq!(found, want);
}

#[test]
fn names_of_devices_and_processes_reach_no_terminal_as_commands() {
    let mut live = Live::start("t4x2+procs+escapes");
    let screen = &mut live.screen;
    screen.see("Tesla T4");
    // An escape that arrives together with the next key is another key: each waits for its effect.
    for (keys, seen) in [("\r", "UUID"), ("w", "Add a what-if GPU")] {
        screen.keys(keys);
        screen.see(seen);
        screen.keys("\x1b");
        screen.see_gone(seen);
    }
    for (keys, seen) in [("2", "What runs where"), ("3", "decode tokens/s"), ("4", " 4 processes")]
    {
        screen.keys(keys);
        screen.see(seen);
    }
    screen.keys("\r");
    screen.see("mem busy");
    screen.keys("\x1b");
    screen.see_gone("mem busy");
    screen.keys("?");
    screen.see("Leave warpscope.");
    quit(screen);
    assert_own(&live.screen.raw);
}

#[test]
fn names_in_a_recording_reach_no_terminal_as_commands() {
    let mut screen = replay("synthetic-t4.jsonl", &["--tab", "processes"], (200, 50));
    screen.see("owned");
    screen.keys("\r");
    screen.see("mem busy");
    screen.keys("\x1b");
    screen.see_gone("mem busy");
    quit(&mut screen);
    assert_own(&screen.raw);
}

#[test]
fn no_tab_lets_a_hostile_name_through() {
    let inputs = Inputs::new();
    let home = inputs.folder.path().display().to_string();
    let env = [("XDG_DATA_HOME", home.as_str()), ("HOME", &home)];
    let import = ["history", "--import", &inputs.named("journal", ".jsonl")];
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_warpscope"));
    let imported = program.args(import).env("XDG_DATA_HOME", &home).output().expect("starts");
    assert!(imported.status.success(), "{imported:?}");
    let args = ["replay", &inputs.named("recording", ".jsonl"), "--speed", "0.01"];
    let size = (200, 60);
    let mut screen = Session::start(&Start { args: &args, env: &env, size, ..Start::default() });
    screen.see("Tesla T4");
    let tabs = [
        ("1", "Tesla T4"),
        ("2", "What runs where"),
        ("3", "b starts it"),
        ("4", "COMMAND"),
        ("5", "gemm"),
    ];
    for (key, seen) in tabs {
        screen.keys(key);
        screen.see(seen);
        assert!(!screen.text().contains(|letter| is_harmful(letter) && letter != '\n'));
    }
    for (tab, seen, popup) in [("1", "Synthetic CPU", "UUID"), ("4", "COMMAND", "mem busy")] {
        screen.keys(tab);
        screen.see(seen);
        screen.keys("\r");
        screen.see(popup);
        screen.keys("\x1b");
        screen.see_gone(popup);
    }
    quit(&mut screen);
    assert_own(&screen.raw);
}
