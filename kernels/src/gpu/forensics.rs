//! What a wrong case tells about its cause to somebody who has no such device: where the mismatches lie, what was never written, and whether
//! the right values are in the wrong place.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::case::{Case, Element, Expect, Judge, POISON};

/// Mismatches that are listed one by one, and tiles that are counted.
pub const LISTED: usize = 256;
/// Side of what is counted as a tile where the name of a case has none.
const TILE: usize = 64;

/// What became of one output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Index of the buffer.
    pub buffer: usize,
    /// How its bytes are read.
    pub element: Element,
    /// How many there are.
    pub elements: usize,
    /// Elements of a row; all of them where the case is about no matrix.
    pub columns: usize,
    /// Rows and columns of a tile.
    pub tile: [usize; 2],
    /// Elements that are not as they should be.
    pub mismatches: usize,
    /// Those of them that should be NaN and are another NaN.
    pub other_nans: usize,
    /// Those that are not finite and should be.
    pub not_finite: usize,
    /// Those whose poison is still there: nothing was written.
    pub poison: usize,
    /// Whether all values are the right ones in another order.
    pub permuted: bool,
    /// Wrong values that should be elsewhere in the output.
    pub misplaced: usize,
    /// Row and column of a tile, and how many are wrong in it; the first [`LISTED`] tiles.
    pub by_tile: Vec<([usize; 2], usize)>,
    /// Tiles with a mismatch, all of them.
    pub tiles: usize,
    /// Mismatches by row modulo 8, 16 and 64.
    pub by_row: [Vec<usize>; 3],
    /// Mismatches by column modulo 8, 16 and 64.
    pub by_column: [Vec<usize>; 3],
    /// The first [`LISTED`] mismatches.
    pub first: Vec<Mismatch>,
}

/// An element that is not as it should be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mismatch {
    /// Which element.
    pub at: usize,
    /// Its row.
    pub row: usize,
    /// Its column.
    pub column: usize,
    /// Row and column of its tile.
    pub tile: [usize; 2],
    /// What it is; null where it is not finite.
    pub got: f64,
    /// Its bytes, the last first.
    pub got_bits: String,
    /// What it should be; null where that is not finite.
    pub want: f64,
}

/// What became of every output that is not as it should be, given what the buffers hold.
pub fn examine(case: &Case, bodies: &[Vec<u8>]) -> Vec<Finding> {
    let found = case.expect.iter().filter_map(|expect| {
        let body = bodies.get(expect.buffer)?;
        Some(Output::new(case, expect, body).finding()).filter(|found| found.mismatches > 0)
    });
    found.collect()
}

/// Rows and columns of a tile and elements of a row, by the name of the case: `130×264×688 whole, wgmma128x256c2`.
fn layout(name: &str, elements: usize) -> (usize, [usize; 2]) {
    let numbers = |word: &str, between: char| -> Vec<usize> {
        let digits = |part: &str| part.trim_matches(|c: char| !c.is_ascii_digit()).to_owned();
        let sizes = word.split(between).map(|part| digits(part).parse());
        sizes.collect::<Result<_, _>>().unwrap_or_default()
    };
    let words = || name.split([' ', ',']);
    let is_matrix = |sizes: &Vec<usize>| sizes.len() > 1 && sizes[0] * sizes[1] == elements;
    let columns = words().map(|word| numbers(word, '×')).find(is_matrix).map(|sizes| sizes[1]);
    let tile = words().find_map(|word| {
        let part = word.trim_start_matches(|c: char| !c.is_ascii_digit());
        let end = part.find(|c: char| !c.is_ascii_digit() && c != 'x').unwrap_or(part.len());
        <[usize; 2]>::try_from(numbers(&part[..end], 'x')).ok()
    });
    let tile = tile.filter(|sides| sides.iter().all(|side| *side > 0)).unwrap_or([TILE; 2]);
    (columns.unwrap_or(elements).max(1), tile)
}

/// An output beside what it should be.
struct Output<'a> {
    expect: &'a Expect,
    body: &'a [u8],
    got: Vec<f64>,
    want: Vec<f64>,
    columns: usize,
    tile: [usize; 2],
}

