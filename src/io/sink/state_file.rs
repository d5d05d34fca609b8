//! Small files in which the program remembers something about the machine: read with care, replaced whole or not at all.

use std::io::{self, ErrorKind};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use warpscope_probes::bounded::{self, Accept};
use warpscope_probes::private;

use super::jsonl;

/// Largest file that is read.
const MAX_FILE: u64 = 16 << 20;

/// What a file says; the default where there is none. An error names the file.
pub fn read<T: Default>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, String> {
    let failed = |why: String| format!("{}: {why}", path.display());
    let text = match bounded::text(path, Accept::Files, MAX_FILE) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(T::default());
        }
        other => other.map_err(|error| failed(error.to_string()))?,
    };
    parse(&text).map_err(failed)
}

/// A list in a file; nothing where there is none that can be read.
pub fn read_list<T: DeserializeOwned>(path: &Path) -> Vec<T> {
    read(path, |text| serde_json::from_str(text).map_err(|error| error.to_string()))
        .unwrap_or_default()
}

/// Puts a new file in place of the old one, for its owner only.
pub fn write<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    private::replace(path, &jsonl::pretty(value)?)
}
