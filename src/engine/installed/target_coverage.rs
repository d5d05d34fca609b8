//! What the binaries of one package can be expected to do on one GPU.
//!
//! Coverage is a property of a unit of code, not of a package: a package whose main library has nothing fails although another of its
//! libraries is complete, and a library built for one architecture only is a special case that its package does without elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use warpscope_kernels::image::{Isa, cuda_text};
use warpscope_kernels::{Sm, Suffix};
use warpscope_probes::catalogue::Catalogue;
use warpscope_probes::inspect::binary::{Coverage, Form, Scan};
use warpscope_probes::inspect::env::cuda_builds::{self, Cuda};

use crate::engine::verdict::Outcome;

/// Targets named before the rest is counted.
const NAMED_TARGETS: usize = 12;
/// Libraries named before the rest is left out.
const NAMED_LIBRARIES: usize = 4;

/// What the binaries of a package can be expected to do on a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetCoverage {
    /// Works, partial or fails; unknown where they carry no device code that could be judged.
    pub outcome: Outcome,
    /// Why, one sentence.
    pub detail: String,
    /// The library that decides.
    pub library: PathBuf,
    /// All units of code together.
    pub coverage: Coverage,
    /// The libraries that were judged: of builds for several CUDA versions only the one that is loaded.
    pub libraries: Vec<PathBuf>,
}

/// One library on the GPU asked about.
struct Judged<'a> {
    scan: &'a Scan,
    coverage: Coverage,
    best: Option<(Sm, Coverage)>,
    /// Architectures it was built for.
    breadth: usize,
    special: bool,
    builds: Builds,
    /// PTX that only a newer driver compiles, where that is what keeps code from loading.
    newer: Option<Isa>,
    /// Its file's name, with its folder where another one of the package has the same.
    name: String,
}

/// Whether the CUDA that a library will meet has a build of it.
#[derive(PartialEq)]
enum Builds {
    /// It has, or there is but one build.
    Fits,
    /// It has none: those there are.
    NoneFits(String),
    /// It is not known, and only some of the builds serve the GPU.
    Depends { serve: String, all: String },
}

impl Judged<'_> {
    fn loads(&self) -> u32 {
        self.coverage.cubin + self.coverage.jit
    }

    /// Whether another GPU is served better, or this one with a newer driver. What nobody is served by is dispatch at run time, and what is built for single architectures
    /// only is a feature of theirs.
    fn has_gap(&self) -> bool {
        let best = self.best.map_or(0, |(_, best)| best.cubin + best.jit);
        (self.loads() < best || self.newer.is_some()) && !self.is_for_others()
    }

    /// Whether it is meant for other architectures.
    fn is_for_others(&self) -> bool {
        self.special && self.loads() == 0 && self.newer.is_none()
    }

    /// The library and its package, once where both have one name.
    fn of(&self, package: &str) -> String {
        let name = &self.name;
        if name == package { name.clone() } else { format!("{name} of {package}") }
    }
}

/// `1 unit of code`, `all 12 units of code`.
fn units(count: u32) -> String {
    match count {
        1 => "the one unit of code".to_owned(),
        _ => format!("all {count} units of code"),
    }
}

/// Judges the scanned libraries of a package, of builds for several CUDA versions the one that fits `runtime`. `None` when none of them
/// carries code the CUDA runtime would load, or only some that loads its code itself.
pub fn target_coverage<'a>(
    package: &str,
    scans: impl Iterator<Item = &'a Scan>,
    (device, driver): (Sm, Option<Isa>),
    runtime: Option<Cuda>,
) -> Option<TargetCoverage> {
    let devices: Vec<Sm> = Catalogue::load().archs().iter().map(|arch| arch.sm).collect();
    let scans: Vec<&Scan> = scans.collect();
    let judge = |scan: &&'a Scan| {
        let (coverage, any) =
            (scan.kernel_coverage(device, driver), scan.kernel_coverage(device, None));
        let newer = scan.newest_jit(device, None).filter(|_| any.jit > coverage.jit);
        Judged {
            name: short_name(&scan.path, scans.iter().map(|one| one.path.as_path())),
            scan,
            coverage,
            best: scan.best_served(&devices, driver),
            breadth: targets(scan).count(),
            special: is_special(scan),
            builds: Builds::Fits,
            newer,
        }
    };
    let is_judged =
        |one: &Judged<'_>| one.coverage.total() > 0 && !one.scan.loads_its_own_code(device, driver);
    let judged = scans.iter().map(judge).filter(is_judged).collect();
    let judged = chosen(judged, runtime);
    // The library for the most architectures is the package's own; those for few are features of it.
    let main = judged.iter().max_by_key(|one| (one.breadth, one.coverage.total()))?;
    let (meant, others): (Vec<_>, Vec<_>) = judged.iter().partition(|one| !one.is_for_others());
    let coverage = meant.iter().fold(Coverage::default(), |sum, one| add(sum, one.coverage));
    let others = others.iter().map(|one| one.coverage.total()).sum();
    let gaps: Vec<&Judged<'_>> = judged.iter().filter(|one| one.has_gap()).collect();
    let (outcome, detail) = match (&main.builds, main.loads(), gaps.as_slice()) {
        (Builds::Depends { .. }, ..) => (Outcome::Unknown, fails(package, main, device)),
        (_, 0, _) => (Outcome::Fails, fails(package, main, device)),
        (_, _, []) => (Outcome::Works, works(package, (coverage, others), main, (device, driver))),
        (_, _, gaps) => (Outcome::Partial, partial(package, main, gaps, device)),
    };
    let libraries = judged.iter().map(|one| one.scan.path.clone()).collect();
    Some(TargetCoverage { outcome, detail, library: main.scan.path.clone(), coverage, libraries })
}

