//! A name behind a framework: its backend, a package below it, the same framework by another name, or a second question.

use warpscope_probes::rules::RuleBase;

use super::asked::Asked;
use super::package;
use super::word::{find, generation};
use crate::engine::vocabulary::plain;

/// What every framework runs on: that one does says nothing of it.
const BELOW_ALL: &[&str] = &["cublas", "cuda", "cudnn", "nccl", "torch"];

impl Asked<'_> {
    /// Whether a framework that was named without a release is a part of this one.
    pub(super) fn take_part(&mut self, base: &RuleBase, token: &str) -> bool {
        let named = find(base, token).or_else(|| generation(base, token).map(|one| one.0));
        let Some(named) = named else { return false };
        if named.id == self.framework.id {
            return !self.is_called(token) || self.said.contains_key(&named.id);
        }
        if !package::belongs_to(base, self.framework, &named.id) {
            return false;
        }
        match &*named.id {
            "triton" => self.has_triton = true,
            id if BELOW_ALL.contains(&id) => {}
            _ => self.open.push(token.to_owned()),
        }
        true
    }

    /// Whether a release of the same framework by another name is taken: `jax==0.2.25 jaxlib==0.1.74` is one question.
    pub(super) fn take_alias(
        &mut self,
        base: &RuleBase,
        name: &str,
        version: &str,
    ) -> Result<bool, String> {
        if self.is_called(name) {
            return Ok(false);
        }
        if self.said.contains_key(&self.framework.id) {
            self.unheard.push(format!("{name} {version}"));
            return Ok(true);
        }
        name.clone_into(&mut self.name);
        self.take_release(base, Some(version)).map(|()| true)
    }

    fn is_called(&self, name: &str) -> bool {
        plain(&self.name) == plain(name)
    }
}
