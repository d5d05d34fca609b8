use super::*;

fn only(text: &str, format: &str) -> Points {
    let points = read(text).unwrap_or_else(|error| panic!("{format}: {error}"));
    assert_eq!(points.format, format);
    points
}

#[test]
fn words_and_json_say_the_same() {
    let words = parse_line(
        "name=gemm m=16 n=4096 dtype=bf16 t_us=41.5,42 flops=5.4e8 cfg=BM64 sm_mhz=1980,1975",
    )
    .expect("reads");
    let json = parse_line(
        r#"{"name":"gemm","shape":{"m":16,"n":"4096"},"dtype":"bf16","t_us":[41.5,42],"flops":5.4e8,"config":"BM64","sm_mhz":[1980,1975]}"#,
    );
    assert_eq!(json.as_ref(), Ok(&words));
    assert_eq!(words.t_ns, [41_500.0, 42_000.0]);
    assert_eq!(words.key.to_string(), "gemm m=16 n=4096 bf16");
}

#[test]
fn a_point_written_as_json_reads_back() {
    let point = parse_line("name=a m=1 t_ms=2 tainted=shared,throttled").expect("reads");
    let text = serde_json::to_string(&point).expect("serialises");
    assert_eq!(parse_line(&text), Ok(point));
}

#[test]
fn a_bad_line_says_what_is_wrong() {
    let message = |line: &str| parse_line(line).expect_err("no point").to_string();
    assert!(message("name=a m=1").contains("t_us="));
    assert!(message("t_us=1").contains("no name="));
    assert!(message("name=a t_us=fast").contains("\"fast\" is not a number"));
    assert!(message("name=a t_us=0").contains("above zero"));
    assert!(message("name=a t_s=1e308").contains("finite"));
    assert!(message("name=a name=b t_us=1").contains("twice"));
    assert!(message("name=a t_us=nan").contains("not a number"));
    assert!(message("hello world").contains("name=value"));
}

#[test]
fn lines_around_points_are_passed_over_and_a_damaged_one_is_told() {
    let points =
        only("building…\nname=a t_us=1\n# a remark\nname=a t_us=x\nname=a t_us=2\n", "lines");
    assert_eq!((points.points.len(), points.left_out), (2, 2));
    assert_eq!(points.damaged.as_deref(), Some("line 4: time \"x\" is not a number"));
}

#[test]
fn repetitions_of_google_benchmark_are_samples_and_aggregates_are_not() {
    let text = r#"{"context":{"date":"2026"},"benchmarks":[
        {"name":"BM_x/8","run_name":"BM_x/8","run_type":"iteration","real_time":2.0,"time_unit":"us"},
        {"name":"BM_x/8","run_name":"BM_x/8","run_type":"iteration","real_time":3.0,"time_unit":"us"},
        {"name":"BM_x/8_mean","run_name":"BM_x/8","run_type":"aggregate","real_time":2.5,"time_unit":"us"},
        {"name":"BM_y","run_type":"iteration","error_occurred":true,"error_message":"no"}]}"#;
    let points = only(text, "google-benchmark");
    assert_eq!((points.points.len(), points.left_out), (1, 2));
    assert_eq!(points.points[0].t_ns, [2000.0, 3000.0]);
}

#[test]
fn a_state_of_nvbench_is_a_point_with_its_axes_device_and_clock() {
    let text = r#"{"meta":{"argv":[]},"devices":[{"id":0,"name":"H200"}],"benchmarks":[{"name":"copy","states":[
        {"name":"s","device":0,"is_skipped":false,"axis_values":[{"name":"N","type":"int64","value":"1024"}],"summaries":[
            {"tag":"nv/cold/time/gpu/mean","data":[{"name":"value","type":"float64","value":"1.25e-05"}]},
            {"tag":"nv/cold/sm_clock_rate/mean","data":[{"name":"value","type":"float64","value":"1.98e9"}]}]},
        {"name":"t","device":0,"is_skipped":true,"axis_values":null,"summaries":null}]}]}"#;
    let points = only(text, "nvbench");
    assert_eq!((points.points.len(), points.left_out), (1, 1));
    assert_eq!(points.points[0].key.to_string(), "copy N=1024 H200");
    assert!((points.points[0].t_ns[0] - 12_500.0).abs() < 1e-9);
    assert!((points.points[0].sm_mhz[0] - 1980.0).abs() < 1e-9);
}

