//! What a tuning run reads: its specification, and what the programs it runs print and write.

use warpscope::tuner::{Numbers, parse, read_output};

use crate::Trace;

/// Most candidates that are written out here.
const MOST_CANDIDATES: usize = 1000;

pub(super) fn spec(bytes: &[u8], trace: &mut Trace) {
    let text = String::from_utf8_lossy(bytes);
    let result = parse("spec.toml", &text);
    trace.result(&result);
    match result {
        Ok(spec) => {
            let size = spec.grid_size();
            if size.is_some_and(|size| size <= MOST_CANDIDATES) {
                assert_eq!(Some(spec.candidates().len()), size);
            }
            assert!(spec.samples > 0 && spec.block_samples() > 0);
        }
        Err(error) => assert!((1..=1 + text.lines().count()).contains(&error.line), "{error}"),
    }
}

pub(super) fn output(bytes: &[u8], trace: &mut Trace) {
    let result = read_output(&String::from_utf8_lossy(bytes));
    trace.result(&result);
    if let Ok(said) = result {
        assert!(said.times.iter().all(|time| time.is_finite() && *time > 0.0), "{said:?}");
    }
}

pub(super) fn numbers(bytes: &[u8], trace: &mut Trace) {
    for kind in [Numbers::Text, Numbers::F32, Numbers::F64] {
        let result = kind.read(bytes);
        trace.result(&result);
        if let Ok(numbers) = result {
            assert!(numbers.len() <= bytes.len());
        }
    }
}
