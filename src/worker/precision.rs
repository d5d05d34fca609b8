//! The precisions in which the micro decoder computes on a GPU, and how they are called beside the number formats of the CPU.
//!
//! A config is written by the decoder's own id, which stays. Four of them round where the formats of the CPU do, run when none is named, and go by the name of
//! their format on screen. Making every config a [`PathDtype`] was rejected: bars, columns and recordings by format would then have rows that no CPU has.

use warpscope_kernels::gpu::decoder::{PATHS, Path, Storage, Sums, path};
use warpscope_kernels::gpu::{DeviceFacts, Element, Route};
use warpscope_kernels::model::Profile;

use super::protocol::{PathDtype, PathReport};

/// A precision config.
pub type Precision = &'static Path;

/// The precisions that run when none is named, with the format each stands for.
const DEFAULTS: &[(PathDtype, &str)] = &[
    (PathDtype::Fp32, "f32"),
    (PathDtype::Fp16, "f16"),
    (PathDtype::Bf16, "bf16"),
    (PathDtype::Int4, "w4"),
];

/// Every config, in the order of the decoder's table.
pub fn precisions() -> impl Iterator<Item = Precision> {
    PATHS.iter()
}

/// The config with an id.
pub fn precision(id: &str) -> Option<Precision> {
    path(id)
}

/// The config that runs for a format.
pub fn precision_of(dtype: PathDtype) -> Option<Precision> {
    path(DEFAULTS.iter().find(|row| row.0 == dtype)?.1)
}

/// Whether a config runs by default.
pub fn is_default(config: Precision) -> bool {
    DEFAULTS.iter().any(|row| row.1 == config.id)
}

/// The format a config is counted among.
pub fn dtype_of(config: Precision) -> PathDtype {
    let same = |row: &&(PathDtype, &str)| path(row.1).is_some_and(|it| it.dtype == config.dtype);
    DEFAULTS.iter().find(same).map_or(PathDtype::Fp32, |row| row.0)
}

/// Label on screen: the format of a default config, else its id.
pub fn label(config: Precision) -> &'static str {
    DEFAULTS.iter().find(|row| row.1 == config.id).map_or(config.id, |row| row.0.id())
}

/// Whether the arithmetic of a config can hold the numbers of a profile; where it cannot, a wrong answer is the right one.
pub fn holds(config: Precision, profile: Profile) -> bool {
    let narrow = config.activations == Element::F16;
    match profile {
        Profile::Clean => true,
        // What leaves the range of fp16 is what the norms read.
        Profile::Glm4 => !narrow || config.wide,
        Profile::Gemma3 => !narrow,
        Profile::Kq | Profile::Cancel => config.sums != Sums::Fp16,
    }
}

/// Why a device does not run a config, where it does not.
pub fn absent(config: Precision, device: &DeviceFacts) -> Option<String> {
    match config.route(device) {
        Route::Absent { why } => Some(why),
        // Its products of few rows go through the tiles of many, and an interpreter computes them all.
        _ if device.simulated && config.sums == Sums::Fp16 && config.weights == Storage::Dense => {
            Some("it would take the interpreter of a fake driver minutes".to_owned())
        }
        Route::Native { .. } | Route::Emulated { .. } => None,
    }
}

impl PathReport {
    /// Its precision config; the default one of its format where it names none.
    pub fn precision(&self) -> Option<Precision> {
        match &self.path {
            Some(id) => precision(id),
            None => precision_of(self.dtype),
        }
    }

    /// What the path is called on screen.
    pub fn label(&self) -> &'static str {
        let named = self.path.as_ref().and_then(|_| self.precision());
        named.map_or(self.dtype.id(), label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_configs_round_where_their_formats_do_on_the_cpu() {
        for (dtype, id) in DEFAULTS {
            let config = precision(id).expect("is a path of the decoder");
            assert_eq!(
                (dtype_of(config), label(config), precision_of(*dtype)),
                (*dtype, dtype.id(), Some(config))
            );
        }
    }

    /// By the number format the decoder's table gives.
    #[test]
    fn every_config_counts_among_the_format_of_its_weights() {
        for (id, dtype) in [
            ("f16.wide", PathDtype::Fp16),
            ("f16.acc16", PathDtype::Fp16),
            ("w4.bf16", PathDtype::Int4),
            ("awq", PathDtype::Int4),
            ("w4a8", PathDtype::Int4),
            ("nf4", PathDtype::Int4),
            ("nf4.bf16", PathDtype::Int4),
        ] {
            let config = precision(id).expect("is a path of the decoder");
            assert_eq!((dtype_of(config), label(config), is_default(config)), (dtype, id, false));
        }
        assert_eq!(precisions().count(), 11, "a new config needs a row here");
    }
}
