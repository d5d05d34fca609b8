//! From the names on the command line to everything found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use warpscope_probes::inspect::EnvironmentScan;
use warpscope_probes::inspect::binary::{OnDisk, Scan, scan_file, scan_source};
use warpscope_probes::inspect::env::{
    CudaLibrary, DriverServes, EnvKind, Environment, Image, ImageError, ImageFile, Inventory,
    Places, Progress, Sweep, driver_serves, normalized, read_image, stream_image,
};
use warpscope_probes::rules::RuleBase;

use super::binaries;
use super::report::{Group, Item, Judge, Report};
use crate::commands::cli::{CliError, Options};
use crate::commands::environments::scan;
use crate::config::args;
use crate::engine::installed::short_name;

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
pub(crate) fn report(
    options: &Options,
    base: &RuleBase,
    judges: Vec<Judge>,
) -> Result<Report, CliError> {
    let inspected = options.get(&args::INSPECTED);
    let everything = inspected.is_empty();
    let roots: Vec<PathBuf> = options.get(&args::SEARCHED);
    if let Some(path) = roots.iter().find(|path| !path.is_dir()) {
        let hint = "--root names a folder to search for environments";
        return Err(CliError::Usage(format!("{}: not a folder; {hint}", path.display())));
    }
    let named = Named { roots, ..sort(&inspected)? };
    let mut report = Report {
        judges,
        groups: Vec::new(),
        unreadable: Vec::new(),
        inventory: Inventory::default(),
    };
    files(&named.files, &mut report)?;
    for image in &named.images {
        report.groups.extend(image_groups(image, base, &report.judges)?);
    }
    let places = named.folders.iter().chain(&named.roots).next();
    if everything || places.is_some() || !named.pids.is_empty() {
        environments(named, everything, base, &mut report)?;
    }
    Ok(report)
}

fn sort(names: &[PathBuf]) -> Result<Named, CliError> {
    let mut named = Named::default();
    for path in names.iter().cloned() {
        match () {
            () if path.is_dir() => named.folders.push(path),
            () if is_archive(&path) => named.images.push(path),
            () if path.exists() => named.files.push(path),
            () => {
                let pid = path.to_str().and_then(|name| name.parse().ok()).ok_or_else(|| {
                    let name = path.display();
                    let hint = "name a binary, a wheel, an environment's folder, image.tar or a process id";
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
fn files(paths: &[PathBuf], report: &mut Report) -> Result<(), CliError> {
    let mut items = Vec::new();
    for path in paths {
        let scan = scan_file(path).map_err(|error| CliError::Usage(error.to_string()))?;
        let name = short_name(path, paths.iter().map(PathBuf::as_path));
        items.push(Item::of_file((path, name), &scan, &report.judges));
    }
    if !items.is_empty() {
        report.groups.push(Group::of_files("files that were named", PathBuf::new(), items));
    }
    Ok(())
}

/// Binaries below a folder in which there is no environment; whether there are any.
fn loose_binaries(folder: &Path, report: &mut Report) -> bool {
    let scans = binaries::below(folder);
    let relative = |path: &Path| path.strip_prefix(folder).unwrap_or(path).display().to_string();
    let items = scans
        .iter()
        .map(|(path, scan)| Item::of_file((path, relative(path)), scan, &report.judges));
    let mut items: Vec<Item> = items.collect();
    items.sort_by_key(Item::place);
    let any = !items.is_empty();
    if any {
        report.groups.push(Group::of_files("binaries", folder.to_owned(), items));
    }
    any
}

/// What an image holds.
fn image_groups(path: &Path, base: &RuleBase, judges: &[Judge]) -> Result<Vec<Group>, CliError> {
    let usage = |error: ImageError| CliError::Usage(error.to_string());
    let image = read_image(path, &mut Progress::silent()).map_err(usage)?;
    let scans = image_scans(path, &image).map_err(usage)?;
    let survey =
        EnvironmentScan { scans, inventory: image.inventory, ..EnvironmentScan::default() };
    Ok(groups(&survey, base, judges, Some(path)))
}

/// The device code of an image's binaries. A layer can only be read forwards, and a binary has its table of contents at its end: each in turn
/// goes through a file without a name.
fn image_scans(path: &Path, image: &Image) -> Result<BTreeMap<PathBuf, Scan>, ImageError> {
    let mut scans = BTreeMap::new();
    let mut each = |file: &ImageFile, body: &mut dyn Read| {
        let Ok(spooled) = spool(body) else { return };
        if let Ok(scan) = scan_source(&file.path, &spooled)
            && scan.has_device_code()
        {
            scans.insert(file.path.clone(), scan);
        }
    };
    stream_image(path, image, &image.files, &mut each, &mut Progress::silent())?;
    Ok(scans)
}

/// Copies a stream into a file that has no name and is gone with the handle.
fn spool(body: &mut dyn Read) -> std::io::Result<OnDisk> {
    let mut options = File::options();
    options.read(true).write(true).custom_flags(libc::O_TMPFILE).mode(0o600);
    let mut file = options.open(std::env::temp_dir())?;
    std::io::copy(body, &mut file)?;
    OnDisk::new(file)
}

fn environments(
    named: Named,
    everything: bool,
    base: &RuleBase,
    report: &mut Report,
) -> Result<(), CliError> {
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
    report
        .unreadable
        .extend(survey.inventory.unreadable.iter().cloned().chain(survey.unreadable.clone()));
    report.inventory = survey.inventory;
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
    let driver = |judge: &Judge| driver_problem(home, (&judge.label, judge.cuda.as_deref()));
    problems.extend(judges.iter().filter_map(driver));
    Group {
        title: title(home, image),
        root: home.root.clone(),
        items,
        problems,
        cuda: home.cuda.iter().filter(|library| library.wins).map(cuda_line).collect(),
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

fn cuda_line(library: &CudaLibrary) -> String {
    let version = library.version.as_deref().unwrap_or("of unknown version");
    format!("{} {version} by {}: {}", library.name, library.via, library.path.display())
}

/// Whether the driver of a GPU, which is for this CUDA, is too old for the runtime an environment would load.
pub(crate) fn driver_problem(
    home: &Environment,
    (label, cuda): (&str, Option<&str>),
) -> Option<String> {
    let runtime = home.cuda_runtime()?;
    let (major, minor) = cuda?.split_once('.')?;
    let driver = (major.parse().ok()?, minor.parse().ok()?);
    let (have, want) =
        (format!("{}.{}", driver.0, driver.1), format!("{}.{}", runtime.0, runtime.1));
    match driver_serves(driver, runtime) {
        DriverServes::Fully => None,
        DriverServes::MachineCodeOnly => Some(format!(
            "the driver of {label} is for CUDA {have}, the runtime here is {want}: machine code runs, but PTX of that version does not compile"
        )),
        DriverServes::No => Some(format!(
            "the driver of {label} is for CUDA {have} and too old for the runtime {want} here: update the driver, or install builds for CUDA {have}"
        )),
    }
}
