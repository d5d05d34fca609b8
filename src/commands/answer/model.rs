//! A model in a few lines: which it is, what was read of it, and what of that answers depend on.

use warpscope_probes::model::Model;

use crate::commands::answer::text::{Style, field};
use crate::text::bytes;

/// The lines above the answers about a model.
pub(crate) fn model_text(model: &Model, style: Style) -> String {
    let mut text = format!("model {}\n", style.clean(&model.name));
    field(&mut text, "asked", &model.settings.to_string(), style);
    let weights = model.weight_bytes.map(|size| ("weights", bytes(size)));
    let details = model.details.iter().map(|(name, phrase)| (*name, phrase.clone()));
    let lines: Vec<_> =
        details.chain(weights).map(|(name, what)| format!("{name}: {what}")).collect();
    field(&mut text, "read", &lines.join("; "), style);
    text.push('\n');
    text
}
