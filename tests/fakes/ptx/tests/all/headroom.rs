//! The headroom of every path on every architecture: which overflow is a matter of what sums and results are kept in, never
//! of the device.

use ptx_interpreter::devices;
use warpscope_kernels::gpu::headroom::probes;

use crate::machine::machine;

/// What is expected of a path by what its name says of it: the first power of two that is lost, and whether a sum survives
/// that is larger on its way. binary16 ends at 65 504, below 2¹⁶; every other format here goes on beyond 2²⁴.
const EXPECTED: &[(&str, Option<i32>, bool)] = &[
    ("fp16 sums", Some(16), false),
    ("fp16 out", Some(16), true),
    ("bf16 out", None, true),
    ("fp32 out", None, true),
    ("f32", None, true),
];

#[test]
fn paths_overflow_where_their_formats_end() {
    for facts in devices() {
        let mut machine = machine(&facts);
        for probe in probes() {
            if let Some(why) = probe.absent(&facts) {
                println!("skipped on {}: {}: {why}", facts.sm, probe.path());
                continue;
            }
            let what = format!("{} on {}", probe.path(), facts.sm);
            let row = EXPECTED.iter().find(|row| probe.path().ends_with(row.0));
            let (_, first_bad, survives) = row.unwrap_or_else(|| panic!("{what}: not expected"));
            let headroom =
                probe.run(&mut machine).unwrap_or_else(|error| panic!("{what}: {error}"));
            let found = (headroom.first_bad_log2, headroom.survives_cancelling);
            assert_eq!(found, (*first_bad, *survives), "{what}");
            assert_eq!(headroom.tried_log2, 24);
        }
    }
}
