//! Calls that do not return as they should: they hang, or take the process with them.
//!
//! `hang:nvmlDeviceGetName:2.5` holds every call of the function for so many seconds, `hang:3@nvmlDeviceGetName:2.5`
//! only those about board 3, and `hang:3@all:2.5` every call about board 3. `crash`, `abort` and `exit` take the
//! same words without the seconds.

use std::ffi::CStr;
use std::time::{Duration, Instant};

use crate::scenario::with;

/// What happens instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The call takes so long, or until the scenario no longer says so.
    Hang(Duration),
    /// A segmentation fault.
    Crash,
    /// The library ends the process with SIGABRT.
    Abort,
    /// The library ends the process as if all were well.
    Exit,
}

/// Which calls go wrong, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Only calls about this board.
    pub board: Option<usize>,
    /// The function, or `all`.
    pub function: String,
    /// What happens.
    pub effect: Effect,
}

/// One call: the function, and the board it is about.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) function: &'static str,
    pub(crate) board: Option<usize>,
}

impl Fault {
    /// Reads what follows `hang:`, `crash:`, `abort:` or `exit:`.
    pub fn parse(word: &str, rest: &str) -> Option<Self> {
        let (place, effect) = match word {
            "hang" => {
                let (place, seconds) = rest.split_once(':')?;
                let time = Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?;
                (place, Effect::Hang(time))
            }
            "crash" => (rest, Effect::Crash),
            "abort" => (rest, Effect::Abort),
            "exit" => (rest, Effect::Exit),
            _ => return None,
        };
        let (board, function) = match place.split_once('@') {
            Some((board, function)) => (Some(board.parse().ok()?), function),
            None => (None, place),
        };
        Some(Self { board, function: function.to_owned(), effect })
    }

    fn strikes(&self, call: Call) -> bool {
        let same_board = self.board.is_none_or(|board| call.board == Some(board));
        same_board && (self.function == "all" || self.function == call.function)
    }
}

/// The board a call is about, by the name of its first argument.
pub(crate) fn board(argument: &str, value: usize) -> Option<usize> {
    match argument {
        "d" => (value >> 8).checked_sub(1),
        "index" => Some(value),
        // SAFETY: NVML's contract: the address is a C string.
        "address" => unsafe { CStr::from_ptr(std::ptr::with_exposed_provenance(value)) }
            .to_str()
            .ok()
            .and_then(board_at),
        _ => None,
    }
}

/// The board whose address this is: `00000000:19:00.0`.
fn board_at(address: &str) -> Option<usize> {
    let bus = usize::from_str_radix(address.split(':').nth(1)?, 16).ok()?.checked_sub(1)?;
    (bus % 8 == 0).then_some(bus / 8)
}

/// Lets happen what the scenario says of this call. Called without the lock held.
pub(crate) fn strike(call: Call) {
    let begin = Instant::now();
    let effect = || {
        with(|state| {
            let faults = &state.scenario.faults;
            faults.iter().find(|fault| fault.strikes(call)).map(|fault| fault.effect)
        })
    };
    while let Some(effect) = effect() {
        match effect {
            Effect::Hang(time) if begin.elapsed() >= time => return,
            Effect::Hang(_) => pause(),
            Effect::Crash => crash(),
            Effect::Abort => std::process::abort(),
            Effect::Exit => std::process::exit(0),
        }
    }
}

/// Waits a little, and looks whether the scenario changed.
fn pause() {
    const STEP: Duration = Duration::from_millis(20);
    std::thread::sleep(STEP);
    with(|state| state.reload());
}

fn crash() {
    // SAFETY: none: the address is never mapped, and the fault is what the scenario asks for.
    unsafe { std::ptr::without_provenance_mut::<u64>(64).write_volatile(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_strikes_its_function_and_its_board_alone() {
        let call = |function, board| Call { function, board };
        let all = Fault::parse("hang", "3@all:2.5").expect("a fault");
        assert_eq!(all.effect, Effect::Hang(Duration::from_millis(2500)));
        assert!(all.strikes(call("nvmlDeviceGetName", Some(3))));
        assert!(!all.strikes(call("nvmlDeviceGetName", Some(2))));
        assert!(!all.strikes(call("nvmlDeviceGetCount_v2", None)));
        let one = Fault::parse("crash", "nvmlDeviceGetName").expect("a fault");
        assert!(one.strikes(call("nvmlDeviceGetName", Some(2))));
        assert!(!one.strikes(call("nvmlDeviceGetUUID", Some(2))));
        assert_eq!(Fault::parse("hang", "nvmlInit_v2"), None);
        assert_eq!(Fault::parse("exit", "x@nvmlInit_v2"), None);
    }

    #[test]
    fn a_handle_an_index_and_an_address_name_their_board() {
        assert_eq!(board("d", crate::handle(3, None).addr()), Some(3));
        assert_eq!(board("index", 3), Some(3));
        assert_eq!(board("address", c"00000000:19:00.0".as_ptr() as usize), Some(3));
        assert_eq!(board("text", 3), None);
    }
}
