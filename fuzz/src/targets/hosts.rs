//! What other machines answer.

use warpscope::io::source::hosts::script::Hello;
use warpscope_probes::Timestamp;
use warpscope_probes::fleet::answer::parse;
use warpscope_probes::fleet::{Builder, Cost, exporters};
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

/// An answer of a server of metrics, read as if every exporter had sent it, as GPUs, as what is told of them and as values.
pub(super) fn prometheus(bytes: &[u8], trace: &mut Trace) {
    let Ok(series) = parse(bytes) else { return };
    let mut builder = Builder::default();
    for exporter in exporters() {
        if builder.members(exporter, &series).is_some() {
            builder.info(exporter, &series);
            for metric in &exporter.metric {
                builder.values(exporter, metric, &series);
            }
        }
    }
    let fleet = builder.finish(Timestamp(1_000_000_000_000), Cost::default(), None);
    assert!(fleet.gpus.len() <= series.len() * exporters().len());
    let places: usize = fleet.machines.iter().map(|machine| machine.gpus.len()).sum();
    assert_eq!(places, fleet.gpus.len(), "every GPU has its machine");
    for machine in 0..fleet.machines.len().min(4) {
        trace.value(&fleet.frame(machine));
    }
}
