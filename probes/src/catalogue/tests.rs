use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use warpscope_kernels::{DTYPES, Dtype, Sm};

use super::toolkits_tests::toolkits;
use super::*;
use crate::gpu::{Gpu, Presence};
use crate::reading::Reading;

fn facts() -> &'static Catalogue {
    Catalogue::load()
}

fn found(query: &str) -> &'static Part {
    facts().find(query).unwrap_or_else(|error| panic!("{error}"))
}

fn support(sm: Sm, pci: Option<u32>, dtype: Dtype) -> Support {
    let mut all = facts().dtype_support(sm, pci).into_iter();
    all.find(|(row, _)| *row == dtype).expect("every dtype has a row").1
}

fn how(query: &str, dtype: Dtype) -> How {
    let part = found(query);
    support(part.sm, part.pci_ids.first().map(|id| id.0), dtype).how
}

/// The program reads JSON, in two parts; what it knows must be what the files say.
#[test]
fn the_program_knows_what_the_files_say() {
    let written = Catalogue::parse(FILES).unwrap();
    assert!(!Catalogue::load().parts().is_empty());
    // Other tests may have asked for a name already.
    let names = OnceLock::new();
    let built = Catalogue { names, name_words: OnceLock::new(), ..Catalogue::load().clone() };
    assert_eq!(format!("{built:#?}"), format!("{written:#?}"));
}

#[test]
fn every_part_is_known_dated_and_sourced() {
    assert_eq!(facts().parts().len(), 379);
    for part in facts().parts() {
        let name = &part.market_name;
        assert!(facts().arch(part.sm).is_some(), "{name}: {}", part.sm);
        assert!(part.source.len() > 8 && !part.name_evidence.is_empty(), "{name}");
        assert_eq!(part.retrieved.len(), "2026-11".len(), "{name}");
        assert!(part.sms > 0 && part.boost_mhz > 100.0 && part.memory_gb > 0, "{name}");
        assert!(part.bus_bits >= 64 && part.bandwidth_gbs > 10.0 && part.tdp_w > 5.0, "{name}");
        assert!(part.nvlink.is_some() || part.nvlink_gbs.is_none(), "{name}");
        assert_eq!(part.peak_basis == PeakBasis::Capped, !part.capped.is_empty(), "{name}");
        assert!(!part.slug().is_empty());
    }
}

#[test]
fn every_chip_belongs_to_its_compute_capability() {
    for part in facts().parts() {
        let arch = facts().arch(part.sm).expect("known");
        let variant = facts().variants().iter().find(|variant| variant.chips.contains(&part.chip));
        let usual = arch.chips.contains(&part.chip);
        assert!(usual != variant.is_some(), "{}: {}", part.market_name, part.chip);
        assert_eq!(part.tensor_rate == TensorRate::None, !has_tensor_cores(part), "{}", part.name);
    }
}

fn has_tensor_cores(part: &Part) -> bool {
    part.sm >= Sm::new(7, 0) && !["TU116", "TU117"].contains(&part.chip.as_str())
}

