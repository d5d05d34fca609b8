//! What each NVML error means: the one table from error codes to readings and driver states.

use std::path::Path;

use nvml_wrapper::error::{Bits, NvmlError};

use crate::Reading;
use crate::driver::DriverState;

/// What an error says about the value that was asked for, and about what lies behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// This device or this driver does not offer the value.
    Unsupported,
    /// We may not read it.
    Denied,
    /// It did not answer in time.
    Late,
    /// The device itself does not answer any more.
    Lost,
    /// The driver behind the library is gone or another one.
    DriverGone,
    /// The one call failed.
    Failed,
}

/// The table. What it does not name, codes NVML has not invented yet included, is a failed call.
pub(super) fn meaning(error: &NvmlError) -> Meaning {
    match error {
        NvmlError::NotSupported
        | NvmlError::FunctionNotFound
        | NvmlError::FailedToLoadSymbol(_) => Meaning::Unsupported,
        NvmlError::NoPermission => Meaning::Denied,
        NvmlError::Timeout => Meaning::Late,
        NvmlError::GpuLost => Meaning::Lost,
        NvmlError::Uninitialized | NvmlError::DriverNotLoaded | NvmlError::LibRmVersionMismatch => {
            Meaning::DriverGone
        }
        _ => Meaning::Failed,
    }
}

/// The reading an error leaves behind.
pub(super) fn reading<T>(error: &NvmlError) -> Reading<T> {
    match meaning(error) {
        Meaning::Unsupported => Reading::Unsupported,
        Meaning::Denied => Reading::Denied,
        Meaning::Late => Reading::Late(None),
        Meaning::Lost | Meaning::DriverGone | Meaning::Failed => {
            Reading::Failed(words(error).into())
        }
    }
}

/// An absence carried over to a value of another type; nothing at all if it was a value.
pub(super) fn same_absence<T>(answer: &Reading<()>) -> Reading<T> {
    answer.clone().and_then(|()| Reading::Late(None))
}

/// What stands for an answer that cannot be true.
pub(super) fn absurd() -> NvmlError {
    NvmlError::IncorrectBits(Bits::U32(0))
}

/// A value of an answer, unless it cannot be true.
pub(super) fn checked<T, U>(
    answer: Reading<T>,
    check: impl FnOnce(T) -> Result<U, NvmlError>,
) -> Reading<U> {
    answer.and_then(|value| check(value).map_or_else(|why| reading(&why), Reading::Value))
}

/// The error in NVML's words, with the number where there are none.
pub(super) fn words(error: &NvmlError) -> String {
    match error {
        NvmlError::IncorrectBits(_) => "the driver's answer cannot be true".to_owned(),
        NvmlError::UnexpectedVariant(code) => format!("NVML error {code}"),
        known => format!("NVML error: {}", crate::text::printable(&known.to_string())),
    }
}

/// Whether the driver is too old to have the function.
pub(super) fn is_missing_symbol(error: &NvmlError) -> bool {
    matches!(error, NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound)
}

/// Why NVML did not start, or is gone.
pub(super) fn driver_state(error: &NvmlError, proc_root: &Path) -> DriverState {
    match error {
        NvmlError::LibloadingError(why) if is_no_such_file(&why.to_string()) => {
            DriverState::LibraryMissing
        }
        NvmlError::LibraryNotFound => DriverState::LibraryMissing,
        NvmlError::DriverNotLoaded => DriverState::NotLoaded,
        NvmlError::NoPermission => DriverState::NoPermission,
        NvmlError::LibRmVersionMismatch => DriverState::VersionMismatch {
            kernel: std::fs::read_to_string(proc_root.join("driver/nvidia/version"))
                .ok()
                .and_then(|text| kernel_version(&text)),
        },
        NvmlError::LibloadingError(why) => {
            DriverState::Failed { error: crate::text::printable(&why.to_string()) }
        }
        other => DriverState::Failed { error: words(other) },
    }
}

/// The loader tells a missing library from a damaged one in its message alone: Linux, then Windows.
/// "not found" would not do: that is also said of a symbol version the C library lacks.
fn is_no_such_file(message: &str) -> bool {
    message.contains("No such file or directory") || message.contains("module could not be found")
}

/// The version in `/proc/driver/nvidia/version`: the first word made of numbers and dots.
fn kernel_version(text: &str) -> Option<String> {
    let is_version =
        |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.lines().next()?.split_whitespace().find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_becomes_a_reading_and_none_panics() {
        for code in (1..=2000).chain([u32::MAX]) {
            let error = NvmlError::from(code);
            let text = words(&error);
            let expected = match code {
                3 | 13 => Reading::Unsupported,
                4 => Reading::Denied,
                10 => Reading::Late(None),
                _ => Reading::Failed(text.clone().into()),
            };
            assert_eq!(reading::<u32>(&error), expected, "code {code}");
            assert!(text.starts_with("NVML error"), "{text}");
        }
        assert_eq!(words(&NvmlError::from(4242)), "NVML error 4242");
        assert_eq!(meaning(&NvmlError::from(15)), Meaning::Lost);
        for gone in [1, 9, 18] {
            assert_eq!(meaning(&NvmlError::from(gone)), Meaning::DriverGone, "code {gone}");
        }
    }

    #[test]
    fn a_symbol_an_old_driver_lacks_is_unsupported() {
        let error = NvmlError::FailedToLoadSymbol("undefined symbol".into());
        assert_eq!(reading::<u32>(&error), Reading::Unsupported);
        assert!(is_missing_symbol(&error));
    }

    #[test]
    fn the_module_version_is_found_in_both_flavours_of_the_file() {
        let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.261.03  Tue Jun 10 18:00:00 UTC 2025\nGCC version:  gcc 12.2.0\n";
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build  (root@host)\n";
        assert_eq!(kernel_version(closed).as_deref(), Some("535.261.03"));
        assert_eq!(kernel_version(open).as_deref(), Some("580.82.07"));
        assert_eq!(kernel_version("NVRM version: none\nGCC 12.2.0"), None);
        assert_eq!(kernel_version(""), None);
    }
}
