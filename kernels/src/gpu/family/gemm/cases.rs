//! What proves a product: whole numbers to the bit, random ones within a limit, and what overflows, is no number or is tiny.

use super::super::number::Number;
use super::super::operand::normal;
use super::choose::{choose, dispatches};
use super::dispatch::Dispatch;
use super::launch::{launch_through, workspace_bytes};
use super::product::Product;
use super::{hopper, skinny};
use crate::gpu::family::stream::Operands;
use crate::gpu::family::stream_k::Workspace;
use crate::gpu::{Case, Content, DeviceFacts, Element, Expect, Judge, Shape};
use crate::model::hash;

/// Rows, columns and multiples of [`Product::multiple`], which are 16 bytes of k: less than a slab, and more slabs than there are stages. Odd widths end in
/// different columns of a warp's part.
const SIZES: &[(u32, u32, u32)] = &[(1, 1, 1), (17, 33, 3), (5, 7, 80)];

/// More than eight small tiles down: a band and a part of one.
const BANDS: (u32, u32, u32) = (531, 66, 1);

/// Sizes of random numbers: short of a tile and along k, and over several.
const RANDOM: &[(u32, u32, u32)] = &[(31, 45, 11), (100, 71, 4)];

/// Rows and columns of the special cases.
const SPECIAL: (u32, u32) = (19, 70);

/// The same for warpgroups, eight multiples a stage of four or more, and multiprocessors to plan for: less than a stage, as many as there are,
/// the stages over again by blocks that compute several tiles, which are cut in every direction.
const OF_WARPGROUPS: &[((u32, u32, u32), u32)] = &[
    ((1, 8, 1), 132),
    ((67, 72, 32), 132),
    ((65, 136, 48), 132),
    ((130, 264, 43), 2),
    ((40, 24, 105), 1),
];
/// More than 2048 rows, a band, and a part of another; several tiles across each, taken in turn by few.
const BANDS_OF_WARPGROUPS: ((u32, u32, u32), u32) = ((2090, 264, 1), 5);
/// Odd widths, where results go straight to memory.
const ODD_OF_WARPGROUPS: (u32, u32, u32) = (33, 131, 9);
/// And of random numbers.
const RANDOM_OF_WARPGROUPS: (u32, u32, u32) = (150, 200, 17);
/// Of few tokens by warpgroups: as many as a tile has and fewer, several blocks of rows, shares of k that are empty, uneven, and of more stages than
/// there are.
const OF_FEW: &[(u32, u32, u32)] = &[(16, 131, 9), (64, 136, 105), (33, 260, 43), (9, 24, 240)];
/// And of random numbers.
const RANDOM_OF_FEW: &[(u32, u32, u32)] = &[(31, 45, 11), (60, 71, 40)];
/// Numbers of one sign, so many that sums of fp8 which are added to where they are short lose more than the limit.
const POSITIVE: (u32, u32, u32) = (21, 40, 66);
/// Rows and columns of their special cases: what leaves by a tensor map has rows of a multiple of 16 bytes.
const SPECIAL_OF_WARPGROUPS: (u32, u32) = (19, 72);

/// The same for tiles that blocks share, four multiples a step of which blocks have eight or more: a tile of three blocks; one step, and more tiles
/// than blocks; blocks with pieces of several tiles, whose last step is short.
const DEALT: &[((u32, u32, u32), u32)] =
    &[((5, 131, 97), 80), ((5, 530, 1), 1), ((130, 270, 6), 2)];
/// And of random numbers.
const RANDOM_OF_DEALT: (u32, u32, u32) = (40, 50, 70);
/// Their special cases have a tile of three blocks.
const LONG_OF_DEALT: u32 = 48;

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
    let all = dispatches(product, facts);
    let chosen =
        Shape { m: SPECIAL.0, n: SPECIAL.1, k: 8 * product.multiple(), ..Shape::default() };
    let chosen = choose(product, facts, chosen, false).map_or("", |dispatch| dispatch.variant.name);
    let cases = |dispatch: &Dispatch| {
        let facts = facts.with_variant(product.id(), dispatch.variant.name);
        let build = Builder { product, facts: &facts, dispatch, special: SPECIAL, long: 1 };
        let mut all = build.every_way();
        if dispatch.variant.name == chosen {
            all.extend(build.once());
        }
        if dispatch.stream_k.is_some() {
            all.extend(of_dealt(product, &facts, dispatch));
        }
        all
    };
    let (together, alone): (Vec<Dispatch>, Vec<Dispatch>) =
        all.iter().partition(|dispatch| hopper::is(dispatch));
    let together = together.iter().flat_map(|dispatch| match skinny::is(dispatch) {
        true => of_few(product, facts, dispatch),
        false => of_warpgroups(product, facts, dispatch),
    });
    together.chain(alone.iter().flat_map(cases)).collect()
}

