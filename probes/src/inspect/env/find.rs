//! Finding environments: every place of the table, each environment once.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::disk::{Disk, Identity, lexical};
use super::inventory::EnvKind;
use super::places::{PLACES, Places};
use super::progress::Progress;
use super::recognise::{Found, recognise};

/// Environments looked at.
const MOST: usize = 2048;

/// More than any list of environments.
const LIST_BYTES: u64 = 1 << 20;

/// Environments found so far, by what they really are.
#[derive(Debug, Default)]
pub(super) struct Environments {
    pub(super) found: Vec<Found>,
    known: HashSet<Identity>,
}

impl Environments {
    /// Looks at every place of the table, those that were named first.
    pub(super) fn find(disk: &Disk, places: &Places, progress: &mut Progress<'_>) -> Self {
        let mut all = Self::default();
        for named in &places.named {
            all.add_named(disk, places, named, progress);
        }
        for (kind, pattern) in PLACES {
            if progress.cancelled() {
                break;
            }
            for path in paths(disk, places, pattern, progress) {
                all.add(disk, &path, *kind, pattern, progress);
            }
        }
        all
    }

    /// A place the user named; that nothing is there is news.
    pub(super) fn add_named(
        &mut self,
        disk: &Disk,
        places: &Places,
        named: &Path,
        progress: &mut Progress<'_>,
    ) {
        let path = match &places.working {
            Some(working) => lexical(&working.join(named)),
            None => lexical(named),
        };
        let label = named.display().to_string();
        if self.add(disk, &path, EnvKind::Folder, &label, progress).is_none() {
            let reason = "no Python environment: neither pyvenv.cfg, conda-meta, site-packages nor an interpreter";
            progress.unreadable(&path, reason);
        }
    }

    /// Adds what is at a path, unless it is known; the root of what is there.
    pub(super) fn add(
        &mut self,
        disk: &Disk,
        path: &Path,
        kind: EnvKind,
        found_by: &str,
        progress: &mut Progress<'_>,
    ) -> Option<PathBuf> {
        progress.at(&disk.outer(path));
        let mut root = None;
        for found in recognise(disk, path, kind, progress) {
            root.get_or_insert_with(|| found.root.clone());
            let mark = found.sites.first().unwrap_or(&found.root);
            let Some(identity) = disk.identity(mark) else { continue };
            if self.found.len() < MOST && self.known.insert(identity) {
                self.found.push(Found { found_by: found_by.to_owned(), ..found });
                progress.found(self.found.len());
            }
        }
        root
    }
}

/// The paths a row of the table leads to.
fn paths(disk: &Disk, places: &Places, pattern: &str, progress: &mut Progress<'_>) -> Vec<PathBuf> {
    let Some(list) = pattern.strip_prefix('@') else {
        return places.expand(disk, pattern, progress);
    };
    let lists = places.expand(disk, list, progress);
    let texts: Vec<_> =
        lists.iter().filter_map(|list| disk.text(list, LIST_BYTES, progress)).collect();
    let lines = texts.iter().flat_map(|text| text.lines()).map(|line| PathBuf::from(line.trim()));
    lines.filter(|path| path.is_absolute()).take(MOST).collect()
}

/// Roots that a command started here and now would use.
pub(super) fn active_roots(disk: &Disk, places: &Places) -> Vec<PathBuf> {
    let named =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().flat_map(|name| places.directories(name));
    named.filter_map(|path| disk.canonical(&path).ok()).collect()
}
