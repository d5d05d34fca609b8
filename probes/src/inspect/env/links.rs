//! Paths and their links, followed inside a root.
//!
//! By hand, because under a container's root an absolute link would otherwise lead into this machine, and a hostile one anywhere.
//! `openat2` with `RESOLVE_IN_ROOT` would do it in the kernel, but is missing in older ones and forbidden in many sandboxes.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Links followed in one path, as many as the kernel does.
const MOST_LINKS: usize = 40;

/// A path without `.` and `..`, by its text alone; `..` above the top stays at the top.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            part => clean.push(part),
        }
    }
    clean
}

/// Follows every link of a path inside; what comes out lies inside as well.
pub(super) fn follow(
    inside: &Path,
    link: impl Fn(&Path) -> io::Result<Option<PathBuf>>,
) -> io::Result<PathBuf> {
    let mut done = PathBuf::from("/");
    let mut left: Vec<OsString> = reversed(inside);
    let mut links = 0;
    while let Some(part) = left.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&part);
        let Some(target) = link(&next)? else {
            done = next;
            continue;
        };
        links += 1;
        if links > MOST_LINKS {
            return Err(io::Error::other("too many links"));
        }
        if target.is_absolute() {
            done = PathBuf::from("/");
        }
        left.extend(reversed(&target));
    }
    Ok(done)
}

fn reversed(path: &Path) -> Vec<OsString> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    let mut parts: Vec<_> = path.components().filter_map(name).collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_cleaned_by_text() {
        for (given, clean) in [("/a/./b/../c", "/a/c"), ("/../../x", "/x"), ("/a/b/../../..", "/")]
        {
            assert_eq!(lexical(Path::new(given)), Path::new(clean));
        }
    }
}
