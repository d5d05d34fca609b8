//! K44: what is not finite in a tensor, and where it starts.

use super::scan::{clear, scan};
use crate::gpu::family::stream::{check_aligned, suffix};
use crate::gpu::{DeviceFacts, Element, Launch, Slot};

/// Bytes of the report on the device.
pub const REPORT_BYTES: usize = 32;

/// What a scan of a tensor found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Finite {
    /// Elements that are no number.
    pub nan: u32,
    /// Elements that are infinite.
    pub infinite: u32,
    /// Finite elements above 65 504, the largest binary16.
    pub over_fp16: u32,
    /// Elements below the normal range of their format, zeros not counted.
    pub subnormal: u32,
    /// Largest finite magnitude and the index of the first that has it; `None` where nothing is finite.
    pub largest: Option<(f32, u32)>,
    /// Index of the first element that is not finite.
    pub first_bad: Option<u32>,
}

impl Finite {
    /// The report the device would write: four counts; magnitude and inverted index of the largest; inverted index of the first
    /// that is not finite. Inverted, so that zero means none and the largest key is the first index.
    pub fn to_report(self) -> [u8; REPORT_BYTES] {
        let (magnitude, place) = self.largest.map_or((0, 0), |(m, at)| (m.to_bits(), !at));
        let bad = self.first_bad.map_or(0, |at| !at);
        let words =
            [self.nan, self.infinite, self.over_fp16, self.subnormal, place, magnitude, bad, 0];
        let mut out = [0; REPORT_BYTES];
        out.chunks_exact_mut(4).zip(words).for_each(|(o, w)| o.copy_from_slice(&w.to_le_bytes()));
        out
    }
}

/// Scans `count` f32, f16 or bf16 elements and adds what it finds to a report, which is zeroed before the first scan.
pub fn add_finite(
    facts: &DeviceFacts,
    tensor: Slot,
    element: Element,
    count: u32,
    report: Slot,
) -> Result<Launch, String> {
    let entry = match element {
        Element::F32 => "finite_f32",
        Element::F16 => "finite_f16",
        Element::Bf16 => "finite_bf16",
        _ => return Err(format!("{} is not scanned for what is not finite", suffix(element))),
    };
    check_aligned(&[tensor, report])?;
    if count == u32::MAX {
        return Err("indices of so many elements do not fit".to_owned());
    }
    let items = u64::from(count) * element.bytes() as u64 / 16;
    Ok(scan(facts, entry, items, [tensor.into(), report.into(), count.into()]))
}

/// Scans a tensor into a report of [`REPORT_BYTES`] bytes, which is cleared first.
pub fn finite(
    facts: &DeviceFacts,
    tensor: Slot,
    element: Element,
    count: u32,
    report: Slot,
) -> Result<Vec<Launch>, String> {
    Ok(vec![clear(report, REPORT_BYTES as u32), add_finite(facts, tensor, element, count, report)?])
}
