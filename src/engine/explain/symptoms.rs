//! Messages that rules predict, found in a text: the same sentences `why` shows beforehand.

use std::collections::HashSet;

use warpscope_probes::rules::{Rule, RuleBase};

use super::reader::Digest;

/// Shorter pieces of a message are found by chance.
const SHORTEST: usize = 22;
/// Rules named for one text.
const MOST: usize = 3;

/// Rules whose message the text has; those of a framework it names come first, then the more specific.
pub(super) fn rules<'a>(digest: &Digest, base: &'a RuleBase) -> Vec<&'a Rule> {
    let text: String = digest.lines.iter().map(|line| plain(&line.text) + " ").collect();
    let found = base.rules().iter().filter_map(|rule| {
        let length = pieces(rule.symptom.as_deref()?)
            .filter(|piece| piece.len() >= SHORTEST && text.contains(piece.as_str()))
            .map(|piece| piece.len())
            .max()?;
        let named = text.contains(&rule.framework.to_lowercase());
        Some(((named, length), rule))
    });
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|(worth, _)| std::cmp::Reverse(*worth));
    let mut seen = HashSet::new();
    let first = found.into_iter().map(|(_, rule)| rule);
    first.filter(|rule| seen.insert(rule.reason.clone())).take(MOST).collect()
}

/// What of a message is the same every time: pieces between numbers, names in quotes and dots that leave something out.
fn pieces(symptom: &str) -> impl Iterator<Item = String> {
    let split = |letter: char| letter.is_ascii_digit() || "…<>{}\"'`".contains(letter);
    symptom
        .split(split)
        .flat_map(|piece| piece.split("..."))
        .map(|piece| plain(piece).trim().to_owned())
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::super::Reader;
    use super::*;

    #[test]
    fn every_message_of_a_rule_leads_back_to_one_that_has_it() {
        let base = RuleBase::builtin();
        for rule in base.rules() {
            let Some(symptom) = rule.symptom.as_deref() else { continue };
            if !pieces(symptom).any(|piece| piece.len() >= SHORTEST) {
                continue;
            }
            let mut reader = Reader::default();
            reader.push(format!("{}: {symptom}\n", rule.framework).as_bytes());
            assert!(!rules(&reader.finish(), base).is_empty(), "{}", rule.id);
        }
    }
}
