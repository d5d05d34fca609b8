//! Where frames go besides the screen: JSON Lines, recordings, tables, CSV; and the way back in.

pub mod csv;
pub mod export;
pub mod history;
pub mod jsonl;
pub mod noise_file;
pub mod printer;
mod reader;
pub mod recent_models;
mod recorder;
mod redact;
pub mod state_file;
pub mod table;
pub mod tuning_cache;

pub use reader::{FrameReader, Head, Located, MAX_LINE, ReadStats};
pub use recorder::{Holds, Limits, RecordError, Recorder};
pub use redact::Redactor;
pub(crate) use redact::without_homes;
