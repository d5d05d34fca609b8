//! The fact tables: products, architectures, number formats; each fact with source and date.
//!
//! The files under `probes/gpus/` are part of the program, parsed at most once and only when asked
//! for, the products apart from the rest. Facts in code (`if name.contains("A1000")`) were rejected: a contributor adds a GPU without
//! touching Rust, and nothing is concluded from a name. Device facts come from the driver; these
//! tables serve what-if GPUs and what no driver tells. The build script turns the files into JSON, as it does with rules.
//! Turning them into Rust was rejected: thousands of pointers that are written anew at every start, asked for or not.

mod arch;
mod error;
mod find;
mod names;
mod part;
mod peaks;
mod support;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod toolkits_tests;
mod what_if;
mod words;

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::Deserialize;
use warpscope_kernels::{Dtype, Sm};

pub use arch::{Arch, Limits, PciRange, Variant};
pub use error::FactError;
pub use find::{FindError, MAX_COUNT};
pub use part::{ClockBasis, Confidence, Ecc, Link, Part, PciId, PeakBasis, Segment, TensorRate};
pub use peaks::{PEAKS, Peak, Peaks};
pub use support::{DtypeFact, DtypeSource, HOWS, How, Support};
pub use what_if::{DEFAULT_WHAT_IF, enrich, what_if};

macro_rules! fact_files {
    ($($name:literal),* $(,)?) => {
        /// The fact files as they are written: name and text.
        pub const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../gpus/", $name)))),*];

        /// The same as the build script leaves them, in the same order: a table of JSON a line.
        const BUILT: &[&str] =
            &[$(include_str!(concat!(env!("OUT_DIR"), "/gpus/", $name, ".json"))),*];
    };
}

fact_files!(
    "architectures.toml",
    "maxwell.toml",
    "pascal.toml",
    "volta.toml",
    "turing.toml",
    "ampere.toml",
    "ada.toml",
    "hopper.toml",
    "blackwell.toml",
    "boards.toml",
    "jetson.toml",
    "mobile.toml",
);

/// Splits a file before every `[[table]]` header, with the place of each piece. A table at a time
/// needs a few kilobytes while it is read; a file at a time leaves a megabyte of torn-up heap behind.
fn tables(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let headers = text.match_indices("\n[[").map(|(at, _)| at + 1);
    let mut starts = std::iter::once(0).chain(headers).peekable();
    std::iter::from_fn(move || {
        let start = starts.next()?;
        let end = starts.peek().copied().unwrap_or(text.len());
        Some((start, &text[start..end]))
    })
}

/// A piece of a fact file. Any file may hold any table.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FactFile {
    gpu: Vec<Part>,
    arch: Vec<Arch>,
    variant: Vec<Variant>,
    dtype: Vec<DtypeSource>,
}

/// How many of [`BUILT`], from the first, hold everything but products. The rest is read when a
/// product is asked for, which a dashboard of real GPUs never does.
const GENERAL: usize = 1;

/// Every fact, read.
#[derive(Clone, Debug)]
pub struct Catalogue {
    parts: OnceLock<Vec<Part>>,
    names: OnceLock<names::Names>,
    name_words: OnceLock<words::NameWords>,
    archs: Vec<Arch>,
    variants: Vec<Variant>,
    dtype_sources: Vec<DtypeSource>,
}

/// A fact file: name and text.
type File<'a> = (&'a str, &'a str);

impl Catalogue {
    /// The facts that come with the program; parsed by whoever asks first.
    pub fn load() -> &'static Self {
        static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
        CATALOGUE.get_or_init(|| {
            let mut general = Self::built_in(&BUILT[..GENERAL]);
            general.parts = OnceLock::new();
            general
        })
    }

    fn built_in(files: &[&str]) -> Self {
        let mut all = Self::empty();
        let mut parts = Vec::new();
        for table in files.iter().flat_map(|file| file.lines()) {
            let mut file: FactFile =
                serde_json::from_str(table).expect("the tests read every table of the program");
            parts.append(&mut file.gpu);
            all.take(file);
        }
        parts.shrink_to_fit();
        all.parts = parts.into();
        all
    }

    /// Reads fact files: pairs of name and text.
    pub fn parse(files: &[(&str, &str)]) -> Result<Self, FactError> {
        let (all, home) = Self::parse_tables(files)?;
        all.check(&home)?;
        Ok(all)
    }

    /// Reads every table; tells for each product the file it came from.
    fn parse_tables<'a>(files: &[File<'a>]) -> Result<(Self, Vec<File<'a>>), FactError> {
        let mut all = Self::empty();
        let mut parts = Vec::new();
        let mut home = Vec::new();
        for (name, text) in files {
            for (start, table) in tables(text) {
                let mut file: FactFile = toml::from_str(table).map_err(|error| {
                    let at = start + error.span().unwrap_or_default().start;
                    FactError::at(name, text, at, error.message())
                })?;
                home.resize(home.len() + file.gpu.len(), (*name, *text));
                parts.append(&mut file.gpu);
                all.take(file);
            }
        }
        all.parts = parts.into();
        Ok((all, home))
    }

    fn empty() -> Self {
        Self {
            parts: OnceLock::new(),
            names: OnceLock::new(),
            name_words: OnceLock::new(),
            archs: Vec::new(),
            variants: Vec::new(),
            dtype_sources: Vec::new(),
        }
    }

    fn take(&mut self, file: FactFile) {
        self.archs.extend(file.arch);
        self.variants.extend(file.variant);
        self.dtype_sources.extend(file.dtype);
    }

    /// What one file cannot tell: `home` holds the file each part came from.
    fn check(&self, home: &[(&str, &str)]) -> Result<(), FactError> {
        let mut owner: HashMap<String, &str> = HashMap::new();
        for (part, (file, text)) in self.parts().iter().zip(home) {
            let error = |why| FactError::of(file, text, "market_name", &part.market_name, why);
            if self.arch(part.sm).is_none() {
                return Err(error(format!("no [[arch]] has sm = \"{}\"", part.sm.cc())));
            }
            for name in part.own_names() {
                if let Some(other) = owner.insert(find::folded(name), &part.market_name) {
                    return Err(error(format!("{name:?} already means {other}")));
                }
            }
        }
        Ok(())
    }

    /// Every product, in the order of the files.
    pub fn parts(&self) -> &[Part] {
        self.parts.get_or_init(|| {
            Self::built_in(&BUILT[GENERAL..]).parts.into_inner().unwrap_or_default()
        })
    }

    /// Every compute capability.
    pub fn archs(&self) -> &[Arch] {
        &self.archs
    }

    /// What is known of a compute capability. The suffix of a target does not matter.
    pub fn arch(&self, sm: Sm) -> Option<&Arch> {
        let plain = Sm::new(sm.major, sm.minor);
        self.archs.iter().find(|arch| arch.sm == plain)
    }

    /// Limits of a compute capability: shared memory, registers, warps.
    pub fn limits(&self, sm: Sm) -> Option<&Limits> {
        self.arch(sm).map(|arch| &arch.limits)
    }

    /// Chips that can do less than their compute capability promises.
    pub fn variants(&self) -> &[Variant] {
        &self.variants
    }

    /// Where the facts about a number format come from.
    pub fn dtype_source(&self, dtype: Dtype) -> Option<&DtypeSource> {
        self.dtype_sources.iter().find(|source| source.dtype == dtype)
    }
}
