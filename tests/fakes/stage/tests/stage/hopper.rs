//! What only sm_90 and later have, through the driver: tensor maps, and launches that start early.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use stage::{CUDA, Stage, said, tell};
use warpscope_kernels::cuda::{Cap, Cuda, CudaMachine};
use warpscope_kernels::gpu::{Arg, Launch, Machine, MachineError, TensorElement, TensorMap};

/// A box of 8 rows of 64 numbers of 16 bits comes as it lies in shared memory: 32 threads give 32 bytes each. Between the launches of a sequence each waits for
/// the one in front of it; the first word counts them.
const WORK: &str = ".version 8.0\n.target sm_90a\n.address_size 64
.visible .entry work(.param .align 64 .b8 map[128], .param .u64 out)
{
    .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<10>;
    .shared .align 1024 .b8 tile[1024];
    .shared .align 8 .b8 bar[8];
    mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1;
    ld.param.u64 %rd2, [out]; cvta.to.global.u64 %rd2, %rd2;
    mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, bar;
    setp.eq.u32 %p1, %r1, 0;
    griddepcontrol.wait;
    @%p1 ld.global.u32 %r4, [%rd2+1024]; @%p1 add.u32 %r4, %r4, 1; @%p1 st.global.u32 [%rd2+1024], %r4;
    @%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
    @%p1 fence.mbarrier_init.release.cluster;
    bar.sync 0;
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 1024;
    @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd1, {0, 0}], [%r3];
    WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
    @!%p2 bra WAIT;
    shl.b32 %r5, %r1, 5; add.u32 %r6, %r5, %r2; cvt.u64.u32 %rd3, %r5; add.u64 %rd3, %rd3, %rd2;
    ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r6]; st.global.v4.u32 [%rd3], {%r10, %r11, %r12, %r13};
    ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r6+16]; st.global.v4.u32 [%rd3+16], {%r10, %r11, %r12, %r13};
    griddepcontrol.launch_dependents;
    ret;
}
";

/// Counts in a word, and waits for nobody: code for sm_80 has no such instruction.
const OLDER: &str = ".version 7.0\n.target sm_80\n.address_size 64
.visible .entry work(.param .u64 out)
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1;
    ld.global.u32 %r1, [%rd1]; add.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1;
    ret;
}
";

