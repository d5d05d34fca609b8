use super::*;
use crate::image::class_of;
use crate::image::embedded::{Image, Pack};

const fn image(kind: ImageKind, target: Sm, isa: Isa, oldest_cuda: u32) -> Image {
    Image {
        family: "f",
        kind,
        target,
        class: target,
        isa,
        sha256: "",
        oldest_cuda,
        oldest_driver: "",
        kernels: "",
        size: 0,
        pack: &Pack { packed: &[], dictionary: 0 },
        start: 0,
    }
}

fn sm(text: &str) -> Sm {
    text.parse().unwrap()
}

fn cubin(target: &str) -> Image {
    let target = sm(target);
    let oldest = match (target.major, target.minor) {
        (10, 3) => 12_090,
        (10.., _) => 12_080,
        _ => 12_000,
    };
    image(ImageKind::Cubin, target, Isa::new(8, 8), oldest)
}

fn ptx(target: &str, isa: &str) -> Image {
    image(ImageKind::Ptx, sm(target), isa.parse().unwrap(), 0)
}

/// What a family with classes 6.0, 7.0, 8.0 and 9.0 is built to.
fn all() -> Vec<Image> {
    let targets = ["60", "61", "70", "75", "80", "86", "89", "90", "100", "103", "120"];
    let classes = [("60", "6.0"), ("70", "6.0"), ("80", "7.0"), ("90", "7.8")];
    let ptx = classes.map(|(class, isa)| ptx(class, isa));
    let known = classes.map(|(class, _)| sm(class));
    let cubin = |target| {
        let image = cubin(target);
        Image { class: class_of(image.target, &known).expect("6.0 is the lowest"), ..image }
    };
    targets.map(cubin).into_iter().chain(ptx).collect()
}

fn device(sm_text: &str, driver_cuda: u32) -> DeviceFacts {
    DeviceFacts {
        name: String::new(),
        sm: sm(sm_text),
        sms: 1,
        shared_per_block: 0,
        shared_per_block_optin: 0,
        l2_bytes: 0,
        memory_bytes: 0,
        driver_cuda,
        simulated: true,
        tuned: crate::gpu::TunedConfigs::default(),
    }
}

/// CUDA C++ programming guide: "a cubin object generated for compute capability X.y will only execute on devices of compute capability
/// X.z where z≥y"; "binary compatibility is supported only for the desktop. It is not supported for Tegra"; PTX "can always be compiled
/// to binary code of greater or equal compute capability". CUDA compatibility guide: cubins of CUDA 12.x run on drivers from 525 on.
#[test]
fn devices_run_what_nvidia_says_they_do() {
    for (what, sm, driver_cuda, first) in [
        ("P100, driver 580", "6.0", 13_000, "cubin sm_60"),
        ("P100, driver 525", "6.0", 12_000, "cubin sm_60"),
        ("P100, driver 450", "6.0", 11_000, "PTX compute_60, compiled by the driver"),
        ("P100, driver 390", "6.0", 9_010, "PTX compute_60, compiled by the driver"),
        ("GTX 1060, driver 470", "6.1", 11_040, "PTX compute_60, compiled by the driver"),
        ("GTX 1060, driver 535", "6.1", 12_020, "cubin sm_61"),
        ("Jetson TX2", "6.2", 10_020, "PTX compute_60, compiled by the driver"),
        ("V100, driver 550", "7.0", 12_040, "cubin sm_70"),
        ("V100, driver 418", "7.0", 10_010, "PTX compute_70, compiled by the driver"),
        ("Jetson Xavier, CUDA 11.4", "7.2", 11_040, "PTX compute_70, compiled by the driver"),
        ("Jetson Xavier, CUDA 12.2", "7.2", 12_020, "PTX compute_70, compiled by the driver"),
        ("T4, driver 535", "7.5", 12_020, "cubin sm_75"),
        ("T4, driver 450", "7.5", 11_000, "PTX compute_70, compiled by the driver"),
        ("A100, driver 535", "8.0", 12_020, "cubin sm_80"),
        ("A100, driver 450", "8.0", 11_000, "PTX compute_80, compiled by the driver"),
        ("RTX 3090, driver 560", "8.6", 12_060, "cubin sm_86"),
        ("Jetson Orin, CUDA 12.6", "8.7", 12_060, "PTX compute_80, compiled by the driver"),
        ("RTX 4090, driver 520", "8.9", 11_080, "PTX compute_80, compiled by the driver"),
        ("RTX 4090, driver 570", "8.9", 12_080, "cubin sm_89"),
        ("H200, driver 550", "9.0", 12_040, "cubin sm_90"),
        ("H100, driver 520", "9.0", 11_080, "PTX compute_90, compiled by the driver"),
        ("B200, driver 570", "10.0", 12_080, "cubin sm_100"),
        ("B300, driver 575", "10.3", 12_090, "cubin sm_103"),
        ("Jetson Thor, driver 580", "11.0", 13_000, "PTX compute_90, compiled by the driver"),
        ("RTX 5090, driver 580", "12.0", 13_000, "cubin sm_120"),
        ("GB10, driver 580", "12.1", 13_000, "cubin sm_120 (same major)"),
        ("a GPU to come", "13.0", 14_000, "PTX compute_90, compiled by the driver"),
    ] {
        assert_eq!(pick_among(&all(), "f", &device(sm, driver_cuda)).to_string(), first, "{what}");
    }
}

