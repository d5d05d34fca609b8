//! A matrix in device memory, column by column.

use crate::kinds::Kind;

/// Where a matrix lies and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matrix {
    /// Its address.
    pub address: u64,
    /// Format of its elements.
    pub kind: Kind,
    /// Rows as stored.
    pub rows: usize,
    /// Columns as stored.
    pub columns: usize,
    /// Elements from one column to the next.
    pub leading: usize,
}

impl Matrix {
    /// Whether the columns do not overlap.
    pub fn is_sound(&self) -> bool {
        self.leading >= self.rows.max(1)
    }

    /// Bytes from its first to its last element.
    pub fn bytes(&self) -> usize {
        if self.rows == 0 || self.columns == 0 {
            return 0;
        }
        let elements = self.leading.saturating_mul(self.columns - 1).saturating_add(self.rows);
        elements.saturating_mul(self.kind.bytes())
    }

    /// Its values, column by column and nothing between; transposed if asked.
    pub(crate) fn values<T>(
        &self,
        bytes: &[u8],
        transposed: bool,
        convert: impl Fn(f64) -> T,
    ) -> Vec<T> {
        let (size, leading) = (self.kind.bytes(), self.leading);
        let (rows, columns) = (self.rows, self.columns);
        let at = |row: usize, column: usize| {
            let start = (column * leading + row) * size;
            convert(self.kind.read(&bytes[start..start + size]))
        };
        let mut values = Vec::with_capacity(rows * columns);
        if transposed {
            (0..rows).for_each(|row| values.extend((0..columns).map(|column| at(row, column))));
        } else {
            (0..columns).for_each(|column| values.extend((0..rows).map(|row| at(row, column))));
        }
        values
    }
}
