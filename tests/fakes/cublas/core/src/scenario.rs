//! What the stand-ins pretend: words joined by `+` in `FAKE_CUBLAS`.
//!
//! | word | what it does |
//! | --- | --- |
//! | `version:12.8.4` | the library's version |
//! | `cublasGemmEx=15` | every call of a function returns a status |
//! | `cublasGemmEx/16bf=15` | those whose A has a format: `32f`, `16f`, `16bf`, `8i`, `e4m3`, `e5m2` |
//! | `cublasGemmEx/16f@64x64x64=15` | those of one shape, m × n × k |
//! | `hang:cublasLtMatmul` | a call never returns |
//! | `crash:cublasCreate_v2` | the process dies of SIGILL in a call |
//! | `latte` | `cublasGemmEx/16f=15`, what users of Latte met where two cuBLAS were mixed (github.com/Vchitect/Latte/issues/125) |

use crate::kinds::Kind;
use crate::product::Product;

/// Version if none is said.
pub const VERSION: u32 = 120_804;

/// What a call does instead of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Returns a status.
    Status(u32),
    /// Never returns.
    Hang,
    /// Executes an illegal instruction.
    Crash,
}

/// One thing that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    function: String,
    kind: Option<Kind>,
    shape: Option<[usize; 3]>,
    effect: Effect,
}

/// What is pretended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// `120804` for 12.8.4.
    pub version: u32,
    /// What goes wrong.
    pub faults: Vec<Fault>,
}

impl Scenario {
    /// Reads words; see the module. A word it does not know is named on stderr.
    pub fn parse(text: &str) -> Self {
        let mut scenario = Self { version: VERSION, faults: Vec::new() };
        for word in text.split('+').filter(|word| !word.is_empty()) {
            let meaning = if word == "latte" { "cublasGemmEx/16f=15" } else { word };
            if scenario.add(meaning).is_none() {
                eprintln!("stand-in cuBLAS: no scenario word {word:?}");
            }
        }
        scenario
    }

    /// The scenario of the environment.
    pub fn here() -> Self {
        Self::parse(&std::env::var("FAKE_CUBLAS").unwrap_or_default())
    }

    fn add(&mut self, word: &str) -> Option<()> {
        if let Some(version) = word.strip_prefix("version:") {
            let mut parts = version.splitn(3, '.').map(str::parse::<u32>);
            let [major, minor, patch] = [(); 3].map(|()| parts.next().unwrap_or(Ok(0)));
            self.version = major.ok()? * 10_000 + minor.ok()? * 100 + patch.ok()?;
            return Some(());
        }
        let whole = |function: &str, effect| Fault {
            function: function.to_owned(),
            kind: None,
            shape: None,
            effect,
        };
        let fault = if let Some(function) = word.strip_prefix("hang:") {
            whole(function, Effect::Hang)
        } else if let Some(function) = word.strip_prefix("crash:") {
            whole(function, Effect::Crash)
        } else {
            let (call, status) = word.split_once('=')?;
            let (call, shape) = match call.split_once('@') {
                Some((call, shape)) => (call, Some(sizes(shape)?)),
                None => (call, None),
            };
            let (function, kind) = match call.split_once('/') {
                Some((function, kind)) => (function, Some(Kind::named(kind)?)),
                None => (call, None),
            };
            Fault { kind, shape, ..whole(function, Effect::Status(status.parse().ok()?)) }
        };
        self.faults.push(fault);
        Some(())
    }

    /// What a call does instead of its work, if anything.
    pub fn effect(&self, function: &str, product: Option<&Product>) -> Option<Effect> {
        let strikes = |fault: &&Fault| {
            let kind = fault.kind.is_none_or(|kind| product.is_some_and(|it| it.a.kind == kind));
            let shape = fault
                .shape
                .is_none_or(|shape| product.is_some_and(|it| [it.m, it.n, it.k] == shape));
            fault.function == function && kind && shape
        };
        self.faults.iter().find(strikes).map(|fault| fault.effect)
    }
}

fn sizes(text: &str) -> Option<[usize; 3]> {
    let sizes: Option<Vec<usize>> = text.split('x').map(|size| size.parse().ok()).collect();
    sizes?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Compute;
    use crate::matrix::Matrix;

    fn product(kind: Kind, m: usize) -> Product {
        let a = Matrix { address: 0, kind, rows: m, columns: 8, leading: m };
        let (compute, transposed) = (Compute::F32, (false, false));
        let (alpha, beta, scales) = (1.0, 0.0, [0; 2]);
        Product { m, n: 8, k: 8, transposed, a, b: a, c: a, d: a, compute, alpha, beta, scales }
    }

    #[test]
    fn words_say_which_calls_fail() {
        let scenario =
            Scenario::parse("version:13.0+latte+cublasGemmEx/16bf@64x8x8=8+hang:cublasLtCreate");
        assert_eq!(scenario.version, 130_000);
        let gemm = |kind, m| scenario.effect("cublasGemmEx", Some(&product(kind, m)));
        assert_eq!(gemm(Kind::F16, 1), Some(Effect::Status(15)));
        assert_eq!(gemm(Kind::F32, 1), None);
        assert_eq!(gemm(Kind::Bf16, 64), Some(Effect::Status(8)));
        assert_eq!(gemm(Kind::Bf16, 65), None);
        assert_eq!(scenario.effect("cublasLtCreate", None), Some(Effect::Hang));
        assert_eq!(scenario.effect("cublasHgemm", Some(&product(Kind::F16, 1))), None);
        assert_eq!(Scenario::parse("").version, VERSION);
    }

    #[test]
    fn words_that_say_nothing_change_nothing() {
        for word in ["x", "cublasGemmEx=", "cublasGemmEx/9f=1", "cublasGemmEx@1x2=1", "version:x"] {
            assert_eq!(Scenario::parse(word), Scenario::parse(""), "{word}");
        }
    }
}
