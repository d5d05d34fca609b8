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
use crate::widgets::theme::Role;
use crate::worker::PathDtype;

pub(crate) use plots::decode_rates;

/// Number formats of the paths, in the order on screen.
pub const DTYPES: &[PathDtype] =
    &[PathDtype::Fp32, PathDtype::Fp16, PathDtype::Bf16, PathDtype::Int4];

/// The colour of a path.
pub fn dtype_role(dtype: PathDtype) -> Role {
    match dtype {
        PathDtype::Fp32 => Role::Fp32,
        PathDtype::Fp16 => Role::Fp16,
        PathDtype::Bf16 => Role::Bf16,
        PathDtype::Int4 => Role::Int4,
    }
}

/// Draws the tab.
pub(crate) fn render(state: &Bench, frame: &Frame, mut on: Surface<'_>) {
    let gpus: Vec<&Gpu> = state.gpus(frame).collect();
    if !gpus.is_empty() {
        let room = on.area.height;
        let selected = state.selected_gpu(frame).map_or(state.devices.cpu(), |(_, device)| device);
        let measured = !selected.results.is_empty();
        let list = on.cut_top(devices::height(gpus.len(), room, measured));
        devices::render(state, &gpus, room >= devices::FRAMED, list);
    }
    match state.selected_gpu(frame) {
        Some(gpu) => gpu::render(state, gpu, on),
        None => cpu::render(state, on),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::bench::PATHS;

    #[test]
    fn every_path_has_a_label_and_a_colour_of_its_own() {
        for (profile, dtype) in PATHS {
            assert!(!profile.is_empty());
            assert_eq!(
                DTYPES.iter().filter(|other| dtype_role(**other) == dtype_role(*dtype)).count(),
                1
            );
        }
    }
}
