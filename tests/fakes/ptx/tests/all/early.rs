//! Launches that may start early do, and one that does not wait for what it reads is found out.

use ptx_interpreter::{Interpreter, Module, device};
use warpscope_kernels::Sm;
use warpscope_kernels::gpu::decoder::{path, throughput_of};
use warpscope_kernels::gpu::{Arg, DeviceFacts, Launch, Machine, MachineError};
use warpscope_kernels::model::Shape;

use crate::machine::text_for;

const BLOCKS: u32 = 4;
const THREADS: u32 = 32;

/// An entry that stores one more than it finds: of the words of `from` to those of `to`, each thread its own.
fn entry(name: &str, before: &str, between: &str, behind: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 from, .param .u64 to)
{{
    .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;
    mul.wide.u32 %rd3, %r1, 4; add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
    {before}
    ld.global.u32 %r4, [%rd1];
    {between}
    add.u32 %r4, %r4, 1; st.global.u32 [%rd2], %r4;
    {behind}
    ret;
}}
"
    )
}

const WAIT: &str = "griddepcontrol.wait;";
const LET_GO: &str = "griddepcontrol.launch_dependents;";

/// Three launches: their entries, and which of four places each reads; it writes the next one. The first place holds 1.
struct Chain {
    entries: [&'static str; 3],
    from: [usize; 3],
    early: bool,
    sm: (u8, u8),
}

/// Each reads what the one in front of it wrote, and all but the first may start early.
fn chain(entries: [&'static str; 3]) -> Chain {
    Chain { entries, from: [0, 1, 2], early: true, sm: (9, 0) }
}

fn module((major, minor): (u8, u8)) -> Module {
    let both = format!("{WAIT} {LET_GO}");
    let entries = [
        entry("waits", &both, "", ""),
        entry("lets_go_first", &format!("{LET_GO} {WAIT}"), "", ""),
        entry("keeps", WAIT, "", ""),
        entry("reads_first", "", &both, ""),
    ];
    let mut entries = entries.concat();
    if major < 9 {
        entries = entries.replace(WAIT, "").replace(LET_GO, "");
    }
    let text = format!(".version 7.8\n.target sm_{major}{minor}\n.address_size 64\n{entries}");
    Module::parse(&text).expect("is PTX")
}

impl Chain {
    /// What the last place holds in the end; all but the first hold 0 before they are written.
    fn run(&self, seed: u64) -> Vec<u32> {
        let module = module(self.sm);
        let images = Box::new(move |_: &str, _| Ok(module.clone()));
        let mut machine =
            Interpreter::with_images(device(9, 0).expect("is simulated"), images).seed(seed);
        let words = (BLOCKS * THREADS) as usize;
        let places = [1_u32, 0, 0, 0].map(|value| {
            let place = machine.allocate(4 * words as u64).expect("there is room");
            machine.write(place.into(), &value.to_le_bytes().repeat(words)).expect("fits");
            place
        });
        let launch = |(at, entry): (usize, &'static str)| Launch {
            family: "chain",
            entry,
            grid: [BLOCKS, 1, 1],
            block: [THREADS, 1, 1],
            shared_bytes: 0,
            args: [places[self.from[at]], places[at + 1]].map(|of| Arg::Slot(of.into())).to_vec(),
            early: self.early && at > 0,
        };
        let launches: Vec<_> = self.entries.into_iter().enumerate().map(launch).collect();
        machine.run(&launches).expect("none is wrong by itself");
        let mut bytes = vec![0; 4 * words];
        machine.read(places[3].into(), &mut bytes).expect("fits");
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    /// Seeds by which some thread finds what was there before.
    fn stale(&self) -> usize {
        let want = self.from.iter().fold(vec![1], |mut held, from| {
            held.push(held[*from] + 1);
            held
        });
        SEEDS.filter(|seed| self.run(*seed).iter().any(|word| *word != want[3])).count()
    }
}

const SEEDS: std::ops::Range<u64> = 0..16;

#[test]
fn a_launch_that_waits_before_it_reads_may_start_early() {
    for first in ["waits", "lets_go_first", "keeps"] {
        for second in ["waits", "lets_go_first", "keeps"] {
            assert_eq!(chain([first, second, "waits"]).stale(), 0, "{first} {second}");
        }
    }
}

#[test]
fn one_that_reads_before_it_waits_finds_what_was_there_before() {
    for entries in [["waits", "reads_first", "waits"], ["waits", "waits", "reads_first"]] {
        let found = chain(entries).stale();
        assert!(found >= SEEDS.count() / 2, "{entries:?}: by {found} seeds");
    }
}

/// What lies two launches back is there without waiting, unless the one between lets go before it waits.
#[test]
fn a_launch_may_start_before_the_one_before_the_last_has_ended() {
    let behind = |second| Chain { from: [0, 0, 1], ..chain(["waits", second, "reads_first"]) };
    assert_eq!(behind("waits").stale(), 0);
    let found = behind("lets_go_first").stale();
    assert!(found >= SEEDS.count() / 2, "by {found} seeds");
}

#[test]
fn nothing_starts_early_that_must_not() {
    let stale = chain(["waits", "reads_first", "reads_first"]);
    assert_ne!(stale.stale(), 0);
    assert_eq!(Chain { early: false, ..chain(stale.entries) }.stale(), 0, "not asked for");
    assert_eq!(
        Chain { sm: (8, 0), ..chain(stale.entries) }.stale(),
        0,
        "an image that never waits"
    );
    assert_eq!(chain(["keeps", "reads_first", "waits"]).stale(), 0, "not let by the one in front");
}

/// One layer and a token, with a prompt of one: enough launches for each kind of the chain.
const TINY: Shape = Shape {
    width: 128,
    heads: 2,
    kv_heads: 1,
    head: 128,
    ffn: 256,
    layers: 1,
    vocab: 256,
    prompt: 3,
    decode: 1,
};

/// Logits of a token behind a prompt, or how it failed, where kernels of a family do not wait.
fn logits(id: &str, without: Option<&'static str>, seed: u64) -> Result<Vec<u8>, MachineError> {
    let facts = DeviceFacts { sms: 4, ..device(9, 0).expect("is simulated") };
    let of = facts.clone();
    let images = move |family: &str, _: Sm| {
        let text = text_for(family, &of)?;
        let changed = without == Some(family);
        let text = if changed { text.replace(WAIT, "") } else { text };
        Module::parse(&text).map_err(|error| error.to_string())
    };
    let mut machine = Interpreter::with_images(facts, Box::new(images)).seed(seed);
    let m1 = throughput_of(&mut machine, path(id).expect("is a path"), TINY, 16 << 20)?;
    let (state, start) = &m1.decode.start;
    machine.write(*state, start)?;
    m1.prefill.sample(&mut machine)?;
    m1.decode.sample(&mut machine)?;
    let mut bytes = vec![0; 4 * TINY.vocab];
    machine.read(m1.logits, &mut bytes)?;
    Ok(bytes)
}

/// The chain of a token computes the same however early its launches start; and does not where those of one family do not wait.
#[test]
fn kernels_of_the_chain_that_do_not_wait_are_found_out() {
    for (id, families) in [
        ("f16", &["gemv_token", "attn_decode"][..]),
        ("w4", &["w4_token"]),
        ("nf4", &["nf4_token"]),
        ("f16.acc16", &["elementwise"]),
    ] {
        let want = logits(id, None, 0).expect("computes");
        for seed in 1..4 {
            assert_eq!(logits(id, None, seed).as_ref(), Ok(&want), "{id}, seed {seed}");
        }
        for family in families {
            let stale = |seed| logits(id, Some(*family), seed).as_ref() != Ok(&want);
            assert!((0..4).any(stale), "{id}: {family} without its waits is not found out");
        }
    }
}
