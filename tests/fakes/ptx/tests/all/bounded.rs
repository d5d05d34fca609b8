//! A barrier that never ends stops the kernel: on a device nothing else would.

use crate::proof::Proof;

/// What the text says of the time a wait may take, in nanoseconds. The interpreter's clock counts instructions, and soon finds that nothing goes on.
const PATIENCE: &str = "now, 2000000000;";

/// The copy engine is said to bring more bytes than it will.
fn expecting_more(line: &str) -> String {
    match line.split_once("mbarrier.arrive.expect_tx.") {
        Some(_) => format!("{}, 1048560;", &line[..line.rfind(',').unwrap_or(line.len())]),
        None => line.to_owned(),
    }
}

#[test]
fn a_wrong_count_of_bytes_is_an_error() {
    for (kernel, family, variant) in [
        ("gemm.f16", "gemm_hopper", "wgmma128x256c2"),
        ("gemm.f16", "gemm_hopper", "fewc2"),
        ("w4.gemm.f16", "w4_hopper", "wgmma64c2"),
        ("attn.prefill.f16", "attn_hopper", "wgmma128x128"),
    ] {
        let proof = Proof::new(kernel, (9, 0), Some(family), variant);
        let lines: Vec<String> = proof.text.lines().map(expecting_more).collect();
        let mutant = lines.join("\n").replace(PATIENCE, "now, 100;");
        let found = proof.finding(&mutant).expect("it is found");
        assert!(found.contains("the kernel stopped itself"), "{family} {variant}: {found}");
        let found = proof.finding(&lines.join("\n")).expect("it is found");
        assert!(found.contains("waits in line"), "{family} {variant}: {found}");
    }
}
