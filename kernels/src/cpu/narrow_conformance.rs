//! Every kernel for bfloat16 products of many tokens against fp64 or 64-bit integers, and for 4-bit weights against fp64, over ragged shapes and at the ends of the formats.

use half::bf16;

use super::format::nearest_bf16;
use super::matrix::{GROUP, Matrix};
use super::{BF16_GEMMS, Bf16Gemm, Feature, Format};
use crate::model::Grid;

/// Tokens, rows and inputs: single ones, block remainders, whole and broken units and vectors.
const SHAPES: &[(usize, usize, usize)] = &[
    (1, 1, 1),
    (1, 3, 2),
    (2, 8, 3),
    (31, 7, 5),
    (32, 9, 17),
    (33, 16, 64),
    (40, 65, 127),
    (65, 129, 130),
    (32, 64, 512),
    (3, 17, 1027),
];
/// Outputs a kernel must not touch, before and behind.
const GUARD: usize = 16;
/// Largest error of fp32 sums relative to Σ|w·x|; the instruction may round twice for two products.
const LIMIT: f64 = 1e-5;

/// Usable entries of a list; the others are printed.
fn usable<T>(
    all: &'static [T],
    of: impl Fn(&T) -> (&'static str, &'static [Feature]),
) -> Vec<&'static T> {
    let can = |one: &&T| {
        let (id, needs) = of(one);
        let missing: Vec<_> = needs.iter().filter(|feature| !feature.is_present()).collect();
        if !missing.is_empty() {
            println!("SKIPPED ({id} needs {missing:?})");
        }
        missing.is_empty()
    };
    all.iter().filter(can).collect()
}

/// Pseudo-random numbers −128…127.
fn bytes(tensor: u64, count: usize) -> Vec<i8> {
    let (high, low) = (Grid::new(tensor, [1, count], 0), Grid::new(tensor + 1, [1, count], 0));
    (0..count).map(|i| (high.q(i) << 4) ^ (low.q(i) & 15)).collect()
}

/// Pseudo-random numbers of many bits, both signs.
fn numbers(tensor: u64, count: usize) -> Vec<f32> {
    let fine = bytes(tensor + 2, count);
    bytes(tensor, count)
        .iter()
        .zip(fine)
        .map(|(a, b)| f32::from(*a) / 16.0 + f32::from(b) / 4111.0)
        .collect()
}

/// Runs a kernel between guards and gives what it wrote.
fn product(gemm: &Bf16Gemm, (x, w, k): (&[f32], &[bf16], usize)) -> Vec<f32> {
    const POISON: f32 = -7.5e33;
    let count = x.len() / k * (w.len() / k);
    let mut y = vec![POISON; count + 2 * GUARD];
    gemm.multiply(x, w, k, &mut y[GUARD..GUARD + count]);
    let guards = y[..GUARD].iter().chain(&y[GUARD + count..]);
    assert!(guards.into_iter().all(|v| *v == POISON), "{} strayed", gemm.id);
    y[GUARD..GUARD + count].to_vec()
}

fn integers(x: &[i8], w: &[i8]) -> i64 {
    x.iter().zip(w).map(|(x, w)| i64::from(*x) * i64::from(*w)).sum()
}

#[test]
fn bfloat16_products_of_many_tokens_agree_with_fp64() {
    for gemm in usable(BF16_GEMMS, |g| (g.id, g.needs)) {
        for &(tokens, rows, k) in SHAPES {
            let x: Vec<f32> = numbers(950, tokens * k).into_iter().map(nearest_bf16).collect();
            let w: Vec<bf16> = numbers(960, rows * k).into_iter().map(bf16::from_f32).collect();
            let y = product(gemm, (&x, &w, k));
            for (t, x) in x.chunks(k).enumerate() {
                for (r, w) in w.chunks(k).enumerate() {
                    let products = x.iter().zip(w).map(|(x, w)| f64::from(*x) * w.to_f64());
                    let (want, size) = products.fold((0.0, 0.0), |(s, a), p| (s + p, a + p.abs()));
                    let error = (f64::from(y[t * rows + r]) - want).abs();
                    let shape = (tokens, rows, k, t, r);
                    assert!(error <= LIMIT * size, "{} {shape:?}: {error} of {size}", gemm.id);
                }
            }
        }
    }
}

