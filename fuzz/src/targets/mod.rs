//! The table of targets, by the kind of data they read.

mod binaries;
mod environments;
mod errors;
mod hosts;
mod measurements;
mod models;
mod processes;
mod protocols;
mod recordings;
mod rules;
mod settings;
mod state;
mod tuning;

use crate::Trace;

/// A reader, and what must hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Targets of one group share a process and its time.
    pub group: &'static str,
    /// Its name, and that of its folder below `fuzz/seeds`.
    pub name: &'static str,
    /// Files and folders of the repository to start from as well.
    pub seeds: &'static [&'static str],
    /// Reads any bytes; panics where what it asserts does not hold.
    pub run: fn(&[u8], &mut Trace),
}

const fn target(
    group: &'static str,
    name: &'static str,
    seeds: &'static [&'static str],
    run: fn(&[u8], &mut Trace),
) -> Target {
    Target { group, name, seeds, run }
}

const BINARIES: &[&str] = &["probes/tests/binaries"];
const CONFIGS: &[&str] = &["tests/configs/valid", "tests/configs/invalid"];
const JOURNALS: &[&str] = &["tests/journals/synthetic.jsonl"];
const SMALL_RULES: &[&str] = &[
    "tests/rules/demo.toml",
    "probes/rules/cudnn.toml",
    "probes/rules/marlin.toml",
    "probes/rules/tensorrt.toml",
];

/// Every target, one line each.
pub const TARGETS: &[Target] = &[
    target("recordings", "frames", &["tests/frames"], recordings::frames),
    target("recordings", "replay", &["tests/frames"], recordings::replay),
    target("recordings", "export", &["fuzz/seeds/journal"], recordings::export),
    target("recordings", "journal", JOURNALS, recordings::journal),
    target("protocols", "record-line", JOURNALS, recordings::record_line),
    target("measurements", "points", &[], measurements::points),
    target("measurements", "output", &[], measurements::output),
    target("settings", "config", CONFIGS, settings::config),
    target("settings", "keys", &[], settings::keys),
    target("settings", "theme", &["themes"], settings::theme),
    target("rules", "rule-file", SMALL_RULES, rules::rules),
    target("rules", "versions", &[], rules::versions),
    target("rules", "error-text", &["tests/explain"], errors::text),
    target("models", "model-folder", &[], models::folder),
    target("models", "model-cache", &[], models::cache),
    target("models", "safetensors", &["probes/tests/models"], models::safetensors),
    target("models", "gguf", &["probes/tests/models"], models::gguf),
    target("images", "image", &[], environments::image),
    target("images", "layer", &[], environments::layer),
    target("images", "environment", &[], environments::environment),
    target("system", "processes", &[], processes::processes),
    target("system", "nvidia-smi", &[], hosts::nvidia_smi),
    target("system", "prometheus", &[], hosts::prometheus),
    target("binaries", "elf", BINARIES, binaries::elf),
    target("binaries", "fatbin", BINARIES, binaries::fatbin),
    target("binaries", "ar", BINARIES, binaries::ar),
    target("packages", "zip", BINARIES, binaries::zip),
    target("packages", "pe", BINARIES, binaries::pe),
    target("packages", "ptx", &["tests/tune", "probes/tests/binaries"], binaries::ptx),
    target("packages", "inflate", &["probes/tests/binaries/wheel.whl"], binaries::inflate),
    target("measurements", "spec", &["examples/tune"], tuning::spec),
    target("measurements", "tuned-output", &[], tuning::output),
    target("measurements", "numbers", &[], tuning::numbers),
    target("protocols", "events", &["tests/frames/bench-cpu.jsonl"], protocols::events),
    target("protocols", "requests", &[], protocols::requests),
    target("protocols", "tuned", &[], state::tuned),
    target("protocols", "noise", &[], state::noise),
    target("protocols", "scan-cache", &["probes/tests/binaries/scans"], state::scan),
    target("protocols", "probe-store", &[], state::probes),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{mutate::Mutator, seeds};

    #[test]
    fn names_stand_once_and_are_no_names_of_groups() {
        let names: BTreeSet<_> = TARGETS.iter().map(|target| target.name).collect();
        assert_eq!(names.len(), TARGETS.len());
        let both = TARGETS.iter().find(|target| names.contains(target.group));
        assert!(both.is_none(), "{both:?}");
    }

    /// The gate does this for minutes; here every seed, inputs that once failed among them, and a little more.
    #[test]
    fn every_target_holds_on_its_seeds_and_on_some_changes_of_them() {
        for target in TARGETS {
            let seeds = seeds::of(target);
            let mut mutator = Mutator::new(1, &seeds);
            let changed: Vec<_> = (0..100).map(|_| mutator.next(&seeds)).collect();
            for bytes in seeds.iter().chain(&changed) {
                (target.run)(bytes, &mut Trace::default());
            }
        }
    }

    /// A target that refuses all of its seeds tests nothing but its first check.
    #[test]
    fn every_target_shows_more_than_one_behaviour() {
        for target in TARGETS {
            let mut features = BTreeSet::<u64>::new();
            for bytes in seeds::of(target) {
                let mut trace = Trace::default();
                (target.run)(&bytes, &mut trace);
                features.extend(trace.features());
            }
            assert!(features.len() > 5, "{} shows {}", target.name, features.len());
        }
    }
}
