//! A folder for each tab of the dashboard: its state, what keys do there, rows as text, drawing, tests.

pub mod bench;
pub mod compat;
pub mod display;
pub mod effect;
pub mod fleet;
pub mod history;
pub mod input;
pub mod keys;
pub(crate) mod load;
pub(crate) mod msg;
pub(crate) mod orders;
pub mod overview;
pub mod popup;
pub(crate) mod process_cells;
pub mod processes;
pub mod rules;
pub mod shared;
pub mod tab;
pub mod what_if;

pub use effect::{Effect, say};
pub use input::{Cursor, Input};
pub use keys::{Action, Chord, Key, KeySpec};
pub use msg::{Cmd, Msg, Recorded};
pub use popup::{Flow, PopupEvent, Press, Scroll, SearchPage};
pub use rules::Rules;
pub use shared::{Alert, CpuDecode, Settings, Shared};
pub use tab::Feature;