#[test]
fn names_and_device_ids_are_shared_only_where_it_is_known() {
    let mut names: BTreeMap<&str, u32> = BTreeMap::new();
    let mut ids: BTreeMap<String, u32> = BTreeMap::new();
    for part in facts().parts() {
        *names.entry(&part.name).or_default() += 1;
        part.pci_ids.iter().for_each(|id| *ids.entry(id.to_string()).or_default() += 1);
    }
    names.retain(|_, count| *count > 1);
    ids.retain(|_, count| *count > 1);
    let shared: Vec<_> = ids.keys().map(String::as_str).collect();
    assert_eq!(shared, ["1e30", "2342", "25b6", "2b00", "2bb3"]);
    assert_eq!(
        names.into_keys().collect::<Vec<_>>(),
        [
            "NVIDIA GeForce GT 1030",
            "NVIDIA GeForce GTX 1050",
            "NVIDIA GeForce GTX 1050 Ti",
            "NVIDIA GeForce GTX 1060",
            "NVIDIA GeForce GTX 1070",
            "NVIDIA GeForce GTX 1080",
            "NVIDIA GeForce GTX 1650",
            "NVIDIA GeForce GTX 1650 Ti",
            "NVIDIA GeForce GTX 1650 with Max-Q Design",
            "NVIDIA GeForce GTX 1660 Ti",
            "NVIDIA GeForce MX450",
            "NVIDIA GeForce RTX 2060",
            "NVIDIA GeForce RTX 2060 SUPER",
            "NVIDIA GeForce RTX 2070",
            "NVIDIA GeForce RTX 2070 SUPER",
            "NVIDIA GeForce RTX 2080",
            "NVIDIA GeForce RTX 2080 SUPER",
            "NVIDIA GeForce RTX 2080 Ti",
            "NVIDIA GeForce RTX 3050",
            "NVIDIA GeForce RTX 3050 Laptop GPU",
            "NVIDIA GeForce RTX 3060",
            "NVIDIA GeForce RTX 3060 Ti",
            "NVIDIA GeForce RTX 3080",
            "NVIDIA GeForce RTX 3080 Ti",
            "NVIDIA GeForce RTX 4060 Ti",
            "NVIDIA GeForce RTX 4070",
            "NVIDIA GeForce RTX 4090",
            "NVIDIA GeForce RTX 5060 Ti",
            "NVIDIA RTX A1000 Laptop GPU",
            "NVIDIA RTX A2000 Laptop GPU",
            "NVIDIA RTX A3000 Laptop GPU",
            "NVIDIA Thor",
            "Orin (nvgpu)",
            "Quadro P1000",
            "Quadro P2000",
            "Quadro P4000",
            "Quadro P5000",
            "Quadro P600",
            "Quadro P620",
            "Quadro RTX 4000",
            "Quadro RTX 5000",
            "Quadro T1000",
            "Xavier",
        ]
    );
}

#[test]
fn every_architecture_has_every_dtype_or_says_that_nothing_is_known() {
    for arch in facts().archs() {
        let rows = facts().dtype_support(arch.sm, Some(arch.pci.first().map_or(0, |r| r.0.0)));
        assert_eq!(rows.len(), DTYPES.len());
        if arch.sm == Sm::new(8, 8) {
            assert!(arch.dtypes.is_empty() && rows.iter().all(|row| row.1.how == How::Unknown));
            continue;
        }
        for (dtype, _, _) in DTYPES {
            assert!(arch.dtypes.contains_key(dtype), "{} {dtype}", arch.sm);
            let source = facts().dtype_source(*dtype).expect("every dtype has a source");
            assert!(!source.source.is_empty() && !source.retrieved.is_empty());
        }
        assert!(!arch.source.is_empty() && !arch.retrieved.is_empty(), "{}", arch.sm);
    }
    for variant in facts().variants() {
        assert!(DTYPES.iter().all(|row| variant.dtypes.contains_key(&row.0)), "{}", variant.name);
        assert!(!variant.source.is_empty() && !variant.retrieved.is_empty());
    }
    let sms: BTreeSet<_> = facts().archs().iter().map(|arch| arch.sm).collect();
    assert_eq!(sms.len(), facts().archs().len());
}

#[test]
fn a_slow_way_names_its_rate() {
    for arch in facts().archs() {
        for (dtype, fact) in &arch.dtypes {
            let silent = fact.how == How::Slow && fact.detail.is_empty();
            assert!(!silent, "{} {dtype}", arch.sm);
        }
    }
}