impl<'a> Output<'a> {
    fn new(case: &Case, expect: &'a Expect, body: &'a [u8]) -> Self {
        let want = match &expect.judge {
            Judge::Bits(want) => expect.element.values(want),
            Judge::Near { reference, .. } => reference.clone(),
        };
        let (columns, tile) = layout(&case.name, want.len());
        Self { expect, body, got: expect.element.values(body), want, columns, tile }
    }

    fn raw(&self, at: usize) -> &[u8] {
        let size = self.expect.element.bytes();
        self.body.get(at * size..(at + 1) * size).unwrap_or_default()
    }

    /// Indices of what is wrong. Of what is judged by its norm, those that are further off than the norm allows on average.
    fn mismatches(&self) -> Vec<usize> {
        let all = 0..self.want.len().min(self.got.len());
        match &self.expect.judge {
            Judge::Bits(want) => {
                let size = self.expect.element.bytes();
                all.filter(|at| want.get(at * size..(at + 1) * size) != Some(self.raw(*at)))
                    .collect()
            }
            Judge::Near { limit, .. } => {
                let squares: f64 = self.want.iter().map(|want| want * want).sum();
                let far = limit * (squares / self.want.len().max(1) as f64).sqrt();
                let near = |at: &usize| (self.got[*at] - self.want[*at]).abs() <= far;
                all.filter(|at| !near(at)).collect()
            }
        }
    }

    fn place(&self, at: usize) -> ([usize; 2], [usize; 2]) {
        let place = [at / self.columns, at % self.columns];
        (place, [place[0] / self.tile[0], place[1] / self.tile[1]])
    }

    fn finding(&self) -> Finding {
        let wrong = self.mismatches();
        let count = |is: &dyn Fn(usize) -> bool| wrong.iter().filter(|at| is(**at)).count();
        let mut by_tile = BTreeMap::new();
        for at in &wrong {
            *by_tile.entry(self.place(*at).1).or_insert(0) += 1;
        }
        let modulo = |axis: usize| {
            [8, 16, 64].map(|by| {
                let mut counts = vec![0; by];
                wrong.iter().for_each(|at| counts[self.place(*at).0[axis] % by] += 1);
                counts
            })
        };
        let wanted: BTreeSet<u64> = self.want.iter().map(|want| want.to_bits()).collect();
        let nan = |at: usize| self.got[at].is_nan() && self.want[at].is_nan();
        let lost = |at: usize| !self.got[at].is_finite() && self.want[at].is_finite();
        Finding {
            buffer: self.expect.buffer,
            element: self.expect.element,
            elements: self.want.len(),
            columns: self.columns,
            tile: self.tile,
            mismatches: wrong.len() + self.want.len().abs_diff(self.got.len()),
            other_nans: count(&nan),
            not_finite: count(&lost),
            poison: count(&|at| self.raw(at).iter().all(|byte| *byte == POISON)),
            permuted: !wrong.is_empty() && self.is_permuted(),
            misplaced: count(&|at| wanted.contains(&self.got[at].to_bits())),
            tiles: by_tile.len(),
            by_tile: by_tile.into_iter().take(LISTED).collect(),
            by_row: modulo(0),
            by_column: modulo(1),
            first: wrong.iter().take(LISTED).map(|at| self.mismatch(*at)).collect(),
        }
    }

    fn mismatch(&self, at: usize) -> Mismatch {
        let ([row, column], tile) = self.place(at);
        let got_bits = self.raw(at).iter().rev().map(|byte| format!("{byte:02x}")).collect();
        Mismatch { at, row, column, tile, got: self.got[at], got_bits, want: self.want[at] }
    }

