//! Modules, libraries and functions: images that were loaded, and the entry points in them.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpscope_kernels::Sm;

use crate::codes::{INVALID_PTX, INVALID_VALUE, NOT_FOUND};
use crate::driver::{Answer, Driver};
use crate::faults::Place;
use crate::image::{self, Chosen, Refusal};
use crate::program::{Entry, Program};
use crate::table::Handle;

/// Shared memory a block has without asking.
pub(crate) const SHARED_UNASKED: u32 = 48 << 10;
const THREADS: u32 = 1024;
const REGISTERS: u32 = 65536;
/// Registers of a thread where no cubin says how many: a driver's compiler would decide.
const REGISTERS_ASSUMED: u32 = 32;

/// A loaded image.
pub(crate) struct Module {
    pub(crate) context: usize,
    pub(crate) program: Arc<Program>,
    /// What the image was built for.
    target: Sm,
    is_binary: bool,
    /// Registers of each kernel of a cubin.
    registers: BTreeMap<String, u32>,
}

/// An image that each context loads when it first needs it.
pub(crate) struct Library {
    image: Vec<u8>,
    modules: BTreeMap<usize, usize>,
}

/// An entry point of a module.
pub(crate) struct Function {
    pub(crate) context: usize,
    pub(crate) module: usize,
    pub(crate) entry: Entry,
    pub(crate) registers: u32,
    /// Dynamic shared memory it may have.
    pub(crate) dynamic_shared: u32,
    carveout: i32,
    target: Sm,
    binary: Sm,
}

impl Driver {
    /// Loads an image into the current context.
    pub(crate) fn load(&mut self, bytes: &[u8]) -> Result<Handle, Refusal> {
        let silent = |code| Refusal::new(code, "");
        let (context, board) = self.current().map_err(silent)?;
        self.forbid_while_capturing().map_err(silent)?;
        self.pass(&Place::Load).map_err(|code| Refusal::new(code, "as the scenario says"))?;
        let module = match image::choose(bytes, self.loader().map_err(silent)?)? {
            Chosen::Ptx { text, target } => {
                let program = Program::of_ptx(&text)
                    .map_err(|why| Refusal::new(INVALID_PTX, format!("ptxas fatal   : {why}")))?;
                Module::new(context, program, target, None)
            }
            Chosen::Cubin(cubin, bytes) => {
                let program = Program::of_cubin(&cubin, &bytes);
                let kernels = cubin.kernels.into_iter().map(|it| (it.name, it.registers));
                Module::new(context, program, cubin.target, Some(kernels.collect()))
            }
        };
        if let Some(program) = &module.program.module {
            self.boards[board].memory.device.load(program);
        }
        Ok(self.modules.insert(module))
    }

    /// Unloads a module with its global variables.
    pub(crate) fn unload(&mut self, module: Handle) -> Answer {
        let (_, board) = self.current()?;
        let removed = self.modules.remove(module)?;
        if let Some(program) = &removed.program.module {
            self.boards[board].memory.device.unload(program);
        }
        self.functions.retain(|function| function.module != module.addr());
        Ok(())
    }

    /// A global variable by name: address and size.
    pub(crate) fn global(&mut self, module: Handle, name: &str) -> Result<(u64, usize), u32> {
        let (_, board) = self.current()?;
        let program = &self.modules.get(module)?.program;
        let module = program.module.as_ref().ok_or(NOT_FOUND)?;
        self.boards[board].memory.device.global(module, name).ok_or(NOT_FOUND)
    }

    /// An entry point by name.
    pub(crate) fn function(&mut self, module: Handle, name: &str) -> Result<Handle, u32> {
        let (_, board) = self.current()?;
        let (major, minor) = self.boards[board].seat.model.cc;
        let found = self.modules.get(module)?;
        let entry = found.program.entry(name).ok_or(NOT_FOUND)?;
        let function = Function {
            context: found.context,
            module: module.addr(),
            registers: found.registers.get(name).copied().unwrap_or(REGISTERS_ASSUMED).max(1),
            dynamic_shared: SHARED_UNASKED.saturating_sub(entry.shared_bytes),
            carveout: -1,
            target: found.target,
            binary: if found.is_binary { found.target } else { Sm::new(major as u8, minor as u8) },
            entry,
        };
        Ok(self.functions.insert(function))
    }

    /// Keeps an image for every context.
    pub(crate) fn load_library(&mut self, image: Vec<u8>) -> Handle {
        self.libraries.insert(Library { image, modules: BTreeMap::new() })
    }

    /// The module of a library in the current context.
    pub(crate) fn module_of(&mut self, library: Handle) -> Result<Handle, u32> {
        let (context, _) = self.current()?;
        let found = self.libraries.get(library)?;
        if let Some(module) = found.modules.get(&context.addr()) {
            return Ok(std::ptr::without_provenance_mut(*module));
        }
        let image = found.image.clone();
        let module = self.load(&image).map_err(|refusal| refusal.code)?;
        self.libraries.get_mut(library)?.modules.insert(context.addr(), module.addr());
        Ok(module)
    }

    /// Unloads a library wherever it was loaded.
    pub(crate) fn unload_library(&mut self, library: Handle) -> Answer {
        let removed = self.libraries.remove(library)?;
        for module in removed.modules.into_values() {
            self.unload(std::ptr::without_provenance_mut(module))?;
        }
        Ok(())
    }

    /// `cuFuncSetAttribute`: what may be set are dynamic shared memory, the carve-out, and larger clusters.
    pub(crate) fn set_function(&mut self, function: Handle, attribute: u32, value: i32) -> Answer {
        let most = self.here()?.seat.model.limits().shared_optin_kib << 10;
        let function = self.functions.get_mut(function)?;
        match attribute {
            8 => {
                let wanted = u32::try_from(value).map_err(|_| INVALID_VALUE)?;
                if wanted > most.saturating_sub(function.entry.shared_bytes) {
                    return Err(INVALID_VALUE);
                }
                function.dynamic_shared = wanted;
            }
            9 if (-1..=100).contains(&value) => function.carveout = value,
            14 if matches!(value, 0 | 1) => {}
            _ => return Err(INVALID_VALUE),
        }
        Ok(())
    }
}

impl Module {
    fn new(
        context: Handle,
        program: Program,
        target: Sm,
        registers: Option<BTreeMap<String, u32>>,
    ) -> Self {
        Self {
            context: context.addr(),
            program: Arc::new(program),
            target,
            is_binary: registers.is_some(),
            registers: registers.unwrap_or_default(),
        }
    }
}

impl Function {
    /// Threads a block of it may have.
    pub(crate) fn threads(&self) -> u32 {
        let warps = REGISTERS / (self.registers * 32).next_multiple_of(256);
        self.entry.threads.unwrap_or(THREADS).min(warps * 32).min(THREADS)
    }

    /// `cuFuncGetAttribute`.
    pub(crate) fn attribute(&self, attribute: u32) -> Option<i32> {
        let number = |sm: Sm| i32::from(sm.major) * 10 + i32::from(sm.minor);
        Some(match attribute {
            0 => self.threads() as i32,
            1 => self.entry.shared_bytes as i32,
            3 => self.entry.local_bytes as i32,
            4 => self.registers as i32,
            5 => number(self.target),
            6 => number(self.binary),
            8 => self.dynamic_shared as i32,
            9 => self.carveout,
            2 | 7 | 10..=15 => 0,
            _ => return None,
        })
    }
}
