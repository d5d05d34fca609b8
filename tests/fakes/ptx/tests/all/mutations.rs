//! Kernels made wrong on purpose are found wrong: by a fault, or by what comes out.
//!
//! The mutants are those of the kernels' own PTX, one line each, so that this also says whether the cases reach the line.

use ptx_interpreter::{Interpreter, Module, device};
use warpscope_kernels::gpu::{GpuKernel, family, run_case};

use crate::kernels::text_for;

/// A change to every line of an entry that has the text, one line at a time.
struct Mutation {
    kernel: &'static str,
    device: (u8, u8),
    entry: &'static str,
    from: &'static str,
    to: &'static str,
    /// Lines that may stay unnoticed, counted from 0 among those changed, and why.
    harmless: &'static [(usize, &'static str)],
}

const fn every(
    kernel: &'static str,
    device: (u8, u8),
    entry: &'static str,
    from: &'static str,
    to: &'static str,
) -> Mutation {
    Mutation { kernel, device, entry, from, to, harmless: &[] }
}

const DRAINED: &[(usize, &str)] =
    &[(1, "the last copies are of nothing: they are waited for so that none outlives the block")];

#[rustfmt::skip]
const MUTATIONS: &[Mutation] = &[
    every("gemm.f16", (8, 0), "gemm_f16", "bar.sync", "// bar.sync"),
    every("gemm.f16", (7, 5), "gemm_f16", "bar.sync", "// bar.sync"),
    every("gemm.f16", (7, 0), "gemm_f16", "bar.sync", "// bar.sync"),
    every("gemm.f16", (6, 0), "gemm_f16", "bar.sync", "// bar.sync"),
    Mutation { harmless: DRAINED, ..every("gemm.f16", (8, 0), "gemm_f16", "cp.async.wait_group", "// cp.async.wait_group") },
    every("gemm.f16", (8, 0), "gemm_f16", "cp.async.wait_group 1;", "cp.async.wait_group 2;"),
    every("gemm.f16", (7, 5), "gemm_f16", "ldmatrix.sync.aligned.m8n8.x4.shared", "ldmatrix.sync.aligned.m8n8.x4.trans.shared"),
    every("attn.prefill.f16", (8, 0), "attn_prefill_mma_f16_h64", "bar.sync", "// bar.sync"),
    every("attn.prefill.f16", (8, 0), "attn_prefill_mma_f16_h64", ".x4.trans.", ".x4."),
    every("attn.prefill.f16", (8, 0), "attn_prefill_mma_f16_h64", "shfl.sync.bfly.b32", "shfl.sync.down.b32"),
    every("attn.prefill.f16", (7, 5), "attn_prefill_mma_f16_h64", "shfl.sync.bfly.b32", "shfl.sync.up.b32"),
    every("attn.prefill.f16", (6, 0), "attn_prefill_f16_h64", "bar.sync", "// bar.sync"),
];

/// What finds a kernel wrong; `None` where all its cases hold.
fn finding(kernel: &GpuKernel, text: &str, at: (u8, u8)) -> Option<String> {
    let facts = device(at.0, at.1).expect("a device of the table");
    let module = match Module::parse(text) {
        Ok(module) => module,
        Err(error) => panic!("a mutant of {} is no PTX: {error}", kernel.id),
    };
    let images = Box::new(move |_: &str, _| Ok(module.clone()));
    let mut machine = Interpreter::with_images(facts.clone(), images).limit(20_000_000);
    (kernel.cases)(&facts).iter().find_map(|case| match run_case(&mut machine, case) {
        Ok(outcome) => outcome.wrong,
        Err(error) => Some(error.to_string()),
    })
}

/// Numbers of the lines of an entry that have a text.
fn lines_of(text: &str, entry: &str, from: &str) -> Vec<usize> {
    let start = format!(".entry {entry}(");
    let first = text.lines().position(|line| line.ends_with(&start)).unwrap_or(usize::MAX);
    let of_entry = text.lines().enumerate().skip(first);
    let of_entry =
        of_entry.take_while(|(number, line)| *number == first || !line.contains(".entry "));
    of_entry.filter(|(_, line)| line.contains(from)).map(|(number, _)| number).collect()
}

#[test]
fn every_mutant_is_found() {
    let mut missed = Vec::new();
    for mutation in MUTATIONS {
        let Mutation { kernel, device: at, entry, from, to, harmless } = *mutation;
        let found =
            family::kernels().find(|known| known.id == kernel).expect("a kernel of the registry");
        let text =
            text_for(found.family, &device(at.0, at.1).expect("a device of the table")).unwrap();
        assert_eq!(finding(found, &text, at), None, "{kernel} as it is");
        let lines = lines_of(&text, entry, from);
        assert!(!lines.is_empty(), "{entry} on {at:?} has no `{from}`");
        for (count, line) in lines.iter().enumerate() {
            let change = |(number, text): (usize, &str)| {
                if number == *line { text.replacen(from, to, 1) } else { text.to_owned() }
            };
            let mutant: Vec<String> = text.lines().enumerate().map(change).collect();
            let reason = harmless.iter().find(|row| row.0 == count).map(|row| row.1);
            match (finding(found, &mutant.join("\n"), at), reason) {
                (Some(why), None) => println!("{entry} {at:?} line {}: `{to}`: {why}", line + 1),
                (None, Some(reason)) => {
                    println!("{entry} {at:?} line {}: `{to}` does no harm: {reason}", line + 1)
                }
                (None, None) => missed.push(format!("{entry} {at:?} line {}: `{to}`", line + 1)),
                (Some(why), Some(_)) => {
                    missed.push(format!("{entry} {at:?} line {} is not harmless: {why}", line + 1))
                }
            }
        }
    }
    assert!(missed.is_empty(), "not found:\n{}", missed.join("\n"));
}
