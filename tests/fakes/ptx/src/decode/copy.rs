//! `mov` in all its forms, and addresses that change their space.

use super::names::Name;
use super::operand::generic_base;
use super::{Decoder, Line};
use crate::error::PtxError;
use crate::lanes::{File, find};
use crate::parse::syntax::{Operand, Space, type_bytes};
use crate::program::{ALWAYS, Logic, Op, Place, Test};

/// Clocks: name, how far the count is shifted right.
const CLOCKS: &[(&str, u32)] = &[
    ("%clock", 0),
    ("%clock_hi", 32),
    ("%clock64", 0),
    ("%globaltimer", 0),
    ("%globaltimer_lo", 0),
    ("%globaltimer_hi", 32),
];

/// The space a modifier names.
pub(super) fn space_of(name: &str) -> Option<Space> {
    Some(match name {
        "global" => Space::Global,
        "const" => Space::Const,
        "shared" | "shared::cta" | "shared::cluster" => Space::Shared,
        "local" => Space::Local,
        "param" | "param::entry" | "param::func" => Space::Param,
        _ => return None,
    })
}

impl<'a> Decoder<'a> {
    pub(super) fn copy(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let kind = line.modifiers.last().unwrap_or_default();
        self.finish(line)?;
        let [d, a] = self.exactly(line)?;
        if kind == "pred" {
            let always = Test { predicate: ALWAYS, flip: u32::MAX };
            let (a, d) = (self.test(a)?, self.destination(d, File::Predicate)?);
            self.emit(Op::Predicate { logic: Logic::Xor, d, a, b: always });
            return Ok(());
        }
        let bytes = type_bytes(kind)
            .filter(|bytes| (2..=8).contains(bytes))
            .ok_or_else(|| self.unknown(line))?;
        match (d, a) {
            (Operand::Vector(parts), a) => self.unpack(parts, a, bytes),
            (d, Operand::Vector(parts)) => self.pack(d, parts, bytes),
            (d, Operand::Name(name, false)) if CLOCKS.iter().any(|(known, _)| known == name) => {
                let shift =
                    CLOCKS.iter().find(|(known, _)| known == name).map_or(0, |(_, shift)| *shift);
                let register = self.sink(d)?;
                let d = register.map(|register| self.place_of(register)).transpose()?;
                self.emit(d.map_or(Op::Nothing, |d| Op::Clock { d, shift }));
                Ok(())
            }
            (d, a) => self.plain_copy(d, a, bytes),
        }
    }

    fn plain_copy(&mut self, d: &Operand<'a>, a: &Operand<'a>, bytes: u32) -> Result<(), PtxError> {
        let file = if bytes == 8 { File::Long } else { File::Word };
        let a = self.source(a, file, 8 * bytes)?;
        let d = self.destination(d, file)?;
        let f = find(if bytes == 8 { "mov.b64" } else { "mov.b32" });
        let f = f.ok_or_else(|| self.error("no copy"))?;
        self.emit(Op::Lanes(f, d, [a, 0, 0, 0]));
        Ok(())
    }

    fn pack(&mut self, d: &Operand<'a>, parts: &[Operand<'a>], bytes: u32) -> Result<(), PtxError> {
        let part = self.part_bytes(parts, bytes)?;
        let places: Result<Vec<Place>, _> =
            parts.iter().map(|operand| self.place(operand, part)).collect();
        let file = if bytes == 8 { File::Long } else { File::Word };
        let d = self.destination(d, file)?;
        let d = if bytes == 8 { Place::Long(d) } else { Place::Word(d) };
        self.emit(Op::Pack { d, parts: places?, bits: 8 * part });
        Ok(())
    }

    fn unpack(
        &mut self,
        parts: &[Operand<'a>],
        a: &Operand<'a>,
        bytes: u32,
    ) -> Result<(), PtxError> {
        let part = self.part_bytes(parts, bytes)?;
        let a = self.place(a, bytes)?;
        let mut places = Vec::with_capacity(parts.len());
        for operand in parts {
            let register = self.sink(operand)?;
            places.push(register.map(|register| self.place_of(register)).transpose()?);
        }
        self.emit(Op::Unpack { parts: places, a, bits: 8 * part });
        Ok(())
    }

    fn part_bytes(&self, parts: &[Operand<'a>], bytes: u32) -> Result<u32, PtxError> {
        let count = parts.len() as u32;
        if !matches!(count, 2 | 4 | 8) || count > bytes {
            return Err(self.error(format!("{count} parts of {bytes} bytes")));
        }
        Ok(bytes / count)
    }

    /// `cvta.to.global.u64`, `cvta.shared.u64`
    pub(super) fn convert_address(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let to = line.modifiers.take("to");
        if line.modifiers.last() != Some("u64") {
            return Err(self.unknown(line));
        }
        let space = line.modifiers.first().and_then(space_of).ok_or_else(|| self.unknown(line))?;
        self.finish(line)?;
        let [d, a] = self.exactly(line)?;
        let a = self.source(a, File::Long, 64)?;
        let base = generic_base(space);
        let amount = self.long(if to { base.wrapping_neg() } else { base })?;
        let d = self.destination(d, File::Long)?;
        let f = find("add.u64").ok_or_else(|| self.error("no sum"))?;
        self.emit(Op::Lanes(f, d, [a, amount, 0, 0]));
        Ok(())
    }

    pub(super) fn is_space(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let space = line.modifiers.first().and_then(space_of).ok_or_else(|| self.unknown(line))?;
        self.finish(line)?;
        let [d, a] = self.exactly(line)?;
        let a = self.source(a, File::Long, 64)?;
        let d = self.destination(d, File::Predicate)?;
        self.emit(Op::IsSpace { d, a, space });
        Ok(())
    }

    /// Where a local variable lies, for calls.
    pub(super) fn local_variable(&self, name: &str) -> Option<u32> {
        match self.lookup(name) {
            Some(Name::Variable(Space::Local, offset)) => Some(offset),
            _ => None,
        }
    }
}
