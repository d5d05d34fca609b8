//! The innermost loop of a kernel around the work it is there for: what a warp does there for a weight, or for a product of tiles.
//!
//! Work is counted from the instructions themselves, weights by the loads that bring them and products by their shape, so that no number written by
//! hand decides what a kernel costs. The loop is what it costs: what comes before and after is paid once a block.

use std::collections::{BTreeMap, BTreeSet};

use crate::flow::loops;
use crate::recipe::InnerBudget;
use crate::sass::{Code, Instruction, counts};

/// Kinds of instructions, by what they occupy.
pub(crate) const KINDS: &[(&str, &[&str])] = &[
    (
        "mma",
        &[
            "HMMA", "IMMA", "QMMA", "OMMA", "BMMA", "DMMA", "HGMMA", "IGMMA", "QGMMA", "UTCHMMA",
            "UTCQMMA",
        ],
    ),
    ("fma", &["FFMA", "FMUL", "FADD", "HFMA2", "HADD2", "HMUL2", "IDP", "DFMA", "DMUL", "DADD"]),
    ("sfu", &["MUFU"]),
    ("ldg", &["LDG", "LD"]),
    ("lds", &["LDS", "LDSM", "SHFL"]),
    ("copy", &["LDGSTS", "UTMALDG", "UBLKCP", "UTMASTG"]),
    (
        "alu",
        &[
            "LOP3", "SHF", "IADD3", "VIADD", "LEA", "ISETP", "FSETP", "HSETP2", "PRMT", "SEL",
            "FSEL", "FMNMX", "IMNMX", "VIMNMX", "PLOP3", "BMSK", "SGXT", "MOV", "IABS", "HMNMX2",
        ],
    ),
];

/// Shapes of products: the number in an instruction's name, and m × n × k.
const SHAPES: &[(&str, [u32; 3])] = &[
    ("1688", [16, 8, 8]),
    ("16816", [16, 8, 16]),
    ("16832", [16, 8, 32]),
    ("16864", [16, 8, 64]),
    ("8816", [8, 8, 16]),
    ("8832", [8, 8, 32]),
];

/// Once through the loop, by one warp.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Inner {
    /// Instructions but padding.
    pub all: u32,
    /// Of these, by kind.
    pub kinds: BTreeMap<&'static str, u32>,
    /// How often those occur that budgets name.
    pub named: BTreeMap<String, u32>,
    /// How often those that a budget wants beside products occur there.
    pub meanwhile: BTreeMap<String, u32>,
    /// Weights that are taken from memory.
    pub weights: u32,
    /// Name of the products: `HMMA`.
    pub product: Option<String>,
    /// Products it takes part in.
    pub products: u32,
    /// Operations of these products, a multiply-add counting as two; of what four warps do together a fourth.
    pub flops: f64,
    /// Bytes of shared memory that are read and written, without conflicts; a shuffle counts as much as a load, and of what four warps read
    /// together a fourth.
    pub shared_bytes: f64,
}

impl Inner {
    /// The loop a budget speaks of; none where no loop holds what it names.
    pub(crate) fn find(code: &Code, budget: &InnerBudget) -> Option<Self> {
        let wanted: Vec<&str> = match (budget.weights.is_empty(), budget.around.is_empty()) {
            (false, _) => budget.weights.keys().map(String::as_str).collect(),
            (true, false) => budget.around.iter().map(String::as_str).collect(),
            (true, true) => KINDS[0].1.to_vec(),
        };
        let holds = |body: &BTreeSet<usize>| {
            let held = body.iter().map(|at| code.instructions[*at]);
            held.filter(|one| !one.is_idle() && wanted.iter().any(|name| one.is(name))).count()
        };
        let all = loops(code);
        let around: Vec<(usize, &BTreeSet<usize>)> =
            all.iter().map(|body| (holds(body), body)).filter(|row| row.0 > 0).collect();
        let is_outer = |body: &BTreeSet<usize>| {
            around.iter().any(|(_, other)| other.len() < body.len() && other.is_subset(body))
        };
        let inner = around.iter().filter(|(_, body)| !is_outer(body));
        // Of copies that the compiler made for a remainder the largest counts; of equals the first.
        let (_, body) = inner.rev().max_by_key(|row| row.0)?;
        let instructions: Vec<Instruction> = body.iter().map(|at| code.instructions[*at]).collect();
        Some(Self::of(&instructions, budget))
    }

