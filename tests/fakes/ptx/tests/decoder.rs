//! The micro decoder, from the PTX up: M0 against fp64 and against the CPU's decoder, M1 in small.

mod machine;

use std::time::Instant;

use machine::machine;
use ptx_interpreter::device;
use warpscope_kernels::cpu::{Format, Team};
use warpscope_kernels::gpu::decoder::{Length, Numeric, PATHS, Path, numeric, path};
use warpscope_kernels::model::{Decoder, Health, Model, Op, Profile, argmax, prompt};

fn run(sm: (u8, u8), path: &Path, profile: Profile) -> Numeric {
    let facts = device(sm.0, sm.1).expect("is simulated");
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
    let mut logits = decoder.forward(&prompt()[..4]);
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

#[test]
fn timing() {
    for path in PATHS {
        assert_right(&run((8, 0), path, Profile::Clean), path.id);
    }
    for sm in [(6, 0), (7, 0), (7, 5), (9, 0)] {
        run(sm, path("f16").expect("is"), Profile::Clean);
    }
    let done = run((8, 0), path("f16").expect("is"), Profile::Glm4);
    println!("{:?}", on_cpu(Format::Fp16, Profile::Glm4, &done));
    assert_eq!(done.first_bad.map(|place| place.op), Some(Op::OProj));
}
