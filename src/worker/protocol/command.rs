//! What a GPU child is asked, one JSON object a line on its stdin. It answers in lines of [`BenchEvent`](crate::worker::BenchEvent).

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use warpscope_kernels::gpu::decoder::{Storage, path};
use warpscope_kernels::gpu::{Shape, TunedConfigs};

use super::glob::Globs;
use super::os_paths;

/// One line of the parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "command")]
pub enum Command {
    /// Says which devices the driver shows. Makes no context.
    Devices,
    /// Says what can be asked for on the device: kernels, goals, probes and paths.
    List,
    /// Takes the device: makes the context, sets the cap, says what it costs. Every job does so by itself where it was not done.
    Acquire(Acquire),
    /// Runs the conformance cases of kernels.
    Selftest {
        /// Which kernels.
        #[serde(default)]
        kernels: Globs,
        /// Folder for what explains a wrong case: launches, mismatches, and the bytes of its buffers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<PathBuf>,
    },
    /// Times kernels.
    Kernel(Timing),
    /// Times the autotuning kernels, each in turn with the one the kernel takes by itself.
    Autotune(Timing),
    /// Runs the micro decoder.
    Decode {
        /// Way to compute, by the decoder's id: `f16.wide`.
        path: String,
        /// Weight profile.
        profile: String,
        /// Which of the two models.
        model: ModelSize,
    },
    /// Finds out how far each path reaches before it leaves the finite numbers.
    Range {
        /// Which paths.
        #[serde(default)]
        paths: Globs,
    },
    /// Measures something of ours and what it is held against, in turns.
    Goal {
        /// Which: `gemm.bf16.8192`.
        id: String,
        /// Copies of cuBLAS to hold it against, best first.
        #[serde(default, skip_serializing_if = "Vec::is_empty", with = "os_paths")]
        cublas: Vec<PathBuf>,
    },
    /// Runs live probes.
    Probe {
        /// Which, all where none is named.
        #[serde(default)]
        ids: Vec<String>,
        /// Copies of cuBLAS to ask, best first.
        #[serde(default, skip_serializing_if = "Vec::is_empty", with = "os_paths")]
        cublas: Vec<PathBuf>,
    },
    /// Ends what runs, forgets what waits and gives the device back, until something is asked again.
    Pause {
        /// Why, in words: `busy`.
        why: String,
    },
    /// Ends what runs and forgets what waits.
    Stop,
    /// Ends the child.
    Quit,
}

/// How the device is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acquire {
    /// Bytes that may be allocated; by the free memory where nothing is said.
    #[serde(default)]
    pub arena_bytes: Option<u64>,
    /// How much may be taken where nothing is said.
    #[serde(default)]
    pub mode: TimingMode,
    /// Whether it is taken although others compute on it.
    #[serde(default)]
    pub beside_others: bool,
    /// Variants of kernels chosen for it.
    #[serde(default, skip_serializing_if = "TunedConfigs::is_empty")]
    pub tuned: TunedConfigs,
}

/// What is timed and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Which kernels.
    #[serde(default)]
    pub kernels: Globs,
    /// The size; the kernel's own sizes where nothing is said.
    #[serde(default)]
    pub shape: Option<Shape>,
    /// The one variant to time; the kernel's own choice where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// How long.
    #[serde(default)]
    pub mode: TimingMode,
}

/// The two ways of timing, never mixed in one series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimingMode {
    /// A few milliseconds between somebody's keystrokes: presence, health, ratios.
    #[default]
    #[serde(rename = "pulse")]
    Burst,
    /// Warm, and long enough for a figure.
    Sustained,
}

/// The two sizes of the micro decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelSize {
    /// Small, against fp64: right or wrong.
    M0,
    /// The layer shape of a real model: how fast.
    M1,
}

impl Command {
    /// Whether it is heard at once, whatever runs.
    pub fn is_urgent(&self) -> bool {
        matches!(self, Self::Pause { .. } | Self::Stop | Self::Quit)
    }

    /// Whether the CPU has long to prepare it each time: NF4 searches for the nearest of its numbers, weight by weight. Silence then is no hang.
    pub fn is_long_prepared(&self) -> bool {
        let Self::Decode { path: id, .. } = self else { return false };
        path(id).is_some_and(|path| path.weights == Storage::Nf4)
    }
}

