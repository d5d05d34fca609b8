use warpscope_kernels::Sm;
use warpscope_kernels::gpu::{DeviceFacts, Limiter, Route, Variant};

use super::*;
use crate::commands::bench::timing::table::write_table;
use crate::worker::SampleClocks;

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
        tuned: warpscope_kernels::gpu::TunedConfigs::default(),
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
        family: None,
        image: "ab".to_owned(),
        sm_mhz: Some(1590.0),
        clocks: SampleClocks::default(),
        convergence: None,
        strain: None,
    };
    GpuResult {
        here: DeviceHere { uuid: "GPU-1".to_owned(), device },
        regime: TimingMode::Burst,
        driver: Some("570.124.06".to_owned()),
        tuned: Tuned::default(),
        holding: None,
        kernels: vec![report],
        skipped: Vec::new(),
        paths: Vec::new(),
        absent_paths: Vec::new(),
        samples: Vec::new(),
        headroom: Vec::new(),
        outcome: Outcome::default(),
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
    assert!(text.contains("simulated: no timings"), "{text}");
    let row = text.lines().find(|line| line.contains("1×64×32")).expect("a row");
    assert!(!row.contains("MHz") && row.matches('–').count() == 5, "{row}");
    assert!(result.records().is_empty());
}

fn path(dtype: PathDtype, expected_tokens: Vec<u32>) -> PathReport {
    PathReport {
        dtype,
        path: None,
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

/// Of two paths of one format each has its own speed, and the one that is not usual is a series of its own.
#[test]
fn paths_of_one_format_are_told_apart() {
    let mut real = result(vec![1000.0]);
    let named = |id: &str, of: PathReport| PathReport { path: Some(id.to_owned()), ..of };
    let speed = |rate| PathReport {
        decode_tokens_per_s: Some(rate),
        decode_bytes: Some(1e9),
        read_gb_per_s: Some(1000.0),
        read_bandwidth_share: Some(rate / 1000.0),
        cache_resident: Some(false),
        ..path(PathDtype::Int4, Vec::new())
    };
    for (id, rate) in [("w4", 400.0), ("nf4", 300.0)] {
        real.paths.push(named(id, path(PathDtype::Int4, vec![1])));
        real.paths.push(named(id, speed(rate)));
        real.samples.push(PathSamples {
            decode_clocks: SampleClocks::of(vec![Some(1410.0)], &mut Some(1980.0)),
            prefill_clocks: SampleClocks::default(),
            dtype: PathDtype::Int4,
            path: Some(id.to_owned()),
            profile: "clean".to_owned(),
            decode_ns: vec![1e9 / rate],
            prefill_ns: Vec::new(),
            decode_preempted: Vec::new(),
            prefill_preempted: Vec::new(),
            prefill_flop: 0.0,
            decode_bytes: 1e9,
        });
    }
    real.absent_paths.push(("w4a8".to_owned(), "sm_60 has no dp4a".to_owned()));
    let text = table(&real);
    let row = |name: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.starts_with(name)).expect(name);
        line.split_whitespace().take(3).map(str::to_owned).collect()
    };
    assert_eq!(row("int4 "), ["int4", "clean", "400.0"]);
    assert_eq!(row("nf4 "), ["nf4", "clean", "300.0"]);
    assert!(text.contains("D4 0.30 (nf4): "), "{text}");
    let low = "nf4 decode: 1 of 1 samples below 95% of the best clock, 1980 MHz";
    assert!(text.contains(low), "{text}");
    assert!(text.contains("micro decoder w4a8: not run: sm_60 has no dp4a"), "{text}");
    let series = real.records().into_iter().filter_map(|record| match record {
        Record::Point(taken) if taken.point.key.name == "m1.decode" => {
            Some((taken.point.key.dtype, taken.point.config, taken.point.sm_mhz))
        }
        _ => None,
    });
    let int4 = || Some("int4".to_owned());
    let want = [None, Some("path=nf4".to_owned())].map(|path| (int4(), path, vec![1410.0]));
    assert_eq!(series.collect::<Vec<_>>(), want);
}

#[test]
fn sizes_that_were_not_run_stand_below_the_reason() {
    let mut stand_in = result(Vec::new());
    let shape = |n| Shape { m: 1, n, k: 32, ..Shape::default() };
    let skipped = |kernel: &str, n| SkippedWork {
        kernel: kernel.to_owned(),
        shape: shape(n),
        why: "it would take minutes".to_owned(),
    };
    stand_in.skipped = vec![skipped("a", 2), skipped("a", 3), skipped("b", 2)];
    let text = table(&stand_in);
    let below: Vec<_> = text.lines().skip_while(|line| !line.starts_with("not run")).collect();
    assert_eq!(
        below[..3],
        ["not run, since it would take minutes:", "  a  1×2×32, 1×3×32", "  b  1×2×32"],
        "{text}"
    );
}

#[test]
fn headroom_is_said_as_on_the_screen() {
    let mut real = result(vec![1000.0]);
    let report = |path: &str, first_bad_log2, survives| RangeReport {
        path: path.to_owned(),
        kernel: "gemv.f16".to_owned(),
        first_bad_log2,
        tried_log2: 24,
        survives_cancelling: Some(survives),
    };
    real.headroom =
        vec![report("gemv.f16 fp32 out", None, true), report("awq.f16", Some(16), false)];
    let text = table(&real);
    assert!(text.contains("gemv.f16 fp32 out  finite up to 2^24\n"), "{text}");
    assert!(
        text.contains("awq.f16            not finite from 2^16 on; partial sums overflow\n"),
        "{text}"
    );
}

#[test]
fn a_journal_names_the_device_and_keeps_every_sample() {
    let records = result(vec![1000.0, 2000.0]).records();
    let [Record::Run(run), Record::Point(taken), Record::End(end)] = &records[..] else {
        panic!("{records:?}")
    };
    assert_eq!((run.regime, run.cuda.as_deref()), (SampleMode::Pulse, Some("12.8")));
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
    let plain = with(|_| Vec::new());
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
