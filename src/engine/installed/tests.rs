//! The conclusions that must come out right, from scans of real wheels and from libraries like them.

use std::path::Path;

use warpscope_kernels::Sm;
use warpscope_probes::catalogue::Catalogue;
use warpscope_probes::inspect::binary::{Cpu, Format, Scan, Shape};
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
        let found = package_coverage(&survey, package, (sm, None, None), None).expect("is judged");
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

/// A library of so many units for each list of targets.
fn units(path: &str, lists: &[(u32, &str)]) -> Scan {
    let one = |(count, targets): &(u32, &str)| {
        let image = |target: &str| {
            let (kind, target) = match target.strip_prefix("ptx_") {
                Some(target) => ("ptx", format!("sm_{target}")),
                None => ("cubin", format!("sm_{target}")),
            };
            let images: Vec<_> = vec![(kind, target.as_str())];
            library(path, &images, &[]).executable.remove(0).0.0
        };
        let mut images: Vec<_> = targets.split(' ').flat_map(image).collect();
        images.sort();
        (Shape(images), *count)
    };
    Scan { executable: lists.iter().map(one).collect(), ..library(path, &[], &[]) }
}

fn answer(scans: &[Scan], (major, minor): (u8, u8)) -> (Outcome, String) {
    let found = reach(scans, Sm::new(major, minor));
    (found.outcome, found.detail)
}

/// As vLLM 0.33.0 is; H100, 3090 and B200 were said to be served in part, as 47, 31 and 25 units of 118 are for others.
#[test]
fn units_for_single_architectures_are_no_gap_elsewhere() {
    let all = "75 80 86 89 90 100 120";
    let scans = [units("_C.so", &[(71, all), (16, "90a"), (6, "100f"), (20, "120f")])];
    for (sm, others) in [((8, 6), 42), ((9, 0), 26), ((12, 0), 22), ((7, 5), 42)] {
        let (outcome, detail) = answer(&scans, sm);
        assert_eq!(outcome, Outcome::Works, "{sm:?}: {detail}");
        let more = format!("{others} more are for other architectures only");
        assert!(detail.contains(&more), "{sm:?}: {detail}");
    }
    assert_eq!(answer(&scans, (6, 0)).0, Outcome::Fails);
    // Machine code of one generation, beside a majority for several: its callers ask for that generation.
    let one = [units("_C.so", &[(20, "75 80 90"), (5, "90"), (3, "80")])];
    assert_eq!(answer(&one, (7, 5)).0, Outcome::Works);
    // Where that is the majority it is what the library was built for.
    let most = [units("_C.so", &[(3, "75 80 90"), (20, "80 86")])];
    assert_eq!(answer(&most, (9, 0)).0, Outcome::Partial);
    // A unit for several generations that one GPU lacks is a gap as before.
    let gap = [units("_C.so", &[(10, "75 80 90"), (5, "80 90")])];
    let (outcome, detail) = answer(&gap, (7, 5));
    assert_eq!(outcome, Outcome::Partial);
    assert!(detail.contains("10 of 15 units") && detail.contains("5 more do"), "{detail}");
}

/// As paddlepaddle-gpu 2.6.2 is: for P100 and H100 it was said to run in part, by libwarpctc's 2 units of 2.
#[test]
fn the_largest_library_decides_and_a_stray_unit_serves_nobody() {
    let every = "35 50 52 60 61 62 70 75 80 86 90";
    let scans = [
        units("libpaddle.so", &[(111, "61 70 75 80 86")]),
        units("libflashattn.so", &[(39, "80 86")]),
        units("libphi.so", &[(556, "61 70 75 80 86"), (1, "61 70"), (1, every)]),
        units("libwarpctc.so", &[(2, every)]),
    ];
    for sm in [(6, 0), (9, 0)] {
        let (outcome, detail) = answer(&scans, sm);
        assert_eq!(outcome, Outcome::Fails, "{detail}");
        assert!(detail.contains("1 of 558 units of code in libphi.so"), "{detail}");
    }
    let (outcome, detail) = answer(&scans, (10, 0));
    assert_eq!(outcome, Outcome::Fails);
    assert!(!detail.contains("libwarpctc"), "{detail}");
    // A unit or two that others have and this one lacks are said and decide nothing.
    for sm in [(7, 0), (7, 5), (8, 6), (8, 9)] {
        let (outcome, detail) = answer(&scans, sm);
        assert_eq!(outcome, Outcome::Works, "{sm:?}: {detail}");
    }
    assert!(answer(&scans, (8, 6)).1.contains("709 of 710 units of code"));
}

/// As TensorFlow 2.15 is on an H100: all but one unit, and only once compiled. It was said to run in part, with no word of that.
#[test]
fn what_is_compiled_at_the_first_launch_is_said() {
    let scans = [units("libtensorflow_cc.so", &[(246, "60 70 80 ptx_80"), (1, "60 70 80")])];
    let (outcome, detail) = answer(&scans, (9, 0));
    assert_eq!(outcome, Outcome::Works, "{detail}");
    assert!(detail.contains("only once the driver has compiled them"), "{detail}");
}

