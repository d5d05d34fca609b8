//! A value over runs: a line of medians in a band of quartiles, with the places where it changed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::widgets::Widget;

use super::canvas::Canvas;
use super::{Align, Look, text_width};
use crate::widgets::format;
use crate::widgets::format::Short;
use crate::widgets::theme::Role;

/// One run: where its middle half lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Lower quartile.
    pub lower: f64,
    /// Median.
    pub median: f64,
    /// Upper quartile.
    pub upper: f64,
}

/// A place where the level changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The first run at the new level.
    pub at: usize,
    /// What to write above it.
    pub label: String,
    /// Its colour.
    pub role: Role,
}

/// The plot. Runs are spread over the width, the oldest on the left.
#[derive(Clone, Copy, Debug)]
pub struct Trend<'a> {
    /// Theme and glyphs.
    pub look: Look<'a>,
    /// Each run; none where it has no clean sample.
    pub levels: &'a [Option<Level>],
    /// Places where the level changed, in order.
    pub steps: &'a [Step],
    /// The run the cursor is on.
    pub cursor: Option<usize>,
    /// Marked runs, each with the letter to draw.
    pub marked: &'a [(usize, &'a str)],
    /// What stands below the first and the last run.
    pub ends: (&'a str, &'a str),
    /// How a value is written.
    pub text: fn(f64, Look<'_>) -> Short,
}

/// Least height of an axis, as a share of the value: noise of a thousandth shall not look like mountains.
const LEAST_SPAN: f64 = 0.02;

/// Maps runs and values to dots.
struct Scale {
    runs: usize,
    low: f64,
    high: f64,
    width: u16,
    height: u16,
}

impl Scale {
    fn x(&self, run: usize) -> u16 {
        let last = self.width.saturating_sub(1);
        match self.runs {
            0 | 1 => last / 2,
            runs => (run as f64 / (runs - 1) as f64 * f64::from(last)).round() as u16,
        }
    }

    /// Rows count from the bottom; what lies beyond an end is drawn at it.
    fn y(&self, value: f64) -> u16 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        (share * f64::from(self.height.saturating_sub(1))).round() as u16
    }
}

