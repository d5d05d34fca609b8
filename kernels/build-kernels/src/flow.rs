//! Loops of a disassembly.
//!
//! A loop is what a jump back to an instruction closes that every way there leads through (a back edge, by dominators). Taking everything between a
//! label and a jump back to it was rejected: code that waits or diverges is often moved behind the end of a kernel and jumps back from there.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::sass::{Code, Instruction};

/// The instructions of each loop, those of an outer loop including those of the inner ones; in the order of their heads.
pub(crate) fn loops(code: &Code) -> Vec<BTreeSet<usize>> {
    if code.instructions.is_empty() {
        return Vec::new();
    }
    let graph = Graph::of(code);
    let dominators = graph.dominators();
    let mut bodies: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (from, next) in graph.next.iter().enumerate() {
        for head in next.iter().filter(|head| dominates(&dominators, **head, from)) {
            bodies.entry(*head).or_default().extend(graph.body(*head, from));
        }
    }
    let instructions = |blocks: &BTreeSet<usize>| -> BTreeSet<usize> {
        blocks.iter().flat_map(|at| graph.range(*at)).collect()
    };
    bodies.values().map(instructions).collect()
}

/// Stretches of code without a jump into or out of their middle, in order.
pub(crate) fn blocks(code: &Code) -> Vec<Range<usize>> {
    let graph = Graph::of(code);
    (0..graph.next.len()).map(|block| graph.range(block)).collect()
}

/// What may come after an instruction, and after that, as far as one that ends it.
pub(crate) fn behind(
    code: &Code,
    at: usize,
    ends: impl Fn(Instruction) -> bool,
) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open = following(code, at);
    while let Some(at) = open.pop() {
        let there = code.instructions.get(at).is_some_and(|one| !ends(*one));
        if there && found.insert(at) {
            open.extend(following(code, at));
        }
    }
    found
}

/// The stretches, and which may come after which.
struct Graph {
    /// The first instruction of each, and behind the last the end of the code.
    starts: Vec<usize>,
    next: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
}

impl Graph {
    fn of(code: &Code) -> Self {
        let count = code.instructions.len();
        let after: Vec<Vec<usize>> = (0..count).map(|at| following(code, at)).collect();
        let split = |at: &usize| after[*at] != [*at + 1];
        let mut starts: BTreeSet<usize> = (0..count).filter(split).map(|at| at + 1).collect();
        starts.extend(
            after
                .iter()
                .enumerate()
                .flat_map(|(at, to)| to.iter().copied().filter(move |to| *to != at + 1)),
        );
        starts.extend([0, count]);
        let starts: Vec<usize> = starts.into_iter().collect();
        let block = |at: &usize| starts.binary_search(at).ok();
        let last = |block: usize| &after[starts[block + 1] - 1];
        let blocks = starts.len() - 1;
        let next: Vec<Vec<usize>> = (0..blocks)
            .map(|at| last(at).iter().filter_map(block).filter(|to| *to < blocks).collect())
            .collect();
        let mut before = vec![Vec::new(); blocks];
        for (from, to) in
            next.iter().enumerate().flat_map(|(at, to)| to.iter().map(move |to| (at, *to)))
        {
            before[to].push(from);
        }
        Self { starts, next, before }
    }

    fn range(&self, block: usize) -> Range<usize> {
        self.starts[block]..self.starts[block + 1]
    }

    /// The block each is immediately dominated by; none where nothing leads to it (Cooper, Harvey and Kennedy 2001).
    fn dominators(&self) -> Vec<Option<usize>> {
        let order = self.order();
        let mut rank = vec![usize::MAX; self.next.len()];
        order.iter().enumerate().for_each(|(at, block)| rank[*block] = at);
        let mut found = vec![None; self.next.len()];
        if let Some(entry) = order.first() {
            found[*entry] = Some(*entry);
        }
        loop {
            let mut changed = false;
            for block in order.iter().skip(1) {
                let known =
                    self.before[*block].iter().copied().filter(|from| found[*from].is_some());
                let common = known.reduce(|a, b| common(&found, &rank, a, b));
                changed |= found[*block] != common;
                found[*block] = common;
            }
            if !changed {
                return found;
            }
        }
    }

    /// Blocks that can be reached, each before what can only be reached through it.
    fn order(&self) -> Vec<usize> {
        let mut seen = BTreeSet::from([0]);
        let mut done = Vec::new();
        let mut open = vec![(0, 0)];
        while let Some((block, at)) = open.pop() {
            match self.next.get(block).and_then(|next| next.get(at)) {
                Some(to) => {
                    open.push((block, at + 1));
                    if seen.insert(*to) {
                        open.push((*to, 0));
                    }
                }
                None => done.push(block),
            }
        }
        done.reverse();
        done
    }

    /// What can reach a jump back without passing its target, and the target.
    fn body(&self, head: usize, tail: usize) -> BTreeSet<usize> {
        let mut body = BTreeSet::from([head]);
        let mut open = vec![tail];
        while let Some(block) = open.pop() {
            if body.insert(block) {
                open.extend(&self.before[block]);
            }
        }
        body
    }
}

