//! The interpreter keeps what it promises as a machine: accounts of memory, refusals, graphs without times.

use ptx_interpreter::{Interpreter, Module, device, devices};
use warpscope_kernels::gpu::{Arg, BufferId, Launch, Machine, MachineError, Slot};

/// Adds a number to so many words.
const ADD: &str = ".version 6.0
.target sm_60
.address_size 64
.visible .entry add(.param .u64 words, .param .u32 amount, .param .f32 unused)
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [words]; ld.param.u32 %r1, [amount];
    mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2;
    ld.global.u32 %r3, [%rd1]; add.u32 %r3, %r3, %r1; st.global.u32 [%rd1], %r3;
    ret;
}
";

fn machine() -> Interpreter {
    let module = Module::parse(ADD).expect("is PTX");
    let images = Box::new(move |family: &str, _| match family {
        "add" => Ok(module.clone()),
        _ => Err("there is only add".to_owned()),
    });
    Interpreter::with_images(device(6, 0).expect("is simulated"), images)
}

fn add(buffer: BufferId, args: &[Arg]) -> Launch {
    let args = [&[Arg::Slot(buffer.into())], args].concat();
    Launch {
        family: "add",
        entry: "add",
        grid: [1; 3],
        block: [4, 1, 1],
        shared_bytes: 0,
        args,
        early: false,
    }
}

fn words(machine: &mut Interpreter, buffer: BufferId) -> Vec<u8> {
    let mut bytes = vec![0; 16];
    machine.read(buffer.into(), &mut bytes).expect("is allocated");
    bytes
}

#[test]
fn a_graph_is_replayed_without_a_time() {
    let mut machine = machine();
    let buffer = machine.allocate(16).unwrap();
    machine.write(buffer.into(), &[1; 16]).unwrap();
    let launch = add(buffer, &[Arg::U32(1), Arg::F32(0.0)]);
    machine.run(std::slice::from_ref(&launch)).unwrap();
    assert_eq!(words(&mut machine, buffer), [2, 1, 1, 1].repeat(4));
    let graph = machine.record(&[launch.clone(), launch]).unwrap();
    assert_eq!(words(&mut machine, buffer)[0], 2, "recording runs nothing");
    assert_eq!(machine.replay(graph, 3), Ok(None));
    assert_eq!(words(&mut machine, buffer)[0], 8);
    machine.forget(graph).unwrap();
    assert!(matches!(machine.replay(graph, 1), Err(MachineError::Refused { .. })));
    assert!(machine.instructions() > 0);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut machine = machine();
    let buffer = machine.allocate(16).unwrap();
    let refused =
        |outcome: Result<(), MachineError>| matches!(outcome, Err(MachineError::Refused { .. }));
    assert!(refused(machine.write(Slot { buffer, offset: 1 }, &[0; 16])));
    assert!(refused(machine.read(Slot { buffer, offset: u64::MAX }, &mut [0; 16])));
    assert!(refused(machine.run(&[add(buffer, &[Arg::U32(1)])])), "too few parameters");
    assert!(
        refused(machine.run(&[add(buffer, &[Arg::U64(1), Arg::F32(0.0)])])),
        "one of another size"
    );
    let whole = add(buffer, &[Arg::U32(1), Arg::F32(0.0)]);
    assert!(refused(machine.run(&[Launch { entry: "other", ..whole.clone() }])));
    assert!(
        refused(machine.run(&[Launch { shared_bytes: 64 << 10, ..whole.clone() }])),
        "a P100 has 48 KiB"
    );
    let other = machine.run(&[Launch { family: "other", ..whole.clone() }]);
    assert!(matches!(other, Err(MachineError::NoImage { .. })));
    let stray = machine.run(&[Launch { block: [5, 1, 1], ..whole.clone() }]);
    assert!(
        matches!(stray, Err(MachineError::Fault { ref what }) if what.contains("thread (4,0,0)")),
        "{stray:?}"
    );
    machine.free(buffer).unwrap();
    assert!(refused(machine.free(buffer)), "freed twice");
    assert!(refused(machine.run(&[whole])), "freed memory");
    let most = machine.facts().memory_bytes;
    assert_eq!(machine.allocate(most + 1), Err(MachineError::OutOfMemory { asked: most + 1 }));
}

#[test]
fn every_device_is_simulated_and_says_so() {
    let devices = devices();
    assert_eq!(devices.len(), 9);
    assert!(devices.is_sorted_by_key(|facts| facts.sm));
    assert!(
        devices
            .iter()
            .all(|facts| facts.simulated && facts.shared_per_block <= facts.shared_per_block_optin)
    );
}

#[test]
fn what_was_not_executed_is_known() {
    let text = ADD.replace("ret;", "setp.eq.u32 %p1, %r2, 99;\n@%p1 trap;\nret;");
    let text = text.replace(".reg .b32", ".reg .pred %p<2>; .reg .b32");
    let line = text.lines().position(|line| line.contains("trap")).unwrap() as u32 + 1;
    let module = Module::parse(&text).unwrap();
    let images = module.clone();
    let images = Box::new(move |_: &str, _| Ok(images.clone()));
    let mut machine = Interpreter::with_images(device(6, 0).unwrap(), images);
    let entry = module.entry("add").unwrap();
    assert_eq!(entry.coverage().0, 0);
    let buffer = machine.allocate(16).unwrap();
    machine.run(&[add(buffer, &[Arg::U32(1), Arg::F32(0.0)])]).unwrap();
    assert_eq!(machine.modules().count(), 1);
    // The one after is the end of the body, which the `ret` before it keeps everyone from.
    assert_eq!(entry.unexecuted().first(), Some(&(line, line)));
    let (executed, all) = entry.coverage();
    assert!(executed > 5 && executed < all);
}
