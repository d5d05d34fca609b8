//! What proves a product: whole numbers to the bit, random ones within a limit, and what overflows, is no number or is tiny.

use super::super::number::Number;
use super::super::operand::normal;
use super::{Operands, Product, hopper, launch};
use crate::gpu::{Case, Content, DeviceFacts, Element, Expect, Judge, Shape};
use crate::model::hash;

/// Rows, columns, multiples of [`Product::multiple`], and multiprocessors to plan for: with one of them tiles are large. Odd
/// widths end in different columns of a warp's part.
const SIZES: &[(u32, u32, u32, u32)] = &[
    (1, 1, 1, 80),
    (17, 33, 3, 80),
    (67, 129, 5, 80),
    (5, 7, 37, 80),
    (131, 137, 2, 1),
    (3, 83, 19, 1),
    (9, 123, 1, 1),
    // Whole tiles.
    (64, 192, 2, 80),
    (128, 256, 1, 1),
    // More than eight tiles down: a band and a part of one.
    (531, 66, 1, 80),
];

/// Sizes of random numbers: short of a tile, over several, and along k.
const RANDOM: &[(u32, u32, u32, u32)] = &[(31, 45, 11, 80), (100, 71, 4, 80), (40, 130, 9, 1)];

/// Rows and columns of the special cases.
const SPECIAL: (u32, u32) = (19, 70);

/// The same for warpgroups, eight multiples a stage of four or six: less than one, as many as there are, the stages over again by blocks that
/// compute several tiles, which are cut in every direction.
const OF_WARPGROUPS: &[(u32, u32, u32, u32)] =
    &[(1, 8, 1, 132), (67, 72, 32, 132), (65, 136, 48, 132), (130, 264, 43, 2), (40, 24, 105, 1)];
/// And of random numbers.
const RANDOM_OF_WARPGROUPS: (u32, u32, u32, u32) = (150, 200, 17, 132);
/// Rows and columns of their special cases: what leaves by a tensor map has rows of a multiple of 16 bytes.
const SPECIAL_OF_WARPGROUPS: (u32, u32) = (19, 72);

/// Multiplicands of a case by row and column, X first.
type Fill<'a> = &'a dyn Fn(Side, u32, u32) -> f64;

/// Which matrix a number is in.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    X,
    W,
}

/// Every case of a product that the device has.
pub(super) fn cases(product: Product, facts: &DeviceFacts) -> Vec<Case> {
    if let crate::gpu::Route::Absent { .. } = product.route(facts) {
        return Vec::new();
    }
    let build = Builder { product, facts, special: SPECIAL };
    let whole = SIZES.iter().map(|size| build.whole(*size));
    let mut all: Vec<Case> = whole.collect();
    if product == Product::F32 {
        all.extend([(1, 1, 1, 80), (66, 35, 33, 1)].map(|size| build.whole_at(size, 1)));
    }
    if !product.row().input.whole() {
        all.extend(RANDOM.iter().map(|size| build.random(*size)));
        all.extend([build.tiny(), build.no_number()]);
    }
    all.extend(build.overflow());
    all.extend(build.cancel());
    let ways = hopper::ways(product, facts);
    all.extend(ways.iter().flat_map(|way| of_warpgroups(product, facts, way.variant.name)));
    all
}

/// Cases of a way by warpgroups.
fn of_warpgroups(product: Product, facts: &DeviceFacts, variant: &str) -> Vec<Case> {
    let facts = &facts.with_variant(product.id(), variant);
    let build = Builder { product, facts, special: SPECIAL_OF_WARPGROUPS };
    let mut all: Vec<Case> = OF_WARPGROUPS.iter().map(|size| build.whole(*size)).collect();
    if product.output() != Element::F16 && product.output() != Element::Bf16 {
        all.push(build.whole((33, 131, 9, 132)));
    }
    if !product.row().input.whole() {
        all.extend([build.random(RANDOM_OF_WARPGROUPS), build.tiny(), build.no_number()]);
    }
    all.extend(build.overflow());
    all.extend(build.cancel());
    for case in &mut all {
        case.name = format!("{}, {variant}", case.name);
    }
    all
}

/// Largest relative error of random numbers: rounding of the result, for fp16 sums also theirs.
fn limit(product: Product) -> f64 {
    match product {
        Product::F16 => 3e-4,
        Product::Bf16 => 2.5e-3,
        Product::F16Acc16 => 6e-3,
        Product::F32 => 5e-6,
        // Tensor cores cut where fp32 arithmetic rounds.
        Product::F16Out32 | Product::Bf16Out32 => 2e-5,
        Product::E4m3 | Product::E5m2 => 3e-3,
        Product::S8 | Product::S4 => 0.0,
    }
}

