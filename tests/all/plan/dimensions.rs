//! Shapes from the columns of the tables, by arithmetic of their own.

use std::collections::BTreeMap;

use warpscope::engine::Target;
use warpscope::engine::plan::Device;
use warpscope_probes::catalogue::{Catalogue, what_if};
use warpscope_probes::driver::Driver;
use warpscope_probes::model::{
    Attention, LayerRun, Mlp, Shape, ShapeSource, WeightFormat, WeightGroup, WeightRole,
};

/// A row by the names of its columns.
pub(super) type Row<'a> = BTreeMap<&'a str, &'a str>;

/// The rows of a table whose lines begin with its head; lines with `#` are remarks.
pub(super) fn rows(text: &str) -> Vec<Row<'_>> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let head: Vec<_> = lines.next().expect("a head").split(',').collect();
    lines.map(|line| head.iter().copied().zip(line.split(',')).collect()).collect()
}

/// A number of a column; zero where the table has none.
pub(super) fn number(row: &Row<'_>, column: &str) -> f64 {
    row.get(column).and_then(|text| text.parse().ok()).unwrap_or(0.0)
}

fn whole(row: &Row<'_>, column: &str) -> u64 {
    number(row, column) as u64
}

/// Bits of a linear weight, whether the ends are packed too, and what the format is called.
const FORMATS: &[(&str, f64, bool, &str)] = &[
    ("16", 16.0, false, ""),
    ("16kv8", 16.0, false, ""),
    ("32", 32.0, true, ""),
    ("awq", 4.156, false, "awq"),
    ("gptq", 4.17, false, "gptq"),
    ("gptq8", 8.17, false, "gptq"),
    ("int8", 8.0, false, "w8a8_int8"),
    ("fp8", 8.0, false, "fp8"),
    ("fp8_block", 8.002, false, "fp8_block"),
    ("mxfp4", 4.25, false, "mxfp4"),
    ("nvfp4", 4.5, false, "modelopt_fp4"),
    ("nf4", 4.127, false, "nf4"),
    ("q4_0", 4.53, true, "gguf"),
    ("q4_k_m", 4.85, true, "gguf"),
    ("q3_k_m", 3.9, true, "gguf"),
    ("q6_k", 6.5625, true, "gguf"),
];

/// The shape of a row, in the format of another.
pub(super) fn shape(row: &Row<'_>, format: &str) -> Shape {
    let count = |column| whole(row, column);
    let (layers, hidden) = (count("layers"), count("hidden"));
    let (bits, ends_too, name) = FORMATS
        .iter()
        .find(|one| one.0 == format)
        .map(|one| (one.1, one.2, one.3))
        .expect("a known format");
    let ends = count("vocab") * hidden;
    let tied = count("tied") == 1;
    let heads = count("heads") * count("head_dim");
    let kv = count("kv_heads") * count("head_dim");
    let attention = if count("rank") > 0 {
        layers * hidden * (heads * 2 / 3 + heads * 2 / 3 + 1536)
    } else {
        layers * hidden * (2 * heads + 2 * kv)
    };
    let experts = layers * count("routed") * 3 * hidden * count("expert");
    let tower = count("tower");
    let linear = count("params") - ends * if tied { 1 } else { 2 } - tower;
    let small = 2 * layers * hidden;
    let experts = experts.min(linear - small - linear / 100);
    let attention = attention.min(linear - experts - small);
    let mlp = linear - experts - attention - small;
    let mut weights = Vec::new();
    let mut add = |role, values: u64, bits: f64| {
        let bytes = (values as f64 * bits / 8.0) as u64;
        weights.push(WeightGroup { role, values, bytes });
    };
    let end_bits = if ends_too { bits.max(6.0) } else { 16.0 };
    // MXFP4 packs experts alone.
    let dense = if format == "mxfp4" { 16.0 } else { bits };
    add(WeightRole::Embedding, ends, end_bits);
    if !tied {
        add(WeightRole::Head, ends, end_bits);
    }
    add(WeightRole::Attention, attention, dense);
    add(WeightRole::Mlp, mlp, dense);
    add(WeightRole::Experts, experts, bits);
    add(WeightRole::Small, small, 16.0);
    add(WeightRole::Tower, tower, 16.0);
    weights.retain(|group| group.values > 0);
    Shape {
        source: ShapeSource::Config,
        hidden,
        vocab: count("vocab"),
        max_context: Some(count("max_context")).filter(|most| *most > 0),
        tied_head: tied,
        axes_dim: 0,
        fed_layers: 0,
        layers: runs(row),
        weights,
        format: (!name.is_empty()).then(|| WeightFormat {
            name: name.to_owned(),
            bits: Some(bits),
            group: matches!(name, "awq" | "gptq").then_some(128),
            block: (name == "fp8_block").then_some([128, 128]),
            reordered: false,
            kept: Vec::new(),
        }),
    }
}

fn runs(row: &Row<'_>) -> Vec<LayerRun> {
    let count = |column| whole(row, column);
    let mlp = match count("routed") {
        0 => Mlp::Dense { intermediate: count("intermediate") },
        routed => Mlp::Experts {
            routed,
            active: count("active"),
            intermediate: count("expert"),
            shared: count("shared"),
        },
    };
    let heads = |window| Attention::Heads {
        heads: count("heads"),
        kv_heads: count("kv_heads"),
        head_dim: count("head_dim"),
        value_dim: count("head_dim"),
        window,
    };
    let run = |count, attention| LayerRun { count, attention, mlp };
    let layers = count("layers");
    if count("rank") > 0 {
        let latent = Attention::Latent {
            heads: count("heads"),
            // DeepSeek's large models compress queries to 1536, the small ones not at all.
            query_rank: (count("heads") >= 128).then_some(1536),
            rank: count("rank"),
            rope_dim: count("rope"),
            // As every DeepSeek model has them.
            key_dim: 128 + 64,
            value_dim: 128,
            index_dim: 0,
            in_flight: 0,
            unsure: false,
        };
        return vec![run(layers, latent)];
    }
    let every = count("full_every");
    if every == 0 {
        return vec![run(layers, heads(None))];
    }
    let full = layers / every;
    let other = match count("recurrent") {
        1 => Attention::Recurrent { state: 48 * 128 * 128 },
        _ => heads(Some(count("window"))),
    };
    vec![run(full, heads(None)), run(layers - full, other)]
}

/// A group of GPUs by names of the catalogue: `2xT4`, `RTX 3090;RTX 3060`.
pub(super) fn group(names: &str) -> Vec<Device> {
    let mut group = Vec::new();
    for name in names.split(';') {
        let (count, part) = Catalogue::load().parse_request(name).expect(name);
        for at in 0..count {
            let target = Target::from_gpu(&what_if(part, at), &Driver::default());
            group.push(Device::new(&target).expect("the memory is known"));
        }
    }
    group
}