/// Of builds of one library for several CUDA versions or architectures, the one that is loaded. Files that merely have one name are
/// libraries of their own.
fn chosen<'a>(judged: Vec<Judged<'a>>, runtime: Option<Cuda>) -> Vec<Judged<'a>> {
    let mut groups: BTreeMap<PathBuf, Vec<Judged<'a>>> = BTreeMap::new();
    for one in judged {
        groups.entry(cuda_builds::family(&one.scan.path)).or_default().push(one);
    }
    groups.into_values().filter_map(|group| of_builds(group, runtime)).collect()
}

/// The build for the CUDA of the runtime; of several for it, the one that serves the GPU best. Without a known runtime the one that
/// serves it worst, with those that serve it.
fn of_builds<'a>(group: Vec<Judged<'a>>, runtime: Option<Cuda>) -> Option<Judged<'a>> {
    let version = |one: &Judged<'_>| cuda_builds::version(&one.scan.path);
    let builds: BTreeSet<Cuda> = group.iter().filter_map(version).collect();
    let serve: BTreeSet<Cuda> =
        group.iter().filter(|one| one.loads() > 0).filter_map(version).collect();
    let taken = match runtime.filter(|_| builds.len() > 1) {
        Some(runtime) => cuda_builds::fitting(&builds, runtime),
        None => builds.difference(&serve).chain(&builds).next().copied(),
    };
    let is_taken = |one: &Judged<'_>| taken.is_none() || version(one) == taken;
    let mut one = group.into_iter().filter(is_taken).max_by_key(Judged::loads)?;
    if taken.is_none() && !builds.is_empty() {
        one.coverage = Coverage { none: one.coverage.total(), ..Coverage::default() };
        one.builds = Builds::NoneFits(cuda_builds::list(&builds));
    } else if runtime.is_none() && one.loads() == 0 && !serve.is_empty() {
        let [serve, all] = [&serve, &builds].map(cuda_builds::list);
        one.builds = Builds::Depends { serve, all };
    }
    Some(one)
}

/// A file's name, with its folder where another one has the same name. Paths inside an archive are behind its name and `!`.
pub fn short_name<'p>(path: &Path, all: impl Iterator<Item = &'p Path>) -> String {
    let parts = |path: &Path| {
        let text = path.to_string_lossy().into_owned();
        let mut parts = text.rsplit(['/', '!']).map(str::to_owned);
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
    };
    let (name, folder) = parts(path);
    let mut others = all.filter(|other| *other != path);
    if others.any(|other| parts(other).0 == name) { format!("{folder}/{name}") } else { name }
}

fn add(a: Coverage, b: Coverage) -> Coverage {
    Coverage { cubin: a.cubin + b.cubin, jit: a.jit + b.jit, none: a.none + b.none }
}

/// Built for features of single architectures only: `sm_90a` kernels beside a general library.
fn is_special(scan: &Scan) -> bool {
    let mut targets = targets(scan).peekable();
    targets.peek().is_some() && targets.all(|target| target.suffix != Suffix::None)
}

fn targets(scan: &Scan) -> impl Iterator<Item = Sm> {
    let summary = scan.summary();
    let all: BTreeSet<Sm> =
        summary.cubin.keys().chain(summary.ptx.keys()).map(|one| one.sm).collect();
    all.into_iter()
}

