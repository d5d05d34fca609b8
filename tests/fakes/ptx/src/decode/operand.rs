//! Operands as registers.

use super::names::{Name, Register};
use super::{Decoder, Line};
use crate::error::PtxError;
use crate::lanes::File;
use crate::parse::syntax::{Operand, Space};
use crate::program::{Address, Constant, Place, Reg, Test};

/// Where shared memory lies among generic addresses: above all that a driver gives.
pub(crate) const SHARED_BASE: u64 = 1 << 52;
/// Where local memory does.
pub(crate) const LOCAL_BASE: u64 = 2 << 52;
/// Where the parameters of an entry do.
pub(crate) const PARAM_BASE: u64 = 3 << 52;

/// What to add to an address of a space for its generic address.
pub(crate) fn generic_base(space: Space) -> u64 {
    match space {
        Space::Shared => SHARED_BASE,
        Space::Local => LOCAL_BASE,
        Space::Param => PARAM_BASE,
        Space::Generic | Space::Global | Space::Const => 0,
    }
}

/// The space a generic address lies in.
pub(crate) fn space_of_address(address: u64) -> Space {
    match address >> 52 {
        1 => Space::Shared,
        2 => Space::Local,
        3 => Space::Param,
        _ => Space::Global,
    }
}

impl<'a> Decoder<'a> {
    /// The operands, if there are so many.
    pub(super) fn exactly<const N: usize>(
        &self,
        line: &Line<'a>,
    ) -> Result<&'a [Operand<'a>; N], PtxError> {
        line.operands.try_into().map_err(|_| {
            self.error(format!(
                "`{}` with {} operands, not {N}",
                line.mnemonic,
                line.operands.len()
            ))
        })
    }

    /// The number of a source operand; 16-bit immediates are cut to size.
    pub(super) fn source(
        &mut self,
        operand: &Operand<'a>,
        file: File,
        bits: u32,
    ) -> Result<Reg, PtxError> {
        match (operand, file) {
            (Operand::Name(name, false), _) => self.named(name, file),
            (Operand::Integer(value), File::Word) if bits == 16 => {
                self.word(*value as u32 & 0xffff)
            }
            (Operand::Integer(value), File::Word) => self.word(*value as u32),
            (Operand::Integer(value), File::Long) => self.long(*value),
            (Operand::F32(value), File::Word) => self.word(*value),
            (Operand::F64(value), File::Word) => {
                self.word((f64::from_bits(*value) as f32).to_bits())
            }
            (Operand::F64(value), File::Long) => self.long(*value),
            _ => Err(self.error(format!("unexpected operand {operand:?}"))),
        }
    }

    /// A named source: register, special register or address of a variable.
    fn named(&mut self, name: &'a str, file: File) -> Result<Reg, PtxError> {
        if name == "WARP_SZ" && file == File::Word {
            return self.word(32);
        }
        if file == File::Word
            && let Some(register) = self.special(name)?
        {
            return Ok(register);
        }
        match self.settle(name)? {
            Some(Name::Register(register, None)) if register.file == file => Ok(register.number),
            Some(Name::Register(register, _)) => {
                Err(self
                    .error(format!("`{name}` has {} bits, which does not fit here", register.bits)))
            }
            Some(variable) => self.address_of(variable, file),
            None => Err(self.error(format!("unknown name `{name}`"))),
        }
    }

    /// The address of a variable as a constant.
    fn address_of(&mut self, variable: Name, file: File) -> Result<Reg, PtxError> {
        match (variable, file) {
            (Name::Variable(_, offset), File::Word) => self.word(offset),
            (Name::Variable(_, offset), File::Long) => self.long(u64::from(offset)),
            (Name::Module(index), File::Long) => self.constant(file, Constant::Address(index)),
            (Name::DynamicShared, _) => self.constant(file, Constant::Dynamic),
            _ => Err(self.error("the address of a variable does not fit here")),
        }
    }

    /// A destination register of a file.
    pub(super) fn destination(
        &mut self,
        operand: &Operand<'a>,
        file: File,
    ) -> Result<Reg, PtxError> {
        match operand {
            Operand::Name("_", false) => self.fresh(file, 1),
            Operand::Name(name, false) => {
                let register = self.register(name)?;
                if register.file == file {
                    return Ok(register.number);
                }
                Err(self
                    .error(format!("`{name}` has {} bits, which does not fit here", register.bits)))
            }
            _ => Err(self.error(format!("a register expected, found {operand:?}"))),
        }
    }

    /// A register operand with its size; `None` for `_`.
    pub(super) fn sink(&mut self, operand: &Operand<'a>) -> Result<Option<Register>, PtxError> {
        match operand {
            Operand::Name("_", false) => Ok(None),
            Operand::Name(name, false) => self.register(name).map(Some),
            _ => Err(self.error(format!("a register expected, found {operand:?}"))),
        }
    }

    /// A source of so many bytes, or wider where it is a register.
    pub(super) fn place(&mut self, operand: &Operand<'a>, bytes: u32) -> Result<Place, PtxError> {
        if let Operand::Name(name, false) = operand
            && let Some(Name::Register(register, None)) = self.lookup(name)
        {
            return self.place_of(register);
        }
        if bytes == 8 {
            return self.source(operand, File::Long, 64).map(Place::Long);
        }
        self.source(operand, File::Word, 8 * bytes).map(Place::Word)
    }

    pub(super) fn place_of(&self, register: Register) -> Result<Place, PtxError> {
        match register.file {
            File::Word => Ok(Place::Word(register.number)),
            File::Long => Ok(Place::Long(register.number)),
            File::Predicate => Err(self.error("a predicate does not fit here")),
        }
    }

    /// A predicate operand, maybe negated; immediates stand for always and never.
    pub(super) fn test(&mut self, operand: &Operand<'a>) -> Result<Test, PtxError> {
        match operand {
            Operand::Name(name, negated) => Ok(Test {
                predicate: self.predicate(name)?,
                flip: if *negated { u32::MAX } else { 0 },
            }),
            Operand::Integer(value) => {
                let flip = if *value == 0 { u32::MAX } else { 0 };
                Ok(Test { predicate: crate::program::ALWAYS, flip })
            }
            _ => Err(self.error(format!("a predicate expected, found {operand:?}"))),
        }
    }

    /// An address in a space.
    pub(super) fn address(
        &mut self,
        operand: &Operand<'a>,
        space: Space,
    ) -> Result<Address, PtxError> {
        let (base, offset) = match operand {
            Operand::Address(base, offset) => (*base, *offset),
            Operand::Name(name, false) => (Some(*name), 0),
            _ => return Err(self.error(format!("an address expected, found {operand:?}"))),
        };
        let Some(base) = base else {
            let zero = self.long(0)?;
            return Ok(Address { space, base: Place::Long(zero), offset });
        };
        match self.settle(base)? {
            Some(Name::Register(register, None)) => {
                Ok(Address { space, base: self.place_of(register)?, offset })
            }
            Some(Name::Variable(own, at)) => {
                let zero = self.long(0)?;
                let fits = own == space || (space == Space::Param && own == Space::Local);
                if space == Space::Generic || !fits {
                    return Err(self.error(format!("`{base}` does not lie in this state space")));
                }
                Ok(Address { space: own, base: Place::Long(zero), offset: offset + i64::from(at) })
            }
            Some(name @ (Name::Module(_) | Name::DynamicShared)) => {
                let constant = self.address_of(name, File::Long)?;
                Ok(Address { space, base: Place::Long(constant), offset })
            }
            _ => Err(self.error(format!("unknown name `{base}`"))),
        }
    }
}
