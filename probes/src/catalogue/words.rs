//! Names by their words, for those who write one otherwise than NVIDIA: in another order, with the board's maker, with `GPU` behind.

use std::collections::{BTreeSet, HashMap};

use super::part::Part;

/// Words that tell no product from another: what it is, who built the board, which machine it is in.
const FILLER: &[&str] = &[
    "accelerator",
    "aorus",
    "asus",
    "card",
    "colorful",
    "core",
    "desktop",
    "dgx",
    "eagle",
    "edition",
    "evga",
    "fe",
    "founders",
    "ftw3",
    "gainward",
    "galax",
    "gamerock",
    "gaming",
    "geforce",
    "generation",
    "gigabyte",
    "gpu",
    "gpus",
    "graphics",
    "hgx",
    "inno3d",
    "kfa2",
    "manli",
    "msi",
    "nd",
    "nvidia",
    "nvl36",
    "nvl4",
    "nvl72",
    "nvl8",
    "oc",
    "palit",
    "pny",
    "rog",
    "strix",
    "suprim",
    "tensor",
    "tesla",
    "trio",
    "tuf",
    "ventus",
    "windforce",
    "zotac",
];

/// What laptops' GPUs were called before they were called so.
const LAPTOP: &[&[&str]] = &[&["with", "max", "q", "design"], &["max", "q"], &["mobile"]];

/// Places of products in the catalogue by the words of their names.
#[derive(Clone, Debug, Default)]
pub(super) struct NameWords(HashMap<BTreeSet<String>, Vec<usize>>);

impl NameWords {
    pub(super) fn of(parts: &[Part]) -> Self {
        let mut words = Self::default();
        let usual = parts.iter().map(|part| part.default_for.as_slice());
        let own = parts.iter().map(|part| std::slice::from_ref(&part.market_name));
        let aliases = parts.iter().map(|part| part.aliases.as_slice());
        let nvml = parts.iter().map(|part| std::slice::from_ref(&part.name));
        words.add(usual);
        words.add(own.zip(aliases).map(|(own, aliases)| own.iter().chain(aliases)));
        words.add(nvml);
        words
    }

    /// Adds names of one kind, part by part; those of a stronger kind stand.
    fn add<'a, N: IntoIterator<Item = &'a String>>(&mut self, names: impl Iterator<Item = N>) {
        let mut added: HashMap<BTreeSet<String>, Vec<usize>> = HashMap::new();
        for (at, names) in names.enumerate() {
            let told: BTreeSet<_> = names.into_iter().map(|name| telling(&split(name))).collect();
            for words in told.into_iter().filter(|words| !self.0.contains_key(words)) {
                added.entry(words).or_default().push(at);
            }
        }
        self.0.extend(added);
    }

    /// Those whose names have the same words, fillers left out; a laptop's GPU also by its older names.
    pub(super) fn places(&self, query: &str) -> &[usize] {
        let words = split(query);
        let laptop = LAPTOP.iter().find_map(|old| as_laptop(&words, old));
        let ways = std::iter::once(words).chain(laptop).map(|words| telling(&words));
        let mut found =
            ways.filter(|words| !words.is_empty()).filter_map(|words| self.0.get(&words));
        found.next().map(Vec::as_slice).unwrap_or_default()
    }

    /// Those whose names have all these words, a number among them, and others besides.
    pub(super) fn with_all_of(&self, query: &str) -> BTreeSet<usize> {
        let words = telling(&split(query));
        let is_number = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
        if !words.iter().any(is_number) {
            return BTreeSet::new();
        }
        let longer = self.0.iter().filter(|(names, _)| words.is_subset(names));
        longer.flat_map(|(_, places)| places.iter().copied()).collect()
    }
}

fn split(name: &str) -> Vec<String> {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn telling(words: &[String]) -> BTreeSet<String> {
    words.iter().filter(|word| !FILLER.contains(&word.as_str())).cloned().collect()
}

/// The words with those of an older name replaced.
fn as_laptop(words: &[String], old: &[&str]) -> Option<Vec<String>> {
    let at = words.windows(old.len()).position(|some| some == old)?;
    let rest = words[..at].iter().chain(&words[at + old.len()..]).cloned();
    Some(rest.chain(std::iter::once("laptop".to_owned())).collect())
}
