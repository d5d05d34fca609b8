//! Products of a warpgroup.

use super::{Decoder, Line};
use crate::error::PtxError;
use crate::lanes::File;
use crate::numerics::mma::{GroupMma, find_group};
use crate::parse::syntax::Operand;
use crate::program::{GroupProduct, MatrixA, Op};

impl<'a> Decoder<'a> {
    /// `wgmma.fence`, `wgmma.commit_group`, `wgmma.wait_group`, `wgmma.mma_async`
    pub(super) fn warpgroup(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let what = line.modifiers.first();
        if !(line.modifiers.take("sync") && line.modifiers.take("aligned")) {
            return Err(self.unknown(line));
        }
        let op = match (what, line.operands) {
            (Some("fence"), []) => Op::GroupFence,
            (Some("commit_group"), []) => Op::GroupCommit,
            (Some("wait_group"), [Operand::Integer(groups)]) => Op::GroupWait(*groups as u32),
            (Some("mma_async"), _) => return self.group_product(line),
            _ => return Err(self.unknown(line)),
        };
        self.finish(line)?;
        self.emit(op);
        Ok(())
    }

    /// `m64n128k16.f32.f16.f16 d, a, b, scale-d, imm-scale-a, imm-scale-b, imm-trans-a, imm-trans-b`
    fn group_product(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let name = line.modifiers.joined();
        let (form, columns) = find_group(&name).ok_or_else(|| self.unknown(line))?;
        let [d, a, b, adds, rest @ ..] = line.operands else { return Err(self.unknown(line)) };
        let in_registers = matches!(a, Operand::Vector(_));
        let (scales, turned) = self.group_immediates(line, form, in_registers, rest)?;
        let b = (self.source(b, File::Long, 64)?, turned[1]);
        let a = match in_registers {
            true => MatrixA::Registers(self.words(a, false)?),
            false => MatrixA::Shared(self.source(a, File::Long, 64)?, turned[0]),
        };
        let adds = self.test(adds)?;
        let d = self.words(d, true)?;
        let fits = match &a {
            MatrixA::Registers(list) => list.len() == 4,
            MatrixA::Shared(..) => true,
        };
        if d.len() != form.registers(columns) || !fits {
            return Err(self.error(format!("`{}` with {} registers", line.mnemonic, d.len())));
        }
        let negate = scales[0] != scales[1];
        let product = GroupProduct { form, columns, d, a, b, adds, negate };
        self.emit(Op::GroupProduct(Box::new(product)));
        Ok(())
    }

    /// Whether A and B are negated, and whether they are transposed.
    fn group_immediates(
        &self,
        line: &Line<'a>,
        form: &GroupMma,
        in_registers: bool,
        rest: &[Operand<'a>],
    ) -> Result<([bool; 2], [bool; 2]), PtxError> {
        let numbers = rest.iter().map(|operand| match operand {
            Operand::Integer(value) => Some(value.cast_signed()),
            _ => None,
        });
        let numbers: Option<Vec<i64>> = numbers.collect();
        let numbers = numbers.ok_or_else(|| self.unknown(line))?;
        let scale = |value: i64| match value {
            1 => Some(false),
            -1 => Some(true),
            _ => None,
        };
        let turn = |value: i64| match value {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        };
        let read = match (&numbers[..], form.scales, form.turns) {
            (&[], false, false) => Some(([false; 2], [false; 2])),
            (&[a, b], true, false) => scale(a).zip(scale(b)).map(|(a, b)| ([a, b], [false; 2])),
            (&[a, b, t], true, true) if in_registers => {
                scale(a).zip(scale(b)).zip(turn(t)).map(|((a, b), t)| ([a, b], [false, t]))
            }
            (&[a, b, s, t], true, true) if !in_registers => scale(a)
                .zip(scale(b))
                .zip(turn(s).zip(turn(t)))
                .map(|((a, b), (s, t))| ([a, b], [s, t])),
            _ => None,
        };
        read.ok_or_else(|| self.error(format!("`{}` with immediates {numbers:?}", line.mnemonic)))
    }

    /// `setmaxnreg.inc.sync.aligned.u32 240`
    pub(super) fn set_registers(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let known = matches!(line.modifiers.first(), Some("inc" | "dec"))
            && line.modifiers.joined() == "sync.aligned.u32";
        match line.operands {
            [Operand::Integer(count)] if known && (24..=256).contains(count) && count % 8 == 0 => {
                self.emit(Op::SetRegisters);
                Ok(())
            }
            _ => Err(self.unknown(line)),
        }
    }
}
