//! What a driver's compiler refuses for a target, in its words: one row per instruction that newer GPUs brought. Messages and targets: measured
//! with ptxas 12.9.86, which is that compiler.

use warpscope_kernels::{Sm, Suffix};

/// Where an instruction is.
enum On {
    /// From a target on.
    From(u8, u8),
    /// In these targets alone.
    Own(&'static [(u8, u8)]),
}

/// Words of an instruction, where it is, and what the compiler says elsewhere. The first row that fits a line speaks.
#[rustfmt::skip]
const ROWS: &[(&[&str], On, &str)] = &[
    (&["tcgen05."], On::Own(&[(10, 0), (10, 3)]), "Instruction 'tcgen05.alloc' not supported on .target"),
    (&["wgmma."], On::Own(&[(9, 0)]), "Instruction 'wgmma.fence' not supported on .target"),
    (&["mma.sync", "block_scale"], On::Own(&[(12, 0), (12, 1)]), "Instruction 'mma with block scale' not supported on .target"),
    (&["cvt.", "e2m1x2"], On::Own(&[(10, 0), (10, 3), (12, 0), (12, 1)]), "Instruction 'cvt with .e2m1x2' not supported on .target"),
    (&["fence.proxy.async"], On::From(9, 0), "Modifier '.async' requires .target sm_90 or higher"),
    (&["cp.async.bulk"], On::From(9, 0), "Feature 'cp.async.bulk' requires .target sm_90 or higher"),
    (&["mbarrier."], On::From(8, 0), "Feature 'mbarrier.init' requires .target sm_80 or higher"),
    (&["cp.async"], On::From(8, 0), "Feature 'cp.async' requires .target sm_80 or higher"),
    (&["wmma."], On::From(7, 0), "Feature 'WMMA with floating point types' requires .target sm_70 or higher"),
    (&["mma.sync", "e4m3"], On::From(8, 9), "Feature 'mma with FP8 floating point type' requires .target sm_89 or higher"),
    (&["mma.sync", ".bf16"], On::From(8, 0), "Feature '.bf16' requires .target sm_80 or higher"),
    (&["mma.sync", ".tf32"], On::From(8, 0), "Feature '.tf32' requires .target sm_80 or higher"),
    (&["mma.sync", ".and.popc"], On::From(8, 0), "Modifier '.and' on 'mma' requires .target sm_80 or higher"),
    (&["mma.sync", ".m16n8k16"], On::From(8, 0), "Feature '.m16n8k16' requires .target sm_80 or higher"),
    (&["mma.sync", ".m16n8k32"], On::From(8, 0), "Feature '.m16n8k32' requires .target sm_80 or higher"),
    (&["mma.sync", ".s4"], On::From(7, 5), "Feature '.s4' requires .target sm_75 or higher"),
    (&["mma.sync", ".m16n8k8"], On::From(7, 5), "Feature '.m16n8k8' requires .target sm_75 or higher"),
    (&["mma.sync", ".m8n8k16"], On::From(7, 5), "Feature '.m8n8k16' requires .target sm_75 or higher"),
    (&["mma.sync"], On::From(7, 0), "Feature 'mma' requires .target sm_70 or higher"),
    (&["cvt.", "e4m3x2"], On::From(8, 9), "Feature 'cvt with .e4m3x2/.e5m2x2' requires .target sm_89 or higher"),
    (&["cvt.", ".bf16"], On::From(8, 0), "Feature '.bf16' requires .target sm_80 or higher"),
    (&["atom.", ".bf16x2"], On::From(9, 0), "Instruction 'atom.add.bf16x2.global' requires .target sm_90 or higher"),
    (&["atom.", ".noftz.f16 "], On::From(7, 0), "Instruction 'atom.add.f16.global' requires .target sm_70 or higher"),
    (&["fma.", ".bf16x2"], On::From(8, 0), "Feature '.bf16x2' requires .target sm_80 or higher"),
    (&["redux."], On::From(8, 0), "Feature 'redux' requires .target sm_80 or higher"),
    (&["ldmatrix."], On::From(7, 5), "Feature 'ldmatrix' requires .target sm_75 or higher"),
    (&["L1::evict_last"], On::From(7, 0), "Modifier '.evict_last' on 'ld' requires .target sm_70 or higher"),
    (&["dp4a."], On::From(6, 1), "Instruction 'dp4a' requires .target sm_61 or higher"),
];

/// What the compiler says of a text for its target, if it refuses it.
pub(super) fn refused(text: &str, target: Sm) -> Option<String> {
    let lines = text.lines().enumerate();
    lines.filter(|(_, line)| !line.trim_start().starts_with("//")).find_map(|(at, line)| {
        let row = ROWS.iter().find(|row| row.0.iter().all(|word| line.contains(word)))?;
        let said = complaint(row, target)?;
        let place = format!("ptxas application ptx input, line {}; error   : {said}", at + 1);
        Some(format!("{place}\nptxas fatal   : Ptx assembly aborted due to errors"))
    })
}

fn complaint((_, on, said): &(&[&str], On, &str), target: Sm) -> Option<String> {
    let number = (target.major, target.minor);
    match on {
        On::From(major, minor) => (number < (*major, *minor)).then(|| (*said).to_owned()),
        On::Own(targets) => {
            let has = targets.contains(&number) && target.suffix != Suffix::None;
            (!has).then(|| format!("{said} '{target}'"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_refused_below_its_target_in_the_compilers_words() {
        let text = ".version 7.8\n.target sm_75\n\tmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1};\n";
        let said = refused(text, Sm::new(7, 5)).expect("is refused");
        assert!(said.starts_with(
            "ptxas application ptx input, line 3; error   : Feature '.bf16' requires"
        ));
        assert_eq!(refused(text, Sm::new(8, 0)), None);
        assert_eq!(refused("// dp4a.s32\n\tret;\n", Sm::new(6, 0)), None, "a comment is none");
    }

    #[test]
    fn what_is_of_one_architecture_asks_for_it_by_name() {
        let own = |target: &str| {
            refused("\twgmma.fence.sync.aligned;\n", target.parse().expect("a target"))
        };
        assert_eq!(own("sm_90a"), None);
        assert!(
            own("sm_100a").is_some_and(
                |said| said.contains("'wgmma.fence' not supported on .target 'sm_100a'")
            )
        );
        assert!(own("sm_90").is_some());
    }
}
