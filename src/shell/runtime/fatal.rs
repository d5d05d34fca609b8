//! A last act before a signal, or a library that calls `exit`, ends the program.
//!
//! The handlers replace the default action only: what is ignored stays ignored. Afterwards the signal takes its usual course, so
//! that exit status and core dump are those of a program without handlers.

#![expect(unsafe_code, reason = "the standard library installs no signal handlers")]

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

/// Signals that end a program by default. Not those that ask it to leave in good order: hang-up, interrupt, terminate.
const FATAL: &[c_int] = &[
    libc::SIGQUIT,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGUSR1,
    libc::SIGSEGV,
    libc::SIGUSR2,
    libc::SIGPIPE,
    libc::SIGALRM,
    libc::SIGSTKFLT,
    libc::SIGXCPU,
    libc::SIGXFSZ,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGSYS,
];

/// Faults after which the instruction that caused them runs again once the handler returns.
const REPEATED: &[c_int] = &[libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];

static ACT: OnceLock<fn()> = OnceLock::new();
/// What was done on each signal before, such as the runtime's report of a stack overflow.
static BEFORE: OnceLock<Vec<(c_int, libc::sigaction)>> = OnceLock::new();

/// Has `act` called before a signal or `exit` ends the program. It runs in a signal handler: it must not allocate, wait for a
/// lock or call what is not async-signal-safe. Only the first call counts.
pub(crate) fn before_the_end(act: fn()) {
    if ACT.set(act).is_err() {
        return;
    }
    let real_time = libc::SIGRTMIN()..=libc::SIGRTMAX();
    let signals = FATAL.iter().copied().chain(real_time);
    let actions = signals.filter_map(|signal| Some((signal, action_of(signal)?)));
    let before: Vec<_> =
        actions.filter(|(_, action)| action.sa_sigaction != libc::SIG_IGN).collect();
    for (signal, _) in BEFORE.get_or_init(|| before) {
        handle(*signal);
    }
    // SAFETY: the function is of the right type and lives as long as the program.
    unsafe { libc::atexit(at_exit) };
}

/// Stops this process group as the terminal's suspend key would, and returns when it is continued. At once where nothing would
/// continue it: the system ignores the signal in a group without a shell above it.
pub(crate) fn stop() {
    let Some(before) = action_of(libc::SIGTSTP) else { return };
    set(libc::SIGTSTP, &default_action());
    // SAFETY: takes two numbers.
    unsafe { libc::kill(0, libc::SIGTSTP) };
    set(libc::SIGTSTP, &before);
}

fn default_action() -> libc::sigaction {
    // SAFETY: all zeros are a valid value: the default action, no flags, an empty mask.
    unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() }
}

fn action_of(signal: c_int) -> Option<libc::sigaction> {
    let mut action = default_action();
    // SAFETY: only reads the present action, into a value of the right type.
    let answer = unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) };
    (answer == 0).then_some(action)
}

fn set(signal: c_int, action: &libc::sigaction) {
    // SAFETY: the action is the default, one that was in force before, or `on_signal`, which is async-signal-safe.
    unsafe { libc::sigaction(signal, action, ptr::null_mut()) };
}

fn handle(signal: c_int) {
    let mut action = default_action();
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_signal;
    action.sa_sigaction = handler as libc::sighandler_t;
    // A stack that overflowed holds no handler: the runtime gives each of its threads another.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: fills a set of the right type.
    unsafe { libc::sigfillset(&raw mut action.sa_mask) };
    set(signal, &action);
}

extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    at_exit();
    // SAFETY: the system passes a valid pointer to a handler that asked for it.
    let by_fault = unsafe { (*info).si_code } > 0;
    let mut before = BEFORE.get().into_iter().flatten();
    match before.find(|row| row.0 == signal) {
        Some((_, before)) if by_fault && REPEATED.contains(&signal) => set(signal, before),
        _ => {
            set(signal, &default_action());
            // SAFETY: takes a number. The signal is blocked until this handler returns.
            unsafe { libc::raise(signal) };
        }
    }
}

extern "C" fn at_exit() {
    if let Some(act) = ACT.get() {
        act();
    }
}
