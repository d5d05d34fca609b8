//! Where `ldmatrix`, `stmatrix` and `movmatrix` carry 16-bit elements: PTX ISA 8.8, 9.7.14.5.15 to 9.7.14.5.17.
//!
//! Only the lane map lives here; addresses, bounds and races are the interpreter's.

/// Bytes of one row of an 8×8 matrix of 16-bit elements.
pub const ROW_BYTES: usize = 16;

/// One row of an 8×8 matrix as it lies in shared memory.
pub type Row = [u8; ROW_BYTES];

/// The lane whose address operand names row `row` of matrix `matrix`.
pub const fn address_lane(matrix: usize, row: usize) -> usize {
    8 * matrix + row
}

/// The 16-bit elements, as (row, column), that `lane` holds in its register of one matrix: low half first.
pub const fn elements(lane: usize, transposed: bool) -> [(usize, usize); 2] {
    let (line, pair) = (lane / 4, 2 * (lane % 4));
    if transposed { [(pair, line), (pair + 1, line)] } else { [(line, pair), (line, pair + 1)] }
}

/// `ldmatrix` of one matrix: its eight rows to one register of every lane.
pub fn load(rows: &[Row; 8], transposed: bool) -> [u32; 32] {
    std::array::from_fn(|lane| {
        let [low, high] =
            elements(lane, transposed).map(|(row, column)| u32::from(element(&rows[row], column)));
        low | high << 16
    })
}

/// `stmatrix` of one matrix: one register of every lane to eight rows.
pub fn store(registers: &[u32; 32], transposed: bool) -> [Row; 8] {
    let mut rows = [[0; ROW_BYTES]; 8];
    for (lane, register) in registers.iter().enumerate() {
        for (index, (row, column)) in elements(lane, transposed).into_iter().enumerate() {
            let half = (register >> (16 * index)) as u16;
            rows[row][2 * column..][..2].copy_from_slice(&half.to_le_bytes());
        }
    }
    rows
}

/// `movmatrix.trans`: the transposed matrix in the same registers.
pub fn transpose(registers: &[u32; 32]) -> [u32; 32] {
    load(&store(registers, false), true)
}

fn element(row: &Row, column: usize) -> u16 {
    u16::from_le_bytes([row[2 * column], row[2 * column + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PTX ISA, ldmatrix, "each thread holds a fragment": thread 0 has row 0 elements 0 and 1, thread 31 has row 7 elements 6 and 7.
    fn numbered() -> [Row; 8] {
        std::array::from_fn(|row| {
            let mut bytes = [0; ROW_BYTES];
            for column in 0..8 {
                bytes[2 * column..][..2]
                    .copy_from_slice(&((10 * row + column) as u16).to_le_bytes());
            }
            bytes
        })
    }

    #[test]
    fn a_row_is_spread_over_four_neighbouring_lanes() {
        let loaded = load(&numbered(), false);
        assert_eq!(loaded[0], 1 << 16);
        assert_eq!(loaded[1], 2 | 3 << 16);
        assert_eq!(loaded[4], 10 | 11 << 16);
        assert_eq!(loaded[31], 76 | 77 << 16);
    }

    #[test]
    fn transposed_a_column_is_spread_over_four_neighbouring_lanes() {
        let loaded = load(&numbered(), true);
        assert_eq!(loaded[0], 10 << 16);
        assert_eq!(loaded[1], 20 | 30 << 16);
        assert_eq!(loaded[4], 1 | 11 << 16);
        assert_eq!(loaded[31], 67 | 77 << 16);
    }

    #[test]
    fn every_element_has_one_home() {
        for transposed in [false, true] {
            let mut seen = [[0; 8]; 8];
            for (row, column) in (0..32).flat_map(|lane| elements(lane, transposed)) {
                seen[row][column] += 1;
            }
            assert_eq!(seen, [[1; 8]; 8]);
            assert_eq!(store(&load(&numbered(), transposed), transposed), numbered());
        }
    }

    #[test]
    fn addresses_come_from_eight_lanes_a_matrix() {
        let lanes: Vec<_> =
            (0..4).flat_map(|matrix| (0..8).map(move |row| address_lane(matrix, row))).collect();
        assert_eq!(lanes, (0..32).collect::<Vec<_>>());
    }

    #[test]
    fn movmatrix_transposes_and_undoes_itself() {
        let straight = load(&numbered(), false);
        assert_eq!(transpose(&straight), load(&numbered(), true));
        assert_eq!(transpose(&transpose(&straight)), straight);
    }
}
