//! A stand-in `libnvidia-ml.so.1`, so that the real NVML client can be tested with no GPU.
//!
//! What it pretends is said in words joined by `+` ([`scenario::Scenario::parse`]), read from the file `scenario`
//! beside the library, else from the file named by `FAKE_NVML_FILE`, else from `FAKE_NVML`, else `t4`; again at
//! every `nvmlInit_v2` and `nvmlDeviceGetCount_v2`, so a test can change it under a running program.
//! At `nvmlShutdown` the calls made are appended as `function count` lines to `stats` beside the
//! scenario file, or to the file named by `FAKE_NVML_STATS`.
//!
//! Values follow from how often a board was asked its temperature: never from a clock, never from chance.
//! Functions a program asks for and this library lacks are simply missing, as with an old driver.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "stands in for a C library: every function takes C pointers")]
#![expect(clippy::missing_safety_doc, reason = "the contracts are NVML's")]

pub mod faults;
pub mod ledger;
pub mod lies;
pub mod models;
pub mod scenario;
mod structs;

use std::ffi::{CStr, CString, c_char, c_void};
use std::time::SystemTime;

use faults::Call;
use lies::Lie;
use models::{Feature, LAYOUT, Model, Profile};
use scenario::with;
use structs::*;

/// NVML's return codes, as far as the stand-in uses them.
pub mod codes {
    #![expect(missing_docs, reason = "named as NVML names them")]
    pub const UNINITIALIZED: u32 = 1;
    pub const INVALID_ARGUMENT: u32 = 2;
    pub const NOT_SUPPORTED: u32 = 3;
    pub const NO_PERMISSION: u32 = 4;
    pub const NOT_FOUND: u32 = 6;
    pub const INSUFFICIENT_SIZE: u32 = 7;
    pub const DRIVER_NOT_LOADED: u32 = 9;
    pub const TIMEOUT: u32 = 10;
    pub const GPU_IS_LOST: u32 = 15;
    pub const MISMATCH: u32 = 18;
}

type Answer = Result<(), u32>;

/// A device as the caller holds it: the board's index, and the MIG instance's, one up and packed into the pointer.
type Handle = *mut c_void;

fn handle(board: usize, mig: Option<usize>) -> Handle {
    std::ptr::without_provenance_mut(((board + 1) << 8) | mig.map_or(0, |mig| mig + 1))
}

/// What stands behind a handle.
struct Device {
    board: usize,
    mig: Option<&'static Profile>,
    model: &'static Model,
    mig_enabled: bool,
    tick: u64,
    stands_still: bool,
}

fn device(handle: Handle) -> Result<Device, u32> {
    let (high, low) = (handle.addr() >> 8, handle.addr() & 0xff);
    with(|state| {
        let board = high.checked_sub(1).ok_or(codes::INVALID_ARGUMENT)?;
        let model = *state.scenario.boards.get(board).ok_or(codes::INVALID_ARGUMENT)?;
        let dead = [&state.scenario.lost, &state.scenario.dying];
        if dead.iter().any(|boards| boards.contains(&board)) || ledger::lost(board) {
            return Err(codes::GPU_IS_LOST);
        }
        let mig_enabled = state.scenario.mig.contains(&board);
        let mig = low.checked_sub(1).filter(|_| mig_enabled).and_then(|mig| LAYOUT.get(mig));
        Ok(Device {
            board,
            mig,
            model,
            mig_enabled,
            tick: state.ticks.get(&board).copied().unwrap_or(0),
            stands_still: state.scenario.steady_from.is_some_and(|from| board >= from),
        })
    })
}

impl Device {
    /// Load in percent, up and down again with each tick, each board at its own point.
    fn load(&self) -> u32 {
        const PERIOD: u64 = 24;
        if with(|state| state.scenario.idle) {
            return 0;
        }
        let tick = if self.stands_still { 0 } else { self.tick };
        let at = (tick + self.board as u64 * 5) % PERIOD;
        (4 + at.min(PERIOD - at) * 8) as u32
    }

    fn address(&self) -> String {
        format!("00000000:{:02X}:00.0", models::bus(self.board))
    }

    fn uuid(&self) -> String {
        self.model.uuid(self.board, self.mig)
    }

    fn name(&self) -> String {
        let name = match self.mig {
            Some(mig) => format!("{} {}", self.model.name, mig.name),
            None => self.model.name.to_owned(),
        };
        let hostile = with(|state| state.scenario.escapes);
        if hostile {
            format!("\x1b]0;owned\x07\x1b[2J\x1b[31m{name}\u{202e}\u{9b}1m\r\n")
        } else {
            name
        }
    }

