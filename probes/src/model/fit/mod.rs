//! Which configurations can load a model, and how the question then reads.

use super::Model;
use super::quantization::{QUANTIZATIONS, row, same_word};
use crate::rules::{Choice, RuleBase, Settings};

/// Keys a model settles; a configuration that names another value speaks of another model.
const FIXED: &str = "model_type";
const QUANTIZATION: &str = "quantization";
const GGUF: &str = "gguf";
/// Value of a route that has widened its weights.
const NONE: &str = "none";

impl Model {
    /// The configuration of a row of the matrix with this model in it; `None` where the row cannot load it: it names another
    /// quantisation or another model, or its framework knows nothing of this quantisation.
    pub fn in_row(&self, base: &RuleBase, framework: &str, row: &Settings) -> Option<Settings> {
        let other = |(named, own)| named != own;
        if row.get(FIXED).zip(self.settings.get(FIXED)).is_some_and(other) {
            return None;
        }
        let named = row.get(QUANTIZATION).filter(|word| *word != NONE);
        let Some(own) = self.settings.get(QUANTIZATION) else {
            return named.is_none_or(is_applied_at_load).then(|| row.with(&self.settings));
        };
        let spoken = || spoken(base, framework, own);
        let word = match named {
            Some(word) if same_word(word, own) || is_kernel_of(word, own) => Some(word.to_owned()),
            Some(word) => spoken().filter(|best| best == word),
            None => spoken(),
        };
        let mut settings = row.with(&self.settings);
        settings.set(QUANTIZATION, &word?).ok()?;
        Some(settings)
    }

    /// A configuration somebody asked for by name, with this model in it, or what contradicts it.
    pub fn asked(
        &self,
        base: &RuleBase,
        framework: &str,
        asked: &Settings,
    ) -> Result<Settings, String> {
        if let Some(settings) = self.in_row(base, framework, asked) {
            return Ok(settings);
        }
        if let Some(settings) = self.by_coarser_name(base, framework, asked) {
            return Ok(settings);
        }
        for key in [FIXED, QUANTIZATION] {
            let Some(wanted) = asked.get(key).filter(|word| *word != NONE) else { continue };
            let own = self.settings.get(key).unwrap_or("not quantised");
            if key == QUANTIZATION
                && wanted != own
                && wanted == GGUF
                && runs_only_gguf(base, framework)
            {
                return Err(self.is_no_gguf(base, framework));
            }
            if wanted != own {
                return Err(format!("{key} {wanted} was asked for, and {} is {own}", self.name));
            }
        }
        // Nothing contradicts it; the framework has only nothing to say of the quantisation.
        Ok(asked.with(&self.settings))
    }

    /// The same where the quantisation that was named is what people call the model's own: `fp8` for `fp8_block`.
    fn by_coarser_name(
        &self,
        base: &RuleBase,
        framework: &str,
        asked: &Settings,
    ) -> Option<Settings> {
        let wanted = asked.get(QUANTIZATION)?;
        let own = self.settings.get(QUANTIZATION)?;
        row(own)?.coarse.iter().find(|coarse| same_word(coarse, wanted))?;
        let mut finer = asked.clone();
        finer.set(QUANTIZATION, &spoken(base, framework, own)?).ok()?;
        self.in_row(base, framework, &finer)
    }

    fn is_no_gguf(&self, base: &RuleBase, framework: &str) -> String {
        let name = base.framework(framework).map_or(framework, |one| &one.name);
        format!(
            "{name} runs GGUF files; {} is saved as safetensors, so name a GGUF of it: --model OWNER/NAME-GGUF:Q4_K_M",
            self.name
        )
    }
}

/// Whether every row of a framework is about GGUF files.
fn runs_only_gguf(base: &RuleBase, framework: &str) -> bool {
    let mut rows = base.configs().iter().filter(|row| row.framework == framework);
    rows.all(|row| row.settings.get(QUANTIZATION) == Some(GGUF))
}

fn is_applied_at_load(word: &str) -> bool {
    let names = |row: &&super::Quantization| row.word == word || row.coarse.contains(&word);
    QUANTIZATIONS.iter().filter(|row| row.at_load).any(|row| names(&row))
}

/// Whether the word means the weights of `own` through another kernel.
fn is_kernel_of(word: &str, own: &str) -> bool {
    row(own).is_some_and(|row| row.also.iter().any(|also| same_word(also, word)))
}

/// The word for a quantisation that the framework's rules or rows use: `fp8` where they know no `fp8_block`.
fn spoken(base: &RuleBase, framework: &str, own: &str) -> Option<String> {
    let rules = base.rules_of(framework).flat_map(|rule| rule.selector.iter());
    let of_rules =
        rules.filter(|(key, _)| *key == QUANTIZATION).flat_map(|(_, choice)| match choice {
            Choice::OneOf(words) => words.as_slice(),
            Choice::Within(_) => &[],
        });
    let rows = base.configs().iter().filter(|row| row.framework == framework);
    let of_rows = rows.filter_map(|row| row.settings.get(QUANTIZATION));
    let words: Vec<&str> = of_rules.map(String::as_str).chain(of_rows).collect();
    let others = row(own).into_iter().flat_map(|row| row.also.iter().chain(row.coarse));
    let known = |wanted: &str| words.iter().find(|word| same_word(word, wanted));
    std::iter::once(own).chain(others.copied()).find_map(known).map(|word| (*word).to_owned())
}

#[cfg(test)]
mod tests;
