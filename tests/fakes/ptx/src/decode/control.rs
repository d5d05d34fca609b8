//! Branches, calls and barriers.

use super::{Callee, Decoder, Fixup, Line};
use crate::error::PtxError;
use crate::lanes::File;
use crate::parse::syntax::{Operand, Space, Variable};
use crate::program::{Access, Address, BarrierKind, Element, Op, Place};

impl<'a> Decoder<'a> {
    fn fix_up(&mut self, labels: Vec<&'a str>) {
        let scopes = self.scopes.iter().map(|scope| scope.id).collect();
        self.fixups.push(Fixup { at: self.program.code.len(), scopes, labels, line: self.line });
    }

    pub(super) fn branch(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        line.modifiers.take("uni");
        self.finish(line)?;
        let [Operand::Name(label, false)] = line.operands else { return Err(self.unknown(line)) };
        self.fix_up(vec![label]);
        self.emit(Op::Branch(0));
        Ok(())
    }

    pub(super) fn branch_indexed(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        if !line.modifiers.take("idx") {
            return Err(self.unknown(line));
        }
        line.modifiers.take("uni");
        self.finish(line)?;
        let [index, Operand::Name(list, false)] = line.operands else {
            return Err(self.unknown(line));
        };
        let labels = self.targets.get(list).cloned();
        let labels =
            labels.ok_or_else(|| self.error(format!("unknown list of targets `{list}`")))?;
        let index = self.source(index, File::Word, 32)?;
        self.fix_up(labels);
        self.emit(Op::BranchIndexed(index, Vec::new()));
        Ok(())
    }

