//! A frame as metrics for Prometheus: base units, one family for each reading, every GPU a series.
//!
//! Both text forms are written here, sixty lines in all: the crates for it keep counters of a program and print only OpenMetrics, while a
//! frame is read once and old servers and `promtool check metrics` take the plain form.

mod families;
mod family;
mod text;

use warpscope_probes::Frame;

pub use self::families::Extras;
pub use self::text::Form;

/// All metrics of a frame as text.
pub fn exposition(frame: &Frame, extras: &Extras, form: Form) -> String {
    let gpus = families::told(frame);
    let machine = families::of_machine(frame);
    let labels: Vec<_> = gpus.iter().map(|gpu| families::of_gpu(frame, gpu)).collect();
    text::write(&families::all(frame, &gpus, extras), (&machine, &labels), form)
}

#[cfg(test)]
mod tests;
