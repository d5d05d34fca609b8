//! Products against a naive triple loop, through fragments laid out by [`layout`], which states the ISA's formulas element by element.

mod layout;

use super::sum::exact_sum;
use super::*;
use layout::{Form, Matrix};
use proptest::prelude::*;

/// A small generator: tests must not depend on a library's stream.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    /// A small integer that every multiplicand type of these names holds.
    fn integer(&mut self, kind: &str) -> f64 {
        let (least, count) = match kind {
            "u4" => (0, 16),
            "s4" => (-8, 16),
            "u8" => (0, 256),
            "s8" => (-128, 256),
            "e5m2" => (-4, 9),
            "e4m3" => (-8, 17),
            _ => (-9, 19),
        };
        (self.next() % count) as f64 + f64::from(least)
    }

    fn matrix(
        &mut self,
        rows: usize,
        columns: usize,
        mut pick: impl FnMut(&mut Numbers) -> f64,
    ) -> Matrix {
        (0..rows).map(|_| (0..columns).map(|_| pick(self)).collect()).collect()
    }
}

struct Case {
    a: Vec<Matrix>,
    b: Vec<Matrix>,
    c: Vec<Matrix>,
}

impl Case {
    fn integers(form: &Form, seed: u64) -> Case {
        let mut numbers = Numbers(seed);
        let mut matrices = |rows, columns, kind: &str| {
            (0..form.products())
                .map(|_| numbers.matrix(rows, columns, |numbers| numbers.integer(kind)))
                .collect()
        };
        Case {
            a: matrices(form.m, form.k, form.a),
            b: matrices(form.k, form.n, form.b),
            c: matrices(form.m, form.n, "s8"),
        }
    }

    fn fractions(form: &Form, seed: u64) -> Case {
        let mut numbers = Numbers(seed);
        let mut matrices = |rows, columns, kind: &str| {
            let pick = |numbers: &mut Numbers| {
                layout::rounded(kind, (numbers.next() % 4001) as f64 / 1000.0 - 2.0)
            };
            (0..form.products()).map(|_| numbers.matrix(rows, columns, pick)).collect()
        };
        Case {
            a: matrices(form.m, form.k, form.a),
            b: matrices(form.k, form.n, form.b),
            c: matrices(form.m, form.n, form.c),
        }
    }

    fn fragments(&self, form: &Form, mma: &Mma) -> [Vec<Register>; 3] {
        [
            form.scatter_a(&self.a, mma.a),
            form.scatter_b(&self.b, mma.b),
            form.scatter_c(&self.c, mma.c),
        ]
    }

    /// Every element of D with its expected value and the sum of magnitudes that went into it.
    fn expected(&self, form: &Form) -> Vec<Vec<Vec<(f64, f64)>>> {
        let element = |p: usize, row: usize, column: usize| {
            (0..form.k).fold(
                (self.c[p][row][column], self.c[p][row][column].abs()),
                |(sum, size), k| {
                    let product = self.a[p][row][k] * self.b[p][k][column];
                    (sum + product, size + product.abs())
                },
            )
        };
        (0..form.products())
            .map(|p| {
                (0..form.m)
                    .map(|row| (0..form.n).map(|column| element(p, row, column)).collect())
                    .collect()
            })
            .collect()
    }
}

fn run(mma: &Mma, [a, b, c]: &[Vec<Register>; 3]) -> Vec<Register> {
    let mut d = vec![[0xdead_beef; 32]; mma.d];
    mma.run(a, b, c, &mut d);
    d
}

fn differences(
    form: &Form,
    d: &[Register],
    expected: &[Vec<Vec<(f64, f64)>>],
    allowed: impl Fn(f64, f64, f64) -> bool,
) -> Vec<String> {
    let found = form.gather_d(d);
    let mut wrong = Vec::new();
    for (p, matrix) in expected.iter().enumerate() {
        for (row, line) in matrix.iter().enumerate() {
            for (column, &(value, size)) in line.iter().enumerate() {
                let got = found[p][row][column];
                if !allowed(got, value, size) {
                    wrong.push(format!(
                        "{} product {p} ({row}, {column}): {got} instead of {value}",
                        form.name
                    ));
                }
            }
        }
    }
    wrong
}

fn exactly(got: f64, value: f64, _: f64) -> bool {
    got == value
}

#[test]
fn names_are_unique_and_found() {
    for (index, mma) in MMAS.iter().enumerate() {
        assert!(std::ptr::eq(find(mma.name).unwrap(), &MMAS[index]), "{} is named twice", mma.name);
    }
    assert!(find("m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e5m2.f32").is_some());
    assert!(find("m16n8k16.row.row.f32.f16.f16.f32").is_none());
    assert!(find("m16n8k256.row.col.s32.b1.b1.s32").is_none());
}

