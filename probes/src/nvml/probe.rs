//! Asking one device: every answer becomes a reading, and trouble beyond the one value is remembered.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::error::{self, Meaning};
use crate::Reading;
use crate::text::printable;

/// What stands at the other end of the questions.
pub(super) enum Target<'a> {
    /// A device handle, and the library it is of.
    Device(Device<'a>, &'a Arc<Nvml>),
    /// Nobody was asked yet.
    NotAsked,
    /// No handle could be had: the answer to every question.
    Absent(Reading<()>),
}

/// One device during one poll.
pub(super) struct Probe<'a> {
    target: Target<'a>,
    /// Time since the last poll.
    pub(super) since_last: Duration,
    trouble: Cell<Option<Trouble>>,
}

/// Trouble that reaches beyond one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The device is lost.
    Lost,
    /// The driver is gone: unloaded, reloaded or replaced.
    DriverGone(Gone),
}

/// How the driver went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// NVML must be initialised again.
    Uninitialized,
    /// The kernel module is not loaded.
    NotLoaded,
    /// Another version is loaded.
    Mismatch,
}

impl Gone {
    fn error(self) -> NvmlError {
        match self {
            Self::Uninitialized => NvmlError::Uninitialized,
            Self::NotLoaded => NvmlError::DriverNotLoaded,
            Self::Mismatch => NvmlError::LibRmVersionMismatch,
        }
    }
}

impl Trouble {
    /// The trouble an error means, if it is more than a failed call.
    pub(super) fn of(error: &NvmlError) -> Option<Self> {
        match error::meaning(error) {
            Meaning::Lost => Some(Self::Lost),
            Meaning::DriverGone => Some(Self::DriverGone(match error {
                NvmlError::DriverNotLoaded => Gone::NotLoaded,
                NvmlError::LibRmVersionMismatch => Gone::Mismatch,
                _ => Gone::Uninitialized,
            })),
            _ => None,
        }
    }

    /// The error it came from.
    pub(super) fn error(self) -> NvmlError {
        match self {
            Self::Lost => NvmlError::GpuLost,
            Self::DriverGone(gone) => gone.error(),
        }
    }
}

impl<'a> Probe<'a> {
    pub(super) fn new(target: Target<'a>, since_last: Duration) -> Self {
        Self { target, since_last, trouble: Cell::new(None) }
    }

    /// A probe that gives the answer of an error to every question.
    pub(super) fn absent(error: &NvmlError) -> Self {
        Self::new(Target::Absent(error::reading(error)), Duration::ZERO)
    }

    /// Asks, unless trouble has made it pointless.
    pub(super) fn ask<T>(
        &self,
        question: impl FnOnce(&Device<'a>) -> Result<T, NvmlError>,
    ) -> Reading<T> {
        if let Some(trouble) = self.trouble.get() {
            return error::reading(&trouble.error());
        }
        match &self.target {
            Target::NotAsked => Reading::Late(None),
            Target::Absent(answer) => error::same_absence(answer),
            Target::Device(device, _) => question(device).map_or_else(
                |error| {
                    self.trouble.set(Trouble::of(&error));
                    error::reading(&error)
                },
                Reading::Value,
            ),
        }
    }

    /// Asks for a text, and makes it safe to print.
    pub(super) fn text(
        &self,
        question: impl FnOnce(&Device<'a>) -> Result<String, NvmlError>,
    ) -> Reading<String> {
        self.ask(question).map(|text| printable(&text))
    }

    /// Asks for something whose absence says nothing.
    pub(super) fn find<T>(
        &self,
        question: impl FnOnce(&Device<'a>) -> Result<T, NvmlError>,
    ) -> Option<T> {
        match self.ask(question) {
            Reading::Value(value) => Some(value),
            _ => None,
        }
    }

    /// The device, while it answers.
    pub(super) fn device(&self) -> Option<&Device<'a>> {
        match &self.target {
            Target::Device(device, _) if self.trouble.get().is_none() => Some(device),
            _ => None,
        }
    }

    /// The library, where there is a device.
    pub(super) fn library(&self) -> Option<&'a Arc<Nvml>> {
        match &self.target {
            Target::Device(_, nvml) => Some(nvml),
            _ => None,
        }
    }

    /// Trouble met so far.
    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.trouble.get()
    }
}
