//! The state behind every call, and what happens before each: faults, hidden functions, the check that `cuInit` was called.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use warpscope_kernels::Sm;

use crate::boards::ledger::{self, Page};
use crate::codes;
use crate::context::{Context, Primary};
use crate::faults::{Effect, Fault, Place};
use crate::graph::{Executable, Graph};
use crate::image::Loader;
use crate::memory::Memory;
use crate::module::{Function, Library, Module};
use crate::scenario::{Scenario, Seat, words};
use crate::stream::{Event, Stream};
use crate::table::{Handle, Table};

/// What a call gives: nothing, or a `CUresult` that is not 0.
pub(crate) type Answer = Result<(), u32>;

/// One board, and what the process has on it.
pub(crate) struct Board {
    pub(crate) seat: Seat,
    pub(crate) memory: Memory,
    pub(crate) primary: Primary,
    /// Simulated time since the start, nanoseconds.
    pub(crate) clock: f64,
    /// The error that a dead kernel left behind. Of `CUDA_ERROR_ILLEGAL_ADDRESS` and its like `cuda.h` says that the process must end.
    pub(crate) broken: Option<u32>,
}

/// The whole driver.
pub(crate) struct Driver {
    pub(crate) scenario: Scenario,
    pub(crate) boards: Vec<Board>,
    pub(crate) contexts: Table<Context>,
    pub(crate) modules: Table<Module>,
    pub(crate) functions: Table<Function>,
    pub(crate) libraries: Table<Library>,
    pub(crate) streams: Table<Stream>,
    pub(crate) events: Table<Event>,
    pub(crate) graphs: Table<Graph>,
    pub(crate) executables: Table<Executable>,
    /// Memory of the host that the driver gave, by address, and its size.
    pub(crate) host: BTreeMap<usize, usize>,
    initialised: bool,
    counts: BTreeMap<String, u64>,
    named: BTreeSet<String>,
    /// What the stand-in NVML was told last.
    page: Page,
}

static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

thread_local! {
    /// The contexts this thread has pushed; the last is current.
    static STACK: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The thread's stack of contexts.
pub(crate) fn stack<T>(use_it: impl FnOnce(&mut Vec<usize>) -> T) -> T {
    STACK.with_borrow_mut(use_it)
}

fn lock() -> MutexGuard<'static, Option<Driver>> {
    DRIVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls that work before `cuInit`.
const BEFORE_INIT: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetProcAddress",
    "cuGetProcAddress_v2",
];

/// Calls that start kernels, which `slow` makes slower.
const LAUNCHES: &[&str] =
    &["cuLaunchKernel", "cuLaunchKernelEx", "cuGraphLaunch", "warpscope_library_work"];

const SIGILL: c_int = 4;

unsafe extern "C" {
    fn raise(signal: c_int) -> c_int;
}

/// Does a call: first what the scenario does to it, then the call itself.
pub(crate) fn enter(function: &str, body: impl FnOnce(&mut Driver) -> Answer) -> u32 {
    let effects = lock().get_or_insert_with(Driver::new).effects(function);
    for effect in effects {
        match effect {
            Effect::Code(code) | Effect::Sticky(code) => return code,
            effect => effect.befall(),
        }
    }
    let mut driver = lock();
    let driver = driver.get_or_insert_with(Driver::new);
    if !driver.initialised && !BEFORE_INIT.contains(&function) {
        return codes::NOT_INITIALIZED;
    }
    let code = body(driver).err().unwrap_or(0);
    driver.keep_accounts();
    code
}

impl Effect {
    /// Does to this process what needs no answer of the driver.
    pub(crate) fn befall(&self) {
        match self {
            Self::Hang => loop {
                std::thread::park();
            },
            Self::Abort => std::process::abort(),
            // SAFETY: raising a signal has no conditions.
            Self::Crash => unsafe {
                raise(SIGILL);
            },
            Self::Slow(time) => std::thread::sleep(*time),
            Self::Code(_) | Self::Sticky(_) | Self::Skip => {}
        }
    }
}

impl Driver {
    fn new() -> Self {
        let mut scenario = Scenario::parse(&words(crate::here()));
        let boards = 0..scenario.boards.len();
        scenario.lost.extend(boards.filter(|board| ledger::lost(*board)));
        let visible = std::env::var("CUDA_VISIBLE_DEVICES").ok();
        let seats = scenario.seats(visible.as_deref());
        let boards = seats.into_iter().enumerate().map(|(at, seat)| Board {
            seat,
            memory: Memory::new(at, &seat, scenario.others_percent),
            primary: Primary::default(),
            clock: 0.0,
            broken: None,
        });
        Self {
            boards: boards.collect(),
            contexts: Table::new(1),
            modules: Table::new(2),
            functions: Table::new(3),
            libraries: Table::new(4),
            streams: Table::new(5),
            events: Table::new(6),
            graphs: Table::new(7),
            executables: Table::new(8),
            host: BTreeMap::new(),
            initialised: false,
            counts: BTreeMap::new(),
            named: BTreeSet::new(),
            page: Page { process: std::process::id(), ..Page::default() },
            scenario,
        }
    }

