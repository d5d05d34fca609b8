//! Peaks against published figures, and against what others measured.

use super::*;

/// Published peaks that clock × SMs × rate does not reach within 5%, and why.
const MISMATCHES: &[(&str, &str)] = &[
    ("NVIDIA TITAN V", "NVIDIA rounds down or means a lower sustained clock"),
    ("NVIDIA H20 96GB", "export cap; the published FP32 would need 2.2 GHz"),
    ("NVIDIA H20 141GB (HBM3e)", "export cap; the published FP32 would need 2.2 GHz"),
    ("NVIDIA H800 SXM5 80GB", "export cap on FP64"),
    ("NVIDIA H800 PCIe 80GB", "export cap on FP64"),
    ("GeForce RTX 5090 D", "export cap"),
    ("GeForce RTX 5090 D v2", "export cap"),
    ("CMP 170HX", "throttled for mining"),
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