    /// Copies arguments, goes, comes back, copies results.
    pub(super) fn call(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        line.modifiers.take("uni");
        self.finish(line)?;
        let none: &[Operand<'a>] = &[];
        let (returns, name, params) = match line.operands {
            [Operand::List(returns), Operand::Name(name, _), Operand::List(params)] => {
                (&returns[..], name, &params[..])
            }
            [Operand::Name(name, _), Operand::List(params)] => (none, name, &params[..]),
            [Operand::List(returns), Operand::Name(name, _)] => (&returns[..], name, none),
            [Operand::Name(name, _)] => (none, name, none),
            _ => return Err(self.unknown(line)),
        };
        let callee = self.callee(name)?;
        if returns.len() != callee.returns.len() || params.len() != callee.params.len() {
            return Err(self.error(format!("`{name}` takes another number of parameters")));
        }
        for (actual, (to, bytes)) in params.iter().zip(&callee.params) {
            let from = self.argument(actual)?;
            self.copy_local(from, *to, *bytes)?;
        }
        self.calls.push((self.program.code.len(), name));
        self.emit(Op::Call(0, callee.link));
        for (actual, (from, bytes)) in returns.iter().zip(&callee.returns) {
            let to = self.argument(actual)?;
            self.copy_local(*from, to, *bytes)?;
        }
        Ok(())
    }

    fn argument(&self, operand: &Operand<'a>) -> Result<u32, PtxError> {
        let Operand::Name(name, false) = operand else {
            return Err(self.error(format!("unexpected argument {operand:?}")));
        };
        self.local_variable(name)
            .ok_or_else(|| self.error(format!("`{name}` is not a `.param` variable")))
    }

    fn callee(&mut self, name: &'a str) -> Result<Callee, PtxError> {
        if let Some(callee) = self.callees.get(name) {
            return Ok(callee.clone());
        }
        let function = self.unit.functions.iter().find(|f| f.name == name && !f.entry);
        let function = function.ok_or_else(|| self.error(format!("unknown function `{name}`")))?;
        let mut place = |list: &[Variable<'a>]| -> Result<Vec<(u32, u32)>, PtxError> {
            list.iter().map(|one| Ok((self.reserve_local(one)?, one.bytes))).collect()
        };
        let (returns, params) = (place(&function.returns)?, place(&function.params)?);
        let callee = Callee { link: self.fresh(File::Word, 1)?, returns, params, start: None };
        self.callees.insert(name, callee.clone());
        self.queue.push(name);
        Ok(callee)
    }

    fn copy_local(&mut self, from: u32, to: u32, bytes: u32) -> Result<(), PtxError> {
        let zero = self.long(0)?;
        let register = self.fresh(File::Word, 1)?;
        let mut done = 0;
        while done < bytes {
            let step = if bytes - done >= 4 { 4 } else { 1 };
            let access = |at: u32| Access {
                address: Address {
                    space: Space::Local,
                    base: Place::Long(zero),
                    offset: i64::from(at + done),
                },
                element: Element { bytes: step as u8, signed: false },
                places: vec![Some(Place::Word(register))],
                bits: 32,
                strong: false,
            };
            self.emit(Op::Load(Box::new(access(from))));
            self.emit(Op::Store(Box::new(access(to))));
            done += step;
        }
        Ok(())
    }

    pub(super) fn give_back(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        line.modifiers.take("uni");
        self.finish(line)?;
        self.leave();
        Ok(())
    }

    pub(super) fn exit(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        self.finish(line)?;
        self.emit(Op::Exit);
        Ok(())
    }

    pub(super) fn trap(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        self.finish(line)?;
        self.emit(Op::Trap);
        Ok(())
    }

    /// `bar.sync 0`, `bar.sync 1, 64`, `bar.red.popc.u32 d, 0, p`, `bar.warp.sync mask`
    pub(super) fn barrier(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        if line.modifiers.take("warp") {
            line.modifiers.take("sync");
            self.finish(line)?;
            let [mask] = self.exactly(line)?;
            let mask = self.source(mask, File::Word, 32)?;
            self.emit(Op::WarpSync(mask));
            return Ok(());
        }
        if line.modifiers.take("cluster") {
            return self.cluster_barrier(line);
        }
        line.modifiers.drop(&["cta", "aligned"], &[]);
        let what = line.modifiers.first();
        if what == Some("red") {
            return self.barrier_reduction(line);
        }
        self.finish(line)?;
        let kind = match what {
            Some("sync") => BarrierKind::Sync,
            Some("arrive") => BarrierKind::Arrive,
            _ => return Err(self.unknown(line)),
        };
        self.emit_barrier(line, kind, line.operands)
    }

    fn barrier_reduction(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        let (operation, kind) = (line.modifiers.first(), line.modifiers.last());
        self.finish(line)?;
        let [d, rest @ .., test] = line.operands else { return Err(self.unknown(line)) };
        let test = self.test(test)?;
        let kind = match (operation, kind) {
            (Some("popc"), Some("u32")) => {
                BarrierKind::Count(self.destination(d, File::Word)?, test)
            }
            (Some("and"), Some("pred")) => {
                BarrierKind::And(self.destination(d, File::Predicate)?, test)
            }
            (Some("or"), Some("pred")) => {
                BarrierKind::Or(self.destination(d, File::Predicate)?, test)
            }
            _ => return Err(self.unknown(line)),
        };
        self.emit_barrier(line, kind, rest)
    }

    fn emit_barrier(
        &mut self,
        line: &Line<'a>,
        kind: BarrierKind,
        rest: &[Operand<'a>],
    ) -> Result<(), PtxError> {
        let (id, threads) = match rest {
            [] => (self.word(0)?, None),
            [id] => (self.source(id, File::Word, 32)?, None),
            [id, threads] => {
                (self.source(id, File::Word, 32)?, Some(self.source(threads, File::Word, 32)?))
            }
            _ => return Err(self.unknown(line)),
        };
        self.emit(Op::Barrier { id, threads, kind });
        Ok(())
    }

    /// Instructions that change nothing here.
    pub(super) fn hint(&mut self, _: &mut Line<'a>) -> Result<(), PtxError> {
        self.emit(Op::Nothing);
        Ok(())
    }

    /// `griddepcontrol.wait`, `griddepcontrol.launch_dependents`
    pub(super) fn grid_dependency(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        match line.modifiers.joined().as_str() {
            "wait" => self.emit(Op::AwaitPredecessor),
            "launch_dependents" => self.emit(Op::LetSuccessorStart),
            _ => return Err(self.unknown(line)),
        }
        Ok(())
    }

    /// Cache policies are only handed to loads and stores, which do not look at them.
    pub(super) fn policy(&mut self, line: &mut Line<'a>) -> Result<(), PtxError> {
        if let Some(d) = line.operands.first() {
            self.destination(d, File::Long)?;
        }
        self.emit(Op::Nothing);
        Ok(())
    }
}
