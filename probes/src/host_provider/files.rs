use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::reading::Reading;

/// What is offered first to a file of unknown length.
const PAGE: usize = 4096;

/// The first `limit` bytes of a file. A file that is not there is unsupported, not empty.
///
/// The kernel's own files tell no length, and few fill a page: mostly two system calls.
pub(super) fn bytes(path: &Path, limit: usize) -> Reading<Vec<u8>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return absence(&error),
    };
    let mut buffer = Vec::new();
    let mut filled = 0;
    while filled < limit {
        if filled == buffer.len() {
            buffer.resize((filled * 4).max(PAGE).min(limit), 0);
        }
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return absence(&error),
        }
    }
    buffer.truncate(filled);
    Reading::Value(buffer)
}

/// The first `limit` bytes of a file as text, damaged characters replaced.
pub(super) fn text(path: &Path, limit: usize) -> Reading<String> {
    bytes(path, limit).map(|bytes| {
        String::from_utf8(bytes)
            .unwrap_or_else(|damaged| String::from_utf8_lossy(damaged.as_bytes()).into_owned())
    })
}

/// A file that holds one number. `max`, as control groups write it, is no number.
pub(super) fn number(path: &Path) -> Option<u64> {
    text(path, 64).value()?.trim().parse().ok()
}

/// What became of a file that could not be read. A process that ends while it is read gives ESRCH.
fn absence<T>(error: &std::io::Error) -> Reading<T> {
    match error.kind() {
        _ if error.raw_os_error() == Some(libc::ESRCH) => Reading::Unsupported,
        ErrorKind::NotFound | ErrorKind::NotADirectory => Reading::Unsupported,
        ErrorKind::PermissionDenied => Reading::Denied,
        _ => Reading::Failed(error.to_string().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whole_or_up_to_the_limit() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("file");
        for length in [0, 1, PAGE - 1, PAGE, PAGE + 1, 4 * PAGE, 70_000] {
            let written: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            std::fs::write(&path, &written).expect("is written");
            for limit in [0, 64, PAGE, 1 << 20] {
                let kept = &written[..length.min(limit)];
                assert_eq!(bytes(&path, limit).value().map(Vec::as_slice), Some(kept));
            }
        }
        std::fs::write(&path, b"a\xffb").expect("is written");
        assert_eq!(text(&path, 9).value().map(String::as_str), Some("a\u{fffd}b"));
    }
}
