//! Which function decodes an instruction, and those that lanes do each for themselves.

use super::{Decoder, Line};
use crate::error::PtxError;
use crate::lanes::{File, Lanes, find};
use crate::parse::syntax::{Operand, type_bytes};
use crate::program::{ALWAYS, Adjust, Carry, Logic, Op, Place, Reg, Test};

/// Beginnings of instructions that only hardware has.
const HARDWARE_ONLY: &[&str] = &[
    "tcgen05.",
    "cp.reduce.",
    "wmma.",
    "tensormap.",
    "clusterlaunchcontrol.",
    "mma.sp",
    "tex.",
    "tld4.",
    "suld.",
    "sust.",
];

/// Decodes an instruction and emits what it does.
type Decode<'a> = fn(&mut Decoder<'a>, &mut Line<'a>) -> Result<(), PtxError>;

/// What decodes an instruction by its first word; words that are not here are looked for among the lanes' functions.
fn decoder<'a>(name: &str) -> Decode<'a> {
    match name {
        "setp" => Decoder::set_predicate,
        "set" => Decoder::set,
        "selp" => Decoder::select,
        "slct" => Decoder::select_sign,
        "cvt" => Decoder::convert,
        "addc" | "subc" => Decoder::carry,
        "lop3" => Decoder::lop3,
        "mov" => Decoder::copy,
        "cvta" => Decoder::convert_address,
        "isspacep" => Decoder::is_space,
        "ld" | "ldu" => Decoder::load,
        "st" => Decoder::store,
        "atom" | "red" => Decoder::atomic,
        "cp" => Decoder::async_copy,
        "ldmatrix" => Decoder::load_matrix,
        "stmatrix" => Decoder::store_matrix,
        "movmatrix" => Decoder::transpose,
        "mma" => Decoder::matrix_product,
        "bra" => Decoder::branch,
        "brx" => Decoder::branch_indexed,
        "call" => Decoder::call,
        "ret" => Decoder::give_back,
        "exit" => Decoder::exit,
        "trap" => Decoder::trap,
        "bar" | "barrier" => Decoder::barrier,
        "shfl" => Decoder::shuffle,
        "vote" => Decoder::vote,
        "match" => Decoder::matches,
        "redux" => Decoder::reduce,
        "activemask" => Decoder::active_mask,
        "elect" => Decoder::elect,
        "mbarrier" => Decoder::mbarrier,
        "mapa" => Decoder::map_address,
        "wgmma" => Decoder::warpgroup,
        "setmaxnreg" => Decoder::set_registers,
        "fence" => Decoder::fence,
        "membar" | "prefetch" | "prefetchu" | "applypriority" | "discard" | "nanosleep" => {
            Decoder::hint
        }
        "griddepcontrol" => Decoder::grid_dependency,
        "createpolicy" => Decoder::policy,
        _ => Decoder::plain,
    }
}

impl<'a> Decoder<'a> {
    pub(super) fn instruction(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        if let Some(family) = HARDWARE_ONLY.iter().find(|start| line.mnemonic.starts_with(**start))
        {
            let family = family.trim_end_matches('.');
            return Err(self.error(format!("hardware only: `{}` ({family})", line.mnemonic)));
        }
        if matches!(line.name, "wgmma" | "setmaxnreg") && self.unit.target != "sm_90a" {
            return Err(self.error(format!("`{}` needs .target sm_90a", line.mnemonic)));
        }
        decoder(line.name)(self, line)
    }

    pub(super) fn unknown(&self, line: &Line<'a>) -> PtxError {
        self.error(format!("unknown instruction `{}`", line.mnemonic))
    }

    /// An error if a modifier was not understood.
    pub(super) fn finish(&self, line: &Line<'a>) -> Result<(), PtxError> {
        match line.modifiers.rest() {
            [] => Ok(()),
            rest => Err(self.error(format!(
                "unknown modifier `.{}` of `{}`",
                rest.join("."),
                line.mnemonic
            ))),
        }
    }

