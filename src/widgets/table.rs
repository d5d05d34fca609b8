//! Tables that fit their columns to the room and draw only what is visible.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::{Align, CellWriter, Hit, Look, Scrollbar, Surface, text_width};
use crate::widgets::theme::Role;

/// How a column takes its room.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// Its head.
    pub title: &'a str,
    /// Columns of the screen below which it is not drawn.
    pub min: u16,
    /// Columns it takes where there is room.
    pub ideal: u16,
    /// Side of its text.
    pub align: Align,
    /// 0 stays always; of the others, the highest is left out first.
    pub rank: u8,
    /// Whether it takes what is left over.
    pub grows: bool,
}

impl<'a> Column<'a> {
    /// A column of text that stays.
    pub const fn new(title: &'a str, min: u16, ideal: u16) -> Self {
        Self { title, min, ideal, align: Align::Left, rank: 0, grows: false }
    }

    /// Keeps to the right or to the middle.
    #[must_use]
    pub const fn align(mut self, align: Align) -> Self {
        self.align = align;
        self
    }

    /// May be left out where the table is narrow.
    #[must_use]
    pub const fn rank(mut self, rank: u8) -> Self {
        self.rank = rank;
        self
    }

    /// Takes what is left over.
    #[must_use]
    pub const fn grows(mut self) -> Self {
        self.grows = true;
        self
    }
}

/// Direction of a sorted column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Smallest first.
    Up,
    /// Largest first.
    Down,
}

/// A table; its cells are drawn by the caller, visible ones only.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// Theme and glyphs.
    pub look: Look<'a>,
    /// Its columns.
    pub columns: &'a [Column<'a>],
    /// Number of rows.
    pub rows: usize,
    /// First visible row.
    pub offset: usize,
    /// Selected row.
    pub selected: Option<usize>,
    /// Sorted column.
    pub sort: Option<(usize, Sort)>,
}

/// Where a table has put its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableLayout {
    /// The line of column heads.
    pub header: Rect,
    /// The lines of rows.
    pub body: Rect,
    /// Column index, with the columns of the screen it takes.
    pub slots: Vec<(usize, Range<u16>)>,
    /// The rows that are visible.
    pub rows: Range<usize>,
    /// The scrollbar, if there is one.
    pub scrollbar: Option<Rect>,
    /// Whether columns are cut off on the right.
    pub more_right: bool,
}

const GAP: u16 = 2;

/// The first row to show so that the selected one is visible and no room is wasted.
pub fn scroll_to(offset: usize, selected: Option<usize>, rows: usize, height: usize) -> usize {
    let offset = offset.min(rows.saturating_sub(height));
    match selected {
        Some(row) if row < offset => row,
        Some(row) if row >= offset + height && height > 0 => row + 1 - height,
        _ => offset,
    }
}

