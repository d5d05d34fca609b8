//! Single words: names of frameworks, releases, and what is said of a word that is none of these.

use warpscope_probes::releases;
use warpscope_probes::rules::{Framework, RuleBase, Version};

use super::meaning::{BARE, settings};
use super::package::first_number;
use crate::config::near;
use crate::engine::vocabulary::{known, plain};

/// `name==version` and `name@version`; a range is an error, since an answer is about one release.
pub(super) fn split_version(token: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(at) = ["<", ">", "~=", "!="].iter().filter_map(|sign| token.find(sign)).min() {
        let (name, range) = token.split_at(at);
        let version = range.trim_start_matches(['<', '>', '~', '!', '=']);
        let at = if name.is_empty() { "" } else { "@" };
        let one = format!("{name}{at}{version}");
        return Err(format!(
            "{token:?} names more than one release; ask about one, as in {}",
            one.escape_debug()
        ));
    }
    let split = token.split_once("==").or_else(|| token.split_once('@'));
    Ok(split.map_or((token, None), |(name, version)| (name, Some(version))))
}

/// The version of the framework where another package that brings it was named: a fresh install takes the newest that is accepted. A date
/// stands for a release of the framework, but not where the package brings its own copy.
pub(super) fn own_version<'a>(
    framework: &'a Framework,
    name: &str,
    version: Option<&'a str>,
) -> Result<Option<&'a str>, String> {
    let Some(version) = version else { return Ok(framework.inside(name, None)) };
    let mut known = framework.dependents_named(name).peekable();
    let brings_its_own = framework.inside(name, None).is_some();
    let dated = || !brings_its_own && releases::release_on(&framework.id, version).is_some();
    if known.peek().is_none() || dated() {
        return Ok(Some(version));
    }
    let named: Version = version.parse().map_err(|error| format!("{error}"))?;
    framework.inside(name, Some(&named)).map(Some).ok_or_else(|| {
        format!(
            "which {0} {name} {version} takes is not known; ask with its own version: {1}@VERSION",
            framework.name, framework.id
        )
    })
}

pub(super) fn find<'a>(base: &'a RuleBase, name: &str) -> Option<&'a Framework> {
    let name = plain(name);
    let is = |text: &str| plain(text) == name;
    base.frameworks()
        .iter()
        .find(|one| is(&one.id) || is(&one.name) || one.aliases.iter().any(|alias| is(alias)))
}

/// The framework whose rows are of several generations, and the one that is meant: `flash-attn-3`, `fa3`.
pub(super) fn generation<'a, 'n>(
    base: &'a RuleBase,
    name: &'n str,
) -> Option<(&'a Framework, &'n str)> {
    let head = name.strip_suffix(|last: char| last.is_ascii_digit())?;
    let number = &name[head.len()..];
    let head = head.trim_end_matches(['-', '_']);
    let framework = find(base, if head == "fa" { "flash-attn" } else { head })?;
    let rows = base.configs().iter().filter(|row| row.framework == framework.id);
    let mut versions =
        rows.filter_map(|row| row.version.as_deref().or(framework.version.as_deref()));
    versions.any(|version| first_number(version) == number).then_some((framework, number))
}

/// A version without the letter of its tag: `v0.6.3`.
pub(super) fn without_v(version: &str) -> &str {
    let number = version.strip_prefix(['v', 'V']);
    number.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(version)
}

/// An error where a word is no version.
pub(super) fn check_version(version: &str) -> Result<(), String> {
    version.parse::<Version>().map(drop).map_err(|error| error.to_string())
}

/// Whether a word is a release: `0.6.3`, `v4.57.6`, `b4567`, `r245.2`, `2025-04`. A whole number may be anything.
pub(super) fn is_release(word: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let build = word.strip_prefix('b').is_some_and(|rest| rest.len() > 2 && digits(rest));
    let revision = word.strip_prefix('r').filter(|rest| rest.contains('.'));
    let number = revision.unwrap_or_else(|| without_v(word));
    let numbered = number.starts_with(|first: char| first.is_ascii_digit());
    (build || numbered && number.contains(['.', '-'])) && word.parse::<Version>().is_ok()
}

pub(super) fn unknown_framework(base: &RuleBase, name: &str) -> String {
    if let Some(framework) = having(base, name) {
        return format!(
            "{name:?} is a setting, not a framework; name the framework before it: {} {}",
            framework.id,
            name.escape_debug()
        );
    }
    let names = base.frameworks().iter().flat_map(|one| {
        let names = one.aliases.iter().chain([&one.id, &one.name]);
        names.map(|name| (plain(name), one.id.as_str()))
    });
    let names: Vec<_> = names.collect();
    let near = near(&plain(name), names.iter().map(|row| row.0.as_str()));
    let mut ids: Vec<&str> = Vec::new();
    for (_, id) in near.iter().filter_map(|near| names.iter().find(|row| row.0 == *near)) {
        if !ids.contains(id) {
            ids.push(id);
        }
    }
    let hint = match ids.split_last() {
        None => ";".to_owned(),
        Some((only, [])) => format!("; did you mean {only}?"),
        Some((last, others)) => format!("; did you mean {} or {last}?", others.join(", ")),
    };
    format!(
        "{name:?} is not a known framework{hint} `warpscope frameworks` lists all {}",
        base.frameworks().len()
    )
}

/// A framework that has this word as a setting, first the one whose name the word begins with.
fn having<'a>(base: &'a RuleBase, word: &str) -> Option<&'a Framework> {
    let has = |framework: &&Framework| !settings(base, framework, word).is_empty();
    let own = word.split(['.', '_', '-']).next().and_then(|head| find(base, head));
    own.filter(|own| has(own)).or_else(|| base.frameworks().iter().find(has))
}

/// The word that was probably meant by one that nobody knows: one of this framework, a build, or a framework. Names of models are so many
/// that anything is near to one.
pub(super) fn misspelt(base: &RuleBase, framework: &Framework, word: &str) -> Option<String> {
    let said = plain(word);
    let names = base.frameworks().iter().flat_map(|one| one.aliases.iter().chain([&one.id]));
    let own = BARE.iter().flat_map(|key| known(base, &framework.id, key));
    let mut words = own.chain(names.map(String::as_str));
    words.find(|known| is_slip(&said, &plain(known))).map(str::to_owned)
}

/// Whether one word is the other but for a slip: a letter too many, too few, wrong or at another place, two in long words. In short ones only
/// a letter that stands there twice. The first letter and the numbers are right, and a word in the plural is another.
fn is_slip(said: &str, known: &str) -> bool {
    let letters = |word: &str| word.chars().count();
    let once = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.dedup();
        letters
    };
    let digits = |word: &str| -> String { word.chars().filter(char::is_ascii_digit).collect() };
    let is_plural = said.strip_suffix('s') == Some(known);
    let is_alike = said.chars().next() == known.chars().next() && digits(said) == digits(known);
    match letters(known).min(letters(said)) {
        _ if is_plural || !is_alike || letters(said) > MOST_LETTERS => false,
        0..3 => false,
        3 => letters(said) == 4 && once(said) == once(known),
        4..8 => strsim::osa_distance(said, known) == 1,
        _ => strsim::osa_distance(said, known) <= 2,
    }
}

/// Longer words are nobody's slip.
const MOST_LETTERS: usize = 40;