    fn memory(&self) -> (u64, u64, u64) {
        let total = self.mig.map_or(self.model.memory_mib, |mig| mig.memory_mib) << 20;
        let reserved = total / 100;
        let others = with(|state| state.scenario.used_percent).map_or_else(
            || total / 10 + total / 200 * u64::from(self.load()),
            |percent| (total - reserved) / 100 * percent,
        );
        let held: u64 = self.held().iter().map(|(_, bytes)| bytes).sum();
        let used =
            if Lie::Memory.is_told() { total * 2 } else { (others + held).min(total - reserved) };
        (total, reserved, used)
    }

    /// What processes on the stand-in driver hold here, each with its number.
    fn held(&self) -> Vec<(u32, u64)> {
        let here = |page: ledger::Page| {
            let held = page.memory.iter().filter(|held| held.0 == self.board);
            (page.process, held.map(|held| held.1).sum())
        };
        ledger::pages().into_iter().map(here).filter(|held| held.1 > 0).collect()
    }

    /// Averaged over a second.
    fn milliwatts(&self) -> u32 {
        self.model.tdp_w * (12 + self.load() * 4 / 5) * 10
    }

    fn celsius(&self) -> u32 {
        34 + self.load() * 9 / 20
    }

    fn clock(&self, kind: u32) -> Result<u32, u32> {
        let graphics = self.model.boost_mhz * (60 + self.load() * 2 / 5) / 100;
        [graphics, graphics, self.model.memory_mhz(), graphics * 9 / 10]
            .get(kind as usize)
            .copied()
            .ok_or(codes::INVALID_ARGUMENT)
    }

    fn processes(&self, graphics: bool) -> Vec<ProcessInfo> {
        let none = u32::MAX;
        let info = |pid, memory| ProcessInfo {
            pid,
            memory: if Lie::Values.is_told() { u64::MAX - 1 } else { memory },
            gpu_instance: none,
            compute_instance: none,
        };
        let held = if graphics { Vec::new() } else { self.held() };
        let held: Vec<_> = held.into_iter().map(|(pid, bytes)| info(pid, bytes)).collect();
        if !with(|state| state.scenario.procs) {
            return held;
        }
        let (own, parent) = (std::process::id(), std::os::unix::process::parent_id());
        let here = self.board == 0 && !self.mig_enabled;
        let pids: Vec<u32> = match graphics {
            true if here => vec![own],
            true => vec![],
            false if here => vec![own, parent, FOREIGN_PID],
            false if self.mig_enabled => self.mig.iter().map(|_| parent).collect(),
            false => vec![FOREIGN_PID + self.board as u32],
        };
        pids.into_iter().map(|pid| info(pid, 512 << 20)).chain(held).collect()
    }
}

/// A pid above any the kernel gives: a process of another pid namespace.
const FOREIGN_PID: u32 = 4_200_001;

fn needs(fulfilled: bool) -> Answer {
    if fulfilled { Ok(()) } else { Err(codes::NOT_SUPPORTED) }
}

/// A fan that is not there is a wrong argument, also to a board without any: driver 580.159.04 of an H200, 2026-11-26.
fn has_fan(device: &Device, fan: u32) -> Answer {
    if fan < device.model.fans { Ok(()) } else { Err(codes::INVALID_ARGUMENT) }
}

/// Writes a value where the caller wants it.
unsafe fn put<T: 'static>(place: *mut T, value: T) {
    if !place.is_null() && lies::about_a_value::<T>() {
        // SAFETY: as below; every such type is one of integers, for which all bits set is a value.
        unsafe { place.cast::<u8>().write_bytes(0xff, size_of::<T>()) }
    } else if !place.is_null() {
        // SAFETY: NVML's contract: an out-parameter points to a writable value of its type.
        unsafe { place.write(value) }
    }
}

unsafe fn put_text(place: *mut c_char, room: u32, text: &str) -> Answer {
    let text = CString::new(text).map_err(|_| codes::INVALID_ARGUMENT)?;
    let bytes = lies::text(text.as_bytes_with_nul(), room as usize);
    if bytes.len() > room as usize {
        return Err(codes::INSUFFICIENT_SIZE);
    }
    // SAFETY: NVML's contract: `place` has `room` bytes, and the text fits.
    unsafe { place.copy_from_nonoverlapping(bytes.as_ptr().cast(), bytes.len()) };
    Ok(())
}

