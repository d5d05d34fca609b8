//! The micro decoder, from the PTX up: M0 against fp64 and against the CPU's decoder, M1 in small.
//!
//! A few runs are enough to see that the parts fit together; `DECODER=all` runs every path, and all architectures.

use std::time::Instant;

use ptx_interpreter::device;
use warpscope_kernels::cpu::{Format, Team};
use warpscope_kernels::gpu::decoder::{
    Length, Numeric, PATHS, Path, Timed, numeric, path, throughput_of,
};
use warpscope_kernels::gpu::{DeviceFacts, Element, Launch, Machine, Route, Slot};
use warpscope_kernels::model::oracle::Oracle;
use warpscope_kernels::model::{Decoder, Health, Model, Op, Profile, Shape, argmax, prompt};

use crate::machine::machine;

/// Compute capability, path, profile.
type Run = ((u8, u8), &'static str, Profile);

fn found(id: &str) -> &'static Path {
    path(id).unwrap_or_else(|| panic!("no path {id}"))
}

/// A device with so few multiprocessors that no product is shared out further than need be: there is less to interpret.
fn small(sm: (u8, u8), multiprocessors: u32) -> DeviceFacts {
    DeviceFacts { sms: multiprocessors, ..device(sm.0, sm.1).expect("is simulated") }
}

fn run((sm, id, profile): Run) -> (Numeric, String) {
    let facts = small(sm, if id == "f16.acc16" { 64 } else { 1 });
    let mut machine = machine(&facts);
    let (begun, what) = (Instant::now(), format!("{id} {profile} on {}", facts.sm));
    let done = numeric(&mut machine, found(id), profile, Length::fitting(&facts));
    let done = done.unwrap_or_else(|error| panic!("{what}: {error}"));
    let (millions, time) = (machine.instructions() / 1_000_000, begun.elapsed().as_secs_f64());
    let Numeric { tokens, error, non_finite, first_bad, .. } = &done;
    println!(
        "{what}: {tokens:?}, error {error:?}, {non_finite} not finite {first_bad:?}; {millions} M, {time:.1} s"
    );
    (done, what)
}

/// Tokens, and what is not finite, where the CPU computes the same.
fn on_cpu(format: Format, profile: Profile) -> (Vec<u32>, Health) {
    let shape = Length::Short.shape();
    let mut decoder = Decoder::new(Model::new(format, profile), Team::new(format, 1));
    let mut logits = decoder.forward(&prompt()[..shape.prompt]);
    let mut tokens = vec![argmax(&logits)];
    while tokens.len() < shape.decode {
        logits = decoder.forward(&tokens[tokens.len() - 1..]);
        tokens.push(argmax(&logits));
    }
    (tokens, decoder.health().clone())
}

/// Whether the reference of a step leads by less than four times the permitted error: then a sound path may choose another
/// token. The seed of the prompt was chosen for the whole prompt to have no such step, not for the first tokens of it.
fn near_tie(profile: Profile, step: usize, limit: f64) -> bool {
    let shape = Length::Short.shape();
    let mut oracle = Oracle::new(profile, |_, _| {});
    let step = &oracle.run_for(&prompt()[..shape.prompt], shape.decode).steps[step];
    let square = step.logits.iter().map(|l| l * l).sum::<f64>() / step.logits.len() as f64;
    step.gap < 4.0 * limit * square.sqrt()
}

fn is_right(of: Run) {
    let (done, what) = run(of);
    let pairs = done.tokens.iter().zip(&done.expected_tokens);
    if let Some(step) = pairs.into_iter().position(|(got, want)| got != want) {
        assert!(near_tie(of.2, step, done.error_limit), "{what}: {:?}", done.expected_tokens);
    }
    assert_eq!((done.non_finite, done.first_bad), (0, None), "{what}");
    let error = done.error.expect("finite");
    assert!(error < done.error_limit, "{what}: {error}");
}

/// Breaks first where a number is too large, and then says nothing but "!".
fn breaks_at(of: Run, place: (usize, Op)) {
    let (done, what) = run(of);
    let bad = done.first_bad.unwrap_or_else(|| panic!("{what} stays finite"));
    assert_eq!((bad.layer, bad.op), place, "{what}");
    assert_eq!((done.error, &done.text[..]), (None, "!!"), "{what}");
}

