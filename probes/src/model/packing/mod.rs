//! How many bytes a quantised matrix takes, scales and zero points included, and which matrices are quantised at all.
//!
//! Sources: vLLM `model_executor/layers/quantization`, AutoGPTQ and AutoAWQ `nn_modules`, compressed-tensors `config/base.py`,
//! bitsandbytes `functional.py`, Model Optimizer `export/quant_utils.py`; read 2026-11.

mod patterns;

use serde_json::Value;

use self::patterns::Patterns;
use super::architecture::Part;
use super::quantization::WeightFormat;
use super::shape::{WeightGroup, WeightRole};

/// Lists of layers are kept for people as far as they are short.
const MOST_KEPT: usize = 32;
/// Groups of a configuration; those of Model Optimizer are as many as formats.
const MOST_GROUPS: usize = 16;

/// Bytes of one matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Layout {
    /// Bits of a value with its share of what a group of values shares.
    bits: f64,
    /// Bytes of every row.
    row: f64,
    /// Bytes of every column.
    column: f64,
    /// Sides of blocks that share a scale of four bytes.
    block: Option<[u64; 2]>,
}

impl Layout {
    const fn bits(bits: f64) -> Self {
        Self { bits, row: 0.0, column: 0.0, block: None }
    }

    fn bytes(self, part: &Part) -> u64 {
        let (rows, columns) = (part.rows as f64, part.columns as f64);
        let blocks = self.block.map_or(0, |[high, wide]| {
            part.rows.div_ceil(high).saturating_mul(part.columns.div_ceil(wide))
        });
        let one = rows * columns * self.bits / 8.0 + rows * self.row + columns * self.column;
        // A conversion from a float saturates.
        ((one + 4.0 * blocks as f64) * part.count as f64) as u64
    }
}

/// Which linear layers a format packs where no list says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Those of the text's layers.
    Layers,
    /// Routed experts.
    Experts,
    /// All but the head.
    Linears,
    /// All that no list excepts.
    Listed,
}

/// What a configuration says of how its weights are packed.
#[derive(Debug)]
pub(super) struct Packing {
    pub(super) format: WeightFormat,
    scope: Scope,
    /// First match decides; no targets are all.
    groups: Vec<(Option<Patterns>, Layout)>,
    kept: Patterns,
    head: Option<Layout>,
}

impl Packing {
    /// Reads a quantisation whose value of `quantization` is `word`; `None` for formats whose sizes are not known here.
    pub(super) fn of(config: &Value, word: &str) -> Option<Self> {
        let inner = config.get("quantization").filter(|inner| inner.is_object()).unwrap_or(config);
        let listed = listed_groups(inner, word);
        let groups = match listed.is_empty() {
            true => vec![(None, layout(inner, word)?)],
            false => listed,
        };
        let names = kept_names(inner);
        let mut format = WeightFormat {
            name: word.to_owned(),
            bits: bits(inner, word),
            group: group(inner, word),
            block: block(inner),
            reordered: is_on(inner, "desc_act") || group_weights(inner).is_some_and(has_order),
            kept: names.iter().take(MOST_KEPT).map(|name| (*name).to_owned()).collect(),
        };
        format.kept.retain(|name| name.len() <= 128);
        let scope = match word {
            "mxfp4" if inner.get("config_groups").is_none() => Scope::Experts,
            "nf4" | "fp4" | "llm_int8" => Scope::Linears,
            _ if is_listed(inner) => Scope::Listed,
            _ => Scope::Layers,
        };
        let head = match number(inner, "head_bits") {
            Some(bits) => Some(Layout::bits(bits as f64)),
            None => is_on(inner, "lm_head").then(|| groups[0].1),
        };
        Some(Self { format, scope, groups, kept: Patterns::of(&names), head })
    }

    /// Packs routed experts by another format than the rest.
    pub(super) fn with_experts_in_fp4(mut self) -> Self {
        self.groups.insert(0, (Some(Patterns::of(&["mlp.experts"])), Layout::bits(4.25)));
        self
    }

    /// The layout of a part; `None` where it stays as it is.
    fn layout(&self, part: &Part) -> Option<Layout> {
        if !part.linear || self.kept.matches(&part.name) {
            return None;
        }
        if part.role == WeightRole::Head && self.head.is_some() {
            return self.head;
        }
        let packed = match self.scope {
            Scope::Layers => !matches!(part.role, WeightRole::Head | WeightRole::Tower),
            Scope::Experts => part.role == WeightRole::Experts,
            Scope::Linears => part.role != WeightRole::Head,
            Scope::Listed => true,
        };
        let group = |(targets, _): &&(Option<Patterns>, Layout)| {
            targets.as_ref().is_none_or(|targets| targets.matches(&part.name))
        };
        self.groups.iter().find(group).map(|row| row.1).filter(|_| packed)
    }
}

