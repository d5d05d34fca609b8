//! From where on a difference counts as a change.

use std::path::PathBuf;

use crate::commands::cli::Options;
use crate::commands::output;
use crate::config::{Environment, args, state_folder};
use crate::io::sink::noise_file;
use crate::runs::noise::Noise;
use crate::worker::Thresholds;

/// `$XDG_STATE_HOME/warpscope/noise.json`; `None` where neither XDG_STATE_HOME nor HOME is set.
pub(crate) fn noise_file_path(env: &Environment) -> Option<PathBuf> {
    Some(state_folder(env)?.join("noise.json"))
}

/// Thresholds from the noise given, else that measured here, else an assumption.
pub(crate) fn thresholds(options: &Options) -> Thresholds {
    let read = noise_file_path(&options.env)
        .map_or_else(|| Ok(Noise::default()), |path| noise_file::read(&path));
    let measured = read.unwrap_or_else(|why| {
        output::note(format_args!("warpscope: {why}"));
        Noise::default()
    });
    Thresholds::new(options.get(&args::NOISE), measured)
}
