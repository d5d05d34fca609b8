//! Finding environments: every place of the table, each environment once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::disk::{Disk, Identity};
use super::inventory::{EnvKind, Searched};
use super::links::lexical;
use super::places::{PLACES, Places};
use super::progress::Progress;
use super::recognise::{Found, recognise};
use super::search::Search;

/// Places one row may lead to.
const MOST: usize = 2048;

/// More than any list of environments.
const LIST_BYTES: u64 = 1 << 20;

/// Environments found so far, by what they really are.
#[derive(Debug, Default)]
pub(super) struct Environments {
    pub(super) found: Vec<Found>,
    pub(super) searched: Vec<Searched>,
    known: HashMap<Identity, usize>,
}

impl Environments {
    /// Looks at the places that were named, and below those that are no environment themselves.
    pub(super) fn add_all_named(
        &mut self,
        disk: &Disk,
        places: &Places,
        progress: &mut Progress<'_>,
    ) {
        let mut search = Search::new();
        for named in &places.named {
            self.add_named(disk, places, named, &mut search, progress);
        }
    }

    /// Looks below the home, wherever an environment may lie.
    pub(super) fn add_home(&mut self, disk: &Disk, places: &Places, progress: &mut Progress<'_>) {
        let Some(home) = places.home.as_ref().filter(|_| disk.is_real()) else { return };
        self.search(disk, home, (&mut Search::new(), None), progress);
    }

    /// Adds what a walk below a folder finds; whether it found anything.
    fn search(
        &mut self,
        disk: &Disk,
        root: &Path,
        (search, label): (&mut Search, Option<&str>),
        progress: &mut Progress<'_>,
    ) -> bool {
        let (places, searched) = search.below(disk, root, label.is_some(), progress);
        self.searched.extend(searched);
        let found_by = format!("below {}", label.unwrap_or("~"));
        let mut any = false;
        for place in places {
            any |= self.add(disk, &place, EnvKind::Folder, &found_by, progress).is_some();
        }
        any
    }

    /// Looks at every place of the table.
    pub(super) fn add_places(&mut self, disk: &Disk, places: &Places, progress: &mut Progress<'_>) {
        for (kind, pattern) in PLACES {
            for path in paths(disk, places, pattern, progress).into_iter().take(MOST) {
                if progress.cancelled() {
                    return;
                }
                self.add(disk, &path, *kind, pattern, progress);
            }
        }
    }

    /// A place the user named; that nothing is there is news.
    fn add_named(
        &mut self,
        disk: &Disk,
        places: &Places,
        named: &Path,
        search: &mut Search,
        progress: &mut Progress<'_>,
    ) {
        let path = match &places.working {
            Some(working) => lexical(&working.join(named)),
            None => lexical(named),
        };
        let label = named.display().to_string();
        if self.add(disk, &path, EnvKind::Folder, &label, progress).is_some() {
            return;
        }
        let below = disk.is_real() && disk.is_dir(&path);
        if !below || !self.search(disk, &path, (search, Some(&label)), progress) {
            let reason = "no Python environment: neither pyvenv.cfg, conda-meta, site-packages nor an interpreter, there or below";
            progress.unreadable(&path, reason);
        }
    }

    /// Adds what is at a path, unless it is known; the position of what is there.
    pub(super) fn add(
        &mut self,
        disk: &Disk,
        path: &Path,
        kind: EnvKind,
        found_by: &str,
        progress: &mut Progress<'_>,
    ) -> Option<usize> {
        progress.at(&disk.outer(path));
        let mut position = None;
        for found in recognise(disk, path, kind, progress) {
            let mark = found.sites.first().unwrap_or(&found.root);
            let Some(identity) = disk.identity(mark) else { continue };
            let next = self.found.len();
            let at = *self.known.entry(identity).or_insert(next);
            position.get_or_insert(at);
            if at == next {
                self.found.push(Found { found_by: found_by.to_owned(), ..found });
                progress.found(self.found.len());
            }
        }
        position
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