    fn of(instructions: &[Instruction], budget: &InnerBudget) -> Self {
        let named = counts(instructions, budget.names());
        let count = |name: &str| named.get(name).copied().unwrap_or(0);
        let mut inner = Self {
            all: count("all"),
            meanwhile: counts(
                between_waits(instructions),
                budget.meanwhile.keys().map(String::as_str),
            ),
            weights: budget.weights.iter().map(|(name, each)| count(name) * each).sum(),
            ..Self::default()
        };
        for one in instructions.iter().filter(|one| !one.is_idle()) {
            if let Some(kind) = kind(*one) {
                *inner.kinds.entry(kind).or_default() += 1;
            }
            if let Some(flops) = product(*one) {
                inner.product = one.opcode.split('.').next().map(str::to_owned);
                inner.products += 1;
                inner.flops += flops;
            }
            inner.shared_bytes += shared_bytes(*one);
        }
        Self { named, ..inner }
    }

    /// Instructions of a kind.
    pub(crate) fn kind(&self, kind: &str) -> u32 {
        self.kinds.get(kind).copied().unwrap_or(0)
    }

    /// Instructions of all lanes for a weight; none where weights are not what is counted.
    pub(crate) fn per_weight(&self) -> Option<f64> {
        (self.weights > 0).then(|| f64::from(32 * self.all) / f64::from(self.weights))
    }

    /// Loads from shared memory and shuffles of all lanes for a weight.
    pub(crate) fn shared_per_weight(&self) -> Option<f64> {
        (self.weights > 0).then(|| f64::from(32 * self.kind("lds")) / f64::from(self.weights))
    }

    /// Instructions for a product of tiles.
    pub(crate) fn per_product(&self) -> Option<f64> {
        (self.products > 0).then(|| f64::from(self.all) / f64::from(self.products))
    }

    /// Bytes of shared memory for a product of tiles.
    pub(crate) fn shared_bytes_per_product(&self) -> Option<f64> {
        (self.products > 0).then(|| self.shared_bytes / f64::from(self.products))
    }
}

/// What stands between the first wait for products of a warpgroup and the next.
fn between_waits<'a, 's>(instructions: &'a [Instruction<'s>]) -> &'a [Instruction<'s>] {
    instructions.split(|one| one.is("WARPGROUP.DEPBAR")).nth(1).unwrap_or_default()
}

fn kind(one: Instruction) -> Option<&'static str> {
    KINDS.iter().find(|(_, names)| names.iter().any(|name| one.is(name))).map(|row| row.0)
}

/// Operations of a product, as far as they are one warp's: `HGMMA.64x256x16.F32` is done by four together.
fn product(one: Instruction) -> Option<f64> {
    if kind(one) != Some("mma") {
        return None;
    }
    let parts = || one.opcode.split('.').skip(1);
    if let Some(shape) = parts().find_map(|part| SHAPES.iter().find(|row| row.0 == part)) {
        return Some(operations(shape.1));
    }
    let shape = parts().find_map(sides)?;
    Some(operations(shape) / 4.0)
}

fn operations([m, n, k]: [u32; 3]) -> f64 {
    2.0 * f64::from(m) * f64::from(n) * f64::from(k)
}

/// `64x256x16`
fn sides(part: &str) -> Option<[u32; 3]> {
    let sides: Option<Vec<u32>> = part.split('x').map(|side| side.parse().ok()).collect();
    sides?.try_into().ok()
}

/// Bytes of shared memory that an instruction of one warp moves at least.
fn shared_bytes(one: Instruction) -> f64 {
    let has = |part: &str| one.opcode.split('.').any(|own| own == part);
    let name = one.opcode.split('.').next().unwrap_or_default();
    let wide = match (has("128"), has("64")) {
        (true, _) => 512.0,
        (_, true) => 256.0,
        _ => 128.0,
    };
    match name {
        "LDS" | "STS" | "LDGSTS" => wide,
        "SHFL" => 128.0,
        "LDSM" | "STSM" if has("4") => 512.0,
        "LDSM" | "STSM" if has("2") => 256.0,
        "LDSM" | "STSM" => 128.0,
        "HGMMA" | "IGMMA" | "QGMMA" => tiles_bytes(one).unwrap_or(0.0) / 4.0,
        _ => 0.0,
    }
}

