//! Instructions of a disassembly, counted, with the labels they jump to.

use std::collections::BTreeMap;

/// One instruction: `LDG.E.128.CONSTANT R4, [R2.64]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction<'a> {
    /// The operation with its modifiers: `LDG.E.128.CONSTANT`.
    pub opcode: &'a str,
    /// What follows it.
    pub operands: &'a str,
    /// Whether a predicate in front decides if it happens.
    pub guarded: bool,
}

impl Instruction<'_> {
    /// Whether it is what a name like `LDG.128` means: the operation, with all these modifiers in any order.
    pub(crate) fn is(self, name: &str) -> bool {
        let mut wanted = name.split('.');
        let mut has = self.opcode.split('.');
        wanted.next() == has.next() && wanted.all(|part| has.clone().any(|own| own == part))
    }

    /// Whether a modifier says so.
    pub(crate) fn is_wide(self, modifier: &str) -> bool {
        self.opcode.split('.').skip(1).any(|own| own == modifier)
    }

    /// Whether it computes nothing: padding, or a constant loaded by way of an arithmetic instruction.
    pub(crate) fn is_idle(self) -> bool {
        let loads_constant = self.is("HFMA2") && self.operands.contains("-RZ, RZ,");
        self.is("NOP") || loads_constant
    }
}

/// The code of a kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code<'a> {
    /// In the order of their addresses.
    pub instructions: Vec<Instruction<'a>>,
    /// What each label stands before.
    pub labels: BTreeMap<&'a str, usize>,
}

/// The code of each section, by the name of the kernel.
pub(crate) fn sections(text: &str) -> BTreeMap<&str, Code<'_>> {
    let mut all: BTreeMap<&str, Code<'_>> = BTreeMap::new();
    let mut section: Option<&str> = None;
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix(".section\t") {
            let name = rest.trim_start().split(',').next().unwrap_or_default();
            section = name.strip_prefix(".text.");
        } else if let Some(name) = section {
            if let Some(instruction) = instruction(line) {
                all.entry(name).or_default().instructions.push(instruction);
            } else if let Some(label) = line.strip_suffix(':') {
                let code = all.entry(name).or_default();
                code.labels.insert(label, code.instructions.len());
            }
        }
    }
    all.retain(|_, code| !code.instructions.is_empty());
    all
}

/// `/*0050*/  @!P0 FADD R0, R3, R0 ;`
fn instruction(line: &str) -> Option<Instruction<'_>> {
    let (_, rest) = line.strip_prefix("/*")?.split_once("*/")?;
    let rest = rest.trim_start().trim_start_matches('{').trim_start();
    let guarded = rest.starts_with('@');
    let rest = if guarded { rest.split_once(' ')?.1.trim_start() } else { rest };
    let end = rest.find(|c: char| c.is_whitespace() || c == ';').unwrap_or(rest.len());
    let (opcode, operands) = rest.split_at(end);
    let plain = opcode.starts_with(|c: char| c.is_ascii_uppercase());
    plain.then_some(Instruction { opcode, operands, guarded })
}

/// How often each name occurs; `all` counts everything but padding. What does not occur is left out.
pub(crate) fn counts<'n>(
    instructions: &[Instruction],
    names: impl Iterator<Item = &'n str>,
) -> BTreeMap<String, u32> {
    let count = |is: &dyn Fn(&Instruction) -> bool| {
        u32::try_from(instructions.iter().filter(|one| is(one)).count()).unwrap_or(u32::MAX)
    };
    let all = ("all".to_owned(), count(&|one| !one.is("NOP")));
    let each = names.map(|name| (name.to_owned(), count(&|one| one.is(name) && !one.is_idle())));
    each.filter(|(_, count)| *count > 0).chain([all]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of nvdisasm 13.5.37 for sm_80 and sm_120.
    const TEXT: &str = r#"
	.section	.text.gemm,"ax",@progbits
	.sectioninfo	@"SHI_REGISTERS=12"
gemm:
.text.gemm:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0040*/                   HFMA2.MMA R0, -RZ, RZ, 0, 0 ;
        /*0050*/                   HFMA2 R0, R1, R2, R3 ;
        /*0060*/              @!P0 LDG.E.128.CONSTANT R4, [R2.64] ;
        /*0070*/                   LDG.E R4, [R2.64] ;
        /*0080*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;
.L_x_2:
        /*0090*/               @P1 BRA `(.L_x_2) ;
        /*00a0*/                   NOP;
	.section	.nv.info,"",@"SHT_CUDA_INFO"
	.section	.text.copy,"ax",@progbits
        /*0000*/                   EXIT ;
"#;

    #[test]
    fn instructions_are_counted_by_operation_and_modifier() {
        let sections = sections(TEXT);
        assert_eq!(sections.keys().copied().collect::<Vec<_>>(), ["copy", "gemm"]);
        assert_eq!(sections["gemm"].labels[".L_x_2"], 6);
        let guarded = sections["gemm"].instructions.iter().filter(|one| one.guarded);
        assert_eq!(guarded.count(), 2);
        let names = ["LDG", "LDG.128", "LDG.64", "HFMA2", "HMMA", "HMMA.16816.BF16", "HMMA.1688"];
        let counts = counts(&sections["gemm"].instructions, names.into_iter());
        let counts: Vec<_> = counts.iter().map(|(name, count)| (&name[..], *count)).collect();
        assert_eq!(
            counts,
            [
                ("HFMA2", 1),
                ("HMMA", 1),
                ("HMMA.16816.BF16", 1),
                ("LDG", 2),
                ("LDG.128", 1),
                ("all", 7)
            ]
        );
    }
}