/// Public statements about single cells, each checked by hand against the documents the row cites.
const KNOWN: &[(&str, Dtype, How)] = &[
    ("P100", Dtype::Fp16, How::CudaCore),
    ("P100", Dtype::Int8, How::Emulated),
    ("GTX 1060", Dtype::Fp16, How::Slow),
    ("GTX 1060", Dtype::Int8, How::CudaCore),
    ("V100", Dtype::Fp16, How::TensorCore),
    ("V100", Dtype::Int8, How::CudaCore),
    ("V100", Dtype::Bf16, How::Emulated),
    ("T4", Dtype::Int4, How::TensorCore),
    ("T4", Dtype::Bf16, How::Emulated),
    ("T4", Dtype::Fp16, How::TensorCore),
    ("GTX 1660", Dtype::Fp16, How::CudaCore),
    ("GTX 1660", Dtype::Int8, How::CudaCore),
    ("GTX 1660", Dtype::Int4, How::None),
    ("A100", Dtype::Bf16, How::TensorCore),
    ("A100", Dtype::Fp64, How::TensorCore),
    ("A10", Dtype::Fp8E4m3, How::StorageOnly),
    ("RTX 4090", Dtype::Fp8E4m3, How::TensorCore),
    ("L4", Dtype::Int4, How::TensorCore),
    ("H200", Dtype::Int4, How::Emulated),
    ("H200", Dtype::Fp8E4m3, How::TensorCore),
    ("H200", Dtype::Nvfp4, How::StorageOnly),
    ("B200", Dtype::Nvfp4, How::TensorCore),
    ("B300", Dtype::Int8, How::Slow),
    ("RTX 5090", Dtype::Nvfp4, How::TensorCore),
    ("RTX 5090", Dtype::Fp64, How::Slow),
];

#[test]
fn known_cells_are_right() {
    for (query, dtype, want) in KNOWN {
        assert_eq!(how(query, *dtype), *want, "{query} {dtype}");
    }
    assert!(support(Sm::new(6, 1), None, Dtype::Fp16).detail.starts_with("1/64"));
    for part in facts().parts().iter().filter(|part| part.chip.starts_with("TU11")) {
        let Some(id) = part.pci_ids.first() else { continue };
        for (dtype, support) in facts().dtype_support(part.sm, Some(id.0)) {
            assert_ne!(support.how, How::TensorCore, "{} {dtype}", part.market_name);
        }
    }
}

#[test]
fn seven_five_without_a_device_id_is_unknown_where_the_chips_differ() {
    let turing = Sm::new(7, 5);
    for pci in [None, Some(0x1f0a), Some(0x2204)] {
        assert_eq!(support(turing, pci, Dtype::Fp16).how, How::Unknown, "{pci:?}");
        assert_eq!(support(turing, pci, Dtype::Fp32).how, How::CudaCore, "{pci:?}");
        assert_eq!(support(turing, pci, Dtype::Bf16).how, How::Emulated, "{pci:?}");
    }
    assert_eq!(support(turing, Some(0x1f91), Dtype::Fp16).how, How::CudaCore);
    assert_eq!(support(turing, Some(0x1f15), Dtype::Fp16).how, How::TensorCore);
}

#[test]
fn an_unknown_architecture_is_unknown_throughout() {
    for sm in [Sm::new(9, 1), Sm::new(13, 0), Sm::new(3, 5), Sm::new(12, 7)] {
        let rows = facts().dtype_support(sm, None);
        assert_eq!(rows.len(), DTYPES.len());
        assert!(rows.iter().all(|(_, support)| support.how == How::Unknown));
        assert_eq!(facts().limits(sm), None);
    }
    let target: Sm = "sm_90a".parse().expect("reads");
    assert_eq!(support(target, None, Dtype::Bf16).how, How::TensorCore);
}

#[test]
fn every_way_is_told_by_a_symbol_of_its_own_also_in_ascii() {
    for row in HOWS {
        assert!(row.3.is_ascii() && row.2.chars().count() == 1);
        assert_eq!(HOWS.iter().filter(|other| other.2 == row.2 || other.3 == row.3).count(), 1);
        assert_eq!(serde_json::to_string(&row.0).expect("serialises"), format!("\"{}\"", row.1));
    }
    for row in PEAKS {
        let json = serde_json::to_string(row.1).expect("serialises");
        assert_eq!(serde_json::from_str::<Peak>(&json).expect("reads"), row.0);
        assert_eq!(PEAKS.iter().filter(|other| other.1 == row.1).count(), 1);
    }
}

