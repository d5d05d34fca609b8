//! Streams, events and capture. Work is done when it is submitted, in order: every stream behaves as one that has caught up.

use std::ffi::c_void;
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::Duration;

use crate::codes::{
    CAPTURE_IMPLICIT, CAPTURE_INVALIDATED, CAPTURE_UNMATCHED, CAPTURE_UNSUPPORTED,
    CAPTURE_WRONG_THREAD, INVALID_HANDLE, INVALID_VALUE,
};
use crate::driver::{Answer, Driver};
use crate::graph::Graph;
use crate::launch::Launch;
use crate::library::LibraryWork;
use crate::table::Handle;

/// A stream.
pub(crate) struct Stream {
    pub(crate) context: usize,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    pub(crate) capture: Option<Capture>,
}

/// Work that is collected instead of done.
pub(crate) struct Capture {
    work: Vec<Work>,
    mode: CaptureMode,
    thread: ThreadId,
    pub(crate) invalid: bool,
}

/// `CUstreamCaptureMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaptureMode {
    Global,
    ThreadLocal,
    Relaxed,
}

/// An event.
pub(crate) struct Event {
    pub(crate) context: usize,
    pub(crate) times: bool,
    /// When it was recorded, by its board's simulated clock; `None` if it never was.
    pub(crate) at: Option<f64>,
}

/// One thing a stream does.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Launch(Launch),
    /// Of another library.
    Library(Arc<LibraryWork>),
    /// A pattern, so many times.
    Fill {
        to: u64,
        pattern: Vec<u8>,
        count: usize,
    },
    /// From the host's memory, by address.
    Upload {
        to: u64,
        from: usize,
        bytes: usize,
    },
    /// To the host's memory, by address.
    Download {
        to: usize,
        from: u64,
        bytes: usize,
    },
    Copy {
        to: u64,
        from: u64,
        bytes: usize,
    },
    Record {
        event: usize,
    },
    /// For an event, which has always happened here.
    Wait,
}

/// Bytes a nanosecond that copies take in simulated time.
const COPY_RATE: f64 = 12.0;

/// Streams that are always there: null, the legacy one, the one of the thread.
fn is_default(stream: Handle) -> bool {
    stream.addr() <= 2
}

fn is_legacy(stream: Handle) -> bool {
    stream.addr() <= 1
}

impl Driver {
    /// Whether there is such a stream in the current context.
    pub(crate) fn check_stream(&self, stream: Handle) -> Answer {
        let (context, _) = self.current()?;
        if is_default(stream) {
            return Ok(());
        }
        let owner = self.streams.get(stream)?.context;
        if owner == context.addr() { Ok(()) } else { Err(INVALID_HANDLE) }
    }

    /// Does work now, or collects it if the stream is being captured.
    ///
    /// # Safety
    ///
    /// Host memory that the work names must be there, now or when the graph is launched.
    pub(crate) unsafe fn submit(&mut self, stream: Handle, work: Work) -> Answer {
        self.check_stream(stream)?;
        let (_, board) = self.current()?;
        if let Work::Launch(launch) = &work {
            self.check(launch)?;
        }
        if is_legacy(stream) {
            self.invalidate_captures(CAPTURE_IMPLICIT)?;
        }
        if let Ok(Stream { capture: Some(capture), .. }) = self.streams.get_mut(stream) {
            if capture.invalid {
                return Err(CAPTURE_INVALIDATED);
            }
            capture.work.push(work);
            return Ok(());
        }
        // SAFETY: passed on from the caller.
        unsafe { self.perform(board, &work) }
    }

    /// Does work.
    ///
    /// # Safety
    ///
    /// Host memory that the work names must be there.
    pub(crate) unsafe fn perform(&mut self, board: usize, work: &Work) -> Answer {
        let memory = &mut self.boards[board].memory;
        match work {
            Work::Launch(launch) => return self.run(board, launch),
            Work::Library(work) => return self.run_library(board, work),
            Work::Fill { to, pattern, count } => {
                let size = pattern.len().checked_mul(*count).ok_or(INVALID_VALUE)?;
                let place = if size == 0 { return Ok(()) } else { memory.bytes(*to, size)? };
                place.chunks_exact_mut(pattern.len()).for_each(|it| it.copy_from_slice(pattern));
            }
            Work::Upload { to, from, bytes } => {
                let place = if *bytes == 0 { return Ok(()) } else { memory.bytes(*to, *bytes)? };
                let from = std::ptr::with_exposed_provenance::<u8>(*from);
                if from.is_null() {
                    return Err(INVALID_VALUE);
                }
                // SAFETY: the caller's memory holds so many bytes, and the board's is not part of it.
                unsafe { std::ptr::copy_nonoverlapping(from, place.as_mut_ptr(), *bytes) };
            }
            Work::Download { to, from, bytes } => {
                let place =
                    if *bytes == 0 { return Ok(()) } else { memory.bytes(*from, *bytes)? };
                let to = std::ptr::with_exposed_provenance_mut::<u8>(*to);
                if to.is_null() {
                    return Err(INVALID_VALUE);
                }
                // SAFETY: the caller's memory has room for so many bytes, and the board's is not part of it.
                unsafe { std::ptr::copy_nonoverlapping(place.as_ptr(), to, *bytes) };
            }
            Work::Copy { to, from, bytes } => {
                if *bytes > 0 {
                    let copied = memory.bytes(*from, *bytes)?.to_vec();
                    memory.bytes(*to, *bytes)?.copy_from_slice(&copied);
                }
            }
            Work::Record { event } => {
                let now = self.boards[board].clock;
                self.events.get_mut(std::ptr::without_provenance_mut(*event))?.at = Some(now);
            }
            Work::Wait => {}
        }
        let time = Duration::from_nanos((work.bytes() as f64 / COPY_RATE) as u64);
        self.boards[board].pass_time(time);
        Ok(())
    }

