//! What is known of the noise between processes on this machine.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::commands::cli::Options;
use crate::commands::output;
use crate::config::{Environment, args, state_folder};
use crate::io::sink::noise_file;
use crate::runs::noise::{KnownNoise, Noise};

/// `$XDG_STATE_HOME/warpscope/noise.json`; `None` where neither XDG_STATE_HOME nor HOME is set.
pub(crate) fn noise_file_path(env: &Environment) -> Option<PathBuf> {
    Some(state_folder(env)?.join("noise.json"))
}

/// The noise given, else what was measured of these commands here.
pub(crate) fn known_noise(options: &Options, commands: &BTreeSet<String>) -> KnownNoise {
    let read = noise_file_path(&options.env)
        .map_or_else(|| Ok(Noise::default()), |path| noise_file::read(&path));
    let measured = read.unwrap_or_else(|why| {
        output::note(format_args!("warpscope: {why}"));
        Noise::default()
    });
    KnownNoise::new(options.get(&args::NOISE), &measured, &noise_file::machine(), commands)
}
