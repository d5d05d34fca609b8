//! The conclusions that must come out right, from scans of real wheels and from libraries like them.

use std::path::Path;

use warpscope_kernels::Sm;
use warpscope_probes::catalogue::Catalogue;
use warpscope_probes::inspect::binary::Scan;
use warpscope_probes::inspect::env::{Library, Unreadable};

use super::*;

const SCANS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/probes/tests/binaries/scans");

/// What was read of a real library once, under the name it had.
fn recorded(name: &str, path: &str) -> Scan {
    let text = std::fs::read(Path::new(SCANS).join(name)).expect("is there");
    let scan: Scan = serde_json::from_slice(&text).expect("reads");
    Scan { path: path.into(), ..scan }
}

/// A library with these images in every one of its containers.
fn library(path: &str, executable: &[(&str, &str)], relocatable: &[(&str, &str)]) -> Scan {
    let images = |images: &[(&str, &str)]| -> Vec<_> {
        let image = |(kind, target): &(&str, &str)| {
            let isa = (*kind == "ptx").then_some("7.8");
            serde_json::json!([{"kind": kind, "target": target, "isa": isa, "compression": "none"}, 1])
        };
        let all: Vec<_> = images.iter().map(image).collect();
        if all.is_empty() { Vec::new() } else { vec![serde_json::json!([all, 12])] }
    };
    let scan = serde_json::json!({
        "path": path, "bytes": 1, "format": "elf",
        "executable": images(executable), "relocatable": images(relocatable), "sizes": {},
    });
    serde_json::from_value(scan).expect("reads")
}

fn reach(scans: &[Scan], sm: Sm) -> TargetCoverage {
    target_coverage("pkg 1.0", scans.iter(), (sm, None), None).expect("carries code")
}

fn works_on(scans: &[Scan]) -> Vec<String> {
    let archs = Catalogue::load().archs().iter().map(|arch| arch.sm);
    let works = archs.filter(|sm| reach(scans, *sm).outcome == Outcome::Works);
    works.map(|sm| sm.to_string()).collect()
}

#[test]
fn torch_2_8_fails_on_a_p100_although_one_of_its_libraries_is_complete() {
    let scans = [
        recorded("torch-2.8.0-libtorch_cuda_linalg.json", "lib/libtorch_cuda_linalg.so"),
        recorded("torch-2.8.0-libtorch_cuda.json", "lib/libtorch_cuda.so"),
    ];
    let linalg = &scans[..1];
    assert_eq!(reach(linalg, Sm::new(6, 0)).outcome, Outcome::Works);
    let p100 = reach(&scans, Sm::new(6, 0));
    assert_eq!((p100.outcome, p100.library), (Outcome::Fails, "lib/libtorch_cuda.so".into()));
    assert!(p100.detail.contains("contains no code that runs on sm_60"), "{}", p100.detail);
    assert_eq!(reach(&scans, Sm::new(7, 5)).outcome, Outcome::Works);
}

#[test]
fn code_for_8_0_8_6_and_8_9_fails_on_older_and_newer_gpus() {
    let scans =
        [library("_C.so", &[("cubin", "sm_80"), ("cubin", "sm_86"), ("cubin", "sm_89")], &[])];
    for sm in [Sm::new(7, 5), Sm::new(9, 0), Sm::new(12, 0)] {
        assert_eq!(reach(&scans, sm).outcome, Outcome::Fails, "{sm}");
    }
    for sm in [Sm::new(8, 0), Sm::new(8, 6), Sm::new(8, 9)] {
        assert_eq!(reach(&scans, sm).outcome, Outcome::Works, "{sm}");
    }
}

#[test]
fn code_for_9_0a_loads_on_nothing_but_9_0() {
    let scans = [recorded("vllm-0.33.0-fa3.json", "_vllm_fa3_C.abi3.so")];
    assert_eq!(works_on(&scans), ["sm_90"]);
    // Beside a general library it is a feature of one architecture, and no gap elsewhere.
    let general =
        library("_C.so", &[("cubin", "sm_75"), ("cubin", "sm_80"), ("cubin", "sm_90")], &[]);
    let scans = [general, recorded("vllm-0.33.0-fa3.json", "_vllm_fa3_C.abi3.so")];
    assert_eq!(reach(&scans, Sm::new(7, 5)).outcome, Outcome::Works);
}

