//! The header of a GGUF file, versions 2 and 3: metadata and the list of tensors, read in one pass.
//!
//! Everything is taken from a budget of bytes, so a count that promises more than the header can hold ends at the budget. The tokenizer's
//! arrays, most of a header, are passed over without being kept.

mod keys;
mod names;

use std::collections::BTreeMap;
use std::io::{self, Read};

use serde_json::Value;

use super::architecture::Architecture;
use super::ggml::Type;
use super::quantization::WeightFormat;
use super::shape::{Shape, ShapeSource, WeightGroup, WeightRole};
use super::{Facts, packing};

/// First bytes of every GGUF file.
pub(super) const MAGIC: [u8; 4] = *b"GGUF";
/// Headers are some megabytes, nearly all of them the vocabulary.
const MOST_HEADER: u64 = 256 << 20;
/// The format's own limit for keys.
const LONGEST_NAME: u64 = 65_535;
/// Values kept are names of architectures and the like.
const LONGEST_KEPT: u64 = 256;
/// The format has four; more would be a misreading.
const MOST_DIMENSIONS: u32 = 8;
/// Arrays of arrays of arrays do not occur.
const DEEPEST: u32 = 4;

/// Key of the architecture.
const ARCHITECTURE: &str = "general.architecture";
/// Key of the vocabulary, of which only the length is kept.
const TOKENS: &str = "tokenizer.ggml.tokens";
/// Number of files a model is split into.
const SPLIT: &str = "split.count";
/// Keys of an architecture are some dozens.
const MOST_KEYS: usize = 512;
/// Lists kept have a number for each layer.
const MOST_LAYERS: u64 = 1024;

/// Reads a header.
pub(super) fn read(reader: impl Read) -> Result<Header, String> {
    Header::read(&mut Input { reader, left: MOST_HEADER })
}

/// What is kept of a header.
#[derive(Debug, Default)]
pub(super) struct Header {
    architecture: String,
    numbers: BTreeMap<String, u64>,
    lists: BTreeMap<String, Vec<u64>>,
    vocabulary: u64,
    tensors: u64,
    types: BTreeMap<Type, u64>,
    /// Sums by layer and role.
    sums: BTreeMap<(Option<u32>, WeightRole), (u64, u64)>,
}

impl Header {
    fn read(input: &mut Input<impl Read>) -> Result<Self, String> {
        if input.bytes::<4>()? != MAGIC {
            return Err("is no GGUF file: it does not begin with GGUF".to_owned());
        }
        match input.u32()? {
            2 | 3 => {}
            1 => return Err("is GGUF version 1; convert it with a newer llama.cpp".to_owned()),
            version if version.swap_bytes() <= 3 => {
                return Err("is a big-endian GGUF file; convert it to little-endian".to_owned());
            }
            version => return Err(format!("is GGUF version {version}; known are 2 and 3")),
        }
        let (tensors, pairs) = (input.u64()?, input.u64()?);
        let mut header = Self { tensors, ..Self::default() };
        // Both counts are believed only as far as bytes are there: every turn takes some.
        for _ in 0..pairs {
            header.pair(input)?;
        }
        for _ in 0..tensors {
            header.tensor(input)?;
        }
        Ok(header)
    }

    fn pair(&mut self, input: &mut Input<impl Read>) -> Result<(), String> {
        let key = input.text(LONGEST_NAME)?;
        let kind = input.u32()?;
        let kept = self.numbers.len() + self.lists.len() < MOST_KEYS && is_kept(&key);
        match kind {
            8 if key == ARCHITECTURE => self.architecture = input.text(LONGEST_KEPT)?,
            9 if key == TOKENS => self.vocabulary = input.array(0, None)?,
            9 if kept => {
                let mut list = Vec::new();
                input.array(0, Some(&mut list))?;
                self.lists.insert(key, list);
            }
            kind if kept => {
                if let Some(number) = input.number(kind)? {
                    self.numbers.insert(key, number);
                }
            }
            kind => input.pass(kind, 0)?,
        }
        Ok(())
    }

