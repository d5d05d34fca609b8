//! Which hosts are remembered to have this program, or not to want it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::build;
use crate::commands::cli::Options;
use crate::commands::output;
use crate::config::args::Install;
use crate::config::state_folder;
use crate::io::sink::state_file;
use crate::io::source::hosts::HostName;

/// Where it is remembered which hosts need not be asked about again.
const FILE: &str = "hosts.json";

/// Hosts that need not be looked at, as of one version of this program.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Settled {
    build: String,
    /// Those that have warpscope.
    pub(super) hosts: BTreeSet<String>,
    /// Those whose user wants none there.
    #[serde(default)]
    pub(super) declined: BTreeSet<String>,
}

impl Settled {
    /// What is remembered, unless another version did.
    pub(super) fn read(file: &Path) -> Self {
        let parsed = |text: &str| serde_json::from_str(text).map_err(|why| why.to_string());
        let remembered = state_file::read(file, parsed).ok();
        remembered
            .filter(|settled: &Self| settled.build == build())
            .unwrap_or_else(|| Self { build: build(), ..Self::default() })
    }

    pub(super) fn write(&self, file: &Path) {
        if let Err(error) = state_file::write(file, self) {
            output::note(format_args!("{}: {error}", file.display()));
        }
    }

    /// Whether a host need not be looked at. Who wants the program everywhere does not decline it.
    pub(super) fn has(&self, host: &HostName, choice: Install) -> bool {
        let is_declined = || choice != Install::Always && self.declined.contains(host.as_str());
        self.hosts.contains(host.as_str()) || is_declined()
    }

    fn forget(&mut self, host: &HostName) {
        self.hosts.remove(host.as_str());
        self.declined.remove(host.as_str());
    }
}

pub(super) fn file(options: &Options) -> Option<PathBuf> {
    state_folder(&options.env).map(|folder| folder.join(FILE))
}

/// Looks at a host anew when it is next named: nothing is kept there any more.
pub(crate) fn forget(options: &Options, host: &HostName) {
    if let Some(file) = file(options).filter(|file| file.exists()) {
        let mut settled = Settled::read(&file);
        settled.forget(host);
        settled.write(&file);
    }
}

pub(super) fn note(among: &mut BTreeSet<String>, hosts: &[&HostName]) {
    among.extend(hosts.iter().map(|host| host.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_whose_user_declined_is_looked_at_where_the_program_is_always_sent() {
        let name = |text: &str| text.parse::<HostName>().expect("a name");
        let mut settled = Settled::default();
        note(&mut settled.hosts, &[&name("has")]);
        note(&mut settled.declined, &[&name("declined")]);
        for (host, choice, want) in [
            ("has", Install::Ask, true),
            ("has", Install::Always, true),
            ("declined", Install::Ask, true),
            ("declined", Install::Always, false),
            ("new", Install::Ask, false),
        ] {
            assert_eq!(settled.has(&name(host), choice), want, "{host} {choice:?}");
        }
        ["has", "declined"].iter().for_each(|host| settled.forget(&name(host)));
        assert_eq!(settled, Settled::default());
    }
}
