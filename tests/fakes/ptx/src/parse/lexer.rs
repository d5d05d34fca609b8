//! Words, numbers and punctuation. A dotted mnemonic is one word: `ld.global.L1::no_allocate.v4.f32`.

use std::fmt;

use crate::error::PtxError;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TokenKind<'a> {
    /// Name, register, directive or mnemonic.
    Word(&'a str),
    /// Integer literal without sign.
    Integer(u64),
    /// `0f3F800000`.
    F32(u32),
    /// `0d3FF0000000000000` or a decimal fraction.
    F64(u64),
    /// Between quotes.
    Text(&'a str),
    /// One character.
    Punctuation(char),
    /// Nothing is left.
    End,
}

impl fmt::Display for TokenKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "`{word}`"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::F32(bits) => write!(f, "0f{bits:08X}"),
            Self::F64(bits) => write!(f, "0d{bits:016X}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Punctuation(c) => write!(f, "`{c}`"),
            Self::End => f.write_str("the end of the text"),
        }
    }
}

/// A token and its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    pub(super) line: u32,
}

/// Directives about source lines; they end with theirs.
const LINE_DIRECTIVES: &[&str] = &[".loc", ".file"];

/// All tokens of a text, comments and source-line directives left out.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, PtxError> {
    let mut lexer = Lexer { rest: text, line: 1 };
    let mut tokens = Vec::with_capacity(text.len() / 4);
    while let Some(token) = lexer.token()? {
        if matches!(token.kind, TokenKind::Word(word) if LINE_DIRECTIVES.contains(&word)) {
            lexer.skip_line();
        } else {
            tokens.push(token);
        }
    }
    Ok(tokens)
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')
}

impl<'a> Lexer<'a> {
    fn error(&self, what: impl Into<String>) -> PtxError {
        PtxError::new(self.line, what)
    }

    /// Cuts off the first bytes.
    fn cut(&mut self, bytes: usize) -> &'a str {
        let (head, tail) = self.rest.split_at(bytes);
        self.line += head.matches('\n').count() as u32;
        self.rest = tail;
        head
    }

    fn skip_line(&mut self) {
        self.cut(self.rest.find('\n').unwrap_or(self.rest.len()));
    }

    /// Spaces and comments.
    fn skip_blank(&mut self) -> Result<(), PtxError> {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.cut(blank);
            if self.rest.starts_with("//") {
                self.skip_line();
            } else if self.rest.starts_with("/*") {
                let end =
                    self.rest.find("*/").ok_or_else(|| self.error("a comment without end"))?;
                self.cut(end + 2);
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Option<Token<'a>>, PtxError> {
        self.skip_blank()?;
        let line = self.line;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        let kind = match first {
            '0'..='9' => self.number()?,
            '"' => {
                let close =
                    self.rest[1..].find('"').ok_or_else(|| self.error("a text without end"))?;
                let quoted = self.cut(close + 2);
                TokenKind::Text(&quoted[1..=close])
            }
            c if in_word(c) => self.a_word(),
            c => {
                self.cut(c.len_utf8());
                TokenKind::Punctuation(c)
            }
        };
        Ok(Some(Token { kind, line }))
    }

    /// A word; `::` belongs to it, a single colon ends a label.
    fn a_word(&mut self) -> TokenKind<'a> {
        let bytes = self.rest.as_bytes();
        let mut end = 0;
        while let Some(&byte) = bytes.get(end) {
            if in_word(char::from(byte)) {
                end += 1;
            } else if bytes[end..].starts_with(b"::") {
                end += 2;
            } else {
                break;
            }
        }
        TokenKind::Word(self.cut(end))
    }

    fn number(&mut self) -> Result<TokenKind<'a>, PtxError> {
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '.')
            .unwrap_or(self.rest.len());
        let text = self.cut(end);
        let wrong = || self.error(format!("`{text}` is not a number"));
        let radix = |digits: &str, radix| u64::from_str_radix(digits, radix).map_err(|_| wrong());
        let plain = text.strip_suffix('U').unwrap_or(text);
        match text.get(..2) {
            Some("0f" | "0F") if text.len() == 10 => {
                Ok(TokenKind::F32(radix(&text[2..], 16)? as u32))
            }
            Some("0d" | "0D") if text.len() == 18 => Ok(TokenKind::F64(radix(&text[2..], 16)?)),
            Some("0x" | "0X") => Ok(TokenKind::Integer(radix(&plain[2..], 16)?)),
            Some("0b" | "0B") => Ok(TokenKind::Integer(radix(&plain[2..], 2)?)),
            _ if text.contains('.') => {
                text.parse().map(|value: f64| TokenKind::F64(value.to_bits())).map_err(|_| wrong())
            }
            _ if plain.len() > 1 && plain.starts_with('0') => {
                Ok(TokenKind::Integer(radix(&plain[1..], 8)?))
            }
            _ => Ok(TokenKind::Integer(radix(plain, 10)?)),
        }
    }
}
