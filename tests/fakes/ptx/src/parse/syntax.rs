//! What a PTX text says, names unresolved.

/// State space of a variable or an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// To be told by the address.
    Generic,
    /// Device memory.
    Global,
    /// Device memory that kernels do not write.
    Const,
    /// Of the block.
    Shared,
    /// Of the thread.
    Local,
    /// Parameters: of the launch in an entry, of the call in a function.
    Param,
}

/// A module.
#[derive(Debug, Default)]
pub(crate) struct Unit<'a> {
    pub(crate) version: (u32, u32),
    pub(crate) target: &'a str,
    pub(crate) variables: Vec<Variable<'a>>,
    pub(crate) functions: Vec<Function<'a>>,
}

/// A variable in memory.
#[derive(Clone, Debug)]
pub(crate) struct Variable<'a> {
    pub(crate) name: &'a str,
    pub(crate) space: Space,
    pub(crate) bytes: u32,
    pub(crate) align: u32,
    /// Declared elsewhere; shared memory of the launch's size.
    pub(crate) external: bool,
    /// First bytes; zero behind.
    pub(crate) initial: Vec<u8>,
    /// Pointers among the bytes: offset, name.
    pub(crate) pointers: Vec<(u32, &'a str)>,
    pub(crate) line: u32,
}

/// An entry or a function.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) entry: bool,
    pub(crate) returns: Vec<Variable<'a>>,
    pub(crate) params: Vec<Variable<'a>>,
    pub(crate) max_threads: Option<[u32; 3]>,
    pub(crate) required_threads: Option<[u32; 3]>,
    pub(crate) min_blocks: Option<u32>,
    /// Blocks of a cluster.
    pub(crate) cluster: Option<[u32; 3]>,
    /// `None` for a declaration.
    pub(crate) body: Option<Vec<Statement<'a>>>,
    pub(crate) line: u32,
}

/// A statement of a body and its line.
#[derive(Debug)]
pub(crate) struct Statement<'a> {
    pub(crate) line: u32,
    pub(crate) kind: StatementKind<'a>,
}

/// What stands in a body.
#[derive(Debug)]
pub(crate) enum StatementKind<'a> {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `name:`
    Label(&'a str),
    /// `.reg .b32 %r<4>;`: type, name, and how many where numbered.
    Registers(&'a str, &'a str, Option<u32>),
    /// `.shared`, `.local`, `.param` or `.global` inside a body.
    Variable(Variable<'a>),
    /// `name: .branchtargets a, b;`
    Targets(&'a str, Vec<&'a str>),
    /// An instruction.
    Instruction(Instruction<'a>),
}

/// An instruction.
#[derive(Debug)]
pub(crate) struct Instruction<'a> {
    /// `@p` or `@!p`: register, negated.
    pub(crate) guard: Option<(&'a str, bool)>,
    /// `ld.global.f32`
    pub(crate) mnemonic: &'a str,
    pub(crate) operands: Vec<Operand<'a>>,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand<'a> {
    /// Register, variable, function or label; negated with `!`.
    Name(&'a str, bool),
    /// Integer, two's complement.
    Integer(u64),
    /// binary32 bits.
    F32(u32),
    /// binary64 bits.
    F64(u64),
    /// `[base+offset]`
    Address(Option<&'a str>, i64),
    /// `[base, {a, b}]`: a tensor map and coordinates.
    Tile(&'a str, Vec<Operand<'a>>),
    /// `{a, b}`
    Vector(Vec<Operand<'a>>),
    /// `p|q`
    Pair(&'a str, &'a str),
    /// `(a, b)`
    List(Vec<Operand<'a>>),
}

/// Bytes of a fundamental type; a predicate has none.
pub(crate) fn type_bytes(name: &str) -> Option<u32> {
    Some(match name {
        "b8" | "u8" | "s8" => 1,
        "b16" | "u16" | "s16" | "f16" | "bf16" => 2,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" | "tf32" => 4,
        "b64" | "u64" | "s64" | "f64" => 8,
        "b128" => 16,
        _ => return None,
    })
}
