//! The command that measures two recorded runs once more, in turn.

use crate::runs::run_log::{Dirty, Identity};

/// Digits of a commit that tell it from every other.
const LENGTH: usize = 12;

/// `warpscope versus` for what tells the runs apart: their commits, or their commands. None where it cannot set up both again.
pub(super) fn in_turn(a: &Identity, b: &Identity) -> Option<String> {
    let is_divided = |run: &Identity| run.command.iter().any(|word| word == "--");
    let is_clean = |run: &Identity| run.dirty == Dirty::No;
    let is_unknown = a.command.is_empty() || b.command.is_empty() || is_divided(a) || is_divided(b);
    if is_unknown || a.environment != b.environment || !is_clean(a) || !is_clean(b) {
        return None;
    }
    let (first, second) = (spelled(&a.command), spelled(&b.command));
    match (&a.commit, &b.commit) {
        (Some(old), Some(new)) if old != new && first == second => {
            let [old, new] = [old, new].map(|rev| rev.get(..LENGTH).unwrap_or(rev));
            Some(format!("warpscope versus --rev {old} --rev {new} -- {first}"))
        }
        (old, new) if old == new && first != second => {
            Some(format!("warpscope versus -- {first} -- {second}"))
        }
        _ => None,
    }
}

/// Words as a shell takes them.
fn spelled(words: &[String]) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
    let word = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(commit: &str, command: &[&str]) -> Identity {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        Identity { commit: Some(commit.to_owned()), command, ..Identity::default() }
    }

    #[test]
    fn what_tells_two_runs_apart_is_measured_in_turn() {
        let old = run("c0de", &["python", "tune.py"]);
        let new = Identity { commit: Some("f00d".to_owned()), ..old.clone() };
        let other = run("c0de", &["python", "it's.py", ""]);
        let said = |text: &str| Some(text.to_owned());
        assert_eq!(
            in_turn(&old, &new),
            said("warpscope versus --rev c0de --rev f00d -- python tune.py")
        );
        assert_eq!(
            in_turn(&old, &other),
            said(r"warpscope versus -- python tune.py -- python 'it'\''s.py' ''")
        );
    }

    #[test]
    fn nothing_is_offered_that_would_not_set_up_both_runs() {
        let old = run("c0de", &["python", "tune.py"]);
        let dirty = Identity { dirty: Dirty::NotHashed, ..run("f00d", &["python", "tune.py"]) };
        for new in [old.clone(), dirty, run("f00d", &["python", "new.py"]), run("f00d", &[])] {
            assert_eq!(in_turn(&old, &new), None);
        }
        assert_eq!(in_turn(&old, &run("c0de", &["sh", "--", "x"])), None);
    }
}
