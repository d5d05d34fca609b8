//! Syntax to code: names become register numbers, mnemonics functions, labels instruction numbers.
//!
//! A function that is called is decoded once into the same code, with registers, local memory and parameters of its own;
//! so there is no stack and no recursion, which kernels do not have.

mod arithmetic;
mod control;
mod convert;
mod copy;
mod engine;
mod memory;
mod mnemonic;
mod names;
mod operand;
mod warp;
mod warpgroup;

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use crate::error::PtxError;
use crate::lanes::File;
use crate::parse::syntax::{Function, Operand, Space, Statement, StatementKind, Unit, Variable};
use crate::program::{ALWAYS, Constant, Inst, Op, Program, Reg, Special};
use mnemonic::Modifiers;
use names::{Name, Scope};
pub(crate) use operand::{generic_base, space_of_address};

/// Constants are numbered from here on, so that registers need not be counted first.
pub(crate) const CONSTANTS: Reg = 0x8000;

/// An instruction being decoded.
struct Line<'a> {
    /// `ld`
    name: &'a str,
    /// `global.f32`
    modifiers: Modifiers<'a>,
    operands: &'a [Operand<'a>],
    mnemonic: &'a str,
}

/// A branch whose target is not known yet.
struct Fixup<'a> {
    at: usize,
    /// Scopes around it, innermost last.
    scopes: Vec<usize>,
    labels: Vec<&'a str>,
    line: u32,
}

/// What a call must know of a function: where it begins, how to come back, where its parameters lie.
#[derive(Clone, Debug)]
struct Callee {
    link: Reg,
    returns: Vec<(u32, u32)>,
    params: Vec<(u32, u32)>,
    start: Option<u32>,
}

struct Decoder<'a> {
    unit: &'a Unit<'a>,
    program: Program,
    scopes: Vec<Scope<'a>>,
    next_scope: usize,
    labels: HashMap<(usize, &'a str), u32>,
    targets: HashMap<&'a str, Vec<&'a str>>,
    fixups: Vec<Fixup<'a>>,
    constants: HashMap<(File, Constant), Reg>,
    specials: HashMap<Special, Reg>,
    /// Shared variables of the module that are used, and where they lie.
    shared: HashMap<u32, u32>,
    callees: HashMap<&'a str, Callee>,
    /// Functions called and not decoded yet.
    queue: Vec<&'a str>,
    calls: Vec<(usize, &'a str)>,
    /// Where the function being decoded returns to; `None` in an entry.
    link: Option<Reg>,
    guard: (Reg, u32),
    line: u32,
}

/// Decodes an entry with everything it calls.
pub(crate) fn decode<'a>(unit: &'a Unit<'a>, entry: &'a Function<'a>) -> Result<Program, PtxError> {
    let mut decoder = Decoder {
        unit,
        program: Program { predicates: 2, ..Program::default() },
        scopes: Vec::new(),
        next_scope: 0,
        labels: HashMap::new(),
        targets: HashMap::new(),
        fixups: Vec::new(),
        constants: HashMap::new(),
        specials: HashMap::new(),
        shared: HashMap::new(),
        callees: HashMap::new(),
        queue: Vec::new(),
        calls: Vec::new(),
        link: None,
        guard: (ALWAYS, 0),
        line: entry.line,
    };
    decoder.open();
    decoder.module_variables()?;
    decoder.open();
    let mut offset = 0;
    for param in &entry.params {
        offset = align(offset, param.align);
        decoder.declare(param.name, Name::Variable(Space::Param, offset));
        offset += param.bytes;
    }
    decoder.body(entry)?;
    while let Some(name) = decoder.queue.pop() {
        decoder.function(name)?;
    }
    decoder.link_calls();
    let granules = decoder.program.code.iter().filter_map(|inst| inst.op.shared_granule());
    decoder.program.executed =
        decoder.program.code.iter().map(|_| AtomicBool::new(false)).collect();
    decoder.program.engines = decoder.program.code.iter().any(|inst| inst.op.is_beside());
    decoder.program.group_products =
        decoder.program.code.iter().any(|inst| matches!(inst.op, Op::GroupProduct(_)));
    decoder.program.granule = granules.min().unwrap_or(16).min(16);
    Ok(decoder.program)
}

/// The next multiple.
pub(crate) fn align(offset: u32, to: u32) -> u32 {
    offset.next_multiple_of(to.max(1))
}

impl<'a> Decoder<'a> {
    fn error(&self, what: impl Into<String>) -> PtxError {
        PtxError::new(self.line, what)
    }

    fn module_variables(&mut self) -> Result<(), PtxError> {
        for (index, variable) in self.unit.variables.iter().enumerate() {
            let name = match variable.space {
                Space::Shared if variable.bytes == 0 || variable.external => {
                    let align = &mut self.program.dynamic_align;
                    *align = variable.align.max(*align);
                    Name::DynamicShared
                }
                Space::Shared => Name::ModuleShared(index as u32),
                _ => Name::Module(index as u32),
            };
            self.declare(variable.name, name);
        }
        Ok(())
    }

