//! Configuration: the table of options, the file, its documented sample, and the layers
//! command line > environment > file > default.
//!
//! The file is read against the table and not by derived structs: so an error can name the line, the
//! key and the nearest valid one, all errors come at once, and one row is the whole of an option.
//! It is never written.

mod file;
mod layers;
mod nearest;
mod path;
mod sample;
mod table;
mod value;

pub use file::{FileSettings, MAX_BYTES, Problem, Problems, parse};
pub use layers::{Environment, Layer, Settings, resolve};
pub use nearest::nearest;
pub use path::{Config, ConfigPath, data_folder, find, folder, load, state_folder};
pub use sample::sample;
pub use table::{
    ARGS, ArgSpec, COLORS, DTYPES, EnvRule, Form, Id, ONLY, PATHS, SHELLS, TABS, WHAT_IFS, spec,
};
pub use value::{ALL, INTERVAL_MAX, INTERVAL_MIN, Kind, Value};
