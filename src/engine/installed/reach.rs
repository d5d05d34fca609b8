//! What the binaries of one package can be expected to do on one GPU.
//!
//! Coverage is a property of a unit of code, not of a package: a package whose main library has nothing fails although another of its
//! libraries is complete, and a library built for one architecture only is a special case that its package does without elsewhere.

use std::collections::BTreeSet;
use std::path::PathBuf;

use warpscope_kernels::{Sm, Suffix};
use warpscope_probes::catalogue::Catalogue;
use warpscope_probes::inspect::binary::{Coverage, Form, PtxIsa, Scan};

use crate::engine::verdict::Outcome;

/// Targets named before the rest is counted.
const NAMED_TARGETS: usize = 8;

/// What the binaries of a package can be expected to do on a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct PackageReach {
    /// Works, partial or fails; unknown where they carry no device code that could be judged.
    pub outcome: Outcome,
    /// Why, one sentence.
    pub detail: String,
    /// The library that decides.
    pub library: PathBuf,
    /// All units of code together.
    pub coverage: Coverage,
}

/// One library on the GPU asked about.
struct Judged<'a> {
    scan: &'a Scan,
    coverage: Coverage,
    best: Option<(Sm, Coverage)>,
    special: bool,
}

impl Judged<'_> {
    fn loads(&self) -> u32 {
        self.coverage.cubin + self.coverage.jit
    }

    fn name(&self) -> String {
        self.scan
            .path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }
}

/// Judges the scanned libraries of a package. `None` when none of them carries code the runtime would load.
pub fn package_reach<'a>(
    package: &str,
    scans: impl Iterator<Item = &'a Scan>,
    device: Sm,
    driver: Option<PtxIsa>,
) -> Option<PackageReach> {
    let devices: Vec<Sm> = Catalogue::load().archs().iter().map(|arch| arch.sm).collect();
    let judge = |scan: &'a Scan| Judged {
        scan,
        coverage: scan.kernel_coverage(device, driver),
        best: scan.best_served(&devices, driver),
        special: is_special(scan),
    };
    let judged: Vec<Judged<'a>> = scans.map(judge).filter(|one| one.coverage.total() > 0).collect();
    let main = judged.iter().max_by_key(|one| (!one.special, one.coverage.total()))?;
    let coverage = judged.iter().fold(Coverage::default(), |sum, one| add(sum, one.coverage));
    let ordinary = || judged.iter().filter(|one| !one.special || one.loads() > 0);
    let gap = ordinary().filter(|one| one.coverage.none > 0).max_by_key(|one| one.coverage.none);
    let (outcome, decides) = match gap {
        _ if main.loads() == 0 => (Outcome::Fails, main),
        Some(gap) => (Outcome::Partial, gap),
        None => (Outcome::Works, main),
    };
    let detail = match outcome {
        Outcome::Fails => fails(package, decides, device),
        Outcome::Partial => partial(package, decides, device),
        _ => works(package, coverage, decides, device, driver),
    };
    Some(PackageReach { outcome, detail, library: decides.scan.path.clone(), coverage })
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
        (!named.is_empty()).then(|| format!("{named}{rest}")).unwrap_or_else(|| {
            if form == Form::Compute { "no PTX".to_owned() } else { "no machine code".to_owned() }
        })
    };
    let code = list(Form::Sm, summary.cubin.keys().map(ToString::to_string).collect());
    let text = list(Form::Compute, summary.ptx.keys().map(ToString::to_string).collect());
    format!("{code} and {text}")
}

fn fails(package: &str, one: &Judged<'_>, device: Sm) -> String {
    format!(
        "{} of {package} carries nothing that runs on {device}: it has {}",
        one.name(),
        carries(one.scan)
    )
}

fn partial(package: &str, one: &Judged<'_>, device: Sm) -> String {
    let (loads, total) = (one.loads(), one.coverage.total());
    let best = match one.best {
        Some((best, coverage)) if best != device => {
            format!("; on {best}, which it serves best, {} do", coverage.cubin + coverage.jit)
        }
        _ => String::new(),
    };
    format!(
        "{loads} of {total} units of code in {} of {package} load on {device}{best}",
        one.name()
    )
}

fn works(
    package: &str,
    coverage: Coverage,
    one: &Judged<'_>,
    device: Sm,
    driver: Option<PtxIsa>,
) -> String {
    let total = coverage.total();
    if coverage.jit == 0 {
        return format!("all {total} units of code of {package} have machine code for {device}");
    }
    let newest = one.scan.newest_jit(device, driver);
    let needs = newest.and_then(|isa| {
        let (cuda, _) = isa.first_toolkit()?;
        Some(format!(" (PTX {isa}: a driver of CUDA {cuda} or newer)"))
    });
    format!(
        "all {total} units of code of {package} load on {device}, {} of them only once the driver has compiled them, \
         which makes the first launch slow{}",
        coverage.jit,
        needs.unwrap_or_default()
    )
}