    /// By the values in order of size: equal to the bit, or as near as the norm allows.
    fn is_permuted(&self) -> bool {
        let sorted = |values: &[f64]| {
            let mut values = values.to_vec();
            values.sort_by(f64::total_cmp);
            values
        };
        let (got, want) = (sorted(&self.got), sorted(&self.want));
        match &self.expect.judge {
            Judge::Bits(_) => got.iter().map(|v| v.to_bits()).eq(want.iter().map(|v| v.to_bits())),
            Judge::Near { limit, .. } => {
                let square = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum();
                let off: f64 = square(&mut got.iter().zip(&want).map(|(got, want)| got - want));
                let size: f64 = square(&mut want.iter().copied());
                got.len() == want.len() && off.sqrt() <= limit * size.sqrt()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Content;

    /// 4 × 6 numbers from 1 on, tiles of 2 × 3.
    fn case(judge: fn(Vec<f64>) -> Judge) -> Case {
        let reference = judge((1..=24).map(f64::from).collect());
        Case {
            name: "4×6×8 whole, wgmma2x3c2".to_owned(),
            buffers: vec![Content::Poison(96)],
            plan: Box::new(|_| Vec::new()),
            expect: vec![Expect { buffer: 0, element: Element::F32, judge: reference }],
        }
    }

    fn bits(values: Vec<f64>) -> Judge {
        Judge::Bits(bytes(&values))
    }

    fn near(reference: Vec<f64>) -> Judge {
        Judge::Near { reference, limit: 1e-3 }
    }

    fn bytes(values: &[f64]) -> Vec<u8> {
        values.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect()
    }

    fn found(judge: fn(Vec<f64>) -> Judge, change: impl FnOnce(&mut [f64])) -> Option<Finding> {
        let mut values: Vec<f64> = (1..=24).map(f64::from).collect();
        change(&mut values);
        examine(&case(judge), &[bytes(&values)]).pop()
    }

    #[test]
    fn what_is_right_has_no_finding() {
        assert_eq!(found(bits, |_| ()), None);
        assert_eq!(found(near, |values| values[3] += 1e-4), None);
    }

    /// Row 2, columns 3 to 5, and the row below: the tile in the second row and column.
    #[test]
    fn a_tile_that_was_skipped_shows_as_poison_in_that_tile() {
        let mut body = bytes(&(1..=24).map(f64::from).collect::<Vec<_>>());
        for at in [15, 16, 17, 21, 22, 23] {
            body[at * 4..][..4].fill(POISON);
        }
        for judge in [bits, near] {
            let found = examine(&case(judge), &[body.clone()]).pop().expect("is wrong");
            assert_eq!((found.columns, found.tile), (6, [2, 3]));
            assert_eq!((found.mismatches, found.poison, found.not_finite), (6, 6, 6));
            assert_eq!((found.by_tile, found.tiles), (vec![([1, 1], 6)], 1));
            assert_eq!(found.by_row[0], [0, 0, 3, 3, 0, 0, 0, 0]);
            assert_eq!(found.by_column[0], [0, 0, 0, 2, 2, 2, 0, 0]);
            let first = &found.first[0];
            assert_eq!((first.at, first.row, first.column, first.tile), (15, 2, 3, [1, 1]));
            assert_eq!((&first.got_bits[..], first.want), ("ffffffff", 16.0));
            assert!(!found.permuted);
        }
    }

    #[test]
    fn values_in_the_wrong_place_are_told_from_wrong_values() {
        for judge in [bits, near] {
            let swapped = found(judge, |values| values.swap(0, 7)).expect("is wrong");
            assert!(swapped.permuted, "{swapped:?}");
            assert_eq!((swapped.mismatches, swapped.misplaced), (2, 2));
            let doubled = found(judge, |values| values[0] = 100.5).expect("is wrong");
            assert!(!doubled.permuted && doubled.misplaced == 0, "{doubled:?}");
        }
    }

    #[test]
    fn another_nan_is_counted_apart() {
        let mut case = case(|_| Judge::Bits([0x7fc0_0000_u32, 0].map(u32::to_le_bytes).concat()));
        case.name.clear();
        let body = [0x7fff_ffff_u32, 0].map(u32::to_le_bytes).concat();
        let found = examine(&case, &[body]).pop().expect("is another");
        assert_eq!((found.mismatches, found.other_nans, found.columns), (1, 1, 2));
    }

    #[test]
    fn the_layout_is_in_the_name_where_it_fits_the_output() {
        for (name, elements, want) in [
            ("130×264×688 whole, wgmma128x256c2", 34_320, (264, [128, 256])),
            ("w4.f16 16×64×512 random, 132 multiprocessors", 1024, (64, [64, 64])),
            ("norm of 3×40 F16 to F16", 120, (40, [64, 64])),
            ("17×33×72 whole, 64x64r", 5, (5, [64, 64])),
            ("1000 bytes, 4 multiprocessors", 1000, (1000, [64, 64])),
            ("", 0, (1, [64, 64])),
            ("0x0 ×", 4, (4, [64, 64])),
        ] {
            assert_eq!(layout(name, elements), want, "{name}");
        }
    }
}