#[test]
fn relocatable_ptx_is_no_fallback() {
    let scans = [recorded("bitsandbytes-0.43.3-cuda121.json", "libbitsandbytes_cuda121.so")];
    let relocatable = scans[0].summary().relocatable;
    assert!(relocatable.keys().any(|target| target.to_string() == "compute_90"));
    assert_eq!(reach(&scans, Sm::new(9, 0)).outcome, Outcome::Works);
    assert_eq!(reach(&scans, Sm::new(12, 0)).outcome, Outcome::Fails);
    let made = [library("_C.so", &[("cubin", "sm_80")], &[("ptx", "sm_80")])];
    assert_eq!(reach(&made, Sm::new(9, 0)).outcome, Outcome::Fails);
    let loadable = [library("_C.so", &[("cubin", "sm_80"), ("ptx", "sm_80")], &[])];
    let jit = reach(&loadable, Sm::new(9, 0));
    assert_eq!(jit.outcome, Outcome::Works);
    assert!(jit.detail.contains("first launch slow"), "{}", jit.detail);
}

#[test]
fn of_builds_for_several_cuda_versions_the_one_of_the_runtime_is_judged() {
    let old = library("libx_cuda118.so", &[("cubin", "sm_60"), ("cubin", "sm_75")], &[]);
    let new = library("libx_cuda128.so", &[("cubin", "sm_75"), ("cubin", "sm_120")], &[]);
    let scans = [old, new];
    let on_pascal = |runtime| {
        let found = target_coverage("x 1", scans.iter(), (Sm::new(6, 0), None), runtime);
        let found = found.expect("carries code");
        (found.outcome, found.libraries)
    };
    let (fails, works) = (Outcome::Fails, Outcome::Works);
    assert_eq!(on_pascal(Some((12, 8))), (fails, vec!["libx_cuda128.so".into()]));
    assert_eq!(on_pascal(Some((11, 8))), (works, vec!["libx_cuda118.so".into()]));
    // Of one major the newest that is not newer, else the oldest.
    assert_eq!(on_pascal(Some((12, 9))).0, fails);
    assert_eq!(on_pascal(Some((12, 4))).0, fails);
    assert_eq!(on_pascal(Some((11, 2))).0, works);
    // Which runtime it will meet is not known, and that decides.
    assert_eq!(on_pascal(None).0, Outcome::Unknown);
    let of = |sm, runtime| {
        target_coverage("x 1", scans.iter(), (sm, None), runtime).expect("carries code")
    };
    let unknown = of(Sm::new(6, 0), None).detail;
    assert!(unknown.contains("builds for CUDA 11.8 and 12.8, and only with 11.8"), "{unknown}");
    assert_eq!(of(Sm::new(7, 5), None).outcome, works, "every build serves it");
    assert_eq!(of(Sm::new(9, 0), None).outcome, fails, "no build serves it");
    let none = of(Sm::new(7, 5), Some((13, 0)));
    assert_eq!(none.outcome, fails);
    assert!(none.detail.contains("no build for the CUDA of its environment"), "{}", none.detail);
}

/// CUDA 12.2's driver compiles PTX up to 8.2, the history of the PTX manual says; the library has none but 8.8, of CUDA 12.9.
#[test]
fn text_that_is_too_new_is_not_said_to_be_for_other_gpus() {
    let newer = |scan: Scan| {
        let text = serde_json::to_string(&scan).expect("writes").replace("\"7.8\"", "\"8.8\"");
        serde_json::from_str::<Scan>(&text).expect("reads")
    };
    let only_text = newer(library("_C.so", &[("ptx", "sm_80")], &[]));
    let driver = Isa::of_cuda("12.2");
    let judged = |scan: &Scan, sm| {
        target_coverage("x 1", [scan].into_iter(), (sm, driver), None).expect("carries code")
    };
    let found = judged(&only_text, Sm::new(9, 0));
    assert_eq!(found.outcome, Outcome::Fails);
    for part in ["PTX", "8.8", "a driver of CUDA 12.9 or newer"] {
        assert!(found.detail.contains(part), "{part}: {}", found.detail);
    }
    assert!(judged(&only_text, Sm::new(7, 5)).detail.contains("contains no code"));
    // Machine code for it in some units, text that is too new in the others.
    let mut mixed = library("_C.so", &[("cubin", "sm_90")], &[]);
    mixed.executable.extend(only_text.executable);
    let found = judged(&mixed, Sm::new(9, 0));
    assert_eq!(found.outcome, Outcome::Partial);
    assert!(found.detail.contains("a driver of CUDA 12.9 or newer"), "{}", found.detail);
}

