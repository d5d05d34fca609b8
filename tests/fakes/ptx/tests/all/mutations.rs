//! Kernels made wrong on purpose are found wrong: by a fault, or by what comes out.
//!
//! The mutants are those of the kernels' own PTX, one line each, so that this also says whether the cases reach the line.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::promotion::adding;
use crate::proof::{Proof, lines_of};

/// What a line becomes; `None` where it is not one to change.
type Change = fn(&str) -> Option<String>;

/// A change to every line of an entry that can be so changed, one line at a time.
struct Mutation {
    kernel: &'static str,
    device: (u8, u8),
    entry: &'static str,
    /// Family of the entry, where it is not the kernel's own.
    family: Option<&'static str>,
    /// What the names of cases have that launch it.
    cases: &'static str,
    what: &'static str,
    change: Change,
    /// Lines that may stay unnoticed, counted from 0 among those changed, and why.
    harmless: (&'static [usize], &'static str),
}

const fn every(
    kernel: &'static str,
    device: (u8, u8),
    entry: &'static str,
    (what, change): (&'static str, Change),
) -> Mutation {
    Mutation { kernel, device, entry, family: None, cases: "", what, change, harmless: (&[], "") }
}

/// An entry by which a family of warpgroups computes a kernel on sm_90.
struct Together {
    kernel: &'static str,
    family: &'static str,
    entry: &'static str,
    /// Name of the variant.
    variant: &'static str,
}

const fn of_warpgroups(of: &Together, change: Named) -> Mutation {
    let Together { kernel, family, entry, variant } = *of;
    Mutation { family: Some(family), cases: variant, ..every(kernel, (9, 0), entry, change) }
}

/// The same, but for some lines.
const fn but(mutation: Mutation, lines: &'static [usize], why: &'static str) -> Mutation {
    Mutation { harmless: (lines, why), ..mutation }
}

/// Lines with a text have another instead.
fn instead(line: &str, from: &str, to: &str) -> Option<String> {
    line.contains(from).then(|| line.replacen(from, to, 1))
}

/// Lines with a text do nothing.
fn without(line: &str, text: &str) -> Option<String> {
    line.contains(text).then(|| format!("// {line}"))
}

/// The two first registers of a vector change places.
fn swapped(line: &str, mnemonic: &str, vector: usize) -> Option<String> {
    let open =
        line.contains(mnemonic).then(|| line.match_indices('{').nth(vector)).flatten()?.0 + 1;
    let close = open + line[open..].find('}')?;
    let mut parts: Vec<&str> = line[open..close].split(',').collect();
    if parts.len() < 2 {
        return None;
    }
    parts.swap(0, 1);
    Some(format!("{}{}{}", &line[..open], parts.join(","), &line[close..]))
}

/// The address goes so many bytes further.
fn moved(line: &str, mnemonic: &str, bytes: u32) -> Option<String> {
    let plain = line.contains(mnemonic) && !line.contains('+');
    plain.then(|| line.replacen(']', &format!("+{bytes}]"), 1))
}

/// A change and what it makes of a kernel.
type Named = (&'static str, Change);

const NO_BARRIER: Named = ("without its barrier", |line| instead(line, "bar.sync", "// bar.sync"));
const NO_WAIT: Named =
    ("without waiting for copies", |line| instead(line, "cp.async.wait_group", "// wait"));
const SHORT_WAIT: Named = ("waiting for one group of copies less", |line| {
    instead(line, "cp.async.wait_group 1;", "cp.async.wait_group 2;")
});
const TRANSPOSED: Named = ("loading a matrix transposed", |line| {
    instead(
        line,
        "ldmatrix.sync.aligned.m8n8.x4.shared",
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared",
    )
});
const NOT_TRANSPOSED: Named =
    ("loading a matrix not transposed", |line| instead(line, ".x4.trans.", ".x4."));
const WRONG_LANE: Named =
    ("shuffling from another lane", |line| instead(line, "shfl.sync.bfly.b32", "shfl.sync.up.b32"));
const FRAGMENT: Named =
    ("multiplying with two registers of A exchanged", |line| swapped(line, "mma.sync", 1));
const SHIFTED_READ: Named =
    ("reading shared memory 16 bytes further on", |line| moved(line, "ld.shared.v4", 16));
const SHIFTED_WRITE: Named =
    ("writing its results two bytes further on", |line| moved(line, "st.global.u16", 2));
const STRAY_READ: Named =
    ("reading weights far behind", |line| moved(line, "ld.global.nc.L1::no_allocate", 16384));

const NO_PROXY_FENCE: Named = ("without a fence between its stores and the copy engine", |line| {
    without(line, "fence.proxy.async")
});
const NO_WARPGROUP_FENCE: Named =
    ("without a fence before its products", |line| without(line, "wgmma.fence"));
const EARLY_STAGE: Named = ("giving a stage back while it is read", |line| {
    instead(line, "wgmma.wait_group.sync.aligned 1;", "wgmma.wait_group.sync.aligned 2;")
});
const EARLY_SUMS: Named = ("reading sums on their way", |line| {
    instead(line, "wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;")
});
const OVERWRITTEN: Named = ("overwriting what a copy still reads", |line| {
    without(line, "cp.async.bulk.wait_group.read 1")
});
const NOT_LEFT: Named = ("taking back the place of results that have not left", |line| {
    without(line, "cp.async.bulk.wait_group.read 0")
});
const TOO_EARLY: Named =
    ("without waiting for the launch in front", |line| without(line, "griddepcontrol.wait"));
const UNSEEN_BARRIERS: Named = ("without showing its barriers to the copy engine", |line| {
    without(line, "fence.mbarrier_init")
});
const NO_CLUSTER_WAIT: Named =
    ("without waiting for its cluster", |line| without(line, "barrier.cluster.wait"));

const COUNTED_TWICE: Named = ("counting itself twice", |line| {
    line.contains("atom.global.add.u32").then(|| line.replacen(", 1;", ", 2;", 1))
});
const COUNT_KEPT: Named = ("leaving its count", |line| without(line, "st.global.u32"));
const OTHER_SUMS: Named =
    ("adding what another thread left", |line| moved(line, "ld.global.cg.v4.u32", 16));

const UNAWAITED: Named = ("without waiting for a barrier in shared memory", |line| {
    let (start, rest) = line.split_once("mbarrier.try_wait")?;
    Some(format!("{start}setp.eq.u32 p, 0, 0;{}", rest.split_once(';')?.1))
});
const UNCOUNTED: Named = ("expecting no bytes of the copy engine", |line| {
    let plain = instead(line, "arrive.expect_tx.", "arrive.")?;
    Some(format!("{};", &plain[..plain.rfind(',')?]))
});
const KEPT: Named = ("never giving a stage back", |line| without(line, "mbarrier.arrive.shared"));
const GIVEN_TWICE: Named = ("giving a stage back twice", |line| {
    line.contains("mbarrier.arrive.shared").then(|| format!("{line}\n{line}"))
});
const OF_ITSELF: Named = ("taking its own memory for that of another block", |line| {
    let own = instead(line, "mapa.shared::cluster.u32", "mov.u32")?;
    Some(format!("{};", &own[..own.rfind(',')?]))
});
const NO_NAMED_BARRIER: Named =
    ("without the barrier of those that multiply", |line| without(line, "barrier.sync 1"));
const GROUP_FRAGMENT: Named = ("multiplying with two registers of A exchanged", |line| {
    line.contains("}, {").then(|| swapped(line, "wgmma.mma_async", 2)).flatten()
});
const UNTURNED: Named = ("multiplying with a matrix not transposed", |line| {
    instead(line, "p, 1, 1, 1;", "p, 1, 1, 0;")
});
const FORGETFUL: Named =
    ("adding nothing to a product", |line| adding(line, "setp.ne.u32 p, 0, 0;"));
const STALE: Named =
    ("adding what was there to a product", |line| adding(line, "setp.eq.u32 p, 0, 0;"));
const KEPT_TURN: Named = ("never passing its turn", |line| without(line, "bar.arrive"));
const SHIFTED_SUMS: Named =
    ("writing shared memory 16 bytes further on", |line| moved(line, "st.shared.u32", 16));

const TILES: Together = Together {
    kernel: "gemm.f16",
    family: "gemm_hopper",
    entry: "gemm_f16_128x128",
    variant: "wgmma128x128",
};
const PAIRS: Together =
    Together { entry: "gemm_f16_128x256c2", variant: "wgmma128x256c2", ..TILES };
const FEW: Together = Together { entry: "gemm_f16_few64c2", variant: "fewc2", ..TILES };
const PARTS: Together =
    Together { entry: "gemm_f16_parts_128x128k2", variant: "wgmma128x128k2", ..TILES };
const BYTES: Together = Together {
    kernel: "gemm.e4m3",
    entry: "gemm_e4m3_128x128c2",
    variant: "wgmma128x128c2",
    ..TILES
};
const SHORT_SUMS: Together =
    Together { kernel: "gemm.f16acc16", entry: "gemm_f16_acc16_128x128", ..TILES };
const TF32: Together = Together { kernel: "gemm.tf32", entry: "gemm_tf32_128x128", ..TILES };
const FOUR_BITS: Together = Together {
    kernel: "w4.gemm.f16",
    family: "w4_hopper",
    entry: "w4_hopper_f16_m64c2",
    variant: "wgmma64c2",
};
const TOKENS: Together =
    Together { entry: "w4_hopper_f16_m128r2", variant: "wgmma128r2", ..FOUR_BITS };
const QUERIES: Together = Together {
    kernel: "attn.prefill.f16",
    family: "attn_hopper",
    entry: "attn_prefill_wgmma_f16_h128",
    variant: "wgmma128x128",
};

#[rustfmt::skip]
const MUTATIONS: &[Mutation] = &[
    every("gemm.f16", (8, 0), "gemm_f16_64x64b128s3", NO_BARRIER),
    every("gemm.f16", (7, 5), "gemm_f16_64x64b64s2", NO_BARRIER),
    every("gemm.f16", (7, 0), "gemm_f16_128x256b64s2", NO_BARRIER),
    every("gemm.f16", (6, 0), "gemm_f16_128x128", NO_BARRIER),
    every("gemm.f16", (8, 0), "gemm_f16_64x64b128s3", NO_WAIT),
    every("gemm.f16", (8, 0), "gemm_f16_64x64b128s3", SHORT_WAIT),
    every("gemm.f16", (8, 0), "gemm_f16_32x64b256s3k4", NO_BARRIER),
    every("gemm.f32", (8, 0), "gemm_f32_128x128w4", SHIFTED_READ),
    every("gemm.f16", (7, 5), "gemm_f16_64x64b64s2", TRANSPOSED),
    every("gemm.f16", (7, 5), "gemm_f16_64x64b64s2", FRAGMENT),
    every("gemm.f16", (6, 0), "gemm_f16_128x128", SHIFTED_READ),
    every("attn.prefill.f16", (8, 0), "attn_prefill_64x64_f16_h128", NO_BARRIER),
    every("attn.prefill.f16", (8, 0), "attn_prefill_64x64_f16_h128", NOT_TRANSPOSED),
    every("attn.prefill.f16", (7, 5), "attn_prefill_64x64_f16_h128", WRONG_LANE),
    every("attn.prefill.f16", (7, 0), "attn_prefill_64x64_f16_h128", NO_BARRIER),
    every("attn.prefill.f16", (7, 0), "attn_prefill_128x32_f16_h128", NO_BARRIER),
    every("attn.prefill.f16", (7, 0), "attn_prefill_64x64_f16_h128", WRONG_LANE),
    every("attn.prefill.f16", (6, 0), "attn_prefill_f16_h128", NO_BARRIER),
    every("gemv.f16", (8, 0), "gemv_f16_m1", STRAY_READ),
    every("w4.bf16", (8, 0), "w4_mma_bf16_m4_r16", STRAY_READ),
    every("w4.f16", (7, 5), "w4_mma_f16_m8_r32", NO_BARRIER),
    every("nf4.f16", (8, 0), "nf4_mma_f16_m8", FRAGMENT),
    every("gemm.f16", (7, 5), "gemm_f16_64x64b64s2", SHIFTED_WRITE),
    every("gemm.f16", (8, 0), "gemm_f16_128x128b64s3d", COUNTED_TWICE),
    every("gemm.f16", (8, 0), "gemm_f16_128x128b64s3d", COUNT_KEPT),
    every("w4.gemm.f16", (8, 0), "w4_gemm_f16_m64", COUNTED_TWICE),
    every("w4.gemm.f16", (8, 0), "w4_gemm_f16_m64", COUNT_KEPT),
    every("w4.gemm.f16", (7, 5), "w4_gemm_f16_m16", OTHER_SUMS),
    every("w4.gemm.f16", (8, 0), "w4_gemm_f16_m32", SHORT_WAIT),
    of_warpgroups(&TILES, NO_PROXY_FENCE),
    but(of_warpgroups(&TILES, NO_WARPGROUP_FENCE), &[1],
        "nothing but products of one shape touches the sums between two of them"),
    of_warpgroups(&TILES, EARLY_STAGE),
    of_warpgroups(&TILES, EARLY_SUMS),
    of_warpgroups(&TILES, OVERWRITTEN),
    of_warpgroups(&TILES, UNSEEN_BARRIERS),
    of_warpgroups(&TILES, UNAWAITED),
    of_warpgroups(&TILES, UNCOUNTED),
    of_warpgroups(&TILES, KEPT),
    of_warpgroups(&TILES, GIVEN_TWICE),
    but(of_warpgroups(&TILES, FORGETFUL), &[0], "the first product is added to nothing"),
    of_warpgroups(&SHORT_SUMS, NO_PROXY_FENCE),
    of_warpgroups(&SHORT_SUMS, EARLY_STAGE),
    of_warpgroups(&SHORT_SUMS, EARLY_SUMS),
    but(of_warpgroups(&SHORT_SUMS, FORGETFUL), &[0], "the first product is added to nothing"),
    of_warpgroups(&TF32, NO_PROXY_FENCE),
    of_warpgroups(&TF32, EARLY_STAGE),
    of_warpgroups(&TF32, EARLY_SUMS),
    but(of_warpgroups(&TF32, FORGETFUL), &[0], "the first product is added to nothing"),
    of_warpgroups(&PAIRS, NO_CLUSTER_WAIT),
    of_warpgroups(&PAIRS, OF_ITSELF),
    of_warpgroups(&PARTS, UNAWAITED),
    of_warpgroups(&PARTS, NO_NAMED_BARRIER),
    of_warpgroups(&PARTS, NO_CLUSTER_WAIT),
    of_warpgroups(&PARTS, OF_ITSELF),
    of_warpgroups(&FEW, UNSEEN_BARRIERS),
    of_warpgroups(&FEW, UNAWAITED),
    of_warpgroups(&FEW, UNCOUNTED),
    of_warpgroups(&FEW, KEPT),
    of_warpgroups(&FEW, GIVEN_TWICE),
    but(of_warpgroups(&FEW, NO_WARPGROUP_FENCE), &[1],
        "nothing but products of one shape touches the sums between two of them"),
    of_warpgroups(&FEW, EARLY_STAGE),
    of_warpgroups(&FEW, EARLY_SUMS),
    of_warpgroups(&FEW, NO_NAMED_BARRIER),
    of_warpgroups(&FEW, NO_CLUSTER_WAIT),
    of_warpgroups(&FEW, OF_ITSELF),
    of_warpgroups(&FEW, SHIFTED_SUMS),
    of_warpgroups(&BYTES, NO_WARPGROUP_FENCE),
    of_warpgroups(&BYTES, EARLY_SUMS),
    but(of_warpgroups(&BYTES, STALE), &[1, 2, 3], "those after the first of a stage are added"),
    of_warpgroups(&FOUR_BITS, UNSEEN_BARRIERS),
    of_warpgroups(&FOUR_BITS, UNAWAITED),
    of_warpgroups(&FOUR_BITS, UNCOUNTED),
    of_warpgroups(&FOUR_BITS, KEPT),
    of_warpgroups(&FOUR_BITS, GIVEN_TWICE),
    of_warpgroups(&FOUR_BITS, NO_WARPGROUP_FENCE),
    of_warpgroups(&FOUR_BITS, EARLY_SUMS),
    of_warpgroups(&FOUR_BITS, GROUP_FRAGMENT),
    but(of_warpgroups(&FOUR_BITS, FORGETFUL), &[0, 8], "the first product of a group is added to nothing"),
    of_warpgroups(&FOUR_BITS, NO_NAMED_BARRIER),
    of_warpgroups(&FOUR_BITS, NO_CLUSTER_WAIT),
    of_warpgroups(&FOUR_BITS, OF_ITSELF),
    of_warpgroups(&FOUR_BITS, SHIFTED_SUMS),
    of_warpgroups(&TOKENS, TOO_EARLY),
    of_warpgroups(&TOKENS, UNSEEN_BARRIERS),
    of_warpgroups(&TOKENS, UNAWAITED),
    of_warpgroups(&TOKENS, UNCOUNTED),
    but(of_warpgroups(&TOKENS, NO_CLUSTER_WAIT), &[1],
        "no block of a case is so far behind the other that it would still use its memory"),
    of_warpgroups(&TOKENS, OF_ITSELF),
    of_warpgroups(&QUERIES, NO_PROXY_FENCE),
    of_warpgroups(&QUERIES, NOT_LEFT),
    of_warpgroups(&QUERIES, UNSEEN_BARRIERS),
    of_warpgroups(&QUERIES, UNAWAITED),
    of_warpgroups(&QUERIES, UNCOUNTED),
    of_warpgroups(&QUERIES, KEPT),
    of_warpgroups(&QUERIES, GIVEN_TWICE),
    but(of_warpgroups(&QUERIES, NO_WARPGROUP_FENCE), &[2],
        "nothing is touched since the fence before the products of scores"),
    of_warpgroups(&QUERIES, EARLY_STAGE),
    of_warpgroups(&QUERIES, EARLY_SUMS),
    of_warpgroups(&QUERIES, GROUP_FRAGMENT),
    of_warpgroups(&QUERIES, UNTURNED),
    but(of_warpgroups(&QUERIES, FORGETFUL), &[0, 8], "the first product of scores is added to nothing"),
    of_warpgroups(&QUERIES, WRONG_LANE),
    of_warpgroups(&QUERIES, KEPT_TURN),
    but(of_warpgroups(&QUERIES, NO_BARRIER), &[1], "whose turn it is decides when products are issued, not which"),
    of_warpgroups(&QUERIES, SHIFTED_SUMS),
];

/// Makes every mutant; gives how many there were, and those that nobody noticed.
fn try_all(mutation: &Mutation) -> (usize, Vec<String>) {
    let Mutation { kernel, device: at, entry, family, cases, what, change, harmless } = *mutation;
    let proof = Proof::new(kernel, at, family, cases);
    let text = &proof.text;
    let (mut count, mut missed) = (0, Vec::new());
    for (number, line) in lines_of(text, entry) {
        let Some(mutant) = change(line) else { continue };
        let mutate = |(other, text)| if other == number { mutant.as_str() } else { text };
        let lines: Vec<&str> = text.lines().enumerate().map(mutate).collect();
        let place = format!("{entry} {}.{} line {}, {what}", at.0, at.1, number + 1);
        let reason = harmless.0.contains(&count).then_some(harmless.1);
        match (proof.finding(&lines.join("\n")), reason) {
            (Some(why), None) => println!("{place}: {why}"),
            (None, Some(reason)) => println!("{place}: no harm, {reason}"),
            (None, None) => missed.push(place),
            (Some(why), Some(_)) => missed.push(format!("{place} is not harmless: {why}")),
        }
        count += 1;
    }
    (count, missed)
}

#[test]
fn every_mutant_is_found() {
    let (next, missed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(mutation) = MUTATIONS.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (count, unnoticed) = try_all(mutation);
            assert!(count > 0, "{} has nothing to change: {}", mutation.entry, mutation.what);
            missed.lock().unwrap().extend(unnoticed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let missed = missed.into_inner().unwrap();
    assert!(missed.is_empty(), "not found:\n{}", missed.join("\n"));
}
