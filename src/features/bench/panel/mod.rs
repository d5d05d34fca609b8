//! The micro decoder and the kernels below it at work: on the GPUs, and on the CPU beside them.
//!
//! GPUs scroll, the CPU's line stays. Without a GPU the whole tab is the CPU's.

mod below;
mod cpu;
mod devices;
mod gpu;
mod gpu_plots;
mod lines;
mod plots;
mod stage;
pub(crate) use stage::why;
mod decoded;

use warpscope_probes::{Frame, Gpu};

use super::Bench;
use crate::widgets::Surface;
use crate::widgets::layout::cut_top;
use crate::widgets::theme::Role;
use crate::worker::PathDtype;

pub(crate) use plots::decode_rates;

/// Number formats of the paths with their labels, in the order on screen.
pub const DTYPES: &[(PathDtype, &str)] = &[
    (PathDtype::Fp32, "fp32"),
    (PathDtype::Fp16, "fp16"),
    (PathDtype::Bf16, "bf16"),
    (PathDtype::Int4, "int4"),
];

/// The colour of a path.
pub fn dtype_role(dtype: PathDtype) -> Role {
    match dtype {
        PathDtype::Fp32 => Role::Fp32,
        PathDtype::Fp16 => Role::Fp16,
        PathDtype::Bf16 => Role::Bf16,
        PathDtype::Int4 => Role::Int4,
    }
}

/// The label of a path.
pub fn dtype_label(dtype: PathDtype) -> &'static str {
    DTYPES.iter().find(|row| row.0 == dtype).map_or("", |row| row.1)
}

/// Draws the tab.
pub(crate) fn render(state: &Bench, frame: &Frame, on: Surface<'_>) {
    let Surface { look, mut area, buffer, hits } = on;
    let gpus: Vec<&Gpu> = state.gpus(frame).collect();
    if !gpus.is_empty() {
        let room = area.height;
        let place = cut_top(&mut area, devices::height(gpus.len(), room));
        devices::render(state, &gpus, look, (place, room >= devices::FRAMED), buffer, hits);
    }
    match state.selected_gpu(frame) {
        Some(on) => gpu::render(state, on, look, area, buffer, hits),
        None => cpu::render(state, look, area, buffer, hits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::bench::PATHS;

    #[test]
    fn every_path_has_a_label_and_a_colour_of_its_own() {
        for (profile, dtype) in PATHS {
            assert!(!dtype_label(*dtype).is_empty() && !profile.is_empty());
            assert_eq!(
                DTYPES.iter().filter(|row| dtype_role(row.0) == dtype_role(*dtype)).count(),
                1
            );
        }
    }
}
