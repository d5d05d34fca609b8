//! What is ignored while this process may do more than the user who started it: the environment is that user's, and would choose code for it.

use std::path::{Path, PathBuf};

use warpscope_probes::trust;

use crate::commands::cli::{CliError, Result};
use crate::commands::output;
use crate::config::Environment;

/// Names the NVML library to load.
const LIBRARY: &str = "WARPSCOPE_LIBRARY";
/// Name libraries that the driver and NVIDIA's other libraries load when they start.
const INJECTIONS: [&str; 4] = [
    "CUDA_INJECTION64_PATH",
    "CUDA_INJECTION32_PATH",
    "NVTX_INJECTION64_PATH",
    "NVTX_INJECTION32_PATH",
];

/// The environment of this process, without a library that its caller must not choose.
pub(crate) fn environment() -> Environment {
    let mut env = Environment::of_process();
    if let Some(why) = trust::elevated()
        && env.remove(LIBRARY)
    {
        output::note(format_args!(
            "warpscope: {LIBRARY} is ignored: {why}, so its environment must not choose code"
        ));
    }
    env
}

/// Fails where the driver would load what the caller chose.
pub(crate) fn forbid_injections(env: &Environment) -> Result<()> {
    let Some(why) = trust::elevated() else { return Ok(()) };
    match INJECTIONS.iter().find(|name| env.get(name).is_some()) {
        None => Ok(()),
        Some(name) => Err(CliError::Failed(format!(
            "{name} names code for the driver to load, and {why}: unset it"
        ))),
    }
}

/// A library named by an option.
pub(crate) fn named(option: &str, path: &Path) -> Result<PathBuf> {
    let refused = |why| CliError::Usage(format!("{option} {}: {why}", path.display()));
    trust::as_named(path).map_err(refused)
}
