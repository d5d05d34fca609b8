//! Names of files, short and yet told apart.

use std::collections::HashMap;
use std::path::Path;

/// How many files have a name; counted once for all of them.
pub(super) struct Names(HashMap<String, u32>);

impl Names {
    pub(super) fn new<'p>(all: impl Iterator<Item = &'p Path>) -> Self {
        let mut counts = HashMap::new();
        for path in all {
            *counts.entry(parts(path).0).or_default() += 1;
        }
        Self(counts)
    }

    /// A file's name, with its folder where another one has the same name.
    pub(super) fn short(&self, path: &Path) -> String {
        let (name, folder) = parts(path);
        match self.0.get(&name) {
            Some(2..) => format!("{folder}/{name}"),
            _ => name,
        }
    }
}

/// A file's name, with its folder where another one has the same name. Paths inside an archive are behind its name and `!`.
pub fn short_name<'p>(path: &Path, all: impl Iterator<Item = &'p Path>) -> String {
    let (name, folder) = parts(path);
    let mut others = all.filter(|other| *other != path);
    if others.any(|other| parts(other).0 == name) { format!("{folder}/{name}") } else { name }
}

/// Name and folder.
fn parts(path: &Path) -> (String, String) {
    let text = path.to_string_lossy().into_owned();
    let mut parts = text.rsplit(['/', '!']).map(str::to_owned);
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}
