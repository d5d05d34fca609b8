//! Names that ssh's configuration gives to hosts.

use std::path::{Path, PathBuf};

use warpscope_probes::bounded::{self, Accept};

use crate::text::fits;

/// Longest configuration that is read, and how deep files include others.
const LONGEST: u64 = 1 << 20;
const DEPTH: usize = 4;

/// Every name behind a `Host` that is no pattern, in the order of the files. What cannot be read names nobody.
pub(super) fn hosts(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    read(&folder.join("config"), folder, DEPTH, &mut found);
    found
}

fn read(file: &Path, folder: &Path, depth: usize, found: &mut Vec<String>) {
    let Ok(text) = bounded::text(file, Accept::Files, LONGEST) else { return };
    for line in text.lines() {
        let (keyword, rest) = keyword(line);
        if keyword.eq_ignore_ascii_case("host") {
            let names = rest.split_whitespace().map(|name| name.trim_matches('"'));
            found.extend(names.filter(|name| !name.contains(['*', '?', '!'])).map(str::to_owned));
        } else if keyword.eq_ignore_ascii_case("include") && depth > 0 {
            for name in rest.split_whitespace() {
                included(name.trim_matches('"'), folder)
                    .iter()
                    .for_each(|file| read(file, folder, depth - 1, found));
            }
        }
    }
}

fn keyword(line: &str) -> (&str, &str) {
    let line = line.trim();
    let end = line.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(line.len());
    (&line[..end], line[end..].trim_start_matches(|c: char| c.is_whitespace() || c == '='))
}

/// Files that an `Include` names: relative to ssh's folder, with a pattern in the last part at most.
fn included(name: &str, folder: &Path) -> Vec<PathBuf> {
    let home = folder.parent().unwrap_or(folder);
    let path = match name.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => folder.join(name),
    };
    let Some(pattern) =
        path.file_name().and_then(|name| name.to_str()).filter(|name| name.contains(['*', '?']))
    else {
        return vec![path];
    };
    let entries = path.parent().and_then(|parent| parent.read_dir().ok());
    let names = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = names
        .filter(|path| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| fits(pattern, name))
        })
        .collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_included_files_too_and_patterns_are_no_names() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let ssh = folder.path().join(".ssh");
        std::fs::create_dir_all(ssh.join("conf.d")).expect("is made");
        let write =
            |name: &str, text: &str| std::fs::write(ssh.join(name), text).expect("is written");
        write(
            "config",
            "Include conf.d/*.conf\nInclude config\nHost gpu1 gpu2\n  User ana\nhost=\"gpu3\"\nHost *.lab !x\n",
        );
        write("conf.d/a.conf", "Host early\n");
        write("conf.d/b.txt", "Host other\n");
        let mut found = hosts(&ssh);
        found.dedup();
        assert!(found.contains(&"early".to_owned()) && found.contains(&"gpu3".to_owned()));
        assert!(!found.iter().any(|name| name == "other" || name.contains(['*', '!'])));
    }

    #[test]
    fn patterns_fit_as_in_a_shell() {
        for (pattern, name, wanted) in [
            ("gpu*", "gpu12", true),
            ("gpu?", "gpu12", false),
            ("*.lab", "a.b.lab", true),
            ("*", "", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b", "abc", false),
        ] {
            assert_eq!(fits(pattern, name), wanted, "{pattern} {name}");
        }
    }
}