    /// Carry-flag forms, predicate logic, and the lanes' functions.
    fn plain(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let kind = line.modifiers.peek_last();
        if kind == "pred" {
            return self.predicate_logic(line);
        }
        if line.modifiers.rest().contains(&"cc") {
            return self.carry(line);
        }
        let float = kind == "f32";
        let flush = float && line.modifiers.take("ftz");
        let saturate = float && line.modifiers.take("sat");
        line.modifiers.take("rn");
        let key = format!("{}.{}", line.name, line.modifiers.joined());
        let f = find(&key).or_else(|| find(line.mnemonic)).ok_or_else(|| self.unknown(line))?;
        self.apply(line, f, kind, Adjust { operands: flush, result: flush, saturate })
    }

    /// Emits a function of lanes on the operands.
    pub(super) fn apply(
        &mut self,
        line: &Line<'a>,
        f: Lanes,
        kind: &str,
        adjust: Adjust,
    ) -> Result<(), PtxError> {
        let (file, files) = f.shape();
        if line.operands.len() != files.len() + 1 {
            return Err(self.error(format!(
                "`{}` with {} operands",
                line.mnemonic,
                line.operands.len()
            )));
        }
        let bits = type_bytes(kind).map_or(32, |bytes| bytes * 8);
        let mut s = [0; 4];
        for ((s, operand), file) in s.iter_mut().zip(&line.operands[1..]).zip(files) {
            *s = self.source(operand, *file, bits)?;
        }
        let d = self.destination(&line.operands[0], file)?;
        let plain = adjust == Adjust::default();
        self.emit(if plain { Op::Lanes(f, d, s) } else { Op::Adjusted { f, d, s, adjust } });
        Ok(())
    }

    fn predicate_logic(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        line.modifiers.last();
        self.finish(line)?;
        let always = Test { predicate: ALWAYS, flip: 0 };
        let (logic, a, b) = match (line.name, line.operands) {
            ("and", [_, a, b]) => (Logic::And, self.test(a)?, self.test(b)?),
            ("or", [_, a, b]) => (Logic::Or, self.test(a)?, self.test(b)?),
            ("xor", [_, a, b]) => (Logic::Xor, self.test(a)?, self.test(b)?),
            ("not", [_, a]) => (Logic::Xor, self.test(a)?, always),
            _ => return Err(self.unknown(line)),
        };
        let d = self.destination(&line.operands[0], File::Predicate)?;
        self.emit(Op::Predicate { logic, d, a, b });
        Ok(())
    }

    /// `setp.lt.and.f32 p|q, a, b, c`
    fn set_predicate(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let (d, complement) = match line.operands.first() {
            Some(Operand::Pair(p, q)) => {
                let (p, q) = (Operand::Name(p, false), Operand::Name(q, false));
                (
                    self.destination(&p, File::Predicate)?,
                    Some(self.destination(&q, File::Predicate)?),
                )
            }
            Some(operand) => (self.destination(operand, File::Predicate)?, None),
            None => return Err(self.error("`setp` without operands")),
        };
        let kind = line.modifiers.last().unwrap_or_default();
        self.compare(line, kind, d, complement)
    }

    /// The comparison of `setp` and `set`.
    fn compare(
        &mut self,
        line: &mut Line<'a>,
        kind: &str,
        d: Reg,
        complement: Option<Reg>,
    ) -> Result<(), PtxError> {
        let flush = kind == "f32" && line.modifiers.take("ftz");
        let logic = line.modifiers.take_any(&["and", "or", "xor"]);
        let key = format!("{}.{kind}", line.modifiers.joined());
        let f = find(&key).ok_or_else(|| self.unknown(line))?;
        let (File::Predicate, &[file, _]) = f.shape() else { return Err(self.unknown(line)) };
        let with = match (logic, line.operands) {
            (None, [_, _, _]) => None,
            (Some(logic), [_, _, _, c]) => {
                let logic = match logic {
                    "and" => Logic::And,
                    "or" => Logic::Or,
                    _ => Logic::Xor,
                };
                Some((logic, self.test(c)?))
            }
            _ => {
                return Err(self.error(format!(
                    "`{}` with {} operands",
                    line.mnemonic,
                    line.operands.len()
                )));
            }
        };
        let bits = type_bytes(kind).map_or(32, |bytes| bytes * 8);
        let s = [
            self.source(&line.operands[1], file, bits)?,
            self.source(&line.operands[2], file, bits)?,
        ];
        self.emit(Op::Compare { f, flush, d, complement, s, with });
        Ok(())
    }

