//! The sources of a family: its `.cu` and every header of ours that it includes.

use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::toolchain::read;

/// Texts by file name.
pub(crate) struct Sources {
    /// File name of the `.cu`.
    pub name: String,
    /// Every file, the `.cu` among them.
    pub files: BTreeMap<String, String>,
}

impl Sources {
    /// Reads a family's source and what it includes, from a folder.
    pub(crate) fn read(folder: &Path, family: &str) -> Result<Self, String> {
        let name = format!("{family}.cu");
        let mut files = BTreeMap::new();
        let mut open = vec![name.clone()];
        while let Some(name) = open.pop() {
            if files.contains_key(&name) {
                continue;
            }
            let text = read(&folder.join(&name))?;
            open.extend(includes(&name, &text)?);
            files.insert(name, text);
        }
        Ok(Self { name, files })
    }

    /// The text that is compiled, and the headers by the names under which they are included.
    pub(crate) fn unit(&self) -> (&str, Vec<(String, String)>) {
        let headers = self.files.iter().filter(|(name, _)| **name != self.name);
        let headers = headers.map(|(name, text)| (name.clone(), text.clone())).collect();
        (&self.files[&self.name], headers)
    }

    /// SHA-256 of every file.
    pub(crate) fn digests(&self) -> BTreeMap<String, String> {
        let files = self.files.iter();
        files.map(|(name, text)| (name.clone(), sha256(text.as_bytes()))).collect()
    }
}

/// SHA-256 in lower-case hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a file includes; only files beside it may be.
fn includes(name: &str, text: &str) -> Result<Vec<String>, String> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("#include"));
    let file = |rest: &str| {
        let quoted = rest.trim().strip_prefix('"').and_then(|rest| rest.split_once('"'));
        let plain = quoted.map(|(file, _)| file).filter(|file| !file.contains(['/', '\\']));
        let refused = || format!("{name}: #include{rest}: only headers of kernels/cuda, in quotes");
        plain.map(str::to_owned).ok_or_else(refused)
    };
    lines.map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_included_is_read_once_however_often_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("a.cu", "#include \"b.cuh\"\n  #include \"c.cuh\"\n"),
            ("b.cuh", "#include \"c.cuh\"\n"),
            ("c.cuh", "#pragma once\n#include \"b.cuh\"\n"),
            ("d.cuh", ""),
        ] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let sources = Sources::read(folder.path(), "a").unwrap();
        assert_eq!(sources.files.keys().collect::<Vec<_>>(), ["a.cu", "b.cuh", "c.cuh"]);
    }

    #[test]
    fn headers_of_others_are_refused() {
        for line in ["#include <mma.h>", "#include \"../x.cuh\"", "#include NAME"] {
            assert!(includes("a.cu", line).unwrap_err().starts_with("a.cu: #include"), "{line}");
        }
    }

    #[test]
    fn the_digest_is_that_of_the_standard() {
        // FIPS 180-4, example of one block: "abc".
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), abc);
    }
}