/// Published peaks that clock × SMs × rate does not reach within 5 %, and why.
const MISMATCHES: &[(&str, &str)] = &[
    ("NVIDIA TITAN V", "NVIDIA rounds down or means a lower sustained clock"),
    ("NVIDIA H20 96GB", "export cap; the published FP32 would need 2.2 GHz"),
    ("NVIDIA H20 141GB (HBM3e)", "export cap; the published FP32 would need 2.2 GHz"),
    ("NVIDIA H800 SXM5 80GB", "export cap on FP64"),
    ("NVIDIA H800 PCIe 80GB", "export cap on FP64"),
    ("GeForce RTX 5090 D", "export cap"),
    ("GeForce RTX 5090 D v2", "export cap"),
    ("NVIDIA B300 (HGX) 288GB", "INT8: both figures are estimates"),
    ("NVIDIA GB300 (per GPU) 279GB", "INT8: both figures are estimates"),
    ("GeForce RTX 4090 Laptop GPU", "laptop AI TOPS are computed at a higher clock"),
    ("GeForce RTX 5050 Laptop GPU", "laptop AI TOPS are computed at a higher clock"),
    ("GeForce RTX 5060 Laptop GPU", "laptop AI TOPS are computed at a higher clock"),
    ("GeForce RTX 5070 Laptop GPU", "laptop AI TOPS are computed at a higher clock"),
    ("GeForce RTX 5070 Ti Laptop GPU", "laptop AI TOPS are computed at a higher clock"),
    ("GeForce RTX 5080 Laptop GPU", "laptop AI TOPS are computed at a higher clock"),
    ("GeForce RTX 5090 Laptop GPU", "laptop AI TOPS are computed at a higher clock"),
];

#[test]
fn published_peaks_follow_from_clock_sms_and_rate() {
    let (mut cells, mut off) = (0, BTreeSet::new());
    for part in facts().parts() {
        let arch = facts().arch(part.sm).expect("known");
        for (peak, published) in &part.spec {
            cells += 1;
            let computed = part.computed_peak(*peak, arch).unwrap_or(0.0);
            if (computed / published - 1.0).abs() > 0.05 {
                off.insert(part.market_name.as_str());
            }
        }
    }
    assert!(cells > 600, "{cells} cells");
    assert_eq!(off, MISMATCHES.iter().map(|row| row.0).collect());
}

/// Throughput others measured and published: part, peak it belongs to, TFLOPS or TOPS, where.
const MEASURED: &[(&str, Peak, f64, &str)] = &[
    ("P40", Peak::Fp32, 10.07, "torch-performance-test-data"),
    ("V100", Peak::Fp16Tensor, 94.8, "torch-performance-test-data"),
    ("T4", Peak::Fp16Tensor, 41.9, "torch-performance-test-data"),
    ("A6000", Peak::Bf16Tensor, 123.3, "torch-performance-test-data"),
    ("L4", Peak::Bf16Tensor, 70.9, "torch-performance-test-data"),
    ("L20", Peak::Bf16Tensor, 114.1, "torch-performance-test-data"),
    ("L40S", Peak::Bf16Tensor, 269.0, "torch-performance-test-data"),
    ("H20", Peak::Bf16Tensor, 142.0, "torch-performance-test-data"),
    ("RTX 4090", Peak::Bf16Tensor, 179.2, "gpu-flops-bench"),
    ("RTX 4090", Peak::Fp8Tensor, 354.3, "gpu-flops-bench"),
    ("RTX 4090", Peak::Int8Tensor, 676.0, "gpu-flops-bench"),
    ("RTX 5090", Peak::Fp8TensorFp16acc, 773.5, "gpu-flops-bench"),
    ("RTX 5090", Peak::Fp4Tensor, 1617.0, "gpu-flops-bench"),
    ("RTX 5090 D v2", Peak::Fp4Tensor, 1177.0, "gpu-flops-bench"),
    ("GB10", Peak::Bf16Tensor, 105.0, "gpu-flops-bench"),
    ("H200 NVL", Peak::Fp64Tensor, 58.98, "gpu-flops-bench"),
    ("RTX 5060", Peak::Fp32, 21.12, "clpeak results"),
    ("RTX 5060", Peak::Fp16x2, 21.17, "clpeak results"),
    ("RTX 5060", Peak::Fp16Tensor, 42.56, "clpeak results"),
    ("RTX 5060", Peak::Fp16TensorFp16acc, 83.41, "clpeak results"),
    ("H100", Peak::Bf16Tensor, 794.5, "ml-engineering mamf-finder"),
    ("B200", Peak::Bf16Tensor, 1745.0, "ml-engineering mamf-finder"),
    ("B300", Peak::Bf16Tensor, 1769.0, "ml-engineering mamf-finder"),
];

