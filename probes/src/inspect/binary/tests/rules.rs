//! Which GPU loads what: against what NVIDIA's assembler accepts, and against libraries whose behaviour is known.

use warpscope_kernels::Sm;
use warpscope_kernels::image::Isa;

use super::*;

fn sm(text: &str) -> Sm {
    text.parse().unwrap()
}

fn image(target: &str) -> Image {
    let target: Target = target.parse().unwrap();
    let (kind, isa) = match target.form {
        Form::Sm => (ImageKind::Cubin, None),
        Form::Compute => (ImageKind::Ptx, Some(Isa::new(8, 0))),
        Form::Lto => (ImageKind::Lto, None),
        Form::Other => (ImageKind::Other(9), None),
    };
    Image { kind, target: target.sm, isa, compression: Compression::None, empty: false }
}

/// A library of containers, each a list of targets.
fn library(containers: &[(&str, u32)]) -> Scan {
    let mut scan = scan_bytes(&fixture("lz4.fatbin")).unwrap();
    let shape =
        |targets: &str| Shape(targets.split(' ').map(|target| (image(target), 1)).collect());
    scan.executable = containers.iter().map(|(targets, count)| (shape(targets), *count)).collect();
    scan
}

fn counts(scan: &Scan, device: &str) -> (u32, u32, u32) {
    let found = scan.coverage(sm(device), None);
    (found.cubin, found.jit, found.none)
}

/// What ptxas makes of a text for one target when told to assemble it for another: 13.5.37 above the line, 12.9.86 below.
const PTXAS: &[(&str, &str)] = &[
    ("75", "75 80 86 87 88 89 90 100 103 107 110 120 121"),
    ("80", "80 86 87 88 89 90 100 103 107 110 120 121"),
    ("90", "90 100 103 107 110 120 121"),
    ("90a", "90"),
    ("100", "100 103 107 110 120 121"),
    ("100f", "100 103 107"),
    ("103f", "103 107"),
    ("107f", "107"),
    ("110", "110 120 121"),
    ("110f", "110"),
    ("120", "120 121"),
    ("120f", "120 121"),
    ("121f", "121"),
    // 12.9.86 does not know 107 and 110; its devices stop at 101 and 103.
    ("101f", "101"),
];

#[test]
fn texts_compile_where_the_assembler_takes_them() {
    let devices = "75 80 86 87 88 89 90 100 101 103 107 110 120 121";
    for (target, accepted) in PTXAS {
        let accepted: Vec<&str> = accepted.split(' ').collect();
        for device in
            devices.split(' ').filter(|device| *device != "101" || target.starts_with("101"))
        {
            let load = loads(&image(&format!("compute_{target}")), sm(device), None);
            // The assembler wants the suffix named; the driver knows what it runs on.
            assert_eq!(
                matches!(load, Load::Jit(_)),
                accepted.contains(&device),
                "compute_{target} on {device}"
            );
        }
    }
}

#[test]
fn machine_code_runs_on_its_own_generation_from_its_minor_version_on() {
    // CUDA C++ Programming Guide, "Binary Compatibility" and "Family-Specific Architecture Features".
    for (target, runs, refuses) in [
        ("sm_60", "60 61", "50 52 62 70 75 90"),
        ("sm_61", "61", "60 62 70"),
        ("sm_75", "75", "70 72 80"),
        ("sm_80", "80 86 88 89", "75 87 90 100 120"),
        ("sm_86", "86 88 89", "80 87 90"),
        ("sm_87", "87", "80 86 89"),
        ("sm_90", "90", "80 89 100 120"),
        ("sm_90a", "90", "80 89 100 103 120"),
        ("sm_100", "100 103", "90 101 110 120"),
        ("sm_100a", "100", "103 110 120"),
        ("sm_100f", "100 103", "90 101 110 120"),
        ("sm_101", "101", "100 103 110"),
        ("sm_103f", "103", "100 120"),
        ("sm_110", "110", "100 101 120"),
        ("sm_120", "120 121", "90 100 110"),
        ("sm_120a", "120", "121"),
        ("sm_120f", "120 121", "100 110"),
        ("sm_121", "121", "120"),
    ] {
        for device in runs.split(' ') {
            assert_eq!(
                loads(&image(target), sm(device), None),
                Load::Cubin,
                "{target} on {device}"
            );
        }
        for device in refuses.split(' ') {
            assert!(
                matches!(loads(&image(target), sm(device), None), Load::No(_)),
                "{target} on {device}"
            );
        }
    }
}

#[test]
fn refusals_say_why() {
    let isa = Isa::new(8, 0);
    for (target, device, reason) in [
        ("sm_80", "90", Reason::Generation),
        ("sm_86", "80", Reason::Newer),
        ("sm_80", "87", Reason::Integrated),
        ("sm_120a", "121", Reason::Specific),
        ("compute_90a", "100", Reason::Specific),
        ("compute_100f", "120", Reason::Family),
        ("compute_90", "80", Reason::Newer),
        ("compute_70", "75", Reason::Driver(isa)),
        ("lto_75", "75", Reason::NotLinked),
        ("other_75", "75", Reason::Unknown),
    ] {
        let load = loads(&image(target), sm(device), Some(Isa::new(7, 8)));
        assert_eq!(load, Load::No(reason), "{target} on {device}");
    }
    assert_eq!(loads(&image("compute_70"), sm("75"), Some(isa)), Load::Jit(isa));
}

