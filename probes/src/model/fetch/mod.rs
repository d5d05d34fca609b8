//! Reads the headers of a model on a hub over HTTPS, when somebody asks for it: configuration, index and the first bytes of weights.
//!
//! Nothing is written and no weight is read. The server is a stranger: bytes, time and redirects are bounded, what it says of lengths is
//! compared with what it sends, and the token goes to the hub that was named and to nobody it points at. async clients were rejected: one
//! request follows another here.

#[cfg(not(feature = "fetch"))]
mod disabled;
#[cfg(feature = "fetch")]
mod enabled;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(not(feature = "fetch"))]
use self::disabled as client;
#[cfg(feature = "fetch")]
use self::enabled as client;
use super::find::Id;
use super::{Model, ModelError};
use crate::bounded::{self, Accept};

const ENDPOINT: &str = "https://huggingface.co";
/// Tokens are a line.
const MOST_TOKEN: u64 = 4096;
/// One request, and all of them.
const PATIENCE: Duration = Duration::from_secs(20);

/// The hub models are read from.
#[derive(Clone)]
#[cfg_attr(
    not(feature = "fetch"),
    expect(dead_code, reason = "nothing is sent without the feature")
)]
pub struct Hub {
    /// Its address, without a slash at the end.
    endpoint: String,
    token: Option<String>,
    is_offline: bool,
    patience: Duration,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token stays out of messages.
        f.debug_struct("Hub").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Hub {
    /// The hub the variables of an environment name: `HF_ENDPOINT`, `HF_TOKEN` or the file with it, `HF_HUB_OFFLINE`.
    pub fn new(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let value =
            |name: &str| variable(name)?.into_string().ok().filter(|value| !value.is_empty());
        let endpoint = value("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned());
        let home = value("HF_HOME").map(PathBuf::from).or_else(|| {
            let cache = value("XDG_CACHE_HOME").map(PathBuf::from);
            let cache = cache.or_else(|| Some(Path::new(&value("HOME")?).join(".cache")));
            Some(cache?.join("huggingface"))
        });
        let file = value("HF_TOKEN_PATH").map(PathBuf::from).or_else(|| Some(home?.join("token")));
        let saved = || bounded::text(&file?, Accept::Files, MOST_TOKEN).ok();
        let token = value("HF_TOKEN").or_else(|| value("HUGGING_FACE_HUB_TOKEN")).or_else(saved);
        let token = token.map(|token| token.trim().to_owned()).filter(|token| is_token(token));
        let on = ["1", "on", "true", "yes"];
        let is_offline = value("HF_HUB_OFFLINE")
            .is_some_and(|word| on.contains(&word.to_ascii_lowercase().as_str()));
        let endpoint = endpoint.trim_end_matches('/').to_owned();
        Self { endpoint, token, is_offline, patience: PATIENCE }
    }

    /// The hub of this process's environment.
    pub fn of_this_user() -> Self {
        Self::new(|name| std::env::var_os(name))
    }
}

/// Whether a text can stand in a header.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

impl Model {
    /// Reads `owner/name`, or the GGUF file of `owner/name:Q4_K_M`, on a hub.
    pub fn fetch(name: &Path, hub: &Hub) -> Result<Self, ModelError> {
        let wrong = |message: String| ModelError::new(name, message);
        let id = name.to_str().and_then(Id::of).filter(|id| !id.owner.is_empty());
        let id = id.ok_or_else(|| {
            wrong("is no hub id; write owner/name or owner/name:Q4_K_M".to_owned())
        })?;
        if hub.is_offline {
            return Err(wrong("is not fetched: HF_HUB_OFFLINE is set".to_owned()));
        }
        let facts = client::fetch(&id, hub).map_err(wrong)?;
        let mut model = Self::of(name.display().to_string(), facts);
        model.details.push(("fetched from", hub.endpoint.clone()));
        Ok(model)
    }
}

#[cfg(all(test, feature = "fetch"))]
mod tests;