/// What proves that blocks share tiles, beside what proves every way.
fn of_dealt(product: Product, facts: &DeviceFacts, dispatch: &Dispatch) -> Vec<Case> {
    let build = Builder { product, facts, dispatch, special: SPECIAL, long: LONG_OF_DEALT };
    let sized = |(size, sms): &((u32, u32, u32), u32)| {
        let facts = DeviceFacts { sms: *sms, ..facts.clone() };
        Builder { facts: &facts, ..build }.whole(*size)
    };
    let mut all: Vec<Case> = DEALT.iter().map(sized).collect();
    all.extend([build.random(RANDOM_OF_DEALT), build.no_number()]);
    all.extend(build.overflow());
    all
}

/// What proves a way of warpgroups.
fn of_warpgroups(product: Product, facts: &DeviceFacts, dispatch: &Dispatch) -> Vec<Case> {
    let facts = facts.with_variant(product.id(), dispatch.variant.name);
    let sized = |(size, sms): &((u32, u32, u32), u32)| {
        let facts = DeviceFacts { sms: *sms, ..facts.clone() };
        let special = SPECIAL_OF_WARPGROUPS;
        Builder { product, facts: &facts, dispatch, special, long: 1 }.whole(*size)
    };
    let build =
        Builder { product, facts: &facts, dispatch, special: SPECIAL_OF_WARPGROUPS, long: 1 };
    // Results that leave by a tensor map have rows of a multiple of 16 bytes.
    let boxed = product.output().bytes() == 2;
    let taken =
        |(m, n, k): &(u32, u32, u32)| (*m, n.next_multiple_of(if boxed { 8 } else { 1 }), *k);
    let mut all: Vec<Case> =
        OF_WARPGROUPS.iter().chain([&BANDS_OF_WARPGROUPS]).map(sized).collect();
    all.extend(SIZES.iter().map(|size| build.whole(taken(size))));
    if !boxed {
        all.push(build.whole(ODD_OF_WARPGROUPS));
    }
    if !product.row().input.whole() {
        let sizes = RANDOM.iter().map(taken).chain([RANDOM_OF_WARPGROUPS]);
        all.extend(sizes.map(|size| build.random(size)));
        all.push(build.no_number());
    }
    if matches!(product, Product::E4m3 | Product::E5m2) {
        all.push(build.positive(POSITIVE));
    }
    all.extend(build.once());
    all
}

/// What proves a way of few tokens by warpgroups.
fn of_few(product: Product, facts: &DeviceFacts, dispatch: &Dispatch) -> Vec<Case> {
    let facts = facts.with_variant(product.id(), dispatch.variant.name);
    let build = Builder { product, facts: &facts, dispatch, special: SPECIAL, long: 1 };
    let whole = SIZES.iter().chain(OF_FEW).map(|size| build.whole(*size));
    let random = RANDOM_OF_FEW.iter().map(|size| build.random(*size));
    let others = [build.no_number()].into_iter().chain(build.once());
    whole.chain(random).chain(others).collect()
}