#[test]
fn fragments_have_the_registers_the_shape_needs() {
    for mma in MMAS {
        let form = Form::parse(mma.name);
        let registers =
            |elements: usize, kind: &str| form.products() * elements * layout::bits(kind) / 32 / 32;
        assert_eq!(
            (mma.a, mma.b, mma.c, mma.d),
            (
                registers(form.m * form.k, form.a),
                registers(form.k * form.n, form.b),
                registers(form.m * form.n, form.c),
                registers(form.m * form.n, form.d)
            ),
            "{}",
            mma.name
        );
    }
}

#[test]
fn integers_come_out_bit_for_bit_in_every_form() {
    for mma in MMAS {
        let form = Form::parse(mma.name);
        for seed in 0..4 {
            let case = Case::integers(&form, seed);
            let d = run(mma, &case.fragments(&form, mma));
            assert_eq!(
                differences(&form, &d, &case.expected(&form), exactly),
                Vec::<String>::new()
            );
        }
    }
}

#[test]
fn fractions_are_cut_to_f32_and_rounded_to_f16() {
    for mma in MMAS.iter().filter(|mma| Form::parse(mma.name).is_float()) {
        let form = Form::parse(mma.name);
        let case = Case::fractions(&form, 7);
        let d = run(mma, &case.fragments(&form, mma));
        // The reference itself errs by the rounding of `f64` sums.
        let slack = 2f64.powi(-48);
        let allowed = |got: f64, value: f64, size: f64| {
            let error = (got - value).abs();
            match form.d {
                "f32" => {
                    error <= 2f64.powi(-23) * value.abs() + slack * size
                        && got.abs() <= value.abs() + slack * size
                }
                "f16" => error <= 2f64.powi(-11) * value.abs() + slack * size,
                _ => error <= slack * size,
            }
        };
        assert_eq!(differences(&form, &d, &case.expected(&form), allowed), Vec::<String>::new());
    }
}

/// The mutations a wrong lane map would be: each must change the product of integers.
#[test]
fn a_swapped_register_or_lane_changes_the_product() {
    for mma in MMAS {
        let form = Form::parse(mma.name);
        let case = Case::integers(&form, 11);
        let sound = case.fragments(&form, mma);
        let caught = |mutate: &dyn Fn(&mut [Vec<Register>; 3])| {
            let mut fragments = sound.clone();
            mutate(&mut fragments);
            fragments == sound
                || !differences(&form, &run(mma, &fragments), &case.expected(&form), exactly)
                    .is_empty()
        };
        for operand in 0..3 {
            let registers = sound[operand].len();
            for (first, second) in (0..registers)
                .flat_map(|first| (first + 1..registers).map(move |second| (first, second)))
            {
                assert!(
                    caught(&|f| f[operand].swap(first, second)),
                    "{}: operand {operand}, registers {first} and {second}",
                    mma.name
                );
            }
            for lane in 0..31 {
                let swap = |f: &mut [Vec<Register>; 3]| {
                    f[operand].iter_mut().for_each(|register| register.swap(lane, lane + 1))
                };
                assert!(
                    caught(&swap),
                    "{}: operand {operand}, lanes {lane} and the next",
                    mma.name
                );
            }
        }
    }
}

#[test]
fn only_satfinite_clamps_integers() {
    for (name, expected) in [
        ("m8n8k16.row.col.s32.s8.s8.s32", i32::MIN + 99),
        ("m8n8k16.row.col.satfinite.s32.s8.s8.s32", i32::MAX),
    ] {
        let mut d = [[0; 32]; 2];
        let mma = find(name).unwrap();
        // One product of 10 × 10 in each sum, over the greatest integer.
        let (mut a, mut b) = ([[0; 32]], [[0; 32]]);
        for group in 0..8 {
            (a[0][4 * group], b[0][4 * group]) = (10, 10);
        }
        mma.run(&a, &b, &[[i32::MAX as u32; 32]; 2], &mut d);
        assert_eq!(d, [[expected as u32; 32]; 2], "{name}");
    }
}

fn one_f16_product(a: u16, b: u16, c: u32) -> u32 {
    let mma = find("m16n8k8.row.col.f32.f16.f16.f32").unwrap();
    let mut d = [[0; 32]; 4];
    let (mut left, mut right) = ([[0; 32]; 2], [[0; 32]]);
    (left[0][0], right[0][0]) = (a.into(), b.into());
    let mut added = [[0; 32]; 4];
    added[0][0] = c;
    mma.run(&left, &right, &added, &mut d);
    d[0][0]
}

