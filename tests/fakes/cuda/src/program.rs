//! What runs: PTX, and the entry points it declares.

use std::collections::BTreeMap;

use crate::driver::Board;
use crate::image::Cubin;
use crate::launch::Launch;

/// An entry point.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    /// Shared memory it always has.
    pub(crate) shared_bytes: u32,
    /// Most threads of a block, if it says so.
    pub(crate) threads: Option<u32>,
}

/// Where a parameter lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param {
    pub(crate) offset: usize,
    pub(crate) size: usize,
}

/// What a kernel did wrong.
pub(crate) struct KernelFault {
    pub(crate) code: u32,
    pub(crate) what: String,
}

/// A loaded program.
pub(crate) struct Program {
    entries: Vec<Entry>,
}

impl Program {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let names = text.split(".entry").skip(1).filter_map(|rest| rest.split('(').next());
        let entries = names.map(|name| Entry {
            name: name.trim().to_owned(),
            params: Vec::new(),
            shared_bytes: 0,
            threads: None,
        });
        Ok(Self { entries: entries.collect() })
    }

    pub(crate) fn of_cubin(cubin: &Cubin, _bytes: &[u8]) -> Self {
        let entries = cubin.kernels.iter().map(|it| Entry {
            name: it.name.clone(),
            params: Vec::new(),
            shared_bytes: 0,
            threads: None,
        });
        Self { entries: entries.collect() }
    }

    pub(crate) fn entry(&self, name: &str) -> Option<Entry> {
        self.entries.iter().find(|entry| entry.name == name).cloned()
    }

    pub(crate) fn globals(&self) -> Vec<(String, Vec<u8>)> {
        Vec::new()
    }

    pub(crate) fn run(
        &self,
        _name: &str,
        _launch: &Launch,
        _globals: &BTreeMap<String, (u64, usize)>,
        _board: &mut Board,
    ) -> Option<Result<u64, KernelFault>> {
        None
    }
}
