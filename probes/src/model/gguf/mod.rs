//! The header of a GGUF file, versions 2 and 3: metadata and the list of tensors, read in one pass.
//!
//! Everything is taken from a budget of bytes, so a count that promises more than the header can hold ends at the budget. The tokenizer's
//! arrays, most of a header, are passed over without being kept.

use std::collections::BTreeMap;
use std::io::{self, Read};

use super::Facts;
use super::ggml::Type;

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
/// End of the key of a head's size; the architecture stands before it.
const KEY_LENGTH: &str = ".attention.key_length";
const HEADS: &str = ".attention.head_count";
const WIDTH: &str = ".embedding_length";
const WINDOW: &str = ".attention.sliding_window";
/// Models with this compress keys and values, and have heads of several sizes.
const LATENT: &str = ".attention.kv_lora_rank";
/// Number of files a model is split into.
const SPLIT: &str = "split.count";

/// Architecture names of llama.cpp that differ from the `model_type` of the same model.
/// Source: llama.cpp `convert_hf_to_gguf.py` and `gguf/constants.py` (`MODEL_ARCH_NAMES`), read 2026-11.
const SPELLINGS: &[(&str, &str)] = &[
    ("command-r", "cohere"),
    ("gpt-oss", "gpt_oss"),
    ("glm4moe", "glm4_moe"),
    ("qwen2moe", "qwen2_moe"),
    ("qwen2vl", "qwen2_vl"),
    ("qwen3moe", "qwen3_moe"),
];

/// Reads a header and says what it tells.
pub(super) fn describe(reader: impl Read) -> Result<Facts, String> {
    let mut input = Input { reader, left: MOST_HEADER };
    let header = Header::read(&mut input)?;
    Ok(header.facts())
}

/// What is kept of a header.
#[derive(Default)]
struct Header {
    words: BTreeMap<String, String>,
    numbers: BTreeMap<String, u64>,
    tensors: u64,
    types: BTreeMap<Type, u64>,
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
        match kind {
            4 | 10 if wanted(&key) => {
                let number = if kind == 4 { u64::from(input.u32()?) } else { input.u64()? };
                self.numbers.insert(key, number);
            }
            2 if wanted(&key) => {
                let number = u64::from(u16::from_le_bytes(input.bytes()?));
                self.numbers.insert(key, number);
            }
            8 if key == ARCHITECTURE => {
                let word = input.text(LONGEST_KEPT)?;
                self.words.insert(key, word);
            }
            kind => input.pass(kind, 0)?,
        }
        Ok(())
    }

    fn tensor(&mut self, input: &mut Input<impl Read>) -> Result<(), String> {
        let name = input.length(LONGEST_NAME)?;
        input.skip(name)?;
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
        Ok(())
    }

    fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        facts.set("quantization", "gguf");
        let architecture = self.words.get(ARCHITECTURE).map_or("", String::as_str);
        let spelling = SPELLINGS.iter().find(|row| row.0 == architecture);
        facts.set("model_type", spelling.map_or(architecture, |row| row.1));
        let number = |end: &str| self.numbers.get(&format!("{architecture}{end}")).copied();
        let shared = || number(WIDTH)?.checked_div(number(HEADS)?);
        let one_size = number(LATENT).is_none();
        if let Some(size) = number(KEY_LENGTH).or_else(shared).filter(|_| one_size) {
            facts.set("head_dim", &size.to_string());
        }
        let total = self.types.values().try_fold(0_u64, |sum, bytes| sum.checked_add(*bytes));
        facts.weight_bytes = total.filter(|_| self.tensors > 0);
        self.say_types(&mut facts);
        if let Some(window) = number(WINDOW).filter(|window| *window > 0) {
            facts.detail("sliding window", format!("{window} tokens"));
        }
        if let Some(parts) = self.numbers.get(SPLIT).filter(|parts| **parts > 1) {
            facts.detail("split", format!("into {parts} files"));
        }
        facts
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

fn wanted(key: &str) -> bool {
    key == SPLIT || [KEY_LENGTH, HEADS, WIDTH, WINDOW, LATENT].iter().any(|end| key.ends_with(end))
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

    /// Passes over a value of a type by its number.
    fn pass(&mut self, kind: u32, depth: u32) -> Result<(), String> {
        match kind {
            0 | 1 | 7 => self.skip(1),
            2 | 3 => self.skip(2),
            4..=6 => self.skip(4),
            10..=12 => self.skip(8),
            8 => {
                let length = self.u64()?;
                self.skip(length)
            }
            9 => self.pass_array(depth),
            kind => Err(format!("is damaged: there is no value of type {kind}")),
        }
    }

    fn pass_array(&mut self, depth: u32) -> Result<(), String> {
        if depth >= DEEPEST {
            return Err("is damaged: arrays within arrays without end".to_owned());
        }
        let kind = self.u32()?;
        let length = self.u64()?;
        let each = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            _ => 0,
        };
        if each > 0 {
            let bytes = length.checked_mul(each).ok_or("is damaged: an array without end")?;
            return self.skip(bytes);
        }
        for _ in 0..length {
            self.pass(kind, depth + 1)?;
        }
        Ok(())
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
