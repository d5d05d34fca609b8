//! One line of a log without what loggers, terminals and launchers put around it.

use std::sync::LazyLock;

use regex_lite::Regex;
use serde_json::Value;

use crate::text::without_escapes;

/// A line as its program wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Number in the text, from 1.
    pub number: u64,
    /// Process or rank a launcher names before it; empty where none does.
    pub from: String,
    /// What is left.
    pub text: String,
}

/// Most bytes of a line that are kept.
pub(super) const LONGEST: usize = 4096;
/// Prefixes in front of each other.
const MOST_PREFIXES: usize = 6;

/// Prefixes in the order in which they are tried; a group `from` names who wrote the line.
static PREFIXES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let all = [
        r"^\((?P<from>[^()]{0,60}\b(?:pid|rank|ip)=[^()]{0,60})\)\s?",
        r"^\[?(?P<from>rank ?\d{1,5})\]?: ?",
        r"^\[(?P<from>\d{1,5},\d{1,5})\]<std(?:err|out)>: ?",
        r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\s+(?:std(?:out|err)\s+[FP]\s)?(?:-\s+)?",
        r"^\[\d{4}-\d\d-\d\d[T ][^\]]{0,40}\]\s*(?:\[(?:INFO|WARNING|ERROR|DEBUG)\])?\s*",
        r"^(?:INFO|WARNING|ERROR|DEBUG|CRITICAL)\s+\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? (?:\[[^\]]{0,80}\]\s?)?",
        r"^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,64} [\w./-]{1,40}(?:\[\d+\])?: ",
        r"^<\d{1,2}>",
        r"^\[\s*\d{1,9}\.\d{6}\]\s+",
        r"^(?P<from>[\w.-]{1,60})\s{1,30}\|\s",
    ];
    all.iter().map(|one| Regex::new(one).expect("a valid expression")).collect()
});

/// Cleans one line; what is only decoration leaves an empty text.
pub(super) fn clean(number: u64, raw: &[u8]) -> Line {
    let raw = &raw[..raw.len().min(LONGEST)];
    let text = plain(&String::from_utf8_lossy(raw));
    let mut line = Line {
        number,
        from: String::new(),
        text: unwrapped(&text).map_or(text, |inner| plain(&inner)),
    };
    for _ in 0..MOST_PREFIXES {
        let Some((from, length)) = PREFIXES.iter().find_map(|prefix| found(prefix, &line.text))
        else {
            break;
        };
        line.text.drain(..length);
        if line.from.is_empty() {
            line.from = from;
        }
    }
    line.text.truncate(line.text.trim_end().len());
    line
}

fn found(prefix: &Regex, text: &str) -> Option<(String, usize)> {
    let found = prefix.captures(text)?;
    let length = found.get(0).map(|all| all.end()).filter(|end| *end > 0)?;
    let from = found.name("from").map(|from| from.as_str().to_owned());
    Some((from.unwrap_or_default(), length))
}

/// The message of a line of JSON, as container engines and structured loggers write it.
fn unwrapped(text: &str) -> Option<String> {
    let text = text.trim();
    if !text.starts_with('{') {
        return None;
    }
    let object: Value = serde_json::from_str(text).ok()?;
    let keys = ["log", "message", "msg", "MESSAGE", "textPayload", "error", "event"];
    let said = keys.iter().find_map(|key| object.get(key)?.as_str())?;
    Some(said.trim_end_matches('\n').replace('\n', " ⏎ "))
}

/// The text without terminal sequences and control characters.
fn plain(text: &str) -> String {
    let typed = |letter| match letter {
        '\t' => Some(' '),
        letter if letter.is_control() || letter == '\u{feff}' => None,
        letter => Some(letter),
    };
    without_escapes(text).chars().filter_map(typed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_go_and_the_writer_stays() {
        for (raw, from, text) in [
            (
                "(EngineCore_DP0 pid=123) ERROR 11-02 10:11:12 [core.py:708] boom",
                "EngineCore_DP0 pid=123",
                "boom",
            ),
            ("[rank3]: RuntimeError: x", "rank3", "RuntimeError: x"),
            ("2026-01-02T03:04:05.678Z stderr F boom", "", "boom"),
            (r#"{"log":"\u001b[31mboom\u001b[0m\n","stream":"stderr"}"#, "", "boom"),
            ("\u{1b}[1;31mCUDA\u{1b}[0m error", "", "CUDA error"),
            ("\u{1b}]0;title\u{7}CUDA\terror\u{0}", "", "CUDA error"),
            ("\u{9b}1;31mCUDA\u{9b}0m error", "", "CUDA error"),
            ("vllm-1  | boom", "vllm-1", "boom"),
            ("[   12.345678] NVRM: Xid (PCI:0000:01:00): 79", "", "NVRM: Xid (PCI:0000:01:00): 79"),
            ("Jan  2 03:04:05 host kernel: [   12.345678] NVRM: Xid", "", "NVRM: Xid"),
            ("RuntimeError: plain", "", "RuntimeError: plain"),
        ] {
            let line = clean(1, raw.as_bytes());
            assert_eq!((line.from.as_str(), line.text.as_str()), (from, text), "{raw}");
        }
    }
}