/// Integers up to 128 are bfloat16 numbers, and their sums stay below 2²⁴: no order of additions rounds.
#[test]
fn bfloat16_products_of_integers_are_exact() {
    for gemm in usable(BF16_GEMMS, |g| (g.id, g.needs)) {
        for &(tokens, rows, k) in SHAPES {
            let (x, w) = (bytes(970, tokens * k), bytes(980, rows * k));
            let xs: Vec<f32> = x.iter().map(|v| f32::from(*v)).collect();
            let ws: Vec<bf16> = w.iter().map(|v| bf16::from_f32(f32::from(*v))).collect();
            let y = product(gemm, (&xs, &ws, k));
            for (t, x) in x.chunks(k).enumerate() {
                for (r, w) in w.chunks(k).enumerate() {
                    assert_eq!(y[t * rows + r] as i64, integers(x, w), "{}", gemm.id);
                }
            }
        }
    }
}

#[test]
fn inputs_of_bfloat16_products_are_rounded_to_nearest() {
    // 1 + 2⁻⁸ lies between 1 and 1 + 2⁻⁷ and goes to the even one; 1 + 3 · 2⁻⁸ goes up.
    let x = [1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, 1.0 + 1.001 / 256.0];
    for gemm in usable(BF16_GEMMS, |g| (g.id, g.needs)) {
        let one = |i: usize| (0..3).map(|j| bf16::from_f32(f32::from(u8::from(i == j)))).collect();
        let w: Vec<bf16> = (0..3).flat_map(|i| -> Vec<bf16> { one(i) }).collect();
        let y = product(gemm, (&x, &w, 3));
        assert_eq!(y, [1.0, 1.0 + 1.0 / 64.0, 1.0 + 1.0 / 128.0], "{}", gemm.id);
    }
}

#[test]
fn bfloat16_products_carry_nan_and_infinity_of_a_token_to_all_of_its_outputs_and_to_no_other() {
    for gemm in usable(BF16_GEMMS, |g| (g.id, g.needs)) {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let (tokens, rows, k) = (3, 10, 37);
            let mut x = vec![1.5; tokens * k];
            x[k + 36] = bad;
            let y = product(gemm, (&x, &vec![bf16::from_f32(2.0); rows * k], k));
            for (t, y) in y.chunks(rows).enumerate() {
                assert!(y.iter().all(|v| v.is_finite() != (t == 1)), "{} {bad} {y:?}", gemm.id);
                assert!(bad.is_nan() || t != 1 || y.iter().all(|v| *v == bad), "{}", gemm.id);
            }
        }
    }
}

/// Subnormal numbers are kept or count as zero, and nothing else; the documentation leaves either to the kernel.
#[test]
fn bfloat16_products_of_subnormal_numbers_are_those_or_zero() {
    let tiny = f32::from_bits(0x0040_0000);
    for gemm in usable(BF16_GEMMS, |g| (g.id, g.needs)) {
        let y = product(gemm, (&[tiny; 8], &[bf16::from_f32(4.0); 8], 8));
        assert!(y == [32.0 * tiny] || y == [0.0], "{} {y:?}", gemm.id);
        let y = product(gemm, (&[4.0; 8], &[bf16::from_f32(tiny); 8], 8));
        assert!(y == [32.0 * tiny] || y == [0.0], "{} {y:?}", gemm.id);
    }
}

/// Inputs that fall off by `decay` from one to the next, up to `top`.
fn falling(decay: f32, top: f32, cols: usize) -> Vec<f32> {
    let mut x = numbers(995, cols);
    x.iter_mut().enumerate().for_each(|(i, x)| *x *= top * (-decay * (i % GROUP) as f32).exp());
    x
}

/// What the documentation lets an input be off by: 2⁻¹⁵ of the largest of a group without outliers, 2⁻²² of others.
fn rounding(group: &[f32]) -> f64 {
    let top = group.iter().fold(0.0_f64, |top, x| top.max(f64::from(x.abs())));
    let squares: f64 = group.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    let ratio = top / (squares / GROUP as f64).sqrt();
    top * if ratio < 6.001 { 2.0_f64.powi(-15) } else { 2.0_f64.powi(-22) }
}

