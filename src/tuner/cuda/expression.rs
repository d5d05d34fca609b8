//! Whole numbers a launch is made of, as the sizes of a problem give them: `ceil_div(n, rows)`; comparisons are 1 or 0, as in C. Metrics of a
//! candidate are the same language over real numbers.
//!
//! A language of its own was weighed against one that a library brings: of those there are, the small ones compute in floating point, which
//! rounds grids, and the exact ones bring strings, assignments and functions nobody asked for.

use std::collections::BTreeMap;
use std::fmt;

/// Deepest nesting that is read.
const DEEPEST: usize = 32;

/// Functions of two numbers.
const FUNCTIONS: &[(&str, Operation, Real)] = &[
    (
        "ceil_div",
        |a, b| (b > 0 && a >= 0).then(|| a / b + i64::from(a % b != 0)),
        |a, b| (a / b).ceil(),
    ),
    ("min", |a, b| Some(a.min(b)), f64::min),
    ("max", |a, b| Some(a.max(b)), f64::max),
];
/// Signs between two numbers, those that bind less first.
const SIGNS: [&[(&str, Operation, Real)]; 6] = [
    &[("||", |a, b| Some((a != 0 || b != 0).into()), |a, b| (a != 0.0 || b != 0.0).into())],
    &[("&&", |a, b| Some((a != 0 && b != 0).into()), |a, b| (a != 0.0 && b != 0.0).into())],
    &[
        ("==", |a, b| Some((a == b).into()), |a, b| (a == b).into()),
        ("!=", |a, b| Some((a != b).into()), |a, b| (a != b).into()),
    ],
    &[
        ("<=", |a, b| Some((a <= b).into()), |a, b| (a <= b).into()),
        (">=", |a, b| Some((a >= b).into()), |a, b| (a >= b).into()),
        ("<", |a, b| Some((a < b).into()), |a, b| (a < b).into()),
        (">", |a, b| Some((a > b).into()), |a, b| (a > b).into()),
    ],
    &[("+", i64::checked_add, |a, b| a + b), ("-", i64::checked_sub, |a, b| a - b)],
    &[
        ("*", i64::checked_mul, |a, b| a * b),
        ("/", i64::checked_div, |a, b| a / b),
        ("%", i64::checked_rem, |a, b| a % b),
    ],
];

type Operation = fn(i64, i64) -> Option<i64>;
type Real = fn(f64, f64) -> f64;

/// A number, a name, or an operation on two expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    text: String,
    node: Node,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Number(i64),
    /// As it was written.
    Real(String),
    Name(String),
    /// Row of its table, and in it the place.
    Sign(usize, usize, Box<[Node; 2]>),
    Function(usize, Box<[Node; 2]>),
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Expression {
    /// Reads one. `Err` says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::read(text, false)
    }

    /// Reads one over real numbers: `1.5e-9` is a number too.
    pub fn parse_real(text: &str) -> Result<Self, String> {
        Self::read(text, true)
    }

    fn read(text: &str, is_real: bool) -> Result<Self, String> {
        let mut reader = Reader { rest: text, deep: 0, is_real };
        let node = reader.chain(0).map_err(|why| format!("{text:?}: {why}"))?;
        if !reader.rest.trim().is_empty() {
            return Err(format!("{text:?}: {:?} is left over", reader.rest.trim()));
        }
        Ok(Self { text: text.to_owned(), node })
    }

    /// Names in it.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.node.names(&mut names);
        names
    }

    /// Its value. `Err` says which name has no number, or that it has no value.
    pub fn value(&self, values: &BTreeMap<String, String>) -> Result<i64, String> {
        self.node.value(values).map_err(|why| format!("{self}: {why}"))
    }

    /// Its value over real numbers; none where a name has none, or where it is not finite.
    pub fn real(&self, value: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        self.node.real(value).filter(|value| value.is_finite())
    }
}

