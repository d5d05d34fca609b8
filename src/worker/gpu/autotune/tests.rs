use std::cell::{Cell, RefCell};

use warpscope_kernels::Dtype;
use warpscope_kernels::gpu::{
    Arg, Case, Content, Element, Expect, Judge, Launch, Limiter, MOST_VARIANTS, Nanoseconds,
};

use super::super::fake::{FakeMachine, Manner, Memory};
use super::*;

/// A launch whose first parameter is 1 writes what it should. Its time is that of its entry.
#[derive(Default)]
struct Script {
    /// Entries in the order in which graphs with them were replayed.
    replayed: Vec<&'static str>,
    stopped: bool,
}

type Scripted = FakeMachine<Script>;

/// Nanoseconds of an entry.
fn time_of(entry: &str) -> Nanoseconds {
    match entry {
        "large" => 250e3,
        "small" => 300e3,
        "endless" => 3e6,
        _ => 400e3,
    }
}

fn machine(simulated: bool) -> Scripted {
    FakeMachine::new(simulated, 4096, Script::default())
}

impl Manner for Script {
    fn run(&mut self, memory: &mut Memory, launch: &Launch) -> Result<(), MachineError> {
        if launch.family == "fake" {
            let [Arg::Slot(to), Arg::U32(value)] = launch.args[..] else { panic!("{launch:?}") };
            memory.write(to, &value.to_le_bytes());
        }
        if self.stopped { Err(MachineError::Stopped) } else { Ok(()) }
    }

    fn time(&mut self, graph: &[Launch]) -> Nanoseconds {
        self.replayed.push(graph[0].entry);
        graph.iter().map(|launch| time_of(launch.entry)).sum()
    }

    /// The large one draws so much power that it is held down.
    fn mhz(&self) -> Option<f64> {
        Some(if self.replayed.last() == Some(&"large") { 1410.0 } else { 1980.0 })
    }
}

const ID: &str = "fake.one";
const VARIANTS: [Variant; 5] = [
    Variant { name: "usual", what: "what it takes by itself" },
    Variant { name: "large", what: "faster" },
    Variant { name: "broken", what: "wrong results" },
    Variant { name: "endless", what: "too long for a burst" },
    Variant { name: "greedy", what: "needs more memory than there is" },
];

thread_local! {
    /// Variants the made-up kernel has in the test that runs.
    static HAS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    /// Whether the device's clock has risen already.
    static RAMPED: Cell<bool> = const { Cell::new(true) };
}

fn variants(_: &DeviceFacts) -> Vec<Variant> {
    HAS.with_borrow(|has| VARIANTS.into_iter().filter(|one| has.contains(&one.name)).collect())
}

fn launch(to: Slot, entry: &'static str) -> Launch {
    Launch {
        family: "fake",
        entry,
        grid: [1; 3],
        block: [32, 1, 1],
        shared_bytes: 0,
        args: vec![Arg::Slot(to), Arg::U32(u32::from(entry != "broken"))],
        early: false,
    }
}

/// What the kernel would run at a size: 16 is for the usual one only.
fn takes(facts: &DeviceFacts, shape: Shape) -> &'static str {
    let picked = facts.tuned.choose(ID, shape).filter(|_| shape.m > 16);
    VARIANTS.iter().find(|one| Some(one.name) == picked).map_or("usual", |one| one.name)
}

fn work(facts: &DeviceFacts, shape: Shape) -> Result<Work, String> {
    if shape.m == 0 {
        return Err("nothing to do".to_owned());
    }
    let variant = takes(facts, shape);
    let mut buffers = vec![Content::Bytes(vec![7; 2048]), Content::Zero(4)];
    if variant == "greedy" {
        buffers.push(Content::Zero(4096));
    }
    let limiter = Limiter::Arithmetic;
    let plan = Box::new(move |at: &[Slot]| vec![launch(at[1], variant)]);
    Ok(Work { shape, buffers, plan, bytes: 1.0, flops: 1.0, limiter, variant })
}

fn works(facts: &DeviceFacts, _: u64) -> Vec<Work> {
    let sizes = [16, 64].map(|m| Shape { m, n: 8, k: 8, ..Shape::default() });
    sizes.into_iter().filter_map(|shape| work(facts, shape).ok()).collect()
}

fn cases(facts: &DeviceFacts) -> Vec<Case> {
    let case = |variant: Variant| Case {
        name: format!("17×33×72, {}", variant.name),
        buffers: vec![Content::Poison(4)],
        plan: Box::new(move |at: &[Slot]| vec![launch(at[0], variant.name)]),
        expect: vec![Expect {
            buffer: 0,
            element: Element::U32,
            judge: Judge::Bits(1_u32.to_le_bytes().to_vec()),
        }],
    };
    variants(facts).into_iter().map(case).collect()
}

static TOY: GpuKernel = GpuKernel {
    id: ID,
    title: "a fake",
    family: "fake",
    dtype: Dtype::Fp32,
    route: |_| Route::Native { by: "mov".to_owned() },
    variants,
    cases,
    works,
    work,
};