/// How results are stored.
fn output(product: Product) -> Number {
    match product.output() {
        Element::F16 => Number::F16,
        Element::Bf16 => Number::Bf16,
        Element::I32 => Number::S32,
        _ => Number::F32,
    }
}

struct Builder<'a> {
    product: Product,
    facts: &'a DeviceFacts,
    /// Rows and columns of the special cases.
    special: (u32, u32),
}

impl Builder<'_> {
    fn whole(&self, size: (u32, u32, u32, u32)) -> Case {
        self.whole_at(size, self.product.multiple().max(8))
    }

    /// Whole numbers. The sums of floating-point ones stay so small that no accumulator rounds them.
    fn whole_at(&self, (m, n, k, sms): (u32, u32, u32, u32), multiple: u32) -> Case {
        let shape = Shape { m, n, k: k * multiple, ..Shape::default() };
        let number = self.product.row().input;
        let one = move |side, row, column| {
            let random = hash(1 + side as u64, u64::from(row) << 20 | u64::from(column));
            match number {
                Number::S8 | Number::S4 => number.decode(random as u32),
                _ => (random % 7) as f64 - 3.0,
            }
        };
        self.exact("whole", shape, sms, &one)
    }

    fn random(&self, (m, n, k, sms): (u32, u32, u32, u32)) -> Case {
        let shape = Shape { m, n, k: k * self.product.multiple().max(8), ..Shape::default() };
        let one = |side, row: u32, column: u32| {
            f64::from(normal((row * shape.k + column) as usize, 3 + side as u64))
        };
        let limit = limit(self.product);
        self.case("random", shape, sms, &one, |reference| Judge::Near { reference, limit })
    }

    /// Sums of the least numbers there are: nothing is flushed to zero.
    fn tiny(&self) -> Case {
        let number = self.product.row().input;
        let factor = number.least();
        self.exact("tiny", self.special(2), 80, &|side, row, column| {
            let whole = f64::from((row + 3 * column) % 5) - 2.0;
            if side == Side::X { whole * factor } else { whole }
        })
    }

    /// NaN and infinities in single rows and columns.
    fn no_number(&self) -> Case {
        let infinite = self.product.row().input.stored(f64::INFINITY).is_infinite();
        self.exact("NaN", self.special(3), 80, &|side, row, column| match (side, row, column) {
            (Side::X, 2, 5) | (Side::W, 68, 0) => f64::NAN,
            (Side::X, 7, 9) if infinite => f64::INFINITY,
            (Side::X, 9, 9) if infinite => f64::NEG_INFINITY,
            // Zero times infinite.
            (Side::W, 33, 9) => 0.0,
            _ => 1.0,
        })
    }

    /// One result beyond the range, among others that are not.
    fn overflow(&self) -> Option<Case> {
        let large = match self.product {
            Product::F16 | Product::F16Out32 | Product::F16Acc16 => 256.0,
            Product::Bf16 | Product::Bf16Out32 | Product::F32 => 2_f64.powi(64),
            _ => return None,
        };
        let one = |_, row: u32, column: u32| match (row, column) {
            (11, 4) => large,
            (_, 4) => 0.0,
            _ => f64::from(row % 3) - 1.0,
        };
        Some(self.exact("overflow", self.special(2), 80, &one))
    }

    /// Sums that pass 65 504 on the way and end at 3: fp16 accumulators do not come back.
    fn cancel(&self) -> Option<Case> {
        if self.product.row().input != Number::F16 {
            return None;
        }
        let shape = self.special(9);
        let one = |side, _, column: u32| match (side, column) {
            (Side::X, ..64) => 128.0,
            (Side::W, ..32) => 64.0,
            (Side::W, ..64) => -64.0,
            (_, 64) => 1.0,
            (Side::X, 65) => 2.0,
            (_, 65) => 1.0,
            _ => 0.0,
        };
        let end = if self.product == Product::F16Acc16 { f64::INFINITY } else { 3.0 };
        let number = output(self.product);
        let judge =
            move |reference: Vec<f64>| Judge::Bits(number.store(reference.iter().map(|_| end)));
        Some(self.case("cancelling", shape, 80, &one, judge))
    }

    fn special(&self, k: u32) -> Shape {
        let (m, n) = self.special;
        Shape { m, n, k: k * self.product.multiple().max(8), ..Shape::default() }
    }

    fn exact(&self, what: &str, shape: Shape, sms: u32, fill: Fill) -> Case {
        let number = output(self.product);
        self.case(what, shape, sms, fill, |reference| Judge::Bits(number.store(reference)))
    }

    fn case(
        &self,
        what: &str,
        shape: Shape,
        sms: u32,
        fill: Fill,
        judge: impl FnOnce(Vec<f64>) -> Judge,
    ) -> Case {
        let Shape { m, n, k, .. } = shape;
        let (product, number) = (self.product, self.product.row().input);
        let matrix = |side, rows: u32| -> Vec<f64> {
            let places = (0..rows).flat_map(|row| (0..k).map(move |column| (row, column)));
            places.map(|(row, column)| number.stored(fill(side, row, column))).collect()
        };
        let (x, w) = (matrix(Side::X, m), matrix(Side::W, n));
        let reference = multiplied(&x, &w, k as usize);
        let facts = DeviceFacts { sms, ..self.facts.clone() };
        let poison = reference.len() * product.output().bytes();
        Case {
            name: format!("{m}×{n}×{k} {what}, {sms} multiprocessors"),
            buffers: vec![
                Content::Bytes(number.store(x)),
                Content::Bytes(number.store(w)),
                Content::Poison(poison),
            ],
            plan: Box::new(move |at| {
                let operands = Operands { x: at[0], weights: at[1], y: at[2] };
                vec![
                    launch(&facts, operands, product, shape)
                        .expect("the sizes of a case are possible"),
                ]
            }),
            expect: vec![Expect { buffer: 2, element: product.output(), judge: judge(reference) }],
        }
    }
}

