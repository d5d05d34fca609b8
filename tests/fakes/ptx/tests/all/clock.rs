//! The kernel that reads clocks: every block says where it is, and both counters go on.

use ptx_interpreter::devices;
use warpscope_kernels::gpu::family::clock::{clock_bytes, hold, read_clocks};
use warpscope_kernels::gpu::{DeviceFacts, Machine, Slot};

use crate::machine::machine;

#[test]
fn each_multiprocessor_says_its_number_cycles_and_time() {
    for facts in devices() {
        let facts = DeviceFacts { sms: 5, ..facts };
        let mut machine = machine(&facts);
        let bytes = clock_bytes(&facts);
        let to = machine.allocate(bytes as u64).map(Slot::from).expect("there is memory");
        machine.write(to, &vec![0xff; bytes]).expect("it was allocated");
        machine.run(&[read_clocks(&facts, to)]).expect("it runs");
        let mut read = vec![0; bytes];
        machine.read(to, &mut read).expect("it was allocated");
        let words: Vec<u64> =
            read.chunks_exact(8).map(|raw| raw.try_into().map_or(0, u64::from_le_bytes)).collect();
        let mut where_: Vec<u64> = words.chunks_exact(3).map(|block| block[0]).collect();
        where_.sort_unstable();
        assert_eq!(where_, (0..u64::from(facts.sms)).collect::<Vec<_>>(), "{}", facts.sm);
        for block in words.chunks_exact(3) {
            assert!(block[1] >= block[2] && block[1] < 1 << 40, "{}: {block:?}", facts.sm);
        }
    }
}

/// The interpreter counts an instruction as a cycle, so that a wait of 200 000 is a few instructions longer.
#[test]
fn a_hold_lasts_as_many_cycles_as_it_should() {
    for facts in devices() {
        let mut machine = machine(&facts);
        let to = machine.allocate(8).map(Slot::from).expect("there is memory");
        machine.run(&[hold(to)]).expect("it ends");
        let mut read = [0; 8];
        machine.read(to, &mut read).expect("it was allocated");
        let cycles = u64::from_le_bytes(read);
        assert!((200_000..201_000).contains(&cycles), "{}: {cycles}", facts.sm);
    }
}
