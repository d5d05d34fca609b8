//! Every kernel of the registry against fp64 on the exact stored operands, over ragged shapes.

use half::{bf16, f16};

use super::format::{FORMATS, Format};
use super::matrix::Matrix;
use super::registry::{KERNELS, KernelSpec, pick};
use super::{GEMMS, TILE, Team, from_tile, to_tiles};
use crate::model::Grid;

/// Rows × columns: single rows, block remainders, whole and broken vectors; 4-bit weights take whole groups only.
const SHAPES: &[(usize, usize)] = &[
    (1, 1),
    (1, 15),
    (3, 16),
    (4, 17),
    (5, 31),
    (7, 33),
    (8, 63),
    (2, 64),
    (9, 65),
    (6, 100),
    (1, 128),
    (3, 256),
    (4, 384),
    (13, 512),
    (31, 1536),
    (6, 4096),
];
/// Outputs a kernel must not touch, before and behind.
const GUARD: usize = 16;

/// A number that a kernel cannot write by chance: a NaN with a payload.
const POISON: u32 = 0x7fc5_a5a5;

/// Largest error relative to Σ|w·x|. Weights and inputs are exact, so only fp32 summation counts; and where a kernel rounds
/// inputs, what its documentation allows it.
const LIMIT: f64 = 2e-6;

/// The same for products of many tokens, which sum each output in one chain.
const GEMM_LIMIT: f64 = 1e-5;

/// Pseudo-random inputs that the format can hold.
fn inputs(count: usize, format: Format) -> Vec<f32> {
    let grid = Grid::new(901, [1, count], -3);
    let fine = Grid { tensor: 902, ..grid };
    let raw = |i| (f32::from(grid.q(i)) + f32::from(fine.q(i)) / 13.0) / 4.0;
    let mut x: Vec<f32> = (0..count).map(raw).collect();
    format.storage().round(&mut x);
    x
}

/// A matrix of any width; the grid itself knows whole groups only.
fn matrix(rows: usize, cols: usize, format: Format) -> (Matrix, Vec<f32>) {
    let wide = Grid::new(900, [rows, cols.next_multiple_of(128)], -6);
    if cols == wide.cols {
        return (Matrix::from_grid(&wide, format), wide.weights().collect());
    }
    let all: Vec<f32> = wide.weights().collect();
    let w: Vec<f32> = all.chunks(wide.cols).flat_map(|r| r[..cols].to_vec()).collect();
    (Matrix::from_fp32(rows, cols, &w, format), w)
}

fn usable() -> impl Iterator<Item = &'static KernelSpec> {
    KERNELS.iter().filter(|kernel| {
        if !kernel.is_usable() {
            println!("SKIPPED ({} needs {:?})", kernel.id, kernel.needs);
        }
        kernel.is_usable()
    })
}

/// How far each input of a product may be from what it is. The documentation of `gemv.int4.vnni` allows 2⁻¹⁵ of the largest of
/// a group where an input in binary16 is below a sixteenth of it.
fn roundings(kernel: &KernelSpec, x: &[f32]) -> Vec<f64> {
    if kernel.id != "gemv.int4.vnni" {
        return vec![0.0; x.len()];
    }
    let of_group = |group: &[f32]| {
        let top = group.iter().fold(0.0_f32, |top, x| top.max(x.abs()));
        let rounding = |x: &f32| if x.abs() < top / 16.0 { f64::from(top) / 32_768.0 } else { 0.0 };
        group.iter().map(rounding).collect::<Vec<_>>()
    };
    x.chunks(128).flat_map(of_group).collect()
}

fn check(kernel: &KernelSpec, shape: (usize, usize), operands: (&[f32], &[f32], &[f32])) {
    check_within(LIMIT, (kernel.id, shape), operands, &roundings(kernel, operands.1));
}

fn check_within(
    limit: f64,
    (id, shape): (&str, (usize, usize)),
    (w, x, y): (&[f32], &[f32], &[f32]),
    roundings: &[f64],
) {
    for (row, (y, w)) in y.iter().zip(w.chunks(shape.1)).enumerate() {
        let products = w.iter().zip(x).map(|(w, x)| f64::from(*w) * f64::from(*x));
        let (want, size) = products.fold((0.0, 0.0), |(s, a), p| (s + p, a + p.abs()));
        let inputs: f64 = w.iter().zip(roundings).map(|(w, r)| f64::from(w.abs()) * r).sum();
        let error = (f64::from(*y) - want).abs();
        assert!(error <= limit * size + inputs, "{id} {shape:?} row {row}: {y} instead of {want}");
    }
}

#[test]
fn every_kernel_agrees_with_fp64_on_ragged_shapes_and_stays_within_its_output() {
    for kernel in usable() {
        for &(rows, cols) in SHAPES {
            if kernel.format == Format::Int4 && cols % 128 != 0 {
                continue;
            }
            let (matrix, w) = matrix(rows, cols, kernel.format);
            let x = inputs(cols, kernel.format);
            let mut y = vec![f32::from_bits(POISON); rows + 2 * GUARD];
            kernel.run_rows(&matrix, 0..rows, &x, &mut y[GUARD..GUARD + rows]);
            let (front, rest) = y.split_at(GUARD);
            let (out, back) = rest.split_at(rows);
            assert!(out.iter().all(|v| v.to_bits() != POISON), "{} left outputs", kernel.id);
            let guards = front.iter().chain(back);
            assert!(guards.into_iter().all(|v| v.to_bits() == POISON), "{} strayed", kernel.id);
            check(kernel, (rows, cols), (&w, &x, out));
        }
    }
}