/// Fills a caller's array, or tells how long it must be.
unsafe fn put_list<T>(count: *mut u32, place: *mut T, list: Vec<T>) -> Answer {
    // SAFETY: NVML's contract: `count` is readable and writable, and `place` has as many elements.
    let room = unsafe { count.read() } as usize;
    let lie = if room < list.len() { Lie::Lists } else { Lie::Overfull };
    // SAFETY: as above.
    unsafe { count.write(lie.or(list.len() as u32)) };
    if room < list.len() {
        return Err(codes::INSUFFICIENT_SIZE);
    }
    for (i, item) in list.into_iter().enumerate() {
        // SAFETY: `i` is below the length, and that is within the room.
        unsafe { place.add(i).write(item) };
    }
    Ok(())
}

/// Path of this library as it was loaded.
fn here() -> Option<String> {
    let mut info = DlInfo {
        file: std::ptr::null(),
        base: std::ptr::null(),
        name: std::ptr::null(),
        at: std::ptr::null(),
    };
    // SAFETY: any address may be asked for; the structure is the C library's own.
    let found = unsafe { dladdr(here as *const c_void, &raw mut info) };
    // SAFETY: on success the file name is a C string that lives as long as the library is loaded.
    (found != 0 && !info.file.is_null())
        .then(|| unsafe { CStr::from_ptr(info.file) }.to_string_lossy().into_owned())
}

fn enter(call: Call, body: impl FnOnce() -> Answer) -> u32 {
    let refused = with(|state| state.enter(call.function));
    lies::enter(call.function);
    faults::strike(call);
    refused.unwrap_or_else(|| body().err().unwrap_or(0))
}

/// A call that is about no board.
fn global(function: &'static str) -> Call {
    Call { function, board: None }
}

/// Starts the library.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> u32 {
    enter(global("nvmlInit_v2"), || {
        with(|state| state.inits += 1);
        Ok(())
    })
}

/// Starts the library, as NVIDIA's own Python binding asks for it.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(_flags: u32) -> u32 {
    nvmlInit_v2()
}

/// What a code means: other monitors do without the library where they cannot ask.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(_code: u32) -> *const c_char {
    c"a code of the stand-in".as_ptr()
}

/// Ends the library's use, and writes down which calls were made.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> u32 {
    enter(global("nvmlShutdown"), || {
        with(|state| {
            state.inits -= 1;
            state.write_statistics();
        });
        Ok(())
    })
}

macro_rules! exports {
    ($($function:ident($first:ident: $first_ty:ty $(, $argument:ident: $ty:ty)*) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        #[expect(missing_docs, reason = "documented by NVIDIA")]
        pub unsafe extern "C" fn $function($first: $first_ty $(, $argument: $ty)*) -> u32 {
            let board = faults::board(stringify!($first), $first as usize);
            // SAFETY: NVML's contract: each out-parameter points to a writable value of its type.
            enter(Call { function: stringify!($function), board }, || unsafe { $body })
        }
    )*};
}

