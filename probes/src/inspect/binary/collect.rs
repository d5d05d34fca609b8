//! Puts a scan together from what is found, in bounded memory.

use std::collections::{BTreeMap, HashMap};

use super::contents::{Place, Visit};
use super::fatbin::Container;
use super::image::Target;
use super::scan::{Scan, Shape, Size};
use super::source::{Fault, Source};

/// Different shapes kept per file; the libraries that were looked at have at most a few dozen.
const MOST_SHAPES: usize = 1024;

/// Warnings kept per file.
const MOST_WARNINGS: usize = 16;

/// Collects the device code of one file.
#[derive(Default)]
pub(super) struct Collector {
    shapes: [HashMap<Shape, u32>; 3],
    sizes: BTreeMap<Target, Size>,
    damage: Option<String>,
    warnings: Vec<String>,
    more_warnings: u32,
    left_out: u32,
}

impl Collector {
    /// Something that is wrong with the file, or with a member of it.
    pub(super) fn fault_of(&mut self, member: Option<&str>, fault: &Fault) {
        let of = |what: String| member.map_or(what.clone(), |member| format!("{member}: {what}"));
        self.damage = self.damage.take().or_else(|| fault.damage().map(of));
        self.warn(of(fault.to_string()));
    }

    fn warn(&mut self, warning: String) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(warning);
        } else {
            self.more_warnings = self.more_warnings.saturating_add(1);
        }
    }

    /// What was found, put into a scan.
    pub(super) fn finish(mut self, scan: &mut Scan) {
        if self.left_out > 0 {
            self.warnings
                .push(format!("{} containers of yet other shapes are left out", self.left_out));
        }
        if self.more_warnings > 0 {
            self.warnings.push(format!("and {} more of the kind", self.more_warnings));
        }
        [scan.executable, scan.relocatable, scan.data] = self.shapes.map(sorted);
        scan.sizes = self.sizes;
        scan.warnings = self.warnings;
        scan.damage = self.damage;
    }
}

fn sorted(shapes: HashMap<Shape, u32>) -> Vec<(Shape, u32)> {
    let mut list: Vec<_> = shapes.into_iter().collect();
    list.sort();
    list
}

impl Visit for Collector {
    fn container(&mut self, place: Place, _: &dyn Source, container: &Container) {
        for ((image, _), (stored, unpacked)) in container.images.iter().zip(&container.sizes) {
            let size = self.sizes.entry(image.target()).or_default();
            size.stored = size.stored.saturating_add(*stored);
            size.unpacked = size.unpacked.saturating_add(*unpacked);
        }
        let mut images = container.images.clone();
        images.sort();
        let (shape, shapes) = (Shape(images), &mut self.shapes[place as usize]);
        if shapes.len() >= MOST_SHAPES && !shapes.contains_key(&shape) {
            self.left_out = self.left_out.saturating_add(1);
        } else {
            let count = shapes.entry(shape).or_default();
            *count = count.saturating_add(1);
        }
    }

    fn fault(&mut self, fault: &Fault) {
        self.fault_of(None, fault);
    }
}