/// Asks for two early launches of a kernel that never waits for the one in front; gives what it counted.
fn older() -> Result<u32, MachineError> {
    let mut machine = machine()?;
    let out = machine.allocate(4)?;
    machine.write(out.into(), &[0; 4])?;
    machine.load_image("own", OLDER.as_bytes()).0?;
    let launch = launch([1, 1, 1], vec![Arg::Slot(out.into())]);
    machine.run(&[launch.clone(), launch])?;
    let mut bytes = [0; 4];
    machine.read(out.into(), &mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

fn machine() -> Result<CudaMachine, MachineError> {
    let cuda = Cuda::open()?;
    let uuid = cuda.devices()?.swap_remove(0).0;
    cuda.machine(&uuid, Cap { arena_bytes: 1 << 30, stop: Arc::new(AtomicBool::new(false)) })
}

/// An early launch of the image's only entry.
fn launch(block: [u32; 3], args: Vec<Arg>) -> Launch {
    let (family, entry) = ("own", "work");
    Launch { family, entry, grid: [1; 3], block, shared_bytes: 0, args, early: true }
}

/// Runs the kernel once and, as a recording of two, twice more; gives the box and how often it ran.
fn routine(row_bytes: u64) -> Result<(Vec<u8>, u32), MachineError> {
    let mut machine = machine()?;
    let (matrix, out) = (machine.allocate(2048)?, machine.allocate(2048)?);
    let numbers: Vec<u8> = (0..1024_u16).flat_map(u16::to_le_bytes).collect();
    machine.write(matrix.into(), &numbers)?;
    machine.load_image("own", WORK.as_bytes()).0?;
    let map = TensorMap {
        slot: matrix.into(),
        element: TensorElement::Bf16,
        size: [60, 7],
        row_bytes,
        tile: [64, 8],
        swizzled: true,
    };
    let launch = launch([32, 1, 1], vec![map.into(), Arg::Slot(out.into())]);
    machine.run(std::slice::from_ref(&launch))?;
    let graph = machine.record(&[launch.clone(), launch])?;
    machine.replay(graph, 1)?;
    let mut bytes = vec![0; 1028];
    machine.read(out.into(), &mut bytes)?;
    let runs = u32::from_le_bytes([bytes[1024], bytes[1025], bytes[1026], bytes[1027]]);
    bytes.truncate(1024);
    Ok((bytes, runs))
}

/// Not a test of its own: what the others start on their stages.
#[test]
#[ignore = "started by the other tests on a stage"]
fn on_stage() {
    let wrong = std::env::var_os("WRONG_MAP").is_some();
    match routine(if wrong { 100 } else { 128 }) {
        Ok((bytes, runs)) => tell(format_args!("{runs} {bytes:?}")),
        Err(error) => tell(format_args!("{error}")),
    }
}

/// Not a test of its own, either.
#[test]
#[ignore = "started by another test on a stage"]
fn older_on_stage() {
    match older() {
        Ok(count) => tell(format_args!("{count}")),
        Err(error) => tell(format_args!("{error}")),
    }
}

/// The driver would take an early launch of it, and start it while what it reads is being written: so it is not asked for one.
#[test]
fn an_image_that_cannot_wait_is_never_launched_early() {
    let stage = Stage::new("h200").fault("cuLaunchKernelEx=1");
    let output = stage.again("hopper::older_on_stage").output().expect("it starts");
    assert_eq!(said(&output), ["2"]);
}

/// What the routine said.
fn played(stage: &Stage, wrong: bool) -> String {
    let mut command = stage.again("hopper::on_stage");
    if wrong {
        command.env("WRONG_MAP", "1");
    }
    let output = command.output().expect("it starts");
    said(&output).pop().unwrap_or_else(|| panic!("{output:?}"))
}

/// CUDA driver API reference, `CU_TENSOR_MAP_SWIZZLE_128B`: parts of 16 bytes of a row change places by the row; outside are zeros.
fn want() -> String {
    let mut bytes = vec![0_u8; 1024];
    for (row, column) in (0..7_usize).flat_map(|row| (0..60).map(move |column| (row, column))) {
        let place = 128 * row + 16 * ((column / 8) ^ row) + 2 * (column % 8);
        bytes[place..place + 2].copy_from_slice(&((64 * row + column) as u16).to_le_bytes());
    }
    format!("3 {bytes:?}")
}

#[test]
fn tensor_maps_and_early_launches_go_through_the_driver() {
    assert_eq!(played(&Stage::new("h200"), false), want());
}

/// A driver may have no such launches, not take them into a recording, or not support them: then kernels start one after the other.
#[test]
fn where_a_launch_cannot_start_early_it_starts_late() {
    for fault in ["cuLaunchKernelEx=801", "cuLaunchKernelEx=900@2", "cuLaunchKernelEx=801@3"] {
        assert_eq!(played(&Stage::new("h200").fault(fault), false), want(), "{fault}");
    }
    assert_eq!(played(&Stage::new("h200").before(CUDA, &["cuLaunchKernelEx"]), false), want());
    let said = played(&Stage::new("h200").fault("cuLaunchKernelEx=1"), false);
    assert!(said.starts_with("cuLaunchKernelEx returned 1 "), "{said}");
}

#[test]
fn without_tensor_maps_the_driver_is_said_to_lack_them() {
    let old = Stage::new("h200").before(CUDA, &["cuTensorMapEncodeTiled"]);
    assert_eq!(played(&old, false), "cuTensorMapEncodeTiled is missing");
    let said = played(&Stage::new("h200").fault("cuTensorMapEncodeTiled=1"), false);
    assert!(said.starts_with("cuTensorMapEncodeTiled returned 1 "), "{said}");
    let said = played(&Stage::new("h200"), true);
    assert!(said.contains("rows 100 bytes apart"), "{said}");
}

#[test]
fn other_devices_refuse_what_is_built_for_this_one_alone() {
    let said = played(&Stage::new("b200"), false);
    assert!(said.starts_with("cuModuleLoadDataEx returned "), "{said}");
}
