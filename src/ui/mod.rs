//! Drawing: panels and widgets, from `&App` to a buffer.
