//! The C functions. Each is named and typed as `cuda.h` declares it, the 64-bit versions only.

mod context;
mod device;
mod errors;
mod events;
mod functions;
mod graphs;
mod library;
mod memory;
mod modules;
mod streams;
mod symbols;
mod tensors;

use std::ffi::{CStr, c_char};

use crate::codes::INVALID_VALUE;
use crate::driver::Answer;

/// A function of the library by its symbol.
pub(crate) type Export = (&'static str, *const ());

/// Every function, by its symbol.
pub(crate) fn all() -> Vec<Export> {
    [
        context::EXPORTS,
        device::EXPORTS,
        errors::EXPORTS,
        events::EXPORTS,
        functions::EXPORTS,
        graphs::EXPORTS,
        library::EXPORTS,
        memory::EXPORTS,
        modules::EXPORTS,
        streams::EXPORTS,
        symbols::EXPORTS,
        tensors::EXPORTS,
    ]
    .concat()
}

/// Declares functions of the driver. The body is one expression, with the driver's state under the name given first.
macro_rules! exports {
    ($driver:ident; $($function:ident($($argument:ident: $ty:ty),* $(,)?) $body:block)*) => {
        pub(super) const EXPORTS: &[$crate::api::Export] = &[
            $((stringify!($function), $function as *const ())),*
        ];
        $(
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $function($($argument: $ty),*) -> u32 {
                $crate::driver::enter(stringify!($function), |$driver| {
                    let _ = &*$driver;
                    // SAFETY: the driver API's contract: pointers are null or show what their parameter says.
                    unsafe {
                        $crate::api::contract();
                        $body
                    }
                })
            }
        )*
    };
}
use exports;

/// Marks a body as resting on the driver API's contract, whether or not it looks through a pointer.
///
/// # Safety
///
/// None of its own.
unsafe fn contract() {}

/// Writes a result where the caller wants it.
///
/// # Safety
///
/// `place` is null or shows room for a value.
unsafe fn put<T>(place: *mut T, value: T) -> Answer {
    if place.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: by the contract, it is writable.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// Writes a text and its 0, cut to the room there is, as the driver cuts names.
///
/// # Safety
///
/// `place` is null or has `room` bytes.
unsafe fn put_text(place: *mut c_char, room: i32, text: &str) -> Answer {
    let room = usize::try_from(room).ok().filter(|room| *room > 0).ok_or(INVALID_VALUE)?;
    if place.is_null() {
        return Err(INVALID_VALUE);
    }
    let size = text.len().min(room - 1);
    // SAFETY: the text was cut to fit with its 0.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast(), size);
        place.add(size).write(0);
    }
    Ok(())
}

/// A text of the caller's.
///
/// # Safety
///
/// `text` is null or shows a text that ends in 0 and outlives the call.
unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, u32> {
    if text.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: by the contract.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| INVALID_VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The functions `cuda.h` declares, as cudarc 0.19.10 generated its bindings from those of CUDA 11.4 to 13.4.
    const DECLARED: &str = include_str!("../../tests/driver_functions.txt");
    /// What only a stand-in has.
    const OWN: &str = "warpscope_";

    #[test]
    fn every_function_is_one_that_cuda_declares() {
        let declared: Vec<&str> = DECLARED.lines().collect();
        for (name, _) in all() {
            assert!(declared.contains(&name) || name.starts_with(OWN), "{name}");
        }
    }
}
