//! What was reached, under what memory and arithmetic would allow.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::canvas::Canvas;
use super::{Align, CellWriter, Look, text_width};
use crate::widgets::format;
use crate::widgets::theme::Role;

/// The ceiling of one unit: arithmetic peak, with the bandwidth that feeds it.
#[derive(Clone, Copy, Debug)]
pub struct Roof<'a> {
    /// Which unit.
    pub label: &'a str,
    /// Operations per second.
    pub peak: f64,
}

/// One measured path.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// Which path.
    pub label: &'a str,
    /// Operations per byte.
    pub intensity: f64,
    /// Operations per second.
    pub rate: f64,
    /// Its colour.
    pub role: Role,
}

/// A roofline plot, both axes logarithmic: operations per byte, operations per second.
#[derive(Clone, Copy, Debug)]
pub struct Roofline<'a> {
    /// Theme and glyphs.
    pub look: Look<'a>,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Ceilings.
    pub roofs: &'a [Roof<'a>],
    /// Measured paths; the legend names them in this order.
    pub points: &'a [Point<'a>],
}

/// The ends of both axes, as powers of ten.
#[derive(Clone, Copy)]
struct Axes {
    x: (f64, f64),
    y: (f64, f64),
}

/// A positive number, as a power of ten.
fn log(value: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then(|| value.log10())
}

/// Powers of ten of the numbers at which an axis may end: 1, 2, 5, 10.
const ENDS: [f64; 4] = [0.0, std::f64::consts::LOG10_2, 1.0 - std::f64::consts::LOG10_2, 1.0];

fn round_up(log: f64) -> f64 {
    let share = log - log.floor();
    log.floor() + ENDS.into_iter().find(|end| *end >= share).unwrap_or(1.0)
}

fn round_down(log: f64) -> f64 {
    let share = log - log.floor();
    log.floor() + ENDS.into_iter().rfind(|end| *end <= share).unwrap_or(0.0)
}

/// Where a value lies on an axis of so many steps.
fn step(value: f64, (low, high): (f64, f64), steps: u16) -> Option<u16> {
    let share = (value - low) / (high - low);
    (0.0..=1.0)
        .contains(&share)
        .then(|| (share * f64::from(steps.saturating_sub(1))).round() as u16)
}