/// Inputs of one group that span more than an integer holds: the small ones may be lost, but only relative to the largest.
#[test]
fn four_bit_products_lose_small_inputs_only_beside_large_ones() {
    let (rows, cols) = (4, 2 * GROUP);
    let grid = Grid::new(994, [rows, cols], -6);
    let matrix = Matrix::from_grid(&grid, Format::Int4);
    let w: Vec<f32> = grid.weights().collect();
    let inputs = [1e-40_f32, 1e-30, 1.0, 6e4, 1e30, 3e36]
        .iter()
        .flat_map(|top| [0.0, 0.05, 0.3, 0.5].map(|decay| (decay, *top)));
    for kernel in usable(super::KERNELS, |k| (k.id, k.needs)) {
        if kernel.format != Format::Int4 {
            continue;
        }
        for (decay, top) in inputs.clone() {
            let x = falling(decay, top, cols);
            let mut y = [f32::NAN; 4];
            kernel.run_rows(&matrix, 0..rows, &x, &mut y);
            for (y, w) in y.iter().zip(w.chunks(cols)) {
                let products = w.iter().zip(&x).map(|(w, x)| f64::from(*w) * f64::from(*x));
                let (want, size) = products.fold((0.0, 0.0), |(s, a), p| (s + p, a + p.abs()));
                let sums = |w: &[f32]| w.iter().map(|w| f64::from(w.abs())).sum::<f64>();
                let groups = w.chunks(GROUP).zip(x.chunks(GROUP));
                let inputs: f64 = groups.map(|(w, x)| sums(w) * rounding(x)).sum();
                // Where inputs are subnormal, their own steps count.
                let limit = inputs + 2e-6 * size + 256.0 * f64::from(f32::MIN_POSITIVE);
                let error = (f64::from(*y) - want).abs();
                assert!(error <= limit, "{} {decay} {top}: {y} {want}", kernel.id);
            }
        }
    }
}

/// A row that meets the outlier of every group with a weight of zero sees what stands beside it.
#[test]
fn four_bit_products_see_small_inputs_beside_an_outlier() {
    let cols = 2 * GROUP;
    let mut w = vec![1.0; cols];
    let mut x = numbers(996, cols);
    for at in [5, GROUP + 77] {
        (w[at], x[at]) = (0.0, 5000.0);
    }
    let matrix = Matrix::from_fp32(1, cols, &w, Format::Int4);
    let mut weights = vec![0.0; cols];
    matrix.expand(0..1, &mut weights);
    let want: f64 = weights.iter().zip(&x).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
    let size: f64 = weights.iter().zip(&x).map(|(w, x)| f64::from((w * x).abs())).sum();
    for kernel in usable(super::KERNELS, |k| (k.id, k.needs)) {
        if kernel.format == Format::Int4 {
            let mut y = [f32::NAN];
            kernel.run_rows(&matrix, 0..1, &x, &mut y);
            let error = (f64::from(y[0]) - want).abs();
            assert!(error <= 1e-3 * size, "{}: {y:?} {want}", kernel.id);
        }
    }
}

/// Small whole numbers and their halves are held as they are: products with them are exact.
#[test]
fn four_bit_products_of_few_bits_are_exact() {
    let (rows, cols) = (7, 3 * GROUP);
    let grid = Grid::new(997, [rows, cols], 0);
    let matrix = Matrix::from_grid(&grid, Format::Int4);
    let w: Vec<f32> = grid.weights().collect();
    let halves = Grid::new(998, [1, cols], -1);
    let x: Vec<f32> = (0..cols).map(|i| f32::from(halves.q(i)) / 2.0).collect();
    for kernel in usable(super::KERNELS, |k| (k.id, k.needs)) {
        if kernel.format == Format::Int4 {
            let mut y = [f32::NAN; 7];
            kernel.run_rows(&matrix, 0..rows, &x, &mut y);
            for (y, w) in y.iter().zip(w.chunks(cols)) {
                assert_eq!(*y, w.iter().zip(&x).map(|(w, x)| w * x).sum(), "{}", kernel.id);
            }
        }
    }
}

#[test]
fn the_registries_have_unique_ids_and_a_portable_last_resort() {
    let ids = |all: Vec<(&'static str, usize)>, prefix: &str| {
        for (i, (id, _)) in all.iter().enumerate() {
            assert!(id.starts_with(prefix) && all[..i].iter().all(|one| one.0 != *id), "{id}");
        }
        assert!(all.last().is_some_and(|(id, needs)| id.ends_with(".portable") && *needs == 0));
    };
    ids(BF16_GEMMS.iter().map(|g| (g.id, g.needs.len())).collect(), "gemm.bf16.");
}
