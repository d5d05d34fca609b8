//! Every form whose fragments follow the common layout: all but `.m8n8k4` of `.f16`.
//!
//! With g = lane / 4 and t = lane mod 4 (the ISA's groupID and threadID_in_group) and P elements a register: register r of A holds row g, plus 8 for odd
//! r of a 16-row shape, from column P·t on; later registers step 4·P columns. Register r of B holds column g from row P·(t + 4·r) on. Element i of C
//! and D is row g (+ 8 from i = 2 on), column 2·t + (i mod 2). (PTX ISA 8.8, 9.7.14.5.2 to 9.7.14.5.12.)

use super::Register;
use super::element::{Accumulator, Element};
use super::sum::{Span, exact_sum};

/// A as rows: `M` × `K`.
fn rows<E: Element, const M: usize, const K: usize>(fragment: &[Register]) -> [[E::Value; K]; M] {
    let mut matrix = [[E::Value::default(); K]; M];
    let blocks = M / 8;
    for (r, register) in fragment.iter().enumerate() {
        for (lane, &bits) in register.iter().enumerate() {
            let row = lane / 4 + 8 * (r % blocks);
            let first = E::PER_REGISTER * (lane % 4 + 4 * (r / blocks));
            for index in 0..E::PER_REGISTER {
                matrix[row][first + index] = E::unpack(bits, index);
            }
        }
    }
    matrix
}

/// B as rows: `K` × 8.
fn columns<E: Element, const K: usize>(fragment: &[Register]) -> [[E::Value; 8]; K] {
    let mut matrix = [[E::Value::default(); 8]; K];
    for (r, register) in fragment.iter().enumerate() {
        for (lane, &bits) in register.iter().enumerate() {
            let first = E::PER_REGISTER * (lane % 4 + 4 * r);
            for index in 0..E::PER_REGISTER {
                matrix[first + index][lane / 4] = E::unpack(bits, index);
            }
        }
    }
    matrix
}

/// Where element `index` of an accumulator lies.
fn place(lane: usize, index: usize) -> (usize, usize) {
    (lane / 4 + 8 * (index / 2), 2 * (lane % 4) + index % 2)
}

fn accumulators<A: Accumulator, const M: usize>(fragment: &[Register]) -> [[f64; 8]; M] {
    let mut matrix = [[0.0; 8]; M];
    for (r, register) in fragment.iter().enumerate() {
        for (lane, &bits) in register.iter().enumerate() {
            for index in 0..A::PER_REGISTER {
                let (row, column) = place(lane, r * A::PER_REGISTER + index);
                matrix[row][column] = A::unpack(bits, index);
            }
        }
    }
    matrix
}

fn store<A: Accumulator, const M: usize>(matrix: &[[f64; 8]; M], fragment: &mut [Register]) {
    for (r, register) in fragment.iter_mut().enumerate() {
        for (lane, bits) in register.iter_mut().enumerate() {
            *bits = (0..A::PER_REGISTER).fold(0, |packed, index| {
                let (row, column) = place(lane, r * A::PER_REGISTER + index);
                packed | A::pack(matrix[row][column]) << (32 / A::PER_REGISTER * index)
            });
        }
    }
}

/// A floating-point form with `M` rows, 8 columns and depth `K`.
pub(super) fn float<
    X: Element<Value = f64>,
    Y: Element<Value = f64>,
    A: Accumulator,
    const M: usize,
    const K: usize,
>(
    a: &[Register],
    b: &[Register],
    c: &[Register],
    d: &mut [Register],
) {
    let (a, b, c) = (rows::<X, M, K>(a), columns::<Y, K>(b), accumulators::<A, M>(c));
    let spans: [Span; 8] =
        std::array::from_fn(|column| Span::of(b.iter().map(|row| row[column]), Y::FRACTION));
    let mut sums = c;
    for (row, sum) in a.iter().zip(&mut sums) {
        let added = Span::of(sum.iter().copied(), A::FRACTION);
        let span = Span::of(row.iter().copied(), X::FRACTION);
        let started = *sum;
        for (left, line) in row.iter().zip(&b) {
            for (total, right) in sum.iter_mut().zip(line) {
                *total += left * right;
            }
        }
        for (column, total) in sum.iter_mut().enumerate() {
            if !Span::fits(span, spans[column], added, K) {
                *total = exact_sum(
                    row.iter().zip(&b).map(|(left, line)| left * line[column]),
                    started[column],
                );
            }
        }
    }
    store::<A, M>(&sums, d);
}

/// An integer form. Without `SATURATE` the sum wraps (PTX ISA: "`.satfinite` clamps, the default wraps").
pub(super) fn integer<
    X: Element<Value = i32>,
    Y: Element<Value = i32>,
    const M: usize,
    const K: usize,
    const SATURATE: bool,
>(
    a: &[Register],
    b: &[Register],
    c: &[Register],
    d: &mut [Register],
) {
    let (a, b) = (rows::<X, M, K>(a), columns::<Y, K>(b));
    let mut products = [[0i32; 8]; M];
    for (row, sums) in a.iter().zip(&mut products) {
        for (left, line) in row.iter().zip(&b) {
            for (total, right) in sums.iter_mut().zip(line) {
                *total += left * right;
            }
        }
    }
    for (index, (target, added)) in d.iter_mut().zip(c).enumerate() {
        for (lane, (bits, added)) in target.iter_mut().zip(added).enumerate() {
            let (row, column) = place(lane, index);
            let (product, added) = (products[row][column], *added as i32);
            *bits =
                if SATURATE { product.saturating_add(added) } else { product.wrapping_add(added) }
                    as u32;
        }
    }
}

/// `.m8n8k4` of `.f64`: fused multiply-adds in the order of k, each rounded to nearest.
pub(super) fn double(a: &[Register], b: &[Register], c: &[Register], d: &mut [Register]) {
    let value = |fragment: &[Register], index: usize, lane: usize| {
        f64::from_bits(
            u64::from(fragment[2 * index][lane]) | u64::from(fragment[2 * index + 1][lane]) << 32,
        )
    };
    for (lane, index) in (0..32).flat_map(|lane| [(lane, 0), (lane, 1)]) {
        let (row, column) = place(lane, index);
        let sum = (0..4).fold(value(c, index, lane), |sum, k| {
            value(a, 0, 4 * row + k).mul_add(value(b, 0, 4 * column + k), sum)
        });
        let bits = sum.to_bits();
        (d[2 * index][lane], d[2 * index + 1][lane]) = (bits as u32, (bits >> 32) as u32);
    }
}
