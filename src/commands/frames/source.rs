use std::path::{Path, PathBuf};

use warpscope_probes::bounded::Skipped;
use warpscope_probes::host_provider::{HostOptions, HostProvider};
use warpscope_probes::nvml::{NvmlOptions, NvmlProvider};

use crate::commands::cli::{CliError, Options, Result};
use crate::commands::{elevated, fleet, hosts, output};
use crate::config::args;
use crate::io::source::Source;
use crate::io::source::hosts::{HostName, HostsSource};
use crate::io::source::local::{Aside, Gpus, LocalSource};
use crate::io::source::nvml::{NvmlProcess, nvml_command};
pub(crate) use crate::io::source::replay::AtEnd;
use crate::io::source::replay::ReplaySource;

/// The source the options ask for: a recording or hosts where they are named, this machine otherwise.
/// `at_end` says what a recording does after its last frame.
pub(crate) fn open_source(options: &Options, at_end: AtEnd) -> Result<Box<dyn Source>> {
    let hosts = hosts::named(options)?;
    if !hosts.is_empty() && options.recording().is_some() {
        return Err(CliError::usage("a recording is read here; leave out --host"));
    }
    if let Some(url) = options.get(&args::PROMETHEUS) {
        return fleet::source(&url, options, at_end);
    }
    for option in [&args::PROMETHEUS_TOKEN_FILE, &args::PROMETHEUS_CA] {
        if let Some(path) = options.get(option) {
            let flag = option.spec.long.unwrap_or_default();
            let why = format!("--{flag} {}: goes with --prometheus", path.display());
            return Err(CliError::Usage(why));
        }
    }
    let Some(path) = options.recording() else {
        return if hosts.is_empty() { this_machine(options) } else { remote(options, hosts) };
    };
    let source = ReplaySource::open(&path).map_err(CliError::usage)?;
    if at_end == AtEnd::Stop {
        note_skipped(&path, source.skipped());
    }
    let source =
        source.at_speed(options.get(&args::SPEED)).from(options.get(&args::START)).ending(at_end);
    Ok(Box::new(source))
}

/// Says once what of a file could not be read.
pub(crate) fn note_skipped(path: &Path, skipped: &Skipped) {
    if skipped.count > 0 {
        output::note(format_args!("{}: {skipped}", path.display()));
    }
}

fn remote(options: &Options, hosts: Vec<HostName>) -> Result<Box<dyn Source>> {
    let (ssh, interval) = (hosts::ssh(options)?, options.get(&args::INTERVAL));
    hosts::offer::offer(options, &hosts, &ssh);
    Ok(Box::new(HostsSource::new(hosts, ssh, hosts::build(), interval)))
}

/// The machine this program runs on.
pub(crate) fn this_machine(options: &Options) -> Result<Box<dyn Source>> {
    let library = options.get(&args::LIBRARY);
    let library = library.map(|path| elevated::named("--library", &path)).transpose()?;
    Ok(Box::new(LocalSource::new(
        gpus(library),
        Box::new(HostProvider::new(HostOptions::default())),
        options.get(&args::INTERVAL),
    )))
}

/// NVML in a process of its own; in this one where the system starts no other.
fn gpus(library: Option<PathBuf>) -> Box<dyn Gpus> {
    let of_child = library.clone();
    match NvmlProcess::start(move || nvml_command(of_child.as_deref())) {
        Ok(process) => Box::new(process),
        Err(_) => {
            let options = NvmlOptions { library, ..NvmlOptions::default() };
            Box::new(Aside::new(Box::new(NvmlProvider::new(options))))
        }
    }
}
