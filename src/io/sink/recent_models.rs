//! Names of the models that were asked about, the last one first.

use std::io;
use std::path::Path;

use super::state_file;

/// So many are kept.
const MOST: usize = 20;

/// The names; none where there is no file, or none that can be read.
pub fn read(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = state_file::read_list(path);
    names.truncate(MOST);
    names
}

/// Puts a name before the others.
pub fn remember(path: &Path, name: &str) -> io::Result<()> {
    let mut names = read(path);
    names.retain(|known| known != name);
    names.insert(0, name.to_owned());
    names.truncate(MOST);
    state_file::write(path, &names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_comes_first_and_stands_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("warpscope/models.json");
        assert!(read(&path).is_empty());
        for name in ["a", "b", "a"] {
            remember(&path, name).expect("writes");
        }
        assert_eq!(read(&path), ["a", "b"]);
        for number in 0..MOST + 5 {
            remember(&path, &number.to_string()).expect("writes");
        }
        assert_eq!((read(&path).len(), read(&path)[0].as_str()), (MOST, "24"));
        std::fs::write(&path, "[1, {").expect("writes");
        assert!(read(&path).is_empty());
    }
}
