//! What each number format does to the decoder, against the fp64 reference.

use std::sync::OnceLock;

use warpscope_kernels::cpu::{FORMATS, Format, Team};
use warpscope_kernels::model::{
    Decoder, GROUP, Golden, Health, LayerTensor, M0, Model, Op, PROFILES, Place, Profile, TensorId,
    argmax, error_limit, golden, golden_of, oracle::Oracle, prompt,
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
    let golden = golden_of(profile);
    for step in &golden.steps {
        if tokens == golden.tokens()[..tokens.len()] {
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

fn peak(peaks: &[(Place, f64)], layer: usize, op: Op) -> &(Place, f64) {
    peaks.iter().find(|(p, _)| (p.layer, p.op) == (layer, op)).expect("observed")
}

#[test]
fn the_embedded_golden_is_what_fp64_computes() {
    for profile in [Profile::Clean, Profile::Cancel] {
        let ((again, _), kept) = (reference(profile), golden_of(profile));
        assert_eq!(again.steps.len(), M0.decode);
        assert_eq!(again.tokens(), kept.tokens());
        for (again, kept) in again.steps.iter().zip(&kept.steps) {
            assert!((again.gap - kept.gap).abs() < 2e-9);
            let pairs = again.logits.iter().zip(&kept.logits);
            assert!(pairs.into_iter().all(|(a, k)| (a - k).abs() < 2e-9));
        }
    }
    assert_ne!(golden_of(Profile::Cancel), golden());
}

#[test]
fn profiles_without_golden_data_of_their_own_leave_the_function_unchanged() {
    for (profile, _) in PROFILES.iter().filter(|row| row.0 != Profile::Cancel) {
        let (again, _) = reference(*profile);
        assert_eq!(again.tokens(), golden().tokens(), "{profile}");
        let (mut distance, mut size) = (0.0, 0.0);
        for (again, kept) in again.steps.iter().zip(&golden().steps) {
            for (a, k) in again.logits.iter().zip(&kept.logits) {
                distance += (a - k).powi(2);
                size += k * k;
            }
        }
        let moved = (distance / size).sqrt();
        println!("{profile}: logits move by {moved:.2e}");
        assert!(moved < 5e-6, "{profile} {moved}");
    }
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
    let o_proj = peak(&glm4().1, 1, Op::OProj);
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
fn glm4_and_gemma3_leave_bf16_and_fp32_right() {
    for profile in [Profile::Glm4, Profile::Gemma3] {
        for format in [Format::Bf16, Format::Fp32] {
            let run = run(format, profile, 1);
            println!("{format} {profile}: error {:?}", run.error);
            assert_eq!(run.tokens, golden().tokens(), "{format} {profile}");
            assert_eq!(run.health, Health::default(), "{format} {profile}");
            assert!(run.error.expect("finite") < error_limit(format), "{format} {profile}");
        }
    }
}

#[test]
fn gemma3_breaks_fp16_where_the_residual_stream_first_passes_its_range() {
    let (_, peaks) = reference(Profile::Gemma3);
    let first = peaks.iter().find(|(_, top)| *top > FP16_MAX).expect("some tensor passes");
    println!("first past the range: {first:?}");
    assert_eq!((first.0.layer, first.0.op), (1, Op::MlpResidual));
    let stream = [Op::AttnResidual, Op::MlpResidual];
    assert!(peaks.iter().all(|(p, top)| *top < FP16_MAX || stream.contains(&p.op)));
    for format in [Format::Fp16, Format::Int4] {
        let run = run(format, Profile::Gemma3, 1);
        let bad = run.health.first_bad.expect("overflows");
        assert_eq!((bad.layer, bad.op), (1, Op::MlpResidual), "{format}");
        assert_eq!(run.error, None);
    }
}

/// Queries and keys as they meet, and the largest of their products before it is scaled.
fn largest_raw_score() -> f64 {
    let (mut queries, mut keys) = (vec![Vec::new(); M0.layers], vec![Vec::new(); M0.layers]);
    Oracle::new(Profile::Kq, |place, values| match place.op {
        Op::RopeQ => queries[place.layer] = values.to_vec(),
        Op::RopeK => keys[place.layer].extend_from_slice(values),
        _ => {}
    })
    .run(&prompt());
    let mut largest = 0.0_f64;
    for (query, keys) in queries.iter().zip(&keys) {
        for (head, query) in query.chunks_exact(M0.head).enumerate() {
            let first = head / (M0.heads / M0.kv_heads) * M0.head;
            for key in keys.chunks_exact(M0.kv_width()) {
                let pairs = query.iter().zip(&key[first..first + M0.head]);
                largest = largest.max(pairs.map(|(q, k)| q * k).sum::<f64>().abs());
            }
        }
    }
    largest
}

#[test]
fn raw_scores_pass_fp16_under_kq_while_no_tensor_does() {
    let raw = largest_raw_score();
    println!("largest raw score of the last token {raw:.0}");
    assert!(raw > FP16_MAX, "{raw}");
    let (_, peaks) = reference(Profile::Kq);
    assert!(peaks.iter().all(|(_, top)| *top < FP16_MAX / 8.0));
}

#[test]
fn partial_sums_pass_fp16_under_cancel_while_no_tensor_does() {
    let mut partial = 0.0_f64;
    let grid = TensorId::Layer(2, LayerTensor::Down).grid(Profile::Cancel);
    let weights: Vec<f32> = grid.weights().collect();
    Oracle::new(Profile::Cancel, |place, values| {
        if (place.layer, place.op) != (2, Op::Swiglu) {
            return;
        }
        assert_eq!(values[..GROUP], values[M0.ffn - GROUP..], "inputs come in equal pairs");
        for row in weights.chunks_exact(M0.ffn) {
            let pairs = row.iter().zip(values).take(GROUP);
            partial = partial.max(pairs.map(|(w, x)| f64::from(*w) * x).sum::<f64>().abs());
        }
    })
    .run(&prompt());
    let (_, peaks) = reference(Profile::Cancel);
    let whole = peak(&peaks, 2, Op::DownProj).1;
    println!("largest partial sum {partial:.0}, largest sum {whole:.0}");
    assert!(partial > 2.0 * FP16_MAX, "{partial}");
    assert!(peaks.iter().all(|(_, top)| *top < FP16_MAX / 2.0));
}

/// fp32 sums survive `kq` and `cancel`, whatever stores the activations.
#[test]
fn profiles_whose_tensors_fp16_holds_leave_every_format_right() {
    // Of these two the activations themselves leave fp16.
    let outgrows = |profile| matches!(profile, Profile::Glm4 | Profile::Gemma3);
    for (profile, _) in PROFILES.iter().filter(|row| !outgrows(row.0)) {
        for (format, _) in FORMATS {
            let run = run(*format, *profile, 1);
            println!("{format} {profile}: error {:?}", run.error);
            assert_eq!(run.health, Health::default(), "{format} {profile}");
            assert!(run.error.expect("finite") < error_limit(*format), "{format} {profile}");
        }
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
    let mut from = Profile::Glm4;
    for (to, _) in PROFILES.iter().chain(&[(Profile::Clean, "")]) {
        changed.model_mut().set_profile(from, *to);
        changed.reset();
        let mut new = Decoder::new(Model::new(Format::Int4, *to), Team::new(Format::Int4, 1));
        let bits = |logits: Vec<f32>| logits.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(changed.forward(&prompt())), bits(new.forward(&prompt())), "{to}");
        assert_eq!(changed.health(), new.health(), "{to}");
        from = *to;
    }
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
