//! Options of servers that change a plan, which has options of its own for them.

use crate::commands::cli::{CliError, Result};
use crate::engine::vocabulary::plain;

/// What servers call it, in [`plain`] spelling, and the option of the plan.
const OWN: &[(&[&str], &str)] = &[
    (&["maxmodellen", "contextlength", "ctxsize"], "--context"),
    (&["maxnumseqs", "maxbatchsize"], "--max-seqs"),
    (&["maxnumbatchedtokens", "chunkedprefillsize"], "--batched-tokens"),
    (&["gpumemoryutilization", "memfractionstatic"], "--utilization"),
    (&["enforceeager", "disablecudagraph"], "--eager"),
];

/// Refuses options that the plan would have to take into account.
pub(super) fn check(unheard: &[String]) -> Result<()> {
    let own = |word: &String| {
        let (name, value) = word.split_once([' ', '=']).unwrap_or((word, ""));
        let said = plain(name);
        let (_, option) = OWN.iter().find(|row| row.0.contains(&&said[..]))?;
        let value = value.split(' ').next().unwrap_or_default();
        let option = format!("{option} {value}");
        Some(format!("{word}: the plan depends on it; say {}", option.trim_end()))
    };
    match unheard.iter().find_map(own) {
        Some(why) => Err(CliError::Usage(why)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_change_a_plan_are_refused_with_those_of_the_plan() {
        let said = |word: &str| check(&[word.to_owned()]).err().map(|error| error.to_string());
        for (word, option) in [
            ("--max-model-len 32768", "say --context 32768"),
            ("--max-num-seqs=8", "say --max-seqs 8"),
            ("enforce-eager", "say --eager"),
        ] {
            assert!(said(word).is_some_and(|why| why.ends_with(option)), "{word}");
        }
        assert_eq!(said("--trust-remote-code"), None);
    }
}
