//! Number formats by compute capability and device id.

use super::*;

fn support(sm: Sm, pci: Option<u32>, dtype: Dtype) -> Support {
    let mut all = facts().dtype_support(sm, pci).into_iter();
    all.find(|(row, _)| *row == dtype).expect("every dtype has a row").1
}

fn how(query: &str, dtype: Dtype) -> How {
    let part = found(query);
    support(part.sm, part.pci_ids.first().map(|id| id.0), dtype).how
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
