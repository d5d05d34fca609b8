//! What other machines answer.

use warpscope::io::source::hosts::script::Hello;
use warpscope_probes::Timestamp;
use warpscope_probes::nvidia_smi::frame;

use crate::Trace;

/// A frame of `nvidia-smi`, each of whose lines may also be a greeting.
pub(super) fn nvidia_smi(bytes: &[u8], trace: &mut Trace) {
    let text = String::from_utf8_lossy(bytes);
    let frame = frame(&text, Timestamp(1_000_000_000_000));
    let json = serde_json::to_string(&frame).expect("a frame can be written");
    let lines = text.lines().count();
    assert!(json.len() <= 20_000 + 8 * bytes.len() + 20_000 * lines, "{}", json.len());
    assert!(frame.gpus.len() + frame.processes.len() <= lines);
    trace.value(&frame.gpus);
    trace.value(&frame.driver);
    for hello in text.lines().filter_map(Hello::parse) {
        assert!(!hello.platform.cpu.is_empty());
    }
}
