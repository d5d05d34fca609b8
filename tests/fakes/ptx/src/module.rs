//! A parsed module: its entries, ready to run, and its variables.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::decode::decode;
use crate::error::PtxError;
use crate::parse::parse;
use crate::parse::syntax::{Function, Space};
use crate::program::Program;

/// A parameter of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its size.
    pub bytes: u32,
    /// Its alignment among the parameters.
    pub align: u32,
}

/// A kernel.
#[derive(Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its parameters, in order.
    pub params: Vec<Param>,
    /// Shared memory it declares, bytes.
    pub static_shared: u32,
    /// Most threads of a block (`.maxntid`).
    pub max_threads: Option<[u32; 3]>,
    /// The very threads of a block it wants (`.reqntid`).
    pub required_threads: Option<[u32; 3]>,
    /// Blocks that should fit a multiprocessor (`.minnctapersm`).
    pub min_blocks: Option<u32>,
    /// Blocks of a cluster it wants (`.reqnctapercluster`).
    pub cluster: Option<[u32; 3]>,
    /// Local memory of a thread, bytes.
    pub local_bytes: u32,
    pub(crate) program: Program,
}

impl Entry {
    /// Lines whose instructions nothing launched so far has executed, first and last of each stretch.
    pub fn unexecuted(&self) -> Vec<(u32, u32)> {
        let code = self.program.code.iter().zip(&self.program.executed);
        let mut stretches: Vec<(u32, u32)> = Vec::new();
        let mut on = false;
        for (inst, executed) in code {
            let executed = executed.load(Ordering::Relaxed);
            match stretches.last_mut() {
                Some(last) if on && !executed => last.1 = inst.line,
                _ if !executed => stretches.push((inst.line, inst.line)),
                _ => {}
            }
            on = !executed;
        }
        stretches
    }

    /// Instructions executed so far by anything launched, and all there are.
    pub fn coverage(&self) -> (usize, usize) {
        let executed = self.program.executed.iter().filter(|done| done.load(Ordering::Relaxed));
        (executed.count(), self.program.executed.len())
    }

    /// Where a parameter lies in the bytes of a launch, and the end of all.
    pub fn param_offsets(&self) -> (Vec<u32>, u32) {
        let mut end = 0;
        let offset = |param: &Param| {
            let at = crate::decode::align(end, param.align);
            end = at + param.bytes;
            at
        };
        let offsets = self.params.iter().map(offset).collect();
        (offsets, end)
    }
}

/// A variable of a module.
#[derive(Debug)]
pub(crate) struct Global {
    pub(crate) name: String,
    pub(crate) bytes: u32,
    pub(crate) initial: Vec<u8>,
    /// Pointers among the bytes: offset, variable.
    pub(crate) pointers: Vec<(u32, u32)>,
    pub(crate) writable: bool,
    /// Shared variables take their number and no memory.
    pub(crate) placed: bool,
}

/// A PTX module.
#[derive(Clone, Debug)]
pub struct Module {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    id: u64,
    version: (u32, u32),
    target: String,
    entries: BTreeMap<String, Entry>,
    globals: Vec<Global>,
}

impl Module {
    /// Reads a module and decodes all its entries.
    pub fn parse(text: &str) -> Result<Self, PtxError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let unit = parse(text)?;
        let mut entries = BTreeMap::new();
        for function in
            unit.functions.iter().filter(|function| function.entry && function.body.is_some())
        {
            let entry = entry(function, decode(&unit, function)?);
            entries.insert(entry.name.clone(), entry);
        }
        let mut globals = Vec::new();
        for variable in &unit.variables {
            let index = |name: &str| unit.variables.iter().position(|other| other.name == name);
            let mut pointers = Vec::new();
            for (offset, name) in &variable.pointers {
                let unknown = || PtxError::new(variable.line, format!("unknown variable `{name}`"));
                pointers.push((*offset, index(name).ok_or_else(unknown)? as u32));
            }
            globals.push(Global {
                name: variable.name.to_owned(),
                bytes: variable.bytes,
                initial: variable.initial.clone(),
                pointers,
                writable: variable.space == Space::Global,
                placed: variable.space != Space::Shared,
            });
        }
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let inner =
            Inner { id, version: unit.version, target: unit.target.to_owned(), entries, globals };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Version of the PTX ISA it is written in.
    pub fn version(&self) -> (u32, u32) {
        self.inner.version
    }

    /// Its target: `sm_80`.
    pub fn target(&self) -> &str {
        &self.inner.target
    }

    /// The kernel of a name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.inner.entries.get(name)
    }

    /// All kernels, by name.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.inner.entries.values()
    }

    /// Names and sizes of the variables in device memory.
    pub fn globals(&self) -> impl Iterator<Item = (&str, u32)> {
        self.inner
            .globals
            .iter()
            .filter(|global| global.placed)
            .map(|global| (global.name.as_str(), global.bytes))
    }

    pub(crate) fn id(&self) -> u64 {
        self.inner.id
    }

    pub(crate) fn variables(&self) -> &[Global] {
        &self.inner.globals
    }
}

fn entry(function: &Function<'_>, program: Program) -> Entry {
    Entry {
        name: function.name.to_owned(),
        params: function
            .params
            .iter()
            .map(|param| Param { bytes: param.bytes, align: param.align })
            .collect(),
        static_shared: program.shared_bytes,
        max_threads: function.max_threads,
        required_threads: function.required_threads,
        min_blocks: function.min_blocks,
        cluster: function.cluster,
        local_bytes: program.local_bytes,
        program,
    }
}
