use std::fmt;
use std::str::FromStr;

/// How far code built for a target reaches beyond the compute capability it names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Suffix {
    /// `sm_90`: runs on later minor versions of the same major.
    #[default]
    None,
    /// `sm_90a`: architecture-specific, exactly this compute capability.
    Arch,
    /// `sm_100f`: the family of this major from this minor on.
    Family,
}

/// A compute capability with its `a` or `f` suffix: `sm_75`, `sm_90a`, `sm_100f`.
///
/// A device reports one without suffix; a suffix belongs to code built for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sm {
    /// Major compute capability, `9` in 9.0.
    pub major: u8,
    /// Minor compute capability, `0` in 9.0; one decimal digit.
    pub minor: u8,
    /// Architecture- or family-specific target.
    pub suffix: Suffix,
}

impl Sm {
    /// A compute capability without suffix.
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor, suffix: Suffix::None }
    }

    /// `7.5`, as NVIDIA's tables print it; without the suffix.
    pub fn cc(self) -> String {
        format!("{}.{}", self.major, self.minor)
    }
}

impl fmt::Display for Sm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.suffix {
            Suffix::None => "",
            Suffix::Arch => "a",
            Suffix::Family => "f",
        };
        f.pad(&format!("sm_{}{}{suffix}", self.major, self.minor))
    }
}

/// The text was neither `7.5` nor `sm_75`, with an optional `a` or `f`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseSmError(pub String);

impl fmt::Display for ParseSmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a compute capability; write 7.5, sm_75, sm_90a or sm_100f", self.0)
    }
}

impl std::error::Error for ParseSmError {}

impl FromStr for Sm {
    type Err = ParseSmError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseSmError(text.to_owned());
        let body =
            text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_")).unwrap_or(text);
        let (digits, suffix) = match body.as_bytes().last() {
            Some(b'a') => (&body[..body.len() - 1], Suffix::Arch),
            Some(b'f') => (&body[..body.len() - 1], Suffix::Family),
            _ => (body, Suffix::None),
        };
        let (major, minor) = match digits.split_once('.') {
            Some(pair) => pair,
            None if digits.len() >= 2 && digits.is_ascii() => digits.split_at(digits.len() - 1),
            None => return Err(error()),
        };
        let number = |part: &str| {
            let plain = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| part.parse::<u8>().ok()).flatten().ok_or_else(error)
        };
        let minor = number(minor)?;
        if minor > 9 {
            return Err(error());
        }
        Ok(Self { major: number(major)?, minor, suffix })
    }
}

crate::text_serde!(Sm);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_nvidia_writes() {
        for (text, want) in [
            ("7.5", Sm::new(7, 5)),
            ("sm_75", Sm::new(7, 5)),
            ("compute_61", Sm::new(6, 1)),
            ("120", Sm::new(12, 0)),
            ("12.1", Sm::new(12, 1)),
            ("sm_90a", Sm { major: 9, minor: 0, suffix: Suffix::Arch }),
            ("sm_100f", Sm { major: 10, minor: 0, suffix: Suffix::Family }),
        ] {
            assert_eq!(text.parse::<Sm>(), Ok(want), "{text}");
        }
    }

    #[test]
    fn prints_what_it_reads() {
        for text in ["sm_50", "sm_90a", "sm_100f", "sm_121"] {
            assert_eq!(text.parse::<Sm>().map(|sm| sm.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in
            ["", "sm_", "7", "a", "7.", ".5", "7.55", "sm_9é", "+7.5", "7.-1", "300.0", "sm_75x"]
        {
            assert!(text.parse::<Sm>().is_err(), "{text:?}");
        }
    }
}
