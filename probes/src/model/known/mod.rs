//! Well-known models, from the table that comes with the program: what they are when their files are not here.
//!
//! A row holds the keys of a configuration, so its sizes follow by the same code as those of a file, and a quantised sibling is the row of
//! its model with a `quantization_config`.

mod mixes;
mod named;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;

use super::shape::ShapeSource;
use super::{Facts, Model, config};

/// How alike a name has to be to be suggested.
const LIKENESS: f64 = 0.8;
/// Names people type are shorter.
const LONGEST_NAME: usize = 200;

/// Name and text of every file in `probes/models/`.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/models.rs"));

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    model: Vec<Row>,
    #[serde(default)]
    format: Vec<Format>,
    #[serde(default)]
    ollama: Vec<Listed>,
    #[serde(default)]
    gguf: Vec<Published>,
    retrieved: Option<String>,
}

/// Models with the same dimensions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    ids: Vec<String>,
    /// Parameters as the hub counts them: what the files hold, a copy of the embedding included.
    params: Option<u64>,
    source: String,
    /// How GGUF files of it are laid out, where not all of them are for a compressed cache.
    gguf_cache: Option<GgufCache>,
    config: Value,
}

/// What llama.cpp caches of GGUF files of a model with compressed attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GgufCache {
    /// Every head: they were all made before it had a compressed cache.
    Heads,
    /// Every head of some, made before, and compressed rows of others.
    Either,
}

/// Models in one quantised format, each with the model it was made of.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Format {
    name: String,
    source: String,
    /// What is left unquantised is saved in, where it differs from the model's.
    torch_dtype: Option<String>,
    /// Whether it is not known which layers its copies leave as they are.
    #[serde(default)]
    unlisted: bool,
    /// The format that copies of models with a gated delta rule have instead.
    with_delta_rule: Option<String>,
    quantization_config: Value,
    models: Vec<(String, String)>,
}

/// A name of Ollama's library.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    name: String,
    source: String,
    /// The size that the name without one stands for.
    latest: String,
    /// Its models by size, where their own names do not say.
    #[serde(default)]
    models: BTreeMap<String, String>,
    /// How its files are mixed, where a tag does not say and it is not the usual way.
    mix: Option<String>,
}

/// GGUF files that are known to be published, each with the model it was made of.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    source: String,
    models: Vec<(String, String)>,
}

#[derive(Debug, Default)]
struct Table {
    rows: Vec<Row>,
    formats: Vec<Format>,
    listed: Vec<Listed>,
    published: Vec<Published>,
    retrieved: String,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = Table::default();
        for line in FILES.iter().flat_map(|file| file.1.lines()) {
            // A line with a mistake is left to the tests, which name it.
            let line: Line = serde_json::from_str(line).unwrap_or_default();
            table.rows.extend(line.model);
            table.formats.extend(line.format);
            table.listed.extend(line.ollama);
            table.published.extend(line.gguf);
            table.retrieved = line.retrieved.unwrap_or(table.retrieved);
        }
        table
    })
}

impl Format {
    /// The configuration of a copy of a model in this format.
    fn config(&self, row: &Row) -> Value {
        let mut config = row.config.clone();
        config["quantization_config"] = self.quantization_config.clone();
        if let Some(dtype) = &self.torch_dtype {
            config["torch_dtype"] = dtype.as_str().into();
        }
        config
    }

    /// What follows for a copy of a model in this format.
    fn facts(&self, row: &Row) -> Option<Facts> {
        let mut facts = config::describe(&self.config(row), None).ok()?;
        if let Some(shape) = facts.shape.as_mut().filter(|_| self.unlisted) {
            shape.source = ShapeSource::Nearest;
        }
        Some(facts)
    }
}

impl Row {
    fn has_delta_rule(&self) -> bool {
        let text = self.config.get("text_config").unwrap_or(&self.config);
        text.get("linear_num_value_heads").is_some()
    }
}

/// What a model's name goes on with behind that of a family: `-FP8` of `GLM-5-FP8` and `glm5`; none of `GLM-5.1`.
fn behind_family<'m>(model: &'m str, family: &str) -> Option<&'m str> {
    let mut rest = model.strip_prefix("Meta-").unwrap_or(model);
    let mut letters = family.chars().filter(|letter| letter.is_alphanumeric()).peekable();
    letters.peek()?;
    for letter in letters {
        rest = rest.trim_start_matches(|next: char| !next.is_alphanumeric());
        let next = rest.chars().next().filter(|next| next.eq_ignore_ascii_case(&letter))?;
        rest = &rest[next.len_utf8()..];
    }
    (rest.is_empty() || rest.starts_with('-')).then_some(rest)
}

impl Table {
    fn format(&self, name: &str) -> Option<&Format> {
        self.formats.iter().find(|one| one.name == name)
    }

    fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.ids.iter().any(|known| known.eq_ignore_ascii_case(id)))
    }

    fn sibling(&self, id: &str) -> Option<(&Format, &Row)> {
        let of = |format: &'static Format| {
            let pair = format.models.iter().find(|pair| pair.0.eq_ignore_ascii_case(id))?;
            Some((format, self.row(&pair.1)?))
        };
        table().formats.iter().find_map(of)
    }

    /// GGUF files that are known to be published, each with its model.
    fn ggufs(&self) -> impl Iterator<Item = &(String, String)> {
        self.published.iter().flat_map(|one| &one.models)
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        let models = self.rows.iter().flat_map(|row| &row.ids);
        let siblings = self.formats.iter().flat_map(|format| &format.models).map(|pair| &pair.0);
        models.chain(siblings).map(String::as_str)
    }
}