/// What is being done, for a sentence: `self-test of gemm.f16`.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Devices => f.write_str("asking for the devices"),
            Self::List => f.write_str("listing the work"),
            Self::Acquire(_) => f.write_str("taking the device"),
            Self::Selftest { kernels, .. } => write!(f, "self-test of {kernels}"),
            Self::Kernel(timing) => write!(f, "timing of {}", timing.kernels),
            Self::Autotune(timing) => write!(f, "autotuning {}", timing.kernels),
            Self::Decode { path, profile, .. } => write!(f, "micro decoder {path} {profile}"),
            Self::Range { paths } => write!(f, "dynamic range of {paths}"),
            Self::Goal { id, .. } => write!(f, "goal {id}"),
            Self::Probe { ids, .. } if ids.is_empty() => f.write_str("live probes"),
            Self::Probe { ids, .. } => write!(f, "live probes {}", ids.join(", ")),
            Self::Pause { .. } => f.write_str("pausing"),
            Self::Stop => f.write_str("stopping"),
            Self::Quit => f.write_str("ending"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<(Command, &'static str)> {
        let gemm = || Globs::from("gemm.*");
        let shape = Shape { m: 16, n: 32, k: 64, ..Shape::default() };
        let mode = TimingMode::Sustained;
        let timing = Timing { kernels: gemm(), shape: Some(shape), mode, ..Timing::default() };
        let forced = Timing { variant: Some("small".to_owned()), ..timing.clone() };
        let hold = Acquire { arena_bytes: Some(1 << 20), ..Acquire::default() };
        let tuned = TunedConfigs::default().forced("gemm.f16", "small");
        let tuned = Acquire { tuned, ..Acquire::default() };
        let why = "busy".to_owned();
        let (path, profile) = ("w4.bf16".to_owned(), "glm4".to_owned());
        vec![
            (Command::Devices, r#"{"command":"devices"}"#),
            (
                Command::Acquire(hold),
                r#"{"command":"acquire","arena_bytes":1048576,"mode":"pulse","beside_others":false}"#,
            ),
            (
                Command::Acquire(tuned),
                r#"{"command":"acquire","arena_bytes":null,"mode":"pulse","beside_others":false,"tuned":[{"kernel":"gemm.f16","variant":"small"}]}"#,
            ),
            (
                Command::Autotune(timing.clone()),
                r#"{"command":"autotune","kernels":"gemm.*","shape":{"m":16,"n":32,"k":64},"mode":"sustained"}"#,
            ),
            (
                Command::Kernel(forced),
                r#"{"command":"kernel","kernels":"gemm.*","shape":{"m":16,"n":32,"k":64},"variant":"small","mode":"sustained"}"#,
            ),
            (
                Command::Selftest { kernels: gemm(), evidence: None },
                r#"{"command":"selftest","kernels":"gemm.*"}"#,
            ),
            (
                Command::Selftest { kernels: gemm(), evidence: Some("/tmp/e".into()) },
                r#"{"command":"selftest","kernels":"gemm.*","evidence":"/tmp/e"}"#,
            ),
            (Command::List, r#"{"command":"list"}"#),
            (
                Command::Kernel(timing),
                r#"{"command":"kernel","kernels":"gemm.*","shape":{"m":16,"n":32,"k":64},"mode":"sustained"}"#,
            ),
            (
                Command::Decode { path, profile, model: ModelSize::M0 },
                r#"{"command":"decode","path":"w4.bf16","profile":"glm4","model":"m0"}"#,
            ),
            (Command::Range { paths: gemm() }, r#"{"command":"range","paths":"gemm.*"}"#),
            (
                Command::Goal { id: "w4.f16.m1".to_owned(), cublas: Vec::new() },
                r#"{"command":"goal","id":"w4.f16.m1"}"#,
            ),
            (
                Command::Probe { ids: vec!["gate.mma".to_owned()], cublas: Vec::new() },
                r#"{"command":"probe","ids":["gate.mma"]}"#,
            ),
            (Command::Pause { why }, r#"{"command":"pause","why":"busy"}"#),
            (Command::Stop, r#"{"command":"stop"}"#),
            (Command::Quit, r#"{"command":"quit"}"#),
        ]
    }

    #[test]
    fn requests_are_written_like_this_and_read_back() {
        for (request, line) in all() {
            assert_eq!(serde_json::to_string(&request).expect("serialises"), line);
            assert_eq!(serde_json::from_str::<Command>(line).expect("reads"), request);
            assert!(!request.to_string().is_empty());
        }
    }

    #[test]
    fn a_library_may_have_any_name() {
        use std::os::unix::ffi::OsStringExt;
        let odd = std::ffi::OsString::from_vec(b"/lib \xff/libcublas.so".to_vec());
        let cublas = vec![odd.into(), PathBuf::from("/usr/lib/libcublas.so")];
        let request = Command::Goal { id: "any".to_owned(), cublas };
        let line = serde_json::to_string(&request).expect("serialises");
        assert!(line.contains("\"/usr/lib/libcublas.so\""), "{line}");
        assert_eq!(serde_json::from_str::<Command>(&line).expect("reads"), request);
    }

    #[test]
    fn what_is_left_out_means_everything() {
        for (line, want) in [
            (r#"{"command":"acquire"}"#, Command::Acquire(Acquire::default())),
            (
                r#"{"command":"selftest"}"#,
                Command::Selftest { kernels: Globs::default(), evidence: None },
            ),
            (r#"{"command":"kernel"}"#, Command::Kernel(Timing::default())),
            (r#"{"command":"probe"}"#, Command::Probe { ids: Vec::new(), cublas: Vec::new() }),
        ] {
            assert_eq!(serde_json::from_str::<Command>(line).expect(line), want);
        }
    }

    #[test]
    fn other_lines_are_errors() {
        for line in ["", "{}", "stop", r#"{"command":"format"}"#, r#"{"command":"pause"}"#] {
            assert!(serde_json::from_str::<Command>(line).is_err(), "{line}");
        }
    }

    #[test]
    fn what_ends_work_does_not_wait_for_it() {
        let urgent: Vec<_> = all().into_iter().filter(|row| row.0.is_urgent()).collect();
        assert_eq!(urgent.len(), 3);
    }
}
