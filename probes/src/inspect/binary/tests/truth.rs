//! What the fixtures hold: by NVIDIA's own tool, and by the commands that built them.

use std::collections::BTreeMap;

use super::*;

/// Counts by kind and number. NVIDIA's tool never prints the `f` of machine code.
type Truth = BTreeMap<(String, String), u32>;

fn counted(lists: &[&[(Shape, u32)]]) -> Truth {
    let mut sum = Truth::new();
    for (shape, containers) in lists.iter().copied().flatten() {
        for (image, each) in &shape.0 {
            let (kind, target) = match image.kind {
                ImageKind::Cubin => {
                    ("ELF", image.target.to_string().trim_end_matches('f').to_owned())
                }
                ImageKind::Ptx => ("PTX", image.target.to_string()),
                _ => continue,
            };
            *sum.entry((kind.to_owned(), target)).or_default() += containers * each;
        }
    }
    sum
}

fn told(file: &str, which: &str) -> Truth {
    let mut sum = Truth::new();
    for line in fs::read_to_string(folder().join("truth.txt")).unwrap().lines() {
        let [name, list, kind, target] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        if (name, list) == (file, which) {
            *sum.entry((kind.to_owned(), target.to_owned())).or_default() += 1;
        }
    }
    sum
}

#[test]
fn every_fixture_holds_what_cuobjdump_lists() {
    let mut seen = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let all = told(&name, "all");
        if all.is_empty() {
            continue;
        }
        let scan = scanned(&name);
        assert!(scan.warnings.is_empty(), "{name}: {:?}", scan.warnings);
        assert_eq!(counted(&[&scan.executable, &scan.relocatable]), all, "{name}, -all");
        // It lists a cubin that still has to be linked like any other.
        if !name.starts_with("relocatable") {
            assert_eq!(counted(&[&scan.executable]), told(&name, "found"), "{name}");
        }
        seen += 1;
    }
    assert_eq!(seen, 19);
}

#[test]
fn suffixes_and_kinds_are_those_they_were_built_with() {
    for (name, cubin, ptx, other) in [
        ("cuda11-sm_86.cubin", "sm_86:1", "", ""),
        ("cuda12-sm_61.cubin", "sm_61:1", "", ""),
        ("cuda12-sm_90a.cubin", "sm_90a:1", "", ""),
        ("cuda12-sm_100a.cubin", "sm_100a:1", "", ""),
        ("cuda12-sm_101.cubin", "sm_101:1", "", ""),
        ("cuda13-sm_75.cubin", "sm_75:1", "", ""),
        ("cuda13-sm_90a.cubin", "sm_90a:1", "", ""),
        ("cuda13-sm_100f.cubin", "sm_100f:1", "", ""),
        ("cuda13-sm_110.cubin", "sm_110:1", "", ""),
        ("cuda13-sm_120.cubin", "sm_120:1", "", ""),
        ("relocatable-sm_90.cubin", "", "", ""),
        ("compute_90.ptx", "", "compute_90:1", ""),
        ("plain.fatbin", "sm_75:1 sm_90a:1 sm_100f:1", "compute_90:1", ""),
        ("lz4.fatbin", "sm_75:1", "compute_70:1", ""),
        ("zstd.fatbin", "sm_75:1 sm_90a:1 sm_120:1", "compute_90:1", ""),
        ("concat.fatbin", "sm_75:1 sm_90a:1 sm_100f:2", "compute_70:1 compute_90:1", ""),
        ("lto.fatbin", "sm_90a:1", "", "lto_90:1"),
    ] {
        let summary = scanned(name).summary();
        let found = [&summary.cubin, &summary.ptx, &summary.other].map(text);
        assert_eq!(found, [cubin, ptx, other].map(str::to_owned), "{name}");
    }
}

#[test]
fn code_without_a_kernel_is_told_from_the_smallest_kernel() {
    let none = scanned("empty.fatbin");
    assert_eq!(
        (text(&none.summary().cubin).as_str(), none.summary().empty),
        ("sm_75:1 sm_120:1", 1)
    );
    for name in
        ["cuda11-sm_86.cubin", "cuda12-sm_61.cubin", "zstd.fatbin", "lz4.fatbin", "concat.fatbin"]
    {
        assert_eq!(scanned(name).summary().empty, 0, "{name}");
    }
}

