//! Options as they stand on a command line, each with what belongs to it.

use warpscope_probes::rules::{RuleBase, kind_of};

use super::options::{Follows, Meaning, option};
use super::tokens::{Reader, Token, is_known, is_number, joined, name_of};
use super::word::find;
use super::{meaning, programs};

impl Reader<'_> {
    /// What changes no verdict, with its value. A word without a dash has a number behind it at most: other words may be meant.
    pub(super) fn unheard(&mut self, word: String, follows: Follows, is_option: bool) {
        let mut said = word;
        let mut add = |next: String| {
            said.push(' ');
            said.push_str(next.trim_end_matches(','));
        };
        match follows {
            _ if add_nothing(follows, is_option) => {}
            Follows::Numbers => {
                while let Some(next) = self.words.next_if(|next| is_number(next)) {
                    add(next);
                }
            }
            Follows::Word => {
                self.words.next_if(|next| !next.starts_with('-')).into_iter().for_each(add)
            }
            _ => self.words.next_if(|next| is_number(next)).into_iter().for_each(add),
        }
        self.tokens.push(Token::Unheard(said));
    }

    /// An option: a setting, a word, what changes no verdict, or one that nobody knows here.
    pub(super) fn option(&mut self, name: &str, word: &str) -> Result<(), String> {
        let (name, value) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (name, None),
        };
        if let "index-url" | "extra-index-url" | "i" = name {
            self.index(value);
            return Ok(());
        }
        let spelt = name.replace('-', "_");
        let own = kind_of(&spelt).is_ok().then_some(Meaning::Key("")).or_else(|| option(name));
        match own {
            Some(Meaning::Key(key)) => {
                let key = if key.is_empty() { &spelt } else { key };
                self.setting(key, value, word);
            }
            Some(Meaning::Word(said)) => self.word(said),
            Some(Meaning::Switch) => self.tokens.push(Token::Open(word.to_owned())),
            Some(Meaning::Value) => match value.or_else(|| self.value()) {
                Some(said) if meaning::is_way_to_guess(&said) => {
                    self.word(&said.to_ascii_lowercase())
                }
                Some(said) => self.tokens.push(Token::Open(format!("{word} {said}"))),
                None => self.tokens.push(Token::Open(word.to_owned())),
            },
            Some(Meaning::Flash) => self.flash(value),
            Some(Meaning::Unheard(_)) if value.is_some() => {
                self.tokens.push(Token::Unheard(word.to_owned()));
            }
            Some(Meaning::Unheard(follows)) => self.unheard(word.to_owned(), follows, true),
            None => return self.unknown(name, value.is_some(), word),
        }
        Ok(())
    }

    fn value(&mut self) -> Option<String> {
        self.words.next_if(|next| !next.starts_with('-'))
    }

    /// A setting with its value. All GPUs there are is no number of them.
    fn setting(&mut self, key: &str, value: Option<String>, word: &str) {
        match value.or_else(|| self.value()) {
            Some(all) if key == "tp" && all == "all" => {
                self.tokens.push(Token::Unheard(format!("{word} {all}")));
            }
            Some(value) => self.tokens.push(Token::Word(format!("{key}={value}"))),
            None => self.word(word),
        }
    }

    /// `-fa`, `-fa on`, `--flash-attn off`.
    fn flash(&mut self, value: Option<String>) {
        let says = |next: &String| ["0", "1", "auto", "off", "on"].contains(&next.as_str());
        match value.or_else(|| self.words.next_if(says)).as_deref() {
            None | Some("1" | "on" | "true") => self.word("flash-attn"),
            Some("auto") => self.tokens.push(Token::Unheard("flash-attn auto".to_owned())),
            Some(_) => self.tokens.push(Token::Word("attention=none".to_owned())),
        }
    }

    /// An index of packages is about one build.
    fn index(&mut self, value: Option<String>) {
        let Some(address) = value.or_else(|| self.value()) else { return };
        match programs::build_of_index(&address) {
            Some(build) => self.word(build),
            None => self.tokens.push(Token::Open(address)),
        }
    }

    /// An option that no table has. What follows may be its value, but not where it means something by itself.
    fn unknown(&mut self, name: &str, has_value: bool, word: &str) -> Result<(), String> {
        let names = |word: &str| name_of(word).is_some_and(|name| find(self.base, name).is_some());
        let means = |word: &str| match self.named {
            Some(own) => is_known(self.base, own, word),
            None => names(word),
        };
        if !has_value && means(name) {
            self.word(name);
            return Ok(());
        }
        let switched = ["enable-", "enable_", "use-", "use_"].iter();
        if let Some(feature) = switched.filter_map(|switch| name.strip_prefix(switch)).next()
            && !has_value
            && means(feature)
        {
            self.word(feature);
            return Ok(());
        }
        let next = self.words.peek().filter(|next| !has_value && !next.starts_with('-'));
        let is_value = |next: &&str| names_no_release(self.base, next, self.words.second());
        let next = next.filter(is_value);
        if let Some(next) = next.filter(|next| means(next)) {
            return Err(format!(
                "{word} is no option that is known here; write {word}={next} where {next} is its value, or {next} before it"
            ));
        }
        let said = match next.is_some() {
            true => format!("{word} {}", self.words.next().unwrap_or_default()),
            false => word.to_owned(),
        };
        self.tokens.push(Token::Open(said));
        Ok(())
    }
}

fn add_nothing(follows: Follows, is_option: bool) -> bool {
    follows == Follows::Nothing || follows == Follows::Word && !is_option
}

/// Whether a word is no package with its release, which is nobody's value.
fn names_no_release(base: &RuleBase, word: &str, next: Option<&str>) -> bool {
    let is_joined = next.is_some_and(|next| joined(base, word, next).is_some());
    let is_pinned = name_of(word).is_some_and(|name| name != word && find(base, name).is_some());
    !is_joined && !is_pinned
}
