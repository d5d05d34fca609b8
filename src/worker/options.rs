//! What a child is asked to do, and how that reaches it.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;

use warpscope_kernels::cpu::{FORMATS, Format};
use warpscope_kernels::model::{LIVE_PROFILES, PROFILES, Profile};

use super::report::PathDtype;

/// Devices the benchmark runs on.
pub const DEVICES: &[&str] = &["cpu"];

/// How long a child runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Until told to stop, within the budget of a guest.
    Live,
    /// Every path once, without rest.
    Once,
}

/// What a child is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerOptions {
    /// One of [`DEVICES`].
    pub device: String,
    /// Weight profiles to run.
    pub profiles: Vec<Profile>,
    /// Number formats to run.
    pub dtypes: Vec<PathDtype>,
    /// How long to run.
    pub mode: Mode,
}

/// A value that names nothing the benchmark knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionError {
    /// What was asked for: `device`.
    pub what: &'static str,
    /// The value given.
    pub given: String,
    /// Values that would do.
    pub known: Vec<&'static str>,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, given, known } = self;
        write!(f, "unknown {what} {given:?}; known: {}", known.join(", "))
    }
}

impl std::error::Error for OptionError {}

impl PathDtype {
    /// Stable id: `bf16`.
    pub fn id(self) -> &'static str {
        self.format().id()
    }

    /// The kernels' name for it.
    pub fn format(self) -> Format {
        match self {
            Self::Fp32 => Format::Fp32,
            Self::Fp16 => Format::Fp16,
            Self::Bf16 => Format::Bf16,
            Self::Int4 => Format::Int4,
        }
    }
}

impl From<Format> for PathDtype {
    fn from(format: Format) -> Self {
        match format {
            Format::Fp32 => Self::Fp32,
            Format::Fp16 => Self::Fp16,
            Format::Bf16 => Self::Bf16,
            Format::Int4 => Self::Int4,
        }
    }
}

impl FromStr for PathDtype {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = || FORMATS.iter().map(|row| row.1).collect();
        let error = |_| OptionError { what: "dtype", given: text.to_owned(), known: known() };
        text.parse::<Format>().map(Self::from).map_err(error)
    }
}

fn profile(text: &str) -> Result<Profile, OptionError> {
    let known = || PROFILES.iter().map(|row| row.1).collect();
    let error = |_| OptionError { what: "profile", given: text.to_owned(), known: known() };
    text.parse().map_err(error)
}

/// Reads comma-separated lists; without any value, everything that is known. The order is the given one, without repetition.
fn list<T: PartialEq>(
    values: &[String],
    all: impl Iterator<Item = T>,
    read: impl Fn(&str) -> Result<T, OptionError>,
) -> Result<Vec<T>, OptionError> {
    let mut out = Vec::new();
    for word in values.iter().flat_map(|value| value.split(',')) {
        let value = read(word.trim())?;
        if !out.contains(&value) {
            out.push(value);
        }
    }
    if out.is_empty() {
        out.extend(all);
    }
    Ok(out)
}

impl WorkerOptions {
    /// Reads what a person or a parent wrote. Lists may be comma-separated; an empty list means all, or of the profiles
    /// those meant for every run.
    pub fn read(
        device: &str,
        profiles: &[String],
        dtypes: &[String],
        mode: Mode,
    ) -> Result<Self, OptionError> {
        if !DEVICES.contains(&device) {
            let given = device.to_owned();
            return Err(OptionError { what: "device", given, known: DEVICES.to_vec() });
        }
        Ok(Self {
            device: device.to_owned(),
            profiles: list(profiles, LIVE_PROFILES.iter().copied(), profile)?,
            dtypes: list(dtypes, FORMATS.iter().map(|row| row.0.into()), str::parse)?,
            mode,
        })
    }

    /// Everything on a device, live.
    pub fn live(device: &str) -> Result<Self, OptionError> {
        Self::read(device, &[], &[], Mode::Live)
    }

    /// Reads what [`WorkerOptions::arguments`] writes, without the subcommand.
    pub fn from_arguments(arguments: &[String]) -> Result<Self, OptionError> {
        let [device_flag, device, profile_flag, profiles, dtype_flag, dtypes, mode] = arguments
        else {
            return Err(unknown_arguments(arguments));
        };
        let flags = [device_flag, profile_flag, dtype_flag].map(String::as_str);
        let mode = match mode.as_str() {
            "--live" => Mode::Live,
            "--once" => Mode::Once,
            _ => return Err(unknown_arguments(arguments)),
        };
        if flags != ["--device", "--profile", "--dtype"] {
            return Err(unknown_arguments(arguments));
        }
        Self::read(device, std::slice::from_ref(profiles), std::slice::from_ref(dtypes), mode)
    }

    /// The arguments a child reads, the subcommand first.
    pub fn arguments(&self) -> Vec<String> {
        let profiles: Vec<_> = self.profiles.iter().map(|p| p.id()).collect();
        let dtypes: Vec<_> = self.dtypes.iter().map(|d| d.id()).collect();
        let mode = match self.mode {
            Mode::Live => "--live",
            Mode::Once => "--once",
        };
        let (profiles, dtypes) = (profiles.join(","), dtypes.join(","));
        ["__worker", "--device", &self.device, "--profile", &profiles, "--dtype", &dtypes, mode]
            .map(str::to_owned)
            .to_vec()
    }
}

fn unknown_arguments(given: &[String]) -> OptionError {
    let known = vec!["--device D --profile P,… --dtype T,… --live|--once"];
    OptionError { what: "worker arguments", given: given.join(" "), known }
}

/// The command that starts a child. Its stdin takes `pause [why]`, `run` and `quit`; closing it ends the child.
pub fn worker_command(exe: &Path, options: &WorkerOptions) -> Command {
    let mut command = Command::new(exe);
    command.args(options.arguments()).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(device: &str, profile: &str, dtype: &str) -> Result<WorkerOptions, String> {
        let words = |text: &str| -> Vec<String> {
            (!text.is_empty()).then(|| text.to_owned()).into_iter().collect()
        };
        WorkerOptions::read(device, &words(profile), &words(dtype), Mode::Once)
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
    fn a_child_reads_what_its_parent_wrote() {
        for mode in [Mode::Live, Mode::Once] {
            let options =
                WorkerOptions { mode, ..read("cpu", "glm4", "int4,fp16").expect("known") };
            let arguments = options.arguments();
            assert_eq!(arguments[0], "__worker");
            let value = |name: &str| {
                let at = arguments.iter().position(|a| a == name).expect("written");
                arguments[at + 1].clone()
            };
            let mode =
                if arguments.contains(&"--live".to_owned()) { Mode::Live } else { Mode::Once };
            let (profiles, dtypes) = ([value("--profile")], [value("--dtype")]);
            let again = WorkerOptions::read(&value("--device"), &profiles, &dtypes, mode);
            assert_eq!(again, Ok(options));
        }
    }

    #[test]
    fn ids_are_those_of_the_json() {
        for (format, id) in FORMATS {
            let dtype = PathDtype::from(*format);
            assert_eq!((dtype.id(), dtype.format()), (*id, *format));
            assert_eq!(serde_json::to_string(&dtype).expect("serialises"), format!("\"{id}\""));
        }
    }
}
