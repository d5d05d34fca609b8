//! What is kept of an image's files: everything that tells of environments, cut to what is read of it later.

use std::io::{self, Read};
use std::path::Path;

use super::super::metadata::{is_library, record_path};

/// What is kept of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// That it is there, and its size.
    Size,
    /// Its beginning.
    Contents(u64),
    /// Header lines, up to the first empty one.
    Headers,
    /// Lines of a RECORD that name libraries.
    Libraries,
}

/// Largest RECORD read.
const RECORD_BYTES: u64 = 32 << 20;
const HEADER_BYTES: u64 = 256 << 10;
const SMALL: u64 = 64 << 10;

/// Files by the end of their folder's name, their own name, and what is kept.
const FILES: &[(&str, &str, Keep)] = &[
    (".dist-info", "METADATA", Keep::Headers),
    (".dist-info", "RECORD", Keep::Libraries),
    (".dist-info", "INSTALLER", Keep::Contents(SMALL)),
    (".dist-info", "direct_url.json", Keep::Contents(SMALL)),
    (".dist-info", "top_level.txt", Keep::Contents(SMALL)),
    (".egg-info", "PKG-INFO", Keep::Headers),
    (".egg-info", "requires.txt", Keep::Contents(SMALL)),
    (".egg-info", "top_level.txt", Keep::Contents(SMALL)),
    (".egg-info", "installed-files.txt", Keep::Libraries),
    ("torch", "version.py", Keep::Contents(SMALL)),
    ("torchvision", "version.py", Keep::Contents(SMALL)),
    ("torchaudio", "version.py", Keep::Contents(SMALL)),
    ("", "pyvenv.cfg", Keep::Contents(SMALL)),
    ("", "version.json", Keep::Contents(1 << 20)),
    ("/etc", "ld.so.cache", Keep::Contents(16 << 20)),
    ("bin", "llama-server", Keep::Size),
    ("bin", "llama-cli", Keep::Size),
    ("bin", "llama-bench", Keep::Size),
    ("app", "llama-server", Keep::Size),
    ("app", "llama-cli", Keep::Size),
    ("bin", "ollama", Keep::Size),
];

/// What is kept of the file at a path; `None` for nothing.
pub(super) fn of(path: &Path) -> Option<Keep> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent()?.to_str()?;
    if let Some(row) = FILES.iter().find(|row| row.1 == name && folder.ends_with(row.0)) {
        return Some(row.2);
    }
    let python = name.starts_with("python") && folder.ends_with("bin");
    match name {
        _ if is_library(name) || python => Some(Keep::Size),
        _ if name.ends_with(".json") && folder.ends_with("conda-meta") => {
            Some(Keep::Contents(8 << 20))
        }
        _ if name.ends_with(".egg-info") => Some(Keep::Headers),
        _ => None,
    }
}

impl Keep {
    /// Reads a file as far as it is kept; `None` where only its size is.
    pub(super) fn read(self, body: &mut dyn Read) -> io::Result<Option<Vec<u8>>> {
        let (most, cut): (u64, fn(&str) -> String) = match self {
            Self::Size => return Ok(None),
            Self::Contents(most) => {
                let mut bytes = Vec::new();
                body.take(most).read_to_end(&mut bytes)?;
                return Ok(Some(bytes));
            }
            Self::Headers => (HEADER_BYTES, headers),
            Self::Libraries => (RECORD_BYTES, libraries),
        };
        let mut bytes = Vec::new();
        body.take(most).read_to_end(&mut bytes)?;
        Ok(Some(cut(&String::from_utf8_lossy(&bytes)).into_bytes()))
    }
}

fn headers(text: &str) -> String {
    let end = text.find("\n\n").map_or(text.len(), |end| end + 1);
    text[..end].to_owned()
}

fn libraries(text: &str) -> String {
    let library = |line: &&str| record_path(line).is_some_and(|path| is_library(&path));
    text.lines().filter(library).flat_map(|line| [line, "\n"]).collect()
}
