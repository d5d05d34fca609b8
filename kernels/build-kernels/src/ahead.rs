//! What registers say of the order of work: loads that are on their way at once, and what a warp still uses that has given registers back.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::flow::{behind, blocks};
use crate::sass::{Code, Instruction};

/// Most loads of a name that lie in front of the first use of what any of them brings, in one stretch of code without jumps. Loads in two such
/// stretches do not count together: between them a jump may leave, so the second ones are not asked for until it is decided.
pub(crate) fn loads_ahead(code: &Code, name: &str) -> u32 {
    blocks(code)
        .into_iter()
        .map(|block| in_block(&code.instructions[block], name))
        .max()
        .unwrap_or(0)
}

fn in_block(block: &[Instruction], name: &str) -> u32 {
    let (mut most, mut loads) = (0, 0);
    let mut pending = BTreeSet::new();
    for one in block {
        if sources(*one).any(|register| pending.contains(&register)) {
            pending.clear();
            loads = 0;
        }
        if one.is(name) {
            pending.extend(written(*one).into_iter().flatten());
            loads += 1;
            most = most.max(loads);
        }
    }
    most
}

/// Where a warp may use a register it has given back: how many it keeps and the highest it names, where that is too high.
pub(crate) fn beyond_given_back(code: &Code) -> Option<(u32, u32)> {
    let gives = |one: &Instruction| one.is("USETMAXREG.DEALLOC");
    let takes = |one: Instruction| one.is("USETMAXREG.TRY_ALLOC");
    let all = code.instructions.iter().enumerate().filter(|(_, one)| gives(one));
    let found = all.filter_map(|(at, one)| {
        let kept = one.operands.split_whitespace().find_map(|word| {
            u32::from_str_radix(word.trim_end_matches([';', ',']).strip_prefix("0x")?, 16).ok()
        })?;
        let named = behind(code, at, takes).into_iter().flat_map(|at| {
            let one = code.instructions[at];
            written(one).into_iter().flatten().chain(registers(one.operands))
        });
        Some((kept, named.max()?))
    });
    found.filter(|(kept, named)| named >= kept).max_by_key(|(_, named)| *named)
}

/// What an instruction reads: all registers it names but the first, which it writes, unless it stores.
fn sources(one: Instruction) -> impl Iterator<Item = u32> {
    let writes_memory = one.opcode.starts_with("ST") || one.opcode.starts_with("RED");
    let read = match one.operands.split_once(',') {
        Some((_, read)) if !writes_memory => read,
        _ => one.operands,
    };
    registers(read)
}

/// What an instruction writes: as many registers from the first it names on as its width says.
fn written(one: Instruction) -> Option<Range<u32>> {
    let first = registers(one.operands.split(',').next()?).next()?;
    let width = if one.is_wide("128") {
        4
    } else if one.is_wide("64") {
        2
    } else {
        1
    };
    Some(first..first + width)
}

/// `R12` of `desc[UR6][R12.64+0x10]`.
fn registers(operands: &str) -> impl Iterator<Item = u32> {
    let words = operands.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter_map(|word| word.strip_prefix('R')?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sass::sections;

    fn of<T>(body: &str, look: impl Fn(&Code) -> T) -> T {
        let text = format!("\t.section\t.text.k,\"ax\",@progbits\nk:\n{body}");
        look(&sections(&text)["k"])
    }

    /// A loop of two steps whose second may be left out: its loads are behind the jump that says so.
    #[test]
    fn loads_count_until_one_is_used_or_a_jump_may_leave() {
        let body = "
.L_0:
            /*0000*/ LDG.E.128.NA R4, desc[UR6][R2.64] ;
            /*0010*/ LDG.E.128.NA R8, desc[UR6][R2.64+0x10] ;
            /*0020*/ FFMA R12, R12, R13, R14 ;
            /*0030*/ FFMA R12, R6, R13, R12 ;
            /*0040*/ @P0 BRA `(.L_1) ;
            /*0050*/ LDG.E.128.NA R4, desc[UR6][R2.64] ;
            /*0060*/ LDG.E.NA.128 R8, desc[UR6][R2.64] ;
            /*0070*/ LDG.E.128 R16, desc[UR6][R2.64] ;
            /*0080*/ LDG.E.128.NA R20, desc[UR6][R2.64] ;
            /*0090*/ STS [R30], R23 ;
            /*00a0*/ LDG.E.128.NA R4, desc[UR6][R2.64] ;
            /*00b0*/ BRA `(.L_0) ;
.L_1:
            /*00c0*/ EXIT ;";
        assert_eq!(of(body, |code| loads_ahead(code, "LDG.128.NA")), 3);
        assert_eq!(of(body, |code| loads_ahead(code, "LDG.128")), 4);
        let without = body.replace("@P0 BRA `(.L_1)", "NOP");
        assert_eq!(of(&without, |code| loads_ahead(code, "LDG.128.NA")), 3);
        let unused = without.replace("R12, R6, R13, R12", "R12, R3, R13, R12");
        assert_eq!(of(&unused, |code| loads_ahead(code, "LDG.128.NA")), 5);
    }

    #[test]
    fn a_warp_that_gave_registers_back_names_none_of_them() {
        let body = "
            /*0000*/ @P0 BRA `(.L_0) ;
            /*0010*/ USETMAXREG.DEALLOC.CTAPOOL 0x28 ;
            /*0020*/ BRA `(.L_1) ;
.L_0:
            /*0030*/ USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xe8 ;
            /*0040*/ FFMA R200, R200, R1, R2 ;
.L_1:
            /*0050*/ LDS.128 R36, [R4] ;
            /*0060*/ EXIT ;";
        assert_eq!(of(body, beyond_given_back), None);
        let wider = body.replace("R36", "R37");
        assert_eq!(of(&wider, beyond_given_back), Some((40, 40)));
        let joined = body.replace("EXIT", "BRA `(.L_0)");
        assert_eq!(of(&joined, beyond_given_back), None, "behind taking them it may");
        let read = body.replace("[R4]", "[R41]");
        assert_eq!(of(&read, beyond_given_back), Some((40, 41)));
    }
}
