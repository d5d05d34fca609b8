//! What each number format does to the decoder, against the fp64 reference.

use std::sync::OnceLock;

use warpscope_kernels::cpu::{FORMATS, Format, Team};
use warpscope_kernels::model::{
    Decoder, Golden, Health, LayerTensor, M0, Model, Op, PROFILES, Place, Profile, TensorId,
    argmax, error_limit, golden, oracle::Oracle, prompt,
};

/// Largest fp16 number.
const FP16_MAX: f64 = 65_504.0;

struct Run {
    tokens: Vec<u32>,
    error: Option<f64>,
    health: Health,
}

/// Prompt and greedy decoding; the error over the steps whose past equals the reference's.
fn run(format: Format, profile: Profile, threads: usize) -> Run {
    let mut decoder = Decoder::new(Model::new(format, profile), Team::new(format, threads));
    let mut logits = decoder.forward(&prompt());
    let (mut tokens, mut sums) = (Vec::new(), (0.0, 0.0));
    for step in &golden().steps {
        if tokens == golden().tokens()[..tokens.len()] {
            let (distance, size) = step.distance(&logits);
            sums = (sums.0 + distance, sums.1 + size);
        }
        tokens.push(argmax(&logits));
        logits = decoder.forward(&tokens[tokens.len() - 1..]);
    }
    let error = (sums.0 / sums.1).sqrt();
    Run { tokens, error: error.is_finite().then_some(error), health: decoder.health().clone() }
}

/// The reference of every profile, with the largest magnitude of every tensor and its place.
fn reference(profile: Profile) -> (Golden, Vec<(Place, f64)>) {
    let mut peaks: Vec<(Place, f64)> = Vec::new();
    let golden = Oracle::new(profile, |place, values| {
        for (channel, v) in values.iter().enumerate() {
            let here = Place { channel, ..place };
            match peaks.iter_mut().find(|(p, _)| (p.layer, p.op) == (here.layer, here.op)) {
                Some(peak) if v.abs() > peak.1 => *peak = (here, v.abs()),
                Some(_) => {}
                None => peaks.push((here, v.abs())),
            }
        }
    })
    .run(&prompt());
    (golden, peaks)
}

fn glm4() -> &'static (Golden, Vec<(Place, f64)>) {
    static REFERENCE: OnceLock<(Golden, Vec<(Place, f64)>)> = OnceLock::new();
    REFERENCE.get_or_init(|| reference(Profile::Glm4))
}

#[test]
fn the_embedded_golden_is_what_fp64_computes() {
    let (again, _) = reference(Profile::Clean);
    assert_eq!(again.steps.len(), M0.decode);
    assert_eq!(again.tokens(), golden().tokens());
    for (again, kept) in again.steps.iter().zip(&golden().steps) {
        assert!((again.gap - kept.gap).abs() < 2e-9);
        let pairs = again.logits.iter().zip(&kept.logits);
        assert!(pairs.into_iter().all(|(a, k)| (a - k).abs() < 2e-9));
    }
}

#[test]
fn the_glm4_profile_leaves_the_function_unchanged() {
    let (again, _) = glm4();
    assert_eq!(again.tokens(), golden().tokens());
    let (mut distance, mut size) = (0.0, 0.0);
    for (again, kept) in again.steps.iter().zip(&golden().steps) {
        for (a, k) in again.logits.iter().zip(&kept.logits) {
            distance += (a - k).powi(2);
            size += k * k;
        }
    }
    let moved = (distance / size).sqrt();
    println!("logits move by {moved:.2e}");
    assert!(moved < 5e-6, "{moved}");
}

#[test]
fn only_o_proj_of_layer_1_passes_fp16_and_only_by_a_few_percent() {
    for (place, peak) in &glm4().1 {
        if (place.layer, place.op) == (1, Op::OProj) {
            println!("|o_proj| ≤ {peak:.0} = {:.3} × 65504 at {place:?}", peak / FP16_MAX);
            assert!((1.01..1.15).contains(&(peak / FP16_MAX)), "{peak}");
        } else {
            assert!(*peak < 100.0, "{place:?} {peak}");
        }
    }
    let tensor = TensorId::Layer(1, LayerTensor::O).grid(Profile::Glm4);
    let top = tensor.weights().map(f32::abs).fold(0.0, f32::max);
    println!("largest weight {top}");
    assert!(f64::from(top) < FP16_MAX / 8.0, "the weights themselves must be far from overflow");
}

#[test]
fn every_format_is_right_on_the_clean_profile() {
    for (format, _) in FORMATS {
        let run = run(*format, Profile::Clean, 1);
        println!("{format} clean: error {:?}", run.error);
        assert_eq!(run.tokens, golden().tokens(), "{format}");
        assert_eq!(run.health, Health::default(), "{format}");
        let error = run.error.expect("finite");
        assert!(error < error_limit(*format), "{format} {error}");
    }
}

#[test]
fn glm4_breaks_fp16_activations_where_the_reference_passes_their_range() {
    let (_, peaks) = glm4();
    let o_proj = peaks.iter().find(|(p, _)| (p.layer, p.op) == (1, Op::OProj)).expect("observed");
    for format in [Format::Fp16, Format::Int4] {
        let run = run(format, Profile::Glm4, 1);
        let bad = run.health.first_bad.expect("overflows");
        println!("{format} glm4: first bad {bad:?}, {} non-finite", run.health.non_finite);
        assert_eq!((bad.layer, bad.op), (1, Op::OProj));
        assert_eq!(bad, o_proj.0);
        assert_eq!(run.tokens, [0; M0.decode], "all logits NaN: token 0");
        assert_eq!(run.error, None);
    }
}

#[test]
fn glm4_leaves_bf16_and_fp32_right() {
    for format in [Format::Bf16, Format::Fp32] {
        let run = run(format, Profile::Glm4, 1);
        println!("{format} glm4: error {:?}", run.error);
        assert_eq!(run.tokens, golden().tokens(), "{format}");
        assert_eq!(run.health, Health::default(), "{format}");
        assert!(run.error.expect("finite") < error_limit(format), "{format}");
    }
}

#[test]
fn threads_change_nothing() {
    let (one, three) = (run(Format::Int4, Profile::Clean, 1), run(Format::Int4, Profile::Clean, 3));
    assert_eq!(one.tokens, three.tokens);
    assert_eq!(one.error, three.error);
}

#[test]
fn a_changed_profile_equals_a_new_model() {
    let mut model = Model::new(Format::Int4, Profile::Clean);
    model.set_profile(Profile::Clean, Profile::Glm4);
    let mut changed = Decoder::new(model, Team::new(Format::Int4, 1));
    changed.forward(&prompt());
    assert!(changed.health().first_bad.is_some());
    changed.model_mut().set_profile(Profile::Glm4, Profile::Clean);
    changed.reset();
    assert_eq!(argmax(&changed.forward(&prompt())), golden().tokens()[0]);
    assert_eq!(changed.health(), &Health::default());
    assert_eq!(PROFILES.len(), 2);
}

/// A step whose golden lead exceeds four times the permitted error cannot be decided otherwise by a sound path.
#[test]
fn most_steps_are_decided_beyond_the_permitted_error() {
    let steps = &golden().steps;
    for (format, _) in FORMATS {
        let clear = steps.iter().filter(|step| {
            let size = step.logits.iter().map(|l| l * l).sum::<f64>() / step.logits.len() as f64;
            step.gap > 4.0 * error_limit(*format) * size.sqrt()
        });
        let clear = clear.count();
        println!("{format}: {clear} of {} steps decided", steps.len());
        assert!(clear * 2 > steps.len(), "{format}");
    }
}