/// A GEMM reaches half of a peak at least, and cards that run above their rated boost pass it by
/// no more than a fifth: a wrong rate, off by a factor of two, is outside.
#[test]
fn what_was_measured_elsewhere_is_near_the_peak_to_judge_by() {
    for (query, peak, measured, source) in MEASURED {
        let part = found(query);
        let arch = facts().arch(part.sm).expect("known");
        let share = measured / part.peak(*peak, arch).expect("known");
        assert!((0.5..1.21).contains(&share), "{query} {}: {share:.2} ({source})", peak.label());
    }
}

#[test]
fn a_capped_part_is_judged_by_what_is_published() {
    let h20 = found("H20");
    let arch = facts().arch(h20.sm).expect("known");
    assert_eq!(h20.peak(Peak::Bf16Tensor, arch), Some(148.0));
    assert!(h20.computed_peak(Peak::Bf16Tensor, arch) > Some(600.0));
    let t4 = found("T4");
    let turing = facts().arch(t4.sm).expect("known");
    assert!((t4.peak(Peak::Fp16Tensor, turing).expect("known") - 65.1).abs() < 0.1);
    assert_eq!(t4.peak(Peak::Bf16Tensor, turing), None);
    let plain = found("GTX 1660");
    assert_eq!(plain.peak(Peak::Fp16Tensor, turing), None);
}

#[test]
fn limits_are_those_of_the_guide() {
    for (cc, shared_kib, warps) in
        [((6, 1), 48, 64), ((7, 0), 96, 64), ((7, 5), 64, 32), ((8, 0), 163, 64), ((8, 6), 99, 48)]
    {
        let limits = facts().limits(Sm::new(cc.0, cc.1)).expect("known");
        assert_eq!((limits.shared_memory_per_block_kib, limits.warps_per_sm), (shared_kib, warps));
    }
    assert_eq!(facts().arch(Sm::new(7, 0)).and_then(|a| a.last_toolkit.as_deref()), Some("12.9"));
    assert_eq!(facts().arch(Sm::new(7, 5)).and_then(|a| a.last_toolkit.as_deref()), None);
}

#[test]
fn toolkits_are_in_order_and_know_their_targets() {
    let version = |text: &str| -> Vec<u32> { text.split('.').flat_map(str::parse).collect() };
    assert!(toolkits().is_sorted_by_key(|toolkit| version(&toolkit.cuda)));
    for arch in facts().archs() {
        let first = toolkits().iter().find(|toolkit| toolkit.cuda == arch.first_toolkit);
        let older_than_the_table = version(&arch.first_toolkit) < vec![7];
        assert!(older_than_the_table || first.is_some_and(|kit| kit.targets.contains(&arch.sm)));
        let last = arch.last_toolkit.as_deref().unwrap_or("13.5");
        let last = toolkits().iter().find(|toolkit| toolkit.cuda == last);
        assert!(last.is_some_and(|kit| kit.targets.contains(&arch.sm)), "{}", arch.sm);
    }
}

#[test]
fn finds_by_any_name_people_type() {
    for (query, want) in [
        ("T4", "NVIDIA T4"),
        ("tesla t4", "NVIDIA T4"),
        ("NVIDIA T4", "NVIDIA T4"),
        ("10de:1eb8", "NVIDIA T4"),
        ("1EB8", "NVIDIA T4"),
        ("0x1eb8", "NVIDIA T4"),
        ("v100", "Tesla V100 SXM2 16GB"),
        ("V100-SXM2-32GB", "Tesla V100 SXM2 32GB"),
        ("GTX 1060", "GeForce GTX 1060 6GB"),
        ("gtx1060", "GeForce GTX 1060 6GB"),
        ("rtx-3090", "GeForce RTX 3090"),
        ("3090", "GeForce RTX 3090"),
        ("2080 Ti", "GeForce RTX 2080 Ti"),
        ("NVIDIA GeForce RTX 3080", "GeForce RTX 3080 10GB"),
        ("A10", "NVIDIA A10"),
        ("A1000", "NVIDIA RTX A1000"),
        ("A100", "NVIDIA A100 SXM4 40GB"),
        ("H200", "NVIDIA H200 SXM 141GB"),
        ("RTX 5060 Ti", "GeForce RTX 5060 Ti 16GB"),
        ("4090 laptop", "GeForce RTX 4090 Laptop GPU"),
    ] {
        assert_eq!(found(query).market_name, want, "{query}");
    }
}