/// As torch 2.3.1 is: "297 of 297 units load" was the reason for a partial answer on H100 and P100.
#[test]
fn a_library_of_nvidia_that_was_brought_along_is_no_gap() {
    let all = "50 60 70 75 80 86 90";
    let scans = [
        units("torch/lib/libtorch_cuda.so", &[(297, all)]),
        units("torch/lib/libcusparseLt-f80c68d1.so.0", &[(5, "80 86"), (1, all)]),
    ];
    for sm in [(6, 0), (9, 0)] {
        assert_eq!(answer(&scans, sm).0, Outcome::Works, "{sm:?}");
    }
    // By itself it is judged: 2 of its 122 units are no support.
    let alone = [units("libcusparseLt.so.0", &[(2, "ptx_52"), (120, "80 86 90")])];
    assert_eq!(answer(&alone, (7, 5)).0, Outcome::Fails);
    assert_eq!(answer(&alone, (9, 0)).0, Outcome::Works);
    // A gap in another library is named with its figures.
    let two = [units("main.so", &[(9, all)]), units("other.so", &[(3, all), (3, "80 90")])];
    let (outcome, detail) = answer(&two, (7, 5));
    assert_eq!(outcome, Outcome::Partial);
    assert!(detail.contains("of 6 in other.so 3 do"), "{detail}");
}

/// As torchao 0.18.0 is, which was said to fail on T4, 3090, 4090 and H100.
#[test]
fn optional_libraries_for_few_architectures_do_not_fail_their_package() {
    let scans = [
        units("_C_cutlass_90a.abi3.so", &[(5, "90a")]),
        units("_C_mxfp8.so", &[(3, "100 ptx_120")]),
    ];
    let on = |package: &str, sm| {
        let found = target_coverage(package, scans.iter(), (sm, None), None);
        found.expect("carries code").outcome
    };
    for name in ["torchao 0.18.0", "torchao-0.18.0-cp310-abi3-manylinux_2_24_x86_64.whl"] {
        assert_eq!(on(name, Sm::new(9, 0)), Outcome::Works);
        assert_eq!(on(name, Sm::new(10, 0)), Outcome::Works);
        assert_eq!(on(name, Sm::new(7, 5)), Outcome::Unknown);
    }
    assert_eq!(on("flash 1.0", Sm::new(7, 5)), Outcome::Fails);
    // A small helper for every GPU does not stand for a large library for few.
    let helper = [units("main.so", &[(100, "90 100")]), units("helper.so", &[(1, "75 80 90")])];
    assert_eq!(answer(&helper, (7, 5)).0, Outcome::Fails);
}

/// Environments, images and libraries for x86-64 were said to work beside GB10 and Orin.
#[test]
fn what_the_cpu_beside_a_gpu_cannot_load_fails() {
    let scan =
        Scan { cpu: Some(Cpu::X86_64), ..library("/env/_C.so", &[("cubin", "sm_120")], &[]) };
    let path = scan.path.clone();
    let libraries = vec![Library { path: path.clone(), bytes: 1, recorded: None }];
    let package =
        Package { name: "x".into(), version: "1".into(), libraries, ..Package::default() };
    let survey = EnvironmentScan { scans: [(path, scan)].into(), ..EnvironmentScan::default() };
    let on = |cpu| {
        let found = package_coverage(&survey, &package, (Sm::new(12, 1), None, cpu), None);
        let found = found.expect("is judged");
        (found.outcome, found.detail)
    };
    assert_eq!(on(None).0, Outcome::Works);
    assert_eq!(on(Some("x86_64")).0, Outcome::Works);
    let (outcome, detail) = on(Some("aarch64"));
    assert_eq!(outcome, Outcome::Fails);
    assert!(detail.contains("x 1 is built for x86_64 CPUs"), "{detail}");
    let windows = Scan { format: Format::Pe, ..survey.scans[&*package.libraries[0].path].clone() };
    let refused = loadable("x 1", [&windows].into_iter(), Some("x86_64"));
    assert!(refused.is_err_and(|refused| refused.detail.contains("Windows")));
    // Of a package with both, its own are judged.
    let own = Scan { format: Format::Elf, ..windows.clone() };
    let both = loadable("x 1", [&windows, &own].into_iter(), Some("x86_64"));
    assert_eq!(both.map(|scans| scans.len()), Ok(1));
}

/// bitsandbytes 0.41.1 was unknown on a 3090, for want of code in the build that only older GPUs load.
#[test]
fn the_build_for_older_gpus_takes_the_place_of_the_other_there() {
    let scans = [
        library("libx_cuda110.so", &[("cubin", "sm_75"), ("cubin", "sm_80")], &[]),
        library("libx_cuda110_nocublaslt.so", &[("cubin", "sm_60")], &[]),
        library("libx_cuda118.so", &[("cubin", "sm_75"), ("cubin", "sm_80")], &[]),
        library("libx_cuda118_nocublaslt.so", &[("cubin", "sm_60")], &[]),
    ];
    for sm in [(6, 0), (7, 5), (8, 6)] {
        assert_eq!(answer(&scans, sm).0, Outcome::Works, "{sm:?}");
    }
    let (outcome, detail) = answer(&scans, (10, 0));
    assert_eq!(outcome, Outcome::Fails);
    assert!(detail.contains("none of the 4 builds"), "{detail}");
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
