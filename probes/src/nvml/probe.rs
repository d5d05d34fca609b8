//! Asking one device: every answer becomes a reading, and trouble beyond the one value is remembered.

use std::cell::OnceCell;
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
    /// An error that reaches beyond one value: the device is lost, or the driver is gone.
    trouble: OnceCell<NvmlError>,
}

impl<'a> Probe<'a> {
    pub(super) fn new(target: Target<'a>, since_last: Duration) -> Self {
        Self { target, since_last, trouble: OnceCell::new() }
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
            return error::reading(trouble);
        }
        match &self.target {
            Target::NotAsked => Reading::Late(None),
            Target::Absent(answer) => error::same_absence(answer),
            Target::Device(device, _) => question(device).map_or_else(
                |error| {
                    let reading = error::reading(&error);
                    if matches!(error::meaning(&error), Meaning::Lost | Meaning::DriverGone) {
                        self.trouble.get_or_init(|| error);
                    }
                    reading
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
    pub(super) fn into_trouble(self) -> Option<NvmlError> {
        self.trouble.into_inner()
    }
}
