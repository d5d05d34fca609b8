//! What goes wrong on request: `fault:NAME`, `fault:NAME@N` for the N-th time only.
//!
//! | fault | what happens |
//! | --- | --- |
//! | a name of [`NAMED`] | the number, where the table says |
//! | `917`, any number | `cuInit` returns it |
//! | `cuMemAlloc_v2=917` | a function returns a number |
//! | `hang:cuStreamSynchronize` | a call never returns |
//! | `crash:cuLaunchKernel`, `abort:…` | the process dies of SIGILL, or of SIGABRT, in a call |
//! | `slow:250` | every launch takes so many milliseconds longer |
//! | `hang/gemv_`, `crash/…`, `abort/…`, `illegal_address/…` | the same, of launches whose entry begins so |
//! | `skip/gemv_` | the last blocks of these launches do not run, and what they should write stays as it was |

use std::time::Duration;

/// Where a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// `cuInit`.
    Init,
    /// A context is made.
    Context,
    /// Device memory is allocated.
    Alloc,
    /// An image is loaded.
    Load,
    /// A kernel runs, in a graph or alone.
    Launch,
    /// A call of a function, by name.
    Call(String),
}

/// What a fault does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The call returns a number, and nothing else changes.
    Code(u32),
    /// The kernel dies: the number comes from the next call on, and from every one after it.
    Sticky(u32),
    /// The call never returns.
    Hang,
    /// The process executes an illegal instruction.
    Crash,
    /// The process aborts.
    Abort,
    /// The last blocks do not run.
    Skip,
    /// The call takes longer.
    Slow(Duration),
}

/// One thing that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// What.
    pub effect: Effect,
    /// Which time, from 1; every time if not said.
    pub nth: Option<u64>,
    /// How the entries begin whose launches it strikes; all if not said.
    pub entry: Option<String>,
}

/// Faults by name. A board that falls off the bus shows as 999, `CUDA_ERROR_UNKNOWN`, while a kernel runs: seen so by the
/// authors of timemachine (github.com/proteneer/timemachine/pull/1203).
pub const NAMED: &[(&str, Place, Effect)] = &[
    ("no_device", Place::Init, Effect::Code(100)),
    ("not_licensed", Place::Init, Effect::Code(102)),
    ("stub", Place::Init, Effect::Code(34)),
    ("operating_system", Place::Init, Effect::Code(304)),
    ("system_not_ready", Place::Init, Effect::Code(802)),
    ("driver_mismatch", Place::Init, Effect::Code(803)),
    ("compat_not_supported", Place::Init, Effect::Code(804)),
    ("mps_connection", Place::Init, Effect::Code(805)),
    ("mps_rpc", Place::Init, Effect::Code(806)),
    ("mps_not_ready", Place::Init, Effect::Code(807)),
    ("mps_max_clients", Place::Context, Effect::Code(808)),
    ("mps_max_connections", Place::Context, Effect::Code(809)),
    ("unavailable", Place::Context, Effect::Code(46)),
    ("oom", Place::Alloc, Effect::Code(2)),
    ("invalid_image", Place::Load, Effect::Code(200)),
    ("no_binary", Place::Load, Effect::Code(209)),
    ("invalid_ptx", Place::Load, Effect::Code(218)),
    ("no_jit", Place::Load, Effect::Code(221)),
    ("unsupported_ptx", Place::Load, Effect::Code(222)),
    ("jit_disabled", Place::Load, Effect::Code(223)),
    ("out_of_resources", Place::Launch, Effect::Code(701)),
    ("ecc", Place::Launch, Effect::Sticky(214)),
    ("nvlink", Place::Launch, Effect::Sticky(220)),
    ("illegal_address", Place::Launch, Effect::Sticky(700)),
    ("launch_timeout", Place::Launch, Effect::Sticky(702)),
    ("assert", Place::Launch, Effect::Sticky(710)),
    ("hardware_stack", Place::Launch, Effect::Sticky(714)),
    ("illegal_instruction", Place::Launch, Effect::Sticky(715)),
    ("misaligned", Place::Launch, Effect::Sticky(716)),
    ("launch_failed", Place::Launch, Effect::Sticky(719)),
    ("device_lost", Place::Launch, Effect::Sticky(999)),
];

impl Fault {
    /// Reads a fault; see the module.
    pub fn parse(text: &str) -> Option<Self> {
        let (what, nth) = match text.split_once('@') {
            Some((what, nth)) => (what, Some(nth.parse().ok()?)),
            None => (text, None),
        };
        if let Some((what, entry)) = what.split_once('/') {
            let effect = of_launch(what)?;
            return Some(Self { place: Place::Launch, effect, nth, entry: Some(entry.to_owned()) });
        }
        let call = |function: &str| Place::Call(function.to_owned());
        let (place, effect) = if let Some(named) = NAMED.iter().find(|named| named.0 == what) {
            (named.1.clone(), named.2.clone())
        } else if let Some((function, code)) = what.split_once('=') {
            (call(function), Effect::Code(code.parse().ok()?))
        } else if let Ok(code) = what.parse() {
            (Place::Init, Effect::Code(code))
        } else {
            match what.split_once(':')? {
                ("hang", function) => (call(function), Effect::Hang),
                ("crash", function) => (call(function), Effect::Crash),
                ("abort", function) => (call(function), Effect::Abort),
                ("slow", time) => {
                    (Place::Launch, Effect::Slow(Duration::from_millis(time.parse().ok()?)))
                }
                _ => return None,
            }
        };
        Some(Self { place, effect, nth, entry: None })
    }
}

/// What can happen to the launches of an entry.
fn of_launch(what: &str) -> Option<Effect> {
    match what {
        "hang" => Some(Effect::Hang),
        "crash" => Some(Effect::Crash),
        "abort" => Some(Effect::Abort),
        "skip" => Some(Effect::Skip),
        _ => NAMED
            .iter()
            .find(|named| named.0 == what && named.1 == Place::Launch)
            .map(|named| named.2.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_fault_with_a_number_cuda_knows() {
        for (name, place, effect) in NAMED {
            let fault = Fault::parse(&format!("{name}@7")).expect(name);
            assert_eq!((&fault.place, &fault.effect, fault.nth), (place, effect, Some(7)));
            let (Effect::Code(code) | Effect::Sticky(code)) = effect else { panic!("{name}") };
            assert!(crate::codes::result(*code).is_some(), "{name}");
        }
    }

    #[test]
    fn numbers_and_calls_are_faults_too() {
        let parse = |text: &str| Fault::parse(text).map(|fault| (fault.place, fault.effect));
        let call = |name: &str| Place::Call(name.to_owned());
        assert_eq!(parse("917"), Some((Place::Init, Effect::Code(917))));
        assert_eq!(parse("cuMemAlloc_v2=919"), Some((call("cuMemAlloc_v2"), Effect::Code(919))));
        assert_eq!(parse("hang:cuInit"), Some((call("cuInit"), Effect::Hang)));
        assert_eq!(
            parse("slow:250"),
            Some((Place::Launch, Effect::Slow(Duration::from_millis(250))))
        );
        let of_entry = Fault::parse("skip/gemv_@2").expect("is one");
        assert_eq!((of_entry.place, of_entry.effect), (Place::Launch, Effect::Skip));
        assert_eq!((of_entry.entry.as_deref(), of_entry.nth), (Some("gemv_"), Some(2)));
        for wrong in ["", "out", "oom@x", "cuInit=", "hang", "sleep:3", "oom/gemv", "skip"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
