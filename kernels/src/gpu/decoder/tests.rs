//! What needs no kernel to run: sizes, what is counted, and that everything is given back.

use std::collections::{HashMap, HashSet};

use super::throughput::throughput_of;
use super::*;
use crate::gpu::{
    Arg, BufferId, DeviceFacts, GraphId, Launch, Machine, MachineError, Nanoseconds, Slot,
};
use crate::model::{M0, M1, Profile, Shape};
use crate::{Sm, image};

const MIB: u64 = 1 << 20;

/// A machine that computes nothing, and refuses the call of a number.
struct Ledger {
    facts: DeviceFacts,
    buffers: HashMap<BufferId, u64>,
    graphs: HashSet<GraphId>,
    recorded: Vec<Vec<Launch>>,
    calls: u32,
    refuses: u32,
}

impl Ledger {
    fn new(refuses: u32) -> Self {
        let facts = DeviceFacts {
            name: "NVIDIA H200".to_owned(),
            sm: Sm::new(9, 0),
            sms: 132,
            shared_per_block: 48 << 10,
            shared_per_block_optin: 227 << 10,
            l2_bytes: 60 * MIB,
            memory_bytes: 141 << 30,
            driver_cuda: 12_080,
            simulated: true,
            tuned: crate::gpu::TunedConfigs::default(),
        };
        let (buffers, graphs) = (HashMap::new(), HashSet::new());
        Self { facts, buffers, graphs, recorded: Vec::new(), calls: 0, refuses }
    }

    fn call(&mut self) -> Result<(), MachineError> {
        self.calls += 1;
        if self.calls == self.refuses { Err(MachineError::Stopped) } else { Ok(()) }
    }

    fn is_empty(&self) -> bool {
        self.buffers.is_empty() && self.graphs.is_empty()
    }
}

impl Machine for Ledger {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn allocate(&mut self, bytes: u64) -> Result<BufferId, MachineError> {
        self.call()?;
        let id = BufferId(self.calls);
        self.buffers.insert(id, bytes);
        Ok(id)
    }

    fn free(&mut self, buffer: BufferId) -> Result<(), MachineError> {
        let why = || "freed twice".to_owned();
        self.buffers.remove(&buffer).map(|_| ()).ok_or(MachineError::Refused { why: why() })
    }

    fn write(&mut self, to: Slot, bytes: &[u8]) -> Result<(), MachineError> {
        assert!(to.offset + bytes.len() as u64 <= self.buffers[&to.buffer]);
        self.call()
    }

    fn read(&mut self, from: Slot, bytes: &mut [u8]) -> Result<(), MachineError> {
        assert!(from.offset + bytes.len() as u64 <= self.buffers[&from.buffer]);
        self.call()
    }

    fn run(&mut self, _: &[Launch]) -> Result<(), MachineError> {
        self.call()
    }

    fn record(&mut self, launches: &[Launch]) -> Result<GraphId, MachineError> {
        self.call()?;
        self.recorded.push(launches.to_vec());
        let id = GraphId(self.calls);
        self.graphs.insert(id);
        Ok(id)
    }

    fn forget(&mut self, graph: GraphId) -> Result<(), MachineError> {
        let why = || "forgotten twice".to_owned();
        self.graphs.remove(&graph).then_some(()).ok_or(MachineError::Refused { why: why() })
    }

    fn replay(&mut self, _: GraphId, _: u32) -> Result<Option<Nanoseconds>, MachineError> {
        self.call()?;
        Ok(None)
    }
}

const TINY: Shape = Shape {
    width: 256,
    heads: 4,
    kv_heads: 2,
    head: 128,
    ffn: 384,
    layers: 3,
    vocab: 512,
    prompt: 80,
    decode: 1,
};

#[test]
fn whatever_is_refused_all_memory_comes_back() {
    for path in PATHS {
        let mut whole = Ledger::new(0);
        throughput_of(&mut whole, path, TINY, 8 * MIB).unwrap().free(&mut whole).unwrap();
        assert!(whole.is_empty(), "{}", path.id);
        for refused in 1..=whole.calls {
            let mut machine = Ledger::new(refused);
            let result = throughput_of(&mut machine, path, TINY, 8 * MIB);
            assert_eq!(result, Err(MachineError::Stopped), "{} call {refused}", path.id);
            assert!(machine.is_empty(), "{} call {refused}", path.id);
        }
    }
    let mut whole = Ledger::new(0);
    numeric(&mut whole, &PATHS[0], Profile::Clean, Length::Short).unwrap();
    assert!(whole.is_empty());
    for refused in (1..=whole.calls).step_by(31) {
        let mut machine = Ledger::new(refused);
        let result = numeric(&mut machine, &PATHS[0], Profile::Clean, Length::Short);
        assert_eq!(result, Err(MachineError::Stopped));
        assert!(machine.is_empty(), "call {refused}");
    }
}

