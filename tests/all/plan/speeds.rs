//! Predicted speeds against published tables.