/// The same numbers overflow first, and as many are not finite in the end.
fn overflows_as_on_the_cpu(of: Run) {
    let (done, what) = run(of);
    let format = if of.1 == "w4" { Format::Int4 } else { Format::Fp16 };
    let (tokens, health) = on_cpu(format, of.2);
    let got = Health { non_finite: done.non_finite, first_bad: done.first_bad };
    assert_ne!(got.non_finite, 0, "{what}");
    assert_eq!((done.tokens, got), (tokens, health), "{what}");
}

fn all() -> bool {
    let all = std::env::var("DECODER").is_ok_and(|asked| asked == "all");
    if !all {
        println!("skipped: other paths and architectures, without DECODER=all");
    }
    all
}

#[test]
fn paths_are_right_on_the_clean_profile() {
    for of in [((6, 0), "f16"), ((7, 5), "w4"), ((8, 0), "bf16")] {
        is_right((of.0, of.1, Profile::Clean));
    }
    if !all() {
        return;
    }
    for sm in [(6, 0), (6, 1), (7, 0), (7, 5), (8, 0), (9, 0)] {
        let facts = small(sm, 1);
        for path in PATHS {
            match path.route(&facts) {
                Route::Absent { why } => println!("{}: {why}", path.id),
                _ => is_right((sm, path.id, Profile::Clean)),
            }
        }
    }
}

#[test]
fn paths_that_can_hold_a_profile_are_right() {
    is_right(((7, 0), "f16.wide", Profile::Glm4));
    is_right(((7, 5), "w4a8", Profile::Glm4));
    is_right(((9, 0), "f16", Profile::Cancel));
    if !all() {
        return;
    }
    for profile in [Profile::Kq, Profile::Cancel] {
        for id in ["f32", "f16", "bf16", "w4"] {
            is_right(((8, 0), id, profile));
        }
    }
    for profile in [Profile::Glm4, Profile::Gemma3] {
        for id in ["f32", "bf16", "w4.bf16", "w4a8"] {
            is_right(((8, 0), id, profile));
        }
    }
}

#[test]
fn paths_that_cannot_hold_a_profile_break_where_it_is_too_large() {
    overflows_as_on_the_cpu(((8, 0), "f16", Profile::Glm4));
    breaks_at(((7, 5), "f16.acc16", Profile::Cancel), (2, Op::DownProj));
    if !all() {
        return;
    }
    for sm in [(6, 0), (7, 0), (7, 5), (9, 0)] {
        overflows_as_on_the_cpu((sm, "f16", Profile::Glm4));
        overflows_as_on_the_cpu((sm, "w4", Profile::Glm4));
        overflows_as_on_the_cpu((sm, "f16", Profile::Gemma3));
        breaks_at((sm, "f16.acc16", Profile::Glm4), (1, Op::OProj));
        breaks_at((sm, "f16.acc16", Profile::Cancel), (2, Op::DownProj));
        breaks_at((sm, "awq", Profile::Cancel), (2, Op::DownProj));
    }
}

/// M1 in small, with a prompt that is multiplied as matrices.
const TINY: Shape = Shape {
    width: 128,
    heads: 2,
    kv_heads: 1,
    head: 128,
    ffn: 256,
    layers: 2,
    vocab: 256,
    prompt: 70,
    decode: 1,
};

/// The logits a graph leaves behind a token, and that it leaves them again.
fn logits(machine: &mut dyn Machine, timed: &Timed, at: Slot, token: u32) -> Vec<f64> {
    let mut bytes = [vec![0; 4 * TINY.vocab], vec![1; 4 * TINY.vocab]];
    let (state, mut start) = timed.start.clone();
    start[..4].copy_from_slice(&token.to_le_bytes());
    machine.write(state, &start).expect("fits");
    for bytes in &mut bytes {
        timed.sample(machine).expect("runs");
        machine.read(at, bytes).expect("fits");
    }
    assert_eq!(bytes[0], bytes[1], "a replay changes what the next one computes");
    Element::F32.values(&bytes[0])
}

