//! Variants chosen before: where they are kept, and which of them count now.

use std::path::PathBuf;

use serde::Serialize;
use warpscope_kernels::gpu::TunedConfigs;
use warpscope_probes::Frame;

use crate::config::{Environment, state_folder};
use crate::io::sink::tuning_cache;
use crate::worker::DeviceHere;
use crate::worker::tuning::{Lookup, Situation, TuningCache};

/// What there is to do when choices do not count.
const AGAIN: &str = "run `warpscope bench --tune` again";

/// `$XDG_STATE_HOME/warpscope/tuned.json`; `None` where neither XDG_STATE_HOME nor HOME is set.
pub(crate) fn file(env: &Environment) -> Option<PathBuf> {
    Some(state_folder(env)?.join("tuned.json"))
}

/// Everything that was chosen on this machine. An error names the file.
pub(crate) fn cache(env: &Environment) -> Result<TuningCache, String> {
    let move_it = |why| format!("{why}; move the file away and {AGAIN}");
    file(env)
        .map_or_else(|| Ok(TuningCache::default()), |path| tuning_cache::read(&path))
        .map_err(move_it)
}

/// The circumstances of a device, as far as NVML shows them.
pub(crate) fn situation(here: &DeviceHere, frame: Option<&Frame>) -> Situation {
    match super::shown(frame, here) {
        Some((frame, gpu)) => {
            Situation::of(gpu, frame.driver.versions.driver.last().map(String::as_str))
        }
        None => Situation::unseen(&here.uuid),
    }
}

/// What tuning has to say about a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Tuned {
    /// Sizes that run another variant than by themselves.
    sizes: usize,
    /// Why what was chosen does not count; null where it does, or nothing was.
    ignored: Option<String>,
    #[serde(skip)]
    pub(crate) tuned: TunedConfigs,
}

impl Tuned {
    /// What was chosen for a device and counts now. Nothing was for a stand-in.
    pub(crate) fn of(env: &Environment, here: &DeviceHere, frame: Option<&Frame>) -> Self {
        if here.device.simulated {
            return Self::default();
        }
        let ignored = |why| Self { ignored: Some(why), ..Self::default() };
        match cache(env) {
            Ok(cache) => Self::in_force(&cache.lookup(&situation(here, frame))),
            Err(why) => ignored(why),
        }
    }

    fn in_force(force: &Lookup<'_>) -> Self {
        match force {
            Lookup::Untuned => Self::default(),
            Lookup::Chosen(entry) => {
                Self { sizes: entry.overruled(), ignored: None, tuned: entry.tuned() }
            }
            Lookup::Ignored(why) => {
                Self { ignored: Some(format!("{why}; {AGAIN}")), ..Self::default() }
            }
        }
    }

    /// For a person, where there is anything to say.
    pub(crate) fn line(&self) -> Option<String> {
        match (&self.ignored, self.sizes) {
            (Some(why), _) => Some(format!("tuned configs ignored: {why}")),
            (None, 0) => None,
            (None, 1) => Some("tuned: 1 size uses a variant other than the default".to_owned()),
            (None, sizes) => {
                Some(format!("tuned: {sizes} sizes use variants other than the default"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_count_is_said_with_the_reason_and_what_to_do() {
        let why = "driver 580.65 → 580.82".to_owned();
        let line = Tuned::in_force(&Lookup::Ignored(why)).line();
        let want =
            "tuned configs ignored: driver 580.65 → 580.82; run `warpscope bench --tune` again";
        assert_eq!(line.as_deref(), Some(want));
        assert_eq!(Tuned::in_force(&Lookup::Untuned).line(), None);
    }
}