/// torch 2.8.0: what cuobjdump lists of its two libraries, by unit.
#[test]
fn one_library_with_sm_60_does_not_make_torch_run_on_a_p100() {
    let main = recorded("torch-2.8.0-libtorch_cuda.json");
    let linalg = recorded("torch-2.8.0-libtorch_cuda_linalg.json");
    assert_eq!(
        (main.coverage(sm("60"), None).total(), main.reach(sm("60"), None)),
        (393, Reach::Fails)
    );
    assert_eq!((counts(&linalg, "60"), linalg.reach(sm("60"), None)), ((107, 0, 0), Reach::Works));
    assert_eq!(main.reach(sm("75"), None), Reach::Works);
}

/// torch 2.15.0: one unit of torch.linalg has code for a T4.
#[test]
fn torch_linalg_serves_a_t4_in_part() {
    let linalg = recorded("torch-2.15.0-libtorch_cuda_linalg.json");
    assert_eq!((counts(&linalg, "75"), linalg.reach(sm("75"), None)), ((1, 0, 32), Reach::Partial));
    let devices = ["75", "80", "90"].map(sm);
    let (best, served) = linalg.best_served(&devices, None).unwrap();
    assert_eq!((best, served.cubin, served.none), (sm("90"), 33, 0));
}

fn recorded(name: &str) -> Scan {
    serde_json::from_slice(&fixture(&format!("scans/{name}"))).unwrap()
}

#[test]
fn code_for_ampere_and_ada_alone_fails_on_turing_and_hopper() {
    let library = library(&[("sm_80 sm_86 sm_89", 12)]);
    for (device, reach) in [
        ("75", Reach::Fails),
        ("90", Reach::Fails),
        ("80", Reach::Works),
        ("86", Reach::Works),
        ("89", Reach::Works),
    ] {
        assert_eq!(library.reach(sm(device), None), reach, "{device}");
    }
}

/// FlashAttention 3 as vLLM 0.33.0 ships it.
#[test]
fn hopper_specific_code_loads_on_hopper_alone() {
    let library = recorded("vllm-0.33.0-fa3.json");
    for device in "50 60 61 70 75 80 86 87 89 90 100 103 110 120 121".split(' ') {
        let reach = if device == "90" { Reach::Works } else { Reach::Fails };
        assert_eq!(library.reach(sm(device), None), reach, "{device}");
    }
}

/// bitsandbytes 0.43.3 for CUDA 12.1: PTX for 9.0 is there, but only as it was before linking.
#[test]
fn text_left_over_from_linking_is_no_way_out() {
    let library = recorded("bitsandbytes-0.43.3-cuda121.json");
    let summary = library.summary();
    assert_eq!(summary.relocatable[&"compute_90".parse().unwrap()], 2);
    for newer in ["100", "120"] {
        assert_eq!(
            (counts(&library, newer), library.reach(sm(newer), None)),
            ((0, 0, 1), Reach::Fails)
        );
    }
    assert_eq!(library.reach(sm("90"), None), Reach::Works);
}

#[test]
fn text_alone_runs_after_compiling_if_the_driver_knows_its_version() {
    let library = library(&[("sm_80 compute_80", 76)]);
    let old = Some(Isa::new(7, 8));
    assert_eq!((counts(&library, "90"), library.reach(sm("90"), None)), ((0, 76, 0), Reach::Jit));
    assert_eq!(library.newest_jit(sm("90"), None), Some(Isa::new(8, 0)));
    assert_eq!(
        (library.reach(sm("90"), old), library.newest_jit(sm("90"), old)),
        (Reach::Fails, None)
    );
    assert_eq!(library.reach(sm("80"), old), Reach::Works);
}

#[test]
fn what_is_kept_as_data_or_absent_is_unknown() {
    let mut stub = library(&[("sm_52", 1)]);
    stub.data = library(&[("sm_90", 40), ("sm_80", 40)]).executable;
    assert_eq!(stub.reach(sm("90"), None), Reach::Unknown);
    assert_eq!(stub.reach(sm("70"), None), Reach::Fails);
    let nothing = library(&[]);
    assert_eq!(
        (nothing.reach(sm("90"), None), nothing.best_served(&[sm("90")], None)),
        (Reach::Unknown, None)
    );
}

/// libcufftw of CUDA 12.9 and many others: a linker's stub for the compiler's default target, without a kernel in it.
#[test]
fn a_container_without_a_kernel_decides_nothing() {
    let mut library = library(&[("sm_52", 1), ("sm_90", 5)]);
    library.executable[0].0.0[0].0.empty = true;
    assert_eq!((counts(&library, "90"), library.reach(sm("90"), None)), ((5, 0, 1), Reach::Works));
    assert_eq!(library.kernel_coverage(sm("90"), None).total(), 5);
    assert_eq!((library.summary().containers, library.summary().empty), (6, 1));
    library.executable.truncate(1);
    assert_eq!(library.reach(sm("90"), None), Reach::Unknown);
    assert_eq!(library.reach(sm("52"), None), Reach::Unknown);
}
