//! Changes that know nothing but bytes and numbers.
#![expect(
    clippy::ptr_arg,
    reason = "every change has the same signature, whether it resizes or not"
)]

use super::Mutator;

/// Numbers at which arithmetic goes wrong.
const EXTREMES: &[u64] = &[
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    0x7FFF_FFFF_FFFF_FFFF,
    0x8000_0000_0000_0000,
    u64::MAX - 7,
    u64::MAX,
];
const LONGEST_BLOCK: usize = 1024;
const MOST_REPEATS: usize = 64;

pub(super) fn flip_bit(mutator: &mut Mutator, bytes: &mut Vec<u8>, _: &[u8]) {
    let bit = mutator.random.below(8);
    if let Some(byte) = any(mutator, bytes) {
        *byte ^= 1 << bit;
    }
}

pub(super) fn set_byte(mutator: &mut Mutator, bytes: &mut Vec<u8>, _: &[u8]) {
    let value = mutator.random.bits() as u8;
    if let Some(byte) = any(mutator, bytes) {
        *byte = value;
    }
}

pub(super) fn set_number(mutator: &mut Mutator, bytes: &mut Vec<u8>, _: &[u8]) {
    let value = *mutator.random.pick(EXTREMES).expect("there are some");
    write_number(mutator, bytes, |_| value);
}

pub(super) fn add_to_number(mutator: &mut Mutator, bytes: &mut Vec<u8>, _: &[u8]) {
    let step = (mutator.random.below(33) as u64).wrapping_sub(16);
    write_number(mutator, bytes, |old| old.wrapping_add(step));
}

/// Writes a number that could be a length or an offset of this very input.
pub(super) fn set_length(mutator: &mut Mutator, bytes: &mut Vec<u8>, _: &[u8]) {
    let length = bytes.len() as u64;
    let of = [length, length / 2, mutator.random.below(bytes.len() + 1) as u64];
    let near = (mutator.random.below(3) as u64).wrapping_sub(1);
    let value = mutator.random.pick(&of).expect("there are some").wrapping_add(near);
    write_number(mutator, bytes, |_| value);
}

pub(super) fn remove_block(mutator: &mut Mutator, bytes: &mut Vec<u8>, _: &[u8]) {
    if !bytes.is_empty() {
        bytes.drain(mutator.random.range(bytes.len(), LONGEST_BLOCK));
    }
}

pub(super) fn repeat_block(mutator: &mut Mutator, bytes: &mut Vec<u8>, _: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let range = mutator.random.range(bytes.len(), LONGEST_BLOCK);
    // Once most of the time; sometimes often enough to be a bomb.
    let most = if mutator.random.below(4) == 0 { MOST_REPEATS } else { 1 };
    let block = bytes[range.clone()].repeat(1 + mutator.random.below(most));
    bytes.splice(range.end..range.end, block);
}

pub(super) fn insert_noise(mutator: &mut Mutator, bytes: &mut Vec<u8>, _: &[u8]) {
    let at = mutator.random.below(bytes.len() + 1);
    let noise = mutator.random.bits().to_le_bytes();
    let count = 1 + mutator.random.below(noise.len());
    bytes.splice(at..at, noise[..count].iter().copied());
}

/// Puts a block of the other input in, over what is there or before it.
pub(super) fn take_block(mutator: &mut Mutator, bytes: &mut Vec<u8>, other: &[u8]) {
    if other.is_empty() {
        return;
    }
    let block = &other[mutator.random.range(other.len(), LONGEST_BLOCK)];
    let at = mutator.random.below(bytes.len() + 1);
    let end = if mutator.random.below(2) == 0 { at } else { (at + block.len()).min(bytes.len()) };
    bytes.splice(at..end, block.iter().copied());
}

/// The beginning of this and the end of the other.
pub(super) fn splice(mutator: &mut Mutator, bytes: &mut Vec<u8>, other: &[u8]) {
    bytes.truncate(mutator.random.below(bytes.len() + 1));
    bytes.extend(&other[mutator.random.below(other.len() + 1)..]);
}

pub(super) fn cut(mutator: &mut Mutator, bytes: &mut Vec<u8>, _: &[u8]) {
    bytes.truncate(mutator.random.below(bytes.len() + 1));
}

fn any<'a>(mutator: &mut Mutator, bytes: &'a mut [u8]) -> Option<&'a mut u8> {
    let at = mutator.random.below(bytes.len());
    bytes.get_mut(at)
}

/// Changes a number of 1, 2, 4 or 8 bytes in either order, mostly at a multiple of its size.
fn write_number(mutator: &mut Mutator, bytes: &mut [u8], change: impl FnOnce(u64) -> u64) {
    let size = 1 << mutator.random.below(4);
    let mut at = mutator.random.below(bytes.len());
    if mutator.random.below(4) != 0 {
        at -= at % size;
    }
    let big = mutator.random.below(4) == 0;
    let Some(place) = bytes.get_mut(at..at + size) else { return };
    let mut word = [0; 8];
    word[..size].copy_from_slice(place);
    if big {
        word[..size].reverse();
    }
    word = change(u64::from_le_bytes(word)).to_le_bytes();
    if big {
        word[..size].reverse();
    }
    place.copy_from_slice(&word[..size]);
}
