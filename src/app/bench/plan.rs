//! What the pulses of a session measure, one after the other.
//!
//! Ceilings come first, so that every share has one of its own session; right or wrong comes before how fast. A pulse is short:
//! what does not fit one is left to the next.

use crate::bench::PathDtype;
use crate::bench::gpu::{Burst, Globs, Hold, Request, Size, Timing};

/// A part of a pulse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// A path of the micro decoder, small and judged.
    Judge(PathDtype, &'static str),
    /// A path of the micro decoder, large and timed.
    Time(PathDtype),
    /// Kernels, timed.
    Kernels(&'static str),
    /// Kernels, against their conformance cases.
    Check(&'static str),
    /// How far paths reach before they leave the finite numbers.
    Headroom,
}

use Part::{Check, Headroom, Judge, Kernels, Time};
use PathDtype::{Bf16, Fp16, Fp32, Int4};

/// The first pulse of every session.
const CEILINGS: &[Part] = &[Kernels("mem.read,alu.ffma")];

/// The others in their order; after the last the first follows again. What a product is compared with is measured beside it.
const ROUND: &[&[Part]] = &[
    &[Judge(Fp16, "clean"), Judge(Fp16, "glm4")],
    &[Judge(Bf16, "clean"), Judge(Bf16, "glm4")],
    &[Time(Fp16)],
    &[Time(Bf16)],
    &[Time(Int4)],
    &[Kernels("alu.mma.f16,gemm.f16")],
    &[Kernels("alu.mma.bf16,gemm.bf16")],
    &[Kernels("gemm.f32")],
    &[Kernels("alu.mma.tf32,gemm.tf32")],
    &[Kernels("gemv.*")],
    &[Kernels("w4.f16,w4.bf16,nf4.f16,nf4.bf16")],
    &[Headroom],
    &[Judge(Int4, "clean"), Judge(Int4, "glm4")],
    &[Judge(Fp32, "clean"), Judge(Fp32, "glm4")],
    &[Time(Fp32)],
    &[Kernels("alu.mma.f16acc16,gemm.f16acc16")],
    &[Kernels("alu.mma.s8,alu.dp4a,gemm.s8")],
    &[Kernels("alu.mma.e4m3,gemm.e4m3")],
    &[Kernels("alu.mma.s4,gemm.s4")],
    &[Kernels("attn.*")],
    &[Kernels("awq.f16,w4a8")],
    &[Kernels("mem.copy,mem.triad")],
    &[Check("gemm.*")],
    &[Check("gemv.*,w4.*,nf4.*")],
    &[Check("attn.*")],
];

/// Pulses of a stand-in: its times mean nothing, and the large model would take it hours.
fn is_for_a_stand_in(part: &Part) -> bool {
    !matches!(part, Time(_))
}

/// What a session begins with.
pub(super) fn ceilings(hold: &Hold, simulated: bool) -> Vec<Request> {
    requests(CEILINGS, hold, simulated)
}

/// The requests of a pulse by its number, ceilings aside.
pub(super) fn pulse(number: usize, hold: &Hold, simulated: bool) -> Vec<Request> {
    requests(ROUND[number % ROUND.len()], hold, simulated)
}

fn requests(parts: &[Part], hold: &Hold, simulated: bool) -> Vec<Request> {
    let wanted = parts.iter().filter(|part| !simulated || is_for_a_stand_in(part));
    // What a child once held stays held; asking again costs nothing and says what it has come to, the time taken among it.
    let hold = || std::iter::once(Request::Hold(hold.clone()));
    hold().chain(wanted.map(request)).chain(hold()).collect()
}

fn request(part: &Part) -> Request {
    match *part {
        Judge(dtype, profile) => {
            Request::Decode { dtype, profile: profile.to_owned(), model: Size::M0 }
        }
        Time(dtype) => Request::Decode { dtype, profile: "clean".to_owned(), model: Size::M1 },
        Kernels(globs) => Request::Kernel(Timing {
            kernels: Globs::from(globs),
            regime: Burst::Pulse,
            ..Timing::default()
        }),
        Check(globs) => Request::Selftest { kernels: Globs::from(globs) },
        Headroom => Request::Headroom { paths: Globs::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::super::PATHS;
    use super::super::figures::{PEAKS, READ};
    use super::*;

    fn parts() -> impl Iterator<Item = Part> {
        ROUND.iter().chain([&CEILINGS]).flat_map(|parts| parts.iter().copied())
    }

    #[test]
    fn every_path_and_every_ceiling_is_in_a_round_once() {
        for (profile, dtype) in PATHS {
            assert_eq!(parts().filter(|part| *part == Judge(*dtype, profile)).count(), 1);
            assert_eq!(parts().filter(|part| *part == Time(*dtype)).count(), 1);
        }
        let timed = |id: &str| {
            let of =
                |part: &Part| matches!(part, Kernels(globs) if Globs::from(*globs).matches(id));
            parts().filter(of).count()
        };
        let rare = ["alu.mma.e5m2"];
        for peak in PEAKS.iter().map(|peak| peak.kernel).filter(|id| !rare.contains(id)) {
            assert_eq!(timed(peak), 1, "{peak}");
        }
        assert_eq!(timed(READ), 1);
        assert!(matches!(CEILINGS[0], Kernels(first) if Globs::from(first).matches(READ)));
    }

    #[test]
    fn a_pulse_says_first_how_much_it_may_take() {
        for number in 0..2 * ROUND.len() {
            for simulated in [false, true] {
                let held = Hold { arena_bytes: Some(64 << 20), ..Hold::default() };
                let requests = pulse(number, &held, simulated);
                let Request::Hold(hold) = &requests[0] else { panic!("{requests:?}") };
                assert_eq!((hold.arena_bytes, hold.beside_others), (Some(64 << 20), false));
                let long = |r: &Request| matches!(r, Request::Decode { model: Size::M1, .. });
                assert!(!simulated || !requests.iter().any(long));
            }
        }
    }
}