/// Of one layer by hand: 2·2048² + 2·2048·512 + 3·2048·5632 = 45 088 768 weights; of the head 16 777 216.
#[test]
fn what_a_token_reads_and_computes_is_what_was_counted_by_hand() {
    let (layer, head, row) = (45_088_768.0, 16_777_216.0, 2048.0);
    for (id, bits, element) in [
        ("f32", 32.0, 4.0),
        ("f16", 16.0, 2.0),
        ("bf16", 16.0, 2.0),
        ("w4", 4.125, 2.0),
        ("w4.bf16", 4.125, 2.0),
        ("nf4", 4.5, 2.0),
    ] {
        let mut machine = Ledger::new(0);
        let path = path(id).unwrap();
        let m1 = throughput(&mut machine, path, 1024 * MIB).unwrap();
        let cache = 2.0 * 512.0 * 12.0 * element;
        let weights = 12.0 * layer * bits / 8.0 + (head + row) * element;
        let (prefill, decode) = (&m1.prefill, &m1.decode);
        assert_eq!((prefill.tokens, prefill.context), (512, 0));
        assert_eq!((decode.tokens, decode.context), (1, 512));
        assert_eq!(decode.bytes, weights + 514.0 * cache, "{id}");
        assert_eq!(prefill.bytes, weights + 1024.0 * cache, "{id}");
        let attention = 2.0 * 12.0 * 2048.0;
        assert_eq!(decode.flops, 2.0 * (12.0 * layer + head + 513.0 * attention));
        let pairs = 512.0 * 513.0 / 2.0;
        assert_eq!(prefill.flops, 2.0 * (512.0 * 12.0 * layer + head + pairs * attention));
    }
}

#[test]
fn as_many_layers_are_distinct_as_fit_and_what_does_not_fit_is_said() {
    let place = |id: &str, mib: u64| {
        let mut machine = Ledger::new(0);
        let done = throughput(&mut machine, path(id).unwrap(), mib * MIB);
        done.map(|m1| {
            assert!(m1.memory_bytes <= mib * MIB && m1.weight_bytes < m1.memory_bytes);
            assert_eq!(m1.l2_resident, m1.weight_bytes < 120 * MIB);
            (m1.prefill.tokens, m1.distinct_layers)
        })
    };
    assert_eq!(place("bf16", 256), Ok((512, 2)));
    assert_eq!(place("bf16", 128), Ok((128, 1)));
    assert_eq!(place("f16", 2048), Ok((512, 12)));
    assert_eq!(place("f32", 256), Ok((128, 1)));
    assert_eq!(place("w4", 256), Ok((512, 7)));
    assert_eq!(place("w4", 64), Ok((64, 1)));
    let Err(MachineError::Refused { why }) = place("bf16", 64) else { panic!("does not fit") };
    assert!(why.contains("bytes on bf16, of 67108864 allowed"), "{why}");
}

#[test]
fn every_stored_tensor_of_m0_is_scanned_once_a_step_and_none_of_m1() {
    let scans = |launches: &[Launch]| {
        launches.iter().filter(|launch| launch.entry.starts_with("scan_")).count()
    };
    for path in PATHS {
        let mut machine = Ledger::new(0);
        numeric(&mut machine, path, Profile::Clean, Length::Short).unwrap();
        throughput_of(&mut machine, path, TINY, 8 * MIB).unwrap();
        let [prompt, token, timed @ ..] = &machine.recorded[..] else { panic!("four graphs") };
        // Seventeen of a layer; embedding, last norm and logits.
        assert_eq!((scans(prompt), scans(token)), (17 * M0.layers + 3, 17 * M0.layers + 3));
        assert!(timed.iter().all(|graph| scans(graph) == 0));
    }
    assert_eq!(M1.width, M1.heads * M1.head);
}

/// The launches of one token of M1 on a compute capability, as they were recorded.
fn token(sm: (u8, u8), id: &str) -> Vec<Launch> {
    let mut machine = Ledger::new(0);
    machine.facts.sm = Sm::new(sm.0, sm.1);
    let m1 = throughput(&mut machine, path(id).unwrap(), 1024 * MIB).unwrap();
    // Its graphs are recorded last.
    machine.recorded[machine.recorded.len() - m1.decode.graphs.len()..].concat()
}

