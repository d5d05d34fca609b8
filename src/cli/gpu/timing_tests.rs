use warpscope_kernels::Sm;
use warpscope_kernels::gpu::{DeviceFacts, Limiter, Route, Variant};

use super::super::timing_table::write_table;
use super::*;

fn result(samples_ns: Vec<f64>) -> GpuResult {
    let device = DeviceFacts {
        name: "T4".to_owned(),
        sm: Sm::new(7, 5),
        sms: 40,
        shared_per_block: 48 << 10,
        shared_per_block_optin: 64 << 10,
        l2_bytes: 4 << 20,
        memory_bytes: 15 << 30,
        driver_cuda: 12_080,
        simulated: samples_ns.is_empty(),
        picks: warpscope_kernels::gpu::Picks::default(),
    };
    let kernel = kernels().next().expect("there are kernels");
    let report = KernelReport {
        kernel: kernel.id.to_owned(),
        route: Route::Native { by: "fma".to_owned() },
        shape: Shape { m: 1, n: 64, k: 32, ..Shape::default() },
        variant: None,
        samples_ns,
        bytes: 3e5,
        flops: 8e8,
        limiter: Limiter::Arithmetic,
        l2_resident: true,
        output_hash: Some("00".to_owned()),
        image: "ab".to_owned(),
        sm_mhz: Some(1590.0),
    };
    GpuResult {
        here: DeviceHere { uuid: "GPU-1".to_owned(), device },
        regime: Burst::Pulse,
        driver: Some("570.124.06".to_owned()),
        tuned: Tuned::default(),
        holding: None,
        kernels: vec![report],
        paths: Vec::new(),
        samples: Vec::new(),
        course: Course::default(),
    }
}

fn table(result: &GpuResult) -> String {
    let mut out = Vec::new();
    write_table(result, &mut out).expect("writes");
    String::from_utf8(out).expect("text")
}

#[test]
fn rates_are_work_over_the_median_time() {
    let text = table(&result(vec![1000.0, 2000.0, 4000.0]));
    let row = text.lines().find(|line| line.contains("1×64×32")).expect("a row");
    let words: Vec<_> = row.split_whitespace().skip(2).take(5).collect();
    assert_eq!(words, ["2.00", "1.00", "150.0*", "400.00", "1590"], "{text}");
}

#[test]
fn a_stand_in_has_no_speeds_and_no_journal() {
    let result = result(Vec::new());
    let text = table(&result);
    assert!(text.contains("simulated: no speeds"), "{text}");
    let row = text.lines().find(|line| line.contains("1×64×32")).expect("a row");
    assert!(!row.contains("MHz") && row.matches('–').count() == 5, "{row}");
    assert!(result.records().is_empty());
}

fn path(dtype: PathDtype, expected_tokens: Vec<u32>) -> PathReport {
    PathReport {
        dtype,
        profile: "clean".to_owned(),
        device: "gpu".to_owned(),
        tokens: expected_tokens.clone(),
        expected_tokens,
        text: String::new(),
        complete: true,
        non_finite: 0,
        first_bad: None,
        error: None,
        error_limit: 0.01,
        decode_tokens_per_s: None,
        decode_mad_tokens_per_s: None,
        prefill_gflop_per_s: None,
        gb_per_s: None,
        decode_bytes: None,
        read_gb_per_s: None,
        read_bandwidth_share: None,
        cache_resident: None,
    }
}