#[test]
fn both_files_of_kernel_tuner_are_read() {
    let cache = r#"{"device_name":"RTX 4090","kernel_name":"vadd","problem_size":1000,"tune_params_keys":["block"],"cache":{
        "64":{"block":64,"time":0.5,"times":[0.5,0.75]},"128":{"block":128,"time":"RuntimeFailedConfig"}}}"#;
    let points = only(cache, "kernel-tuner");
    assert_eq!((points.points.len(), points.left_out), (1, 1));
    assert_eq!(points.points[0].config.as_deref(), Some("block=64"));
    assert_eq!(points.points[0].t_ns, [500_000.0, 750_000.0]);
    let t4 = r#"{"schema_version":"1.0.0","results":[{"configuration":{"block":64},"times":{"runtimes":[2.0]},"invalidity":"correct"},
        {"configuration":{"block":32},"times":{"runtimes":[]},"invalidity":"compile"}]}"#;
    let points = only(t4, "kernel-tuner");
    assert_eq!((points.points.len(), points.left_out), (1, 1));
}

#[test]
fn llama_bench_keeps_its_raw_samples() {
    let text = r#"[{"model_type":"llama 8B Q4_0","gpu_info":"T4","n_prompt":512,"n_gen":0,"n_batch":2048,"avg_ts":1.0,"samples_ns":[10,12]}]"#;
    let points = only(text, "llama-bench");
    assert_eq!(points.points[0].key.to_string(), "llama 8B Q4_0 prompt=512 T4");
    assert_eq!(points.points[0].t_ns, [10.0, 12.0]);
}

#[test]
fn entries_without_a_name_and_times_beyond_all_numbers_are_left_out() {
    let text = r#"[{"n_prompt":512,"n_gen":0,"avg_ts":1.0,"samples_ns":[10]},{"model_type":"q","n_prompt":1,"n_gen":0,"samples_ns":[5]}]"#;
    let points = only(text, "llama-bench");
    assert_eq!((points.points.len(), points.left_out), (1, 1));
    let text = r#"{"meta":{},"devices":[],"benchmarks":[{"name":"copy","states":[{"summaries":[
        {"tag":"nv/cold/time/gpu/mean","data":[{"name":"value","value":"1e305"}]}]}]}]}"#;
    let points = only(text, "nvbench");
    assert_eq!((points.points.len(), points.left_out), (0, 1));
}

#[test]
fn rows_of_cutlass_profiler_are_points_unless_the_result_was_wrong() {
    let text = "Problem,Provider,OperationKind,Operation,Disposition,Status,gemm_kind,m,n,k,A,B,Bytes,Flops,Flops/Byte,Runtime,GB/s,GFLOPs\n\
        1,CUTLASS,gemm,cutlass_gemm_128x128,passed,success,universal,1024,512,256,f16:column,f16:row,100,200,2,0.25,1,2\n\
        1,CUTLASS,gemm,cutlass_gemm_64x64,incorrect,success,universal,1024,512,256,f16:column,f16:row,100,200,2,0.1,1,2\n";
    let points = only(text, "cutlass-profiler");
    assert_eq!((points.points.len(), points.left_out), (1, 1));
    let point = &points.points[0];
    assert_eq!(point.key.to_string(), "cutlass_gemm_128x128 k=256 m=1024 n=512 f16:column");
    assert_eq!((point.t_ns[0], point.flops), (250_000.0, Some(200.0)));
}

#[test]
fn an_unknown_text_is_told_what_is_read() {
    let error = read("hello\nworld\n").expect_err("no format").to_string();
    assert!(FORMATS.iter().all(|format| error.contains(format.1)), "{error}");
}

/// A seed of the fuzz targets, the format it is known as, how many points and left out entries it has, and points that must be among them:
/// name and shape, configuration, nanoseconds.
type Seed = (
    &'static str,
    &'static str,
    usize,
    usize,
    &'static [(&'static str, &'static str, &'static [f64])],
);

const LLAMA: &str = "backends=CUDA cpu_info=AMD EPYC flash_attn=true model_n_params=7615616512 model_size=4437780480 n_batch=2048 n_gpu_layers=99 \
    n_threads=8 n_ubatch=512 split_mode=layer type_k=f16 type_v=f16";
const LLAMA_TEXT: &str = "backends=CUDA cpu_info=AMD EPYC flash_attn=1 model_n_params=7615616512 model_size=4437780480 n_batch=2048 n_gpu_layers=99 \
    n_threads=8 n_ubatch=512 split_mode=layer type_k=f16 type_v=f16";