impl Trend<'_> {
    /// Ends of the axis: every median, some air, and never so little that noise fills it. Quartiles may be cut off.
    fn range(&self) -> Option<(f64, f64)> {
        let medians = || self.levels.iter().flatten().map(|level| level.median);
        let low = medians().reduce(f64::min)?;
        let high = medians().reduce(f64::max)?;
        let lacking = ((high.abs() * LEAST_SPAN - (high - low)) / 2.0).max(0.0);
        let air = (high - low) * 0.1 + lacking;
        let (low, high) = (low - air, high + air);
        (high > low && low.is_finite() && high.is_finite()).then_some((low, high))
    }

    /// Columns of the values at the ends of the axis.
    fn gutter(&self, (low, high): (f64, f64)) -> u16 {
        text_width(&(self.text)(low, self.look)).max(text_width(&(self.text)(high, self.look)))
    }

    /// Draws the values at both ends of the axis and the ends of the time; returns the plot inside.
    fn draw_axes(&self, range: (f64, f64), area: Rect, buffer: &mut Buffer) -> Rect {
        let (look, muted) = (self.look, self.look.style(Role::Muted));
        let width = self.gutter(range);
        let (low, high) = ((self.text)(range.0, look), (self.text)(range.1, look));
        let axis = look.style(Role::Border);
        let plot = Rect {
            x: area.x + width + 1,
            width: area.width.saturating_sub(width + 1),
            height: area.height - 2,
            ..area
        };
        for (text, y) in [(&high, plot.y), (&low, plot.bottom() - 1)] {
            let mut pen = look.pen(buffer, Rect { y, width, height: 1, ..area });
            pen.align = Align::Right;
            pen.fit(text, muted);
        }
        for y in plot.top()..plot.bottom() {
            let at = Rect { x: plot.x - 1, y, width: 1, height: 1 };
            look.pen(buffer, at).glyph(look.glyphs.vertical, axis);
        }
        let line = Rect { x: plot.x - 1, y: plot.bottom(), width: plot.width + 1, height: 1 };
        let mut pen = look.pen(buffer, line);
        pen.glyph(look.glyphs.axis_corner, axis).repeat(look.glyphs.horizontal, plot.width, axis);
        let line = Rect { x: plot.x, y: plot.bottom() + 1, width: plot.width, height: 1 };
        let (first, last) = self.ends;
        if self.levels.len() > 1 && text_width(first) + text_width(last) < plot.width {
            look.pen(buffer, line).put(first, muted);
        }
        let mut pen = look.pen(buffer, line);
        pen.align = if self.levels.len() > 1 { Align::Right } else { Align::Center };
        pen.fit(last, muted);
        plot
    }

    fn draw_band(&self, scale: &Scale, plot: Rect, buffer: &mut Buffer) {
        let mut canvas = Canvas::new(plot, self.look.glyphs.is_unicode);
        for (run, pair) in self.pairs() {
            let (from, to) = (scale.x(run), scale.x(run + 1));
            for x in from..=to {
                let share = f64::from(x - from) / f64::from((to - from).max(1));
                let between =
                    |of: fn(&Level) -> f64| of(&pair.0) * (1.0 - share) + of(&pair.1) * share;
                let (low, high) =
                    (scale.y(between(|one| one.lower)), scale.y(between(|one| one.upper)));
                canvas.set_column(x, low, low);
                canvas.set_column(x, low, high);
                canvas.set_column(x, high, high);
            }
        }
        canvas.draw(self.look, Role::Track, self.look.glyphs.gap, buffer);
    }

    fn draw_line(&self, scale: &Scale, plot: Rect, buffer: &mut Buffer) {
        let mut canvas = Canvas::new(plot, self.look.glyphs.is_unicode);
        for (run, pair) in self.pairs() {
            let (from, to) = (scale.x(run), scale.x(run + 1));
            let mut before = scale.y(pair.0.median);
            for x in from..=to {
                let share = f64::from(x - from) / f64::from((to - from).max(1));
                let here = scale.y(pair.0.median * (1.0 - share) + pair.1.median * share);
                canvas.set_column(x, before, here);
                before = here;
            }
        }
        let alone = |run: usize| {
            let near = |at: Option<usize>| at.and_then(|at| *self.levels.get(at)?).is_some();
            !near(run.checked_sub(1)) && !near(Some(run + 1))
        };
        for (run, level) in self.known().filter(|(run, _)| alone(*run)) {
            let y = scale.y(level.median);
            canvas.set_column(scale.x(run), y, y);
        }
        canvas.draw(self.look, Role::Graph, self.look.glyphs.info, buffer);
    }

    fn known(&self) -> impl Iterator<Item = (usize, Level)> + '_ {
        self.levels.iter().enumerate().filter_map(|(run, level)| Some((run, (*level)?)))
    }

    /// Neighbours that both have a level, each with the first one's place.
    fn pairs(&self) -> impl Iterator<Item = (usize, (Level, Level))> + '_ {
        let both = |pair: &[Option<Level>]| Some((pair[0]?, pair[1]?));
        self.levels.windows(2).enumerate().filter_map(move |(run, pair)| Some((run, both(pair)?)))
    }

    /// Where labels stand: row and column, from the left; on the first of so many rows that has room.
    fn labels(&self, scale: &Scale, width: u16, rows: usize) -> Vec<Option<(u16, u16)>> {
        let mut taken = vec![0; rows];
        let mut place = |step: &Step| {
            let long = text_width(&step.label).min(width);
            let x = self.column(scale, step.at).min(width - long);
            let row = taken.iter().position(|end| *end <= x)?;
            taken[row] = x + long + 2;
            Some((row as u16, x))
        };
        self.steps.iter().map(&mut place).collect()
    }

    /// A vertical line before the first run of each new level, and its label above where there is room for it.
    fn draw_steps(
        &self,
        scale: &Scale,
        (labels, above, plot): (&[Option<(u16, u16)>], Rect, Rect),
        buffer: &mut Buffer,
    ) {
        for (step, label) in self.steps.iter().zip(labels) {
            let column = plot.x + self.column(scale, step.at);
            let style = self.look.style(step.role);
            // Underlined, a vertical line is a ladder.
            let line = style.remove_modifier(Modifier::UNDERLINED);
            for y in plot.top()..plot.bottom() {
                let cell = &mut buffer[(column, y)];
                if cell.symbol() == " " {
                    cell.set_symbol(self.look.glyphs.vertical).set_style(line);
                }
            }
            if let Some((row, x)) = label {
                let line = Rect { x: plot.x + x, y: above.y + row, height: 1, ..above };
                self.look.pen(buffer, line.intersection(above)).put(&step.label, style);
            }
        }
    }

    fn draw_marks(&self, scale: &Scale, plot: Rect, buffer: &mut Buffer) {
        let fine = if self.look.glyphs.is_unicode { 4 } else { 1 };
        let place = |run: usize| {
            let level = self.levels.get(run).copied().flatten();
            // A run without a clean sample is on the axis.
            let row = level.map_or(0, |level| scale.y(level.median) / fine);
            let y = plot.bottom() - 1 - row.min(plot.height - 1);
            Rect { x: plot.x + self.column(scale, run), y, width: 1, height: 1 }
        };
        if let Some(run) = self.cursor {
            let at = place(run);
            let style = self.look.style(Role::Accent);
            for y in (plot.top()..plot.bottom()).filter(|y| *y != at.y) {
                let cell = &mut buffer[(at.x, y)];
                if cell.symbol() == " " {
                    cell.set_symbol(self.look.glyphs.gap).set_style(style);
                }
            }
            self.look.pen(buffer, at).glyph(self.look.glyphs.points[1], style);
        }
        for (run, letter) in self.marked {
            self.look.pen(buffer, place(*run)).glyph(letter, self.look.style(Role::Key));
        }
    }

    fn column(&self, scale: &Scale, run: usize) -> u16 {
        scale.x(run) / if self.look.glyphs.is_unicode { 2 } else { 1 }
    }
}