    fn tensor(&mut self, input: &mut Input<impl Read>) -> Result<(), String> {
        let name = input.text(LONGEST_NAME)?;
        let dimensions = input.u32()?;
        if dimensions > MOST_DIMENSIONS {
            return Err(format!("is damaged: a tensor has {dimensions} dimensions"));
        }
        let mut values = 1_u64;
        for _ in 0..dimensions {
            let side = input.u64()?;
            values =
                values.checked_mul(side).ok_or("is damaged: a tensor is too large to count")?;
        }
        let number = input.u32()?;
        input.u64()?;
        let kind = Type::of(number)
            .ok_or_else(|| format!("has a tensor of type {number}, which is not known here"))?;
        let bytes = kind.size(values).ok_or("is damaged: a tensor is too large to count")?;
        let sum = self.types.entry(kind).or_default();
        *sum = sum.checked_add(bytes).ok_or("is damaged: its tensors are too large to count")?;
        let key = names::role(&name, dimensions);
        add(self.sums.entry(key).or_default(), (values, bytes));
        Ok(())
    }

    /// Adds the tensors of another part of the same model.
    pub(super) fn add(&mut self, other: &Self) {
        self.tensors = self.tensors.saturating_add(other.tensors);
        for (kind, bytes) in &other.types {
            let sum = self.types.entry(*kind).or_default();
            *sum = sum.saturating_add(*bytes);
        }
        for (key, sums) in &other.sums {
            add(self.sums.entry(*key).or_default(), *sums);
        }
    }

    /// Bytes of the tensors; `None` where there are none.
    pub(super) fn bytes(&self) -> Option<u64> {
        let total = self.types.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
        (self.tensors > 0).then_some(total)
    }

    /// What the header tells of the model.
    pub(super) fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        facts.set("quantization", "gguf");
        facts.set("model_type", names::model_type(&self.architecture));
        let config = keys::config(self);
        let number = |key: &str| config.get(key).and_then(Value::as_u64);
        let shared = || number("hidden_size")?.checked_div(number("num_attention_heads")?);
        let one_size = number("kv_lora_rank").is_none();
        if let Some(size) = number("head_dim").or_else(shared).filter(|_| one_size) {
            facts.set("head_dim", &size.to_string());
        }
        facts.weight_bytes = self.bytes();
        facts.shape = self.shape(&config);
        self.say_types(&mut facts);
        if let Some(window) = number("sliding_window").filter(|window| *window > 0) {
            facts.detail("sliding window", format!("{window} tokens"));
        }
        if self.parts() > 1 {
            facts.detail("split", format!("into {} files", self.parts()));
        }
        facts
    }

    /// Number of files it is split into.
    pub(super) fn parts(&self) -> usize {
        self.numbers.get(SPLIT).map_or(1, |parts| usize::try_from(*parts).unwrap_or(usize::MAX))
    }

    /// Dimensions as the same model's configuration would have them, with the sizes of the tensors.
    fn shape(&self, config: &Value) -> Option<Shape> {
        let Architecture { hidden, vocab, max_context, layers, .. } = Architecture::of(&[config])?;
        let depth = layers.iter().map(|run| run.count).sum();
        let mut weights = Vec::new();
        for ((layer, role), (values, bytes)) in &self.sums {
            let drafts = layer.is_some_and(|layer| u64::from(layer) >= depth);
            let role = if drafts { WeightRole::Draft } else { *role };
            packing::add(&mut weights, WeightGroup { role, values: *values, bytes: *bytes });
        }
        weights.sort_by_key(|group| group.role);
        let tied_head = !weights.iter().any(|group| group.role == WeightRole::Head);
        let (source, format) = (ShapeSource::Header, Some(WeightFormat::gguf()));
        let known = !weights.is_empty();
        known.then_some(Shape {
            source,
            hidden,
            vocab,
            max_context,
            tied_head,
            axes_dim: 0,
            fed_layers: 0,
            layers,
            weights,
            format,
        })
    }

    /// Tensor types by their share of the bytes. Where nothing is quantised, the largest is the type of the checkpoint.
    fn say_types(&self, facts: &mut Facts) {
        let mut types: Vec<_> = self.types.iter().collect();
        types.sort_by_key(|(_, bytes)| std::cmp::Reverse(**bytes));
        let names: Vec<_> = types.iter().map(|(kind, _)| kind.name).collect();
        if !names.is_empty() {
            facts.detail("tensors", format!("{}: {}", self.tensors, names.join(", ")));
        }
        if types.iter().any(|(kind, _)| kind.is_quantised()) {
            return;
        }
        let dtype = match names.first() {
            Some(&"F32") => "fp32",
            Some(&"F16") => "fp16",
            Some(&"BF16") => "bf16",
            _ => return,
        };
        facts.set("checkpoint_dtype", dtype);
    }
}

