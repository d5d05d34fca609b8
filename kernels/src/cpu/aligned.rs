use std::ops::{Deref, DerefMut};

use super::pages::prefer_large;

/// Bytes of a cache line, and of the widest vector.
const LINE: usize = 64;

/// Numbers that start on a cache line, so that a vector load never touches two; many of them lie in large pages.
#[derive(Debug)]
pub struct Aligned<T> {
    padded: Vec<T>,
    start: usize,
}

impl<T: Copy + Default> Aligned<T> {
    /// So many numbers from an iterator; default values where it ends early.
    pub fn collect(len: usize, values: impl IntoIterator<Item = T>) -> Self {
        let mut padded: Vec<T> = Vec::with_capacity(len + LINE / size_of::<T>());
        prefer_large(padded.spare_capacity_mut());
        let start = padded.as_ptr().align_offset(LINE).min(LINE / size_of::<T>());
        padded.resize(start, T::default());
        padded.extend(values.into_iter().take(len));
        padded.resize(start + len, T::default());
        Self { padded, start }
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.padded[self.start..]
    }
}

impl<T> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.padded[self.start..]
    }
}

impl<T: Copy + Default> Clone for Aligned<T> {
    /// A copied vector would lie elsewhere, with its padding at the wrong length.
    fn clone(&self) -> Self {
        Self::collect(self.len(), self.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_start_on_a_line_also_when_cloned() {
        for len in [0, 1, 31, 64, 1000] {
            let numbers = Aligned::collect(len, (0..).map(|i| i as f32));
            for copy in [numbers.clone(), numbers] {
                assert_eq!(copy.len(), len);
                assert!(copy.iter().enumerate().all(|(i, v)| *v == i as f32));
                assert_eq!(copy.as_ptr() as usize % LINE, 0);
            }
        }
    }

    #[test]
    fn what_is_missing_is_filled_up() {
        assert_eq!(Aligned::collect(3, [7_u16])[..], [7, 0, 0]);
        assert_eq!(Aligned::collect(1, [7_u16, 8])[..], [7]);
    }
}
