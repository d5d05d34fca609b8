//! Names and what they stand for, scope by scope.

use std::collections::HashMap;

use super::{CONSTANTS, Decoder};
use crate::error::PtxError;
use crate::lanes::File;
use crate::parse::syntax::{Space, type_bytes};
use crate::program::{Constant, Reg, Special};

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Register {
    pub(super) file: File,
    pub(super) number: Reg,
    /// 1, 8, 16, 32 or 64.
    pub(super) bits: u32,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Name {
    /// A register; a first one and how many where numbered.
    Register(Register, Option<u32>),
    /// Bytes from the start of a space.
    Variable(Space, u32),
    /// A variable of the module.
    Module(u32),
    /// A shared variable of the module, which takes room only where it is used.
    ModuleShared(u32),
    /// Shared memory of the launch's size.
    DynamicShared,
}

/// Names between two braces.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub(super) id: usize,
    names: HashMap<&'a str, Name>,
}

/// Registers the machine fills, by name.
const SPECIALS: &[(&str, Special)] = &[
    ("%tid.x", Special::Thread(0)),
    ("%tid.y", Special::Thread(1)),
    ("%tid.z", Special::Thread(2)),
    ("%ntid.x", Special::Threads(0)),
    ("%ntid.y", Special::Threads(1)),
    ("%ntid.z", Special::Threads(2)),
    ("%ctaid.x", Special::Block(0)),
    ("%ctaid.y", Special::Block(1)),
    ("%ctaid.z", Special::Block(2)),
    ("%nctaid.x", Special::Blocks(0)),
    ("%nctaid.y", Special::Blocks(1)),
    ("%nctaid.z", Special::Blocks(2)),
    ("%laneid", Special::Lane),
    ("%warpid", Special::Warp),
    ("%nwarpid", Special::Warps),
    ("%lanemask_eq", Special::MaskEqual),
    ("%lanemask_lt", Special::MaskBelow),
    ("%lanemask_le", Special::MaskUpTo),
    ("%lanemask_gt", Special::MaskAbove),
    ("%lanemask_ge", Special::MaskFrom),
    ("%smid", Special::Multiprocessor),
    ("%nsmid", Special::Multiprocessors),
    ("%gridid", Special::Zero),
    ("%dynamic_smem_size", Special::DynamicShared),
    ("%total_smem_size", Special::TotalShared),
    ("%cluster_ctaid.x", Special::InCluster(0)),
    ("%cluster_ctaid.y", Special::InCluster(1)),
    ("%cluster_ctaid.z", Special::InCluster(2)),
    ("%cluster_nctaid.x", Special::Cluster(0)),
    ("%cluster_nctaid.y", Special::Cluster(1)),
    ("%cluster_nctaid.z", Special::Cluster(2)),
    ("%clusterid.x", Special::ClusterAt(0)),
    ("%clusterid.y", Special::ClusterAt(1)),
    ("%clusterid.z", Special::ClusterAt(2)),
    ("%nclusterid.x", Special::Clusters(0)),
    ("%nclusterid.y", Special::Clusters(1)),
    ("%nclusterid.z", Special::Clusters(2)),
    ("%cluster_ctarank", Special::Rank),
    ("%cluster_nctarank", Special::Ranks),
];

/// Most registers of a file; the numbers above are constants.
const MOST: usize = CONSTANTS as usize;

impl<'a> Decoder<'a> {
    pub(super) fn open(&mut self) {
        self.scopes.push(Scope { id: self.next_scope, names: HashMap::new() });
        self.next_scope += 1;
    }