/// Without its largest library nothing is known of a package; one that is missing is another matter.
#[test]
fn a_library_that_cannot_be_read_leaves_its_package_unknown() {
    let scan = library("/env/small.so", &[("cubin", "sm_90")], &[]);
    let listed = |name: &str, bytes| Library { path: name.into(), bytes, recorded: Some(bytes) };
    let package = |missing: Vec<Library>, mut libraries: Vec<Library>| {
        libraries.push(listed("/env/small.so", 10));
        Package { name: "x".into(), version: "1".into(), missing, libraries, ..Package::default() }
    };
    let survey = EnvironmentScan {
        scans: [("/env/small.so".into(), scan)].into(),
        unreadable: vec![Unreadable { path: "/env/big.so".into(), reason: "denied".into() }],
        ..EnvironmentScan::default()
    };
    let judged = |package: &Package, sm| {
        let found = package_coverage(&survey, package, (sm, None), None).expect("is judged");
        (found.outcome, found.detail)
    };
    let unread = package(vec![], vec![listed("/env/big.so", 1000)]);
    for sm in [Sm::new(9, 0), Sm::new(7, 5)] {
        let (outcome, detail) = judged(&unread, sm);
        assert_eq!(outcome, Outcome::Unknown, "{sm}: {detail}");
        assert!(detail.contains("big.so of x 1 could not be read (denied)"), "{detail}");
        assert!(!detail.contains("reinstall"), "{detail}");
    }
    let little = package(vec![], vec![listed("/env/big.so", 1)]);
    assert_eq!(judged(&little, Sm::new(7, 5)).0, Outcome::Fails, "the largest says so");
    let missing = package(vec![listed("/env/gone.so", 1000)], vec![]);
    let (outcome, detail) = judged(&missing, Sm::new(9, 0));
    assert_eq!(outcome, Outcome::Fails);
    assert!(detail.contains("gone.so of x 1 is missing; reinstall it"), "{detail}");
}

#[test]
fn what_carries_no_code_is_not_judged() {
    let bare = library("libtriton.so", &[], &[]);
    let relocatable = library("libnvshmem.so", &[], &[("cubin", "sm_90")]);
    for scan in [bare, relocatable] {
        let found =
            target_coverage("triton 3.4.0", [&scan].into_iter(), (Sm::new(9, 0), None), None);
        assert_eq!(found, None);
    }
}

/// As cuFFT 12.0.0.61 is: one unit that the linker left for sm_75, thousands as data.
#[test]
fn what_loads_its_code_itself_is_not_judged_by_what_the_runtime_finds() {
    let mut cufft = library("libcufft.so.12", &[("cubin", "sm_75")], &[]);
    cufft.data = library("", &[("cubin", "sm_80"), ("cubin", "sm_90")], &[]).executable;
    cufft.data[0].1 = 393;
    let judged = |sm| target_coverage("cufft 12", [&cufft].into_iter(), (sm, None), None);
    assert_eq!(judged(Sm::new(9, 0)), None);
    assert_eq!(judged(Sm::new(6, 0)).map(|one| one.outcome), Some(Outcome::Fails));
    // A few tables as data change nothing.
    cufft.data[0].1 = 1;
    let judged = target_coverage("x 1", [&cufft].into_iter(), (Sm::new(9, 0), None), None);
    assert_eq!(judged.map(|one| one.outcome), Some(Outcome::Fails));
}
