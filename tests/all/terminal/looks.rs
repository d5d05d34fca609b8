use super::hostile::sequences;
use super::*;

/// The numbers of every SGR sequence that set a colour.
fn colours(raw: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(raw);
    let styles = text.split("\x1b[").skip(1).filter_map(|rest| {
        let end = rest.find(|character: char| ('@'..='~').contains(&character))?;
        rest[end..].starts_with('m').then(|| rest[..end].to_owned())
    });
    let sets = |number: u32| matches!(number, 30..=38 | 40..=48 | 90..=97 | 100..=107);
    styles
        .filter(|style| style.split([';', ':']).any(|part| part.parse().is_ok_and(sets)))
        .collect()
}

fn walk(screen: &mut Session) {
    for (key, head) in
        [("2", "What runs where"), ("3", "b starts it"), ("4", "rocesses"), ("?", "Leave")]
    {
        screen.keys(key);
        screen.see(head);
    }
    quit(screen);
}

fn session(args: &[&str], env: &[(&str, &str)], size: (u16, u16)) -> (OwnNvml, Session) {
    let nvml = OwnNvml::new("t4x2+procs");
    let library = nvml.library().display().to_string();
    let env: Vec<_> =
        [("WARPSCOPE_LIBRARY", library.as_str())].iter().chain(env).copied().collect();
    let args: Vec<_> = ["--no-bench"].iter().chain(args).copied().collect();
    let screen = Session::start(&Start { args: &args, env: &env, size, ..Start::default() });
    (nvml, screen)
}

#[test]
fn no_color_means_none_unless_the_command_line_wants_it() {
    let plain = [("NO_COLOR", "1")];
    for (args, env, coloured) in [
        (&[][..], &[][..], true),
        (&[], &plain[..], false),
        (&["--color", "never"], &[], false),
        (&["--color", "always"], &plain, true),
    ] {
        let (_nvml, mut screen) = session(args, env, (120, 36));
        screen.see("Tesla T4");
        walk(&mut screen);
        let found = colours(&screen.raw);
        assert_eq!(!found.is_empty(), coloured, "{args:?} {env:?}: {found:?}");
    }
}

#[test]
fn ascii_is_nothing_but_ascii() {
    for (args, env) in [(&["--ascii"][..], &[][..]), (&[], &[("LANG", "C"), ("LC_ALL", "POSIX")])] {
        let (_nvml, mut screen) = session(args, env, (120, 36));
        screen.see("Tesla T4");
        walk(&mut screen);
        assert!(screen.raw.is_ascii(), "{args:?} {env:?}");
    }
}

#[test]
fn tiny_screens_are_survived() {
    for size in [(0, 0), (1, 1), (19, 4), (20, 5), (5, 60), (500, 3)] {
        let (_nvml, mut screen) = session(&[], &[], size);
        screen.see_taken();
        // The last of them may open a filter, which takes letters: Ctrl-C leaves from everywhere.
        screen.keys("2341?\r\r\r4\t+-T j/");
        screen.keys("\x03");
        assert_eq!(screen.end(), 0, "{size:?}");
        screen.assert_clean();
        assert!(sequences(&screen.raw).contains(&"\x1b[?1049h".to_owned()), "{size:?}");
    }
}

#[test]
fn a_window_that_is_too_small_says_so() {
    let (_nvml, mut screen) = session(&[], &[], (19, 4));
    screen.see("warpscope needs");
    screen.resize((100, 30));
    screen.see("Tesla T4");
    quit(&mut screen);
}

#[test]
fn a_storm_of_sizes_ends_in_a_whole_screen() {
    let (_nvml, mut screen) = session(&[], &[], (120, 36));
    screen.see("Tesla T4");
    for step in 0..50_u16 {
        screen.resize((1 + step * 37 % 200, 1 + step * 23 % 60));
    }
    screen.resize((100, 30));
    screen.keys("?");
    screen.see("Leave warpscope.");
    screen.keys("\x1b");
    screen.see_gone("Leave warpscope.");
    screen.see("Overview");
    screen.see("1 Tesla T4");
    quit(&mut screen);
}
