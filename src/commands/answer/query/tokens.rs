//! What was typed, word by word: releases joined to the names before them, options as they stand on a command line.

use warpscope_probes::model::Model;
use warpscope_probes::releases;
use warpscope_probes::rules::{Framework, Kind, RuleBase, kind_of};

use super::fillers::is_filler;
use super::options::{is_unheard_variable, key, unheard};
use super::queue::Queue;
use super::terms::{self, Gaps, Means};
use super::word::{find, generation, is_release, split_version};
use super::{fronts, meaning, names, programs, shell};
use crate::engine::DRIVER;
use crate::engine::vocabulary::meant;

/// One word of what was typed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// To be judged: `awq`, `torch@2.6.0`, `quantization=awq`.
    Word(String),
    /// What changes no verdict: `--max-model-len 32768`.
    Unheard(String),
    /// What may change one, and is known to nobody here.
    Open(String),
    /// What stands for several words: to be judged, and set aside as it was typed where it means nothing.
    Term { word: String, typed: String },
}

/// Names before a release that may be a whole number: `driver 535`.
const NUMBERED: &[&str] = &["cuda", "cudnn", "driver", "jetpack"];

/// Words one by one; a release that follows a name belongs to it, and a value to its option: `vllm 0.8.5 cuda 12.8 --quantization awq`.
pub(super) fn tokens(base: &RuleBase, typed: &[String]) -> Result<Vec<Token>, String> {
    let words = Queue::new(shell::words(typed));
    let mut reader = Reader {
        base,
        words,
        tokens: Vec::new(),
        late: Vec::new(),
        named: None,
        is_dated: false,
        front: None,
    };
    while let Some(word) = reader.words.next() {
        reader.read(word)?;
    }
    reader.end_front()?;
    reader.tokens.append(&mut reader.late);
    Ok(reader.tokens)
}

pub(super) struct Reader<'a> {
    pub(super) base: &'a RuleBase,
    pub(super) words: Queue,
    pub(super) tokens: Vec<Token>,
    /// Settings of the environment, which stand before the framework that they are for.
    late: Vec<Token>,
    /// The framework that was named last.
    pub(super) named: Option<&'a Framework>,
    /// Whether its release was named.
    is_dated: bool,
    /// A program in front of frameworks of which none was named yet.
    front: Option<fronts::Named>,
}

impl Gaps for Reader<'_> {
    fn is_cache(&self, word: &str) -> bool {
        self.is_value("kv_cache", word)
    }

    fn is_attention(&self, word: &str) -> bool {
        self.is_value("attention", word)
    }
}