    fn reserve_shared(&mut self, variable: &Variable<'a>) -> Result<u32, PtxError> {
        let offset = align(self.program.shared_bytes, variable.align);
        let end = offset.checked_add(variable.bytes).filter(|end| *end <= 1 << 28);
        self.program.shared_bytes =
            end.ok_or_else(|| PtxError::new(variable.line, "too much shared memory"))?;
        Ok(offset)
    }

    fn reserve_local(&mut self, variable: &Variable<'a>) -> Result<u32, PtxError> {
        let offset = align(self.program.local_bytes, variable.align.max(4));
        let end = offset.checked_add(variable.bytes).filter(|end| *end <= 1 << 24);
        self.program.local_bytes =
            end.ok_or_else(|| PtxError::new(variable.line, "too much local memory"))?;
        Ok(offset)
    }

    fn function(&mut self, name: &'a str) -> Result<(), PtxError> {
        let defined = self.unit.functions.iter().find(|f| f.name == name && f.body.is_some());
        let function =
            defined.ok_or_else(|| self.error(format!("`{name}` is called and not defined")))?;
        let start = self.program.code.len() as u32;
        let Some(callee) = self.callees.get_mut(name) else { return Ok(()) };
        callee.start = Some(start);
        let callee = callee.clone();
        self.link = Some(callee.link);
        self.scopes.truncate(1);
        self.open();
        let variables = function.returns.iter().chain(&function.params);
        for (variable, place) in variables.zip(callee.returns.iter().chain(&callee.params)) {
            self.declare(variable.name, Name::Variable(Space::Local, place.0));
        }
        self.body(function)
    }

    fn body(&mut self, function: &'a Function<'a>) -> Result<(), PtxError> {
        for statement in function.body.as_deref().unwrap_or_default() {
            self.line = statement.line;
            self.statement(statement)?;
        }
        self.guard = (ALWAYS, 0);
        self.leave();
        self.resolve_branches()
    }

    fn statement(&mut self, statement: &'a Statement<'a>) -> Result<(), PtxError> {
        match &statement.kind {
            StatementKind::Open => self.open(),
            StatementKind::Close => {
                self.scopes.pop();
            }
            StatementKind::Label(name) => {
                let scope = self.scopes.last().map_or(0, |scope| scope.id);
                if self.labels.insert((scope, name), self.program.code.len() as u32).is_some() {
                    return Err(self.error(format!("label `{name}` stands twice")));
                }
            }
            StatementKind::Registers(kind, name, count) => self.registers(kind, name, *count)?,
            StatementKind::Variable(variable) => self.variable(variable)?,
            StatementKind::Targets(name, labels) => {
                self.targets.insert(name, labels.clone());
            }
            StatementKind::Instruction(instruction) => {
                self.guard = match instruction.guard {
                    Some((name, negated)) => {
                        (self.predicate(name)?, if negated { u32::MAX } else { 0 })
                    }
                    None => (ALWAYS, 0),
                };
                let (name, rest) =
                    instruction.mnemonic.split_once('.').unwrap_or((instruction.mnemonic, ""));
                let mut line = Line {
                    name,
                    modifiers: Modifiers::new(rest),
                    operands: &instruction.operands,
                    mnemonic: instruction.mnemonic,
                };
                self.instruction(&mut line)?;
            }
        }
        Ok(())
    }

    fn variable(&mut self, variable: &Variable<'a>) -> Result<(), PtxError> {
        let name = match variable.space {
            Space::Shared => Name::Variable(Space::Shared, self.reserve_shared(variable)?),
            Space::Local | Space::Param => {
                Name::Variable(Space::Local, self.reserve_local(variable)?)
            }
            _ => {
                let all = &self.unit.variables;
                let index = all
                    .iter()
                    .position(|other| other.line == variable.line && other.name == variable.name);
                let index =
                    index.ok_or_else(|| self.error("a module variable inside a function"))?;
                Name::Module(index as u32)
            }
        };
        self.declare(variable.name, name);
        Ok(())
    }

    fn emit(&mut self, op: Op) {
        let (guard, flip) = self.guard;
        let kind = op.kind();
        self.program.code.push(Inst { op, kind, guard, flip, line: self.line });
    }

    /// Returns, from a function or from the kernel.
    fn leave(&mut self) {
        let op = self.link.map_or(Op::Exit, Op::Return);
        self.emit(op);
    }

    fn resolve_branches(&mut self) -> Result<(), PtxError> {
        for fixup in std::mem::take(&mut self.fixups) {
            let mut found = Vec::with_capacity(fixup.labels.len());
            for label in &fixup.labels {
                let mut around = fixup.scopes.iter().rev();
                let target = around.find_map(|scope| self.labels.get(&(*scope, *label)));
                let unknown = || PtxError::new(fixup.line, format!("unknown label `{label}`"));
                found.push(*target.ok_or_else(unknown)?);
            }
            match &mut self.program.code[fixup.at].op {
                Op::Branch(target) => *target = found[0],
                Op::BranchIndexed(_, targets) => *targets = found,
                _ => unreachable!("only branches are fixed up"),
            }
        }
        Ok(())
    }

    fn link_calls(&mut self) {
        for (at, name) in std::mem::take(&mut self.calls) {
            if let Op::Call(target, _) = &mut self.program.code[at].op {
                *target = self.callees[name].start.unwrap_or_default();
            }
        }
    }
}