const LLAMA_KEY: &str = "qwen2 7B Q4_0 prompt=512 NVIDIA H200";
const SERVE: &str = "backend=vllm model_id=q/Q num_prompts=100 request_rate=inf";
const MLPERF: &str = "sut name=PySUT scenario=Server mode=PerformanceOnly";
const LLAMA_SQL: &str = "backends=CUDA cpu_info=Intel(R) Xeon(R) Platinum 8480C cpu_mask=0x0 cpu_strict=0 devices=auto embeddings=0 flash_attn=1 main_gpu=0 \
    model_n_params=7615616512 model_size=4437780480 n_batch=2048 n_cpu_moe=0 n_gpu_layers=99 n_threads=8 n_ubatch=512 no_host=0 no_kv_offload=0 \
    no_op_offload=0 poll=50 split_mode=layer tensor_buft_overrides=none tensor_split=0.00 type_k=f16 type_v=f16 use_mmap=1";

/// Where the layout of a seed was read, beyond what the tool itself wrote:
/// llama-bench `tools/llama-bench/llama-bench.cpp` of llama.cpp 050fc7f3 (printers, fields);
/// MLPerf `loadgen/results.cc` of mlcommons/inference b66003e1;
/// criterion `src/report.rs` and `src/format.rs` of criterion.rs 567405d2;
/// Triton `python/triton/testing.py`, whose `perf_report` heads a column `{line name} ({y label})`, and in older releases by the line's name alone;
/// vLLM `vllm/benchmarks/serve.py`, SGLang `python/sglang/bench_serving.py` (the names in the result's dictionary);
/// Go <https://go.dev/design/14313-benchmark-format>;
/// Nsight Compute's and Nsight Systems' user guides, sections on CSV output of `ncu` and on `nsys stats` reports, and headers as Nsight Systems
/// 2020 to 2026.1 and Nsight Compute 2022 to 2025 wrote them into public repositories.
const SEEDS: &[Seed] = &[
    (
        "hyperfine.json",
        "hyperfine",
        2,
        0,
        &[("sleep 0.001", "n=1", &[2408551.0, 5345466.0, 2453964.0, 8052686.0, 2400077.0])],
    ),
    ("hyperfine.csv", "hyperfine", 2, 0, &[("sleep 0.002", "n=2", &[5720063.0])]),
    ("pytest-benchmark.json", "pytest-benchmark", 2, 0, &[]),
    ("llama-bench-all.json", "llama-bench", 1, 0, &[(LLAMA_KEY, LLAMA, &[5.4e7, 5.6e7])]),
    ("llama-bench.jsonl", "llama-bench", 1, 0, &[(LLAMA_KEY, LLAMA, &[5.4e7, 5.6e7])]),
    ("llama-bench.csv", "llama-bench", 1, 0, &[(LLAMA_KEY, LLAMA_TEXT, &[5.5e7])]),
    ("llama-bench.sql", "llama-bench", 1, 0, &[(LLAMA_KEY, LLAMA_SQL, &[5.5e7])]),
    (
        "llama-bench.md",
        "llama-bench",
        3,
        0,
        &[
            (
                "qwen2 7B Q4_0 prompt=512",
                "size=4.13 GiB params=7.62 B backend=CUDA ngl=99 fa=1",
                &[1e8],
            ),
            (
                "qwen2 7B Q4_0 depth=4096 gen=128",
                "size=4.13 GiB params=7.62 B backend=CUDA ngl=99 fa=1",
                &[1e9],
            ),
            (
                "qwen2 7B Q4_0 gen=128 prompt=512",
                "size=4.13 GiB params=7.62 B backend=CUDA ngl=99 fa=1",
                &[1e9],
            ),
        ],
    ),
    (
        "google-cpu.json",
        "google-benchmark",
        2,
        0,
        &[("BM_x/8", "", &[2000.0]), ("BM_x/8", "clock=cpu", &[1500.0])],
    ),
    ("criterion-sample.json", "criterion", 1, 0, &[("criterion", "", &[10.0, 11.0])]),
    ("criterion.jsonl", "criterion", 1, 0, &[("alu/add", "", &[10_000.0, 11_000.0])]),
    (
        "criterion.txt",
        "criterion",
        3,
        0,
        &[
            ("fib 20", "", &[26_251.0]),
            ("a_group/a_rather_long_function_name", "", &[1_251_000.0]),
            ("add", "", &[0.313]),
        ],
    ),
    (
        "go.txt",
        "go",
        1,
        0,
        &[("example.org/sum.BenchmarkSum/n=8 procs=16 AMD EPYC 7763", "", &[1042.0, 1044.0])],
    ),
    (
        "ncu-details.csv",
        "ncu",
        1,
        0,
        &[(
            "gemm<float, 128>(int)",
            "grid=(64,64,1) block=(32,32,1)",
            &[10_196_000.0, 10_197_000.0],
        )],
    ),
    (
        "ncu-raw.csv",
        "ncu",
        1,
        0,
        &[("w13_kernel", "grid=(5,20,1) block=(256,1,1)", &[1_040_500.0])],
    ),
    (
        "nsys.csv",
        "nsys",
        2,
        0,
        &[
            ("void foo<(type)21, 72>(char const*, int)", "", &[59_000.0]),
            ("copy", "grid=4,1,1 block=256,1,1", &[500.0, 510.0]),
        ],
    ),
    (
        "nsys-grids.csv",
        "nsys",
        2,
        0,
        &[
            ("void gemm<float, 4>(int)", "grid=448,1,1 block=128,1,1", &[410.0]),
            ("void gemm<float, 4>(int)", "grid=896,1,1 block=128,1,1", &[610.0]),
        ],
    ),
    ("nsys-2020.csv", "nsys", 1, 0, &[("gemm", "", &[600.0])]),
    (
        "nsys-trace.csv",
        "nsys",
        2,
        0,
        &[
            ("[CUDA memcpy Host-to-Device]", "mb=4.194", &[661_398.0]),
            ("kernel(int, float)", "grid=4096,1,1 block=256,1,1", &[7072.0]),
        ],
    ),
    ("nsys-ranges.csv", "nsys", 1, 0, &[(":step", "", &[510.0])]),
    ("nsys-projected.csv", "nsys", 1, 0, &[(":step", "", &[500.0])]),
    ("ncu-2022.csv", "ncu", 1, 0, &[("saxpy", "", &[1_041_280_000.0, 41_280.0])]),
    (
        "serve.json",
        "serve",
        5,
        0,
        &[("time to first token", SERVE, &[1.85e7]), ("time per request", SERVE, &[1e8])],
    ),
    (
        "serve-sglang.jsonl",
        "serve",
        4,
        0,
        &[
            ("end-to-end latency", "backend=sglang random_input_len=1024", &[9e8, 9.1e8]),
            ("time per request", "backend=sglang random_input_len=1024", &[5e8, 2.5e8]),
        ],
    ),
    (
        "mlperf.txt",
        "mlperf",
        8,
        0,
        &[
            ("time per sample", MLPERF, &[5e5]),
            ("time per token", MLPERF, &[2.5e4]),
            ("50.00 percentile latency", MLPERF, &[4e6]),
            ("50.00 percentile first token latency", MLPERF, &[1.9e5]),
            ("50.00 percentile time to output token", MLPERF, &[1.9e4]),
        ],
    ),
    (
        "torch.txt",
        "torch",
        5,
        0,
        &[
            ("batched dot", "row=[1, 64] column=bmm threads=1", &[1_011_400.0]),
            ("batched dot", "row=[1, 1] column=mul/sum threads=4", &[5900.0]),
        ],
    ),
    (
        "triton.txt",
        "triton",
        6,
        0,
        &[
            ("vector-add-performance size=8192.0", "Compiled", &[5e5]),
            ("vector-add-performance size=8192.0", "Triton", &[6.25e7]),
            ("vector-add-performance size=4096.0", "Torch", &[5e5]),
        ],
    ),
    ("triton.csv", "triton", 2, 0, &[("triton N=256.0", "Triton", &[1.25e8])]),
];

