//! A folder for each tab of the dashboard: its state, what keys do there, rows as text, drawing, tests.

pub mod bench;
pub mod compat;
pub mod history;
pub(crate) mod msg;
pub mod overview;
pub mod processes;
pub mod what_if;
