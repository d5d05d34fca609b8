//! Drawing: panels and widgets, from `&App` to a buffer.

pub mod format;
pub mod glyphs;
pub mod svg;
pub mod theme;
pub mod widgets;
