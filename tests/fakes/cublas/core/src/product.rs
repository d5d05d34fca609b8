//! D = alpha · op(A) · op(B) + beta · C.

use half::f16;

use crate::driver::Memory;
use crate::kinds::{Compute, Kind};
use crate::matrix::Matrix;

/// Rows and terms of a block of A, which stays in the cache while every column takes it.
const BLOCK: usize = 256;
const TERMS: usize = 16;

/// What the driver makes of a product whose memory is not there, and of one that lies askew: `CUresult`.
const ILLEGAL_ADDRESS: u32 = 700;
const MISALIGNED_ADDRESS: u32 = 716;

/// A product of two matrices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    /// Rows of the result.
    pub m: usize,
    /// Columns of the result.
    pub n: usize,
    /// Terms of each sum.
    pub k: usize,
    /// Whether A and B are taken transposed.
    pub transposed: (bool, bool),
    /// First factor, as stored.
    pub a: Matrix,
    /// Second factor, as stored.
    pub b: Matrix,
    /// What is added; not read where beta is 0.
    pub c: Matrix,
    /// The result; may be C.
    pub d: Matrix,
    /// Format of the sums.
    pub compute: Compute,
    /// Factor of the product.
    pub alpha: f64,
    /// Factor of C.
    pub beta: f64,
    /// Where further factors of A and B lie, in binary32 on the device; 0 where there are none.
    pub scales: [u64; 2],
}

impl Product {
    /// Multiplications and additions, each counted as one.
    pub fn operations(&self) -> u64 {
        [2, self.m, self.n, self.k].iter().fold(1, |all, size| all.saturating_mul(*size as u64))
    }

    /// Computes it in device memory, or says what the device would make of it.
    pub fn compute(&self, memory: &mut Memory<'_>) -> Result<(), u32> {
        let (Self { m, n, k, .. }, (ta, tb)) = (*self, self.transposed);
        if m == 0 || n == 0 {
            return Ok(());
        }
        let a = load(memory, &self.a)?;
        let b = load(memory, &self.b)?;
        let old = if self.beta == 0.0 { Vec::new() } else { load(memory, &self.c)? };
        let alpha = scale(memory, self.scales[0])? * scale(memory, self.scales[1])? * self.alpha;
        let c = if old.is_empty() { Vec::new() } else { self.c.values(&old, false, |c| c) };
        let (float, short) = (|value| value as f32, |value| value as i32);
        let sizes = (m, n, k);
        let sums = if self.compute == Compute::I32 {
            whole(&self.a.values(&a, !ta, short), &self.b.values(&b, tb, short), sizes)
        } else {
            let (a, b) = (self.a.values(&a, ta, float), self.b.values(&b, tb, float));
            if self.compute == Compute::F16 { halves(&a, &b, sizes) } else { floats(&a, &b, sizes) }
        };
        let result = place(memory, &self.d)?;
        let size = self.d.kind.bytes();
        for (at, sum) in sums.into_iter().enumerate() {
            let added = c.get(at).map_or(0.0, |old| self.beta * old);
            let start = (at / m * self.d.leading + at % m) * size;
            self.d.kind.write(alpha * sum + added, &mut result[start..start + size]);
        }
        Ok(())
    }
}

fn load(memory: &mut Memory<'_>, matrix: &Matrix) -> Result<Vec<u8>, u32> {
    place(memory, matrix).map(|bytes| bytes.to_vec())
}

fn scale(memory: &mut Memory<'_>, address: u64) -> Result<f64, u32> {
    if address == 0 {
        return Ok(1.0);
    }
    let scale = Matrix { address, kind: Kind::F32, rows: 1, columns: 1, leading: 1 };
    Ok(Kind::F32.read(place(memory, &scale)?))
}

fn place<'a>(memory: &'a mut Memory<'_>, matrix: &Matrix) -> Result<&'a mut [u8], u32> {
    if !matrix.address.is_multiple_of(matrix.kind.bytes() as u64) {
        return Err(MISALIGNED_ADDRESS);
    }
    memory.bytes(matrix.address, matrix.bytes()).ok_or(ILLEGAL_ADDRESS)
}

/// Sums in binary32, term after term; m by n, column by column.
fn floats(a: &[f32], b: &[f32], (m, n, k): (usize, usize, usize)) -> Vec<f64> {
    let mut sums = vec![0.0_f32; m * n];
    for top in (0..m).step_by(BLOCK) {
        let end = (top + BLOCK).min(m);
        for first in (0..k).step_by(TERMS) {
            let terms = first..(first + TERMS).min(k);
            for column in 0..n {
                let sums = &mut sums[column * m + top..column * m + end];
                for term in terms.clone() {
                    let factor = b[column * k + term];
                    let rows = &a[term * m + top..term * m + end];
                    sums.iter_mut().zip(rows).for_each(|(sum, row)| *sum += row * factor);
                }
            }
        }
    }
    sums.into_iter().map(f64::from).collect()
}

/// Sums in binary16, rounded after every term.
fn halves(a: &[f32], b: &[f32], (m, n, k): (usize, usize, usize)) -> Vec<f64> {
    let sum = |row: usize, column: usize| {
        (0..k).fold(f16::ZERO, |sum, term| {
            f16::from_f32(a[term * m + row].mul_add(b[column * k + term], sum.to_f32()))
        })
    };
    (0..n)
        .flat_map(|column| (0..m).map(move |row| (row, column)))
        .map(|(row, column)| sum(row, column).to_f64())
        .collect()
}