    /// `set.lt.u32.f32 d, a, b`
    fn set(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let source = line.modifiers.last().unwrap_or_default();
        let yes = match line.modifiers.last() {
            Some("u32" | "s32") => u32::MAX,
            Some("f32") => 1.0f32.to_bits(),
            _ => return Err(self.unknown(line)),
        };
        let predicate = self.fresh(File::Predicate, 1)?;
        self.compare(line, source, predicate, None)?;
        let d = self.destination(&line.operands[0], File::Word)?;
        self.emit(Op::Spread { d, yes, test: Test { predicate, flip: 0 } });
        Ok(())
    }

    fn select(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let bytes = line.modifiers.last().and_then(type_bytes).ok_or_else(|| self.unknown(line))?;
        self.finish(line)?;
        let [d, a, b, c] = self.exactly(line)?;
        let (a, b) = (self.place(a, bytes)?, self.place(b, bytes)?);
        let test = self.test(c)?;
        let d = self.same_file(d, a, b)?;
        self.emit(Op::Select { d, a, b, test });
        Ok(())
    }

    /// The destination of a choice between two.
    fn same_file(&mut self, d: &Operand<'a>, a: Place, b: Place) -> Result<Place, PtxError> {
        match (a, b) {
            (Place::Word(_), Place::Word(_)) => self.destination(d, File::Word).map(Place::Word),
            (Place::Long(_), Place::Long(_)) => self.destination(d, File::Long).map(Place::Long),
            _ => Err(self.error("operands of different size")),
        }
    }

    fn select_sign(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let float = match line.modifiers.last() {
            Some("f32") => true,
            Some("s32") => false,
            _ => return Err(self.unknown(line)),
        };
        let bytes = line.modifiers.last().and_then(type_bytes).ok_or_else(|| self.unknown(line))?;
        self.finish(line)?;
        let [d, a, b, c] = self.exactly(line)?;
        let (a, b) = (self.place(a, bytes)?, self.place(b, bytes)?);
        let c = self.source(c, File::Word, 32)?;
        let d = self.same_file(d, a, b)?;
        self.emit(Op::SelectSign { d, a, b, c, float });
        Ok(())
    }

    /// `add.cc`, `addc`, `sub.cc`, `subc`, `mad.lo.cc`, `madc.hi` …
    fn carry(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let kind = line.modifiers.last().unwrap_or_default();
        let writes = line.modifiers.take("cc");
        let reads = line.name.ends_with('c');
        let carry = Carry { subtract: line.name.starts_with("sub"), reads, writes };
        let file = if type_bytes(kind) == Some(8) { File::Long } else { File::Word };
        let mut s = [0; 2];
        match (line.name, line.operands) {
            ("add" | "addc" | "sub" | "subc", [_, a, b]) => {
                s = [self.source(a, file, 32)?, self.source(b, file, 32)?];
            }
            ("mad" | "madc", [_, a, b, c]) => {
                let half = line.modifiers.take_any(&["lo", "hi"]).unwrap_or("lo");
                let f = find(&format!("mul.{half}.{kind}")).ok_or_else(|| self.unknown(line))?;
                let (a, b) = (self.source(a, file, 32)?, self.source(b, file, 32)?);
                let product = self.fresh(file, 1)?;
                self.emit(Op::Lanes(f, product, [a, b, 0, 0]));
                s = [product, self.source(c, file, 32)?];
            }
            _ => {}
        }
        self.finish(line)?;
        let d = match line.operands.first() {
            Some(d) if line.operands.len() > 2 => self.destination(d, file)?,
            _ => return Err(self.unknown(line)),
        };
        self.emit(if file == File::Long {
            Op::Carry64(carry, d, s)
        } else {
            Op::Carry32(carry, d, s)
        });
        Ok(())
    }

    /// `lop3.b32 d, a, b, c, table`
    fn lop3(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        if line.modifiers.joined() != "b32" {
            return Err(self.unknown(line));
        }
        let f = find("lop3.b32").ok_or_else(|| self.unknown(line))?;
        self.apply(line, f, "b32", Adjust::default())
    }
}
