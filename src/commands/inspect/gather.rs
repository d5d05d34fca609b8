//! From the names on the command line to everything found.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use warpscope_probes::inspect::EnvironmentScan;
use warpscope_probes::inspect::binary::{ScanError, scan_file};
use warpscope_probes::inspect::env::{
    EnvKind, Environment, Inventory, Places, Progress, Sweep, Unreadable, normalized,
};
use warpscope_probes::rules::RuleBase;

use super::driver::driver_problems;
use super::report::{Group, Item, Judge, Report};
use super::{binaries, image};
use crate::commands::cli::{CliError, Options, Result};
use crate::commands::environments::scan;
use crate::config::args;
use crate::engine::installed::{replaced, short_name};

/// What was named, by what it is.
#[derive(Default)]
struct Named {
    pids: Vec<u32>,
    folders: Vec<PathBuf>,
    /// Where environments are searched besides.
    roots: Vec<PathBuf>,
    images: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

/// Looks at what was named, or at everything.
pub(crate) fn report(options: &Options, base: &RuleBase, judges: Vec<Judge>) -> Result<Report> {
    let inspected = options.get(&args::INSPECTED);
    let everything = inspected.is_empty();
    let roots: Vec<PathBuf> = options.get(&args::SEARCHED);
    if let Some(path) = roots.iter().find(|path| !path.is_dir()) {
        let hint = "--root names a folder to search for environments";
        return Err(CliError::Usage(format!("{}: not a folder; {hint}", path.display())));
    }
    let named = Named { roots, ..sort(&inspected)? };
    let mut report = Report { judges, ..Report::default() };
    files(&named.files, &mut report)?;
    for path in &named.images {
        add_image(path, base, &mut report)?;
    }
    let places = named.folders.iter().chain(&named.roots).next();
    if everything || places.is_some() || !named.pids.is_empty() {
        environments(named, everything, base, &mut report)?;
    }
    Ok(report)
}

fn sort(names: &[PathBuf]) -> Result<Named> {
    let mut named = Named::default();
    for path in names.iter().cloned() {
        match () {
            () if path.join("oci-layout").is_file() || is_archive(&path) => named.images.push(path),
            () if path.is_dir() => named.folders.push(path),
            // What may not be looked at is there as well.
            () if path.try_exists().unwrap_or(true) => named.files.push(path),
            () => {
                let pid = path.to_str().and_then(|name| name.parse().ok()).ok_or_else(|| {
                    let name = path.display();
                    let hint = "name a binary, a wheel, an environment's folder, image.tar or a process id; `warpscope check torch@2.8.0` answers for a release that is not here";
                    CliError::Usage(format!("{name}: no such file or process; {hint}"))
                })?;
                named.pids.push(pid);
            }
        }
    }
    Ok(named)
}

/// Whether a file's name says that it is an image of layers.
fn is_archive(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    path.is_file() && [".tar", ".tar.gz", ".tgz"].iter().any(|end| name.ends_with(end))
}

/// Binaries and wheels that were named by themselves.
fn files(paths: &[PathBuf], report: &mut Report) -> Result<()> {
    let (mut items, mut errors) = (Vec::new(), Vec::new());
    for path in paths {
        let name = short_name(path, paths.iter().map(PathBuf::as_path));
        match scan_file(path) {
            Ok(scan) => items.push(Item::of_file((path, name), &scan, &report.judges)),
            Err(error) => errors.push(error),
        }
    }
    if !items.is_empty() {
        report.groups.push(Group::of_files("files that were named", PathBuf::new(), items));
    } else if let Some(error) = errors.first() {
        return Err(CliError::usage(error));
    }
    let place = |error: ScanError| Unreadable { reason: error.reason(), path: error.path };
    report.left_out(errors.into_iter().map(place).collect());
    Ok(())
}

/// Binaries below a folder in which there is no environment; whether there are any, or places that could not be read.
fn loose_binaries(folder: &Path, report: &mut Report) -> bool {
    let below = binaries::below(folder);
    let relative = |path: &Path| path.strip_prefix(folder).unwrap_or(path).display().to_string();
    let items = below
        .found
        .iter()
        .map(|(path, scan)| Item::of_file((path, relative(path)), scan, &report.judges));
    let mut items: Vec<Item> = items.collect();
    items.sort_by_key(Item::place);
    let any = !items.is_empty() || !below.unreadable.is_empty();
    if any {
        report.groups.push(Group::of_files("binaries", folder.to_owned(), items));
    }
    report.left_out(below.unreadable);
    any
}

/// What an image holds.
fn add_image(path: &Path, base: &RuleBase, report: &mut Report) -> Result<()> {
    let survey = image::survey(path)?;
    report.groups.extend(groups(&survey, base, &report.judges, Some(path)));
    report.left_out(survey.inventory.unreadable);
    report.left_out(survey.unreadable);
    Ok(())
}

fn environments(
    named: Named,
    everything: bool,
    base: &RuleBase,
    report: &mut Report,
) -> Result<()> {
    let folders = named.folders.iter().map(|folder| folder.display().to_string());
    let asked: Vec<String> =
        folders.chain(named.pids.iter().map(|pid| format!("process {pid}"))).collect();
    let places = Places::here([named.folders.clone(), named.roots].concat());
    let sweep = Sweep { places, pids: named.pids, only_named: !everything };
    let cancel = AtomicBool::new(false);
    let mut inventory = sweep.run(&mut Progress::new(&cancel, |_| {}));
    let bare = named.folders.iter().filter(|folder| !holds_environment(&inventory, folder));
    let with_binaries: Vec<PathBuf> =
        bare.filter(|folder| loose_binaries(folder, report)).cloned().collect();
    inventory.unreadable.retain(|one| !with_binaries.iter().any(|folder| one.is_about(folder)));
    if !everything && inventory.environments.is_empty() && with_binaries.is_empty() {
        let hidden = inventory.processes.iter().find_map(|one| one.hidden.clone());
        let why = hidden.map_or_else(String::new, |why| format!(" ({why})"));
        return Err(CliError::Usage(format!(
            "{}{why}: no environment and no binary with GPU code; name a folder with site-packages, conda-meta, pyvenv.cfg or libraries, or a process that uses one",
            asked.join(", ")
        )));
    }
    let survey = scan(inventory, &cancel);
    report.groups.extend(groups(&survey, base, &report.judges, None));
    report.unreadable.extend(survey.inventory.unreadable);
    report.unreadable.extend(survey.unreadable);
    report.searched = survey.inventory.searched;
    Ok(())
}

/// Whether an environment was found in a folder or below it.
fn holds_environment(inventory: &Inventory, folder: &Path) -> bool {
    let end = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let label = folder.display().to_string();
    inventory.environments.iter().any(|one| one.root.starts_with(&end) || one.found_by == label)
}

fn groups(
    survey: &EnvironmentScan,
    base: &RuleBase,
    judges: &[Judge],
    image: Option<&Path>,
) -> Vec<Group> {
    let known: BTreeSet<String> = base
        .frameworks()
        .iter()
        .flat_map(|framework| &framework.packages)
        .map(|name| normalized(name))
        .collect();
    let environments = survey.inventory.environments.iter();
    environments.map(|home| group(survey, home, &known, judges, image)).collect()
}

/// Packages with device code, and those the rules know that have none.
fn group(
    survey: &EnvironmentScan,
    home: &Environment,
    known: &BTreeSet<String>,
    judges: &[Judge],
    image: Option<&Path>,
) -> Group {
    let by = (home.cuda_runtime(), image.is_none());
    let items = home.packages.iter().filter_map(|package| {
        let tells = survey.device_code(package).next().is_some()
            || survey.damage(package).is_some()
            || known.contains(&package.normalized);
        tells.then(|| Item::of_package(survey, package, judges, by))
    });
    let mut items: Vec<Item> = items.collect();
    items.sort_by_key(Item::place);
    let mut problems = home.problems.clone();
    problems.extend(home.packages.iter().filter_map(|package| replaced(survey, package)));
    let gpus = judges.iter().map(|judge| (judge.label.as_str(), judge.cuda.as_deref()));
    problems.extend(driver_problems(home, gpus));
    Group {
        title: title(home, image),
        root: home.root.clone(),
        items,
        problems,
        cuda: home.cuda.clone(),
        installed: home.packages.iter().map(|one| (one.name.clone(), one.full_version())).collect(),
    }
}

fn title(home: &Environment, image: Option<&Path>) -> String {
    let mut words = vec![kind(home.kind).to_owned()];
    words.extend(home.python.as_ref().map(|version| format!("Python {version}")));
    words.extend(home.active.then(|| "active".to_owned()));
    let pids: Vec<String> = home.pids.iter().map(u32::to_string).collect();
    words.extend((!pids.is_empty()).then(|| format!("used by process {}", pids.join(", "))));
    words.extend(image.map(|path| format!("in {}", path.display())));
    words.join(", ")
}

pub(crate) fn kind(kind: EnvKind) -> &'static str {
    match kind {
        EnvKind::Venv => "venv",
        EnvKind::Conda => "conda",
        EnvKind::Uv => "uv",
        EnvKind::Pyenv => "pyenv",
        EnvKind::Poetry => "Poetry",
        EnvKind::Pipx => "pipx",
        EnvKind::System => "system",
        EnvKind::User => "user site",
        EnvKind::Image => "image",
        EnvKind::Process => "of a process",
        EnvKind::Program => "program",
        EnvKind::Folder => "folder",
    }
}
