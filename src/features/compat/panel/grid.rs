//! How the room of the matrix is shared: the lines' own words on the left, one column per GPU.

use crate::widgets::scroll_to;

/// Fewest columns a GPU can do with: a verdict of three and a blank on either side.
const NARROWEST: u16 = 5;
/// Columns of a GPU where not all of them can be shown anyway.
const SCROLLED: u16 = 7;
/// From here on index and name stand on one line.
const ONE_LINE: u16 = 9;
/// Most columns a GPU is given.
const WIDEST: u16 = 18;
/// Columns of a configuration that are given before GPUs get more than they need.
const COMFORTABLE: u16 = 46;
/// Columns of the version.
const VERSION: u16 = 12;
/// Fewest columns of a configuration with which the version is shown.
const READABLE: u16 = 28;

/// What decides the layout besides the room.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GridRequest {
    /// Number of columns of GPUs.
    pub(crate) columns: usize,
    /// Columns of the longest configuration.
    pub(crate) config: u16,
    /// Columns of the longest name of a GPU, index included.
    pub(crate) name: u16,
    /// Selected column.
    pub(crate) selected: usize,
    /// First column of the last drawing.
    pub(crate) first: usize,
}

/// How the columns lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Columns of framework and configuration.
    pub(crate) config: u16,
    /// Columns of the version; 0 where it is left out.
    pub(crate) version: u16,
    /// Columns of each GPU.
    pub(crate) pitch: u16,
    /// First column shown.
    pub(crate) first: usize,
    /// Number of columns shown.
    pub(crate) shown: usize,
}

impl Grid {
    /// The layout for so many columns.
    pub(crate) fn new(width: u16, request: GridRequest) -> Self {
        let gpus = u16::try_from(request.columns.max(1)).unwrap_or(u16::MAX);
        let least = (width * 3 / 10).clamp(14, 30).min(request.config.max(14)).min(width);
        let room = width - least;
        let wanted = request.name.saturating_add(2).clamp(ONE_LINE, WIDEST);
        let versioned = if width >= 100 { request.config.min(COMFORTABLE) + VERSION } else { 0 };
        let beside = width.saturating_sub(versioned.max(request.config.min(COMFORTABLE))) / gpus;
        let all = if beside >= SCROLLED { beside } else { (room / gpus).min(SCROLLED) };
        let pitch = if all < NARROWEST { SCROLLED } else { all.min(wanted) };
        let shown = usize::from((room / pitch).max(1)).min(request.columns);
        let lead = width - (shown as u16 * pitch).min(width);
        let version = if lead >= READABLE + VERSION { VERSION } else { 0 };
        Self {
            config: (lead - version).min(request.config.max(14)),
            version,
            pitch,
            first: scroll_to(request.first, Some(request.selected), request.columns, shown),
            shown,
        }
    }

    /// Whether index and name have a line each.
    pub(crate) fn stacked(&self) -> bool {
        self.pitch < ONE_LINE
    }

    /// First cell of a column that is shown, counted from the left of the matrix.
    pub(crate) fn x(&self, gpu: usize) -> u16 {
        self.config + self.version + (gpu - self.first) as u16 * self.pitch
    }

    /// The columns shown.
    pub(crate) fn columns(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.shown
    }

    /// Columns a matrix needs to show every GPU with room to spare.
    pub(crate) fn comfortable(request: GridRequest) -> u16 {
        let gpus = u16::try_from(request.columns.max(1)).unwrap_or(u16::MAX);
        (request.config.min(COMFORTABLE) + VERSION).saturating_add(gpus.saturating_mul(ONE_LINE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(gpus: usize) -> GridRequest {
        GridRequest { columns: gpus, config: 52, name: 12, ..GridRequest::default() }
    }

    #[test]
    fn sixteen_gpus_are_seen_at_once_on_120_columns() {
        let grid = Grid::new(114, request(16));
        assert_eq!((grid.shown, grid.pitch, grid.config), (16, 5, 34));
        let grid = Grid::new(74, request(6));
        assert_eq!((grid.shown, grid.pitch, grid.config), (6, 7, 32));
    }

    #[test]
    fn one_gpu_stands_near_its_configurations() {
        let grid = Grid::new(194, request(1));
        assert_eq!((grid.config, grid.version, grid.shown), (52, VERSION, 1));
    }

    #[test]
    fn the_selected_gpu_is_in_view_and_nothing_leaves_the_room() {
        for width in 14..240 {
            for gpus in 0..40 {
                for selected in 0..gpus {
                    for first in [0, selected, gpus] {
                        let grid =
                            Grid::new(width, GridRequest { selected, first, ..request(gpus) });
                        assert!(grid.columns().contains(&selected), "{width} {gpus} {selected}");
                        assert!(grid.columns().end <= gpus);
                        let end = grid.x(grid.columns().end - 1) + grid.pitch;
                        assert!(end <= width || grid.shown == 1, "{width} {gpus} {grid:?}");
                    }
                }
            }
        }
    }
}
