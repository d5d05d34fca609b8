use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::RUN_LOG_SCHEMA;

/// How clocks stood while samples were taken. Samples of two regimes are never compared.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum SampleMode {
    /// Short bursts, clocks on their way.
    Pulse,
    /// After clocks and power had settled.
    Sustained,
    /// As the program that measured saw fit.
    #[default]
    External,
}

impl std::fmt::Display for SampleMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Pulse => "in pulses",
            Self::Sustained => "sustained",
            Self::External => "by a program of its own",
        })
    }
}

/// A device of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Product name.
    pub name: String,
    /// `GPU-…`; none for a CPU.
    #[serde(default)]
    pub uuid: Option<String>,
    /// Compute capability: `sm_90`.
    #[serde(default)]
    pub sm: Option<String>,
    /// Video BIOS version.
    #[serde(default)]
    pub vbios: Option<String>,
}

/// Whether the working folder differs from its commit.
///
/// In JSON: nothing, a hash, `"not hashed"` or `"unknown"`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<String>", into = "Option<String>")]
pub enum Dirty {
    /// It does not differ, or there is no commit.
    #[default]
    No,
    /// It differs; a hash over what it holds.
    Hash(String),
    /// It differs by more than could be read in time.
    NotHashed,
    /// Too much would have had to be read to know.
    Unknown,
}

const NOT_HASHED: &str = "not hashed";
const UNKNOWN: &str = "unknown";

impl Dirty {
    /// As JSON and the history store have it.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::No => None,
            Self::Hash(hash) => Some(hash),
            Self::NotHashed => Some(NOT_HASHED),
            Self::Unknown => Some(UNKNOWN),
        }
    }

    /// Whether two folders of this state hold the same for certain.
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::No | Self::Hash(_))
    }
}

impl From<Option<String>> for Dirty {
    fn from(text: Option<String>) -> Self {
        match text.as_deref() {
            None => Self::No,
            Some(NOT_HASHED) => Self::NotHashed,
            Some(UNKNOWN) => Self::Unknown,
            Some(_) => Self::Hash(text.unwrap_or_default()),
        }
    }
}

impl From<Dirty> for Option<String> {
    fn from(dirty: Dirty) -> Self {
        dirty.text().map(str::to_owned)
    }
}

/// Who ran what, with what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Identity {
    /// [`RUN_LOG_SCHEMA`] of the writer.
    pub schema: u32,
    /// Tells it from runs of the same command that began in the same millisecond, on other machines too; none in older journals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name the user gave it.
    pub name: Option<String>,
    /// Milliseconds since 1970 at its start.
    pub at_ms: u64,
    /// Version of warpscope.
    pub warpscope: String,
    /// What was run.
    pub command: Vec<String>,
    /// Commit of the working folder.
    pub commit: Option<String>,
    /// Whether the working folder differs from that commit.
    pub dirty: Dirty,
    /// Environment variables that change speed.
    pub environment: BTreeMap<String, String>,
    /// Driver version.
    pub driver: Option<String>,
    /// Newest CUDA version of the driver.
    pub cuda: Option<String>,
    /// Model of the CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// How the CPU's clock is chosen: `performance`, `powersave`, `schedutil`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// GPUs of the machine, or the CPU where that was measured.
    pub devices: Vec<Device>,
    /// Hash of the kernel image, where the program that measured names one.
    pub image: Option<String>,
    /// Versions of libraries that matter.
    pub libraries: BTreeMap<String, String>,
    /// Seed of the input data.
    pub seed: Option<u64>,
    /// Whether operands came from memory and not from a cache.
    pub cold: Option<bool>,
    /// How clocks stood.
    pub regime: SampleMode,
}

impl Identity {
    /// The program and its arguments, wherever the program lies.
    pub fn command_name(&self) -> String {
        command_name(&self.command)
    }
}

/// As [`Identity::command_name`]. The micro benchmark is one command whatever it is asked to write where.
pub fn command_name(words: &[String]) -> String {
    const OWN: [&str; 2] = ["warpscope", "bench"];
    if words.get(1).is_some_and(|word| word == OWN[1]) && words[0].ends_with(OWN[0]) {
        return OWN.join(" ");
    }
    let Some((program, arguments)) = words.split_first() else { return String::new() };
    let program = Path::new(program).file_name().map(|name| name.to_string_lossy());
    let words = program.iter().map(AsRef::as_ref).chain(arguments.iter().map(String::as_str));
    words.collect::<Vec<_>>().join(" ")
}

impl Default for Identity {
    fn default() -> Self {
        Self {
            schema: RUN_LOG_SCHEMA,
            id: None,
            name: None,
            at_ms: 0,
            warpscope: String::new(),
            command: Vec::new(),
            commit: None,
            dirty: Dirty::No,
            environment: BTreeMap::new(),
            driver: None,
            cuda: None,
            cpu: None,
            governor: None,
            devices: Vec::new(),
            image: None,
            libraries: BTreeMap::new(),
            seed: None,
            cold: None,
            regime: SampleMode::default(),
        }
    }
}

/// Environment variables that change speed. Others are not written down: they may hold secrets.
pub const ENVIRONMENT: &[&str] = &[
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_FORCE_PTX_JIT",
    "CUBLAS_WORKSPACE_CONFIG",
    "NVIDIA_TF32_OVERRIDE",
    "NCCL_ALGO",
    "NCCL_PROTO",
    "OMP_NUM_THREADS",
    "PYTORCH_CUDA_ALLOC_CONF",
    "TORCH_CUDA_ARCH_LIST",
    "TRITON_PRINT_AUTOTUNING",
    "VLLM_ATTENTION_BACKEND",
    "VLLM_USE_V1",
];

impl Identity {
    /// Takes from an environment what may be written down.
    pub fn take_environment(&mut self, get: impl Fn(&str) -> Option<String>) {
        let known = ENVIRONMENT.iter().filter_map(|name| Some(((*name).to_owned(), get(name)?)));
        self.environment = known.collect();
    }
}
