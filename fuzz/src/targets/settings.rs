//! What the user configures: options, keys, colours.

use std::collections::BTreeMap;

use warpscope::config::parse;
use warpscope::shell::keymap::{Chord, Keymap};
use warpscope::widgets::theme::{ColorDepth, Theme};

use crate::Trace;

/// Problems name a line of the file, and there is at least one where it is refused.
pub(super) fn config(bytes: &[u8], trace: &mut Trace) {
    let text = String::from_utf8_lossy(bytes);
    let lines = 1 + text.lines().count();
    let result = parse("config.toml", &text);
    trace.result(&result);
    match result {
        Ok(settings) => trace.result(&Keymap::new(&settings.keys).map(drop)),
        Err(problems) => {
            assert!(!problems.all.is_empty());
            assert!(problems.all.iter().all(|one| (1..=lines).contains(&one.line)), "{problems}");
            let length = problems.to_string().len();
            assert!(length <= 5000 * problems.all.len() + 16 * bytes.len(), "{length} bytes");
        }
    }
}

/// Lines of `ACTION KEY…`. A key that is read reads back from what it is printed as.
pub(super) fn keys(bytes: &[u8], trace: &mut Trace) {
    let text = String::from_utf8_lossy(bytes);
    let mut changes = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split(' ').map(str::to_owned);
        let action = words.next().unwrap_or_default();
        let keys: Vec<String> = words.collect();
        for key in &keys {
            let chord = key.parse::<Chord>();
            trace.result(&chord);
            if let Ok(chord) = chord {
                assert_eq!(chord.to_string().parse(), Ok(chord), "{key:?}");
            }
        }
        changes.insert(action, keys);
    }
    trace.result(&Keymap::new(&changes).map(drop));
}

/// A theme that is read can be drawn with any number of colours.
pub(super) fn theme(bytes: &[u8], trace: &mut Trace) {
    let result = Theme::parse(&String::from_utf8_lossy(bytes), "theme.toml");
    trace.result(&result);
    if let Ok(theme) = result {
        for depth in [ColorDepth::None, ColorDepth::Ansi16, ColorDepth::Indexed256] {
            trace.value(&theme.clone().at_depth(depth));
        }
    }
}
