//! Whether numbers are those of the reference.

/// How numbers lie in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Words between blanks, commas and line ends.
    Text,
    /// binary32, little-endian.
    F32,
    /// binary64, little-endian.
    F64,
}

/// Every [`Numbers`] with its word in a spec.
pub(super) const NUMBERS: &[(Numbers, &str)] =
    &[(Numbers::Text, "text"), (Numbers::F32, "f32"), (Numbers::F64, "f64")];

/// Why bytes are no numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NumbersError(String);

/// Longest word that is shown.
const SHOWN: usize = 40;

impl Numbers {
    /// Reads the numbers of a file.
    pub fn read(self, bytes: &[u8]) -> Result<Vec<f64>, NumbersError> {
        let whole = |size: usize| match bytes.len() % size {
            0 => Ok(()),
            _ => Err(NumbersError(format!(
                "{} bytes are not a whole number of elements",
                bytes.len()
            ))),
        };
        match self {
            Self::Text => text(bytes),
            Self::F32 => {
                whole(4)?;
                let (words, _) = bytes.as_chunks::<4>();
                Ok(words.iter().map(|word| f64::from(f32::from_le_bytes(*word))).collect())
            }
            Self::F64 => {
                whole(8)?;
                let (words, _) = bytes.as_chunks::<8>();
                Ok(words.iter().map(|word| f64::from_le_bytes(*word)).collect())
            }
        }
    }
}

fn text(bytes: &[u8]) -> Result<Vec<f64>, NumbersError> {
    let text = str::from_utf8(bytes).map_err(|_| NumbersError("is not text".to_owned()))?;
    let words = text.split(|letter: char| letter.is_whitespace() || letter == ',');
    let number = |word: &str| {
        let shown: String = word.chars().take(SHOWN).collect();
        word.parse().map_err(|_| NumbersError(format!("{shown:?} is not a number")))
    };
    words.filter(|word| !word.is_empty()).map(number).collect()
}

/// How near is near enough: |got − want| ≤ abs + rel · |want|.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Absolute part.
    pub abs: f64,
    /// Part relative to the number wanted.
    pub rel: f64,
}

impl Accuracy {
    /// What an error is held against: the number wanted, or that from which on the relative part counts for more than the absolute one. Of an
    /// accuracy that is only absolute, 1.
    fn scale(self, want: f64) -> f64 {
        if self.rel > 0.0 { want.abs().max(self.abs / self.rel) } else { 1.0 }
    }
}

/// The largest error relative to the number wanted, of small ones to that from which on the relative part counts, or what is wrong. NaN is
/// wrong, an infinity only right where the same one is wanted, and nothing at all is no result.
pub fn compare(got: &[f64], want: &[f64], accuracy: Accuracy) -> Result<f64, String> {
    if want.is_empty() {
        return Err("the reference gives no number".to_owned());
    }
    if got.len() != want.len() {
        return Err(format!("{} numbers instead of {}", got.len(), want.len()));
    }
    let mut worst = 0.0_f64;
    for (place, (got, want)) in got.iter().zip(want).enumerate() {
        if want.is_nan() {
            return Err(format!("the reference is NaN at number {}", place + 1));
        }
        if got == want {
            continue;
        }
        let error = (got - want).abs();
        // Not the other way round: NaN is not above anything.
        let is_right = error.is_finite() && error <= accuracy.abs + accuracy.rel * want.abs();
        if !is_right {
            return Err(format!("number {} is {got} instead of {want}", place + 1));
        }
        worst = worst.max(error / accuracy.scale(*want));
    }
    Ok(worst)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCURACY: Accuracy = Accuracy { abs: 0.0, rel: 0.01 };

    #[test]
    fn bytes_are_numbers_in_the_order_of_the_file() {
        let f32s: Vec<u8> = [1.5_f32, -2.0].iter().flat_map(|one| one.to_le_bytes()).collect();
        assert_eq!(Numbers::F32.read(&f32s).expect("reads"), [1.5, -2.0]);
        let f64s: Vec<u8> = [1e300_f64].iter().flat_map(|one| one.to_le_bytes()).collect();
        assert_eq!(Numbers::F64.read(&f64s).expect("reads"), [1e300]);
        assert_eq!(Numbers::Text.read(b" 1, -2.5\n3e4").expect("reads"), [1.0, -2.5, 3e4]);
        for (numbers, bytes, why) in [
            (Numbers::F32, &b"12345"[..], "5 bytes"),
            (Numbers::F64, &b"1234"[..], "4 bytes"),
            (Numbers::Text, &b"1 two"[..], "two"),
            (Numbers::Text, &b"\xff"[..], "not text"),
        ] {
            let error = numbers.read(bytes).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn what_is_not_near_is_wrong_and_so_is_what_is_no_number() {
        let infinite = f64::INFINITY;
        for (got, want, right) in [
            (&[100.0, 2.0][..], &[101.0, 2.0][..], true),
            (&[100.0], &[102.0], false),
            (&[f64::NAN], &[1.0], false),
            (&[1.0], &[f64::NAN], false),
            (&[f64::NAN], &[f64::NAN], false),
            (&[infinite], &[infinite], true),
            (&[infinite], &[-infinite], false),
            (&[1.0], &[infinite], false),
            (&[infinite], &[1.0], false),
            (&[0.0], &[1e-30], false),
            (&[0.0], &[-0.0], true),
            (&[1.0], &[1.0, 1.0], false),
            (&[], &[], false),
        ] {
            assert_eq!(compare(got, want, ACCURACY).is_ok(), right, "{got:?} {want:?}");
        }
        let error = compare(&[1.0, 3.0], &[1.0, 2.0], ACCURACY).expect_err("far");
        assert_eq!(error, "number 2 is 3 instead of 2");
        let worst = compare(&[100.0, 201.0], &[100.0, 200.0], ACCURACY).expect("near");
        assert!((worst - 0.005).abs() < 1e-12, "{worst}");
    }

    /// By hand: 1e-6 allowed beside 1e-3 of the number is as much as both at 1e-3.
    #[test]
    fn the_error_of_a_zero_is_a_number_of_use() {
        for (accuracy, got, want, error) in [
            (Accuracy { abs: 1e-6, rel: 1e-3 }, 5e-7, 0.0, 5e-4),
            (Accuracy { abs: 1e-6, rel: 1e-3 }, 100.05, 100.0, 5e-4),
            (Accuracy { abs: 1e-3, rel: 0.0 }, 4e-4, 0.0, 4e-4),
        ] {
            let worst = compare(&[got], &[want], accuracy).expect("near");
            assert!((worst - error).abs() < 1e-12, "{got} {want}: {worst}");
        }
    }
}
