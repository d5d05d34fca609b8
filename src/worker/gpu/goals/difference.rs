//! How far two results lie apart.

use warpscope_kernels::gpu::{Element, MachineError, Slot};

use super::super::job::On;
use super::arm::Taken;
use crate::worker::gpu::session::DeviceSession;

/// Results that are compared at once: of the largest product that makes some 2000 parts, of which a single wrong tile spoils several by far
/// more than rounding does.
const PART: u64 = 1 << 15;

/// The largest ‖a − b‖ / ‖b‖ of all parts of two results. A norm over all of them was rejected: it hides a tile nobody computed.
pub(super) fn difference(
    machine: &mut dyn DeviceSession,
    sides: [(Slot, Element); 2],
    count: u64,
) -> Result<f64, MachineError> {
    let mut worst = 0.0_f64;
    for at in (0..count).step_by(PART as usize) {
        let mut numbers = |(place, element): (Slot, Element)| -> Result<Vec<f64>, MachineError> {
            let size = element.bytes() as u64;
            let mut part = vec![0; ((count - at).min(PART) * size) as usize];
            machine.read(place.plus(at * size), &mut part)?;
            Ok(element.values(&part))
        };
        let apart = relative(&numbers(sides[0])?, &numbers(sides[1])?);
        if apart.is_nan() {
            return Ok(apart);
        }
        worst = worst.max(apart);
    }
    Ok(worst)
}

/// Measures how far a result lies from another, in memory of its own; nothing where there is none. More than a limit is an error.
pub(super) fn judged(
    on: &mut On<'_>,
    limit: f64,
    other: &str,
    measure: impl FnOnce(&mut On<'_>, &mut Taken) -> Result<f64, MachineError>,
) -> Result<Option<f64>, MachineError> {
    let mut taken = Taken::default();
    let found = measure(on, &mut taken);
    let freed = taken.free(on.machine);
    let apart = match found {
        Err(MachineError::OverCap { .. } | MachineError::OutOfMemory { .. }) => {
            return freed.map(|()| None);
        }
        found => found.and_then(|apart| freed.map(|()| apart))?,
    };
    if apart.is_nan() || apart > limit {
        let what = format!("its result differs by {apart:.1e} from {other}, more than {limit:.1e}");
        return Err(MachineError::Fault { what });
    }
    Ok(Some(apart))
}

/// ‖a − b‖ / ‖b‖, which is not a number where one of them is not.
fn relative(ours: &[f64], theirs: &[f64]) -> f64 {
    let (apart, size) = ours
        .iter()
        .zip(theirs)
        .fold((0.0, 0.0), |(apart, size), (a, b)| (apart + (a - b).powi(2), size + b.powi(2)));
    if apart == 0.0 { 0.0 } else { (apart / size).sqrt() }
}

#[cfg(test)]
mod tests {
    use warpscope_kernels::gpu::{Launch, Machine, Nanoseconds};

    use super::*;
    use crate::worker::gpu::fake::{FakeMachine, Manner, Memory};

    /// The loosest of all limits: short sums of fp8.
    const WORST: f64 = 0.0285;

    struct Idle;

    impl Manner for Idle {
        fn run(&mut self, _: &mut Memory, _: &Launch) -> Result<(), MachineError> {
            Ok(())
        }

        fn time(&mut self, _: &[Launch]) -> Nanoseconds {
            1.0
        }
    }

    fn results(spoil: impl FnOnce(&mut [f32]), of: usize) -> f64 {
        let mut machine = FakeMachine::new(false, 1 << 30, Idle);
        let theirs = vec![1.0_f32; of];
        let mut ours = theirs.clone();
        spoil(&mut ours);
        let bytes = 4 * of as u64;
        let places = [ours, theirs].map(|numbers| {
            let slot = Slot::from(machine.allocate(bytes).expect("fits"));
            let raw: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            machine.write(slot, &raw).expect("fits");
            slot
        });
        let sides = places.map(|place| (place, Element::F32));
        difference(&mut machine, sides, of as u64).expect("reads")
    }

    /// A persistent kernel that leaves out its last tile is fast: 128 × 128 of 2048 × 2048 numbers, far behind the first 2^18.
    #[test]
    fn a_tile_nobody_computed_is_found_wherever_it_lies() {
        const SIDE: usize = 2048;
        let last_tile = |with: f32| {
            move |all: &mut [f32]| {
                all.chunks_mut(SIDE).skip(SIDE - 128).for_each(|row| row[SIDE - 128..].fill(with));
            }
        };
        assert_eq!(results(|_| {}, SIDE * SIDE), 0.0);
        assert!(results(last_tile(f32::NAN), SIDE * SIDE).is_nan(), "poison");
        assert!(results(last_tile(0.0), SIDE * SIDE) > WORST, "left from an earlier run");
        // Over all of the largest result the same tile would be within what short sums may do.
        let whole = (128.0_f64 * 128.0 / (8192.0 * 8192.0)).sqrt();
        assert!(whole < WORST);
    }
}