/// 1.25 GB a token and 1000 GB/s are 800 tokens a second; 400 are half of them.
#[test]
fn a_decode_rate_stands_against_what_the_memory_was_found_to_read() {
    let mut real = result(vec![1000.0]);
    let speed = |dtype, resident| PathReport {
        decode_tokens_per_s: Some(400.0),
        gb_per_s: Some(500.0),
        decode_bytes: Some(1.25e9),
        read_gb_per_s: Some(1000.0),
        read_bandwidth_share: Some(0.5),
        cache_resident: Some(resident),
        ..path(dtype, Vec::new())
    };
    let right = |dtype| path(dtype, vec![1]);
    real.paths.extend([PathDtype::Bf16, PathDtype::Int4, PathDtype::Fp32].map(right));
    real.paths.extend([speed(PathDtype::Bf16, false), speed(PathDtype::Int4, true)]);
    let text = table(&real);
    let line = "(bf16): 1.250 GB a token at 1000.0 GB/s read in the same run is 800 tok/s at most";
    assert!(text.contains(&format!("D16 0.50 {line}")), "{text}");
    assert!(text.contains("D4 0.50* (int4): "), "{text}");
    assert!(!text.contains("D32") && !text.contains("simulated, no ratio"), "{text}");
    let mut stand_in = result(Vec::new());
    stand_in.paths.push(right(PathDtype::Bf16));
    let text = table(&stand_in);
    assert!(text.contains("decode against its roofline: simulated, no ratio"), "{text}");
    assert!(!text.contains("D16"), "{text}");
}

#[test]
fn a_journal_names_the_device_and_keeps_every_sample() {
    let records = result(vec![1000.0, 2000.0]).records();
    let [Record::Run(run), Record::Point(taken), Record::End(end)] = &records[..] else {
        panic!("{records:?}")
    };
    assert_eq!((run.regime, run.cuda.as_deref()), (Regime::Pulse, Some("12.8")));
    assert_eq!(run.driver.as_deref(), Some("570.124.06"));
    assert_eq!(run.devices[0].uuid.as_deref(), Some("GPU-1"));
    assert_eq!(taken.point.t_ns, [1000.0, 2000.0]);
    assert_eq!(taken.point.key.shape.to_string(), "k=32 m=1 n=64");
    assert_eq!(end.samples, 2);
}

#[test]
fn variants_stand_in_a_column_of_their_own_and_are_series_of_their_own() {
    let mut result = result(vec![1000.0, 2000.0]);
    assert!(!table(&result).contains("variant"), "blank where nothing has several ways");
    result.kernels[0].variant = Some("128x256x32s3".to_owned());
    let mut plain = result.kernels[0].clone();
    plain.variant = None;
    result.kernels.push(plain);
    let text = table(&result);
    let words = |place: usize| -> Vec<&str> {
        let rows: Vec<_> = text.lines().filter(|line| line.contains("1×64×32")).collect();
        rows[place].split_whitespace().skip(2).take(2).collect()
    };
    assert_eq!(words(0), ["128x256x32s3", "1.50"], "{text}");
    assert_eq!(words(1), ["1.50", "0.50"], "{text}");
    let records = result.records();
    let config = |record: &Record| match record {
        Record::Point(taken) => Some(taken.point.config.clone()),
        _ => None,
    };
    let configs: Vec<_> = records.iter().filter_map(config).collect();
    assert_eq!(configs, [Some("variant=128x256x32s3".to_owned()), None]);
}

#[test]
fn a_variant_that_is_none_is_answered_with_those_there_are() {
    let here = result(vec![1.0]).here;
    let one = kernels().next().expect("there are kernels");
    let with = |variants| GpuKernel {
        id: "gemm.f16",
        title: one.title,
        family: one.family,
        dtype: one.dtype,
        route: one.route,
        cases: one.cases,
        works: one.works,
        work: one.work,
        variants,
    };
    let several = with(|_| {
        vec![
            Variant { name: "small", what: "64 columns" },
            Variant { name: "large", what: "256 columns" },
        ]
    });
    assert!(demand_variant(&here, &[&several], "large").is_ok());
    let plain = with(warpscope_kernels::gpu::only_one);
    for (kernel, want) in [
        (
            &several,
            "gemm.f16 has no variant huge on T4; it has small (64 columns), large (256 columns)",
        ),
        (&plain, "gemm.f16 is computed in one way only on T4"),
    ] {
        let error = demand_variant(&here, &[kernel], "huge").expect_err("is none");
        assert_eq!(error.to_string(), want);
    }
}
