//! What a work computes on: taken, filled, hashed and given back.

use warpscope_kernels::gpu::family::mem;
use warpscope_kernels::gpu::{BufferId, Content, Launch, Machine, MachineError, Slot};

/// Bytes written at once.
const CHUNK: usize = 4 << 20;

/// Takes memory, and notes it among what is to be given back.
pub(super) fn take(
    machine: &mut dyn Machine,
    bytes: usize,
    taken: &mut Vec<BufferId>,
) -> Result<Slot, MachineError> {
    let buffer = machine.allocate(bytes.max(1) as u64)?;
    taken.push(buffer);
    Ok(buffer.into())
}

/// Takes memory for buffers with these contents.
pub(super) fn take_all(
    machine: &mut dyn Machine,
    contents: &[Content],
    taken: &mut Vec<BufferId>,
) -> Result<Vec<Slot>, MachineError> {
    contents.iter().map(|content| take(machine, content.bytes(), taken)).collect()
}

/// Gives memory back, all of it whatever happens.
pub(super) fn give_back(
    machine: &mut dyn Machine,
    taken: Vec<BufferId>,
) -> Result<(), MachineError> {
    taken.into_iter().map(|buffer| machine.free(buffer)).fold(Ok(()), Result::and)
}

/// What no kernel leaves, not a number in every floating-point format, and something else that is not that.
const POISON: u8 = 0xff;
const OTHER: u8 = 0;

/// Runs launches twice on the same inputs, and says the hash of what comes out, if anything does. Equal inputs must give equal outputs, whatever those held
/// before: a tile that nobody computed holds what was written there, which is not the same both times.
pub(super) fn twice(
    machine: &mut dyn Machine,
    (contents, slots): (&[Content], &[Slot]),
    launches: &[Launch],
    digest: Slot,
) -> Result<Option<u64>, MachineError> {
    let mut once = |before: u8| -> Result<Option<u64>, MachineError> {
        fill(machine, contents, slots, before)?;
        machine.run(launches)?;
        hash(machine, contents, slots, digest)
    };
    let (first, second) = (once(POISON)?, once(OTHER)?);
    if first == second {
        return Ok(first);
    }
    let what = match once(OTHER)? == second {
        true => "part of the results is never written, or depends on what was there before",
        false => "two runs on the same inputs differ",
    };
    Err(MachineError::Fault { what: what.to_owned() })
}

/// Writes what buffers hold, and these bytes into what kernels write.
fn fill(
    machine: &mut dyn Machine,
    all: &[Content],
    slots: &[Slot],
    before: u8,
) -> Result<(), MachineError> {
    for (content, slot) in all.iter().zip(slots) {
        match content {
            Content::Bytes(bytes) => machine.write(*slot, bytes)?,
            Content::Zero(bytes) => repeat(machine, *slot, 0, *bytes)?,
            Content::Poison(bytes) | Content::Scratch(bytes) => {
                repeat(machine, *slot, before, *bytes)?;
            }
            Content::Noise { element, count, seed } => {
                let count =
                    u32::try_from(*count).map_err(|_| MachineError::refused("too large"))?;
                let launch = mem::noise(machine.facts(), *slot, *element, count, *seed);
                machine.run(&[launch.map_err(MachineError::refused)?])?;
            }
        }
    }
    Ok(())
}

/// Writes what no kernel leaves.
pub(super) fn poison(machine: &mut dyn Machine, to: Slot, bytes: u64) -> Result<(), MachineError> {
    let count = usize::try_from(bytes).map_err(|_| MachineError::refused("too large"))?;
    repeat(machine, to, POISON, count)
}

fn repeat(machine: &mut dyn Machine, to: Slot, byte: u8, count: usize) -> Result<(), MachineError> {
    let chunk = vec![byte; count.min(CHUNK)];
    let starts = (0..count).step_by(CHUNK);
    starts
        .map(|at| (at, CHUNK.min(count - at)))
        .try_for_each(|(at, bytes)| machine.write(to.plus(at as u64), &chunk[..bytes]))
}

/// One number of everything that kernels write; none where they write nothing.
fn hash(
    machine: &mut dyn Machine,
    all: &[Content],
    slots: &[Slot],
    digest: Slot,
) -> Result<Option<u64>, MachineError> {
    let mut digests = Vec::new();
    for (content, slot) in all.iter().zip(slots) {
        if !matches!(content, Content::Zero(_) | Content::Poison(_)) {
            continue;
        }
        let bytes =
            u32::try_from(content.bytes()).map_err(|_| MachineError::refused("too large"))?;
        let launches =
            mem::hash(machine.facts(), *slot, bytes, digest).map_err(MachineError::refused)?;
        machine.run(&launches)?;
        let mut word = [0; mem::HASH_BYTES];
        machine.read(digest, &mut word)?;
        digests.extend(word);
    }
    Ok((!digests.is_empty()).then(|| mem::hash_of(&digests)))
}