/// The nearest block that dominates both.
fn common(found: &[Option<usize>], rank: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        let later = if rank[a] > rank[b] { &mut a } else { &mut b };
        let Some(up) = found[*later].filter(|up| up != later) else { return *later };
        *later = up;
    }
    a
}

fn dominates(found: &[Option<usize>], head: usize, mut block: usize) -> bool {
    while block != head {
        match found[block] {
            Some(up) if up != block => block = up,
            _ => return false,
        }
    }
    found[head].is_some()
}

/// What may come after an instruction.
fn following(code: &Code, at: usize) -> Vec<usize> {
    let one = code.instructions[at];
    let target = target(code, one);
    let mut next = BTreeSet::new();
    let falls = match one.opcode.split('.').next().unwrap_or_default() {
        "EXIT" | "RET" | "KILL" => one.guarded,
        // ``BRX R2 -0x100 (*"BRANCH_TARGETS .L_x_1,.L_x_2"*)``
        "BRX" | "BRXU" | "JMX" => {
            let (_, targets) = one.operands.split_once("BRANCH_TARGETS ").unwrap_or_default();
            let labels = targets.split([',', '"']);
            next.extend(labels.filter_map(|label| code.labels.get(label.trim())).copied());
            one.guarded
        }
        "BRA" | "JMP" => {
            next.extend(target);
            one.guarded || target.is_none() || is_conditional(one)
        }
        "CALL" | "WARPSYNC" => {
            next.extend(target);
            true
        }
        // All go on where the matching BSSY says; that is nearly always the next instruction.
        "BSYNC" => {
            let meeting = meeting(code, at);
            next.extend(meeting);
            meeting.is_none() || one.guarded
        }
        _ => true,
    };
    next.extend(falls.then_some(at + 1));
    next.into_iter().collect()
}

/// ``BRA `(.L_x_2)``
fn target(code: &Code, one: Instruction) -> Option<usize> {
    let label = one.operands.split_once("`(")?.1.split(')').next()?;
    code.labels.get(label).copied()
}

/// `BRA.U !UP0, …`, `BRA P1, …`: an operand in front of the target decides.
fn is_conditional(one: Instruction) -> bool {
    one.operands.split("`(").next().is_some_and(|front| !front.trim().is_empty())
}

/// Where the threads go on that a BSYNC waits for.
fn meeting(code: &Code, at: usize) -> Option<usize> {
    let register =
        |one: Instruction| one.operands.trim().split([',', ' ', ';']).next().map(str::to_owned);
    let own = register(code.instructions[at]);
    let opened = code.instructions[..at].iter().rev();
    let mut opened = opened.filter(|one| one.is("BSSY"));
    target(code, *opened.find(|one| register(**one) == own)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sass::sections;

    /// An outer loop from `.L_1` with an inner one from `.L_2`, out of which code moved behind the end jumps back into its middle.
    const TEXT: &str = "
	.section	.text.nested,\"ax\",@progbits
nested:
.text.nested:
        /*0000*/                   MOV R1, R2 ;
.L_1:
        /*0010*/                   LDS R3, [R1] ;
.L_2:
        /*0020*/                   HMMA.16816.F32 R4, R8, R12, R4 ;
        /*0030*/              @!P1 BRA `(.L_4) ;
.L_3:
        /*0040*/                   HMMA.16816.F32 R4, R8, R14, R4 ;
        /*0050*/               @P0 BRA `(.L_2) ;
        /*0060*/                   BRA.U UP0, `(.L_1) ;
        /*0070*/                   EXIT ;
.L_4:
        /*0080*/                   NANOSLEEP 0x20 ;
        /*0090*/                   BRA `(.L_3) ;
.L_5:
        /*00a0*/                   BRA `(.L_5);
";

    #[test]
    fn loops_nest_and_code_behind_the_end_belongs_to_the_loop_that_waits_there() {
        let sections = sections(TEXT);
        let found: Vec<Vec<usize>> =
            loops(&sections["nested"]).into_iter().map(|body| body.into_iter().collect()).collect();
        let outer = vec![1, 2, 3, 4, 5, 6, 8, 9];
        let inner = vec![2, 3, 4, 5, 8, 9];
        assert_eq!(found, [outer, inner], "and what nothing leads to is no loop");
    }

    /// A table of targets, as nvdisasm shows it, leads into both loops and back out of one.
    #[test]
    fn a_jump_by_a_table_leads_to_all_its_targets() {
        let jump = "BRX R2 -0x100 (*\"BRANCH_TARGETS .L_1,.L_3\"*);";
        let text = TEXT.replace("MOV R1, R2 ;", jump).replace("@P0 BRA `(.L_2)", "NOP");
        let found = loops(&sections(&text)["nested"]);
        assert!(found.is_empty(), "entered at two places, it has no head: {found:?}");
        let text = TEXT.replace("MOV R1, R2 ;", &jump.replace(",.L_3", ""));
        assert_eq!(loops(&sections(&text)["nested"]).len(), 2);
    }

    #[test]
    fn code_without_loops_has_none() {
        assert!(loops(&Code::default()).is_empty());
        let text = TEXT.replace("@P0 BRA `(.L_2)", "EXIT").replace("BRA.U UP0, `(.L_1)", "EXIT");
        assert!(loops(&sections(&text)["nested"]).is_empty());
    }
}
