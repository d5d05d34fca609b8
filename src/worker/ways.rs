//! The ways in which the micro decoder computes on a GPU, and how they are called beside the number formats of the CPU.
//!
//! A way is written by the decoder's own id, which stays. Four of them round where the formats of the CPU do, run when none is named, and go by the name of
//! their format on screen. Making every way a [`PathDtype`] was rejected: bars, columns and recordings by format would then have rows that no CPU has.

use warpscope_kernels::gpu::decoder::{PATHS, Path, Storage, Sums, path};
use warpscope_kernels::gpu::{DeviceFacts, Element, Route};
use warpscope_kernels::model::Profile;

use super::report::{PathDtype, PathReport};

/// A way to compute.
pub type Way = &'static Path;

/// The ways that run when none is named, with the format each stands for.
const USUAL: &[(PathDtype, &str)] = &[
    (PathDtype::Fp32, "f32"),
    (PathDtype::Fp16, "f16"),
    (PathDtype::Bf16, "bf16"),
    (PathDtype::Int4, "w4"),
];

/// Every way, in the order of the decoder's table.
pub fn ways() -> impl Iterator<Item = Way> {
    PATHS.iter()
}

/// The way of an id.
pub fn way(id: &str) -> Option<Way> {
    path(id)
}

/// The way that runs for a format.
pub fn way_of(dtype: PathDtype) -> Option<Way> {
    path(USUAL.iter().find(|row| row.0 == dtype)?.1)
}

/// Whether a way runs when none is named.
pub fn is_usual(way: Way) -> bool {
    USUAL.iter().any(|row| row.1 == way.id)
}

/// The format a way is counted among.
pub fn dtype_of(way: Way) -> PathDtype {
    let same = |row: &&(PathDtype, &str)| path(row.1).is_some_and(|it| it.dtype == way.dtype);
    USUAL.iter().find(same).map_or(PathDtype::Fp32, |row| row.0)
}

/// What a way is called on screen: its format where it is the usual one of it, else its id.
pub fn label(way: Way) -> &'static str {
    USUAL.iter().find(|row| row.1 == way.id).map_or(way.id, |row| row.0.id())
}

/// Whether the arithmetic of a way can hold the numbers of a profile; where it cannot, a wrong answer is the right one.
pub fn holds(way: Way, profile: Profile) -> bool {
    let narrow = way.activations == Element::F16;
    match profile {
        Profile::Clean => true,
        // What leaves the range of fp16 is what the norms read.
        Profile::Glm4 => !narrow || way.wide,
        Profile::Gemma3 => !narrow,
        Profile::Kq | Profile::Cancel => way.sums != Sums::Fp16,
    }
}

/// Why a device does not run a way, where it does not.
pub fn absent(way: Way, device: &DeviceFacts) -> Option<String> {
    match way.route(device) {
        Route::Absent { why } => Some(why),
        // Its products of few rows go through the tiles of many, and an interpreter computes them all.
        _ if device.simulated && way.sums == Sums::Fp16 && way.weights == Storage::Dense => {
            Some("it would take the interpreter of a stand-in minutes".to_owned())
        }
        Route::Native { .. } | Route::Emulated { .. } => None,
    }
}

impl PathReport {
    /// The way it is of; that of its format where it names none.
    pub fn way(&self) -> Option<Way> {
        match &self.path {
            Some(id) => way(id),
            None => way_of(self.dtype),
        }
    }

    /// What the path is called on screen.
    pub fn label(&self) -> &'static str {
        let named = self.path.as_ref().and_then(|_| self.way());
        named.map_or(self.dtype.id(), label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_ways_round_where_their_formats_do_on_the_cpu() {
        for (dtype, id) in USUAL {
            let way = way(id).expect("is a path of the decoder");
            assert_eq!(way.format, Some(dtype.format()), "{id}");
            assert_eq!(
                (dtype_of(way), label(way), way_of(*dtype)),
                (*dtype, dtype.id(), Some(way))
            );
        }
    }

    /// By the number format the decoder's table gives.
    #[test]
    fn every_way_counts_among_the_format_of_its_weights() {
        for (id, dtype) in [
            ("f16.wide", PathDtype::Fp16),
            ("f16.acc16", PathDtype::Fp16),
            ("w4.bf16", PathDtype::Int4),
            ("awq", PathDtype::Int4),
            ("w4a8", PathDtype::Int4),
            ("nf4", PathDtype::Int4),
            ("nf4.bf16", PathDtype::Int4),
        ] {
            let way = way(id).expect("is a path of the decoder");
            assert_eq!((dtype_of(way), label(way), is_usual(way)), (dtype, id, false));
        }
        assert_eq!(ways().count(), 11, "a new way needs a row here");
    }
}
