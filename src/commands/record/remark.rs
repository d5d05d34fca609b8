//! A remark on its way to the recording that runs, and the answer to it.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::inbox;
use crate::commands::cli::{CliError, Exit, Result};
use crate::config::Environment;

/// What is answered when a remark is on paper; everything else is the reason why not.
const KEPT: &str = "kept";
/// How long a recording may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest remark.
pub(crate) const MAX_BYTES: usize = 4096;

/// Sends a remark and waits until it is kept.
pub(crate) fn send(env: &Environment, text: &str) -> Result<Exit> {
    if text.trim().is_empty() || text.len() > MAX_BYTES {
        return Err(CliError::Usage(format!("a remark has 1 to {MAX_BYTES} bytes")));
    }
    let mut stream = inbox::call(env)?;
    let lost = |error| CliError::Failed(format!("the recording does not answer: {error}"));
    stream.set_read_timeout(Some(PATIENCE)).map_err(lost)?;
    stream.write_all(text.as_bytes()).map_err(lost)?;
    stream.shutdown(Shutdown::Write).map_err(lost)?;
    let mut answer = String::new();
    stream.take(MAX_BYTES as u64).read_to_string(&mut answer).map_err(lost)?;
    match answer.as_str() {
        KEPT => Ok(Exit::Fine),
        "" => Err(CliError::failed("the recording ended before the remark was stored")),
        why => Err(CliError::failed(why)),
    }
}

/// Tells the caller whether its remark is on paper. One that went away is not waited for.
pub(crate) fn answer(caller: Option<UnixStream>, outcome: &Result<(), String>) {
    let Some(mut caller) = caller else { return };
    let text = outcome.as_ref().err().map_or(KEPT, String::as_str);
    let _ = caller.set_write_timeout(Some(Duration::from_secs(1)));
    let _ = caller.write_all(text.as_bytes());
}