/// Sums in 32-bit integers, which wrap. A comes row by row here.
fn whole(a: &[i32], b: &[i32], (m, n, k): (usize, usize, usize)) -> Vec<f64> {
    let sum = |row: usize, column: usize| {
        let terms = a[row * k..][..k].iter().zip(&b[column * k..][..k]);
        terms.fold(0_i32, |sum, (one, other)| sum.wrapping_add(one * other))
    };
    (0..n)
        .flat_map(|column| (0..m).map(move |row| (row, column)))
        .map(|(row, column)| f64::from(sum(row, column)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows by columns of a matrix that is stored so, with a gap after each column.
    fn stored(
        kind: Kind,
        rows: usize,
        columns: usize,
        value: impl Fn(usize, usize) -> f64,
    ) -> (Matrix, Vec<u8>) {
        let matrix = Matrix { address: 0, kind, rows, columns, leading: rows + 3 };
        let mut bytes = vec![0xff; matrix.bytes()];
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)))
        {
            let start = (column * matrix.leading + row) * kind.bytes();
            match kind {
                Kind::I8 => bytes[start] = value(row, column) as i8 as u8,
                _ => kind.write(value(row, column), &mut bytes[start..start + kind.bytes()]),
            }
        }
        (matrix, bytes)
    }

    fn factor(row: usize, column: usize) -> f64 {
        ((row * 7 + column * 3) % 11) as f64 - 5.0
    }

    /// Against the definition, in integers, for every layout and every format whose sums are exact here.
    #[test]
    fn products_are_those_of_the_definition() {
        let (m, n, k) = (5, 3, 7);
        for (ab, result, compute) in [
            (Kind::F32, Kind::F32, Compute::F32),
            (Kind::F16, Kind::F16, Compute::F16),
            (Kind::Bf16, Kind::F32, Compute::F32),
            (Kind::I8, Kind::I32, Compute::I32),
        ] {
            for transposed in [(false, false), (true, false), (false, true), (true, true)] {
                let a = |row, column| {
                    if transposed.0 { factor(column, row) } else { factor(row, column) }
                };
                let b = |row, column| {
                    if transposed.1 { factor(column, row) } else { factor(row, column) }
                };
                let (rows, columns) = if transposed.0 { (k, m) } else { (m, k) };
                let (a, mut a_bytes) = stored(ab, rows, columns, a);
                let (rows, columns) = if transposed.1 { (n, k) } else { (k, n) };
                let (b, mut b_bytes) = stored(ab, rows, columns, b);
                let (c, mut c_bytes) = stored(result, m, n, |row, column| (row + column) as f64);
                let at = |matrix: Matrix, address| Matrix { address, ..matrix };
                let (a, b, c) = (at(a, 1 << 20), at(b, 2 << 20), at(c, 3 << 20));
                let product = Product {
                    m,
                    n,
                    k,
                    transposed,
                    a,
                    b,
                    c,
                    d: c,
                    compute,
                    alpha: 2.0,
                    beta: 3.0,
                    scales: [0; 2],
                };
                let pieces: [(u64, &mut [u8]); 3] =
                    [(1 << 20, &mut a_bytes), (2 << 20, &mut b_bytes), (3 << 20, &mut c_bytes)];
                let mut memory = Memory::of(pieces);
                assert_eq!(product.compute(&mut memory), Ok(()));
                drop(memory);
                for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column)))
                {
                    let sum: f64 =
                        (0..k).map(|term| factor(row, term) * factor(term, column)).sum();
                    let want = 2.0 * sum + 3.0 * (row + column) as f64;
                    let start = (column * c.leading + row) * result.bytes();
                    let found = result.read(&c_bytes[start..start + result.bytes()]);
                    assert_eq!(
                        found.to_bits(),
                        want.to_bits(),
                        "{ab:?} {transposed:?} {row} {column}"
                    );
                }
            }
        }
    }

    #[test]
    fn memory_that_is_not_there_and_places_that_are_askew_are_the_devices_errors() {
        let (a, mut bytes) = stored(Kind::F16, 4, 4, factor);
        let here = Matrix { address: 256, ..a };
        let product = |a, d| Product {
            m: 4,
            n: 4,
            k: 4,
            transposed: (false, false),
            a,
            b: here,
            c: d,
            d,
            compute: Compute::F32,
            alpha: 1.0,
            beta: 0.0,
            scales: [0; 2],
        };
        let mut memory = Memory::of([(256, &mut bytes)]);
        let beyond = Matrix { columns: 5, ..here };
        assert_eq!(product(beyond, here).compute(&mut memory), Err(ILLEGAL_ADDRESS));
        let askew = Matrix { address: 257, ..here };
        assert_eq!(product(here, askew).compute(&mut memory), Err(MISALIGNED_ADDRESS));
        assert_eq!(product(here, here).compute(&mut memory), Ok(()));
    }

    #[test]
    fn a_sum_of_halves_stops_where_a_term_is_lost() {
        // 1 is half a unit in the last place of 2048: added to an even number it is lost.
        assert_eq!(halves(&[2048.0, 1.0, 1.0], &[1.0; 3], (1, 1, 3)), [2048.0]);
        assert_eq!(floats(&[2048.0, 1.0, 1.0], &[1.0; 3], (1, 1, 3)), [2050.0]);
    }
}