/// Sums parts by role; `bytes` is the size of a value that is not packed.
pub(super) fn weigh(parts: &[Part], packing: Option<&Packing>, bytes: u64) -> Vec<WeightGroup> {
    let mut groups: Vec<WeightGroup> = Vec::new();
    for part in parts {
        let values = part.values();
        let plain = || values.saturating_mul(bytes);
        let layout = packing.and_then(|packing| packing.layout(part));
        let bytes = layout.map_or_else(plain, |layout| layout.bytes(part));
        add(&mut groups, WeightGroup { role: part.role, values, bytes });
    }
    groups.sort_by_key(|group| group.role);
    groups
}

/// Adds to the group of a role.
pub(super) fn add(groups: &mut Vec<WeightGroup>, more: WeightGroup) {
    match groups.iter_mut().find(|group| group.role == more.role) {
        Some(group) => {
            group.values = group.values.saturating_add(more.values);
            group.bytes = group.bytes.saturating_add(more.bytes);
        }
        None => groups.push(more),
    }
}

fn number(config: &Value, key: &str) -> Option<u64> {
    let value = real(config.get(key)?).filter(|real| (0.0..1e9).contains(real));
    value.map(|real| real as u64).filter(|number| (1..1 << 24).contains(number))
}

/// A number, which a few tools save as text.
fn real(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

fn is_on(config: &Value, key: &str) -> bool {
    config.get(key).and_then(Value::as_bool) == Some(true)
}

fn has_order(weights: &Value) -> bool {
    weights
        .get("actorder")
        .is_some_and(|order| !order.is_null() && order != false && order != "weight")
}

/// Whether the maker names what is not quantised, so that everything else is.
fn is_listed(config: &Value) -> bool {
    config.get("config_groups").is_some()
        || ["exclude_modules", "ignore"]
            .iter()
            .any(|key| config.get(*key).is_some_and(Value::is_array))
}

fn kept_names(config: &Value) -> Vec<&str> {
    const LISTS: &[&str] = &[
        "modules_to_not_convert",
        "llm_int8_skip_modules",
        "ignored_layers",
        "ignore",
        "exclude_modules",
        "modules_to_not_convert_fp8",
        "exclude",
    ];
    let lists = LISTS.iter().filter_map(|key| config.get(*key)?.as_array());
    let mut names: Vec<_> = lists.flatten().filter_map(Value::as_str).collect();
    let map = |key: &str| config.get(key).and_then(Value::as_object).into_iter().flatten();
    // GPTQModel marks what it leaves out; AutoRound gives it 16 bits.
    names.extend(
        map("dynamic").filter(|(name, _)| name.starts_with("-:")).map(|(name, _)| name.as_str()),
    );
    let plain =
        |one: &Value| one.get("bits").and_then(Value::as_u64).is_some_and(|bits| bits >= 16);
    names.extend(map("extra_config").filter(|(_, one)| plain(one)).map(|(name, _)| name.as_str()));
    names
}

fn group_weights(config: &Value) -> Option<&Value> {
    config.get("config_groups")?.as_object()?.values().next()?.get("weights")
}

fn bits(config: &Value, word: &str) -> Option<f64> {
    let named = ["bits", "w_bit", "nbits", "w_bits"].iter().find_map(|key| real(config.get(*key)?));
    let named = named.or_else(|| real(group_weights(config)?.get("num_bits")?));
    let named = named.filter(|bits| (0.5..=32.0).contains(bits));
    let by_word = match word {
        "awq" | "gptq" | "nf4" | "fp4" | "mxfp4" | "modelopt_fp4" | "nvfp4" => Some(4.0),
        "fp8" | "fp8_block" | "llm_int8" | "modelopt" | "fbgemm_fp8" | "eetq" | "mxfp8" => {
            Some(8.0)
        }
        "bitnet" => Some(2.0),
        _ => None,
    };
    named.or(by_word)
}

fn group(config: &Value, word: &str) -> Option<u64> {
    let named = ["group_size", "q_group_size"].iter().find_map(|key| number(config, key));
    let named = named.or_else(|| number(group_weights(config)?, "group_size"));
    let whole = ["group_size", "q_group_size"].iter().any(|key| config.get(*key).is_some());
    match word {
        "mxfp4" | "mxfp8" => Some(32),
        "modelopt_fp4" | "nvfp4" | "nvfp4a16" => Some(named.unwrap_or(16)),
        "nf4" | "fp4" => Some(64),
        "awq" | "gptq" if !whole => Some(128),
        _ => named,
    }
}

fn block(config: &Value) -> Option<[u64; 2]> {
    let weights = || group_weights(config)?.get("block_structure");
    sides(config.get("weight_block_size").or_else(weights)?)
}

/// The layout of a format by its word.
fn layout(config: &Value, word: &str) -> Option<Layout> {
    let bits = bits(config, word)?;
    let shared = |each: f64, group: Option<u64>| match group {
        Some(group) => Layout::bits(bits + each / group as f64),
        None => Layout { row: each / 8.0, ..Layout::bits(bits) },
    };
    let group = group(config, word);
    Some(match word {
        "awq" => shared(16.0 + bits, group),
        "gptq" => Layout { column: 4.0, ..shared(16.0 + bits, group) },
        // Scales are quantised too, in blocks of 256.
        "nf4" | "fp4" if is_on(config, "bnb_4bit_use_double_quant") => {
            Layout::bits(bits + 8.0 / 64.0 + 32.0 / (64.0 * 256.0))
        }
        "nf4" | "fp4" => shared(32.0, Some(64)),
        "mxfp4" | "mxfp8" | "modelopt_fp4" | "nvfp4" | "nvfp4a16" => shared(8.0, group),
        "fp8_block" => Layout { block: block(config), ..Layout::bits(bits) },
        "llm_int8" | "fbgemm_fp8" | "eetq" => Layout { row: 4.0, ..Layout::bits(bits) },
        "fp8" | "modelopt" | "exl2" | "exl3" | "bitnet" => Layout::bits(bits),
        _ => shared(16.0, group),
    })
}

/// Groups of compressed-tensors by their targets, and of Model Optimizer by its lists of layers.
fn listed_groups(config: &Value, word: &str) -> Vec<(Option<Patterns>, Layout)> {
    if let Some(layers) = config.get("quantized_layers").and_then(Value::as_object) {
        let algorithm = |one: &Value| {
            one.get("quant_algo").and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let mut kinds: Vec<_> = layers.values().map(algorithm).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let named = |kind: &String| {
            let names = layers.iter().filter(|(_, one)| algorithm(one) == **kind);
            Patterns::of(&names.map(|(name, _)| name.as_str()).collect::<Vec<_>>())
        };
        let bits = |kind: &str| if kind.contains("FP4") { 4.5 } else { 8.0 };
        let rows = kinds.iter().take(MOST_GROUPS);
        return rows.map(|kind| (Some(named(kind)), Layout::bits(bits(kind)))).collect();
    }
    let groups = config.get("config_groups").and_then(Value::as_object);
    let rows = groups.into_iter().flat_map(|groups| groups.values()).take(MOST_GROUPS);
    rows.filter_map(|group| Some((targets(group), scheme(group.get("weights")?, word)?))).collect()
}

/// Names a group is for; `None` where it is for all linear layers.
fn targets(group: &Value) -> Option<Patterns> {
    let names: Vec<_> =
        group.get("targets")?.as_array()?.iter().filter_map(Value::as_str).collect();
    let all = names.iter().any(|name| ["Linear", "FusedMoE", "MoEGMM"].contains(name));
    (!all).then(|| Patterns::of(&names))
}

/// Weights of compressed-tensors.
fn scheme(weights: &Value, word: &str) -> Option<Layout> {
    let bits = real(weights.get("num_bits")?).filter(|bits| (1.0..=16.0).contains(bits))?;
    let float = weights.get("type").and_then(Value::as_str) == Some("float");
    let zeros =
        if weights.get("symmetric").and_then(Value::as_bool) == Some(false) { bits } else { 0.0 };
    let group = number(weights, "group_size");
    let scale = if float && bits < 8.0 { 8.0 } else { 16.0 };
    let block = weights.get("block_structure").and_then(sides);
    Some(match (group, block) {
        (_, Some(sides)) => Layout { block: Some(sides), ..Layout::bits(bits) },
        (Some(group), _) => Layout::bits(bits + (scale + zeros) / group as f64),
        (None, None) if float && bits < 8.0 => {
            Layout::bits(bits + scale / if word.starts_with("mxfp4") { 32.0 } else { 16.0 })
        }
        (None, None) => Layout { row: (scale + zeros) / 8.0, ..Layout::bits(bits) },
    })
}

fn sides(block: &Value) -> Option<[u64; 2]> {
    let side = |at: usize| block.get(at)?.as_u64().filter(|side| (1..1 << 20).contains(side));
    Some([side(0)?, side(1)?])
}

#[cfg(test)]
mod tests;