#[test]
fn files_of_other_tools_are_known_and_read_whole() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/points");
    for (file, format, points, left_out, some) in SEEDS {
        let text = std::fs::read_to_string(folder.join(file)).expect(file);
        let read = only(&text, format);
        assert_eq!((read.points.len(), read.left_out), (*points, *left_out), "{file}: {read:?}");
        for (key, config, t_ns) in *some {
            let is_meant = |point: &&Point| {
                point.key.to_string() == *key
                    && point.config.as_deref().unwrap_or_default() == *config
            };
            let point = read.points.iter().find(is_meant);
            let point = point.unwrap_or_else(|| panic!("{file}: no {key} {config} in {read:#?}"));
            let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6 * b;
            let times = &point.t_ns;
            assert!(
                times.len() == t_ns.len() && times.iter().zip(*t_ns).all(close),
                "{file}: {times:?}"
            );
        }
    }
}

#[test]
fn an_invalid_run_of_mlperf_is_kept_and_not_judged() {
    let text =
        "MLPerf Results Summary\nScenario : Offline\nSamples per second: 4\nResult is : INVALID\n";
    assert_eq!(only(text, "mlperf").points[0].tainted, ["invalid"]);
}

#[test]
fn a_table_without_a_time_says_what_it_holds() {
    let text = "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\"0\",\"k\",\"dram__bytes.sum\",\"byte\",\"5\"\n";
    let error = read(text).expect_err("no time").to_string();
    assert!(
        error.contains("gpu__time_duration.sum") && error.contains("dram__bytes.sum"),
        "{error}"
    );
    let failed = r#"{"context":{},"benchmarks":[{"name":"BM_y","error_occurred":true}]}"#;
    let read = only(failed, "google-benchmark");
    assert!(read.without_a_point().contains("one entry without a time; first: BM_y"), "{read:?}");
}

