//! The program's own kernels, from its own images, by its own device layer: picked and loaded by the driver's rules, run by the
//! interpreter. Every case of every kernel is proven with the interpreter itself; here it is one of each.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use stage::{Stage, said, tell};
use warpscope_kernels::cuda::{Cap, Cuda};
use warpscope_kernels::gpu::{Machine, family, run_case};
use warpscope_kernels::image::images;

/// Not a test of its own: what the other starts on its stages.
#[test]
#[ignore = "started by the other test on a stage"]
fn on_stage() {
    let cuda = Cuda::open().expect("the stand-in");
    let uuid = cuda.devices().expect("a device").swap_remove(0).0;
    let cap = Cap { arena_bytes: 1 << 30, stop: Arc::new(AtomicBool::new(false)) };
    let mut machine = cuda.machine(&uuid, cap).expect("a context");
    let facts = machine.facts().clone();
    let mut right = 0;
    for kernel in
        family::kernels().filter(|kernel| images().iter().any(|it| it.family == kernel.family))
    {
        // The first case is the plainest.
        let Some(case) = (kernel.cases)(&facts).into_iter().next() else { continue };
        match run_case(&mut machine, &case).map(|outcome| outcome.wrong) {
            Ok(None) => right += 1,
            Ok(Some(wrong)) => tell(format_args!("{} {}: {wrong}", kernel.id, case.name)),
            Err(error) => tell(format_args!("{} {}: {error}", kernel.id, case.name)),
        }
    }
    let refused = machine.images().iter().map(|image| image.refused.len()).sum::<usize>();
    let (held, _) = machine.arena();
    tell(format_args!("{right} right, {refused} images refused, {held} bytes held"));
}

/// The last line, which is the only one where every kernel is right.
fn proven(stage: &Stage) -> String {
    let output = stage.again("conformance::on_stage").output().expect("it starts");
    let lines = said(&output);
    let [last] = &lines[..] else { panic!("{lines:#?} {output:?}") };
    assert!(!last.starts_with("0 right"), "{last}");
    last.clone()
}

#[test]
fn own_kernels_are_right_through_the_driver() {
    if images().is_empty() {
        println!("SKIPPED: no images are built in");
        return;
    }
    for board in ["p100", "v100", "t4", "h200", "rtx5090"] {
        let told = proven(&Stage::new(board));
        println!("{board}: {told}");
        assert!(told.ends_with("right, 0 images refused, 0 bytes held"), "{board}: {told}");
    }
}

/// A driver may refuse what the rules allow: cubins in fatbins of newer toolkits are invalid to older drivers
/// (github.com/canonical/inference-snaps/issues/255). Then the next image is taken, and results are the same.
#[test]
fn an_image_that_is_refused_is_followed_by_the_next() {
    if images().is_empty() {
        println!("SKIPPED: no images are built in");
        return;
    }
    for fault in ["invalid_image@1", "no_binary@2"] {
        let told = proven(&Stage::new("h200").fault(fault));
        assert!(told.ends_with("right, 1 images refused, 0 bytes held"), "{fault}: {told}");
    }
}