impl Widget for &Trend<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let mut area = area.intersection(buffer.area);
        if area.width < 24 || area.height < 4 {
            return;
        }
        let Some((low, high)) = self.range() else {
            self.look.pen(buffer, area).put(format::ABSENT, self.look.style(Role::Absent));
            return;
        };
        let most = match area.height {
            ..6 => 0,
            6..10 => 1,
            _ => 2,
        };
        let (fine_x, fine_y) = if self.look.glyphs.is_unicode { (2, 4) } else { (1, 1) };
        let width = area.width.saturating_sub(self.gutter((low, high)) + 1);
        if width < 4 {
            return;
        }
        let runs = self.levels.len();
        let mut scale = Scale { runs, low, high, width: width * fine_x, height: 0 };
        let labels = self.labels(&scale, width, most);
        let rows = labels.iter().flatten().map(|(row, _)| row + 1).max().unwrap_or(0);
        let above = Rect { x: area.right() - width, width, height: rows, ..area };
        area = Rect { y: area.y + rows, height: area.height - rows, ..area };
        let plot = self.draw_axes((low, high), area, buffer);
        scale.height = plot.height * fine_y;
        self.draw_band(&scale, plot, buffer);
        self.draw_line(&scale, plot, buffer);
        self.draw_steps(&scale, (&labels, above, plot), buffer);
        self.draw_marks(&scale, plot, buffer);
    }
}