#[test]
fn every_name_finds_its_own_part_or_the_usual_variant() {
    for part in facts().parts() {
        for name in part.own_names() {
            assert_eq!(found(name).market_name, part.market_name, "{name}");
        }
        assert_eq!(found(&part.name).name, part.name);
    }
}

#[test]
fn what_is_not_found_is_answered_with_what_is_near() {
    let unknown = |query: &str| match facts().find(query) {
        Err(FindError::Unknown { nearest, .. }) => nearest,
        other => panic!("{other:?}"),
    };
    assert!(unknown("RTX 3095").contains(&"GeForce RTX 3090".to_owned()));
    assert!(unknown("RTX 6000").iter().any(|name| name.contains("6000")));
    assert_eq!(unknown(""), [""; 0]);
    assert_eq!(unknown("ffff").len(), 3);
    let shared = facts().find("25b6").expect_err("two products").to_string();
    assert!(shared.contains("A16") && shared.contains("NVIDIA A2"), "{shared}");
}

#[test]
fn names_are_known_by_their_words() {
    for (said, market_name) in [
        ("A40 GPU", "NVIDIA A40"),
        ("NVIDIA A30 Tensor Core GPU", "NVIDIA A30"),
        ("ASUS TUF RTX 3090", "GeForce RTX 3090"),
        ("RTX 4090 Founders Edition", "GeForce RTX 4090"),
        ("Ti 3060", "GeForce RTX 3060 Ti"),
        ("HGX H20", "NVIDIA H20 96GB"),
        ("GB200 NVL72", "NVIDIA GB200 (per GPU) 186GB"),
        ("RTX 4090 Max-Q", "GeForce RTX 4090 Laptop GPU"),
        ("RTX 4080 with Max-Q Design", "GeForce RTX 4080 Laptop GPU"),
    ] {
        let found = facts().find(said).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found.market_name, market_name, "{said}");
    }
    for nothing in ["GPU", "Founders Edition", "RTX 3090 8GB", "Max-Q", "laptop"] {
        assert!(matches!(facts().find(nothing), Err(FindError::Unknown { .. })), "{nothing}");
    }
}

/// Names of machines as their owners list them.
#[test]
fn a_cloud_machine_means_the_gpu_it_carries() {
    let catalogue = Catalogue::load();
    for (machine, sm, memory_gb) in [
        ("g4dn", (7, 5), 16),
        ("g4dn.xlarge", (7, 5), 16),
        ("ml.g5.12xlarge", (8, 6), 24),
        ("g6.xlarge", (8, 9), 24),
        ("G6e.2xlarge", (8, 9), 48),
        ("p3dn.24xlarge", (7, 0), 32),
        ("p4d.24xlarge", (8, 0), 40),
        ("p4de.24xlarge", (8, 0), 80),
        ("p5.48xlarge", (9, 0), 80),
        ("p5en.48xlarge", (9, 0), 141),
        ("a2-highgpu-1g", (8, 0), 40),
        ("g2-standard-4", (8, 9), 24),
        ("g4-standard-48", (12, 0), 96),
        ("g7e.2xlarge", (12, 0), 96),
        ("Standard_NC4as_T4_v3", (7, 5), 16),
        ("Standard_NC24ads_A100_v4", (8, 0), 80),
        ("Standard_ND96asr_v4", (8, 0), 40),
        ("Standard_NC40ads_H100_v5", (9, 0), 94),
        ("nc6s_v3", (7, 0), 16),
    ] {
        let part = catalogue.find(machine).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((part.sm, part.memory_gb), (Sm::new(sm.0, sm.1), memory_gb), "{machine}");
    }
    for none in ["g4", "g4dnx", "p4", "c5.large", "Standard_NC6ads_A10_v5"] {
        assert!(!catalogue.find(none).is_ok_and(|part| !part.machines.is_empty()), "{none}");
    }
    let mut families: Vec<_> = catalogue.parts().iter().flat_map(|part| &part.machines).collect();
    let all = families.len();
    families.sort();
    families.dedup();
    assert_eq!(families.len(), all, "a family that means two GPUs");
}