    pub(super) fn declare(&mut self, name: &'a str, what: Name) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.insert(name, what);
        }
    }

    /// `.reg .b32 %r<28>` or `.reg .pred p`
    pub(super) fn registers(
        &mut self,
        kind: &str,
        name: &'a str,
        count: Option<u32>,
    ) -> Result<(), PtxError> {
        let (file, bits) = match type_bytes(kind) {
            _ if kind == "pred" => (File::Predicate, 1),
            Some(8) => (File::Long, 64),
            Some(bytes @ (1 | 2 | 4)) => (File::Word, 8 * bytes),
            _ => return Err(self.error(format!("unknown register type `.{kind}`"))),
        };
        let number = self.fresh(file, count.unwrap_or(1))?;
        self.declare(name, Name::Register(Register { file, number, bits }, count));
        Ok(())
    }

    /// So many new registers.
    pub(super) fn fresh(&mut self, file: File, count: u32) -> Result<Reg, PtxError> {
        let used = match file {
            File::Word => &mut self.program.words,
            File::Long => &mut self.program.longs,
            File::Predicate => &mut self.program.predicates,
        };
        let first = *used;
        *used += count as usize;
        if *used > MOST {
            return Err(self.error(format!("more than {MOST} registers")));
        }
        Ok(first as Reg)
    }

    pub(super) fn lookup(&self, name: &str) -> Option<Name> {
        self.scopes.iter().rev().find_map(|scope| scope.find(name))
    }

    /// What a name in an operand stands for; shared variables of the module get their place when first used.
    pub(super) fn settle(&mut self, name: &str) -> Result<Option<Name>, PtxError> {
        let Some(Name::ModuleShared(index)) = self.lookup(name) else {
            return Ok(self.lookup(name));
        };
        if let Some(offset) = self.shared.get(&index) {
            return Ok(Some(Name::Variable(Space::Shared, *offset)));
        }
        let unit = self.unit;
        let offset = self.reserve_shared(&unit.variables[index as usize])?;
        self.shared.insert(index, offset);
        Ok(Some(Name::Variable(Space::Shared, offset)))
    }

    pub(super) fn register(&self, name: &str) -> Result<Register, PtxError> {
        match self.lookup(name) {
            Some(Name::Register(register, _)) => Ok(register),
            Some(_) => Err(self.error(format!("`{name}` is not a register"))),
            None => Err(self.error(format!("unknown name `{name}`"))),
        }
    }

    pub(super) fn predicate(&self, name: &str) -> Result<Reg, PtxError> {
        let register = self.register(name)?;
        if register.file == File::Predicate {
            return Ok(register.number);
        }
        Err(self.error(format!("`{name}` is not a predicate")))
    }

    /// The register of a special name.
    pub(super) fn special(&mut self, name: &str) -> Result<Option<Reg>, PtxError> {
        let Some((_, special)) = SPECIALS.iter().find(|(known, _)| *known == name) else {
            return Ok(None);
        };
        if let Some(register) = self.specials.get(special) {
            return Ok(Some(*register));
        }
        let register = self.fresh(File::Word, 1)?;
        self.specials.insert(*special, register);
        self.program.specials.push((*special, register));
        Ok(Some(register))
    }

    /// A constant of the 32-bit file.
    pub(super) fn word(&mut self, value: u32) -> Result<Reg, PtxError> {
        self.constant(File::Word, Constant::Word(value))
    }

    /// A constant of the 64-bit file.
    pub(super) fn long(&mut self, value: u64) -> Result<Reg, PtxError> {
        self.constant(File::Long, Constant::Long(value))
    }

    pub(super) fn constant(&mut self, file: File, constant: Constant) -> Result<Reg, PtxError> {
        if let Some(register) = self.constants.get(&(file, constant)) {
            return Ok(*register);
        }
        let list = match file {
            File::Long => &mut self.program.long_constants,
            _ => &mut self.program.word_constants,
        };
        if list.len() >= MOST {
            return Err(self.error(format!("more than {MOST} constants")));
        }
        let register = CONSTANTS + list.len() as Reg;
        list.push(constant);
        self.constants.insert((file, constant), register);
        Ok(register)
    }
}

impl Scope<'_> {
    /// A name, or a numbered one: `%r12` of `%r<28>`.
    fn find(&self, name: &str) -> Option<Name> {
        if let Some(Name::Register(_, Some(_))) | None = self.names.get(name) {
            let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            let mut split = name.len() - digits;
            while split < name.len() {
                let (stem, number) = name.split_at(split);
                if let Some(Name::Register(first, Some(count))) = self.names.get(stem)
                    && let Ok(number) = number.parse::<u32>()
                    && number < *count
                {
                    let number = first.number + number as Reg;
                    return Some(Name::Register(Register { number, ..*first }, None));
                }
                split += 1;
            }
            return None;
        }
        self.names.get(name).copied()
    }
}