/// What a benchmark asks before it believes a time: is the chain right at the size that is timed? Without any one of its products, or with logits nobody
/// wrote, it is not.
#[test]
fn a_timed_step_is_held_against_a_kernel_for_every_operation() {
    for (sm, id) in [((9, 0), "f16"), ((8, 0), "w4"), ((9, 0), "bf16")] {
        let mut machine = machine(&small(sm, 4));
        let mut m1 = throughput_of(&mut machine, found(id), TINY, 16 << 20).expect("fits");
        let apart = m1.difference(&mut machine).expect("runs");
        println!("{id} on {sm:?}: {apart:.1e} of {:.1e}", m1.limit);
        assert!(apart < m1.limit, "{id} on {sm:?}: {apart:.1e}");
        let whole = m1.apart.clone();
        let is_fused = |launch: &Launch| launch.family.ends_with("_token");
        assert!(!whole.iter().any(is_fused), "it shares no product with the chain");
        let products = |at: &usize| !matches!(whole[*at].family, "elementwise" | "mem");
        let places: Vec<usize> = (0..whole.len()).filter(products).collect();
        assert!(places.len() > 8, "{places:?}");
        for at in [places[0], places[3], places[places.len() - 1]] {
            m1.apart.remove(at);
            let apart = m1.difference(&mut machine).expect("runs");
            assert!(apart.is_nan() || apart > m1.limit, "{id} without {at}: {apart:.1e}");
            m1.apart.clone_from(&whole);
        }
        m1.free(&mut machine).expect("is held");
    }
}

/// The token that would be next in a prompt of a shape.
fn behind(shape: Shape) -> u32 {
    let prompt = prompt();
    prompt[shape.prompt % prompt.len()] % shape.vocab as u32
}

/// Logits of the prompt and of the token behind it.
fn timed_logits(sm: (u8, u8), path: &Path, shape: Shape) -> [Vec<f64>; 2] {
    let mut machine = machine(&small(sm, 4));
    let m1 = throughput_of(&mut machine, path, shape, 16 << 20);
    let m1 = m1.unwrap_or_else(|error| panic!("{} on {sm:?}: {error}", path.id));
    assert_eq!((m1.layers, m1.distinct_layers), (2, 2));
    let of = |timed| logits(&mut machine, timed, m1.logits, behind(shape));
    let both = [&m1.prefill, &m1.decode].map(of);
    m1.free(&mut machine).expect("is held");
    both
}

/// How far logits are from others, relative to these.
fn distance(got: &[f64], want: &[f64]) -> f64 {
    assert!(got.iter().all(|logit| logit.is_finite()));
    let off: f64 = got.iter().zip(want).map(|(g, w)| (g - w).powi(2)).sum();
    (off / want.iter().map(|w| w.powi(2)).sum::<f64>()).sqrt()
}

/// A token is a chain of fused launches, a prompt is not: that of a longer prompt must be the same.
#[test]
fn a_token_behind_a_prompt_is_the_last_of_a_longer_one() {
    let longer = Shape { prompt: TINY.prompt + 1, ..TINY };
    let few: &[_] = &[((8, 0), "f16"), ((7, 5), "w4"), ((9, 0), "nf4")];
    let ids = ["f32", "f16", "f16.wide", "bf16", "w4", "w4.bf16", "nf4", "nf4.bf16"];
    let many = [(6, 0), (7, 5), (8, 0), (9, 0)].map(|sm| ids.map(|id| (sm, id)));
    for &(sm, id) in if all() { many.as_flattened() } else { few } {
        let path = found(id);
        let [_, token] = timed_logits(sm, path, TINY);
        let [last, _] = timed_logits(sm, path, longer);
        let error = distance(&token, &last);
        println!("{id} on {sm:?}: {error:.2e}");
        assert!(error < path.error_limit(), "{id} on {sm:?}: {error}");
    }
}

/// Weights are the same numbers in fp32, 16 bits and 4 bits: so must the logits be, but for rounding.
#[test]
fn graphs_that_are_timed_compute_the_model() {
    let reference = timed_logits((6, 0), found("f32"), TINY);
    let few: &[_] = &[((6, 0), "f16"), ((7, 0), "f16"), ((7, 5), "w4"), ((8, 0), "bf16")];
    let ids = ["f16", "f16.wide", "f16.acc16", "bf16", "w4", "w4.bf16", "nf4"];
    let many = [(6, 0), (7, 0), (7, 5), (8, 0), (9, 0)].map(|sm| ids.map(|id| (sm, id)));
    for &(sm, id) in if all() { many.as_flattened() } else { few } {
        let path = found(id);
        for (got, want) in timed_logits(sm, path, TINY).iter().zip(&reference) {
            let error = distance(got, want);
            println!("{id} on {sm:?}: {error:.2e}");
            assert!(id == "nf4" || error < path.error_limit(), "{id} on {sm:?}: {error}");
        }
    }
}
