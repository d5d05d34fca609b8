//! Module scope: versions, variables, entries and functions.

use super::Parser;
use super::lexer::TokenKind;
use super::operand::DEEPEST;
use super::syntax::{Function, Space, Unit, Variable, type_bytes};
use crate::error::PtxError;

/// Words before a declaration that change nothing here.
const LINKAGE: &[&str] = &[".visible", ".weak", ".common"];

impl<'a> Parser<'a> {
    pub(super) fn unit(mut self) -> Result<Unit<'a>, PtxError> {
        let mut unit = Unit::default();
        while self.peek() != TokenKind::End {
            self.top(&mut unit)?;
        }
        if unit.version == (0, 0) {
            return Err(PtxError::new(1, "no .version: this is not PTX"));
        }
        if unit.target.is_empty() {
            return Err(PtxError::new(1, "no .target"));
        }
        Ok(unit)
    }

    fn top(&mut self, unit: &mut Unit<'a>) -> Result<(), PtxError> {
        let mut external = false;
        loop {
            let line = self.line();
            let word = self.word()?;
            match word {
                ".version" => unit.version = self.version()?,
                ".target" => unit.target = self.target()?,
                ".address_size" => {
                    if self.count()? != 64 {
                        return Err(PtxError::new(line, "only .address_size 64"));
                    }
                }
                ".section" => self.section()?,
                ".extern" => {
                    external = true;
                    continue;
                }
                _ if LINKAGE.contains(&word) => continue,
                ".entry" | ".func" => {
                    let function = self.function(word == ".entry", line)?;
                    unit.functions.push(function);
                }
                ".global" | ".const" | ".shared" => {
                    let mut variables = self.variables(word, external)?;
                    unit.variables.append(&mut variables);
                }
                _ => return Err(PtxError::new(line, format!("unknown directive `{word}`"))),
            }
            return Ok(());
        }
    }

    /// `8.8` is lexed as a fraction.
    fn version(&mut self) -> Result<(u32, u32), PtxError> {
        match self.next() {
            TokenKind::F64(bits) => {
                let tenths = (f64::from_bits(bits) * 10.0).round() as u32;
                Ok((tenths / 10, tenths % 10))
            }
            other => Err(self.error(format!("a version expected, found {other}"))),
        }
    }

    fn target(&mut self) -> Result<&'a str, PtxError> {
        let target = self.word()?;
        while self.take(',') {
            self.word()?;
        }
        Ok(target)
    }

    /// Debug sections are passed over: they say nothing of what runs.
    fn section(&mut self) -> Result<(), PtxError> {
        let name = self.word()?;
        if !name.starts_with(".debug") {
            return Err(self.error(format!("unknown section `{name}`")));
        }
        self.expect('{')?;
        while !self.take('}') {
            if self.next() == TokenKind::End {
                return Err(self.error("a section without end"));
            }
        }
        Ok(())
    }

    fn function(&mut self, entry: bool, line: u32) -> Result<Function<'a>, PtxError> {
        let returns = if !entry && self.take('(') { self.parameters()? } else { Vec::new() };
        let name = self.word()?;
        let params = if self.take('(') { self.parameters()? } else { Vec::new() };
        let mut function = Function {
            name,
            entry,
            returns,
            params,
            max_threads: None,
            required_threads: None,
            min_blocks: None,
            cluster: None,
            body: None,
            line,
        };
        loop {
            match self.peek() {
                TokenKind::Punctuation(';') => {
                    self.next();
                    return Ok(function);
                }
                TokenKind::Punctuation('{') => {
                    self.next();
                    function.body = Some(self.body()?);
                    return Ok(function);
                }
                _ => self.performance(&mut function)?,
            }
        }
    }

    /// `.maxntid 256, 1, 1` and its like.
    fn performance(&mut self, function: &mut Function<'a>) -> Result<(), PtxError> {
        let line = self.line();
        match self.word()? {
            ".maxntid" => function.max_threads = Some(self.three()?),
            ".reqntid" => function.required_threads = Some(self.three()?),
            ".minnctapersm" => function.min_blocks = Some(self.count()?),
            ".maxnreg" | ".maxclusterrank" => {
                self.count()?;
            }
            ".reqnctapercluster" => function.cluster = Some(self.three()?),
            ".noreturn" | ".explicitcluster" => {}
            ".pragma" => self.pragma()?,
            other => return Err(PtxError::new(line, format!("unknown directive `{other}`"))),
        }
        Ok(())
    }

    fn three(&mut self) -> Result<[u32; 3], PtxError> {
        let mut sizes = [1; 3];
        for (index, size) in sizes.iter_mut().enumerate() {
            if index == 0 || self.take(',') {
                *size = self.count()?;
            }
        }
        Ok(sizes)
    }

    pub(super) fn pragma(&mut self) -> Result<(), PtxError> {
        while matches!(self.peek(), TokenKind::Text(_) | TokenKind::Punctuation(',')) {
            self.next();
        }
        self.expect(';')
    }

    fn parameters(&mut self) -> Result<Vec<Variable<'a>>, PtxError> {
        let mut list = Vec::new();
        while !self.take(')') {
            if !list.is_empty() {
                self.expect(',')?;
            }
            if !self.take_word(".param") {
                return Err(self.error(format!("`.param` expected, found {}", self.peek())));
            }
            list.push(self.variable(Space::Param, false)?);
        }
        Ok(list)
    }

    /// The variables of a declaration after its state space.
    pub(super) fn variables(
        &mut self,
        space: &str,
        external: bool,
    ) -> Result<Vec<Variable<'a>>, PtxError> {
        let space = match space {
            ".global" => Space::Global,
            ".const" => Space::Const,
            ".shared" => Space::Shared,
            ".local" => Space::Local,
            _ => Space::Param,
        };
        let mut list = vec![self.variable(space, external)?];
        while self.take(',') {
            let shape = list[0].clone();
            let name = self.word()?;
            list.push(Variable { name, ..shape });
        }
        self.expect(';')?;
        Ok(list)
    }

    /// `.align 4 .b8 name[16] = {1, 2}`
    fn variable(&mut self, space: Space, external: bool) -> Result<Variable<'a>, PtxError> {
        let line = self.line();
        let mut align = None;
        let mut lanes = 1;
        let element = loop {
            match self.word()? {
                ".align" => align = Some(self.count()?),
                ".ptr" | ".global" | ".const" | ".shared" | ".local" if space == Space::Param => {}
                ".v2" => lanes = 2,
                ".v4" => lanes = 4,
                word => {
                    let bytes = word.strip_prefix('.').and_then(type_bytes);
                    break bytes
                        .ok_or_else(|| PtxError::new(line, format!("unknown type `{word}`")))?;
                }
            }
        };
        let name = self.word()?;
        let mut count: u32 = 1;
        while self.take('[') {
            let size = if self.peek() == TokenKind::Punctuation(']') { 0 } else { self.count()? };
            self.expect(']')?;
            count = count.checked_mul(size).ok_or_else(|| self.error("an array without bounds"))?;
        }
        let bytes = element.checked_mul(lanes).and_then(|all| all.checked_mul(count));
        let bytes = bytes.filter(|bytes| *bytes <= 1 << 30);
        let align = align.unwrap_or(element * lanes);
        if !align.is_power_of_two() || align > 1 << 12 {
            return Err(PtxError::new(line, format!("an alignment of {align}")));
        }
        let mut variable = Variable {
            name,
            space,
            bytes: bytes.ok_or_else(|| PtxError::new(line, format!("`{name}` is too large")))?,
            align,
            external,
            initial: Vec::new(),
            pointers: Vec::new(),
            line,
        };
        if self.take('=') {
            self.initialiser(&mut variable, element, 0)?;
        }
        Ok(variable)
    }

    fn initialiser(
        &mut self,
        variable: &mut Variable<'a>,
        element: u32,
        depth: u32,
    ) -> Result<(), PtxError> {
        if depth > DEEPEST {
            return Err(self.error("values nested too deeply"));
        }
        if !self.take('{') {
            return self.initial_value(variable, element);
        }
        while !self.take('}') {
            if self.peek() == TokenKind::Punctuation('{') {
                self.initialiser(variable, element, depth + 1)?;
            } else {
                self.initial_value(variable, element)?;
            }
            self.take(',');
        }
        Ok(())
    }

    fn initial_value(&mut self, variable: &mut Variable<'a>, element: u32) -> Result<(), PtxError> {
        if variable.initial.len() as u64 + u64::from(element) > u64::from(variable.bytes) {
            return Err(self.error(format!("`{}` has more values than room", variable.name)));
        }
        let negative = self.take('-');
        let value = match self.next() {
            TokenKind::Integer(value) if negative => value.wrapping_neg(),
            TokenKind::Integer(value) | TokenKind::F64(value) => value,
            TokenKind::F32(bits) => u64::from(bits),
            TokenKind::Word("generic") => {
                self.expect('(')?;
                let name = self.word()?;
                self.expect(')')?;
                variable.pointers.push((variable.initial.len() as u32, name));
                0
            }
            TokenKind::Word(name) => {
                variable.pointers.push((variable.initial.len() as u32, name));
                0
            }
            other => return Err(self.error(format!("a value expected, found {other}"))),
        };
        let raw = value.to_le_bytes();
        variable.initial.extend_from_slice(&raw[..(element as usize).min(8)]);
        Ok(())
    }
}