#[test]
fn samples_beside_a_result_take_its_place_and_damaged_ones_do_not() {
    let text = r#"{"meta":{},"devices":[],"benchmarks":[{"name":"copy","states":[
        {"summaries":[{"tag":"nv/cold/time/gpu/mean","data":[{"name":"value","value":"1e305"}]}]},
        {"summaries":[{"tag":"nv/cold/time/gpu/mean","data":[{"name":"value","value":"3e-6"}]},
            {"tag":"nv/json/bin:nv/cold/sample_times","data":[{"name":"filename","type":"string","value":"r.json-bin/0.bin"},
                {"name":"size","type":"int64","value":"2"}]}]}]}]}"#;
    let mut points = only(text, "nvbench");
    let sidecar =
        Sidecar { point: 0, file: "r.json-bin/0.bin".to_owned(), kind: SidecarKind::Seconds };
    assert_eq!(points.sidecars, std::slice::from_ref(&sidecar));
    let samples =
        |times: &[f32]| times.iter().flat_map(|time| time.to_le_bytes()).collect::<Vec<u8>>();
    for damaged in [samples(&[f32::NAN, 1.0]), samples(&[-1.0]), vec![1, 2, 3], Vec::new()] {
        points.fill(&sidecar, &damaged);
        assert!((points.points[0].t_ns[0] - 3000.0).abs() < 1e-6);
    }
    points.fill(&sidecar, &samples(&[0.5, 0.25]));
    assert_eq!(points.points[0].t_ns, [5e8, 2.5e8]);
    let clocks = Sidecar { kind: SidecarKind::Hertz, ..sidecar };
    points.fill(&clocks, &samples(&[1e9]));
    assert!(points.points[0].sm_mhz.is_empty(), "as many clocks as samples, or none");
    points.fill(&clocks, &samples(&[1e9, 2e9]));
    assert_eq!(points.points[0].sm_mhz, [1000.0, 2000.0]);
}

#[test]
fn criterion_is_named_by_the_file_beside_its_samples() {
    let mut points = only(r#"{"sampling_mode":"Flat","iters":[1.0],"times":[5.0]}"#, "criterion");
    let sidecar = points.sidecars.remove(0);
    points.fill(&sidecar, br#"{"group_id":"g","full_id":"g/f"}"#);
    points.fill(&sidecar, b"{");
    assert_eq!(points.points[0].key.name, "g/f");
}

proptest::proptest! {
    #[test]
    fn no_file_of_another_tool_panics_when_it_is_damaged(at in 0..SEEDS.len(), cut in 0..2000_usize, put in "\\PC{0,20}") {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/points");
        let text = std::fs::read_to_string(folder.join(SEEDS[at].0)).expect("a seed");
        let cut = text.floor_char_boundary(cut.min(text.len()));
        let until = text.floor_char_boundary((cut + put.len()).min(text.len()));
        drop(read(&text[..cut]));
        drop(read(&format!("{}{put}{}", &text[..cut], &text[until..])));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,400}") {
        drop(read(&text));
        drop(parse_line(&text));
        let asked = PARSERS.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let pattern = r"(?<name>\w+)=(?<per_s>\S+)";
        let mut scan = Scan::new(&asked, Some(pattern)).expect("a pattern");
        let hints = ["", "name=a t_us=", "Throughput: ", "Triton autotuning for function ", "{\"name\":\"t_us\""];
        for hint in hints {
            drop(scan.take(&format!("{hint}{text}")));
        }
    }
}
