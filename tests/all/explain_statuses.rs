//! Every status of CUDA and its libraries is answered, if only with what it does not tell.

use warpscope::engine::explain::{Facts, Reader, explain};
use warpscope_probes::rules::RuleBase;

const STATUSES: &str = include_str!("../explain/statuses.txt");

/// Statuses with a cause of their own: name, class.
const KNOWN: &[(&str, &str)] = &[
    ("cudaErrorDeviceNotLicensed", "vgpu_licence"),
    ("cudaErrorJitCompilerNotFound", "lib_missing"),
    ("cudaErrorCallRequiresNewerDriver", "driver_too_old"),
    ("cudaErrorMpsConnectionFailed", "device_visibility"),
    ("cudaErrorMpsServerNotReady", "device_visibility"),
    ("cudaErrorCooperativeLaunchTooLarge", "kernel_resource_limit"),
    ("cudaErrorContained", "hardware_fault"),
    ("cudaErrorStreamCaptureUnsupported", "program_error"),
    ("cudaErrorStreamCaptureUnjoined", "program_error"),
];

/// The first class, or where to look.
fn answer(text: &str) -> Option<String> {
    let mut reader = Reader::default();
    reader.push(text.as_bytes());
    let answer = explain(&reader.finish(), &Facts::default(), &RuleBase::default());
    answer.problems.into_iter().next().map(|one| one.class).or(answer.look)
}

#[test]
fn every_status_is_answered() {
    let lines = STATUSES.lines().filter(|line| !line.starts_with('#'));
    let (mut missing, mut count) = (Vec::new(), 0);
    for line in lines {
        let (name, said) = line.split_once('|').unwrap_or((line, ""));
        let texts = [name.to_owned(), format!("CUDA error: {said}")];
        for text in texts.iter().filter(|text| !text.ends_with(": ")) {
            count += 1;
            let told = answer(text);
            let want = KNOWN.iter().find(|row| row.0 == name).map(|row| row.1);
            if told.is_none() || want.is_some_and(|want| told.as_deref() != Some(want)) {
                missing.push(format!("{text}: {told:?}"));
            }
        }
    }
    assert!(count > 290, "{count}");
    assert!(missing.is_empty(), "{missing:#?}");
}
