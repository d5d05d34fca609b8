//! Configuration: the arguments, the file, its documented sample, and the layers
//! command line > environment > file > default. The file is written only when the user asks for it.

#[expect(missing_docs, reason = "the help of an argument says what it is")]
pub mod args;
mod file;
mod layers;
mod nearest;
mod path;
mod sample;
mod value;
mod write;

pub use args::{AnyArg, Arg, ArgSpec, ArgValue, EnvRule, Form};
pub use file::{FileSettings, Lists, MAX_BYTES, Problem, Problems, parse};
pub use layers::{Environment, Layer, Settings, resolve};
pub use nearest::{near, nearest};
pub use path::{Config, ConfigPath, data_folder, find, folder, load, state_folder};
pub use sample::sample;
pub use value::{ALL, INTERVAL_MAX, INTERVAL_MIN, Kind, Value, Values};
pub use write::edited;
