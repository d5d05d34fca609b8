//! `.m8n8k4` of `.f16`: four independent products, one per quad pair (PTX ISA 8.8, 9.7.14.5.1).
//!
//! Quad pair q is lanes 4·q … 4·q + 3 and the same plus 16; the upper quad holds rows (of A), columns (of B) and rows (of C and D) 4 to 7.

use super::Register;
use super::element::{Accumulator, Element, F16};
use super::sum::{Span, exact_sum};

/// The lane of a quad pair that comes `quad` × 4 + `thread`.
fn lane(pair: usize, quad: usize, thread: usize) -> usize {
    16 * quad + 4 * pair + thread
}

/// An 8 × 4 multiplicand, A or Bᵀ. `along` says that a thread holds four elements along k; else it holds four rows of one k.
fn multiplicand(fragment: &[Register], pair: usize, along: bool) -> [[f64; 4]; 8] {
    let mut matrix = [[0.0; 4]; 8];
    for (quad, thread, index) in indices(4) {
        let value =
            <F16 as Element>::unpack(fragment[index / 2][lane(pair, quad, thread)], index % 2);
        let (row, k) = if along { (thread, index) } else { (index, thread) };
        matrix[4 * quad + row][k] = value;
    }
    matrix
}

/// Where element `index` of an accumulator lies.
fn place<A: Accumulator>(quad: usize, thread: usize, index: usize) -> (usize, usize) {
    if A::PER_REGISTER == 2 {
        return (4 * quad + thread, index);
    }
    (4 * quad + (thread & 1) + (index & 2), (index & 4) + (thread & 2) + (index & 1))
}

fn indices(elements: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..8 * elements).map(move |flat| (flat / elements / 4, flat / elements % 4, flat % elements))
}

/// The instruction for one pair of layouts; `C` and `D` need not be the same type.
pub(super) fn quad_pairs<C: Accumulator, D: Accumulator, const A_ROW: bool, const B_COL: bool>(
    a: &[Register],
    b: &[Register],
    c: &[Register],
    d: &mut [Register],
) {
    d.iter_mut().for_each(|register| register.fill(0));
    for pair in 0..4 {
        let (left, right) = (multiplicand(a, pair, A_ROW), multiplicand(b, pair, B_COL));
        let mut sums = [[0.0; 8]; 8];
        for (quad, thread, index) in indices(8) {
            let (row, column) = place::<C>(quad, thread, index);
            let register = c[index / C::PER_REGISTER][lane(pair, quad, thread)];
            let added = C::unpack(register, index % C::PER_REGISTER);
            sums[row][column] = dot::<C>(&left[row], &right[column], added);
        }
        for (quad, thread, index) in indices(8) {
            let (row, column) = place::<D>(quad, thread, index);
            let bits =
                D::pack(sums[row][column]) << (32 / D::PER_REGISTER * (index % D::PER_REGISTER));
            d[index / D::PER_REGISTER][lane(pair, quad, thread)] |= bits;
        }
    }
}

fn dot<C: Accumulator>(left: &[f64; 4], right: &[f64; 4], added: f64) -> f64 {
    let fraction = <F16 as Element>::FRACTION;
    let span = |values: &[f64; 4]| Span::of(values.iter().copied(), fraction);
    let products = left.iter().zip(right).map(|(left, right)| left * right);
    if Span::fits(span(left), span(right), Span::of([added].into_iter(), C::FRACTION), 4) {
        products.fold(added, |sum, product| sum + product)
    } else {
        exact_sum(products, added)
    }
}
