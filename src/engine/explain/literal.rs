//! Fixed texts of a regular expression: a line with none of them cannot match, so it need not be tried.

/// Longer ones find nothing more.
const LONGEST: usize = 18;

/// Texts one of which every match contains, ASCII letters in lower case and others as written; none where there is no such set. Of several sets the one whose shortest text is
/// longest.
pub(super) fn required(expression: &str) -> Vec<String> {
    let mut all = Vec::new();
    for alternative in alternatives(expression) {
        match best(alternative) {
            found if found.is_empty() => return found,
            found => all.extend(found),
        }
    }
    all
}

/// Length of the shortest; zero for none.
pub(super) fn shortest(texts: &[String]) -> usize {
    texts.iter().map(String::len).min().unwrap_or_default()
}

/// What stands between the bars outside of groups and classes.
pub(super) fn alternatives(expression: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut begin, mut at) = (0_usize, 0, 0);
    let bytes = expression.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' => at = end_of_class(bytes, at),
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b'|' if depth == 0 => {
                parts.push(&expression[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(expression.get(begin..).unwrap_or_default());
    parts
}

/// Sets of one alternative: each run of plain characters, and those of each group that has to be there.
struct Sets {
    sets: Vec<Vec<String>>,
    run: String,
}

impl Sets {
    fn end_run(&mut self) {
        let run: String = std::mem::take(&mut self.run).chars().take(LONGEST).collect();
        if !run.is_empty() {
            self.sets.push(vec![run]);
        }
    }

    fn letter(&mut self, letter: char) {
        self.run.push(letter.to_ascii_lowercase());
    }
}

fn best(alternative: &str) -> Vec<String> {
    let mut found = Sets { sets: Vec::new(), run: String::new() };
    let bytes = alternative.as_bytes();
    let mut at = 0;
    while let Some(letter) = alternative.get(at..).and_then(|rest| rest.chars().next()) {
        let next = at + letter.len_utf8();
        at = match letter {
            '\\' => {
                let escaped = alternative[next..].chars().next().unwrap_or('a');
                if escaped.is_ascii_alphanumeric() {
                    found.end_run()
                } else {
                    found.letter(escaped)
                }
                next + escaped.len_utf8()
            }
            '[' => {
                found.end_run();
                end_of_class(bytes, at) + 1
            }
            '(' => {
                found.end_run();
                let end = end_of_group(bytes, at);
                let inner = alternative.get(next..end).unwrap_or_default();
                if !is_optional(bytes, end + 1) {
                    found.sets.push(required(without_head(inner)));
                }
                end + 1
            }
            '?' | '*' | '{' => {
                found.run.pop();
                found.end_run();
                if letter == '{' { closing(alternative, at) } else { next }
            }
            '.' | '^' | '$' | '+' | ')' => {
                found.end_run();
                next
            }
            other => {
                found.letter(other);
                next
            }
        };
    }
    found.end_run();
    found.sets.into_iter().max_by_key(|set| shortest(set)).unwrap_or_default()
}

/// What of a group is its expression: `?:`, `?P<name>` go.
fn without_head(inner: &str) -> &str {
    match inner.strip_prefix('?') {
        Some(rest) => rest.split_once([':', '>']).map_or("", |(_, rest)| rest),
        None => inner,
    }
}

fn is_optional(bytes: &[u8], at: usize) -> bool {
    matches!(bytes.get(at), Some(b'?' | b'*'))
        || bytes.get(at..).is_some_and(|rest| rest.starts_with(b"{0"))
}

fn closing(text: &str, at: usize) -> usize {
    text[at..].find('}').map_or(text.len(), |end| at + end + 1)
}

pub(super) fn end_of_class(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while at < bytes.len() && bytes[at] != b']' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at
}

fn end_of_group(bytes: &[u8], open: usize) -> usize {
    let (mut depth, mut at) = (0_usize, open);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' => at = end_of_class(bytes, at),
            b'(' => depth += 1,
            b')' if depth == 1 => return at,
            b')' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_every_match_contains_counts() {
        for (expression, want) in [
            (r"CUDA out of memory", "cuda out of memory"),
            (r"(?:a long group|or another long group)? here", " here"),
            (r"(?:a group|another) x", "a group,another"),
            (r"colou?r of it", "r of it"),
            (r"\d+ sm_(?P<v>\d+)\.x", " sm_"),
            (r"one|two", "one,two"),
            (r"one|\d", ""),
            (r"undefined symbol: \S*c10", "undefined symbol: "),
            (r"[abc\]|def]xyz", "xyz"),
            (r"(?P<v>x{0,3}yz(?:a|b))", "yz"),
        ] {
            assert_eq!(required(expression).join(","), want, "{expression}");
        }
    }
}
