//! Environment markers of requirements (PEP 508), as far as they can be decided without asking Python.
//!
//! Three answers: a marker about something unknown here is unknown, and nothing is concluded from it.

use crate::rules::{Version, VersionRange};

/// Depth of brackets followed.
const DEEPEST: usize = 16;

/// What markers are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// `3.11`.
    pub(super) python: Option<String>,
    /// As `uname -m` has it.
    pub(super) machine: &'static str,
}

impl Target {
    /// This machine, with a version of Python.
    pub(super) fn here(python: Option<String>) -> Self {
        Self { python, machine: std::env::consts::ARCH }
    }

    /// Value of a variable, and whether it is a version.
    fn value(&self, name: &str) -> Option<(&str, bool)> {
        Some(match name {
            "python_version" => (self.python.as_deref()?, true),
            "sys_platform" => ("linux", false),
            "platform_system" => ("Linux", false),
            "os_name" => ("posix", false),
            "platform_machine" => (self.machine, false),
            "platform_python_implementation" => ("CPython", false),
            "implementation_name" => ("cpython", false),
            // Nobody knows which extras were asked for when it was installed; of the full version only the beginning is known.
            _ => return None,
        })
    }
}

/// Whether a marker holds; an empty one does.
pub(super) fn holds(marker: &str, target: &Target) -> Option<bool> {
    if marker.trim().is_empty() {
        return Some(true);
    }
    let tokens = tokens(marker)?;
    let mut parser = Parser { tokens: &tokens, target };
    let answer = parser.either(0)?;
    parser.tokens.is_empty().then_some(answer).flatten()
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token<'a> {
    Open,
    Close,
    Word(&'a str),
    Text(&'a str),
    Sign(&'a str),
}

fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut all = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, after) = match first {
            '(' => (Token::Open, &rest[1..]),
            ')' => (Token::Close, &rest[1..]),
            '"' | '\'' => {
                let (inner, after) = rest[1..].split_once(first)?;
                (Token::Text(inner), after)
            }
            '<' | '>' | '=' | '!' | '~' => {
                let (sign, after) = cut(rest, |c| "<>=!~".contains(c));
                (Token::Sign(sign), after)
            }
            c if c.is_ascii_alphanumeric() => {
                let (word, after) =
                    cut(rest, |c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
                (Token::Word(word), after)
            }
            _ => return None,
        };
        all.push(token);
        rest = after.trim_start();
    }
    Some(all)
}

fn cut(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

/// `None` from a method is a marker that cannot be read; `Some(None)` one that cannot be decided.
struct Parser<'a> {
    tokens: &'a [Token<'a>],
    target: &'a Target,
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Option<&'a Token<'a>> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.tokens.first() == Some(&Token::Word(word));
        if found {
            self.next();
        }
        found
    }

    fn either(&mut self, depth: usize) -> Option<Option<bool>> {
        let mut answer = self.both(depth)?;
        while self.take("or") {
            answer = match (answer, self.both(depth)?) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
        }
        Some(answer)
    }

    fn both(&mut self, depth: usize) -> Option<Option<bool>> {
        let mut answer = self.one(depth)?;
        while self.take("and") {
            answer = match (answer, self.one(depth)?) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
        }
        Some(answer)
    }

    fn one(&mut self, depth: usize) -> Option<Option<bool>> {
        if self.tokens.first() == Some(&Token::Open) {
            self.next();
            let answer = (depth < DEEPEST).then(|| self.either(depth + 1)).flatten()?;
            return (self.next()? == &Token::Close).then_some(answer);
        }
        let left = self.next()?;
        let sign = match self.next()? {
            Token::Sign(sign) => sign,
            Token::Word("in") => "in",
            Token::Word("not") if self.take("in") => "not in",
            _ => return None,
        };
        let right = self.next()?;
        Some(self.compare(left, sign, right))
    }

    fn compare(&self, left: &Token<'_>, sign: &str, right: &Token<'_>) -> Option<bool> {
        let (name, text, swapped) = match (left, right) {
            (Token::Word(name), Token::Text(text)) => (name, text, false),
            (Token::Text(text), Token::Word(name)) => (name, text, true),
            _ => return None,
        };
        if *name == "python_full_version" && !swapped {
            return decided(self.target.python.as_deref()?, sign, text);
        }
        let (value, version) = self.target.value(name)?;
        match sign {
            "in" | "not in" => {
                let (part, whole) = if swapped { (*text, value) } else { (value, *text) };
                // "3.1" in "3.10 3.11" is a trap of the language; a list of versions is compared word by word.
                let within = match version {
                    true => whole.split([' ', ',']).any(|one| one == part),
                    false => whole.contains(part),
                };
                Some(within == (sign == "in"))
            }
            _ if version && !swapped => within(value, sign, text),
            "==" => Some(value == *text),
            "!=" => Some(value != *text),
            _ => None,
        }
    }
}

fn within(version: &str, sign: &str, text: &str) -> Option<bool> {
    let version: Version = version.parse().ok()?;
    format!("{sign}{text}").parse::<VersionRange>().ok()?.contains(Some(&version))
}

/// What holds of every release of a Python, of which the last number is not known: `3.11` may be 3.11.0 and 3.11.14.
fn decided(python: &str, sign: &str, text: &str) -> Option<bool> {
    let one_release = text.strip_prefix(python).is_some_and(|rest| rest.starts_with('.'));
    if one_release && !text.ends_with('*') && matches!(sign, "==" | "!=" | "===") {
        return None;
    }
    let first = within(&format!("{python}.0"), sign, text)?;
    let last = within(&format!("{python}.9999"), sign, text)?;
    (first == last).then_some(first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn target() -> Target {
        Target { python: Some("3.11".to_owned()), machine: "x86_64" }
    }

    #[test]
    fn markers_of_real_packages_are_decided() {
        for (marker, answer) in [
            ("", Some(true)),
            ("platform_system == \"Linux\" and platform_machine == \"x86_64\"", Some(true)),
            (
                "platform_machine == 'aarch64' or (python_version >= '3.9' and sys_platform != 'win32')",
                Some(true),
            ),
            ("python_version < '3.9'", Some(false)),
            ("python_version < \"3.9\" and extra == 'test'", Some(false)),
            ("extra == 'test'", None),
            ("extra == 'test' or sys_platform == 'linux'", Some(true)),
            ("python_version in '3.10 3.11'", Some(true)),
            ("python_version not in '3.10, 3.11'", Some(false)),
            ("'linux' in sys_platform", Some(true)),
            ("platform_python_implementation == 'PyPy'", Some(false)),
            ("platform_release >= '5'", None),
            ("python_full_version >= '3.9.0'", Some(true)),
            ("python_full_version < '3.11'", Some(false)),
            ("python_full_version >= '3.11.4'", None),
            ("python_full_version == '3.11.4'", None),
            ("python_full_version != '3.10.4'", Some(true)),
            ("python_full_version == '3.11.*'", Some(true)),
            ("python_full_version in '3.11 3.12'", None),
            ("python_version >", None),
            ("(python_version > '3'", None),
            ("python_version > '3' nonsense", None),
        ] {
            assert_eq!(holds(marker, &target()), answer, "{marker}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[(a-z_ '\"<>=!~)3.é]{0,80}", depth in 0_usize..200) {
            holds(&text, &target());
            prop_assert_eq!(holds(&"(".repeat(depth), &target()).is_none(), depth > 0);
        }
    }
}
