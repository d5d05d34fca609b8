//! Kernels made wrong on purpose are found wrong: by a fault, or by what comes out.
//!
//! The mutants are those of the kernels' own PTX, one line each, so that this also says whether the cases reach the line.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptx_interpreter::{Interpreter, Module, device};
use warpscope_kernels::gpu::{GpuKernel, family, run_case};

use crate::machine::text_for;

/// What a line becomes; `None` where it is not one to change.
type Change = fn(&str) -> Option<String>;

/// A change to every line of an entry that can be so changed, one line at a time.
struct Mutation {
    kernel: &'static str,
    device: (u8, u8),
    entry: &'static str,
    /// Family of the entry, where it is not the kernel's own.
    family: Option<&'static str>,
    what: &'static str,
    change: Change,
    /// A line that may stay unnoticed, counted from 0 among those changed, and why.
    harmless: Option<(usize, &'static str)>,
}

const fn every(
    kernel: &'static str,
    device: (u8, u8),
    entry: &'static str,
    (what, change): (&'static str, Change),
) -> Mutation {
    Mutation { kernel, device, entry, family: None, what, change, harmless: None }
}

/// The same of a kernel that a family of warpgroups computes on sm_90.
const fn of_warpgroups(
    kernel: &'static str,
    (family, entry): (&'static str, &'static str),
    change: Named,
) -> Mutation {
    Mutation { family: Some(family), ..every(kernel, (9, 0), entry, change) }
}

/// The same, but for one line.
const fn but(mutation: Mutation, line: usize, why: &'static str) -> Mutation {
    Mutation { harmless: Some((line, why)), ..mutation }
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
const UNSEEN_BARRIERS: Named = ("without showing its barriers to the copy engine", |line| {
    without(line, "fence.mbarrier_init")
});
const NO_CLUSTER_WAIT: Named =
    ("without waiting for its cluster", |line| without(line, "barrier.cluster.wait"));

const TILES: (&str, &str) = ("gemm_hopper", "gemm_f16_128x128");
const PAIRS: (&str, &str) = ("gemm_hopper", "gemm_f16_128x256c2");

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
    but(every("attn.prefill.f16", (8, 0), "attn_prefill_64x64_f16_h64", NO_BARRIER), 3,
        "results are staged where keys lay, which nobody reads after the barrier before"),
    every("attn.prefill.f16", (8, 0), "attn_prefill_64x64_f16_h64", NOT_TRANSPOSED),
    every("attn.prefill.f16", (7, 5), "attn_prefill_64x64_f16_h64", WRONG_LANE),
    every("attn.prefill.f16", (6, 0), "attn_prefill_f16_h64", NO_BARRIER),
    every("gemv.f16", (8, 0), "gemv_f16_m1", STRAY_READ),
    every("w4.f16", (7, 5), "w4_mma_f16_m8_r32", NO_BARRIER),
    every("nf4.f16", (8, 0), "nf4_mma_f16_m8", FRAGMENT),
    every("gemm.f16", (7, 5), "gemm_f16_64x64b64s2", SHIFTED_WRITE),
    of_warpgroups("gemm.f16", TILES, NO_PROXY_FENCE),
    but(of_warpgroups("gemm.f16", TILES, NO_WARPGROUP_FENCE), 1,
        "nothing but products of one shape touches the sums between two of them"),
    of_warpgroups("gemm.f16", TILES, EARLY_STAGE),
    of_warpgroups("gemm.f16", TILES, EARLY_SUMS),
    of_warpgroups("gemm.f16", TILES, OVERWRITTEN),
    of_warpgroups("gemm.f16", TILES, UNSEEN_BARRIERS),
    of_warpgroups("gemm.f16", PAIRS, NO_CLUSTER_WAIT),
];

/// What finds a kernel wrong; `None` where all its cases hold.
fn finding(kernel: &GpuKernel, (family, text): (&str, &str), at: (u8, u8)) -> Option<String> {
    let facts = device(at.0, at.1).expect("a device of the table");
    let module = match Module::parse(text) {
        Ok(module) => module,
        Err(error) => panic!("a mutant of {} is no PTX: {error}", kernel.id),
    };
    let family = family.to_owned();
    let images = Box::new(move |asked: &str, _| {
        if asked == family {
            return Ok(module.clone());
        }
        let facts = device(at.0, at.1).expect("a device of the table");
        Module::parse(&text_for(asked, &facts)?).map_err(|error| error.to_string())
    });
    let mut machine = Interpreter::with_images(facts.clone(), images).limit(20_000_000);
    (kernel.cases)(&facts).iter().find_map(|case| match run_case(&mut machine, case) {
        Ok(outcome) => outcome.wrong,
        Err(error) => Some(error.to_string()),
    })
}

/// The lines of an entry, by their numbers in the text.
fn lines_of<'a>(text: &'a str, entry: &str) -> Vec<(usize, &'a str)> {
    let start = format!(".entry {entry}(");
    let begins = |line: &(usize, &str)| line.1.contains(".entry ");
    let all = text.lines().enumerate().skip_while(|line| !line.1.ends_with(&start));
    all.clone().take(1).chain(all.skip(1).take_while(|line| !begins(line))).collect()
}

/// Makes every mutant; gives how many there were, and those that nobody noticed.
fn try_all(mutation: &Mutation) -> (usize, Vec<String>) {
    let Mutation { kernel, device: at, entry, family, what, change, harmless } = *mutation;
    let found =
        family::kernels().find(|known| known.id == kernel).expect("a kernel of the registry");
    let facts = device(at.0, at.1).expect("a device of the table");
    let family = family.unwrap_or(found.family);
    let text = text_for(family, &facts).unwrap_or_else(|error| panic!("{kernel}: {error}"));
    assert_eq!(finding(found, (family, &text), at), None, "{kernel} as it is");
    let (mut count, mut missed) = (0, Vec::new());
    for (number, line) in lines_of(&text, entry) {
        let Some(mutant) = change(line) else { continue };
        let mutate = |(other, text)| if other == number { mutant.as_str() } else { text };
        let lines: Vec<&str> = text.lines().enumerate().map(mutate).collect();
        let place = format!("{entry} {}.{} line {}, {what}", at.0, at.1, number + 1);
        let reason = harmless.filter(|row| row.0 == count).map(|row| row.1);
        match (finding(found, (family, &lines.join("\n")), at), reason) {
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