impl Node {
    fn names<'a>(&'a self, found: &mut Vec<&'a str>) {
        match self {
            Self::Number(_) | Self::Real(_) => {}
            Self::Name(name) => found.push(name),
            Self::Sign(_, _, sides) | Self::Function(_, sides) => {
                sides.iter().for_each(|side| side.names(found));
            }
        }
    }

    fn value(&self, values: &BTreeMap<String, String>) -> Result<i64, String> {
        let (operation, sides) = match self {
            Self::Number(number) => return Ok(*number),
            Self::Real(text) => return Err(format!("{text} is no whole number")),
            Self::Name(name) => {
                let text = values.get(name).ok_or_else(|| format!("{name} has no value"))?;
                return text.parse().map_err(|_| format!("{name} is {text}, no whole number"));
            }
            Self::Sign(row, place, sides) => (SIGNS[*row][*place].1, sides),
            Self::Function(place, sides) => (FUNCTIONS[*place].1, sides),
        };
        let (a, b) = (sides[0].value(values)?, sides[1].value(values)?);
        operation(a, b).ok_or_else(|| format!("with {a} and {b} it has no value"))
    }

    fn real(&self, value: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        let (operation, sides) = match self {
            Self::Number(number) => return Some(*number as f64),
            Self::Real(text) => return text.parse().ok(),
            Self::Name(name) => return value(name),
            Self::Sign(row, place, sides) => (SIGNS[*row][*place].2, sides),
            Self::Function(place, sides) => (FUNCTIONS[*place].2, sides),
        };
        Some(operation(sides[0].real(value)?, sides[1].real(value)?))
    }
}