exports! {
    nvmlSystemGetDriverVersion(text: *mut c_char, room: u32) { put_text(text, room, &with(|state| state.scenario.driver.clone())) }
    nvmlSystemGetNVMLVersion(text: *mut c_char, room: u32) { put_text(text, room, &with(|state| format!("13.{}", state.scenario.driver))) }
    nvmlSystemGetCudaDriverVersion_v2(version: *mut i32) { put(version, with(|state| state.scenario.cuda)); Ok(()) }

    nvmlDeviceGetCount_v2(count: *mut u32) { put(count, Lie::Counts.or(with(|state| state.scenario.boards.len() as u32))); Ok(()) }
    nvmlDeviceGetHandleByIndex_v2(index: u32, place: *mut Handle) {
        let board = index as usize;
        let lost = with(|state| state.scenario.lost.contains(&board)) || ledger::lost(board);
        let there = with(|state| board < state.scenario.boards.len());
        if lost { return Err(codes::GPU_IS_LOST) }
        if !there { return Err(codes::INVALID_ARGUMENT) }
        put(place, handle(board, None));
        Ok(())
    }
    nvmlDeviceGetHandleByPciBusId_v2(address: *const c_char, place: *mut Handle) {
        let wanted = CStr::from_ptr(address).to_string_lossy().to_ascii_uppercase();
        let boards = with(|state| state.scenario.boards.len());
        let found = (0..boards).find(|board| device(handle(*board, None)).is_ok_and(|it| it.address() == wanted));
        put(place, handle(found.ok_or(codes::NOT_FOUND)?, None));
        Ok(())
    }
    nvmlDeviceGetHandleByUUID(uuid: *const c_char, place: *mut Handle) {
        let wanted = CStr::from_ptr(uuid).to_string_lossy();
        let boards = with(|state| state.scenario.boards.len());
        let found = (0..boards).find(|board| device(handle(*board, None)).is_ok_and(|it| it.uuid() == wanted));
        put(place, handle(found.ok_or(codes::NOT_FOUND)?, None));
        Ok(())
    }
    nvmlDeviceGetIndex(d: Handle, index: *mut u32) { put(index, device(d)?.board as u32); Ok(()) }
    nvmlDeviceGetName(d: Handle, text: *mut c_char, room: u32) { put_text(text, room, &device(d)?.name()) }
    nvmlDeviceGetUUID(d: Handle, text: *mut c_char, room: u32) { put_text(text, room, &device(d)?.uuid()) }
    nvmlDeviceGetPciInfo_v3(d: Handle, place: *mut PciInfo) {
        let it = device(d)?;
        let ids = (it.model.pci_device << 16 | 0x10de, 0x1234_10de);
        put(place, PciInfo::new(&it.address(), models::bus(it.board), ids));
        Ok(())
    }
    nvmlDeviceGetCudaComputeCapability(d: Handle, major: *mut i32, minor: *mut i32) {
        let cc = device(d)?.model.cc;
        put(major, cc.0);
        put(minor, cc.1);
        Ok(())
    }
    nvmlDeviceGetArchitecture(d: Handle, number: *mut u32) { put(number, device(d)?.model.architecture); Ok(()) }
    nvmlDeviceGetNumGpuCores(d: Handle, cores: *mut u32) { let sms = device(d)?.model.sms; put(cores, sms.0 * sms.1); Ok(()) }
    nvmlDeviceGetMemoryBusWidth(d: Handle, bits: *mut u32) { put(bits, device(d)?.model.bus.0); Ok(()) }
    nvmlDeviceGetBrand(d: Handle, brand: *mut u32) { put(brand, device(d)?.model.brand); Ok(()) }
    nvmlDeviceGetVbiosVersion(d: Handle, text: *mut c_char, room: u32) { device(d)?; put_text(text, room, "96.00.74.00.01") }
    nvmlDeviceGetBoardPartNumber(d: Handle, text: *mut c_char, room: u32) { needs(device(d)?.model.has(Feature::Ecc))?; put_text(text, room, "900-00000-0000-000") }
    nvmlDeviceGetComputeMode(d: Handle, mode: *mut u32) { device(d)?; put(mode, with(|state| state.scenario.compute_mode)); Ok(()) }
    nvmlDeviceGetPersistenceMode(d: Handle, mode: *mut u32) { put(mode, u32::from(device(d)?.model.has(Feature::Ecc))); Ok(()) }
    nvmlDeviceGetVirtualizationMode(d: Handle, mode: *mut u32) { device(d)?; put(mode, 0); Ok(()) }
    nvmlDeviceGetEccMode(d: Handle, current: *mut u32, pending: *mut u32) {
        needs(device(d)?.model.has(Feature::Ecc))?;
        put(current, 1);
        put(pending, 1);
        Ok(())
    }

    nvmlDeviceGetUtilizationRates(d: Handle, place: *mut Utilization) {
        let it = device(d)?;
        needs(!it.mig_enabled)?;
        put(place, Utilization { gpu: it.load(), memory: it.load() / 2 });
        Ok(())
    }
    nvmlDeviceGetEncoderUtilization(d: Handle, percent: *mut u32, period: *mut u32) { let it = device(d)?; needs(!it.mig_enabled)?; put(percent, 0); put(period, 167_000); Ok(()) }
    nvmlDeviceGetDecoderUtilization(d: Handle, percent: *mut u32, period: *mut u32) { let it = device(d)?; needs(!it.mig_enabled)?; put(percent, it.load() / 4); put(period, 167_000); Ok(()) }
    nvmlDeviceGetJpgUtilization(d: Handle, percent: *mut u32, period: *mut u32) { let it = device(d)?; needs(it.model.has(Feature::JpegOfa) && !it.mig_enabled)?; put(percent, 1); put(period, 167_000); Ok(()) }
    nvmlDeviceGetOfaUtilization(d: Handle, percent: *mut u32, period: *mut u32) { let it = device(d)?; needs(it.model.has(Feature::JpegOfa) && !it.mig_enabled)?; put(percent, 2); put(period, 167_000); Ok(()) }
    nvmlDeviceGetMemoryInfo_v2(d: Handle, place: *mut MemoryV2) {
        let (total, reserved, used) = device(d)?.memory();
        put(place, MemoryV2 { version: (*place).version, total, reserved, free: (total - reserved).wrapping_sub(used), used });
        Ok(())
    }
    nvmlDeviceGetMemoryInfo(d: Handle, place: *mut Memory) {
        let (total, reserved, used) = device(d)?.memory();
        put(place, Memory { total, free: (total - reserved).wrapping_sub(used), used: used + reserved });
        Ok(())
    }
    nvmlDeviceGetBAR1MemoryInfo(d: Handle, place: *mut Memory) {
        let it = device(d)?;
        let total = if it.model.has(Feature::Mig) { it.model.memory_mib.next_power_of_two() << 20 } else { 256 << 20 };
        put(place, Memory { total, free: total - (5 << 20), used: 5 << 20 });
        Ok(())
    }
    nvmlDeviceGetTemperature(d: Handle, _sensor: u32, degrees: *mut u32) {
        let it = device(d)?;
        put(degrees, it.celsius());
        with(|state| *state.ticks.entry(it.board).or_default() += 1);
        Ok(())
    }
    nvmlDeviceGetMarginTemperature(d: Handle, place: *mut Margin) {
        let it = device(d)?;
        needs(it.model.has(Feature::TLimit))?;
        let margin = &mut *place;
        if margin.version != MARGIN_VERSION {
            return Err(codes::INVALID_ARGUMENT);
        }
        let truth = MOST_CELSIUS - it.celsius() as i32;
        margin.degrees = if Lie::Values.is_told() { i32::MAX } else { truth };
        Ok(())
    }
    nvmlDeviceGetTemperatureThreshold(d: Handle, which: u32, degrees: *mut u32) {
        needs(!device(d)?.model.has(Feature::TLimit))?;
        put(degrees, *[96, 93, 95, 85].get(which as usize).ok_or(codes::NOT_SUPPORTED)?);
        Ok(())
    }
    nvmlDeviceGetPowerUsage(d: Handle, milliwatts: *mut u32) { put(milliwatts, device(d)?.milliwatts()); Ok(()) }
    nvmlDeviceGetEnforcedPowerLimit(d: Handle, milliwatts: *mut u32) { put(milliwatts, device(d)?.model.tdp_w * 1000); Ok(()) }
    nvmlDeviceGetPowerManagementDefaultLimit(d: Handle, milliwatts: *mut u32) { put(milliwatts, device(d)?.model.tdp_w * 1000); Ok(()) }
    nvmlDeviceGetTotalEnergyConsumption(d: Handle, millijoules: *mut u64) {
        let it = device(d)?;
        needs(it.model.has(Feature::Energy))?;
        put(millijoules, it.tick * u64::from(it.model.tdp_w) * 500);
        Ok(())
    }
    nvmlDeviceGetClockInfo(d: Handle, kind: u32, mhz: *mut u32) { put(mhz, device(d)?.clock(kind)?); Ok(()) }
    nvmlDeviceGetMaxClockInfo(d: Handle, kind: u32, mhz: *mut u32) {
        let it = device(d)?;
        put(mhz, if kind == 2 { it.clock(2)? } else { it.model.boost_mhz });
        Ok(())
    }
    nvmlDeviceGetApplicationsClock(d: Handle, kind: u32, mhz: *mut u32) {
        let it = device(d)?;
        needs(it.model.has(Feature::Ecc))?;
        put(mhz, if kind == 2 { it.clock(2)? } else { it.model.boost_mhz });
        Ok(())
    }
    nvmlDeviceGetCurrentClocksEventReasons(d: Handle, mask: *mut u64) { put(mask, reasons(&device(d)?)); Ok(()) }
    nvmlDeviceGetCurrentClocksThrottleReasons(d: Handle, mask: *mut u64) { put(mask, reasons(&device(d)?)); Ok(()) }
    nvmlDeviceGetPerformanceState(d: Handle, state: *mut u32) { let it = device(d)?; put(state, if it.load() < 10 { 8 } else { 0 }); Ok(()) }
    nvmlDeviceGetNumFans(d: Handle, count: *mut u32) { put(count, Lie::Counts.or(device(d)?.model.fans)); Ok(()) }
    nvmlDeviceGetFanSpeed_v2(d: Handle, fan: u32, percent: *mut u32) {
        let it = device(d)?;
        has_fan(&it, fan)?;
        put(percent, 30 + it.load() / 2 + fan * 3);
        Ok(())
    }
    nvmlDeviceGetFanSpeed(d: Handle, percent: *mut u32) {
        let it = device(d)?;
        needs(it.model.fans > 0)?;
        put(percent, 30 + it.load() / 2);
        Ok(())
    }
    nvmlDeviceGetFanSpeedRPM(d: Handle, place: *mut FanSpeed) {
        let it = device(d)?;
        has_fan(&it, (*place).fan)?;
        (*place).rpm = Lie::Values.or(900 + it.load() * 15 + (*place).fan * 50);
        Ok(())
    }
    nvmlDeviceGetCurrPcieLinkGeneration(d: Handle, generation: *mut u32) { put(generation, pcie(&device(d)?)); Ok(()) }
    nvmlDeviceGetMaxPcieLinkGeneration(d: Handle, generation: *mut u32) { put(generation, pcie(&device(d)?)); Ok(()) }
    nvmlDeviceGetCurrPcieLinkWidth(d: Handle, lanes: *mut u32) { device(d)?; put(lanes, 16); Ok(()) }
    nvmlDeviceGetMaxPcieLinkWidth(d: Handle, lanes: *mut u32) { device(d)?; put(lanes, 16); Ok(()) }
    nvmlDeviceGetPcieReplayCounter(d: Handle, count: *mut u32) { device(d)?; put(count, 0); Ok(()) }
    nvmlDeviceGetPcieThroughput(d: Handle, counter: u32, kilobytes: *mut u32) { put(kilobytes, device(d)?.load() * (1 + counter) * 1000); Ok(()) }

    nvmlDeviceGetTotalEccErrors(d: Handle, kind: u32, counter: u32, count: *mut u64) {
        needs(device(d)?.model.has(Feature::Ecc))?;
        put(count, u64::from((1 - kind) * (1 + 2 * counter)));
        Ok(())
    }
    nvmlDeviceGetRetiredPages(d: Handle, cause: u32, count: *mut u32, pages: *mut u64) {
        needs(device(d)?.model.has(Feature::PageRetirement))?;
        put_list(count, pages, vec![0x1000; 2 - cause as usize])
    }
    nvmlDeviceGetRetiredPages_v2(d: Handle, cause: u32, count: *mut u32, pages: *mut u64, times: *mut u64) {
        needs(device(d)?.model.has(Feature::PageRetirement))?;
        let mut again = *count;
        put_list(count, pages, vec![0x1000; 2 - cause as usize])?;
        put_list(&raw mut again, times, vec![0; 2 - cause as usize])
    }
    nvmlDeviceGetRetiredPagesPendingStatus(d: Handle, pending: *mut u32) { needs(device(d)?.model.has(Feature::PageRetirement))?; put(pending, 0); Ok(()) }
    nvmlDeviceGetRemappedRows(d: Handle, corrected: *mut u32, uncorrected: *mut u32, pending: *mut u32, failed: *mut u32) {
        needs(device(d)?.model.has(Feature::RowRemapping))?;
        put(corrected, 3);
        put(uncorrected, 1);
        put(pending, 1);
        put(failed, 0);
        Ok(())
    }
    nvmlDeviceGetViolationStatus(d: Handle, policy: u32, place: *mut ViolationTime) {
        let it = device(d)?;
        needs(policy < 6 || it.model.has(Feature::Ecc))?;
        put(place, ViolationTime { reference: 1, nanoseconds: u64::from(policy + 1) * 1_500_000_000 });
        Ok(())
    }
    nvmlDeviceGetFieldValues(d: Handle, count: i32, place: *mut FieldValue) {
        let it = device(d)?;
        for i in 0..count as usize {
            fill_field(&it, &mut *place.add(i));
        }
        Ok(())
    }

    nvmlDeviceGetNvLinkState(d: Handle, link: u32, state: *mut u32) { linked(&device(d)?, link)?; put(state, 1); Ok(()) }
    nvmlDeviceGetNvLinkVersion(d: Handle, link: u32, version: *mut u32) { put(version, linked(&device(d)?, link)?); Ok(()) }
    nvmlDeviceGetNvLinkErrorCounter(d: Handle, link: u32, counter: u32, count: *mut u64) { linked(&device(d)?, link)?; put(count, u64::from(counter == 0)); Ok(()) }
    nvmlDeviceGetNvLinkRemotePciInfo_v2(d: Handle, link: u32, place: *mut PciInfo) {
        linked(&device(d)?, link)?;
        put(place, PciInfo::new("00000000:C1:00.0", 0xc1, (0x22a3_10de, 0)));
        Ok(())
    }

    nvmlDeviceGetMigMode(d: Handle, current: *mut u32, pending: *mut u32) {
        let it = device(d)?;
        needs(it.model.has(Feature::Mig))?;
        put(current, u32::from(it.mig_enabled));
        put(pending, u32::from(it.mig_enabled));
        Ok(())
    }
    nvmlDeviceGetMaxMigDeviceCount(d: Handle, count: *mut u32) { put(count, Lie::Counts.or(if device(d)?.model.has(Feature::Mig) { 7 } else { 0 })); Ok(()) }
    nvmlDeviceGetMigDeviceHandleByIndex(d: Handle, index: u32, place: *mut Handle) {
        let it = device(d)?;
        if !it.mig_enabled || index as usize >= LAYOUT.len() { return Err(codes::NOT_FOUND) }
        put(place, handle(it.board, Some(index as usize)));
        Ok(())
    }
    nvmlDeviceGetGpuInstanceId(d: Handle, id: *mut u32) { put(id, device(d)?.mig.ok_or(codes::NOT_SUPPORTED)?.slices + 1); Ok(()) }
    nvmlDeviceGetComputeInstanceId(d: Handle, id: *mut u32) { device(d)?.mig.ok_or(codes::NOT_SUPPORTED)?; put(id, 0); Ok(()) }
    nvmlDeviceGetAttributes_v2(d: Handle, place: *mut Attributes) {
        let mig = device(d)?.mig.ok_or(codes::NOT_SUPPORTED)?;
        put(place, Attributes { sms: mig.sms, engines: [0; 5], gpu_slices: mig.slices, compute_slices: mig.slices, memory_mib: mig.memory_mib });
        Ok(())
    }

    nvmlDeviceGetComputeRunningProcesses_v3(d: Handle, count: *mut u32, place: *mut ProcessInfo) { put_list(count, place, device(d)?.processes(false)) }
    nvmlDeviceGetComputeRunningProcesses_v2(d: Handle, count: *mut u32, place: *mut ProcessInfo) { put_list(count, place, device(d)?.processes(false)) }
    nvmlDeviceGetGraphicsRunningProcesses_v3(d: Handle, count: *mut u32, place: *mut ProcessInfo) { put_list(count, place, device(d)?.processes(true)) }
    nvmlDeviceGetGraphicsRunningProcesses_v2(d: Handle, count: *mut u32, place: *mut ProcessInfo) { put_list(count, place, device(d)?.processes(true)) }
    nvmlDeviceGetMPSComputeRunningProcesses_v3(d: Handle, count: *mut u32, place: *mut ProcessInfo) { device(d)?; put_list(count, place, Vec::new()) }
    nvmlDeviceGetProcessUtilization(d: Handle, place: *mut ProcessSample, count: *mut u32, _since: u64) {
        let it = device(d)?;
        needs(!it.mig_enabled)?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let time = now.as_micros() as u64;
        // The last of the list used nothing, and NVML leaves such out.
        let mut busy = it.processes(false);
        busy.pop().ok_or(codes::NOT_FOUND)?;
        let sample = |info: ProcessInfo| ProcessSample { pid: info.pid, time, sm: Lie::Values.or(it.load()), memory: Lie::Values.or(it.load() / 2), encoder: Lie::Values.or(0), decoder: Lie::Values.or(3) };
        put_list(count, place, busy.into_iter().map(sample).collect())
    }

    nvmlEventSetCreate(place: *mut *mut EventSet) { put(place, Box::into_raw(Box::default())); Ok(()) }
    nvmlEventSetFree(set: *mut EventSet) { drop(Box::from_raw(set)); Ok(()) }
    nvmlDeviceRegisterEvents(d: Handle, types: u64, set: *mut EventSet) {
        let board = device(d)?.board;
        if types & XID_CRITICAL_ERROR != 0 {
            (*set).boards.push(board);
        }
        Ok(())
    }
    nvmlEventSetWait_v2(set: *mut EventSet, event: *mut EventData, _timeout_ms: u32) {
        let set = &mut *set;
        let happened = with(|state| state.scenario.xids.clone());
        let due = happened.iter().enumerate().skip(set.told).find(|(_, xid)| set.boards.contains(&xid.0));
        let (at, (board, xid)) = due.ok_or(codes::TIMEOUT)?;
        set.told = at + 1;
        put(event, EventData { device: handle(*board, None), types: XID_CRITICAL_ERROR, data: *xid, instances: [u32::MAX; 2] });
        Ok(())
    }

    nvmlGpmQueryDeviceSupport(d: Handle, place: *mut GpmSupport) { (*place).supported = u32::from(device(d)?.model.has(Feature::Gpm)); Ok(()) }
    nvmlGpmSampleAlloc(place: *mut *mut GpmSample) { put(place, Box::into_raw(Box::default())); Ok(()) }
    nvmlGpmSampleFree(sample: *mut GpmSample) { drop(Box::from_raw(sample)); Ok(()) }
    nvmlGpmSampleGet(d: Handle, sample: *mut GpmSample) {
        let it = device(d)?;
        needs(it.model.has(Feature::Gpm) && !it.mig_enabled)?;
        put(sample, GpmSample { tick: it.tick, load: it.load() });
        Ok(())
    }
    nvmlGpmMetricsGet(request: *mut GpmRequest) {
        let (before, now) = (&*(*request).before, &*(*request).now);
        let metrics = (&raw mut (*request).metrics).cast::<GpmMetric>();
        for i in 0..(*request).count as usize {
            let metric = &mut *metrics.add(i);
            let moved = if now.tick > before.tick { f64::from(before.load + now.load) / 2.0 } else { f64::NAN };
            metric.value = if Lie::Values.is_told() { f64::MAX } else { moved / f64::from(metric.id) };
            metric.code = 0;
        }
        Ok(())
    }
}

