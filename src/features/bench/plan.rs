//! What the bursts of a session measure, one after the other.
//!
//! Ceilings come first, so that every share has one of its own session; right or wrong comes before how fast. A burst is short:
//! what does not fit one is left to the next.

use warpscope_kernels::gpu::DeviceFacts;
use warpscope_kernels::model::PROFILES;

use crate::worker::precision::{absent, is_default, precisions};
use crate::worker::{Acquire, Command, Globs, ModelSize, Timing, TimingMode};

/// A part of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// A path of the micro decoder under a profile, small and judged.
    Judge(&'static str, &'static str),
    /// A path of the micro decoder, large and timed.
    Time(&'static str),
    /// Kernels, timed.
    Kernels(&'static str),
    /// Kernels, against their conformance cases.
    Check(&'static str),
    /// How far paths reach before they leave the finite numbers.
    Range,
}

use Part::{Check, Judge, Kernels, Range, Time};

/// The first burst of every session.
const CEILINGS: &[Part] = &[Kernels("mem.read,alu.ffma")];

/// The others in their order; after the last the first follows again. What a product is compared with is measured beside it.
const ROUND: &[&[Part]] = &[
    &[Judge("f16", "clean"), Judge("f16", "glm4")],
    &[Judge("bf16", "clean"), Judge("bf16", "glm4")],
    &[Time("f16")],
    &[Time("bf16")],
    &[Time("w4")],
    &[Kernels("alu.mma.f16,gemm.f16")],
    &[Kernels("alu.mma.bf16,gemm.bf16")],
    &[Kernels("gemm.f32")],
    &[Kernels("alu.mma.tf32,gemm.tf32")],
    &[Kernels("gemv.*")],
    &[Kernels("w4.f16,w4.bf16,nf4.f16,nf4.bf16")],
    &[Range],
    &[Judge("w4", "clean"), Judge("w4", "glm4")],
    &[Judge("f32", "clean"), Judge("f32", "glm4")],
    &[Time("f32")],
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

/// Bursts of a fake device: its times mean nothing, and the large model would take it hours.
fn is_for_a_fake(part: &Part) -> bool {
    !matches!(part, Time(_))
}

/// What a session begins with.
pub(crate) fn ceilings(acquire: &Acquire, simulated: bool) -> Vec<Command> {
    commands(CEILINGS, acquire, simulated)
}

/// The commands of a burst by its number, ceilings aside.
pub(crate) fn burst(number: usize, acquire: &Acquire, simulated: bool) -> Vec<Command> {
    commands(ROUND[number % ROUND.len()], acquire, simulated)
}

/// The commands of a burst for what no round has: paths and profiles that somebody wants to see beside the usual ones. A path the device does not have is
/// left out.
pub(crate) fn extra(number: usize, acquire: &Acquire, device: &DeviceFacts) -> Vec<Command> {
    let round = extras(device);
    round
        .get(number % round.len().max(1))
        .map_or_else(Vec::new, |parts| commands(parts, acquire, device.simulated))
}

/// The paths that are not usual first, then every path under the profiles that no round has.
fn extras(device: &DeviceFacts) -> Vec<Vec<Part>> {
    let here = || precisions().filter(|precision| absent(precision, device).is_none());
    let (in_round, others): (Vec<_>, Vec<_>) = PROFILES
        .iter()
        .map(|row| row.1)
        .partition(|profile| ROUND.iter().any(|parts| parts.contains(&Judge("f16", profile))));
    let judged = |precision: &'static str, profiles: &[&'static str]| -> Vec<Part> {
        profiles.iter().map(|profile| Judge(precision, profile)).collect()
    };
    let special = here().filter(|precision| !is_default(precision));
    let mut bursts: Vec<_> = special
        .flat_map(|precision| [judged(precision.id, &in_round), vec![Time(precision.id)]])
        .filter(|parts| !device.simulated || parts.iter().all(is_for_a_fake))
        .collect();
    bursts.extend(here().map(|precision| judged(precision.id, &others)));
    bursts
}

fn commands(parts: &[Part], acquire: &Acquire, simulated: bool) -> Vec<Command> {
    let wanted = parts.iter().filter(|part| !simulated || is_for_a_fake(part));
    // What a worker once acquired stays acquired; asking again costs nothing.
    let acquire = std::iter::once(Command::Acquire(acquire.clone()));
    acquire.chain(wanted.map(command)).collect()
}

fn command(part: &Part) -> Command {
    let decode = |path: &str, profile: &str, model| Command::Decode {
        path: path.to_owned(),
        profile: profile.to_owned(),
        model,
    };
    match *part {
        Judge(path, profile) => decode(path, profile, ModelSize::M0),
        Time(path) => decode(path, "clean", ModelSize::M1),
        Kernels(globs) => Command::Kernel(Timing {
            kernels: Globs::from(globs),
            mode: TimingMode::Burst,
            ..Timing::default()
        }),
        Check(globs) => Command::Selftest { kernels: Globs::from(globs), evidence: None },
        Range => Command::Range { paths: Globs::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::super::PATHS;
    use super::super::figures::{PEAKS, READ};
    use super::*;
    use crate::worker::precision::precision_of;

    fn device(sm: (u8, u8), simulated: bool) -> DeviceFacts {
        DeviceFacts {
            name: "synthetic".into(),
            sm: warpscope_kernels::Sm::new(sm.0, sm.1),
            sms: 56,
            shared_per_block: 48 << 10,
            shared_per_block_optin: 48 << 10,
            l2_bytes: 4 << 20,
            memory_bytes: 16 << 30,
            driver_cuda: 12_080,
            simulated,
            tuned: warpscope_kernels::gpu::TunedConfigs::default(),
        }
    }

    /// What the rounds and the extras of a device run, each once.
    #[test]
    fn rounds_and_extras_together_are_every_path_under_every_profile() {
        let device = device((8, 0), false);
        let all: Vec<Part> = parts().chain(extras(&device).into_iter().flatten()).collect();
        let count = |part: Part| all.iter().filter(|one| **one == part).count();
        for precision in precisions() {
            assert_eq!(count(Time(precision.id)), 1, "{}", precision.id);
            for (_, profile) in PROFILES {
                assert_eq!(count(Judge(precision.id, profile)), 1, "{} {profile}", precision.id);
            }
        }
    }

    /// P100 has no product of bytes; a fake device has no times.
    #[test]
    fn what_a_device_does_not_have_is_no_extra() {
        for (device, without) in
            [(device((6, 0), false), "w4a8"), (device((8, 0), true), "f16.acc16")]
        {
            let bursts = extras(&device);
            assert!(bursts.iter().all(|parts| !parts.is_empty()));
            let named = |part: &Part| match part {
                Judge(id, _) => *id == without,
                Time(id) => *id == without || device.simulated,
                _ => true,
            };
            assert!(!bursts.iter().flatten().any(named), "{bursts:?}");
            let acquire = Acquire::default();
            let first = extra(0, &acquire, &device);
            assert_eq!(extra(bursts.len(), &acquire, &device), first, "begins anew");
            assert!(first.len() > 2);
        }
    }

    fn parts() -> impl Iterator<Item = Part> {
        ROUND.iter().chain([&CEILINGS]).flat_map(|parts| parts.iter().copied())
    }

    #[test]
    fn every_path_and_every_ceiling_is_in_a_round_once() {
        for (profile, dtype) in PATHS {
            let id = precision_of(*dtype).expect("has a path").id;
            assert_eq!(parts().filter(|part| *part == Judge(id, profile)).count(), 1);
            assert_eq!(parts().filter(|part| *part == Time(id)).count(), 1);
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
    fn a_burst_says_first_how_much_it_may_take() {
        for number in 0..2 * ROUND.len() {
            for simulated in [false, true] {
                let acquire = Acquire { arena_bytes: Some(64 << 20), ..Acquire::default() };
                let commands = burst(number, &acquire, simulated);
                let Command::Acquire(acquire) = &commands[0] else { panic!("{commands:?}") };
                assert_eq!((acquire.arena_bytes, acquire.beside_others), (Some(64 << 20), false));
                let long = |r: &Command| matches!(r, Command::Decode { model: ModelSize::M1, .. });
                assert!(!simulated || !commands.iter().any(long));
            }
        }
    }
}
