//! Sums of fp8 on sm_90, which tensor cores keep short: kernels add them up outside, and would be found if they did not.

use crate::proof::{Proof, lines_of};

/// Another test decides whether a product is added.
pub(crate) fn adding(line: &str, test: &str) -> Option<String> {
    let product = line.contains("wgmma.mma_async").then_some(line)?;
    let (start, rest) = product.split_once("setp.ne.u32 p,")?;
    Some(format!("{start}{test}{}", rest.split_once(';')?.1))
}

/// Sums of fp8 by themselves, instead of each stage added up in fp32: every product is added to the one before, and the result is what comes last.
fn unpromoted(text: &str, entry: &str) -> String {
    let lines = lines_of(text, entry);
    let promotions: Vec<[&str; 3]> = lines
        .iter()
        .filter_map(|(_, line)| {
            let operands = line.trim().strip_prefix("add.f32")?.trim().strip_suffix(';')?;
            operands.split(", ").collect::<Vec<_>>().try_into().ok()
        })
        .collect();
    let own = |number: usize| lines.iter().any(|line| line.0 == number);
    let line = |(number, line): (usize, &str)| {
        let trimmed = line.trim();
        let of = |[sum, ..]: &&[&str; 3]| {
            trimmed.split_once(',').and_then(|(start, _)| start.split_whitespace().nth(1))
                == Some(sum)
        };
        let Some([sum, part, _]) = promotions.iter().find(of).filter(|_| own(number)) else {
            let product = own(number).then(|| adding(line, "setp.eq.u32 p, 0, 0;")).flatten();
            return product.unwrap_or_else(|| line.to_owned());
        };
        if trimmed.starts_with("add.f32") {
            return format!("mov.f32 {sum}, {part};");
        }
        let begins = trimmed.starts_with("mov.f32");
        if begins { format!("{line} mov.f32 {part}, 0f00000000;") } else { line.to_owned() }
    };
    text.lines().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// Tensor cores keep fewer bits of sums of fp8 than the limit allows for: a kernel that leaves everything to them is found.
#[test]
fn sums_of_fp8_that_nobody_promotes_are_found() {
    for (kernel, entry, variant) in [
        ("gemm.e4m3", "gemm_e4m3_128x128c2", "wgmma128x128c2"),
        ("gemm.e4m3", "gemm_e4m3_128x192c2", "wgmma128x192c2"),
        ("gemm.e5m2", "gemm_e5m2_128x128", "wgmma128x128"),
    ] {
        let of = |what: &str| {
            Proof::new(kernel, (9, 0), Some("gemm_hopper"), &format!("{what}, {variant}"))
        };
        // Still a product: what is exact stays so, and few numbers lose little.
        for what in ["whole", "random"] {
            let proof = of(what);
            let wrong = unpromoted(&proof.text, entry);
            assert_ne!(wrong, proof.text);
            assert_eq!(proof.finding(&wrong), None, "{entry} {what}");
        }
        let proof = of("positive");
        let why = proof.finding(&unpromoted(&proof.text, entry)).expect("sums are too short");
        assert!(why.contains("relative error"), "{entry}: {why}");
        println!("{entry}: {why}");
    }
}