fn reasons(device: &Device) -> u64 {
    let forced = with(|state| state.scenario.reasons);
    forced.unwrap_or(match device.load() {
        0..10 => 0x1,
        90.. => 0x4,
        _ => 0,
    })
}

fn pcie(device: &Device) -> u32 {
    match device.model.architecture {
        ..=6 => 3,
        7 | 8 => 4,
        _ => 5,
    }
}

/// Version of a link that is there.
fn linked(device: &Device, link: u32) -> Result<u32, u32> {
    match device.model.nvlinks {
        (0, _) => Err(codes::NOT_SUPPORTED),
        (count, version) if link < count => Ok(version),
        _ => Err(codes::INVALID_ARGUMENT),
    }
}

/// Type of a signed number of 32 bits.
const SIGNED: u32 = 5;
/// Temperature at which T.Limit is zero.
const MOST_CELSIUS: i32 = 87;
/// `nvmlMarginTemperature_v1`.
const MARGIN_VERSION: u32 = size_of::<Margin>() as u32 | 1 << 24;

/// Offsets of shutdown, slowdown, memory and normal operation, as bytes of a signed number.
fn tlimit(field: u32) -> u64 {
    let degrees: i32 = [-5, -2, 0, 0][(field - 193) as usize];
    u64::from(degrees.cast_unsigned())
}