    /// Refuses what may not happen while any stream is captured, and spoils the capture.
    pub(crate) fn forbid_while_capturing(&mut self) -> Answer {
        self.invalidate_captures(CAPTURE_UNSUPPORTED)
    }

    /// Spoils the captures that this thread may not disturb, and returns `code` if there is one.
    fn invalidate_captures(&mut self, code: u32) -> Answer {
        let thread = std::thread::current().id();
        let mut disturbed = false;
        for capture in self.streams.values_mut().filter_map(|stream| stream.capture.as_mut()) {
            let own = capture.thread == thread;
            let unsafe_here = match capture.mode {
                CaptureMode::Global => true,
                CaptureMode::ThreadLocal => own,
                CaptureMode::Relaxed => false,
            };
            if unsafe_here {
                capture.invalid = true;
                disturbed = true;
            }
        }
        if disturbed { Err(code) } else { Ok(()) }
    }

    /// Waits for a stream, which has always caught up; one that is captured may not be waited for.
    pub(crate) fn synchronize(&mut self, stream: Handle) -> Answer {
        self.check_stream(stream)?;
        if let Ok(Stream { capture: Some(capture), .. }) = self.streams.get_mut(stream) {
            capture.invalid = true;
            return Err(CAPTURE_UNSUPPORTED);
        }
        if is_legacy(stream) { self.invalidate_captures(CAPTURE_IMPLICIT) } else { Ok(()) }
    }

    /// Begins to collect.
    pub(crate) fn begin_capture(&mut self, stream: Handle, mode: u32) -> Answer {
        let mode = [CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed]
            .get(mode as usize)
            .copied()
            .ok_or(INVALID_VALUE)?;
        self.check_stream(stream)?;
        if is_default(stream) {
            return Err(CAPTURE_UNSUPPORTED);
        }
        let stream = self.streams.get_mut(stream)?;
        if stream.capture.is_some() {
            return Err(crate::codes::ILLEGAL_STATE);
        }
        let thread = std::thread::current().id();
        stream.capture = Some(Capture { work: Vec::new(), mode, thread, invalid: false });
        Ok(())
    }

    /// Ends collecting.
    pub(crate) fn end_capture(&mut self, stream: Handle) -> Result<Handle, u32> {
        self.check_stream(stream)?;
        let thread = std::thread::current().id();
        let stream = self.streams.get_mut(stream).map_err(|_| CAPTURE_UNMATCHED)?;
        let capture = stream.capture.take().ok_or(CAPTURE_UNMATCHED)?;
        if capture.mode != CaptureMode::Relaxed && capture.thread != thread {
            stream.capture = Some(capture);
            return Err(CAPTURE_WRONG_THREAD);
        }
        if capture.invalid {
            return Err(CAPTURE_INVALIDATED);
        }
        Ok(self.graphs.insert(Graph { work: capture.work }))
    }
}

impl Work {
    fn bytes(&self) -> usize {
        match self {
            Self::Fill { pattern, count, .. } => pattern.len() * count,
            Self::Upload { bytes, .. }
            | Self::Download { bytes, .. }
            | Self::Copy { bytes, .. } => *bytes,
            Self::Launch(_) | Self::Library(_) | Self::Record { .. } | Self::Wait => 0,
        }
    }

    /// Work on a place of the host.
    pub(crate) fn upload(to: u64, from: *const c_void, bytes: usize) -> Self {
        Self::Upload { to, from: from.expose_provenance(), bytes }
    }

    pub(crate) fn download(to: *mut c_void, from: u64, bytes: usize) -> Self {
        Self::Download { to: to.expose_provenance(), from, bytes }
    }
}
