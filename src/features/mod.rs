//! TODO

pub mod bench;
pub mod compat;
pub mod history;
pub(crate) mod msg;
pub mod overview;
pub mod processes;
pub mod what_if;