/// Whether a key is of the architecture: numbers of tokenizers and of people are not.
fn is_kept(key: &str) -> bool {
    key == SPLIT
        || !["general.", "tokenizer.", "split.", "quantize."]
            .iter()
            .any(|start| key.starts_with(start))
}

fn add(sum: &mut (u64, u64), (values, bytes): (u64, u64)) {
    *sum = (sum.0.saturating_add(values), sum.1.saturating_add(bytes));
}

/// Bytes with a budget.
struct Input<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Input<R> {
    fn spend(&mut self, bytes: u64) -> Result<(), String> {
        self.left = self.left.checked_sub(bytes).ok_or("is damaged: its header has no end")?;
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.spend(N as u64)?;
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes).map_err(|error| cut(&error))?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, String> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// The length of a text, if it is no longer than it may be.
    fn length(&mut self, most: u64) -> Result<u64, String> {
        let length = self.u64()?;
        if length > most {
            return Err(format!("is damaged: a name of {length} bytes"));
        }
        Ok(length)
    }

    fn text(&mut self, most: u64) -> Result<String, String> {
        let length = self.length(most)?;
        self.spend(length)?;
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(length).read_to_end(&mut bytes);
        if read.map_err(|error| cut(&error))? as u64 != length {
            return Err(cut(&io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn skip(&mut self, length: u64) -> Result<(), String> {
        self.spend(length)?;
        let passed = io::copy(&mut self.reader.by_ref().take(length), &mut io::sink());
        match passed {
            Ok(passed) if passed == length => Ok(()),
            Ok(_) => Err(cut(&io::ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(cut(&error)),
        }
    }

    /// A whole number of a type; others are passed over.
    fn number(&mut self, kind: u32) -> Result<Option<u64>, String> {
        let (number, is_signed) = match kind {
            0 | 7 => (u64::from(self.bytes::<1>()?[0]), false),
            2 => (u64::from(u16::from_le_bytes(self.bytes()?)), false),
            4 => (u64::from(self.u32()?), false),
            10 => (self.u64()?, false),
            5 => (i64::from(i32::from_le_bytes(self.bytes()?)).cast_unsigned(), true),
            11 => (self.u64()?, true),
            kind => {
                self.pass(kind, 0)?;
                return Ok(None);
            }
        };
        Ok(Some(number).filter(|number| !is_signed || number.cast_signed() >= 0))
    }

    /// Passes over a value of a type by its number.
    fn pass(&mut self, kind: u32, depth: u32) -> Result<(), String> {
        match kind {
            8 => {
                let length = self.u64()?;
                self.skip(length)
            }
            9 => self.array(depth, None).map(drop),
            kind if size_of(kind) > 0 => self.skip(size_of(kind)),
            kind => Err(format!("is damaged: there is no value of type {kind}")),
        }
    }

    /// Passes over an array, keeping its numbers where there is a list for them and they are few. Returns its length.
    fn array(&mut self, depth: u32, mut list: Option<&mut Vec<u64>>) -> Result<u64, String> {
        if depth >= DEEPEST {
            return Err("is damaged: arrays within arrays without end".to_owned());
        }
        let kind = self.u32()?;
        let length = self.u64()?;
        let each = size_of(kind);
        if each > 0 && (list.is_none() || length > MOST_LAYERS) {
            let bytes = length.checked_mul(each).ok_or("is damaged: an array without end")?;
            self.skip(bytes)?;
            return Ok(length);
        }
        for _ in 0..length {
            match &mut list {
                Some(list) if each > 0 => list.push(self.number(kind)?.unwrap_or_default()),
                _ => self.pass(kind, depth + 1)?,
            }
        }
        Ok(length)
    }
}

/// Bytes of a value of a type by its number; none where values differ in length.
fn size_of(kind: u32) -> u64 {
    match kind {
        0 | 1 | 7 => 1,
        2 | 3 => 2,
        4..=6 => 4,
        10..=12 => 8,
        _ => 0,
    }
}

fn cut(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        "ends within its header; download it again".to_owned()
    } else {
        format!("cannot be read: {error}")
    }
}

#[cfg(test)]
mod tests;