impl Model {
    /// Hub ids of all models of the table.
    pub fn known_ids() -> impl Iterator<Item = &'static str> {
        table().ids()
    }

    /// The model of the table with this hub id, whatever the case of its letters.
    pub fn known(id: &str) -> Option<Self> {
        let table = table();
        let (row, facts, mut source) = match table.row(id) {
            Some(row) => (row, config::describe(&row.config, None).ok(), row.source.clone()),
            None => match table.sibling(id) {
                Some((format, row)) => {
                    (row, format.facts(row), format!("{}; {}", row.source, format.source))
                }
                None => return Self::known_by_name(id),
            },
        };
        source.push_str(&format!("; {}", table.retrieved));
        let facts = facts?;
        let spelling = table.ids().find(|known| known.eq_ignore_ascii_case(id))?;
        let mut model = from_table(spelling, facts, source);
        let published = row.params.map(|count| ("published parameters", count.to_string()));
        model.details.extend(published);
        Some(model)
    }

    /// A model that is not in the table, but of which its name says how it was made of one that is.
    fn known_by_name(id: &str) -> Option<Self> {
        let (facts, source) = named::Named::of(id)?.facts()?;
        Some(from_table(id, facts, format!("{source}; {}", table().retrieved)))
    }

    /// The type of all models of the table that are called so, whatever their sizes, where they are of one: `glm_moe_dsa` of `GLM-5`. Else
    /// that of those which have nothing but a size behind it: `qwen2` of `Qwen2.5`.
    pub fn type_of_family(name: &str) -> Option<&'static str> {
        type_of(|id| behind_family(id, name).is_some())
            .or_else(|| type_of(|id| behind_family(id, name).is_some_and(named::is_size)))
    }

    /// Hub ids of quantised copies of the model with this id.
    pub fn known_copies(id: &str) -> Vec<&'static str> {
        let Some(row) = table().row(id) else { return Vec::new() };
        let of_it = |pair: &&(String, String)| {
            row.ids.iter().any(|known| known.eq_ignore_ascii_case(&pair.1))
        };
        let formats = table().formats.iter();
        formats.flat_map(|format| format.models.iter().filter(of_it)).map(|pair| &*pair.0).collect()
    }

    /// What a model that Ollama serves under this name would be called on a hub: `Qwen/Qwen3-32B-GGUF:Q4_K_M` for `qwen3:32b`. Whether it is
    /// published there is not known.
    pub fn known_to_ollama(id: &str) -> Option<String> {
        named::on_hub(id)
    }

    /// The name on a hub of a model's GGUF file, where it is known to be published: `ggml-org/gemma-3-1b-it-GGUF:Q4_K_M`.
    pub fn published_gguf(id: &str) -> Option<&'static str> {
        let is_it = |pair: &&(String, String)| base(&pair.1).eq_ignore_ascii_case(base(id));
        table().ggufs().find(is_it).map(|pair| &*pair.0)
    }

    /// Whether this is the name of a GGUF file that is known to be published.
    pub fn is_published_gguf(id: &str) -> bool {
        table().ggufs().any(|pair| pair.0.eq_ignore_ascii_case(id))
    }

    /// A model of the table with the same name by somebody else, or the only one that is spelt nearly so.
    pub fn known_like(name: &str) -> Option<&'static str> {
        if name.len() > LONGEST_NAME {
            return None;
        }
        let name = name.to_ascii_lowercase();
        let base = base(&name);
        let same = table().ids().find(|id| base.eq_ignore_ascii_case(self::base(id)));
        same.or_else(|| {
            let likeness = |id: &&str| {
                let id = id.to_ascii_lowercase();
                strsim::jaro_winkler(base, self::base(&id))
                    + strsim::normalized_levenshtein(&name, &id)
            };
            let near = table().ids().map(|id| (likeness(&id), id));
            let (score, id) = near.max_by(|a, b| a.0.total_cmp(&b.0))?;
            (score > 2.0 * LIKENESS).then_some(id)
        })
    }
}

/// The type of the models of the table with such names, where they are of one.
fn type_of(is_one: impl Fn(&str) -> bool) -> Option<&'static str> {
    let is_named = |id: &String| is_one(base(id));
    let rows = table().rows.iter().filter(|row| row.ids.iter().any(is_named));
    let mut types = rows.filter_map(|row| row.config.get("model_type")?.as_str());
    let first = types.next()?;
    types.all(|one| one == first).then_some(first)
}

fn base(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

fn from_table(name: &str, facts: Facts, source: String) -> Model {
    let mut model = Model::of(name.to_owned(), facts);
    if let Some(shape) = model.shape.as_mut().filter(|one| one.source < ShapeSource::Table) {
        shape.source = ShapeSource::Table;
    }
    model.details.push(("from", format!("the table of known models ({source})")));
    model
}

#[cfg(test)]
mod tests;
