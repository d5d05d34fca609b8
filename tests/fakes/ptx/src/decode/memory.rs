//! Loads, stores, atomics, and copies that land later.

use super::copy::space_of;
use super::{Decoder, Line};
use crate::error::PtxError;
use crate::lanes::{File, Lanes, find};
use crate::parse::syntax::{Operand, Space, type_bytes};
use crate::program::{Access, AsyncCopy, Atom, Atomic, Element, MatrixProduct, Op, Place, Reg};

/// Modifiers about caches; they change nothing here.
const CACHES: &[&str] = &["nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "weak", "mmio"];
/// And these, by their beginning.
const CACHE_LEVELS: &[&str] = &["L1::", "L2::", "level::"];
/// Scopes: all the same where one block after the other is looked at.
const SCOPES: &[&str] = &["cta", "cluster", "gpu", "sys"];
/// Orders: accesses that do not race with their like.
const ORDERS: &[&str] = &["volatile", "relaxed", "acquire", "release", "acq_rel", "seq_cst"];
const SPACES: &[&str] = &[
    "global",
    "const",
    "shared",
    "shared::cta",
    "shared::cluster",
    "local",
    "param",
    "param::entry",
    "param::func",
];

fn drop_hints(line: &mut Line<'_>) -> bool {
    let strong = line.modifiers.take_any(ORDERS).is_some();
    line.modifiers.drop(CACHES, CACHE_LEVELS);
    line.modifiers.drop(SCOPES, &[]);
    strong
}

impl<'a> Decoder<'a> {
    /// Space, vector and type, the rest being hints.
    fn access(
        &mut self,
        line: &mut Line<'a>,
        address: &Operand<'a>,
        value: &Operand<'a>,
    ) -> Result<Access, PtxError> {
        let strong = drop_hints(line);
        let kind = line.modifiers.last().unwrap_or_default();
        let bytes =
            type_bytes(kind).filter(|bytes| *bytes <= 8).ok_or_else(|| self.unknown(line))?;
        let space = line.modifiers.take_any(SPACES).and_then(space_of).unwrap_or(Space::Generic);
        let count = match line.modifiers.take_any(&["v2", "v4", "v8"]) {
            Some("v2") => 2,
            Some("v4") => 4,
            Some(_) => 8,
            None => 1,
        };
        self.finish(line)?;
        let element = Element { bytes: bytes as u8, signed: kind.starts_with('s') };
        let address = self.address(address, space)?;
        let values = match value {
            Operand::Vector(values) if values.len() == count && count > 1 => &values[..],
            one if count == 1 => std::slice::from_ref(one),
            _ => return Err(self.error(format!("`{}` needs {count} registers", line.mnemonic))),
        };
        let (mut places, mut bits) = (Vec::with_capacity(count), 8 * bytes);
        for value in values {
            if let Operand::Name("_", false) = value {
                places.push(None);
                continue;
            }
            if let Operand::Name(name, false) = value
                && let Ok(register) = self.register(name)
            {
                bits = register.bits;
            }
            places.push(Some(self.place(value, bytes)?));
        }
        if bits < 8 * bytes {
            return Err(self.error(format!("`{}` into registers of {bits} bits", line.mnemonic)));
        }
        Ok(Access { address, element, places, bits, strong })
    }

    pub(super) fn load(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let ([value, address] | [value, address, _]) = line.operands else {
            return Err(self.unknown(line));
        };
        let access = self.access(line, address, value)?;
        let constant = |place: &Place| matches!(place, Place::Word(r) | Place::Long(r) if *r >= super::CONSTANTS);
        if access.places.iter().flatten().any(constant) {
            return Err(self.error("a load into a constant"));
        }
        self.emit(Op::Load(Box::new(access)));
        Ok(())
    }

    pub(super) fn store(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let ([address, value] | [address, value, _]) = line.operands else {
            return Err(self.unknown(line));
        };
        let access = self.access(line, address, value)?;
        self.emit(Op::Store(Box::new(access)));
        Ok(())
    }

    pub(super) fn atomic(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        drop_hints(line);
        line.modifiers.take("noftz");
        let kind = line.modifiers.last().unwrap_or_default();
        let bytes = type_bytes(kind).ok_or_else(|| self.unknown(line))?;
        let space = line.modifiers.take_any(SPACES).and_then(space_of).unwrap_or(Space::Generic);
        let what = line.modifiers.first().unwrap_or_default();
        let atom = self.atom(line, what, kind)?;
        self.finish(line)?;
        let reduction = line.name == "red";
        let (d, rest) = match line.operands {
            rest if reduction => (None, rest),
            [d, rest @ ..] => (Some(d), rest),
            [] => return Err(self.unknown(line)),
        };
        let (address, b, c) = match (rest, atom) {
            ([address, b, c], Atom::CompareSwap) => (address, b, Some(c)),
            ([address, b], atom) if !matches!(atom, Atom::CompareSwap) => (address, b, None),
            _ => {
                return Err(self.error(format!(
                    "`{}` with {} operands",
                    line.mnemonic,
                    line.operands.len()
                )));
            }
        };
        let address = self.address(address, space)?;
        let operand = self.place(b, bytes)?;
        let second = c.map(|c| self.place(c, bytes)).transpose()?;
        let register = d.map(|d| self.sink(d)).transpose()?.flatten();
        let old = register.map(|register| self.place_of(register)).transpose()?;
        let atomic = Atomic { address, kind: atom, bytes: bytes as u8, old, operand, second };
        self.emit(Op::Atomic(Box::new(atomic)));
        Ok(())
    }

    fn atom(&self, line: &Line<'a>, what: &str, kind: &str) -> Result<Atom, PtxError> {
        Ok(match (what, kind) {
            ("add", "f32") => Atom::AddF32,
            ("add", "f64") => Atom::AddF64,
            ("add", "f16" | "f16x2" | "bf16" | "bf16x2") => Atom::Add16(self.add16(line, kind)?),
            ("add", "u32" | "s32" | "u64" | "s64") => Atom::Add,
            ("min", "u32" | "u64") => Atom::Min,
            ("max", "u32" | "u64") => Atom::Max,
            ("min", "s32" | "s64") => Atom::MinSigned,
            ("max", "s32" | "s64") => Atom::MaxSigned,
            ("and", "b32" | "b64") => Atom::And,
            ("or", "b32" | "b64") => Atom::Or,
            ("xor", "b32" | "b64") => Atom::Xor,
            ("exch", "b32" | "b64") => Atom::Exchange,
            ("cas", "b16" | "b32" | "b64") => Atom::CompareSwap,
            ("inc", "u32") => Atom::Increment,
            ("dec", "u32") => Atom::Decrement,
            _ => return Err(self.unknown(line)),
        })
    }

    fn add16(&self, line: &Line<'a>, kind: &str) -> Result<Lanes, PtxError> {
        find(&format!("add.{kind}")).ok_or_else(|| self.unknown(line))
    }

    /// `cp.async.cg.shared.global [to], [from], 16, bytes;`, commits and waits.
    pub(super) fn async_copy(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        if line.modifiers.first() != Some("async") {
            return Err(self.unknown(line));
        }
        if line.modifiers.take("bulk") {
            return self.bulk(line);
        }
        if line.modifiers.take("mbarrier") {
            return self.copies_arrive(line);
        }
        if let Some(what) = line.modifiers.take_any(&["commit_group", "wait_group", "wait_all"]) {
            self.finish(line)?;
            let op = match (what, line.operands) {
                ("commit_group", []) => Op::AsyncCommit,
                ("wait_all", []) => Op::AsyncWait(None),
                ("wait_group", [Operand::Integer(groups)]) => Op::AsyncWait(Some(*groups as u32)),
                _ => return Err(self.unknown(line)),
            };
            self.emit(op);
            return Ok(());
        }
        let whole = line.modifiers.take("cg");
        if !whole && !line.modifiers.take("ca") {
            return Err(self.unknown(line));
        }
        line.modifiers.drop(&["shared", "shared::cta", "global"], CACHE_LEVELS);
        self.finish(line)?;
        let (to, from, bytes, source) = match line.operands {
            [to, from, Operand::Integer(bytes)] => (to, from, *bytes, None),
            [to, from, Operand::Integer(bytes), source, ..] => (to, from, *bytes, Some(source)),
            _ => return Err(self.unknown(line)),
        };
        if !matches!(bytes, 4 | 8 | 16) || (whole && bytes != 16) {
            return Err(self.error(format!("`{}` of {bytes} bytes", line.mnemonic)));
        }
        let mut copy = AsyncCopy {
            to: self.address(to, Space::Shared)?,
            from: self.address(from, Space::Global)?,
            bytes: bytes as u8,
            source_bytes: None,
            ignore: None,
        };
        match source {
            Some(Operand::Name(name, _)) if self.predicate(name).is_ok() => {
                copy.ignore = source.map(|source| self.test(source)).transpose()?;
            }
            Some(source) => copy.source_bytes = Some(self.source(source, File::Word, 32)?),
            None => {}
        }
        self.emit(Op::AsyncCopy(Box::new(copy)));
        Ok(())
    }

    /// Registers of a vector operand.
    pub(super) fn words(
        &mut self,
        operand: &Operand<'a>,
        sink: bool,
    ) -> Result<Vec<Reg>, PtxError> {
        let parts = match operand {
            Operand::Vector(parts) => &parts[..],
            one => std::slice::from_ref(one),
        };
        let word = |part| match sink {
            true => self.destination(part, File::Word),
            false => self.source(part, File::Word, 32),
        };
        parts.iter().map(word).collect()
    }

    /// How many matrices, and whether transposed: `.sync.aligned.m8n8.x4.trans.shared.b16`.
    fn matrices(&mut self, line: &mut Line<'a>) -> Result<(usize, bool), PtxError> {
        line.modifiers.drop(&["shared", "shared::cta"], &[]);
        let known = ["sync", "aligned", "m8n8", "b16"].iter().all(|part| line.modifiers.take(part));
        let transposed = line.modifiers.take("trans");
        let count = match line.modifiers.take_any(&["x1", "x2", "x4"]) {
            Some("x1") => 1,
            Some("x2") => 2,
            Some("x4") => 4,
            _ => return Err(self.unknown(line)),
        };
        if !known {
            return Err(self.unknown(line));
        }
        self.finish(line)?;
        Ok((count, transposed))
    }

    pub(super) fn load_matrix(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let (count, transposed) = self.matrices(line)?;
        let [d, address] = self.exactly(line)?;
        let address = self.address(address, Space::Shared)?;
        let d = self.words(d, true)?;
        if d.len() != count {
            return Err(self.error(format!("`{}` needs {count} registers", line.mnemonic)));
        }
        self.emit(Op::LoadMatrix { d, transposed, address });
        Ok(())
    }

    pub(super) fn store_matrix(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let (count, transposed) = self.matrices(line)?;
        let [address, s] = self.exactly(line)?;
        let address = self.address(address, Space::Shared)?;
        let s = self.words(s, false)?;
        if s.len() != count {
            return Err(self.error(format!("`{}` needs {count} registers", line.mnemonic)));
        }
        self.emit(Op::StoreMatrix { s, transposed, address });
        Ok(())
    }

    pub(super) fn transpose(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        if line.modifiers.joined() != "sync.aligned.m8n8.trans.b16" {
            return Err(self.unknown(line));
        }
        let [d, a] = self.exactly(line)?;
        let a = self.source(a, File::Word, 32)?;
        let d = self.destination(d, File::Word)?;
        self.emit(Op::Transpose { d, a });
        Ok(())
    }

    pub(super) fn matrix_product(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let name = line.modifiers.joined();
        let form = name.strip_prefix("sync.aligned.").and_then(crate::numerics::mma::find);
        let form = form.ok_or_else(|| self.unknown(line))?;
        let [d, a, b, c] = self.exactly(line)?;
        if name.ends_with("f64") {
            return Err(self.unknown(line));
        }
        let product = MatrixProduct {
            form,
            a: self.words(a, false)?,
            b: self.words(b, false)?,
            c: self.words(c, false)?,
            d: self.words(d, true)?,
        };
        let sizes = [product.a.len(), product.b.len(), product.c.len(), product.d.len()];
        if sizes != [form.a, form.b, form.c, form.d] {
            return Err(
                self.error(format!("`{}` with fragments of {sizes:?} registers", line.mnemonic))
            );
        }
        self.emit(Op::MatrixProduct(Box::new(product)));
        Ok(())
    }
}
