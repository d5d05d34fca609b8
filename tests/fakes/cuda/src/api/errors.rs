//! Names and texts of numbers.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_uint};
use std::sync::{LazyLock, Mutex, PoisonError};

use super::{exports, put};
use crate::codes::{INVALID_VALUE, result};

/// Texts that were handed out: they live as long as the library.
static TEXTS: LazyLock<Mutex<BTreeMap<&'static str, CString>>> = LazyLock::new(Mutex::default);

fn lasting(text: &'static str) -> *const c_char {
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    texts.entry(text).or_insert_with(|| CString::new(text).unwrap_or_default()).as_ptr()
}

exports! { driver;
    cuGetErrorName(code: c_uint, place: *mut *const c_char) {
        let Some((name, _)) = result(code) else {
            put(place, std::ptr::null())?;
            return Err(INVALID_VALUE);
        };
        put(place, lasting(name))
    }
    cuGetErrorString(code: c_uint, place: *mut *const c_char) {
        let Some((name, text)) = result(code) else {
            put(place, std::ptr::null())?;
            return Err(INVALID_VALUE);
        };
        put(place, lasting(if text.is_empty() { name } else { text }))
    }
}
