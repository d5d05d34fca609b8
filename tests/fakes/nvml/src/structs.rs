//! NVML's structures, laid out as its header declares them.

use std::ffi::{c_char, c_void};

use crate::lies;

#[repr(C)]
pub struct PciInfo {
    legacy: [u8; 16],
    domain: u32,
    bus: u32,
    device: u32,
    ids: u32,
    subsystem: u32,
    address: [u8; 32],
}

impl PciInfo {
    pub(crate) fn new(address: &str, bus: u32, (ids, subsystem): (u32, u32)) -> Self {
        Self {
            legacy: padded(&address[4..]),
            domain: 0,
            bus,
            device: 0,
            ids,
            subsystem,
            address: lies::field(padded(address)),
        }
    }
}

fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    for (place, byte) in bytes.iter_mut().zip(text.bytes()).take(N - 1) {
        *place = byte;
    }
    bytes
}

#[repr(C)]
pub struct Utilization {
    pub(crate) gpu: u32,
    pub(crate) memory: u32,
}

#[repr(C)]
pub struct Memory {
    pub(crate) total: u64,
    pub(crate) free: u64,
    pub(crate) used: u64,
}

#[repr(C)]
pub struct MemoryV2 {
    pub(crate) version: u32,
    pub(crate) total: u64,
    pub(crate) reserved: u64,
    pub(crate) free: u64,
    pub(crate) used: u64,
}

#[repr(C)]
pub struct ViolationTime {
    pub(crate) reference: u64,
    pub(crate) nanoseconds: u64,
}

#[repr(C)]
pub struct FieldValue {
    pub(crate) field: u32,
    pub(crate) scope: u32,
    pub(crate) time_us: i64,
    pub(crate) latency_us: i64,
    pub(crate) kind: u32,
    pub(crate) code: u32,
    pub(crate) value: u64,
}

#[repr(C)]
pub struct Attributes {
    pub(crate) sms: u32,
    pub(crate) engines: [u32; 5],
    pub(crate) gpu_slices: u32,
    pub(crate) compute_slices: u32,
    pub(crate) memory_mib: u64,
}

#[repr(C)]
pub struct ProcessInfo {
    pub(crate) pid: u32,
    pub(crate) memory: u64,
    pub(crate) gpu_instance: u32,
    pub(crate) compute_instance: u32,
}

#[repr(C)]
pub struct ProcessSample {
    pub(crate) pid: u32,
    pub(crate) time: u64,
    pub(crate) sm: u32,
    pub(crate) memory: u32,
    pub(crate) encoder: u32,
    pub(crate) decoder: u32,
}

#[repr(C)]
pub struct Margin {
    pub(crate) version: u32,
    pub(crate) degrees: i32,
}

#[repr(C)]
pub struct FanSpeed {
    version: u32,
    pub(crate) fan: u32,
    pub(crate) rpm: u32,
}

#[repr(C)]
pub struct GpmSupport {
    version: u32,
    pub(crate) supported: u32,
}

#[derive(Default)]
pub struct GpmSample {
    pub(crate) tick: u64,
    pub(crate) load: u32,
}

#[repr(C)]
pub(crate) struct GpmMetric {
    pub(crate) id: u32,
    pub(crate) code: u32,
    pub(crate) value: f64,
    names: [*const c_char; 3],
}

/// The head of the request; the caller's array goes on after the first metric.
#[repr(C)]
pub struct GpmRequest {
    version: u32,
    pub(crate) count: u32,
    pub(crate) before: *const GpmSample,
    pub(crate) now: *const GpmSample,
    pub(crate) metrics: [GpmMetric; 1],
}

/// The kind of event in which an Xid error comes.
pub(crate) const XID_CRITICAL_ERROR: u64 = 8;

#[repr(C)]
pub struct EventData {
    pub(crate) device: *mut c_void,
    pub(crate) types: u64,
    pub(crate) data: u64,
    pub(crate) instances: [u32; 2],
}

/// What a caller listens to, and how many errors of the scenario it has been told of.
#[derive(Default)]
pub struct EventSet {
    pub(crate) boards: Vec<usize>,
    pub(crate) told: usize,
}

#[repr(C)]
pub(crate) struct DlInfo {
    pub(crate) file: *const c_char,
    pub(crate) base: *const c_void,
    pub(crate) name: *const c_char,
    pub(crate) at: *const c_void,
}

unsafe extern "C" {
    pub(crate) fn dladdr(address: *const c_void, info: *mut DlInfo) -> i32;
}