#[test]
fn gpus_before_maxwell_are_named_as_such() {
    for name in ["K80", "Tesla K80", "nvidia tesla k40m", "GTX 780 Ti", "GeForce GTX 680", "GT 710"]
    {
        let found = facts().find(name);
        assert!(matches!(found, Err(FindError::Older { .. })), "{name}: {found:?}");
    }
    for name in ["GTX 750 Ti", "Tesla M60", "GTX 980"] {
        let found = facts().find(name);
        assert!(!matches!(found, Err(FindError::Older { .. })), "{name}: {found:?}");
    }
}

#[test]
fn a_request_may_carry_a_count() {
    for (request, count) in [("2xT4", 2), ("T4", 1), (" 8 × t4", 8), ("64XT4", 64), ("1*T4", 1)] {
        let (n, part) = facts().parse_request(request).expect(request);
        assert_eq!((n, part.market_name.as_str()), (count, "NVIDIA T4"), "{request}");
    }
    for request in ["0xT4", "65xT4", "99999999999xT4"] {
        let refused = facts().parse_request(request);
        assert!(matches!(refused, Err(FindError::Count { .. })), "{request}");
    }
    assert!(matches!(facts().parse_request("2x"), Err(FindError::Unknown { .. })));
}

#[test]
fn searching_narrows_and_puts_the_named_first() {
    assert_eq!(facts().search("").len(), facts().parts().len());
    assert_eq!(facts().search("t4")[0].market_name, "NVIDIA T4");
    assert_eq!(facts().search("3090")[0].market_name, "GeForce RTX 3090");
    assert!(facts().search("hopper").iter().all(|part| part.sm == Sm::new(9, 0)));
    assert_eq!(facts().search("hopper 141").len(), 3);
    assert!(facts().search("sm_70 laptop").is_empty());
    let one = |words: &str| facts().search(words)[0].market_name.as_str();
    assert_eq!(one("A2000 8GB laptop"), "NVIDIA RTX A2000 Laptop GPU 8GB");
    assert_eq!(one("RTX 4060 Laptop"), "GeForce RTX 4060 Laptop GPU");
    assert_eq!(one("Quadro P3200"), "Quadro P3200 Mobile");
    assert_eq!(found("P3200").bandwidth_gbs, 168.2);
}

#[test]
fn a_what_if_gpu_holds_facts_and_no_measurement() {
    for (ordinal, request) in DEFAULT_WHAT_IF.iter().enumerate() {
        let (count, part) = facts().parse_request(request).expect(request);
        let gpu = what_if(part, ordinal as u32);
        assert_eq!((count, gpu.presence), (1, Presence::WhatIf));
        assert_eq!(gpu.key, format!("what-if:{}#{ordinal}", part.slug()));
        assert_eq!(gpu.identity.sm.value(), Some(&part.sm));
        assert_eq!(gpu.vitals.temperature_c, Reading::Unsupported);
        assert_eq!(gpu.vitals.memory_used_bytes, Reading::Unsupported);
        assert_eq!(gpu.identity.uuid, Reading::Unsupported);
    }
    let t4 = what_if(found("T4"), 0);
    assert_eq!(t4.key, "what-if:t4#0");
    assert_eq!(t4.identity.cuda_cores.value(), Some(&2560));
    assert_eq!(t4.identity.architecture.value().map(String::as_str), Some("Turing"));
    // What its driver reports of its 16 GB.
    assert_eq!(t4.vitals.memory_total_bytes.value().map(|b| b.0), Some(15360 << 20));
}