#[test]
fn nan_and_infinity_in_the_inputs_reach_the_outputs() {
    for kernel in usable() {
        let (matrix, _) = matrix(5, 256, kernel.format);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut x = inputs(256, kernel.format);
            x[200] = bad;
            let mut y = [0.0; 5];
            kernel.run_rows(&matrix, 0..5, &x, &mut y);
            assert!(y.iter().all(|v| !v.is_finite()), "{} hides {bad}: {y:?}", kernel.id);
        }
    }
}

#[test]
fn partial_sums_beyond_fp16_survive_in_every_kernel() {
    for kernel in usable() {
        let (rows, cols) = (1, 256);
        let mut w = vec![6.0 * 256.0; cols];
        w[128..].fill(-6.0 * 256.0);
        let matrix = Matrix::from_fp32(rows, cols, &w, kernel.format);
        let mut y = [f32::NAN];
        kernel.run_rows(&matrix, 0..1, &vec![1.0; cols], &mut y);
        assert_eq!(y, [0.0], "{} accumulates in less than fp32", kernel.id);
    }
}

#[test]
fn the_registry_has_unique_ids_and_a_portable_last_resort_per_format() {
    for (i, kernel) in KERNELS.iter().enumerate() {
        assert!(!KERNELS[..i].iter().any(|k| k.id == kernel.id), "{}", kernel.id);
        assert!(kernel.id.starts_with(&format!("gemv.{}.", kernel.format)), "{}", kernel.id);
    }
    for (format, _) in FORMATS {
        let last = KERNELS.iter().rfind(|k| k.format == *format).expect("every format has kernels");
        assert!(last.needs.is_empty() && last.id.ends_with(".portable"));
        assert!(pick(*format).is_usable());
    }
}

#[test]
fn any_number_of_threads_and_tokens_gives_the_same_product() {
    for (format, _) in FORMATS {
        let (matrix, w) = matrix(150, 384, *format);
        let matrix = std::sync::Arc::new(matrix);
        for tokens in [1, 2, 33] {
            let x = inputs(tokens * 384, *format);
            for threads in [1, 2, 3, 7, 64] {
                let mut y = vec![f32::from_bits(POISON); tokens * 150];
                Team::new(*format, threads).multiply(&matrix, &x, &mut y);
                for (x, y) in x.chunks(384).zip(y.chunks(150)) {
                    let roundings = roundings(pick(*format), x);
                    check_within(GEMM_LIMIT, ("team", (150, 384)), (&w, x, y), &roundings);
                }
            }
        }
    }
}

#[test]
fn every_gemm_agrees_with_fp64_and_stays_within_its_output() {
    for gemm in GEMMS {
        if !gemm.is_usable() {
            println!("SKIPPED ({} needs {:?})", gemm.id, gemm.needs);
            continue;
        }
        for (rows, k) in [(1, 1), (3, 5), (8, 33), (17, 100), (64, 512), (9, 1536)] {
            let (x, w) = (inputs(TILE * k, Format::Fp32), inputs(rows * k, Format::Fp32));
            let mut tiles = vec![f32::NAN; 7];
            to_tiles(&x, k, &mut tiles);
            let mut y = vec![f32::from_bits(POISON); rows * TILE + 2 * GUARD];
            (gemm.run)(&tiles, &w, &mut y[GUARD..GUARD + rows * TILE]);
            let guards = y[..GUARD].iter().chain(&y[GUARD + rows * TILE..]);
            assert!(guards.into_iter().all(|v| v.to_bits() == POISON), "{} strayed", gemm.id);
            let mut by_token = vec![f32::from_bits(POISON); TILE * rows];
            from_tile(&y[GUARD..GUARD + rows * TILE], &mut by_token, rows);
            for (x, y) in x.chunks(k).zip(by_token.chunks(rows)) {
                check_within(GEMM_LIMIT, (gemm.id, (rows, k)), (&w, x, y), &vec![0.0; k]);
            }
        }
    }
}

#[test]
fn the_gemm_registry_has_unique_ids_and_a_portable_last_resort() {
    for (i, gemm) in GEMMS.iter().enumerate() {
        assert!(!GEMMS[..i].iter().any(|g| g.id == gemm.id), "{}", gemm.id);
    }
    assert!(GEMMS.last().is_some_and(|g| g.needs.is_empty()));
}

#[test]
fn inputs_of_the_tests_are_held_exactly() {
    assert!(inputs(512, Format::Int4).iter().all(|v| f16::from_f32(*v).to_f32() == *v));
    assert!(inputs(512, Format::Bf16).iter().all(|v| bf16::from_f32(*v).to_f32() == *v));
}
