//! Histories of what was read. Pure.