/// Memory temperature, instant power, temperature limits and NVLink counters. The time stamp moves one second a tick, so rates are exact.
fn fill_field(device: &Device, field: &mut FieldValue) {
    let counters = device.model.has(Feature::LinkCounters);
    let (kind, answer) = match field.field {
        82 => (
            1,
            device.model.has(Feature::MemoryTemperature).then(|| u64::from(40 + device.load() / 2)),
        ),
        186 => (1, (device.model.architecture >= 7).then(|| u64::from(device.milliwatts() + 1500))),
        193..=196 => (SIGNED, device.model.has(Feature::TLimit).then(|| tlimit(field.field))),
        138 => (3, counters.then_some(device.tick * 2_000_000)),
        139 => (3, counters.then_some(device.tick * 3_000_000)),
        _ => (1, None),
    };
    field.time_us = device.tick as i64 * 1_000_000;
    field.kind = kind;
    field.code = if answer.is_some() { 0 } else { codes::NOT_SUPPORTED };
    let truth = answer.unwrap_or(0);
    // All bits of a signed number are −1, which a limit may be.
    let lie = if kind == SIGNED { i32::MAX as u64 } else { u64::MAX };
    field.value = if Lie::Values.is_told() { lie } else { truth };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_as_large_as_nvml_declares_them() {
        let sizes = [
            (size_of::<PciInfo>(), 68),
            (size_of::<ProcessInfo>(), 24),
            (size_of::<ProcessSample>(), 32),
            (size_of::<FieldValue>(), 40),
            (size_of::<MemoryV2>(), 40),
            (size_of::<Attributes>(), 40),
            (size_of::<GpmMetric>(), 40),
            (size_of::<Margin>(), 8),
        ];
        for (ours, nvml) in sizes {
            assert_eq!(ours, nvml);
        }
    }
}