/// Largest relative error of random numbers: rounding of the result, for fp16 sums also theirs.
pub(super) fn limit(product: Product) -> f64 {
    match product {
        Product::F16 => 3e-4,
        Product::Bf16 => 2.5e-3,
        Product::F16Acc16 => 6e-3,
        Product::F32 => 5e-6,
        Product::Tf32 => 1e-3,
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

#[derive(Clone, Copy)]
struct Builder<'a> {
    product: Product,
    /// With the way forced.
    facts: &'a DeviceFacts,
    dispatch: &'a Dispatch,
    /// Rows and columns of the special cases.
    special: (u32, u32),
    /// How many times longer than elsewhere their k is.
    long: u32,
}

impl Builder<'_> {
    /// What proves a way: tiles that end in every direction, one that does not, more slabs than stages, and no number leaving its row.
    fn every_way(&self) -> Vec<Case> {
        let [rows, columns] = self.dispatch.tile;
        let own = [(rows, columns, 1), (rows + 3, columns + 9, 1)];
        let bands = (rows < 128).then_some(BANDS);
        let mut all: Vec<Case> =
            SIZES.iter().chain(&own).chain(&bands).map(|size| self.whole(*size)).collect();
        if (self.dispatch.takes)(Shape { k: 1, ..Shape::default() }) {
            all.extend([(1, 1, 1), (66, 35, 33)].map(|size| self.whole_at(size, 1)));
        }
        if !self.product.row().input.whole() {
            all.extend(RANDOM.iter().map(|size| self.random(*size)));
            all.push(self.no_number());
        }
        all
    }

    /// What the instruction and the stored format decide, whatever the tile.
    fn once(&self) -> Vec<Case> {
        let tiny = (!self.product.row().input.whole()).then(|| self.tiny());
        let others = [self.overflow(), self.cancel(), self.rounded()];
        tiny.into_iter().chain(others.into_iter().flatten()).collect()
    }

    fn whole(&self, size: (u32, u32, u32)) -> Case {
        self.whole_at(size, self.product.multiple().max(8))
    }

    /// Whole numbers. The sums of floating-point ones stay so small that no accumulator rounds them.
    fn whole_at(&self, (m, n, k): (u32, u32, u32), multiple: u32) -> Case {
        let shape = Shape { m, n, k: k * multiple, ..Shape::default() };
        let number = self.product.row().input;
        // Of 7 numbers, of 5 where k is long.
        let half = if shape.k < 600 { 3 } else { 2 };
        let one = move |side, row, column| {
            let random = hash(1 + side as u64, u64::from(row) << 20 | u64::from(column));
            match number {
                Number::S8 | Number::S4 => number.decode(random as u32),
                _ => (random % (2 * half + 1)) as f64 - half as f64,
            }
        };
        self.exact("whole", shape, &one)
    }

    fn random(&self, size: (u32, u32, u32)) -> Case {
        self.near("random", size, |number| number)
    }

    /// Sums that only grow.
    fn positive(&self, size: (u32, u32, u32)) -> Case {
        self.near("positive", size, f64::abs)
    }

    /// Normal numbers, each made another.
    fn near(&self, what: &str, (m, n, k): (u32, u32, u32), made: fn(f64) -> f64) -> Case {
        let shape = Shape { m, n, k: k * self.product.multiple().max(8), ..Shape::default() };
        let one = |side, row: u32, column: u32| {
            made(normal((row * shape.k + column) as usize, 3 + side as u64).into())
        };
        let limit = limit(self.product);
        self.case(what, shape, &one, |reference| Judge::Near { reference, limit })
    }

    /// Sums of the least numbers there are: nothing is flushed to zero.
    fn tiny(&self) -> Case {
        // What is less than the least tf32 is rounded away.
        let tf32 = self.product == Product::Tf32;
        let factor = if tf32 { Number::Tf32 } else { self.product.row().input }.least();
        self.exact("tiny", self.special(2), &|side, row, column| {
            let whole = f64::from((row + 3 * column) % 5) - 2.0;
            if side == Side::X { whole * factor } else { whole }
        })
    }

    /// NaN and infinities in single rows and columns.
    fn no_number(&self) -> Case {
        let infinite = self.product.row().input.stored(f64::INFINITY).is_infinite();
        self.exact("NaN", self.special(3), &|side, row, column| match (side, row, column) {
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
            Product::Bf16 | Product::Bf16Out32 | Product::F32 | Product::Tf32 => 2_f64.powi(64),
            _ => return None,
        };
        let one = |_, row: u32, column: u32| match (row, column) {
            (11, 4) => large,
            (_, 4) => 0.0,
            _ => f64::from(row % 3) - 1.0,
        };
        Some(self.exact("overflow", self.special(2), &one))
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
        Some(self.case("cancelling", shape, &one, judge))
    }

    /// A quarter of a tf32's last place above it and below it: rounded there, not cut.
    fn rounded(&self) -> Option<Case> {
        if self.product != Product::Tf32 {
            return None;
        }
        let place = 2_f64.powi(-10);
        let shape = self.special(3);
        let one = |side, row, _| match (side, row % 2) {
            (Side::X, 0) => 1.0 + 0.25 * place,
            (Side::X, _) => 1.0 + 0.75 * place,
            (Side::W, _) => -1.0,
        };
        let end = |at: usize| match at / shape.n as usize % 2 {
            0 => -f64::from(shape.k),
            _ => -f64::from(shape.k) * (1.0 + place),
        };
        let judge =
            |reference: Vec<f64>| Judge::Bits(Number::F32.store((0..reference.len()).map(end)));
        Some(self.case("rounded", shape, &one, judge))
    }

    fn special(&self, k: u32) -> Shape {
        let (m, n) = self.special;
        Shape { m, n, k: k * self.long * self.product.multiple().max(8), ..Shape::default() }
    }

    fn exact(&self, what: &str, shape: Shape, fill: Fill) -> Case {
        let number = output(self.product);
        self.case(what, shape, fill, |reference| Judge::Bits(number.store(reference)))
    }

    fn case(
        &self,
        what: &str,
        shape: Shape,
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
        let facts = self.facts.clone();
        let poison = reference.len() * product.output().bytes();
        let mut buffers = vec![
            Content::Bytes(number.store(x)),
            Content::Bytes(number.store(w)),
            Content::Poison(poison),
        ];
        let mut expect =
            vec![Expect { buffer: 2, element: product.output(), judge: judge(reference) }];
        let shared = workspace_bytes(&facts, product, shape);
        if let Some([left, arrivals]) = shared {
            buffers.extend([Content::Poison(left), Content::Zero(arrivals)]);
            let as_found = Judge::Bits(vec![0; arrivals]);
            expect.push(Expect { buffer: 4, element: Element::U32, judge: as_found });
        }
        Case {
            name: format!("{m}×{n}×{k} {what}, {}", self.dispatch.variant.name),
            buffers,
            plan: Box::new(move |at| {
                let operands = Operands { x: at[0], weights: at[1], y: at[2] };
                let through = shared.map(|_| Workspace { left: at[3], arrivals: at[4] });
                vec![
                    launch_through(&facts, operands, through, product, shape)
                        .expect("the sizes of a case are possible"),
                ]
            }),
            expect,
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
    use super::super::product::ROWS;
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
