use serde_json::Value;

use super::*;
use crate::runs::run_log::Reader;
use crate::runs::samples as points;

/// Two kernels, one of them with clocks, a tainted point, a window and a remark.
const JOURNAL: &str = r#"{"type":"run","schema":1,"command":["tune","a\"b"],"name":null}
{"type":"point","at_ms":1000,"name":"gemm","shape":{"m":"16","k":"4096"},"dtype":"bf16","device":"T4","config":"BM=64 warps=4","t_ns":[41300,42000,41000],"sm_mhz":[1500,1500,1530],"flops":540000000}
{"type":"point","at_ms":2000,"name":"gemm","shape":{"m":"16","k":"4096"},"dtype":"bf16","device":"T4","config":"BM=64 warps=4","t_ns":[99000]}
{"type":"around","at_ms":2001,"points":1,"window":{"frames":2,"sm_mhz":{"min":900,"median":1000,"max":1500},"power_w":{"min":60,"median":65.5,"max":70}},"tainted":["clock moved"]}
{"type":"mark","at_ms":2500,"text":"new | tile"}
{"type":"point","name":"=cmd","t_ns":[5]}
{"type":"torn
"#;

fn recordings() -> Vec<Recorded> {
    let mut all = Recordings::default();
    let mut reader = Reader::new(JOURNAL.as_bytes());
    while let Some(record) = reader.record().expect("memory does not fail") {
        all.take(record);
    }
    assert_eq!((all.runs.len(), reader.skipped().count), (1, 1));
    all.runs
}

fn export(id: &str) -> String {
    let export = EXPORTS.iter().find(|export| export.id == id).expect("is a format");
    let mut out = Vec::new();
    (export.write)(&recordings(), &mut out).expect("writes");
    String::from_utf8(out).expect("is text")
}

#[test]
fn ids_are_those_that_can_be_typed_and_every_format_writes_an_empty_journal() {
    assert!(EXPORTS.iter().map(|export| export.id).eq(EXPORT_IDS.iter().copied()));
    for export in EXPORTS {
        for runs in [&[][..], &[Recorded::default()]] {
            (export.write)(runs, &mut Vec::new()).expect(export.id);
        }
    }
}

#[test]
fn csv_has_a_row_per_sample_and_keeps_the_tainted_ones() {
    let text = export("csv");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 5);
    let row = |line: &str| -> BTreeMap<String, String> {
        let cells = line.split(',').map(str::to_owned);
        lines[0].split(',').map(str::to_owned).zip(cells).collect()
    };
    let (first, tainted, last) = (row(lines[1]), row(lines[4]), row(lines[5]));
    assert!(lines.iter().all(|line| line.split(',').count() == first.len()));
    assert_eq!((first["t_ns"].as_str(), first["sm_mhz"].as_str()), ("41300", "1500"));
    assert_eq!((first["shape"].as_str(), first["flops"].as_str()), ("k=4096 m=16", "540000000"));
    assert_eq!(
        (tainted["tainted"].as_str(), tainted["window_power_w"].as_str()),
        ("clock moved", "65.5")
    );
    assert_eq!((last["name"].as_str(), last["at_ms"].as_str()), ("'=cmd", ""));
}

#[test]
fn t4_has_what_its_schema_requires_and_reads_back() {
    let text = export("t4");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["schema_version"], "1.0.0");
    for result in document["results"].as_array().expect("a list") {
        // "required" of results-schema.json 1.0.0, and the types it gives.
        assert!(result["configuration"].is_object() && result["times"].is_object());
        assert!(result["correctness"].is_number() && result["objectives"].is_array());
        let words = ["timeout", "compile", "runtime", "correctness", "constraints", "correct"];
        assert!(words.contains(&result["invalidity"].as_str().expect("a word")));
        for one in result["measurements"].as_array().expect("a list") {
            assert!(one["name"].is_string() && one["unit"].is_string() && !one["value"].is_null());
        }
    }
    assert_eq!(document["results"][0]["configuration"]["m"], 16);
    assert_eq!(document["results"][0]["timestamp"], "1970-01-01T00:00:02.000Z");
    let read = points::read(&text).expect("reads back");
    assert_eq!((read.format, read.points.len()), ("kernel-tuner", 2));
    assert_eq!(read.points[0].key.to_string(), "gemm bf16 T4");
    assert_eq!(read.points[0].config.as_deref(), Some("BM=64 k=4096 m=16 warps=4"));
    let back: Vec<f64> = read.points[0].t_ns.iter().map(|ns| ns.round()).collect();
    assert_eq!(back, [41_300.0, 42_000.0, 41_000.0], "the tainted sample is left out");
}

