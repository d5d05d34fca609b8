//! Bodies of functions.

use super::Parser;
use super::lexer::TokenKind;
use super::syntax::{Instruction, Statement, StatementKind};
use crate::error::PtxError;

impl<'a> Parser<'a> {
    /// Statements up to the closing brace of the body.
    pub(super) fn body(&mut self) -> Result<Vec<Statement<'a>>, PtxError> {
        let mut statements = Vec::new();
        let mut depth = 0_u32;
        loop {
            let line = self.line();
            let mut push = |kind| statements.push(Statement { line, kind });
            match self.peek() {
                TokenKind::Punctuation('{') => {
                    self.next();
                    depth += 1;
                    push(StatementKind::Open);
                }
                TokenKind::Punctuation('}') => {
                    self.next();
                    if depth == 0 {
                        return Ok(statements);
                    }
                    depth -= 1;
                    push(StatementKind::Close);
                }
                TokenKind::Punctuation(';') => {
                    self.next();
                }
                TokenKind::Word(word) if word.starts_with('.') => {
                    self.next();
                    for kind in self.declaration(word)? {
                        push(kind);
                    }
                }
                _ => push(self.label_or_instruction()?),
            }
        }
    }

    fn declaration(&mut self, word: &'a str) -> Result<Vec<StatementKind<'a>>, PtxError> {
        match word {
            ".reg" => self.registers(),
            ".shared" | ".local" | ".param" | ".global" | ".const" => {
                let variables = self.variables(word, false)?;
                Ok(variables.into_iter().map(StatementKind::Variable).collect())
            }
            ".pragma" => self.pragma().map(|()| Vec::new()),
            _ => Err(self.error(format!("unknown directive `{word}`"))),
        }
    }

    fn registers(&mut self) -> Result<Vec<StatementKind<'a>>, PtxError> {
        let kind = self.word()?;
        let kind = kind.strip_prefix('.').unwrap_or(kind);
        let mut list = Vec::new();
        loop {
            let name = self.word()?;
            let mut count = None;
            if self.take('<') {
                count = Some(self.count()?);
                self.expect('>')?;
            }
            list.push(StatementKind::Registers(kind, name, count));
            if !self.take(',') {
                break;
            }
        }
        self.expect(';')?;
        Ok(list)
    }

    fn label_or_instruction(&mut self) -> Result<StatementKind<'a>, PtxError> {
        let guard = if self.take('@') {
            let negated = self.take('!');
            Some((self.word()?, negated))
        } else {
            None
        };
        let mnemonic = self.word()?;
        if guard.is_none() && self.take(':') {
            if self.take_word(".branchtargets") {
                return self.targets(mnemonic);
            }
            return Ok(StatementKind::Label(mnemonic));
        }
        let operands = self.operands()?;
        Ok(StatementKind::Instruction(Instruction { guard, mnemonic, operands }))
    }

    fn targets(&mut self, name: &'a str) -> Result<StatementKind<'a>, PtxError> {
        let mut labels = vec![self.word()?];
        while self.take(',') {
            labels.push(self.word()?);
        }
        self.expect(';')?;
        Ok(StatementKind::Targets(name, labels))
    }
}