/// X·Wᵀ in fp64.
fn multiplied(x: &[f64], w: &[f64], k: usize) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b);
    x.chunks(k).flat_map(|row| w.chunks(k).map(move |column| dot(row, column))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::ROWS;
    use super::*;
    fn device() -> DeviceFacts {
        super::super::tests::device((8, 9), 80)
    }

    fn inputs(case: &Case, number: Number) -> [Vec<f64>; 2] {
        [0, 1].map(|index| {
            let Content::Bytes(bytes) = &case.buffers[index] else { panic!("X and W are bytes") };
            let per_byte = 8 / number.bits().min(8);
            let size = (number.bits() / 8).max(1) as usize;
            let codes = bytes.chunks(size).flat_map(|raw| {
                let code = raw.iter().rev().fold(0, |code, byte| code << 8 | u32::from(*byte));
                (0..per_byte).map(move |place| code >> (number.bits() * place % 8))
            });
            codes.map(|code| number.decode(code & u32::MAX >> (32 - number.bits()))).collect()
        })
    }

    /// 11 bits of significand hold every integer up to 2048: no order of summing rounds, not even with fp16 sums.
    #[test]
    fn sums_of_whole_numbers_are_exact_in_every_order() {
        for row in ROWS.iter().filter(|row| !row.input.whole()) {
            for case in
                cases(row.product, &device()).iter().filter(|case| case.name.contains("whole"))
            {
                let [x, w] = inputs(case, row.input);
                let largest =
                    |of: &[f64]| of.iter().fold(0.0, |most: f64, one| most.max(one.abs()));
                assert_eq!((largest(&x) <= 3.0, largest(&w) <= 3.0), (true, true), "{}", case.name);
                let k: f64 = case.name.split(['×', ' ']).nth(2).unwrap().parse().unwrap();
                let product =
                    |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a * b).abs()).sum::<f64>();
                let lines =
                    |of: &[f64]| of.chunks(k as usize).map(<[f64]>::to_vec).collect::<Vec<_>>();
                for (a, b) in lines(&x).iter().zip(lines(&w).iter()) {
                    assert!(product(a, b) <= 2048.0, "{}", case.name);
                }
            }
        }
    }

    #[test]
    fn products_of_known_matrices() {
        assert_eq!(
            multiplied(&[1.0, 2.0, 3.0, 4.0], &[1.0, -1.0, 0.5, 2.0], 2),
            [-1.0, 4.5, -1.0, 9.5]
        );
    }

    /// What tells apart the ways to sum, by the bytes that must come out.
    #[test]
    fn only_fp16_sums_fail_to_come_back() {
        for (product, first) in [
            (Product::F16, vec![0x00, 0x42]),
            (Product::F16Out32, 3_f32.to_le_bytes().to_vec()),
            (Product::F16Acc16, vec![0x00, 0x7c]),
        ] {
            let all = cases(product, &device());
            let case = all.iter().find(|case| case.name.contains("cancelling")).unwrap();
            let Judge::Bits(want) = &case.expect[0].judge else { panic!("judged by bits") };
            assert_eq!(want[..first.len()], first, "{product:?}");
        }
    }

    #[test]
    fn cases_are_small_and_each_has_a_name_of_its_own() {
        for row in &ROWS {
            let all = cases(row.product, &device());
            let mut names: Vec<&str> = all.iter().map(|case| &case.name[..]).collect();
            for name in &names {
                let sizes = name.split(['×', ' ']).take(3).map(|size| size.parse::<u64>().unwrap());
                assert!(sizes.product::<u64>() <= 2_000_000, "{name}");
            }
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all.len());
        }
    }
}