/// kernels.md counts 62: five a layer, head and choice. What is not fused is counted by hand.
#[test]
fn a_token_is_sixty_two_launches() {
    let (layers, ends) = (12, 2);
    for (sm, id, a_layer, more) in [
        ((9, 0), "f16", 5, 0),
        ((9, 0), "f16.wide", 5, 0),
        ((9, 0), "bf16", 5, 0),
        ((9, 0), "w4", 5, 0),
        ((9, 0), "w4.bf16", 5, 0),
        ((9, 0), "nf4", 5, 0),
        ((9, 0), "nf4.bf16", 5, 0),
        // fp32 has no tensor cores: rotation, pieces and their join are launches of their own.
        ((9, 0), "f32", 7, 0),
        // Products of their own: embedding and norm in front; norms and gate in each layer, but the last norms, which the head makes.
        ((9, 0), "f16.acc16", 8, 1),
        ((9, 0), "awq", 8, 1),
        // Activations are rounded in front of each of four products.
        ((9, 0), "w4a8", 14, 1),
        ((7, 5), "f16", 5, 0),
        ((7, 5), "w4", 5, 0),
        ((7, 5), "nf4", 5, 0),
        ((7, 0), "f16", 7, 0),
        // Packed weights on CUDA cores.
        ((7, 0), "w4", 10, 1),
        ((6, 1), "nf4", 10, 1),
        ((8, 0), "bf16", 5, 0),
    ] {
        let got = token(sm, id).len();
        assert_eq!(got, layers * a_layer + ends + more, "{id} on {sm:?}");
    }
}

/// All but the first where every product is fused; elsewhere those that wait.
#[test]
fn all_launches_of_a_token_but_the_first_start_early() {
    for sm in [(9, 0), (10, 0), (12, 0)] {
        for id in ["f32", "f16", "f16.wide", "bf16", "w4", "w4.bf16", "nf4", "nf4.bf16"] {
            let late = token(sm, id).iter().filter(|launch| !launch.early).count();
            assert_eq!(late, 1, "{id} on {sm:?}");
        }
    }
}

/// So that memory is not idle while a launch waits for the one in front of it; blocks of dense weights have enough on their way themselves.
#[test]
fn a_product_of_packed_weights_asks_for_the_first_of_the_next() {
    for id in ["w4", "nf4"] {
        let launches = token((9, 0), id);
        let is_product = |launch: &&Launch| launch.family.ends_with("_token");
        let products: Vec<&Launch> = launches.iter().filter(is_product).collect();
        for two in products.windows(2) {
            let [.., later, Arg::U32(each)] = &two[0].args[..] else { panic!("{:?}", two[0]) };
            assert_eq!(*later, two[1].args[0], "{id}");
            assert!(*each > 0 && each.is_multiple_of(128), "{id}: {each}");
        }
        let head = products.last().map(|launch| launch.family);
        assert_eq!(head, Some("gemv_token"), "{id}: nothing is behind the head, which is dense");
    }
}

/// PTX of an entry on a compute capability.
fn ptx(sm: Sm, launch: &Launch) -> String {
    let text = image::ptx_for(launch.family, sm).and_then(image::Image::text);
    let text = text.unwrap_or_else(|| panic!("no PTX of {}", launch.family));
    let (_, body) = text.split_once(&format!(".entry {}(", launch.entry)).expect("has the entry");
    body.split(".entry ").next().unwrap_or(body).to_owned()
}

/// It waits before it lets the next one start, and before it writes anything.
#[test]
fn whatever_is_launched_early_waits_for_what_is_in_front_of_it() {
    for sm in [(9, 0), (10, 0), (12, 0)] {
        for one in PATHS {
            let launches = token(sm, one.id);
            assert!(!launches[0].early, "{}: nothing orders it behind the token before", one.id);
            let early: Vec<_> = launches.iter().filter(|launch| launch.early).collect();
            assert!(early.len() > 2 * 12, "{}: {} of {}", one.id, early.len(), launches.len());
            for launch in early {
                let what = format!("{} on {sm:?}", launch.entry);
                let body = ptx(Sm::new(sm.0, sm.1), launch);
                let wait = body.find("griddepcontrol.wait").expect(&what);
                let lets = body.find("griddepcontrol.launch_dependents").expect(&what);
                assert!(wait < lets, "{what}");
                // Not `cp.async.cg.shared.global`, which only reads there.
                let begins = |at: usize| body[..at].ends_with(char::is_whitespace);
                for store in ["st.global", "atom.global", "red.global"] {
                    let mut found = body.match_indices(store).filter(|(at, _)| begins(*at));
                    assert!(found.all(|(at, _)| wait < at), "{what}: {store}");
                }
            }
        }
    }
    for sm in [(6, 0), (7, 5), (8, 9)] {
        assert!(PATHS.iter().all(|one| one.id == "w4a8"
            || token(sm, one.id).iter().all(|launch| !launch.early)));
    }
}
