//! The micro decoder, from the PTX up: M0 against fp64 and against the CPU's decoder, M1 in small.

mod machine;

use std::time::Instant;

use machine::machine;
use ptx_interpreter::device;
use warpscope_kernels::cpu::{Format, Team};
use warpscope_kernels::gpu::DeviceFacts;
use warpscope_kernels::gpu::decoder::{Length, Numeric, PATHS, Path, numeric, path};
use warpscope_kernels::model::{Decoder, Health, Model, Op, Profile, argmax, prompt};

fn run(sm: (u8, u8), path: &Path, profile: Profile) -> Numeric {
    // One multiprocessor shares no product out: there is least to interpret.
    let facts = DeviceFacts { sms: 1, ..device(sm.0, sm.1).expect("is simulated") };
    let mut machine = machine(&facts);
    let (begun, what) = (Instant::now(), format!("{} {profile} on {}", path.id, facts.sm));
    let done = numeric(&mut machine, path, profile, Length::fitting(&facts));
    let done = done.unwrap_or_else(|error| panic!("{what}: {error}"));
    let (millions, time) = (machine.instructions() / 1_000_000, begun.elapsed().as_secs_f64());
    let Numeric { tokens, error, non_finite, first_bad, .. } = &done;
    println!(
        "{what}: {tokens:?} error {error:?}, {non_finite} not finite {first_bad:?}; {millions} M, {time:.1} s"
    );
    done
}

/// Tokens, and what is not finite, where the CPU computes the same.
fn on_cpu(format: Format, profile: Profile, shape: &Numeric) -> (Vec<u32>, Health) {
    let steps = shape.expected_tokens.len();
    let mut decoder = Decoder::new(Model::new(format, profile), Team::new(format, 1));
    let mut logits = decoder.forward(&prompt()[..Length::Short.shape().prompt]);
    let mut tokens = vec![argmax(&logits)];
    while tokens.len() < steps {
        logits = decoder.forward(&tokens[tokens.len() - 1..]);
        tokens.push(argmax(&logits));
    }
    (tokens, decoder.health().clone())
}

fn assert_right(done: &Numeric, what: &str) {
    assert_eq!(done.tokens, done.expected_tokens, "{what}");
    assert_eq!((done.non_finite, done.first_bad), (0, None), "{what}");
    let error = done.error.expect("finite");
    assert!(error < done.error_limit, "{what}: {error}");
}

fn found(id: &str) -> &'static Path {
    path(id).unwrap_or_else(|| panic!("no path {id}"))
}

#[test]
fn every_path_is_right_on_the_clean_profile() {
    for path in PATHS {
        assert_right(&run((8, 0), path, Profile::Clean), path.id);
    }
}

/// Paths whose kernels differ from those of sm_80, or compute otherwise there.
#[test]
fn every_architecture_is_right_on_the_clean_profile() {
    for (sm, ids) in [
        ((6, 0), &["f16", "bf16", "w4", "nf4"][..]),
        ((6, 1), &["w4a8"]),
        ((7, 0), &["f16.acc16", "awq"]),
        ((7, 5), &["f16.acc16", "w4"]),
        ((9, 0), &["f16", "bf16"]),
    ] {
        for id in ids {
            assert_right(&run(sm, found(id), Profile::Clean), id);
        }
    }
}

/// What a path must hold: nothing is stored that it cannot, or summed.
#[test]
fn paths_that_can_hold_a_profile_are_right() {
    for (sm, id, profile) in [
        ((7, 0), "f16.wide", Profile::Glm4),
        ((8, 0), "bf16", Profile::Glm4),
        ((7, 5), "w4a8", Profile::Glm4),
        ((8, 0), "bf16", Profile::Gemma3),
        ((7, 5), "f16", Profile::Kq),
        ((7, 0), "f16", Profile::Cancel),
        ((8, 0), "w4", Profile::Cancel),
    ] {
        assert_right(&run(sm, found(id), profile), &format!("{id} {profile}"));
    }
}

#[test]
fn paths_that_cannot_hold_a_profile_break_where_it_is_too_large() {
    for (sm, id, profile, place) in [
        ((7, 0), "f16.acc16", Profile::Glm4, (1, Op::OProj)),
        ((8, 0), "awq", Profile::Glm4, (1, Op::OProj)),
        ((7, 5), "nf4", Profile::Glm4, (1, Op::OProj)),
        ((7, 5), "f16.acc16", Profile::Cancel, (2, Op::DownProj)),
        ((8, 0), "awq", Profile::Cancel, (2, Op::DownProj)),
    ] {
        let done = run(sm, found(id), profile);
        let bad = done.first_bad.unwrap_or_else(|| panic!("{id} {profile} stays finite"));
        assert_eq!((bad.layer, bad.op), place, "{id} {profile}");
        assert_eq!(done.error, None, "{id} {profile}");
        assert!(done.text.starts_with("!!"), "{id} {profile}: {}", done.text);
    }
}

/// The same numbers overflow first, and as many are not finite in the end.
#[test]
fn overflow_is_that_of_the_decoder_on_the_cpu() {
    for (sm, id, profile) in [
        ((8, 0), "f16", Profile::Glm4),
        ((6, 0), "w4", Profile::Glm4),
        ((7, 5), "f16", Profile::Gemma3),
    ] {
        let (path, what) = (found(id), format!("{id} {profile}"));
        let done = run(sm, path, profile);
        let (tokens, health) = on_cpu(path.format.expect("has one"), profile, &done);
        let got = Health { non_finite: done.non_finite, first_bad: done.first_bad };
        assert_ne!(got.non_finite, 0, "{what}");
        assert_eq!((done.tokens, got), (tokens, health), "{what}");
    }
}
