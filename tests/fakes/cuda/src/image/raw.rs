//! Copies an image from where a program's pointer shows. It has no length beside it, so its own headers are believed.

use std::ffi::{CStr, c_void};

use super::{elf, fatbin};
use crate::codes::{INVALID_IMAGE, INVALID_VALUE};

/// The bytes of an image; those of PTX end before its 0.
///
/// # Safety
///
/// `image` is null or shows an image: ELF, fat binary, wrapper of one, or text that ends in 0.
pub(crate) unsafe fn take(image: *const c_void) -> Result<Vec<u8>, u32> {
    let start = image.cast::<u8>();
    if start.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: an image of any kind has a first byte, and the others are read only behind the ones before.
    let byte = |at: usize| unsafe { start.add(at).read() };
    let begins = |magic: &[u8]| magic.iter().enumerate().all(|(at, want)| byte(at) == *want);
    if begins(&fatbin::WRAPPER.to_le_bytes()) {
        // SAFETY: the wrapper holds magic, version and a pointer to the fat binary, unaligned at worst.
        return unsafe { take(start.add(8).cast::<*const c_void>().read_unaligned()) };
    }
    let length = if begins(elf::MAGIC) {
        // SAFETY: an ELF file has a header of 64 bytes, and reaches to the end of what its section table names.
        let shown = |size| unsafe { std::slice::from_raw_parts(start, size) };
        elf::length(shown(64), shown)
    } else if begins(&fatbin::MAGIC.to_le_bytes()) {
        // SAFETY: a fat binary has a header of 16 bytes.
        fatbin::length(unsafe { &*start.cast::<[u8; 16]>() })
    } else {
        // SAFETY: everything else is text that ends in 0.
        return Ok(unsafe { CStr::from_ptr(start.cast()) }.to_bytes().to_vec());
    };
    let length = length.ok_or(INVALID_IMAGE)?;
    // SAFETY: by its own headers the image is so long.
    Ok(unsafe { std::slice::from_raw_parts(start, length) }.to_vec())
}
