//! Configuration: file, layering, keymap.
