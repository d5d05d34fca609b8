//! What was found, for programs.

use std::collections::BTreeMap;

use serde::Serialize;
use warpscope_probes::inspect::binary::{Coverage, Scan, Target};
use warpscope_probes::inspect::env::{CudaLibrary, Searched, Unreadable};

use super::report::{Answer as Found, Group, Item, Judge, Report};
use crate::engine::Outcome;

/// Number of the JSON form.
const SCHEMA: u32 = 1;
/// Kernels named of those a GPU has nothing for.
const NAMES: usize = 48;

#[derive(Serialize)]
pub(crate) struct Document<'a> {
    schema: u32,
    environments: Vec<Home<'a>>,
    libraries: Vec<Library<'a>>,
    packages: Vec<Package<'a>>,
    unreadable: &'a [Unreadable],
    searched: &'a [Searched],
}

#[derive(Serialize)]
struct Home<'a> {
    root: String,
    about: &'a str,
    problems: &'a [String],
    cuda: &'a [CudaLibrary],
    installed: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
struct Library<'a> {
    path: String,
    package: &'a str,
    version: &'a str,
    bytes: u64,
    cubin: BTreeMap<Target, u32>,
    ptx: BTreeMap<Target, u32>,
    other: BTreeMap<Target, u32>,
    relocatable: BTreeMap<Target, u32>,
    data: BTreeMap<Target, u32>,
    containers: u32,
    gpus: Vec<OnGpu<'a>>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct OnGpu<'a> {
    gpu: &'a str,
    sm: String,
    #[serde(flatten)]
    coverage: Coverage,
}

#[derive(Serialize)]
struct Package<'a> {
    environment: String,
    package: &'a str,
    version: &'a str,
    /// What is wrong with its files.
    damage: Option<&'a str>,
    gpus: Vec<Answer<'a>>,
}

#[derive(Serialize)]
struct Answer<'a> {
    gpu: &'a str,
    sm: String,
    outcome: &'static str,
    reason: Option<&'a str>,
    /// The library that decides.
    library: Option<String>,
    /// The first kernels it lacks, where their names can be read.
    missing: &'a [String],
}

pub(crate) fn document(report: &Report) -> Document<'_> {
    let items =
        || report.groups.iter().flat_map(|group| group.items.iter().map(move |item| (group, item)));
    Document {
        schema: SCHEMA,
        environments: report.groups.iter().map(home).collect(),
        libraries: items()
            .flat_map(|(_, item)| item.scans.iter().map(move |scan| (item, scan)))
            .map(|(item, scan)| library(item, scan, &report.judges))
            .collect(),
        packages: items().map(|(group, item)| package(group, item, &report.judges)).collect(),
        unreadable: &report.unreadable,
        searched: &report.searched,
    }
}

fn home(group: &Group) -> Home<'_> {
    Home {
        root: group.root.display().to_string(),
        about: &group.title,
        problems: &group.problems,
        cuda: &group.cuda,
        installed: &group.installed,
    }
}

fn library<'a>(item: &'a Item, scan: &'a Scan, judges: &'a [Judge]) -> Library<'a> {
    let summary = scan.summary();
    let on = |judge: &'a Judge| OnGpu {
        gpu: &judge.label,
        sm: judge.sm.to_string(),
        coverage: scan.kernel_coverage(judge.sm, judge.driver),
    };
    Library {
        path: scan.path.display().to_string(),
        package: &item.name,
        version: &item.version,
        bytes: scan.bytes,
        cubin: summary.cubin,
        ptx: summary.ptx,
        other: summary.other,
        relocatable: summary.relocatable,
        data: summary.data,
        containers: summary.containers,
        gpus: judges.iter().map(on).collect(),
        warnings: &scan.warnings,
    }
}

fn package<'a>(group: &'a Group, item: &'a Item, judges: &'a [Judge]) -> Package<'a> {
    let answer = |(judge, found): (&'a Judge, &'a Option<Found>)| {
        let reach = found.as_ref().map(|found| &found.reach);
        let missing = found.as_ref().and_then(|found| found.missing.as_ref());
        Answer {
            gpu: &judge.label,
            sm: judge.sm.to_string(),
            outcome: reach.map_or(Outcome::Unknown, |reach| reach.outcome).id(),
            reason: reach.map(|reach| reach.detail.as_str()),
            library: reach.map(|reach| reach.library.display().to_string()),
            missing: missing
                .map_or(&[], |missing| &missing.names[..missing.names.len().min(NAMES)]),
        }
    };
    Package {
        environment: group.root.display().to_string(),
        package: &item.name,
        version: &item.version,
        damage: item.damage.as_deref(),
        gpus: judges.iter().zip(&item.answers).map(answer).collect(),
    }
}