/// What the made-up kernel with these variants comes to.
fn runs(
    machine: &mut Scripted,
    has: &[&'static str],
    timing: &Timing,
) -> (Vec<AutotuneRun>, Result<(), String>) {
    HAS.set(has.to_vec());
    let mut found = Vec::new();
    let mut emit = |event| {
        if let WorkerEvent::Autotune(run_at) = event {
            found.push(*run_at);
        }
        Ok(())
    };
    let mut on = On {
        uuid: "GPU-fake",
        machine,
        clock: &|| None,
        warm: &mut true,
        best_mhz: &mut None,
        ramped: RAMPED.get(),
    };
    let ended = of_kernel(&mut on, &TOY, timing, &mut emit).map_err(|trouble| match trouble {
        Trouble::Machine { error, .. } => error.to_string(),
        Trouble::Contention(why) => why,
        Trouble::Output(error) => error.to_string(),
    });
    assert!(machine.memory.is_empty(), "all memory is given back");
    (found, ended)
}

fn at(m: u32) -> Timing {
    let shape = Some(Shape { m, n: 8, k: 8, ..Shape::default() });
    Timing { shape, ..Timing::default() }
}

fn why(candidate: &Candidate) -> (&str, bool) {
    candidate.left_out.as_ref().map_or(("", false), |left_out| (&*left_out.why, left_out.wrong))
}

/// An idle GPU runs at a fraction of its clock: 50 ms of work are 125 replays of 0.4 ms.
#[test]
fn the_clock_has_time_to_rise_before_the_first_sample() {
    RAMPED.set(false);
    let mut machine = machine(false);
    let (_, ended) = runs(&mut machine, &["usual", "large"], &at(64));
    assert_eq!(ended, Ok(()));
    let ahead = machine.manner.replayed.iter().take_while(|entry| **entry == "usual").count();
    assert!((125..=130).contains(&ahead), "{ahead}");
}

#[test]
fn both_sides_take_turns_and_the_order_turns_round() {
    let mut machine = machine(false);
    let (found, _) = runs(&mut machine, &["usual", "large"], &at(64));
    let [run_at] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&*run_at.usual, run_at.candidates.len()), ("usual", 1));
    let turns = &run_at.candidates[0].turns;
    assert_eq!(turns.len(), TURNS);
    for turn in turns {
        assert_eq!(
            (&turn.usual_ns[..], &turn.candidate_ns[..]),
            (&[400e3; 5][..], &[250e3; 5][..])
        );
    }
    let TurnClocks { usual, candidate } = &run_at.candidates[0].clocks;
    let count = TURNS * SAMPLES;
    assert_eq!((&usual.mhz, &usual.low), (&vec![Some(1980.0); count], &vec![]));
    assert_eq!((&candidate.mhz, candidate.low.len()), (&vec![Some(1410.0); count], count));
    let words = "variant: 60 of 60 samples below 95% of the best clock, 1980 MHz";
    assert_eq!(run_at.candidates[0].clocks.words().as_deref(), Some(words));
    // Two replays of each find out how long one takes.
    let order: Vec<_> =
        machine.manner.replayed[4..].chunks(SAMPLES + 1).map(|block| block[0]).collect();
    assert!(machine.manner.replayed[4..].chunks(SAMPLES + 1).all(|b| b.iter().all(|e| *e == b[0])));
    assert_eq!(order[..4], ["usual", "large", "large", "usual"]);
    assert!(machine.graphs.is_empty(), "every graph is forgotten");
}

#[test]
fn who_cannot_be_timed_says_why_and_the_others_are() {
    let mut machine = machine(false);
    let all = VARIANTS.map(|variant| variant.name);
    assert!(all.len() <= MOST_VARIANTS);
    let (found, ended) = runs(&mut machine, &all, &at(64));
    let candidates = &found[0].candidates;
    assert_eq!(candidates.iter().map(|r| &*r.variant).collect::<Vec<_>>(), all[1..]);
    let timed: Vec<_> = candidates.iter().map(|candidate| !candidate.turns.is_empty()).collect();
    assert_eq!((timed, ended), (vec![true, false, false, false], Ok(())));
    let (wrong, is_wrong) = why(&candidates[1]);
    assert!(is_wrong && wrong.starts_with("17×33×72, broken: "), "{wrong}");
    assert_eq!(
        why(&candidates[2]),
        ("one run takes longer than a burst may; --full times it", false)
    );
    assert!(why(&candidates[3]).0.contains("cap") && !why(&candidates[3]).1, "{:?}", candidates[3]);
}

#[test]
fn a_size_that_a_variant_does_not_take_is_not_run() {
    let mut machine = machine(false);
    let (found, _) = runs(&mut machine, &["usual", "large"], &Timing::default());
    let shapes: Vec<_> = found.iter().map(|run_at| run_at.shape.m).collect();
    assert_eq!(shapes, [16, 64]);
    assert_eq!(why(&found[0].candidates[0]), ("it does not take this size", false));
    assert!(!found[1].candidates[0].turns.is_empty());
}

#[test]
fn what_was_picked_before_has_no_say_in_what_is_usual() {
    let mut machine = machine(false);
    machine.facts = machine.facts.with_variant(ID, "large");
    let (found, _) = runs(&mut machine, &["usual", "large"], &at(64));
    assert_eq!(&*found[0].usual, "usual");
}

#[test]
fn one_way_only_is_not_run() {
    let mut machine = machine(false);
    assert_eq!(runs(&mut machine, &["usual"], &at(64)), (Vec::new(), Ok(())));
    assert!(machine.manner.replayed.is_empty());
}

#[test]
fn a_stand_in_walks_through_and_has_no_times() {
    let mut machine = machine(true);
    let (found, _) = runs(&mut machine, &["usual", "large", "broken"], &Timing::default());
    let candidates = &found[1].candidates;
    assert!(candidates.iter().all(|candidate| candidate.turns.is_empty()));
    assert_eq!(why(&candidates[0]), ("", false));
    assert!(why(&candidates[1]).1, "a wrong one is found without times: {candidates:?}");
}

#[test]
fn who_is_told_to_stop_says_nothing_of_a_size_half_done() {
    let mut machine = machine(false);
    machine.manner.stopped = true;
    let (found, ended) = runs(&mut machine, &["usual", "large"], &at(64));
    assert_eq!((found, ended), (Vec::new(), Err("told to stop".to_owned())));
}