#[test]
fn a_real_gpu_is_enriched_by_device_id_and_never_overruled() {
    let mut gpu = Gpu { presence: Presence::Present, ..Gpu::default() };
    gpu.identity.name = "Tesla T4".to_owned().into();
    enrich(&mut gpu);
    assert_eq!(gpu.identity.memory_type, Reading::Unsupported, "a name is no evidence");

    gpu.identity.pci_device_id = 0x1eb8.into();
    enrich(&mut gpu);
    assert_eq!(gpu.identity.memory_type.value().map(String::as_str), Some("GDDR6"));
    assert_eq!(gpu.identity.sm_count.value(), Some(&40));

    gpu.identity.sm_count = 39.into();
    gpu.identity.memory_type = Reading::Denied;
    enrich(&mut gpu);
    assert_eq!(gpu.identity.sm_count.value(), Some(&39));
    assert_eq!(gpu.identity.memory_type, Reading::Denied);

    let mut shared = Gpu { presence: Presence::Present, ..Gpu::default() };
    shared.identity.pci_device_id = 0x2b00.into();
    enrich(&mut shared);
    assert_eq!(shared.identity.memory_type.value().map(String::as_str), Some("LPDDR5X"));
    assert_eq!(shared.identity.sm_count, Reading::Unsupported, "T5000 has 20, T4000 has 12");
}

#[test]
fn a_wrong_fact_names_file_line_and_key() {
    let text = |name: &str| FILES.iter().find(|file| file.0 == name).expect("there").1.to_owned();
    let (archs, good) = (text("architectures.toml"), text("volta.toml"));
    let broken = |from: &str, to: &str| {
        let bad = good.replacen(from, to, 1);
        let line = 1 + bad.lines().zip(good.lines()).take_while(|(a, b)| a == b).count();
        let files = [("architectures.toml", archs.as_str()), ("volta.toml", bad.as_str())];
        (Catalogue::parse(&files).expect_err("wrong"), line)
    };
    for (from, to, key) in [
        ("sms = 80", "sms = \"many\"", "sms"),
        ("sms = 80", "smms = 80", "smms"),
        ("segment = \"data_center\"", "segment = \"cloud\"", "segment"),
        ("pci_ids = [\"1db1\"]", "pci_ids = [\"1DB1\"]", "pci_ids"),
        ("spec = { fp64", "spec = { fp63", "spec"),
        ("tdp_w = 300", "tdp_w 300", "tdp_w 300"),
        ("name = \"Quadro GV100\"", "name = \"Quadro GV100", "name"),
    ] {
        let (error, line) = broken(from, to);
        assert_eq!((error.file.as_str(), error.key.as_str()), ("volta.toml", key), "{error}");
        assert_eq!(error.line, line, "{error}");
    }
    let (error, _) = broken("sms = 80\n", "");
    assert_eq!((error.line, error.key.as_str()), (5, "[[gpu]]"), "{error}");
    assert!(error.why.contains("`sms`"), "{error}");
    let wrong = archs.replacen("\nbf16 =", "\nbf17 =", 1);
    let error = Catalogue::parse(&[("architectures.toml", &wrong)]).expect_err("wrong");
    assert_eq!(error.key, "bf17", "{error}");
    let (error, _) = broken("sm = \"7.0\"", "sm = \"7.1\"");
    assert_eq!((error.line, error.key.as_str()), (7, "market_name"), "{error}");
    assert!(error.why.contains("7.1"), "{error}");
    let (error, _) = broken("aliases = [\"V100 SXM2 32GB\"]", "aliases = [\"v100\"]");
    assert!(error.why.contains("already means Tesla V100 SXM2 16GB"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn asking_never_panics(query in "\\PC{0,80}", any in any::<String>()) {
        for text in [&query, &any] {
            let _ = facts().find(text);
            let _ = facts().parse_request(text);
            let _ = facts().search(text);
        }
    }

    #[test]
    fn parsing_never_panics(text in "\\PC{0,200}", cut in 0usize..5000) {
        let _ = Catalogue::parse(&[("any.toml", &text)]);
        let volta = FILES.iter().find(|file| file.0 == "volta.toml").expect("there").1;
        let cut: String = volta.chars().take(cut).collect();
        let _ = Catalogue::parse(&[("cut.toml", &cut)]);
    }
}
