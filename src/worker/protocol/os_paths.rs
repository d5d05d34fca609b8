//! Paths in a request: as text where they are UTF-8, else as bytes.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Bytes(Vec<u8>),
}

pub(super) fn serialize<S: Serializer>(paths: &[PathBuf], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(paths.iter().map(|path| match path.to_str() {
        Some(text) => Written::Text(text.to_owned()),
        None => Written::Bytes(path.as_os_str().as_bytes().to_vec()),
    }))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<PathBuf>, D::Error> {
    let path = |written| match written {
        Written::Text(text) => PathBuf::from(text),
        Written::Bytes(bytes) => OsString::from_vec(bytes).into(),
    };
    Ok(Vec::deserialize(input)?.into_iter().map(path).collect())
}
