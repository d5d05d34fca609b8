//! Instructions in which lanes see each other.

use super::{Decoder, Line};
use crate::error::PtxError;
use crate::lanes::File;
use crate::parse::syntax::{Operand, type_bytes};
use crate::program::{Op, Reg, Shuffle, Vote};

/// Of two values, one.
type Fold = fn(u32, u32) -> u32;

/// `redux` by operation and type.
const REDUCTIONS: &[(&str, Fold)] = &[
    ("add.u32", u32::wrapping_add),
    ("add.s32", u32::wrapping_add),
    ("min.u32", |x, y| x.min(y)),
    ("max.u32", |x, y| x.max(y)),
    ("min.s32", |x, y| (x as i32).min(y as i32) as u32),
    ("max.s32", |x, y| (x as i32).max(y as i32) as u32),
    ("and.b32", |x, y| x & y),
    ("or.b32", |x, y| x | y),
    ("xor.b32", |x, y| x ^ y),
];

impl<'a> Decoder<'a> {
    /// `.sync`, which all of these have; without it the instruction is of an older machine.
    fn synced(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        if line.modifiers.take("sync") {
            return Ok(());
        }
        Err(self.error(format!("`{}` without `.sync` leaves open who takes part", line.mnemonic)))
    }

    /// `d|p` or `d`
    fn with_predicate(
        &mut self,
        operand: &Operand<'a>,
        file: File,
    ) -> Result<(Reg, Option<Reg>), PtxError> {
        match operand {
            Operand::Pair(d, p) => {
                let p = self.destination(&Operand::Name(p, false), File::Predicate)?;
                Ok((self.destination(&Operand::Name(d, false), file)?, Some(p)))
            }
            d => Ok((self.destination(d, file)?, None)),
        }
    }

    /// `shfl.sync.bfly.b32 d|p, a, b, c, mask`
    pub(super) fn shuffle(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        self.synced(line)?;
        let mode = match line.modifiers.first() {
            Some("up") => Shuffle::Up,
            Some("down") => Shuffle::Down,
            Some("bfly") => Shuffle::Butterfly,
            Some("idx") => Shuffle::Index,
            _ => return Err(self.unknown(line)),
        };
        if line.modifiers.last() != Some("b32") {
            return Err(self.unknown(line));
        }
        self.finish(line)?;
        let [d, a, b, c, mask] = self.exactly(line)?;
        let mut s = [0; 3];
        for (s, operand) in s.iter_mut().zip([a, b, c]) {
            *s = self.source(operand, File::Word, 32)?;
        }
        let mask = self.source(mask, File::Word, 32)?;
        let (d, found) = self.with_predicate(d, File::Word)?;
        self.emit(Op::Shuffle { mode, d, found, s, mask });
        Ok(())
    }

    /// `vote.sync.any.pred p, {!}a, mask`, `vote.sync.ballot.b32`
    pub(super) fn vote(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        self.synced(line)?;
        let (kind, file) = match (line.modifiers.first(), line.modifiers.last()) {
            (Some("all"), Some("pred")) => (Vote::All, File::Predicate),
            (Some("any"), Some("pred")) => (Vote::Any, File::Predicate),
            (Some("uni"), Some("pred")) => (Vote::Uniform, File::Predicate),
            (Some("ballot"), Some("b32")) => (Vote::Ballot, File::Word),
            _ => return Err(self.unknown(line)),
        };
        self.finish(line)?;
        let [d, a, mask] = self.exactly(line)?;
        let (test, mask) = (self.test(a)?, self.source(mask, File::Word, 32)?);
        let d = self.destination(d, file)?;
        self.emit(Op::Vote { kind, d, test, mask });
        Ok(())
    }

    /// `match.any.sync.b32 d, a, mask`, `match.all.sync.b64 d|p, a, mask`
    pub(super) fn matches(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        self.synced(line)?;
        let mode = line.modifiers.first();
        let bytes =
            line.modifiers.last().and_then(type_bytes).filter(|bytes| matches!(bytes, 4 | 8));
        let bytes = bytes.ok_or_else(|| self.unknown(line))?;
        self.finish(line)?;
        let [d, a, mask] = self.exactly(line)?;
        let (a, mask) = (self.place(a, bytes)?, self.source(mask, File::Word, 32)?);
        let (d, found) = self.with_predicate(d, File::Word)?;
        let op = match mode {
            Some("any") if found.is_none() => Op::MatchAny { d, a, mask },
            Some("all") => Op::MatchAll { d, found, a, mask },
            _ => return Err(self.unknown(line)),
        };
        self.emit(op);
        Ok(())
    }

    /// `redux.sync.add.s32 d, a, mask`
    pub(super) fn reduce(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        self.synced(line)?;
        let key = line.modifiers.joined();
        let row = REDUCTIONS.iter().find(|(name, _)| *name == key);
        let (_, f) = *row.ok_or_else(|| self.unknown(line))?;
        let [d, a, mask] = self.exactly(line)?;
        let (a, mask) = (self.source(a, File::Word, 32)?, self.source(mask, File::Word, 32)?);
        let d = self.destination(d, File::Word)?;
        self.emit(Op::Reduce { f, d, a, mask });
        Ok(())
    }

    pub(super) fn active_mask(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        if line.modifiers.joined() != "b32" {
            return Err(self.unknown(line));
        }
        let [d] = self.exactly(line)?;
        let d = self.destination(d, File::Word)?;
        self.emit(Op::ActiveMask(d));
        Ok(())
    }

    /// `elect.sync d|p, mask`
    pub(super) fn elect(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        self.synced(line)?;
        self.finish(line)?;
        let [d, mask] = self.exactly(line)?;
        let Operand::Pair(d, chosen) = d else { return Err(self.unknown(line)) };
        let mask = self.source(mask, File::Word, 32)?;
        let d = if *d == "_" {
            None
        } else {
            Some(self.destination(&Operand::Name(d, false), File::Word)?)
        };
        let chosen = self.destination(&Operand::Name(chosen, false), File::Predicate)?;
        self.emit(Op::Elect { d, chosen, mask });
        Ok(())
    }
}