#[test]
fn infinities_and_nan_pass_through() {
    const NAN: u32 = 0x7fff_ffff;
    const INFINITY: u32 = 0x7f80_0000;
    for (a, b, c, expected) in [
        (0x7c00, 0x3c00, 0, INFINITY),
        (0xfc00, 0x3c00, 0, INFINITY | 1 << 31),
        (0x7c00, 0x0000, 0, NAN),
        (0x7c00, 0x3c00, INFINITY | 1 << 31, NAN),
        (0x7e01, 0x3c00, 0, NAN),
        (0x3c00, 0x3c00, 0xffc0_0001, NAN),
        (0x3c00, 0x3c00, INFINITY, INFINITY),
    ] {
        assert_eq!(one_f16_product(a, b, c), expected, "{a:04x} × {b:04x} + {c:08x}");
    }
}

#[test]
fn sums_are_truncated_and_subnormals_kept() {
    let (one, last) = (1f32.to_bits(), 0x3c00);
    // Three halves of the last place of 1: to nearest they would be two places.
    assert_eq!(one_f16_product(0x0003, last, one), one + 1);
    assert_eq!(one_f16_product(0x8003, last, one | 1 << 31), (one + 1) | 1 << 31);
    // The least subnormals of f16 and of f32.
    assert_eq!(f32::from_bits(one_f16_product(0x0001, 0x0001, 0)), 2f32.powi(-48));
    assert_eq!(one_f16_product(0, 0, 1), 1);
}

#[test]
fn f16_accumulators_overflow_to_infinity_from_65520_on() {
    let mma = find("m16n8k8.row.col.f16.f16.f16.f16").unwrap();
    // 65504 + 1 × c: the tie at 65520 goes to even, which is infinity (IEEE 754).
    for (added, expected) in [(0x4bff, 0x7bff), (0x4c00, 0x7c00)] {
        let (mut a, mut b, mut c, mut d) = ([[0; 32]; 2], [[0; 32]], [[0; 32]; 2], [[0; 32]; 2]);
        (a[0][0], b[0][0], c[0][0]) = (added, 0x3c00, 0x7bff);
        mma.run(&a, &b, &c, &mut d);
        assert_eq!(d[0][0] & 0xffff, expected);
    }
}

/// All terms as whole multiples of 2^-48 (the product of two least subnormals of f16) in an `i128`, cut to 24 bits by shifting.
fn truncated(terms: impl Iterator<Item = f64>) -> f64 {
    let sum: i128 = terms.map(|term| (term * 2f64.powi(48)) as i128).sum();
    let shift = (128 - sum.unsigned_abs().leading_zeros()).saturating_sub(24);
    let magnitude = (sum.unsigned_abs() >> shift << shift) as f64 * 2f64.powi(-48);
    if sum < 0 { -magnitude } else { magnitude }
}

proptest! {
    /// Any finite f16 bits: wide exponents, subnormals, cancellation.
    #[test]
    fn sums_of_any_f16_are_exact_before_the_cut(a in prop::array::uniform16(any::<u16>()), b in prop::array::uniform16(any::<u16>()), c: u16) {
        let finite = |bits: u16| if bits & 0x7c00 == 0x7c00 { bits & 0x83ff } else { bits };
        let value = |bits: u16| ::half::f16::from_bits(finite(bits)).to_f64();
        let mma = find("m16n8k16.row.col.f32.f16.f16.f32").unwrap();
        let form = Form::parse(mma.name);
        let mut case = Case { a: vec![vec![vec![0.0; 16]; 16]], b: vec![vec![vec![0.0; 8]; 16]], c: vec![vec![vec![0.0; 8]; 16]] };
        for k in 0..16 {
            (case.a[0][3][k], case.b[0][k][5]) = (value(a[k]), value(b[k]));
        }
        case.c[0][3][5] = value(c);
        let d = run(mma, &case.fragments(&form, mma));
        let expected = truncated((0..16).map(|k| value(a[k]) * value(b[k])).chain([value(c)]));
        prop_assert_eq!(form.gather_d(&d)[0][3][5], expected);
    }

    /// The wide accumulator over the whole range of bf16 products.
    #[test]
    fn the_wide_sum_loses_nothing(exponents in prop::array::uniform4(-266..250i32), signs in prop::array::uniform4(any::<bool>()), tiny in -266..-200i32) {
        let terms: Vec<f64> = exponents.iter().zip(signs).map(|(&e, negative)| 2f64.powi(e) * if negative { -1.0 } else { 1.0 }).collect();
        // Every term and its opposite cancel, whatever the order: only the last is left.
        let cancelling = terms.iter().copied().chain([2f64.powi(tiny)]).chain(terms.iter().map(|term| -term));
        prop_assert_eq!(exact_sum(cancelling, 0.0), 2f64.powi(tiny));
    }
}