impl Reader<'_> {
    fn read(&mut self, word: String) -> Result<(), String> {
        let next = self.words.peek();
        if programs::is_starter(&word) || word.chars().all(|letter| letter == '-') {
            return Ok(());
        }
        if programs::is_container(&word, next) {
            return self.container();
        }
        if programs::is_installer(&word, next) {
            self.words.next();
            self.words.next_if(|next| next == "install");
            return Ok(());
        }
        if programs::is_python(&word, next) {
            self.python();
            return Ok(());
        }
        if let Some(name) = word.strip_prefix('-') {
            return self.option(name.trim_start_matches('-'), &word);
        }
        if let Some((name, value)) = word.split_once('=').filter(|one| is_variable(one.0)) {
            self.variable(name, value);
            return Ok(());
        }
        if self.term() || self.front(&word) || self.model() {
            return Ok(());
        }
        if let Some(follows) = unheard(word.split('=').next().unwrap_or(&word)) {
            self.unheard(word, follows, false);
            return Ok(());
        }
        if let Some(image) = programs::image(&word) {
            self.image(image);
            return Ok(());
        }
        if let Some(words) = programs::release_file(&word) {
            words.iter().for_each(|word| self.word(word));
            return Ok(());
        }
        if let Some(framework) = programs::program(&word) {
            self.framework(framework);
            return Ok(());
        }
        if self.named.is_some() && programs::is_subcommand(&word) {
            return Ok(());
        }
        match self.counted(&word) {
            Some(count) => self.tokens.push(Token::Word(count)),
            None => self.plain(&word),
        }
        Ok(())
    }

    /// Whether some framework has a value of this key.
    fn is_value(&self, key: &str, word: &str) -> bool {
        self.base.frameworks().iter().any(|one| meant(self.base, &one.id, key, word).is_some())
    }

    /// A term of several words. Before a framework is named, only the name of one counts.
    fn term(&mut self) -> bool {
        let is_named = self.named.is_some();
        let found = terms::find(self.words.since_last(), self, |found| match found.means {
            Means::Part("{}") => is_named,
            Means::Word(text) | Means::Part(text) if !is_named => {
                let word = found.word(text);
                name_of(&word).is_some_and(|name| find(self.base, name).is_some())
                    || generation(self.base, &word).is_some()
            }
            _ => is_named,
        });
        let Some(found) = found else { return false };
        let typed = self.words.take_since_last(found.count);
        match found.means {
            Means::Word(text) if is_named => {
                let word = found.word(text);
                self.tokens.push(Token::Term { word, typed });
            }
            Means::Word(text) | Means::Part(text) => self.word(&found.word(text)),
            Means::Open => self.tokens.push(Token::Open(typed)),
            Means::Unheard => self.tokens.push(Token::Unheard(typed)),
        }
        true
    }

    /// A program in front of frameworks: beside one of them it says nothing.
    fn front(&mut self, word: &str) -> bool {
        let is_part = self.named.is_some() && kind_of(word) == Ok(Kind::Package);
        let Some(front) = fronts::named(word).filter(|_| !is_part) else { return false };
        match front.only_engine().filter(|_| self.named.is_none()) {
            Some(engine) => {
                self.word(&engine);
                self.tokens.push(Token::Unheard(front.told(self.base)));
            }
            None if self.named.is_some() => self.tokens.push(Token::Unheard(front.typed)),
            None => self.front = Some(front),
        }
        true
    }

    /// What was said of such a program when its framework is named, or that none was.
    fn end_front(&mut self) -> Result<(), String> {
        match self.front.take() {
            Some(front) if self.named.is_none() => Err(front.refusal(self.base)),
            Some(front) => {
                self.tokens.push(Token::Unheard(front.typed));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The name of a model in several words.
    fn model(&mut self) -> bool {
        let Some(framework) = self.named else { return false };
        let found = names::joined(self.base, &framework.id, self.words.since_last());
        let Some((count, name)) = found else { return false };
        self.words.take_since_last(count);
        self.tokens.push(Token::Word(name));
        true
    }

    /// A number of GPUs without a sign between: `tp 8`, `tp8`.
    fn counted(&mut self, word: &str) -> Option<String> {
        let lower = word.to_ascii_lowercase();
        let name = lower.trim_end_matches(|last: char| last.is_ascii_digit());
        let key = key(name).unwrap_or(name);
        if kind_of(key) != Ok(Kind::Count) {
            return None;
        }
        let is_whole = |next: &String| {
            next.trim_end_matches([',', ';']).bytes().all(|byte| byte.is_ascii_digit())
        };
        let number = match &lower[name.len()..] {
            "" => self.words.next_if(is_whole)?.trim_end_matches([',', ';']).to_owned(),
            number => number.to_owned(),
        };
        Some(format!("{key}={number}"))
    }

    /// Words without a dash, several where colons or commas stand between them. The names of models have colons of their own.
    fn plain(&mut self, word: &str) {
        let word = without_extras(word);
        let head = word.split([':', '@']).next().unwrap_or(&word);
        let is_model = || find(self.base, head).is_none() && Model::known(&word).is_some();
        let is_whole = word.contains('/') || is_model();
        let parts = match is_whole {
            true => vec![word.trim_end_matches([',', ';'])],
            false => word.split([':', ',', ';']).collect(),
        };
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            match switched(part) {
                Some((name, true)) => self.word(name),
                Some((_, false)) => self.tokens.push(Token::Unheard(part.to_owned())),
                None if is_moving(part) => self.tokens.push(Token::Open(part.to_owned())),
                None if is_width_of_exl(part) => {
                    self.tokens.push(Token::Unheard(part.to_owned()));
                }
                None => self.word(part),
            }
        }
    }

    pub(super) fn word(&mut self, word: &str) {
        let mut word = word.to_owned();
        if let Some(framework) = name_of(&word).and_then(|name| find(self.base, name))
            && (self.named.is_none()
                || kind_of(&framework.id) != Ok(Kind::Package) && framework.id != DRIVER)
        {
            self.is_dated = word.contains(['@', '=']);
            self.named = Some(framework);
            if let Some(front) = self.front.as_ref().filter(|_| !self.is_dated) {
                word = front.dated(&word);
            }
        }
        let is_stray = self.is_stray(&word);
        match self.tokens.last_mut() {
            Some(Token::Word(last)) if is_stray => *last = format!("{last} {word}"),
            Some(Token::Word(last)) if joined(self.base, last, &word).is_some() => {
                self.is_dated |= self
                    .named
                    .is_some_and(|own| find(self.base, last).is_some_and(|one| one.id == own.id));
                *last = joined(self.base, last, &word).unwrap_or_default();
            }
            _ => {
                self.is_dated |= is_release(&word);
                self.tokens.push(Token::Word(word));
            }
        }
    }

    /// Whether a number belongs to the word before it, which nobody knows here, and is no release of the framework: `openchat 3.5`.
    fn is_stray(&self, word: &str) -> bool {
        let (Some(named), Some(Token::Word(last))) = (self.named, self.tokens.last()) else {
            return false;
        };
        let is_own = || !self.is_dated && releases::exists(&named.id, word) != Some(false);
        is_number(word)
            && !(is_release(word) && is_own())
            && last.starts_with(|first: char| first.is_ascii_alphabetic())
            && !last.contains(['=', '@'])
            && joined(self.base, last, word).is_none()
            && (!is_filler(last) || self.is_dated && is_release(word))
            && !is_known(self.base, named, last)
    }

    /// The framework that a program or a module belongs to, unless the command is about it already.
    fn framework(&mut self, id: &str) {
        if self.named.is_none_or(|named| named.id != id) {
            self.word(id);
        }
    }

    /// The image that a container is made of; what stands before it is for the container.
    fn container(&mut self) -> Result<(), String> {
        let image =
            std::iter::from_fn(|| self.words.next()).find_map(|word| programs::image(&word));
        let image = image.ok_or(
            "the command starts no image of a framework that is known; name the framework instead, as in vllm@0.11.0 docker",
        )?;
        self.image(image);
        Ok(())
    }

    fn image(&mut self, image: programs::Image) {
        image.words.iter().for_each(|word| self.word(word));
        let part = |part: String| Token::Open(format!("{part} of the image's tag"));
        self.tokens.extend(image.open.into_iter().map(part));
    }

    /// A module of Python, or a file, which says nothing.
    fn python(&mut self) {
        let file = self.words.next().unwrap_or_default();
        if file != "-m" {
            self.tokens.push(Token::Open(file));
            return;
        }
        let Some(module) = self.words.next() else { return };
        let next = self.words.peek();
        match programs::module(self.base, &module).map(str::to_owned) {
            Some(framework) => self.framework(&framework),
            None if programs::is_installer(&module, next) => drop(self.words.next()),
            None => self.tokens.push(Token::Open(module)),
        }
    }

    fn variable(&mut self, name: &str, value: &str) {
        let word = format!("{name}={value}");
        if name == "VLLM_USE_V1" && ["0", "1"].contains(&value) {
            self.late.push(Token::Word(format!("engine=v{value}")));
        } else if let Some(key) = key(name) {
            self.late.push(Token::Word(format!("{key}={value}")));
        } else if is_unheard_variable(name) {
            self.tokens.push(Token::Unheard(word));
        } else {
            self.tokens.push(Token::Open(word));
        }
    }
}

/// What is switched on or off as code does it: `load_in_4bit=True`.
fn switched(word: &str) -> Option<(&str, bool)> {
    let (name, value) = word.split_once('=')?;
    let value = value.to_ascii_lowercase();
    ["true", "false"].contains(&&*value).then_some((name, value == "true"))
}

/// Whether a word stands for a release that is another from day to day.
fn is_moving(word: &str) -> bool {
    ["latest", "main", "master", "nightly"].contains(&&*word.to_ascii_lowercase())
}

/// Whether a word is a width that EXL2 and EXL3 have any of: `4.0bpw`.
fn is_width_of_exl(word: &str) -> bool {
    word.strip_suffix("bpw").is_some_and(is_number)
}

/// Whether a word means something behind the name of this framework.
pub(super) fn is_known(base: &RuleBase, framework: &Framework, word: &str) -> bool {
    let is_named = || {
        let name = name_of(word);
        name.is_some_and(|name| find(base, name).is_some() || generation(base, name).is_some())
    };
    is_release(word)
        || meaning::is_known(base, framework, word)
        || is_named()
        || Model::known(word).is_some()
}

/// The name before a release.
pub(super) fn name_of(word: &str) -> Option<&str> {
    split_version(word).ok().map(|one| one.0)
}

fn is_variable(name: &str) -> bool {
    name.contains('_')
        && name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// A package without what is installed with it: `vllm[audio]==0.8.5`.
fn without_extras(word: &str) -> String {
    match (word.split_once('['), word.split_once(']')) {
        (Some((before, _)), Some((_, behind))) if !before.is_empty() => format!("{before}{behind}"),
        _ => word.to_owned(),
    }
}

/// A name with the release behind it, or with the number of its generation: `flash-attn 3`.
pub(super) fn joined(base: &RuleBase, name: &str, word: &str) -> Option<String> {
    let framework = find(base, name).map(|one| one.id.as_str());
    let is_named = framework.is_some() || kind_of(name) == Ok(Kind::Package) || name == "jetpack";
    let is_numbered = NUMBERED.contains(&framework.unwrap_or(name));
    if is_named && (is_release(word) || is_numbered && is_number(word)) {
        return Some(format!("{name}@{word}"));
    }
    let with_generation = format!("{name}-{word}");
    let known = framework.is_some() && generation(base, &with_generation).is_some();
    known.then_some(with_generation)
}

/// One number, or several with commas between them.
pub(super) fn is_number(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
        && word.bytes().all(|byte| byte.is_ascii_digit() || b".,".contains(&byte))
}