/// What a product of four warps reads of its factors: B always, A unless it lies in registers (then a descriptor comes second only).
fn tiles_bytes(one: Instruction) -> Option<f64> {
    let [m, n, k] = one.opcode.split('.').skip(1).find_map(sides)?;
    let bytes = if one.is("HGMMA") { 2 } else { 1 };
    let second = one.operands.split(',').nth(1)?.trim();
    let rows = if second.starts_with("gdesc") { m + n } else { n };
    Some(f64::from(rows * k * bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sass::sections;

    fn find(body: &str, budget: &str) -> Option<Inner> {
        let text = format!("\t.section\t.text.k,\"ax\",@progbits\nk:\n{body}");
        let budget: InnerBudget = toml::from_str(&format!("entries = [\"k\"]\n{budget}")).unwrap();
        Inner::find(&sections(&text)["k"], &budget)
    }

    /// 16 bytes a lane are 1024 weights of four bits a warp; the product is by hand 2 · 16 · 8 · 16 operations.
    #[test]
    fn weights_are_counted_by_the_loads_that_bring_them() {
        let body = "
            /*0000*/ LDG.E.NA.128.CONSTANT R4, [R2.64] ;
.L_0:
            /*0010*/ LDG.E.NA.128.CONSTANT R4, desc[UR6][R2.64] ;
            /*0020*/ LDG.E.128.CONSTANT R8, desc[UR6][R2.64] ;
            /*0030*/ LDS.64 R12, [R1] ;
            /*0040*/ LOP3.LUT R4, R4, 0xf000f, R5, 0xea, !PT ;
            /*0050*/ HMMA.16816.F32 R4, R8, R12, R4 ;
            /*0060*/ NOP ;
            /*0070*/ @P0 BRA `(.L_0) ;
            /*0080*/ EXIT ;";
        let inner = find(body, "weights = { \"LDG.128.NA\" = 1024 }").unwrap();
        assert_eq!((inner.all, inner.weights, inner.products), (6, 1024, 1));
        assert_eq!(inner.per_weight(), Some(6.0 * 32.0 / 1024.0));
        assert_eq!(inner.shared_per_weight(), Some(32.0 / 1024.0));
        assert_eq!((inner.flops, inner.shared_bytes), (4096.0, 256.0));
        let kinds = ["mma", "ldg", "lds", "alu", "fma"].map(|kind| inner.kind(kind));
        assert_eq!(kinds, [1, 2, 1, 1, 0]);
        assert_eq!(find(body, "weights = { LDGSTS = 1024 }"), None);
        assert_eq!(find(body, "around = [\"HGMMA\"]"), None);
    }

    /// By hand: 64×256×16 of two bytes, a fourth a warp; A in registers is not read again.
    #[test]
    fn products_of_four_warps_count_a_fourth_for_each() {
        let body = "
.L_0:
            /*0000*/ SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR4], R2 ;
            /*0010*/ @!P1 BRA `(.L_0) ;
            /*0020*/ HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24, gsb0 ;
            /*0030*/ HGMMA.64x256x16.F32.BF16 R24, R152, gdesc[UR8], R24 ;
            /*0040*/ @P0 BRA `(.L_0) ;
            /*0050*/ EXIT ;";
        let inner = find(body, "").unwrap();
        assert_eq!((inner.all, inner.products), (5, 2));
        assert_eq!(inner.flops, 2.0 * 2.0 * 64.0 * 256.0 * 16.0 / 4.0);
        assert_eq!(inner.shared_bytes, f64::from((64 + 256) * 32 + 256 * 32) / 4.0);
        assert_eq!(inner.product.as_deref(), Some("HGMMA"));
    }

    /// The compiler may move a wait ahead of what was meant to go on before it.
    #[test]
    fn what_goes_on_between_two_waits_is_counted() {
        let wait = |pending| format!("/*0010*/ WARPGROUP.DEPBAR.LE gsb0, {pending} ;\n");
        let body = |parts: [&str; 3]| {
            let [before, between, after] = parts;
            let (some, all) = (wait(1), wait(0));
            format!(
                ".L_0:\n/*0000*/ HGMMA.64x128x16.F32 R24, gdesc[UR8], R24, gsb0 ;\n{before}{some}{between}{all}{after}/*0020*/ @P0 BRA `(.L_0) ;\n/*0030*/ EXIT ;"
            )
        };
        let work = "/*0040*/ MUFU.EX2 R1, R2 ;\n";
        for (parts, count) in [(["", work, ""], 1), (["", "", work], 0), ([work, "", ""], 0)] {
            let inner = find(&body(parts), "meanwhile = { \"MUFU.EX2\" = 1 }").unwrap();
            assert_eq!(inner.meanwhile.get("MUFU.EX2").copied().unwrap_or(0), count);
        }
    }

    #[test]
    fn the_copy_for_the_remainder_is_not_the_loop() {
        let body = "
.L_0:
            /*0000*/ FFMA R1, R2, R3, R1 ;
            /*0010*/ @P0 BRA `(.L_0) ;
.L_1:
            /*0020*/ FFMA R1, R2, R3, R1 ;
            /*0030*/ FFMA R1, R4, R5, R1 ;
            /*0040*/ @P0 BRA `(.L_1) ;
            /*0050*/ EXIT ;";
        assert_eq!(find(body, "around = [\"FFMA\"]").unwrap().all, 3);
    }

    #[test]
    fn an_instruction_is_of_one_kind() {
        let mut all: Vec<&str> = KINDS.iter().flat_map(|row| row.1).copied().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