struct Reader<'a> {
    rest: &'a str,
    deep: usize,
    is_real: bool,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn eat(&mut self, wanted: char) -> Result<(), String> {
        match self.next() {
            Some(found) if found == wanted => {
                self.rest = &self.rest[found.len_utf8()..];
                Ok(())
            }
            Some(found) => Err(format!("{wanted:?} expected, found {found:?}")),
            None => Err(format!("{wanted:?} expected at its end")),
        }
    }

    /// Terms between signs of one row, from the left.
    fn chain(&mut self, row: usize) -> Result<Node, String> {
        let Some(signs) = SIGNS.get(row) else { return self.single() };
        let mut left = self.chain(row + 1)?;
        while let Some(place) = self.sign(signs) {
            self.rest = &self.rest[signs[place].0.len()..];
            let right = self.chain(row + 1)?;
            left = Node::Sign(row, place, Box::new([left, right]));
        }
        Ok(left)
    }

    fn sign(&mut self, signs: &[(&str, Operation, Real)]) -> Option<usize> {
        self.next()?;
        signs.iter().position(|one| self.rest.starts_with(one.0))
    }

    fn single(&mut self) -> Result<Node, String> {
        self.deep += 1;
        if self.deep > DEEPEST {
            return Err(format!("nested deeper than {DEEPEST}"));
        }
        let node = match self.next() {
            Some('(') => {
                self.eat('(')?;
                let inner = self.chain(0)?;
                self.eat(')')?;
                inner
            }
            Some(first) if self.is_real && first.is_ascii_digit() => self.number()?,
            Some(first) if first.is_ascii_digit() => {
                let digits = self.word(|letter| letter.is_ascii_digit());
                Node::Number(digits.parse().map_err(|_| format!("{digits} is too large"))?)
            }
            Some(first) if first.is_ascii_alphabetic() || first == '_' => self.named()?,
            Some(other) => return Err(format!("{other:?} begins no number")),
            None => return Err("a number is missing at its end".to_owned()),
        };
        self.deep -= 1;
        Ok(node)
    }

    /// Digits with a point and an exponent.
    fn number(&mut self) -> Result<Node, String> {
        let mut text = self.word(|letter| letter.is_ascii_digit() || letter == '.');
        if self.rest.starts_with(['e', 'E']) {
            self.rest = &self.rest[1..];
            let sign = self.rest.starts_with(['+', '-']).then(|| &self.rest[..1]);
            self.rest = &self.rest[sign.map_or(0, str::len)..];
            let digits = self.word(|letter| letter.is_ascii_digit());
            text = format!("{text}e{}{digits}", sign.unwrap_or_default());
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Node::Real(text)),
            _ => Err(format!("{text} is no number")),
        }
    }

    fn named(&mut self) -> Result<Node, String> {
        let name = self.word(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if self.next() != Some('(') {
            return Ok(Node::Name(name));
        }
        let Some(place) = FUNCTIONS.iter().position(|row| row.0 == name) else {
            let known: Vec<&str> = FUNCTIONS.iter().map(|row| row.0).collect();
            return Err(format!("no function {name}; known: {}", known.join(", ")));
        };
        self.eat('(')?;
        let first = self.chain(0)?;
        self.eat(',')?;
        let second = self.chain(0)?;
        self.eat(')')?;
        Ok(Node::Function(place, Box::new([first, second])))
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|letter| !belongs(letter)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Result<i64, String> {
        let values =
            [("n", "1000"), ("rows", "3"), ("word", "fast"), ("big", "9223372036854775807")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Expression::parse(text)?.value(&BTreeMap::from(values))
    }

    #[test]
    fn arithmetic_is_that_of_school() {
        for (text, want) in [
            ("7", 7),
            ("n", 1000),
            (" 2 + 3 * 4 ", 14),
            ("(2 + 3) * 4", 20),
            ("100 - 10 - 1", 89),
            ("100 / 10 / 2", 5),
            ("n % 7", 6),
            ("ceil_div(n, rows)", 334),
            ("ceil_div(999, rows) * 32", 10_656),
            ("min(n, 4) + max(rows, 2)", 7),
            ("n * rows <= 3000 && rows > 2", 1),
            ("n % 7 == 0 || rows != 3", 0),
            ("1 + 1 < 2", 0),
        ] {
            assert_eq!(value(text), Ok(want), "{text}");
        }
    }

    #[test]
    fn metrics_are_computed_over_real_numbers() {
        let value = |name: &str| {
            [("time_s", 0.5), ("flops", 3e9)].into_iter().find(|row| row.0 == name).map(|row| row.1)
        };
        for (text, want) in [
            ("flops / time_s / 1e9", Some(6.0)),
            ("1.5e-3 * 2", Some(0.003)),
            ("max(time_s, 1) + 7 / 2", Some(4.5)),
            ("(time_s < 1) * 10", Some(10.0)),
            ("flops / (time_s - 0.5)", None),
            ("power_w", None),
        ] {
            let read = Expression::parse_real(text).expect(text);
            assert_eq!(read.real(&value), want, "{text}");
        }
        for text in ["1.2.3", "1e", "1e999", "", ".5"] {
            assert!(Expression::parse_real(text).is_err(), "{text}");
        }
        assert!(Expression::parse("1.5").is_err());
    }

    #[test]
    fn what_has_no_value_says_why() {
        for (text, part) in [
            ("", "missing"),
            ("2 +", "missing"),
            ("2 3", "left over"),
            ("(2", "')' expected"),
            ("k", "k has no value"),
            ("word", "fast, no whole number"),
            ("n / (rows - 3)", "no value"),
            ("big + 1", "no value"),
            ("99999999999999999999", "too large"),
            ("sqrt(4, 2)", "ceil_div, min, max"),
            ("min(2)", "',' expected"),
            ("ü", "begins no number"),
        ] {
            let error = value(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(value(&"(".repeat(1000)).expect_err("deep").contains("nested"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[-0-9a-z_+*/%(),<>=!&| ü]{0,40}") {
            let _ = value(&text);
            let _ = Expression::parse_real(&text).map(|read| read.real(&|_| Some(0.0)));
        }
    }
}
