//! Words that are no setting of the framework: models, what stands around the matter, and what nobody knows.

use warpscope_probes::rules::RuleBase;

use super::asked::Asked;
use super::fillers::is_filler;
use super::options::unheard;
use super::word::misspelt;
use super::{meaning, model, names};

impl Asked<'_> {
    /// What any framework can have, and a model.
    pub(super) fn take_anything(&mut self, base: &RuleBase, token: &str) -> Result<(), String> {
        if names::is_any_generation(token) || meaning::is_way_to_guess(token) {
            self.open.push(token.to_owned());
            return Ok(());
        }
        if let Some(kind) = names::whisper(&self.framework.id, token) {
            self.unheard.push(token.to_owned());
            return kind.map_or(Ok(()), |kind| self.say("model_type", kind));
        }
        if let Some((key, value)) = meaning::anywhere(base, &self.framework.id, token) {
            return self.say_setting(base, key, value);
        }
        if self.take_model(base, token)? || self.take_switched(base, token)? {
            return Ok(());
        }
        let is_unheard = is_filler(token) || names::is_size(token) || unheard(token).is_some();
        if is_unheard {
            self.unheard.push(token.to_owned());
            return Ok(());
        }
        match meaning::elsewhere(base, self.framework, token) {
            Some((key, value)) => self.say(key, value),
            None => self.set_aside(base, token),
        }
    }

    /// A feature behind the word that switches it on: `enable_torch_compile`.
    fn take_switched(&mut self, base: &RuleBase, token: &str) -> Result<bool, String> {
        let lower = token.to_ascii_lowercase();
        let rest =
            ["enable_", "enable-", "use_", "use-"].iter().find_map(|it| lower.strip_prefix(it));
        let is_feature = |rest: &&str| {
            meaning::is_known(base, self.framework, rest)
                || meaning::elsewhere(base, self.framework, rest).is_some()
        };
        match rest.filter(is_feature) {
            Some(rest) => self.take_word(base, rest),
            None => Ok(false),
        }
    }

    /// A word that nobody knows, unless it is a known one that was misspelt.
    fn set_aside(&mut self, base: &RuleBase, token: &str) -> Result<(), String> {
        match misspelt(base, self.framework, token) {
            Some(meant) => Err(format!(
                "{token:?} is neither a configuration of {} nor a framework or a model; did you mean {meant}?",
                self.framework.name
            )),
            None => {
                self.open.push(token.to_owned());
                Ok(())
            }
        }
    }

    /// Whether it is the type or the name of a model. Of a name that is not known, its family is asked about, in the format that it tells.
    pub(super) fn take_model(&mut self, base: &RuleBase, token: &str) -> Result<bool, String> {
        if let Some((key, value)) = meaning::model_type(base, &self.framework.id, token) {
            return self.say(key, value).map(|()| true);
        }
        if let Some(model) = model::spelling(token) {
            self.models.push(model);
            return Ok(true);
        }
        let Some(family) = names::Family::of(base, &self.framework.id, token) else {
            return Ok(false);
        };
        match family.name {
            Some(name) => {
                self.take_model(base, &name)?;
                self.unheard.push(format!("{} of {token}", family.ends.join("-")));
            }
            None => self.open.push(token.to_owned()),
        }
        if let Some(format) = family.format.filter(|_| !self.said.contains_key("quantization")) {
            self.take_word(base, format)?;
        }
        Ok(true)
    }
}
