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
mod tapes;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::shell::App;
use crate::shell::draw::Hits;
use crate::widgets::Look;
use crate::widgets::layout::cut_top;
use crate::widgets::theme::Role;
use crate::worker::PathDtype;

pub use plots::DecodeRates;

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
pub fn render(app: &App, look: Look<'_>, area: Rect, buffer: &mut Buffer, hits: &mut Hits) {
    let mut area = area;
    if app.bench_gpus().next().is_some() {
        let room = area.height;
        let place = cut_top(&mut area, devices::height(app, room));
        devices::render(app, look, (place, room >= devices::FRAMED), buffer, hits);
    }
    match app.bench_gpu() {
        Some(on) => gpu::render(app, on, look, area, buffer, hits),
        None => cpu::render(app, look, area, buffer, hits),
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
