//! A model in a few lines: which it is, its dimensions, what was read of it, and what of that answers depend on.

use warpscope_probes::model::{Attention, LayerRun, Mlp, Model, Shape, ShapeSource};

use crate::commands::answer::text::{Style, field};
use crate::engine::Question;
use crate::text::bytes;

/// The lines above the answers about a model.
pub(crate) fn model_text(model: &Model, style: Style) -> String {
    let mut text = format!("model {}\n", style.clean(&model.name));
    field(&mut text, "asked", &model.settings.to_string(), style);
    if let Some(shape) = &model.shape {
        field(&mut text, "shape", &shape_text(shape), style);
    }
    let weights = model.weight_bytes.map(|size| ("weights", bytes(size)));
    let details = model.details.iter().map(|(name, phrase)| (*name, phrase.clone()));
    let lines: Vec<_> =
        details.chain(weights).map(|(name, what)| format!("{name}: {what}")).collect();
    field(&mut text, "read", &lines.join("; "), style);
    text.push('\n');
    text
}

/// The copies of the model that are asked about instead, in one line.
pub(crate) fn copies_text(model: &Model, asked: &[Question], style: Style) -> String {
    let mut copies: Vec<&str> = asked.iter().filter_map(|one| one.model.as_deref()).collect();
    copies.dedup();
    copies.retain(|copy| *copy != model.name);
    match copies.as_slice() {
        [] => String::new(),
        copies => style.clean(&format!("asked about its copy {}", copies.join(", "))) + "\n\n",
    }
}

/// `8.2 B parameters, 36 layers of 32 query and 8 KV heads of 128, width 4096, context 40960; sizes from its configuration`.
pub(crate) fn shape_text(shape: &Shape) -> String {
    let mut parts = vec![format!("{} parameters", billions(shape.parameters()))];
    parts.push(layers(shape));
    parts.extend(experts(shape));
    parts.push(format!("width {}, vocabulary {}", shape.hidden, shape.vocab));
    parts.extend(shape.max_context.map(|tokens| format!("context {tokens}")));
    if shape.tied_head {
        parts.push("tied head".to_owned());
    }
    let source = match shape.source {
        ShapeSource::Header => "sizes from the headers of its files",
        ShapeSource::Config => "sizes worked out from its configuration",
        ShapeSource::Table => "sizes worked out from the table of known models",
        ShapeSource::Nearest => "sizes worked out for the nearest format that is known",
    };
    format!("{}; {source}", parts.join(", "))
}

fn billions(count: u64) -> String {
    match count {
        0..1_000_000_000 => format!("{:.0} M", count as f64 / 1e6),
        _ => format!("{:.1} B", count as f64 / 1e9),
    }
}

/// Layers by what they keep of the tokens before.
fn layers(shape: &Shape) -> String {
    let mut kinds: Vec<(String, u64)> = Vec::new();
    for LayerRun { count, attention, .. } in &shape.layers {
        let kind = kept(*attention);
        match kinds.iter_mut().find(|row| row.0 == kind) {
            Some(row) => row.1 += count,
            None => kinds.push((kind, *count)),
        }
    }
    let rows: Vec<_> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    match rows.as_slice() {
        [_] => format!("{} layers {}", shape.depth(), kinds[0].0),
        _ => format!("{} layers ({})", shape.depth(), rows.join(", ")),
    }
}

fn kept(attention: Attention) -> String {
    match attention {
        Attention::Heads { heads, kv_heads, head_dim, window, .. } => {
            let window = window.map(|tokens| format!(" over the last {tokens} tokens"));
            format!(
                "with {heads} query and {kv_heads} KV heads of {head_dim}{}",
                window.unwrap_or_default()
            )
        }
        Attention::Latent { heads, rank, rope_dim, .. } => {
            format!("with {heads} heads over {} compressed values a token", rank + rope_dim)
        }
        Attention::Recurrent { state } => format!("with a state of {state} values"),
        Attention::Nothing => "without a cache".to_owned(),
    }
}

fn experts(shape: &Shape) -> Option<String> {
    shape.layers.iter().find_map(|run| match run.mlp {
        Mlp::Experts { routed, active, .. } => {
            Some(format!("{active} of {routed} experts a token"))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_one_line() {
        for (id, line) in [
            (
                "Qwen/Qwen3-8B",
                "8.2 B parameters, 36 layers with 32 query and 8 KV heads of 128, width 4096, vocabulary 151936, context 40960; \
                 sizes worked out from the table of known models",
            ),
            (
                "openai/gpt-oss-20b",
                "20.9 B parameters, 24 layers (12 with 64 query and 8 KV heads of 64 over the last 128 tokens, \
                 12 with 64 query and 8 KV heads of 64), 4 of 32 experts a token, width 2880, vocabulary 201088, context 131072; \
                 sizes worked out from the table of known models",
            ),
        ] {
            let shape = Model::known(id).and_then(|model| model.shape).expect("is in the table");
            assert_eq!(shape_text(&shape), line);
        }
    }
}
