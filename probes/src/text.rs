//! Text from outside, made safe to print: process names, device names, file contents.

/// Longest text kept, in characters.
const LONGEST: usize = 4096;

/// The text without anything a terminal would obey or hide: control characters, escape sequences,
/// line breaks, direction overrides and invisible characters each become `·`; at most 4096 characters.
pub fn printable(text: &str) -> String {
    text.chars().take(LONGEST).map(|c| if is_hostile(c) { '·' } else { c }).collect()
}

fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_terminal_obeys_or_hides_is_left() {
        for (hostile, want) in [
            ("python train.py", "python train.py"),
            ("\u{1b}]0;owned\u{7}", "·]0;owned·"),
            ("a\r\nb\tc\u{7f}", "a··b·c·"),
            ("\u{9b}31m", "·31m"),
            ("gpj.\u{202e}exe\u{200b}", "gpj.·exe·"),
            ("größe 模型", "größe 模型"),
        ] {
            assert_eq!(printable(hostile), want);
        }
        assert_eq!(printable(&"x".repeat(9000)).len(), LONGEST);
    }
}