impl Roofline<'_> {
    /// Ends that show every point and the ridge of every roof; `None` if there is nothing to show.
    fn axes(&self) -> Option<Axes> {
        let bandwidth = log(self.bandwidth)?;
        let roofs = || self.roofs.iter().filter_map(|roof| log(roof.peak));
        let x = roofs().map(|peak| peak - bandwidth);
        let x = x.chain(self.points.iter().filter_map(|point| log(point.intensity)));
        let y = roofs().chain(self.points.iter().filter_map(|point| log(point.rate)));
        let ends = |values: &mut dyn Iterator<Item = f64>| {
            values.fold(None, |ends: Option<(f64, f64)>, value| match ends {
                Some((low, high)) => Some((low.min(value), high.max(value))),
                None => Some((value, value)),
            })
        };
        let (x, y) = (ends(&mut x.into_iter())?, ends(&mut y.into_iter())?);
        Some(Axes {
            x: (round_down(x.0 - 0.3), round_up(x.1 + 0.6)),
            y: (round_down(y.0 - 0.3), round_up(y.1 + 0.3)),
        })
    }

    fn draw_roofs(&self, axes: Axes, plot: Rect, buffer: &mut Buffer) {
        let mut canvas = Canvas::new(plot, self.look.glyphs.is_unicode);
        let Some(bandwidth) = log(self.bandwidth) else { return };
        for peak in self.roofs.iter().filter_map(|roof| log(roof.peak)) {
            let mut before = None;
            for x in 0..canvas.width {
                let along = f64::from(x) / f64::from(canvas.width.saturating_sub(1).max(1));
                let at = axes.x.0 + along * (axes.x.1 - axes.x.0);
                let here = step(peak.min(bandwidth + at), axes.y, canvas.height);
                if let Some(here) = here {
                    canvas.set_column(x, before.unwrap_or(here), here);
                }
                before = here;
            }
        }
        canvas.draw(self.look, Role::Roof, self.look.glyphs.gap, buffer);
    }

    /// Names every roof at its right end, on the line above it if there is one, else below it; where both lines have a name, not at all.
    fn draw_roof_labels(&self, axes: Axes, plot: Rect, buffer: &mut Buffer) {
        let mut taken = Vec::new();
        for roof in self.roofs {
            let Some(row) = log(roof.peak).and_then(|y| self.cell(y, axes.y, plot.height, 4))
            else {
                continue;
            };
            let y = plot.bottom() - 1 - row;
            let lines = [y.checked_sub(1).filter(|y| *y >= plot.y), Some(y + 1)];
            let free = |y: &u16| *y < plot.bottom() && !taken.contains(y);
            let Some(y) = lines.into_iter().flatten().find(free) else { continue };
            taken.push(y);
            let mut pen = pen_at(self.look, buffer, plot, y);
            pen.align = Align::Right;
            pen.fit(roof.label, self.look.style(Role::Roof));
        }
    }

    /// The cell that holds the dot of a value, so that points and lines meet.
    fn cell(&self, value: f64, axis: (f64, f64), cells: u16, dots: u16) -> Option<u16> {
        let dots = if self.look.glyphs.is_unicode { dots } else { 1 };
        step(value, axis, cells * dots).map(|step| step / dots)
    }

    fn draw_points(&self, axes: Axes, plot: Rect, buffer: &mut Buffer) {
        for (point, glyph) in self.points.iter().zip(self.look.glyphs.points.iter().cycle()) {
            let x = log(point.intensity).and_then(|x| self.cell(x, axes.x, plot.width, 2));
            let y = log(point.rate).and_then(|y| self.cell(y, axes.y, plot.height, 4));
            if let (Some(x), Some(y)) = (x, y) {
                let at = Rect { x: plot.x + x, y: plot.bottom() - 1 - y, width: 1, height: 1 };
                self.look.pen(buffer, at).glyph(glyph, self.look.style(point.role));
            }
        }
    }

    /// Names the points in the lower right corner, where a roofline plot is empty.
    fn draw_legend(&self, plot: Rect, buffer: &mut Buffer) {
        let widest = self.points.iter().map(|point| text_width(point.label) + 2).max().unwrap_or(0);
        let lines = self.points.len().min(usize::from(plot.height / 2)) as u16;
        if widest > plot.width / 3 {
            return;
        }
        let corner = Rect {
            x: plot.right() - widest,
            y: plot.bottom() - lines,
            width: widest,
            height: lines,
        };
        let glyphs = self.look.glyphs.points.iter().cycle();
        for ((row, point), glyph) in corner.rows().zip(self.points).zip(glyphs) {
            let mut pen = self.look.pen(buffer, row);
            pen.glyph(glyph, self.look.style(point.role)).skip(1);
            pen.put(point.label, self.look.style(Role::Muted));
        }
    }

    /// Draws both axes with the values at their ends; returns the plot inside.
    fn draw_axes(&self, axes: Axes, area: Rect, buffer: &mut Buffer) -> Rect {
        let glyphs = self.look.glyphs;
        let (axis, label) = (self.look.style(Role::Border), self.look.style(Role::Muted));
        let high = format::si(10f64.powf(axes.y.1), "FLOP/s");
        let plot = Rect { x: area.x + 1, width: area.width - 1, height: area.height - 2, ..area };
        for y in plot.top()..plot.bottom() {
            pen_at(self.look, buffer, area, y).glyph(glyphs.vertical, axis);
        }
        let mut pen = pen_at(self.look, buffer, area, plot.bottom());
        pen.glyph(glyphs.axis_corner, axis).repeat(glyphs.horizontal, plot.width, axis);
        let last = format::si(10f64.powf(axes.x.1), "FLOP/B");
        let mut pen = pen_at(self.look, buffer, area, area.bottom() - 1);
        pen.put(&format::count(10f64.powf(axes.x.0)), label);
        if pen.rest() > text_width(&last) {
            pen.skip_to_last(text_width(&last)).put(&last, label);
        }
        pen_at(self.look, buffer, area, area.y).skip(1).put(&high, label);
        Rect { y: plot.y + 1, height: plot.height - 1, ..plot }
    }
}

fn pen_at<'b>(look: Look<'_>, buffer: &'b mut Buffer, area: Rect, y: u16) -> CellWriter<'b> {
    look.pen(buffer, Rect { y, height: 1, ..area })
}

impl Widget for &Roofline<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.width < 12 || area.height < 5 {
            return;
        }
        let Some(axes) = self.axes() else {
            self.look.pen(buffer, area).put(format::ABSENT, self.look.style(Role::Absent));
            return;
        };
        let plot = self.draw_axes(axes, area, buffer);
        self.draw_roofs(axes, plot, buffer);
        self.draw_roof_labels(axes, plot, buffer);
        self.draw_legend(plot, buffer);
        self.draw_points(axes, plot, buffer);
    }
}
