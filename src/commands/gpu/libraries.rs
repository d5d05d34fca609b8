//! Copies of cuBLAS for the devices of a command: looked for once, and each line about them printed once, before any is loaded.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::path::PathBuf;

use warpscope_probes::inspect::env::{Inventory, Progress};
use warpscope_probes::live::CublasCopies;
use warpscope_probes::trust;

use crate::commands::cli::{Options, Result};
use crate::commands::environments::inventory;
use crate::commands::{elevated, output};
use crate::config::args;
use crate::engine::Target;

/// What the machine has, once it was looked for.
pub(crate) struct Libraries<'a> {
    options: &'a Options,
    inventory: OnceCell<Inventory>,
    printed: RefCell<BTreeSet<String>>,
}

impl<'a> Libraries<'a> {
    /// Looks for nothing yet.
    pub(crate) fn new(options: &'a Options) -> Self {
        Self { options, inventory: OnceCell::new(), printed: RefCell::default() }
    }

    /// Copies to load for a device, best first: the one the user named, or those found that nobody else can have put there.
    pub(crate) fn cublas(&self, target: &Target) -> Result<Vec<PathBuf>> {
        if let Some(path) = self.options.get(&args::CUBLAS) {
            return elevated::named("--cublas", &path).map(|path| vec![path]);
        }
        let inventory = self.inventory.get_or_init(|| inventory(&mut Progress::silent()));
        let copies = CublasCopies::of(inventory, target.cuda.as_deref(), target.sm, trust::user());
        let vetted = copies.vet();
        for line in vetted.lines("cuBLAS", "name it with --cublas PATH") {
            if self.printed.borrow_mut().insert(line.clone()) {
                output::note(format_args!("warpscope: {line}"));
            }
        }
        Ok(vetted.load)
    }
}
