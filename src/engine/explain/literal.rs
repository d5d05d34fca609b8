//! The longest fixed text of a regular expression: a line without it cannot match, so it need not be tried.

/// Longer ones find nothing more.
const LONGEST: usize = 18;

/// The longest run of plain characters that every match contains, in lower case; empty where there is none.
pub(super) fn longest(expression: &str) -> String {
    let mut runs = vec![String::new()];
    let mut letters = expression.chars().peekable();
    let mut depth = 0_usize;
    while let Some(letter) = letters.next() {
        let plain = match letter {
            '\\' => letters.next().filter(|next| !next.is_ascii_alphanumeric()),
            '(' | '[' => {
                depth += 1;
                if letter == '[' {
                    skip_class(&mut letters);
                    depth -= 1;
                }
                None
            }
            ')' => {
                depth = depth.saturating_sub(1);
                None
            }
            '|' if depth == 0 => return String::new(),
            '.' | '^' | '$' | '|' | '+' => None,
            '?' | '*' | '{' => {
                runs.last_mut().map(String::pop);
                if letter == '{' {
                    letters.by_ref().take_while(|letter| *letter != '}').for_each(drop);
                }
                None
            }
            other => Some(other),
        };
        match plain {
            Some(letter) if depth == 0 && has_one_case(letter) => {
                runs.last_mut().expect("there is always one").push(letter.to_ascii_lowercase());
            }
            _ => runs.push(String::new()),
        }
    }
    let best = runs.into_iter().max_by_key(String::len).unwrap_or_default();
    best.chars().take(LONGEST).collect()
}

/// Whether a search that ignores the case of ASCII letters only finds every form of it.
fn has_one_case(letter: char) -> bool {
    letter.is_ascii() || !(letter.is_lowercase() || letter.is_uppercase())
}

fn skip_class(letters: &mut impl Iterator<Item = char>) {
    let mut escaped = false;
    for letter in letters {
        match letter {
            ']' if !escaped => return,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_every_match_contains_counts() {
        for (expression, want) in [
            (r"CUDA out of memory", "cuda out of memory"),
            (r"(?:a long group here) short", " short"),
            (r"colou?r of it", "r of it"),
            (r"\d+ sm_(?P<v>\d+)\.x", " sm_"),
            (r"one|two", ""),
            (r"undefined symbol: \S*c10", "undefined symbol: "),
            (r"[abc\]def]xyz", "xyz"),
        ] {
            assert_eq!(longest(expression), want, "{expression}");
        }
    }
}
