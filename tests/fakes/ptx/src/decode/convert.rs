//! `cvt`: by a function of lanes where there is a fast one, else exactly, value by value.

use super::{Decoder, Line};
use crate::error::PtxError;
use crate::lanes::find;
use crate::numerics::convert::{Conversion, Scalar};
use crate::numerics::exact::{Format, Rounding};
use crate::program::{Adjust, Op};

/// Scalar types by name.
const SCALARS: &[(&str, Scalar)] = &[
    ("u8", Scalar::Integer { signed: false, width: 8 }),
    ("s8", Scalar::Integer { signed: true, width: 8 }),
    ("u16", Scalar::Integer { signed: false, width: 16 }),
    ("s16", Scalar::Integer { signed: true, width: 16 }),
    ("u32", Scalar::Integer { signed: false, width: 32 }),
    ("s32", Scalar::Integer { signed: true, width: 32 }),
    ("u64", Scalar::Integer { signed: false, width: 64 }),
    ("s64", Scalar::Integer { signed: true, width: 64 }),
    ("f16", Scalar::Float(Format::F16)),
    ("bf16", Scalar::Float(Format::BF16)),
    ("f32", Scalar::Float(Format::F32)),
    ("f64", Scalar::Float(Format::F64)),
    ("tf32", Scalar::Float(Format::TF32)),
];

/// Rounding modifiers: direction, to an integer.
const ROUNDINGS: &[(&str, Rounding, bool)] = &[
    ("rn", Rounding::Nearest, false),
    ("rna", Rounding::NearestAway, false),
    ("rz", Rounding::Zero, false),
    ("rm", Rounding::Down, false),
    ("rp", Rounding::Up, false),
    ("rni", Rounding::Nearest, true),
    ("rzi", Rounding::Zero, true),
    ("rmi", Rounding::Down, true),
    ("rpi", Rounding::Up, true),
];

impl<'a> Decoder<'a> {
    /// `cvt.rn.ftz.sat.f32.f16`
    pub(super) fn convert(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let plain = find(line.mnemonic);
        let from = line.modifiers.last().unwrap_or_default();
        let to = line.modifiers.last().unwrap_or_default();
        if let Some(f) = plain {
            return self.apply(line, f, from, Adjust::default());
        }
        let scalar = |name: &str| SCALARS.iter().find(|row| row.0 == name).map(|row| row.1);
        let (Some(source), Some(target)) = (scalar(from), scalar(to)) else {
            return Err(self.unknown(line));
        };
        let mut conversion = Conversion::new(target, source);
        for (name, rounding, integral) in ROUNDINGS {
            if line.modifiers.take(name) {
                (conversion.rounding, conversion.integral) = (*rounding, *integral);
            }
        }
        conversion.flush = line.modifiers.take("ftz");
        conversion.saturate = line.modifiers.take("sat");
        conversion.relu = line.modifiers.take("relu");
        conversion.finite = line.modifiers.take("satfinite");
        self.finish(line)?;
        let [d, a] = self.exactly(line)?;
        let a = self.place(a, if matches!(from, "u64" | "s64" | "f64") { 8 } else { 4 })?;
        let Some(register) = self.sink(d)? else { return Ok(()) };
        let d = self.place_of(register)?;
        self.emit(Op::Convert { d, a, conversion: Box::new(conversion), bits: register.bits });
        Ok(())
    }
}
