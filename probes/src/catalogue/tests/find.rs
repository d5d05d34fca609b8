//! Names people type, and what is said where none fits.

use proptest::prelude::*;

use super::*;

/// Names that several parts report to the driver.
const SHARED_NAMES: &[&str] = &[
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
];

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
    assert_eq!(names.into_keys().collect::<Vec<_>>(), SHARED_NAMES);
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
    assert!(unknown("RTX 6500").iter().any(|name| name.contains("RTX")));
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

/// NVIDIA sold a Quadro RTX, an RTX Ada and an RTX PRO of each of these numbers but the last; of 3000 only for laptops.
#[test]
fn a_name_that_several_generations_have_is_answered_with_all_of_them() {
    for (said, choices) in [
        ("RTX 6000", &["Quadro RTX 6000", "NVIDIA RTX 6000 Ada"][..]),
        ("RTX 5000", &["Quadro RTX 5000", "NVIDIA RTX 5000 Ada"]),
        ("NVIDIA RTX 4000", &["Quadro RTX 4000", "NVIDIA RTX 4000 Ada"]),
        ("RTX 3000", &["Quadro RTX 3000 Mobile", "NVIDIA RTX 3000 Ada Generation Laptop GPU"]),
    ] {
        let Err(FindError::Shared { choices: found, .. }) = facts().find(said) else {
            panic!("{said}: {:?}", facts().find(said));
        };
        assert!(choices.iter().all(|one| found.iter().any(|other| one == other)), "{found:?}");
        let laptops = found.iter().filter(|one| one.contains("Laptop") || one.contains("Mobile"));
        assert!(said == "RTX 3000" || laptops.count() == 0, "{found:?}");
        assert_eq!(facts().get(said), None, "{said}");
    }
    assert_eq!(found("RTX 8000").market_name, "Quadro RTX 8000");
    assert_eq!(found("Quadro RTX 4000").market_name, "Quadro RTX 4000");
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
    assert_eq!(
        facts().parse_request("0x1eb8").map(|(n, part)| (n, &*part.name)),
        Ok((1, "Tesla T4"))
    );
    for radeon in ["7900 XTX", "6900 XT", "7900XTX", "2x 7900 XTX", "9070 xt", "7900 GRE"] {
        let refused = facts().parse_request(radeon);
        assert!(matches!(refused, Err(FindError::Foreign { maker: "AMD", .. })), "{refused:?}");
    }
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
