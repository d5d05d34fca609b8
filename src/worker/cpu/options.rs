//! What a CPU worker measures, and how its parent says so.

use warpscope_kernels::cpu::FORMATS;
use warpscope_kernels::model::{LIVE_PROFILES, PROFILES, Profile};

use crate::worker::precision::precision_of;
use crate::worker::protocol::{Acquire, Command, ModelSize, PathDtype};

/// The only device of this kind.
pub const CPU: &str = "cpu";

/// How a CPU is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Beside other work, within a budget: each path runs once per command.
    Live,
    /// Without rest: each path runs as often as a comparison needs.
    Once,
}

/// What a CPU worker measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuOptions {
    /// Weight profiles to run.
    pub profiles: Vec<Profile>,
    /// Number formats to run.
    pub dtypes: Vec<PathDtype>,
    /// How.
    pub mode: Mode,
}

/// A value that names nothing the benchmark knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} {given:?}; known: {}", known.join(", "))]
pub struct OptionError {
    /// What was asked for: `device`.
    pub what: &'static str,
    /// The value given.
    pub given: String,
    /// Values that would do.
    pub known: Vec<&'static str>,
}

/// The values that words name, each once; those of `default` where there is none.
fn list<T: Copy + PartialEq>(
    what: &'static str,
    words: &[String],
    all: &[(T, &'static str)],
    default: impl Iterator<Item = T>,
) -> Result<Vec<T>, OptionError> {
    let mut out = Vec::new();
    for word in words.iter().flat_map(|words| words.split(',')).map(str::trim) {
        let Some((value, _)) = all.iter().find(|row| row.1 == word) else {
            let known = all.iter().map(|row| row.1).collect();
            return Err(OptionError { what, given: word.to_owned(), known });
        };
        if !out.contains(value) {
            out.push(*value);
        }
    }
    if out.is_empty() {
        out.extend(default);
    }
    Ok(out)
}

impl CpuOptions {
    /// Reads what a person wrote. Lists may be comma-separated; an empty list means all, or of the profiles those meant for every run.
    pub fn read(
        device: &str,
        profiles: &[String],
        dtypes: &[String],
        mode: Mode,
    ) -> Result<Self, OptionError> {
        if device != CPU {
            return Err(OptionError { what: "device", given: device.to_owned(), known: vec![CPU] });
        }
        Ok(Self {
            profiles: list("profile", profiles, PROFILES, LIVE_PROFILES.iter().copied())?,
            dtypes: list("dtype", dtypes, FORMATS, FORMATS.iter().map(|row| row.0))?,
            mode,
        })
    }

    /// Everything, beside other work.
    pub fn live() -> Self {
        Self {
            profiles: LIVE_PROFILES.to_vec(),
            dtypes: FORMATS.iter().map(|row| row.0).collect(),
            mode: Mode::Live,
        }
    }

    /// One command for the ceilings and one for each path; paths that share weights follow each other.
    pub fn commands(&self) -> Vec<Command> {
        let ids = self.dtypes.iter().filter_map(|dtype| precision_of(*dtype));
        let path = |id: &'static str| self.profiles.iter().map(move |profile| decode(id, *profile));
        let paths = ids.flat_map(|precision| path(precision.id));
        [Command::Acquire(Acquire::default())].into_iter().chain(paths).collect()
    }

    /// The arguments of the worker process.
    pub(crate) fn arguments(&self) -> [String; 2] {
        let dtypes: Vec<_> = self.dtypes.iter().map(|dtype| dtype.id()).collect();
        let mode = if self.mode == Mode::Live { "--live" } else { "--once" };
        [mode.to_owned(), dtypes.join(",")]
    }

    /// Reads what `CpuOptions::arguments` gives.
    pub fn from_arguments(arguments: &[String]) -> Result<Self, OptionError> {
        let mode = match arguments {
            [mode, _] if mode == "--live" => Mode::Live,
            [mode, _] if mode == "--once" => Mode::Once,
            _ => {
                let (what, given) = ("worker arguments", arguments.join(" "));
                return Err(OptionError { what, given, known: vec!["--live|--once DTYPE,…"] });
            }
        };
        Self::read(CPU, &[], &arguments[1..], mode)
    }
}

fn decode(path: &str, profile: Profile) -> Command {
    Command::Decode {
        path: path.to_owned(),
        profile: profile.id().to_owned(),
        model: ModelSize::M0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(device: &str, profile: &str, dtype: &str) -> Result<CpuOptions, String> {
        let words = |text: &str| -> Vec<String> {
            (!text.is_empty()).then(|| text.to_owned()).into_iter().collect()
        };
        CpuOptions::read(device, &words(profile), &words(dtype), Mode::Once)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn lists_are_read_in_order_and_nothing_means_all() {
        let options = read("cpu", "glm4", "bf16, fp32,bf16").expect("known");
        assert_eq!(options.profiles, [Profile::Glm4]);
        assert_eq!(options.dtypes, [PathDtype::Bf16, PathDtype::Fp32]);
        let all = read("cpu", "", "").expect("known");
        assert_eq!((all.profiles.len(), all.dtypes.len()), (2, 4));
    }

    #[test]
    fn unknown_values_name_the_known_ones() {
        for (device, profile, dtype, want) in [
            ("tpu", "", "", "unknown device \"tpu\"; known: cpu"),
            (
                "cpu",
                "gemma9",
                "",
                "unknown profile \"gemma9\"; known: clean, glm4, gemma3, kq, cancel",
            ),
            ("cpu", "", "fp32,", "unknown dtype \"\"; known: fp32, fp16, bf16, int4"),
            (
                "cpu",
                "",
                "fp\u{1b}[2J",
                "unknown dtype \"fp\\u{1b}[2J\"; known: fp32, fp16, bf16, int4",
            ),
        ] {
            assert_eq!(read(device, profile, dtype), Err(want.to_owned()));
        }
    }

    #[test]
    fn a_worker_reads_what_its_parent_wrote() {
        for mode in [Mode::Live, Mode::Once] {
            let options = CpuOptions { mode, ..read("cpu", "", "int4,fp16").expect("known") };
            assert_eq!(CpuOptions::from_arguments(&options.arguments()), Ok(options));
        }
    }
}
