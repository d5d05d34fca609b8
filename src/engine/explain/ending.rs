//! The exception a text ends in: it decides, whatever was logged before it.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::reader::Digest;

/// Lines that may follow the last exception.
const AFTER: usize = 3;

/// An exception as Python names it at the end of a traceback.
static EXCEPTION: LazyLock<Regex> = LazyLock::new(|| {
    let name = r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)(?::|$)";
    Regex::new(name).expect("a valid expression")
});

/// Those that often only report what failed before.
const REPORTS: [&str; 6] = [
    "RuntimeError",
    "AssertionError",
    "SystemError",
    "CalledProcessError",
    "ChildFailedError",
    "Exception",
];

pub(super) fn is_exception(text: &str) -> bool {
    EXCEPTION.is_match(text)
}

/// Place of the exception that ends the text, where it follows a traceback and says by itself what failed.
pub(super) fn exception(digest: &Digest) -> Option<usize> {
    let from = digest.lines.len().saturating_sub(AFTER + 1);
    let tail = digest.lines[from..].iter().rposition(|line| is_exception(&line.text))?;
    let last = from + tail;
    let name = digest.lines[last].text.split(':').next().unwrap_or_default();
    let is_traced = digest.lines[..last].iter().any(|line| line.text.starts_with("Traceback ("));
    let is_report = name.rsplit('.').next().is_some_and(|name| REPORTS.contains(&name));
    (is_traced && !is_report).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::super::Reader;
    use super::*;

    fn ends_in(text: &str) -> Option<usize> {
        let mut reader = Reader::default();
        reader.push(text.as_bytes());
        exception(&reader.finish())
    }

    #[test]
    fn only_an_exception_at_the_end_of_a_traceback_that_says_what_failed_counts() {
        let frame = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n";
        for (text, want) in [
            (format!("W warning\n{frame}ModuleNotFoundError: No module named 'a'\n"), Some(3)),
            (format!("{frame}jax._src.TypeError: a\n"), Some(2)),
            (format!("{frame}RuntimeError: engine failed\n"), None),
            (format!("{frame}KeyError: 'a'\n1\n2\n3\n4\n"), None),
            ("KeyError: 'a'\n".to_owned(), None),
        ] {
            assert_eq!(ends_in(&text), want, "{text}");
        }
    }
}
