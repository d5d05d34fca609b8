//! The names of what a GPU has nothing for. Read when asked: most scans need no names, and names need memory.

use std::path::Path;

use warpscope_kernels::Sm;

use super::contents::{self, Place, Visit};
use super::fatbin::Container;
use super::file::{ScanError, open, recognised};
use super::load::Load;
use super::scan::Shape;
use super::source::{Fault, Source};
use crate::text::printable;
use warpscope_kernels::image::Isa;

/// Kernels of a binary that a GPU has nothing for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Their names as the compiler wrote them, each once, in the order they lie.
    pub names: Vec<String>,
    /// Containers whose names are compressed with everything else in them, and cannot be told.
    pub unnamed: u32,
}

/// Names the kernels of a file that a GPU has nothing for, at most `most` of them. Only images that are not compressed tell their names,
/// and members of a wheel are not opened.
pub fn missing_kernels(
    path: &Path,
    device: Sm,
    driver: Option<Isa>,
    most: usize,
) -> Result<Missing, ScanError> {
    let source = open(path)?;
    let mut names = Names { device, driver, most, missing: Missing::default() };
    contents::visit(recognised(path, &source)?, &source, &mut names);
    Ok(names.missing)
}

struct Names {
    device: Sm,
    driver: Option<Isa>,
    most: usize,
    missing: Missing,
}

impl Visit for Names {
    fn container(&mut self, place: Place, source: &dyn Source, container: &Container) {
        let loads = Shape(container.images.clone()).loads(self.device, self.driver);
        if place != Place::Executable || !matches!(loads, Load::No(_)) {
            return;
        }
        let Some(names) = contents::kernels(source, container) else {
            self.missing.unnamed = self.missing.unnamed.saturating_add(1);
            return;
        };
        for name in names.iter().map(|name| printable(name)) {
            // Routines the compiler adds have sections like kernels have.
            let known = name.starts_with("__cuda_") || self.missing.names.contains(&name);
            if !known && self.missing.names.len() < self.most {
                self.missing.names.push(name);
            }
        }
    }

    fn fault(&mut self, _: &Fault) {}
}
