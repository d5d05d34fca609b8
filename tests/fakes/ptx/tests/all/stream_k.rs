//! Tiles that blocks share: the same bits in whatever order blocks end, and again when a graph is replayed with the workspace as it was left.

use ptx_interpreter::{Order, device};
use warpscope_kernels::gpu::{Case, Content, DeviceFacts, Machine, Slot, family};

use crate::machine::machine;

/// Kernels, devices, and the variants whose blocks share tiles.
const DEALT: &[(&str, (u8, u8), &str)] = &[
    ("w4.gemm.f16", (7, 5), "s2"),
    ("w4.gemm.f16", (8, 0), "s2"),
    ("w4.gemm.bf16", (9, 0), "s2"),
    ("gemm.f16", (7, 0), "128x128b64s2d"),
    ("gemm.f16", (8, 0), "128x128b64s3d"),
    ("gemm.bf16", (12, 0), "128x128b64s3d"),
];

/// What comes out of two replays of a case.
fn replayed(facts: &DeviceFacts, case: &Case, order: Order) -> [Vec<u8>; 2] {
    let mut machine = machine(facts).order(order);
    let slots: Vec<Slot> = case.buffers.iter().map(|content| held(&mut machine, content)).collect();
    let graph = machine.record(&(case.plan)(&slots)).expect("a graph");
    let output = case.expect[0].buffer;
    [(); 2].map(|()| {
        let mut bytes = vec![0xff; case.buffers[output].bytes()];
        machine.write(slots[output], &bytes).expect("room");
        machine.replay(graph, 1).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        machine.read(slots[output], &mut bytes).expect("as much");
        bytes
    })
}

fn held(machine: &mut impl Machine, content: &Content) -> Slot {
    let bytes = match content {
        Content::Bytes(bytes) => bytes.clone(),
        Content::Poison(count) | Content::Scratch(count) => vec![0xff; *count],
        Content::Zero(count) => vec![0; *count],
        Content::Noise { .. } => unreachable!("a case has no noise"),
    };
    let slot = Slot::from(machine.allocate(bytes.len() as u64).expect("memory"));
    machine.write(slot, &bytes).expect("room");
    slot
}

/// Whether blocks of a launch are no multiple of its tiles, of which there is a count each.
fn cut(case: &Case) -> bool {
    let tiles = match case.buffers.last() {
        Some(Content::Zero(bytes)) => bytes / 4,
        _ => return false,
    };
    let nowhere = vec![Slot::from(warpscope_kernels::gpu::BufferId(0)); case.buffers.len()];
    (case.plan)(&nowhere).iter().any(|launch| !tiles.is_multiple_of(launch.grid[0] as usize))
}

#[test]
fn the_same_bits_come_out_in_every_order_and_every_time() {
    for (id, at, variant) in DEALT {
        let facts = device(at.0, at.1).expect("a device of the table");
        let kernel = family::kernels().find(|kernel| kernel.id == *id).expect("a kernel");
        let cases = (kernel.cases)(&facts);
        let of_variant = cases.iter().filter(|case| case.name.ends_with(variant));
        let random: Vec<&Case> = of_variant.filter(|case| case.name.contains("random")).collect();
        assert!(random.iter().any(|case| cut(case)), "no case of {id} cuts a tile");
        for case in random {
            let [first, again] = replayed(&facts, case, Order::Forwards);
            assert_eq!(first, again, "{id} {} again", case.name);
            for order in [Order::Backwards, Order::Inwards] {
                let other = replayed(&facts, case, order);
                assert_eq!(
                    [&first, &first],
                    [&other[0], &other[1]],
                    "{id} {} {order:?}",
                    case.name
                );
            }
        }
    }
}
