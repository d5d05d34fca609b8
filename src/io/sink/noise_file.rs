//! Where noise is kept: a JSON file of its own, replaced whole or not at all.

use std::io;
use std::path::Path;

use super::state_file;
use crate::runs::noise::Noise;

/// What was measured; nothing where there is no file. An error names the file.
pub fn read(path: &Path) -> Result<Noise, String> {
    state_file::read(path, Noise::parse)
}

/// Puts a new file in place of the old one.
pub fn write(path: &Path, noise: &Noise) -> io::Result<()> {
    state_file::write(path, noise)
}

/// The name this machine's noise is kept under.
pub fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::noise::Measured;
    use crate::runs::samples::Key;

    #[test]
    fn what_is_kept_is_found_again_and_no_other_file_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("warpscope/noise.json");
        assert_eq!(read(&path).expect("no file is no fault"), Noise::default());
        let mut noise = Noise::default();
        let key = Key { name: "a".into(), device: Some("cpu".into()), ..Key::default() };
        noise.set("here", "a.out", &key, Measured { deviation: 0.02, processes: 9, at_ms: 1 });
        for _ in 0..2 {
            write(&path, &noise).expect("writes");
            assert_eq!(read(&path).expect("reads"), noise);
            assert_eq!(
                std::fs::read_dir(path.parent().expect("a folder")).expect("lists").count(),
                1
            );
        }
        std::fs::write(&path, "garbage").expect("writes");
        assert!(read(&path).is_err_and(|error| error.contains("noise.json")));
    }
}
