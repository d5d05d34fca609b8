use warpscope_kernels::Sm;
use warpscope_kernels::gpu::{DeviceFacts, Shape, TunedConfigs};

use super::*;
use crate::worker::tuning::Clocks;
use crate::worker::{AutotuneRun, Candidate, CaseReport, LeftOut, Turn, TurnClocks};

fn here(simulated: bool) -> DeviceHere {
    let device = DeviceFacts {
        name: "Tesla T4".to_owned(),
        sm: Sm::new(7, 5),
        sms: 40,
        shared_per_block: 48 << 10,
        shared_per_block_optin: 64 << 10,
        l2_bytes: 4 << 20,
        memory_bytes: 15 << 30,
        driver_cuda: 12_080,
        simulated,
        tuned: TunedConfigs::default(),
    };
    DeviceHere { uuid: "GPU-1".to_owned(), device }
}

fn result(simulated: bool) -> DeviceResult {
    DeviceResult {
        here: here(simulated),
        regime: TimingMode::Burst,
        situation: Situation {
            uuid: "GPU-1".to_owned(),
            driver: Some("580.65.06".to_owned()),
            kernels: "ab".to_owned(),
            clocks: Clocks::default(),
        },
        kernels: 1,
        cases: 0,
        choices: Vec::new(),
        kept_in: None,
        not_kept: None,
        outcome: Outcome::default(),
    }
}

fn rival(variant: &str, ratio: Option<f64>, why: Option<&str>) -> Candidate {
    let block = |ns: f64| (0..5).map(|at| ns + f64::from(at)).collect::<Vec<_>>();
    let turn =
        |ratio: f64| Turn { usual_ns: block(40_000.0), candidate_ns: block(40_000.0 * ratio) };
    Candidate {
        clocks: TurnClocks::default(),
        variant: variant.to_owned(),
        turns: ratio.map_or_else(Vec::new, |ratio| vec![turn(ratio); 12]),
        left_out: why.map(|why| LeftOut { why: why.to_owned(), wrong: true }),
    }
}

fn told(rivals: Vec<Candidate>) -> Update {
    let shape = Shape { m: 4096, n: 4096, k: 4096, ..Shape::default() };
    let (kernel, usual) = ("gemm.f16".to_owned(), "128x128x32s2".to_owned());
    Update::Event(Box::new(WorkerEvent::Autotune(Box::new(AutotuneRun {
        kernel,
        shape,
        usual,
        candidates: rivals,
    }))))
}

fn table(result: &DeviceResult) -> String {
    let mut out = Vec::new();
    result.write_table(&mut out).expect("writes");
    String::from_utf8(out).expect("text")
}

/// The lines below the heading, without spaces at their ends.
fn below(result: &DeviceResult) -> Vec<String> {
    table(result).lines().skip(2).map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn the_table_says_who_wins_and_why_the_others_do_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tuned.json");
    let mut result = result(false);
    result.handle(told(vec![
        rival("128x256x32s2", Some(0.9), None),
        rival("64x64x32s2", Some(1.25), None),
        rival("64x128x32s2", None, Some("17×33×72 64x128x32s2: element 3 is 1, not 2")),
    ]));
    result.keep(&path).expect("is kept");
    let lines = below(&result);
    assert_eq!(
        lines[..5],
        [
            "kernel    size                   variant              µs  ratio",
            "gemm.f16  4096×4096×4096         128x128x32s2      40.00  1.000  default",
            "                                 128x256x32s2      36.00  0.900  chosen; a change counts from 1.0%",
            "                                 64x64x32s2        50.00  1.250  slower",
            "                                 64x128x32s2           –      –  WRONG: 17×33×72 64x128x32s2: element 3 is 1, not 2",
        ]
    );
    let want = format!(
        "from now on, 1 size uses a variant other than the default; kept in {}",
        path.display()
    );
    assert_eq!(lines[6], want);
    assert!(!result.is_fine(), "a wrong variant is no success");
    let cache = tuning_cache::read(&path).expect("reads");
    let entry = &cache.entries[0];
    assert_eq!((&entry.situation, &*entry.device), (&result.situation, "Tesla T4"));
    let shape = Shape { m: 4096, n: 4096, k: 4096, ..Shape::default() };
    assert_eq!(entry.tuned().choose("gemm.f16", shape), Some("128x256x32s2"));
}

#[test]
fn what_cannot_count_is_not_kept_and_the_reason_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tuned.json");
    let good = || vec![rival("128x256x32s2", Some(0.9), None)];
    let unknown = || {
        let mut unknown = result(false);
        unknown.situation.driver = None;
        unknown
    };
    for (mut result, rivals, want) in [
        (
            result(true),
            vec![rival("128x256x32s2", None, None)],
            "0 cases of variants were run, kernels: 1; no variant was chosen: the device is simulated, so its times mean nothing",
        ),
        (
            result(true),
            good(),
            "0 cases of variants were run, kernels: 1; no variant was chosen: the device is simulated, so its times mean nothing",
        ),
        (
            unknown(),
            good(),
            "0 cases of variants were run, kernels: 1; no variant was chosen: NVML does not tell the version of the driver they hold for",
        ),
        (
            result(false),
            vec![rival("128x256x32s2", None, None)],
            "0 cases of variants were run, kernels: 1; no variant was chosen: nothing could be timed",
        ),
    ] {
        result.handle(told(rivals));
        result.keep(&path).expect("nothing to keep");
        assert!(below(&result).contains(&want.to_owned()), "{}", table(&result));
        assert!(!path.exists() && result.kept_in.is_none());
    }
}

#[test]
fn a_file_that_cannot_be_read_is_not_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tuned.json");
    std::fs::write(&path, "precious").expect("writes");
    let mut result = result(false);
    result.handle(told(vec![rival("128x256x32s2", Some(0.9), None)]));
    let error = result.keep(&path).expect_err("is refused").to_string();
    assert!(error.contains("tuned.json"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).expect("is there"), "precious");
}

/// A kernel that has no size at which it is timed still has cases.
#[test]
fn a_wrong_case_is_no_success_though_nothing_was_timed() {
    let mut result = result(true);
    let case = |wrong: Option<&str>| CaseReport {
        kernel: "gemm.f16".to_owned(),
        case: "17×33×72 64x64b64s2".to_owned(),
        error: None,
        wrong: wrong.map(str::to_owned),
        note: None,
    };
    result.handle(Update::Event(Box::new(WorkerEvent::Case(case(None)))));
    assert!(result.is_fine());
    result.handle(Update::Event(Box::new(WorkerEvent::Case(case(Some("element 3 is 1, not 2"))))));
    assert_eq!((result.cases, result.is_fine()), (2, false));
    let want = "gemm.f16, 17×33×72 64x64b64s2: element 3 is 1, not 2".to_owned();
    assert!(below(&result).contains(&want), "{}", table(&result));
}

#[test]
fn a_gpu_without_a_choice_says_so() {
    let result = DeviceResult { kernels: 0, ..result(false) };
    assert_eq!(below(&result), ["no kernel asked for has more than one variant on this GPU", ""]);
    assert!(result.is_fine());
}
