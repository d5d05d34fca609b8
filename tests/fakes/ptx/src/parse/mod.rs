//! Text to syntax. Knows the grammar of PTX, not what instructions do; nothing is resolved here.

mod directive;
mod lexer;
mod operand;
mod statement;
pub(crate) mod syntax;

use crate::error::PtxError;
use lexer::{Token, TokenKind};

/// A place in the token stream.
struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
}

/// Reads a whole module.
pub(crate) fn parse(text: &str) -> Result<syntax::Unit<'_>, PtxError> {
    Parser { tokens: lexer::tokens(text)?, at: 0 }.unit()
}

impl<'a> Parser<'a> {
    fn peek(&self) -> TokenKind<'a> {
        self.tokens.get(self.at).map_or(TokenKind::End, |token| token.kind)
    }

    fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |token| token.line)
    }

    fn next(&mut self) -> TokenKind<'a> {
        let kind = self.peek();
        self.at += 1;
        kind
    }

    /// Takes the token if it is this punctuation.
    fn take(&mut self, punctuation: char) -> bool {
        let is = self.peek() == TokenKind::Punctuation(punctuation);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, punctuation: char) -> Result<(), PtxError> {
        if self.take(punctuation) {
            return Ok(());
        }
        Err(self.error(format!("`{punctuation}` expected, found {}", self.peek())))
    }

    fn word(&mut self) -> Result<&'a str, PtxError> {
        match self.peek() {
            TokenKind::Word(word) => {
                self.at += 1;
                Ok(word)
            }
            other => Err(self.error(format!("a name expected, found {other}"))),
        }
    }

    /// Takes the word if it is this one.
    fn take_word(&mut self, word: &str) -> bool {
        let is = self.peek() == TokenKind::Word(word);
        self.at += usize::from(is);
        is
    }

    fn error(&self, what: impl Into<String>) -> PtxError {
        PtxError::new(self.line(), what)
    }

    /// A non-negative integer that fits 32 bits.
    fn count(&mut self) -> Result<u32, PtxError> {
        match self.peek() {
            TokenKind::Integer(value) if u32::try_from(value).is_ok() => {
                self.at += 1;
                Ok(value as u32)
            }
            other => Err(self.error(format!("a count expected, found {other}"))),
        }
    }
}
