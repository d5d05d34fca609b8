//! Facts of the catalogue against documents, published figures and the files they are written in.

use std::collections::{BTreeMap, BTreeSet};

use warpscope_kernels::{DTYPES, Dtype, Sm};

use super::toolkits_tests::toolkits;
use super::*;
use crate::gpu::{Gpu, Presence};
use crate::reading::Reading;

mod find;
mod peaks;
mod support;

fn facts() -> &'static Catalogue {
    Catalogue::load()
}

fn found(query: &str) -> &'static Part {
    facts().find(query).unwrap_or_else(|error| panic!("{error}"))
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
    assert_eq!(facts().parts().len(), 380);
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
