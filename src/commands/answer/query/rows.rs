//! The rows of a framework, and what words make of them.

use warpscope_probes::rules::{Kind, kind_of};

use crate::engine::Question;
use crate::engine::vocabulary::plain;

/// Keys of a build and the system it runs on.
const BUILD: &[&str] = &["platform", "runner", "wheel"];

/// The build that a row names where it is about something else.
const USUAL_BUILD: &str = "pypi";

/// Whether a setting says what a framework runs with, and not what of it is asked about.
pub(super) fn is_environment(key: &str) -> bool {
    BUILD.contains(&key) || kind_of(key) == Ok(Kind::Package)
}

/// Whether a row says this word of itself: in its label, or as a key or value of its settings. What it runs with chooses no row.
pub(super) fn says(question: &Question, token: &str) -> bool {
    let token = plain(token);
    let label = question.words();
    let config = question.config.iter().filter(|(key, _)| !is_environment(key));
    let words =
        label.split([' ', '·', ',', '(', ')']).chain(config.flat_map(|(key, value)| [key, value]));
    !token.is_empty() && words.map(plain).any(|word| word == token)
}

/// The questions that are left after the words so far.
pub(super) struct Rows(pub(super) Vec<Question>);

impl Rows {
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|question| question.config.get(key).is_some())
    }

    pub(super) fn narrow(&mut self, keep: impl Fn(&Question) -> bool) -> bool {
        let any = self.0.iter().any(&keep);
        if any {
            self.0.retain(keep);
        }
        any
    }

    /// Keeps the questions that already say it; where none does, says it in all of them. Rows are presets and hide nothing. What it runs
    /// with chooses no row: all of them get it.
    pub(super) fn set(&mut self, key: &str, value: &str, is_quantised: bool) -> Result<(), String> {
        let named = |one: &Question| one.config.get(key) == Some(value);
        if is_environment(key) {
            self.narrow(|one| !is_another_build(one, key, value));
            if key == "wheel" && value != "source" {
                self.forget_list();
            }
            return self.put(key, value);
        }
        if self.0.iter().any(named) {
            let hidden = if key == "dtype" { self.hidden(value, is_quantised)? } else { vec![] };
            self.narrow(named);
            self.0.splice(0..0, hidden);
            return Ok(());
        }
        self.put(key, value)
    }

    /// Drops the list that rows compile for: a build of its makers has its own.
    fn forget_list(&mut self) {
        for question in self.0.iter_mut().filter(|one| one.config.get("wheel") == Some("source")) {
            question.config = question.config.without(&["arch_list"]);
        }
    }

    /// Replaces what some rows say of themselves, in their labels too.
    pub(super) fn replace(&mut self, key: &str, value: &str, is_one: impl Fn(&Question) -> bool) {
        for question in self.0.iter_mut().filter(|one| is_one(one)) {
            let Some(before) = question.config.get(key).map(str::to_owned) else { continue };
            // What cannot be set is left as it was.
            if question.config.set(key, value).is_ok() {
                let label = question.label.take();
                let label = label.and_then(|label| without(&label, key, Some(&before)));
                question.label = label.map(|label| with_setting(&label, key, value));
            }
        }
        let mut kept: Vec<Question> = Vec::new();
        for question in self.0.drain(..) {
            if !kept.iter().any(|old| old.is_same(&question)) {
                kept.push(question);
            }
        }
        self.0 = kept;
    }

    /// Says it in every question; of those that are the same then, the one that said it before stays.
    fn put(&mut self, key: &str, value: &str) -> Result<(), String> {
        let (said, others): (Vec<_>, Vec<_>) =
            self.0.iter().cloned().partition(|one| one.config.get(key) == Some(value));
        for question in &mut self.0 {
            let before = question.config.get(key).map(str::to_owned);
            if before.as_deref() == Some(value) {
                continue;
            }
            question.config.set(key, value)?;
            let label = question.label.take();
            let label = label.and_then(|label| without(&label, key, before.as_deref()));
            question.label = label.map(|label| with_setting(&label, key, value));
        }
        if !others.is_empty() {
            self.0.retain(|one| said.contains(one) || !said.iter().any(|old| old.is_same(one)));
        }
        Ok(())
    }

    /// Rows in another number format that take this one as well: those of whose label it is a part, and a plain one where all that
    /// name the format have quantised weights.
    fn hidden(&self, dtype: &str, is_quantised: bool) -> Result<Vec<Question>, String> {
        let quantised = |one: &Question| one.config.get("quantization").is_some();
        let (named, others): (Vec<_>, Vec<_>) =
            self.0.iter().partition(|one| one.config.get("dtype") == Some(dtype));
        let all_quantised = !is_quantised && named.iter().all(|one| quantised(one));
        let plain = others.iter().find(|one| all_quantised && !quantised(one));
        let mut hidden = Vec::new();
        for question in &others {
            let own = question.config.get("dtype").unwrap_or_default();
            let label = question.label.as_deref().filter(|_| dtype != "auto");
            let label = label.filter(|label| label.split(" · ").any(|word| word == own));
            let is_plain = plain.is_some_and(|plain| plain == question);
            if label.is_none() && !is_plain {
                continue;
            }
            let mut other = Question { label: None, ..(*question).clone() };
            other.config.set("dtype", dtype)?;
            other.label = label.map(|label| renamed(label, own, dtype));
            if !named.iter().any(|one| one.is_same(&other)) {
                hidden.push(other);
            }
        }
        Ok(hidden)
    }
}

/// A label in which another format has the place of its own.
fn renamed(label: &str, own: &str, dtype: &str) -> String {
    let part = |part| if part == own { dtype } else { part };
    label.split(" · ").map(part).collect::<Vec<_>>().join(" · ")
}

/// Whether a row is about a build of its own that is not this one.
fn is_another_build(question: &Question, key: &str, value: &str) -> bool {
    let only = question.config.iter().all(|(own, _)| is_environment(own));
    BUILD.contains(&key)
        && question.config.get(key).is_some_and(|own| own != value && (only || own != USUAL_BUILD))
}

fn with_setting(label: &str, key: &str, value: &str) -> String {
    let dot = if label.is_empty() { "" } else { " · " };
    format!("{label}{dot}{key} {value}")
}

/// A label without the part that names a setting which is replaced. None where no part does: who knows what else it says of it.
fn without(label: &str, key: &str, before: Option<&str>) -> Option<String> {
    let Some(before) = before else { return Some(label.to_owned()) };
    let names = |part: &&str| {
        let mut words = part.split([' ', ',']).map(plain);
        words.any(|word| word == plain(before) || word == plain(key))
    };
    let left: Vec<_> = label.split(" · ").filter(|part| !names(part)).collect();
    let is_named = left.len() < label.split(" · ").count();
    (is_named || kind_of(key) == Ok(Kind::Package)).then(|| left.join(" · "))
}