    fn effects(&mut self, function: &str) -> Vec<Effect> {
        if self.lacks(function) {
            return vec![Effect::Code(codes::NOT_SUPPORTED)];
        }
        let mut effects = Vec::from_iter(self.strike(&Place::Call(function.to_owned())));
        let slow = |effect: &Effect| matches!(effect, Effect::Slow(_));
        if LAUNCHES.contains(&function) {
            let all = self.scenario.faults.iter().map(|fault| &fault.effect);
            effects.extend(all.filter(|effect| slow(effect)).cloned());
        }
        effects
    }

    /// Tells the stand-in NVML what is held and lost, where it changed and a ledger is kept.
    fn keep_accounts(&mut self) {
        let held = self.boards.iter().map(|it| (it.seat.board, it.memory.held()));
        let lost = self.boards.iter().filter(|it| it.broken == Some(codes::UNKNOWN));
        let page = Page {
            memory: held.filter(|held| held.1 > 0).collect(),
            lost: lost.map(|it| it.seat.board).collect(),
            process: self.page.process,
        };
        if page != self.page {
            if let Some(Err(error)) = ledger::folder().map(|folder| page.write(&folder)) {
                self.tell(format!("no ledger: {error}"));
            }
            self.page = page;
        }
    }

    /// Whether the pretended driver is from before a function.
    pub(crate) fn lacks(&self, function: &str) -> bool {
        self.scenario.lacks.iter().any(|lacking| lacking == function)
    }

    /// Counts that a place is reached, and tells what the scenario does there.
    pub(crate) fn strike(&mut self, place: &Place) -> Option<Effect> {
        let here = self
            .scenario
            .faults
            .iter()
            .filter(|fault| fault.place == *place && fault.entry.is_none());
        let count = self.counts.entry(format!("{place:?}")).or_default();
        *count += 1;
        let mut striking = here.filter(|fault| fault.nth.is_none_or(|nth| nth == *count));
        let found = striking.find(|fault| !matches!(fault.effect, Effect::Slow(_)));
        found.map(|fault| fault.effect.clone())
    }

    /// The same for a launch of an entry.
    pub(crate) fn strike_entry(&mut self, name: &str) -> Option<Effect> {
        let begins = |fault: &&Fault| {
            fault.entry.as_ref().is_some_and(|entry| name.starts_with(entry.as_str()))
        };
        let fault = self.scenario.faults.iter().find(begins)?.clone();
        let count = self.counts.entry(format!("{:?} {:?}", fault.effect, fault.entry)).or_default();
        *count += 1;
        fault.nth.is_none_or(|nth| nth == *count).then_some(fault.effect)
    }

    /// Fails where the scenario says that a place fails.
    pub(crate) fn pass(&mut self, place: &Place) -> Answer {
        match self.strike(place) {
            Some(Effect::Code(code)) => Err(code),
            _ => Ok(()),
        }
    }

    /// Says something on stderr, once.
    pub(crate) fn tell(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.named.contains(&what) {
            eprintln!("stand-in CUDA: {what}");
            self.named.insert(what);
        }
    }

    /// Starts the driver.
    pub(crate) fn start(&mut self, flags: u32) -> Answer {
        if flags != 0 {
            return Err(codes::INVALID_VALUE);
        }
        self.pass(&Place::Init)?;
        if self.boards.is_empty() {
            return Err(codes::NO_DEVICE);
        }
        self.initialised = true;
        Ok(())
    }

    /// A board by the number CUDA gives it.
    pub(crate) fn board(&mut self, device: c_int) -> Result<&mut Board, u32> {
        let at = usize::try_from(device).map_err(|_| codes::INVALID_DEVICE)?;
        self.boards.get_mut(at).ok_or(codes::INVALID_DEVICE)
    }

    /// The current context and the number of its board, if a dead kernel has not spoilt it.
    pub(crate) fn current(&self) -> Result<(Handle, usize), u32> {
        let context = stack(|stack| stack.last().copied()).ok_or(codes::INVALID_CONTEXT)?;
        let context = std::ptr::without_provenance_mut(context);
        let board = self.contexts.get(context).map_err(|_| codes::CONTEXT_IS_DESTROYED)?.board;
        self.boards[board].broken.map_or(Ok((context, board)), Err)
    }

    /// The board of the current context.
    pub(crate) fn here(&mut self) -> Result<&mut Board, u32> {
        let (_, board) = self.current()?;
        Ok(&mut self.boards[board])
    }

    /// What the board of the current context can load.
    pub(crate) fn loader(&self) -> Result<Loader, u32> {
        let (_, board) = self.current()?;
        let (major, minor) = self.boards[board].seat.model.cc;
        Ok(Loader { device: Sm::new(major as u8, minor as u8), driver: self.scenario.driver })
    }
}

impl Board {
    /// Lets simulated time pass.
    pub(crate) fn pass_time(&mut self, time: Duration) {
        self.clock += time.as_nanos() as f64;
    }
}
