use serde_json::Value;

use super::families::{Family, family};

/// Spellings of what every configuration has.
pub(super) const DEPTH: &[&str] = &["num_hidden_layers", "n_layer", "n_layers", "num_layers"];
pub(super) const WIDTH: &[&str] = &["hidden_size", "n_embd", "d_model", "model_dim", "dim"];
pub(super) const VOCABULARY: &[&str] = &["padded_vocab_size", "vocab_size"];
pub(super) const CONTEXT: &[&str] = &[
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "max_sequence_length",
    "seq_length",
    "model_max_length",
    "n_ctx",
];
pub(super) const HEADS: &[&str] = &["num_attention_heads", "n_head", "n_heads", "num_heads"];
pub(super) const KV_HEADS: &[&str] = &[
    "num_key_value_heads",
    "num_kv_heads",
    "n_head_kv",
    "n_kv_heads",
    "kv_n_heads",
    "num_query_groups",
    "num_attention_groups",
];
pub(super) const HEAD_DIM: &[&str] = &["head_dim", "attention_head_dim", "kv_channels", "d_head"];

/// Whether a GGUF file is laid out for a compressed cache.
pub(in crate::model) const COMPRESSED_CACHE: &str = "compressed_cache";
/// What stands there where some files of a model are and some are not.
pub(in crate::model) const EITHER: &str = "either";

/// Dimensions are far below this; a larger number is a mistake, and products of three stay countable.
const LARGEST: u64 = 1 << 20;
/// Numbers of tokens, which are multiplied in ways that stop at the largest number.
const MOST_TOKENS: u64 = 1 << 32;
/// Parts of a configuration that hold keys of the text model in a few families.
const INNER: &[&str] = &["attn_config", "ffn_config", "linear_attn_config", "ssm_cfg"];

/// Keys of the text model, innermost section first.
pub(super) struct Keys<'a> {
    sections: Vec<&'a Value>,
    kind: &'a str,
    family: &'static Family,
    is_nested: bool,
}

impl<'a> Keys<'a> {
    pub(super) fn new(outermost_first: &[&'a Value]) -> Self {
        let mut sections: Vec<_> = outermost_first.iter().rev().copied().collect();
        let inner = |section: &&'a Value| INNER.iter().filter_map(|key| section.get(key));
        let more: Vec<_> = sections.iter().flat_map(inner).collect();
        sections.extend(more);
        let kind = |section: &&'a Value| section.get("model_type")?.as_str();
        let kind = sections.iter().find_map(kind).unwrap_or_default();
        Self { sections, kind, family: family(kind), is_nested: outermost_first.len() > 1 }
    }

    /// The type of the text model.
    pub(super) fn kind(&self) -> &'a str {
        self.kind
    }

    pub(super) fn family(&self) -> &'static Family {
        self.family
    }

    pub(super) fn find(&self, names: &[&str]) -> Option<&'a Value> {
        let values =
            self.sections.iter().flat_map(|one| names.iter().filter_map(|name| one.get(name)));
        values.into_iter().find(|value| !value.is_null())
    }

    /// A count above zero: written, or the family's default, which only nested parts of configurations leave out.
    pub(super) fn number(&self, names: &[&str]) -> Option<u64> {
        let default = || self.family.default(names).filter(|_| self.is_nested);
        self.written(names).or_else(default).filter(|number| *number > 0)
    }

    /// A number, zero too, where it is written.
    pub(super) fn written(&self, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| number(self.find(&[name])?)).filter(|number| *number < LARGEST)
    }

    /// A number of tokens above zero: a vocabulary, a context, a window.
    pub(super) fn tokens(&self, names: &[&str]) -> Option<u64> {
        let written = names.iter().find_map(|name| number(self.find(&[name])?));
        let default = || self.family.default(names).filter(|_| self.is_nested);
        written.or_else(default).filter(|number| *number > 0)
    }

    /// The number of one layer, where layers differ in it.
    pub(super) fn number_at(&self, names: &[&str], index: u64) -> Option<u64> {
        match self.find(names).and_then(Value::as_array) {
            Some(list) => {
                at(list, index).and_then(number).filter(|number| (1..LARGEST).contains(number))
            }
            None => self.number(names),
        }
    }

    /// A number that need not be whole.
    pub(super) fn real(&self, names: &[&str]) -> Option<f64> {
        self.find(names)?.as_f64().filter(|real| real.is_finite() && *real > 0.0)
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.find(&[name])?.as_bool()
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        self.flag(name) == Some(true)
    }

    pub(super) fn text(&self, names: &[&str]) -> Option<&'a str> {
        self.find(names)?.as_str()
    }

    pub(super) fn list(&self, names: &[&str]) -> Option<&'a [Value]> {
        self.find(names)?.as_array().map(Vec::as_slice)
    }

    /// Number of layers: written, or as many as the list of their kinds has.
    pub(super) fn depth(&self) -> Option<u64> {
        let listed = || self.list(&["layers_block_type"]).map(|list| list.len() as u64);
        self.number(DEPTH).or_else(listed)
    }

    /// The value of one layer in a list; layers beyond its end are as the last.
    pub(super) fn at(&self, names: &[&str], index: u64) -> Option<&'a Value> {
        at(self.list(names)?, index)
    }

    /// Whether a list of layers names this one.
    pub(super) fn names_layer(&self, names: &[&str], index: u64) -> Option<bool> {
        let list = self.list(names)?;
        Some(list.iter().any(|value| value.as_u64() == Some(index)))
    }
}

fn at(list: &[Value], index: u64) -> Option<&Value> {
    list.get(usize::try_from(index).ok()?).or_else(|| list.last())
}

fn number(value: &Value) -> Option<u64> {
    let whole = || value.as_f64().filter(|real| real.fract() == 0.0 && *real >= 0.0);
    let number = value.as_u64().or_else(|| whole().map(|real| real as u64));
    number.filter(|number| *number < MOST_TOKENS)
}