impl<'a> Table<'a> {
    /// A table without selection or order.
    pub fn new(look: Look<'a>, columns: &'a [Column<'a>], rows: usize) -> Self {
        Self { look, columns, rows, offset: 0, selected: None, sort: None }
    }

    /// Where everything goes in an area.
    pub fn layout(&self, area: Rect) -> TableLayout {
        if area.is_empty() {
            return TableLayout::default();
        }
        let header = Rect { height: 1, ..area };
        let body = Rect { y: area.y + 1, height: area.height - 1, ..area };
        let scrolls = self.rows > usize::from(body.height) && body.height > 0 && area.width > 1;
        let bar = Rect { x: area.right() - 1, width: 1, ..body };
        let room = area.width - if scrolls { 1 + GAP.min(area.width - 1) } else { 0 };
        let first = scroll_to(self.offset, self.selected, self.rows, body.height.into());
        let last = (first + usize::from(body.height)).min(self.rows);
        let (slots, more_right) = self.place(area.x, room);
        let scrollbar = scrolls.then_some(bar);
        TableLayout { header, body, slots, rows: first..last, scrollbar, more_right }
    }

    /// Chooses columns, gives them widths and puts them beside each other.
    fn place(&self, x: u16, room: u16) -> (Vec<(usize, Range<u16>)>, bool) {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        self.leave_out(&mut shown, room);
        let cut = self.cut(&mut shown, room);
        let mut widths: Vec<u16> = shown.iter().map(|index| self.columns[*index].min).collect();
        let taken: u16 = widths.iter().map(|width| width + GAP).sum();
        self.widen(&shown, &mut widths, (room + GAP).saturating_sub(taken));
        let mut at = x;
        let slots = shown.into_iter().zip(widths).map(|(index, width)| {
            let start = at.min(x + room);
            at = start + width + GAP;
            (index, start..(start + width).min(x + room))
        });
        (slots.collect(), cut)
    }

    fn needed(&self, shown: &[usize]) -> u32 {
        shown.iter().map(|index| u32::from(self.columns[*index].min) + u32::from(GAP)).sum()
    }

    /// Leaves out columns that may be left out, until the rest fits.
    fn leave_out(&self, shown: &mut Vec<usize>, room: u16) {
        while self.needed(shown) > u32::from(room + GAP) {
            let ranks = shown.iter().map(|index| self.columns[*index].rank).enumerate();
            match ranks.max_by_key(|(_, rank)| *rank).filter(|(_, rank)| *rank > 0) {
                Some((position, _)) => shown.remove(position),
                None => return,
            };
        }
    }

    /// Cuts columns off on the right, until the rest fits; the first one always stays.
    fn cut(&self, shown: &mut Vec<usize>, room: u16) -> bool {
        let before = shown.len();
        while shown.len() > 1 && self.needed(shown) > u32::from(room + GAP) {
            shown.pop();
        }
        shown.len() < before
    }

    /// Hands out spare room: up to the ideal width, important columns first, then to those that grow.
    fn widen(&self, shown: &[usize], widths: &mut [u16], mut spare: u16) {
        let mut order: Vec<usize> = (0..shown.len()).collect();
        order.sort_by_key(|position| self.columns[shown[*position]].rank);
        for position in order {
            let column = &self.columns[shown[position]];
            let more = column.ideal.saturating_sub(widths[position]).min(spare);
            widths[position] += more;
            spare -= more;
        }
        let growing: Vec<usize> =
            (0..shown.len()).filter(|position| self.columns[shown[*position]].grows).collect();
        for (index, position) in growing.iter().enumerate() {
            let more = spare / (growing.len() - index) as u16;
            widths[*position] += more;
            spare -= more;
        }
    }

    /// Draws the table. `cell` gets the row, the column and a pen on the cell.
    pub fn render(
        &self,
        area: Rect,
        buffer: &mut Buffer,
        mut cell: impl FnMut(usize, usize, &mut CellWriter<'_>),
    ) -> TableLayout {
        let layout = self.layout(area.intersection(buffer.area));
        self.draw_header(&layout, buffer);
        for (row, line) in layout.rows.clone().zip(layout.body.rows()) {
            for (column, span) in &layout.slots {
                let mut pen = self.look.pen(buffer, slot(line, span));
                pen.align = self.columns[*column].align;
                cell(row, *column, &mut pen);
            }
            if self.selected == Some(row) {
                let width = line.width - layout.scrollbar.map_or(0, |bar| bar.width);
                buffer.set_style(Rect { width, ..line }, self.look.theme.selection());
            }
        }
        if let Some(bar) = layout.scrollbar {
            let (total, offset) = (self.rows, layout.rows.start);
            Scrollbar { look: self.look, total, offset }.render(bar, buffer);
        }
        layout
    }

    /// Draws the table, whose rows can be clicked.
    pub(crate) fn draw(
        &self,
        on: Surface<'_>,
        hit: fn(usize) -> Hit,
        cell: impl FnMut(usize, usize, &mut CellWriter<'_>),
    ) -> TableLayout {
        let layout = self.render(on.area, on.buffer, cell);
        for (row, line) in layout.rows.clone().zip(layout.body.rows()) {
            on.hits.add(line, hit(row));
        }
        layout
    }

    fn draw_header(&self, layout: &TableLayout, buffer: &mut Buffer) {
        let (style, accent) = (self.look.style(Role::Header), self.look.style(Role::Accent));
        let glyphs = self.look.glyphs;
        for (index, span) in &layout.slots {
            let column = &self.columns[*index];
            let mut pen = self.look.pen(buffer, slot(layout.header, span));
            pen.align = column.align;
            match self.sort.filter(|(sorted, _)| sorted == index) {
                None => pen.fit(column.title, style),
                Some((_, sort)) => {
                    let width = text_width(column.title).min(pen.rest().saturating_sub(1));
                    if column.align == Align::Right {
                        pen.skip_to_last(width + 1);
                    }
                    let arrow = if sort == Sort::Up { glyphs.sort_up } else { glyphs.sort_down };
                    pen.elide(column.title, width, accent).glyph(arrow, accent)
                }
            };
        }
        if layout.more_right && layout.header.width > 0 {
            let end = Rect { x: layout.header.right() - 1, width: 1, ..layout.header };
            self.look.pen(buffer, end).glyph(glyphs.more_right, accent);
        }
    }
}

/// The part of a line that a column takes.
pub(crate) fn slot(line: Rect, span: &Range<u16>) -> Rect {
    Rect { x: span.start, width: span.end.saturating_sub(span.start), ..line }
}