#[test]
fn versions_and_compression_are_read() {
    let images = |name: &str| -> Vec<Image> {
        let scan = scanned(name);
        scan.executable.iter().flat_map(|(shape, _)| &shape.0).map(|(image, _)| *image).collect()
    };
    for (name, isa, compression) in [
        ("plain.fatbin", "8.8", Compression::None),
        ("lz4.fatbin", "7.8", Compression::Lz4),
        ("zstd.fatbin", "8.8", Compression::Zstd),
        ("compute_90.ptx", "8.8", Compression::None),
    ] {
        let ptx = images(name).into_iter().find(|image| image.kind == ImageKind::Ptx).unwrap();
        assert_eq!((ptx.isa, ptx.compression), (isa.parse().ok(), compression), "{name}");
    }
    assert!(images("zstd.fatbin").iter().all(|i| (i.kind == ImageKind::Ptx) == i.isa.is_some()));
}

#[test]
fn sizes_are_those_of_the_files_that_went_in() {
    let size = |name: &str| fs::metadata(folder().join(name)).unwrap().len();
    let scan = scanned("plain.fatbin");
    let sm_75 = scan.sizes[&"sm_75".parse().unwrap()];
    assert_eq!(sm_75.stored, size("cuda13-sm_75.cubin").next_multiple_of(8));
    let packed = scanned("zstd.fatbin").sizes[&"sm_75".parse().unwrap()];
    assert_eq!(packed.unpacked, size("cuda13-sm_75.cubin"));
    assert!(packed.stored < packed.unpacked);
}

#[test]
fn a_library_keeps_its_three_places_apart() {
    let scan = scanned("host.so");
    let summary = scan.summary();
    assert_eq!(scan.format, Format::Elf);
    assert_eq!(summary.containers, 2);
    assert_eq!(text(&summary.cubin), "sm_75:2 sm_90a:1 sm_120:1");
    assert_eq!(text(&summary.ptx), "compute_70:1 compute_90:1");
    assert_eq!(text(&summary.relocatable), "sm_90a:1 lto_90:1");
    assert_eq!(text(&summary.data), "sm_75:1 sm_90a:1 sm_100f:2 compute_70:1 compute_90:1");
    let archive = scanned("static.a");
    assert_eq!((archive.format, archive.summary().containers), (Format::Archive, 3));
}

#[test]
fn a_wheel_gives_what_its_members_give_by_themselves() {
    let scan = scanned("wheel.whl");
    assert_eq!((scan.format, scan.warnings.len()), (Format::Zip, 0));
    let names: Vec<String> =
        scan.binaries().iter().map(|one| one.path.display().to_string()).collect();
    let inside = |name: &str| format!("{}!pkg/{name}", folder().join("wheel.whl").display());
    assert_eq!(names, ["deflated.so", "stored.ptx", "wide.fatbin"].map(inside));
    for (member, alone) in scan.members.iter().zip(["host.so", "", "lz4.fatbin"]) {
        if !alone.is_empty() {
            assert_eq!(member.summary(), scanned(alone).summary(), "{alone}");
        }
    }
}

#[test]
fn json_survives_the_round_trip_and_counts_by_target() {
    let scan = scanned("host.so");
    let json = serde_json::to_string(&scan).unwrap();
    assert_eq!(serde_json::from_str::<Scan>(&json).unwrap(), scan);
    let summary = serde_json::to_value(scan.summary()).unwrap();
    assert_eq!(summary["cubin"]["sm_75"], 2);
    assert_eq!(summary["ptx"]["compute_90"], 1);
    assert_eq!(summary["relocatable"]["lto_90"], 1);
    assert_eq!(summary["containers"], 2);
}

#[test]
fn kernels_are_named_where_they_are_not_compressed() {
    let device = warpscope_kernels::Sm::new(6, 1);
    let missing = |name: &str| missing_kernels(&folder().join(name), device, None, 10).unwrap();
    assert_eq!(missing("plain.fatbin"), Missing { names: vec!["store_index".into()], unnamed: 0 });
    assert_eq!(missing("zstd.fatbin"), Missing { names: vec![], unnamed: 1 });
    assert_eq!(missing("cuda13-sm_75.cubin").names, ["store_index"]);
    assert_eq!(missing("cuda12-sm_61.cubin"), Missing::default());
}
