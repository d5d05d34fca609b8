//! Operands of instructions.

use super::Parser;
use super::lexer::TokenKind;
use super::syntax::Operand;
use crate::error::PtxError;

/// Deepest nesting of lists; texts are hostile.
pub(super) const DEEPEST: u32 = 4;

impl<'a> Parser<'a> {
    /// Operands up to the semicolon.
    pub(super) fn operands(&mut self) -> Result<Vec<Operand<'a>>, PtxError> {
        let mut list = Vec::new();
        if self.take(';') {
            return Ok(list);
        }
        loop {
            list.push(self.operand(0)?);
            if self.take(';') {
                return Ok(list);
            }
            self.expect(',')?;
        }
    }

    fn operand(&mut self, depth: u32) -> Result<Operand<'a>, PtxError> {
        if depth > DEEPEST {
            return Err(self.error("operands nested too deeply"));
        }
        match self.peek() {
            TokenKind::Punctuation('[') => self.address(depth),
            TokenKind::Punctuation('{') => self.list('}', depth).map(Operand::Vector),
            TokenKind::Punctuation('(') => self.list(')', depth).map(Operand::List),
            TokenKind::Punctuation('!') => {
                self.next();
                Ok(Operand::Name(self.word()?, true))
            }
            TokenKind::Word(word) => {
                self.next();
                if self.take('|') {
                    return Ok(Operand::Pair(word, self.word()?));
                }
                Ok(Operand::Name(word, false))
            }
            _ => self.literal(),
        }
    }

    fn list(&mut self, close: char, depth: u32) -> Result<Vec<Operand<'a>>, PtxError> {
        self.next();
        let mut list = Vec::new();
        while !self.take(close) {
            if !list.is_empty() {
                self.expect(',')?;
            }
            list.push(self.operand(depth + 1)?);
        }
        Ok(list)
    }

    fn literal(&mut self) -> Result<Operand<'a>, PtxError> {
        let negative = self.take('-');
        match self.peek() {
            TokenKind::Integer(value) => {
                self.next();
                Ok(Operand::Integer(if negative { value.wrapping_neg() } else { value }))
            }
            TokenKind::F32(bits) if !negative => {
                self.next();
                Ok(Operand::F32(bits))
            }
            TokenKind::F64(bits) => {
                self.next();
                Ok(Operand::F64(bits ^ (u64::from(negative) << 63)))
            }
            other => Err(self.error(format!("an operand expected, found {other}"))),
        }
    }

    /// `[base]`, `[base+4]`, `[base+-4]`, `[base-4]`, `[4]`, `[base, {x, y}]`
    fn address(&mut self, depth: u32) -> Result<Operand<'a>, PtxError> {
        self.expect('[')?;
        let base = match self.peek() {
            TokenKind::Word(word) => {
                self.next();
                Some(word)
            }
            _ => None,
        };
        if let Some(map) = base
            && self.take(',')
        {
            if self.peek() != TokenKind::Punctuation('{') {
                return Err(self.error("coordinates expected"));
            }
            let at = self.list('}', depth)?;
            self.expect(']')?;
            return Ok(Operand::Tile(map, at));
        }
        let plus = self.take('+');
        let negative = self.take('-');
        let mut offset = 0;
        if plus || negative || base.is_none() {
            let TokenKind::Integer(value) = self.next() else {
                return Err(self.error("an offset expected"));
            };
            offset = if negative { value.wrapping_neg() } else { value };
        }
        if !self.take(']') {
            return Err(self.error(format!("`]` expected, found {}", self.peek())));
        }
        Ok(Operand::Address(base, offset.cast_signed()))
    }
}