/// `sm_80, sm_86, sm_90a and no PTX`.
fn carries(scan: &Scan) -> String {
    let summary = scan.summary();
    let list = |form: Form, from: Vec<String>| {
        let more = from.len().saturating_sub(NAMED_TARGETS);
        let named = from.into_iter().take(NAMED_TARGETS).collect::<Vec<_>>().join(", ");
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        match (named.is_empty(), form) {
            (false, _) => format!("{named}{rest}"),
            (true, Form::Compute) => "no PTX".to_owned(),
            (true, _) => "no machine code".to_owned(),
        }
    };
    let code = list(Form::Sm, summary.cubin.keys().map(ToString::to_string).collect());
    let text = list(Form::Compute, summary.ptx.keys().map(ToString::to_string).collect());
    format!("{code} and {text}")
}

/// Why nothing of a library loads.
fn fails(package: &str, one: &Judged<'_>, device: Sm) -> String {
    match (&one.builds, one.newer) {
        (Builds::NoneFits(all), _) => {
            format!(
                "{package} has no build for the CUDA of its environment: it has builds for {all}"
            )
        }
        (Builds::Depends { serve, all }, _) => format!(
            "{package} has builds for CUDA {all}, and only with {serve} code that runs on {device}; which one is loaded depends on the CUDA of its environment"
        ),
        (Builds::Fits, Some(isa)) => {
            format!("{} has only PTX for {device}, {}", one.of(package), too_new(isa))
        }
        (Builds::Fits, None) => format!(
            "{} contains no code that runs on {device}: it has {}",
            one.of(package),
            carries(one.scan)
        ),
    }
}

/// `which needs …`, of PTX that the driver does not compile.
fn too_new(isa: Isa) -> String {
    let needs = needed_driver(isa).unwrap_or_else(|| "a newer driver".to_owned());
    format!("of version {isa}, which this driver does not compile: it needs {needs}")
}

/// The driver that compiles PTX of a version.
fn needed_driver(isa: Isa) -> Option<String> {
    Some(format!("a driver of CUDA {} or newer", cuda_text(isa.first_release()?.cuda)))
}

fn partial(package: &str, main: &Judged<'_>, gaps: &[&Judged<'_>], device: Sm) -> String {
    let nothing: Vec<String> = gaps
        .iter()
        .filter(|one| one.loads() == 0)
        .map(|one| one.name.clone())
        .take(NAMED_LIBRARIES)
        .collect();
    let best = match main.best {
        Some((best, coverage)) if coverage.cubin + coverage.jit > main.loads() => {
            format!("; on {best}, which it serves best, {} do", coverage.cubin + coverage.jit)
        }
        _ => String::new(),
    };
    let none = match nothing.as_slice() {
        [] => String::new(),
        names => format!("; nothing in {} does", names.join(", ")),
    };
    let newer = gaps.iter().filter_map(|one| one.newer).max();
    let newer = newer.map_or_else(String::new, |isa| format!("; there is PTX {}", too_new(isa)));
    let (loads, total) = (main.loads(), main.coverage.total());
    format!(
        "{loads} of {total} units of code in {} load on {device}{best}{none}{newer}",
        main.of(package)
    )
}

fn works(
    package: &str,
    (coverage, others): (Coverage, u32),
    main: &Judged<'_>,
    (device, driver): (Sm, Option<Isa>),
) -> String {
    let loads = coverage.cubin + coverage.jit;
    let units = match coverage.none {
        0 => format!("{} of {package}", units(loads)),
        _ => format!(
            "{loads} of {} units of code of {package}, as many as on any GPU,",
            coverage.total()
        ),
    };
    let others = match others {
        0 => String::new(),
        count => format!("; {count} more are for other architectures only"),
    };
    let (has, load) = if loads == 1 { ("has", "loads") } else { ("have", "load") };
    if coverage.jit == 0 {
        return format!("{units} {has} machine code for {device}{others}");
    }
    let jit = match coverage.jit {
        1 if loads == 1 => "but only once the driver has compiled it".to_owned(),
        all if all == loads => "but only once the driver has compiled them".to_owned(),
        1 => "one of them only once the driver has compiled it".to_owned(),
        some => format!("{some} of them only once the driver has compiled them"),
    };
    let needs = main
        .scan
        .newest_jit(device, driver)
        .and_then(|isa| Some(format!(" (PTX {isa}: {})", needed_driver(isa)?)));
    format!(
        "{units} {load} on {device}, {jit}, which makes the first launch slow{}{others}",
        needs.unwrap_or_default()
    )
}