#[test]
fn nvbench_reads_back_with_axes_device_mean_and_clock() {
    let text = export("nvbench");
    let read = points::read(&text).expect("reads back");
    assert_eq!((read.format, read.points.len(), read.left_out), ("nvbench", 2, 0));
    let gemm = &read.points[0];
    assert_eq!(gemm.key.to_string(), "gemm BM=64 dtype=bf16 k=4096 m=16 warps=4 T4");
    assert!((gemm.t_ns[0] - 124_300.0 / 3.0).abs() < 1e-6, "{:?}", gemm.t_ns);
    assert!((gemm.sm_mhz[0] - 1510.0).abs() < 1e-9);
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let summaries = document["benchmarks"][0]["states"][0]["summaries"].as_array().expect("a list");
    let value = |tag: &str| -> f64 {
        let summary = summaries.iter().find(|one| one["tag"] == tag).expect("is there");
        summary["data"][0]["value"].as_str().expect("text").parse().expect("a number")
    };
    // numpy: std([41300, 42000, 41000], ddof=1) / mean = 0.0123854; percentile(…, [25, 50, 75]) = 41150, 41300, 41650
    let noise = value("nv/cold/time/gpu/stdev/relative");
    for (quartile, ns) in [("q1", 41_150.0), ("median", 41_300.0), ("q3", 41_650.0)] {
        assert!((value(&format!("nv/cold/time/gpu/{quartile}")) - ns / 1e9).abs() < 1e-12);
    }
    assert!((noise - 0.012_385_4).abs() < 1e-6, "{noise}");
}

/// Fields as the Trace Event Format names them: ph, ts and dur in microseconds, pid, tid, args.
#[test]
fn a_trace_has_slices_counters_and_remarks() {
    let document: Value = serde_json::from_str(&export("perfetto")).expect("JSON");
    let events = document["traceEvents"].as_array().expect("a list");
    let of = |kind: &str| events.iter().filter(|event| event["ph"] == kind).collect::<Vec<_>>();
    let slices = of("X");
    assert_eq!(slices.len(), 2, "a point without a time has no place");
    assert_eq!(slices[0]["ts"].as_f64(), Some(1_000_000.0 - 124.3));
    assert_eq!(slices[0]["dur"].as_f64(), Some(124.3));
    assert_eq!((&slices[0]["cat"], &slices[1]["cat"]), (&"clean".into(), &"tainted".into()));
    let counters: Vec<_> = of("C").iter().map(|event| event["args"].to_string()).collect();
    assert_eq!(counters, [r#"{"MHz":1000.0}"#, r#"{"W":65.5}"#]);
    assert_eq!(of("i")[0]["name"], "new | tile");
    let names: Vec<_> = of("M").iter().map(|event| event["args"]["name"].clone()).collect();
    assert_eq!(names, ["tune a\"b", "gemm k=4096 m=16 bf16 T4: BM=64 warps=4", "=cmd"]);
}

/// The text exposition format: comments, then `name{label="value",…} number`.
#[test]
fn prometheus_lines_have_labels_and_a_number() {
    let text = export("prometheus");
    let mut samples = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').expect("two parts");
        let (name, labels) = series.split_once('{').expect("labels");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        assert!(labels.ends_with("\"}") && value.parse::<f64>().is_ok(), "{line}");
        samples += 1;
    }
    assert_eq!(samples, 2 * 5 + 2);
    let labels =
        r#"name="gemm",shape="k=4096 m=16",dtype="bf16",device="T4",config="BM=64 warps=4""#;
    assert!(
        text.contains(&format!(
            "warpscope_kernel_seconds{{{labels},quantile=\"0.5\"}} 0.0000413\n"
        )),
        "{text}"
    );
    assert!(text.contains(&format!("warpscope_kernel_seconds_count{{{labels}}} 3\n")));
    assert!(text.contains(&format!("warpscope_tainted_samples{{{labels}}} 1\n")));
}