/// CUDA C++ programming guide, "Family-specific features": of 10.0f 10.0 and 10.3, of 10.3f only 10.3, of 12.0f 12.0 and 12.1;
/// "Architecture-specific": of 9.0a only 9.0, of 10.0a only 10.0.
#[test]
fn suffixes_reach_as_far_as_documented() {
    let runs = |image: Image, on: &str| {
        let pick =
            pick_among(std::slice::from_ref(&image), "f", &device(on, 13_000)).best().is_some();
        (pick, image.to_string(), on.to_owned())
    };
    for (target, on, want) in [
        ("90a", "9.0", true),
        ("90a", "10.0", false),
        ("100a", "10.0", true),
        ("100a", "10.3", false),
        ("100f", "10.0", true),
        ("100f", "10.3", true),
        ("103f", "10.3", true),
        ("103f", "10.0", false),
        ("100f", "10.1", false),
        ("100f", "12.0", false),
        ("120f", "12.1", true),
    ] {
        assert_eq!(runs(cubin(target), on), (want, format!("cubin sm_{target}"), on.to_owned()));
        let text = format!("PTX compute_{target}");
        assert_eq!(runs(ptx(target, "8.8"), on), (want, text, on.to_owned()));
    }
    assert!(!runs(cubin("87"), "8.9").0, "Orin's machine code is not a desktop's");
    assert!(runs(cubin("87"), "8.7").0);
    assert!(!runs(cubin("86"), "8.0").0, "never an earlier minor");
    assert!(!runs(cubin("75"), "8.0").0, "never another major");
    assert!(runs(ptx("75", "6.3"), "8.0").0);
}

#[test]
fn what_is_tried_next_is_the_next_best() {
    let mut images = all();
    let newest = |image| Image { class: sm("90"), ..image };
    images.extend([cubin("90a"), cubin("100f"), cubin("101"), ptx("90a", "8.0")].map(newest));
    let order = |sm: &str, cuda| {
        let pick = pick_among(&images, "f", &device(sm, cuda));
        pick.candidates.iter().map(Candidate::to_string).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        order("8.9", 12_080),
        "cubin sm_89, cubin sm_86 (same major), cubin sm_80 (same major), PTX compute_80, compiled by the driver, \
         PTX compute_70, compiled by the driver, PTX compute_60, compiled by the driver"
    );
    assert!(order("9.0", 12_040).starts_with("cubin sm_90a, cubin sm_90, PTX compute_90a, "));
    assert!(
        order("10.3", 12_090).starts_with(
            "cubin sm_103, cubin sm_100f (same family), cubin sm_100 (same major), PTX "
        )
    );
    assert!(order("9.0", 11_080).starts_with("PTX compute_90, "), "a driver of 11.8 knows PTX 7.8");
    assert!(order("9.0", 11_070).starts_with("PTX compute_80, "), "and one of 11.7 does not");
}

#[test]
fn what_does_not_fit_is_said_with_what_would() {
    let why =
        |images: &[Image], sm: &str, cuda| pick_among(images, "f", &device(sm, cuda)).to_string();
    assert_eq!(why(&[], "8.0", 12_000), "this program has no image of f");
    assert_eq!(why(&all(), "5.2", 12_000), "f is built for sm_60 and newer, this is sm_52");
    assert_eq!(why(&[cubin("90a")], "10.0", 12_080), "f is built for sm_90a only, this is sm_100");
    assert_eq!(
        why(&[cubin("80"), ptx("80", "7.8")], "8.0", 11_000),
        "a driver for CUDA 11.0 loads no cubin that needs CUDA 12.0 and knows PTX up to 7.0 where 7.8 is needed; \
         update to driver 520.61.05 or later"
    );
    assert_eq!(
        why(&[cubin("80")], "8.0", 11_000),
        "a driver for CUDA 11.0 loads no cubin that needs CUDA 12.0; update to driver 525.60.13 or later"
    );
    assert_eq!(
        why(&[ptx("80", "9.4")], "8.0", 13_030),
        "a driver for CUDA 13.3 knows PTX up to 9.3 where 9.4 is needed; update to a driver for CUDA 13.4 or later"
    );
    assert_eq!(
        why(&[ptx("60", "6.0")], "6.0", 0),
        "a driver for CUDA 0.0 knows no PTX 6.0; update to driver 384.81 or later"
    );
}

/// Every pair of a device and a driver gets a candidate or a sentence, never both, never neither.
#[test]
fn there_is_an_answer_for_everything() {
    let images = all();
    for major in 0..=20 {
        for minor in 0..=9 {
            for release in RELEASES {
                let sm = Sm::new(major, minor).to_string();
                let pick = pick_among(&images, "f", &device(&sm, release.cuda));
                assert_eq!(
                    pick.candidates.is_empty(),
                    !pick.why_not.is_empty(),
                    "{sm} {release:?}"
                );
                assert!(pick.candidates.is_sorted_by_key(|candidate| candidate.how), "{sm}");
            }
        }
    }
}

/// A T4 whose machine code is refused compiles PTX of Turing, before it would take Volta's machine code, which has no Turing entries.
#[test]
fn the_right_class_comes_before_machine_code_of_an_earlier_one() {
    let turing = sm("75");
    let volta = sm("70");
    let images =
        [cubin("70"), ptx("70", "6.4"), cubin("75"), Image { class: turing, ..ptx("75", "6.5") }];
    let found = pick_among(&images, "f", &device("75", 12_080)).candidates;
    let found: Vec<(Sm, How)> = found.iter().map(|one| (one.image.class, one.how)).collect();
    let want = [
        (turing, How::Exact),
        (turing, How::Compiled),
        (volta, How::SameMajor),
        (volta, How::Compiled),
    ];
    assert_eq!(found, want);
}
