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
    assert!(FORMATS.iter().all(|format| error.contains(format.about)), "{error}");
}

proptest::proptest! {
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
