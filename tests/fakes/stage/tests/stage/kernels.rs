//! Kernels on the stand-in driver: those that are right, and those at fault.

use stage::Stage;

use crate::play::{BODIES, driver_error, play, play_kernel};

/// Run once, and twice more as a recording: each of the first 32 words is counted up three times.
#[test]
fn every_board_runs_a_kernel_and_a_recording() {
    for board in ["gtx1060", "p100", "v100", "t4", "a100", "rtx4090", "h200", "b200", "rtx5090"] {
        let ending = play(&Stage::new(board));
        let counted = [7 + 3, 7, 7, 7].repeat(32);
        assert_eq!(ending.bytes, Some(format!("{counted:?}")), "{board}: {ending:?}");
    }
}

/// CUDA driver API reference, `CUresult`: what the status of each kind of fault is, and that it stays.
#[test]
fn a_kernel_at_fault_leaves_the_status_of_its_kind() {
    for (kernel, code, told) in [
        ("stray", 700, "of an allocation of 256"),
        ("askew", 716, "PTX line"),
        ("trap", 719, "stopped itself"),
        ("endless", 702, "instructions"),
        ("race", 719, "PTX line"),
    ] {
        assert!(BODIES.iter().any(|body| body.0 == kernel));
        let ending = play_kernel(&Stage::new("t4+limit:10000"), kernel);
        let error = driver_error("cuStreamSynchronize", code);
        assert_eq!(
            (ending.step.as_str(), &ending.error),
            ("run", &error),
            "{kernel}: {}",
            ending.said
        );
        assert_eq!(ending.sticky, Some(true), "{kernel}");
        assert!(ending.said.contains("work") && ending.said.contains(told), "{}", ending.said);
    }
}
