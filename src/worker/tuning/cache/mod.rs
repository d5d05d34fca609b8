//! The tuning cache: tuned configs of all devices of a machine, in one file.
//!
//! A choice counts in its very [`Situation`] and in no other. Choices of another one are kept beside it, so that who goes back to a power limit or
//! a driver finds them again.

use serde::{Deserialize, Serialize};
use warpscope_kernels::gpu::{Shape, TunedConfig, TunedConfigs};

use super::choice::Choice;
use super::situation::Situation;

/// Number of the file's format.
pub const PICKS_SCHEMA: u32 = 1;
/// Most situations that are remembered; the oldest go.
const MOST_ENTRIES: usize = 64;
/// Most choices of a situation: more than all kernels have sizes, and few enough for one line to the worker.
const MOST_TUNED: usize = 256;
/// Longest name of a kernel or variant.
const LONGEST_NAME: usize = 64;

/// Every choice of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuningCache {
    /// [`PICKS_SCHEMA`] of the writer.
    pub schema: u32,
    /// One entry for each situation, the newest last.
    pub entries: Vec<Entry>,
}

impl Default for TuningCache {
    fn default() -> Self {
        Self { schema: PICKS_SCHEMA, entries: Vec::new() }
    }
}

/// What was chosen in one situation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The situation.
    pub situation: Situation,
    /// Name of the device, for a reader of the file.
    pub device: String,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// The choices.
    pub tuned: Vec<Kept>,
}

/// One choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Kernel: `gemm.f16`.
    pub kernel: String,
    /// Size it was made at.
    pub shape: Shape,
    /// Variant to take.
    pub variant: String,
    /// The one the kernel would take by itself; equal to `variant` where none is better.
    pub usual: String,
    /// Time of `variant` over that of `usual`.
    pub ratio: Option<f64>,
}

/// What counts in a situation.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookup<'a> {
    /// Nobody ever tuned this device.
    Untuned,
    /// These choices.
    Chosen(&'a Entry),
    /// There are choices, and they do not count: what differs, in words.
    Ignored(String),
}

impl TuningCache {
    /// Reads what a file holds. Names that could not be names are refused: they reach the screen.
    pub fn parse(text: &str) -> Result<Self, String> {
        let cache: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if cache.schema != PICKS_SCHEMA {
            return Err(format!("format {}; this warpscope reads {PICKS_SCHEMA}", cache.schema));
        }
        if cache.entries.len() > MOST_ENTRIES {
            return Err(format!("{} entries; at most {MOST_ENTRIES}", cache.entries.len()));
        }
        for (number, entry) in cache.entries.iter().enumerate() {
            entry.check().map_err(|why| format!("entry {}: {why}", number + 1))?;
        }
        Ok(cache)
    }

    /// What counts in a situation.
    pub fn lookup(&self, now: &Situation) -> Lookup<'_> {
        let mut of_device =
            self.entries.iter().rev().filter(|entry| entry.situation.uuid == now.uuid);
        if let Some(entry) = of_device.clone().find(|entry| entry.situation == *now) {
            return Lookup::Chosen(entry);
        }
        match of_device.next() {
            Some(newest) => Lookup::Ignored(newest.situation.differences(now).join(", ")),
            None => Lookup::Untuned,
        }
    }

    /// Keeps choices in the place of those made before at the same sizes. An autotune run that told nothing takes the old one away all the same.
    /// What could not be read back is refused.
    pub fn keep(
        &mut self,
        situation: &Situation,
        (device, at_ms): (&str, u64),
        choices: &[Choice],
    ) -> Result<(), String> {
        let place = self.entries.iter().position(|entry| entry.situation == *situation);
        let old = place.map(|place| self.entries[place].tuned.clone()).unwrap_or_default();
        let is_new = |kept: &Kept| {
            choices.iter().any(|one| one.kernel == kept.kernel && one.shape == kept.shape)
        };
        let mut tuned: Vec<Kept> = old.into_iter().filter(|kept| !is_new(kept)).collect();
        tuned.extend(choices.iter().filter_map(Kept::of));
        let surplus = tuned.len().saturating_sub(MOST_TUNED);
        tuned.drain(..surplus);
        let (situation, device) = (situation.clone(), device.to_owned());
        let entry = Entry { situation, device, at_ms, tuned };
        entry.check()?;
        place.map(|place| self.entries.remove(place));
        self.entries.push(entry);
        let surplus = self.entries.len().saturating_sub(MOST_ENTRIES);
        self.entries.drain(..surplus);
        Ok(())
    }
}

impl Entry {
    fn check(&self) -> Result<(), String> {
        if self.tuned.len() > MOST_TUNED {
            return Err(format!("{} choices; at most {MOST_TUNED}", self.tuned.len()));
        }
        let names = self.tuned.iter().flat_map(|kept| [&kept.kernel, &kept.variant]);
        // A kernel may take something by itself that is none of its variants.
        let usual = self.tuned.iter().map(|kept| &kept.usual).filter(|name| !name.is_empty());
        match names.chain(usual).chain([&self.situation.uuid]).find(|name| !is_name(name)) {
            Some(bad) => Err(format!("{bad:.80?} is no name")),
            None => Ok(()),
        }
    }

    /// How many sizes run another variant than by themselves.
    pub fn overruled(&self) -> usize {
        self.tuned.iter().filter(|kept| kept.overrules()).count()
    }

    /// The choices as kernels ask for them. Where one size of a kernel is overruled, those that are not are told too: a choice holds near its
    /// size, and would reach over to them.
    pub fn tuned(&self) -> TunedConfigs {
        let overruled =
            |kernel: &str| self.tuned.iter().any(|kept| kept.kernel == kernel && kept.overrules());
        let told = self.tuned.iter().filter(|kept| overruled(&kept.kernel));
        let picked = told.map(|kept| TunedConfig {
            kernel: kept.kernel.clone(),
            shape: Some(kept.shape),
            variant: kept.variant.clone(),
        });
        TunedConfigs::new(picked.collect())
    }
}

impl Kept {
    fn of(choice: &Choice) -> Option<Self> {
        let variant = choice.chosen.clone().filter(|name| !name.is_empty())?;
        let ratio = choice.candidates.iter().find(|candidate| candidate.variant == variant);
        Some(Self {
            kernel: choice.kernel.clone(),
            shape: choice.shape,
            ratio: ratio.and_then(|candidate| candidate.ratio),
            usual: choice.usual.clone(),
            variant,
        })
    }

    fn overrules(&self) -> bool {
        self.variant != self.usual
    }
}

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+' | '/');
    !text.is_empty() && text.len() <= LONGEST_NAME && text.chars().all(plain)
}

#[cfg(test)]
mod tests;
