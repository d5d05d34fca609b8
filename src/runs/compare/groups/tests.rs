use super::*;
use crate::runs::samples::parse_line;

fn run(lines: &[&str]) -> Vec<Point> {
    lines.iter().map(|line| parse_line(line).expect("a point")).collect()
}

/// Compares every run with the first, all of them measured under one regime, each by one process.
fn compare(runs: &[Vec<Point>], terms: &Terms<'_>) -> Comparison {
    let gather = |points: &Vec<Point>| {
        let mut groups = Groups::default();
        points.iter().for_each(|point| groups.add(point.clone(), SampleMode::default()));
        groups
    };
    compare_groups(runs.iter().map(gather).collect(), terms)
}

/// What one process on each side is judged by.
fn known() -> Terms<'static> {
    Terms { known: &|_| Some(Spread { deviation: 0.001, freedom: 99.0 }), ..Terms::default() }
}

fn twelve(center: f64) -> String {
    (0..12).map(|at| (center + f64::from(at) * 0.01).to_string()).collect::<Vec<_>>().join(",")
}

#[test]
fn groups_meet_their_like_and_the_rest_is_told() {
    let before = run(&[
        &format!("name=gemm m=1 device=T4 t_us={}", twelve(100.0)),
        "name=old t_us=1",
        "name=moved device=T4 t_us=5",
    ]);
    let after = run(&[
        &format!("name=gemm m=1 device=T4 t_us={}", twelve(110.0)),
        "name=moved device=H200 t_us=2",
    ]);
    let comparison = compare(&[before, after], &known());
    let row = &comparison.rows[0];
    assert_eq!((comparison.rows.len(), row.judgement.call), (1, Call::Slower));
    let time = row.judgement.time.expect("samples");
    assert!(time.interval.is_some_and(|interval| interval.contains(0.1)), "{time:?}");
    let whys: Vec<&str> = comparison.alone.iter().map(|one| one.why.as_str()).collect();
    assert_eq!(
        whys,
        [
            "the other side was measured on T4",
            "the other side was measured on H200",
            "the other side does not have it"
        ]
    );
}

#[test]
fn variants_are_series_of_their_own_and_the_change_is_named() {
    let point = |config: Option<&str>| Point {
        config: config.map(str::to_owned),
        ..parse_line(&format!("name=gemm m=1 t_us={}", twelve(100.0))).expect("a point")
    };
    for (before, after, whys) in [
        (
            Some("variant=a"),
            Some("variant=b"),
            ["the other side has it as variant=a only", "the other side has it as variant=b only"],
        ),
        (
            None,
            Some("variant=b"),
            [
                "the other side does not say in which configuration",
                "the other side has it as variant=b only",
            ],
        ),
    ] {
        let sides = [vec![point(before)], vec![point(after)]];
        let comparison = compare(&sides, &known());
        let said: Vec<&str> = comparison.alone.iter().map(|one| &*one.why).collect();
        assert_eq!((comparison.rows.len(), said), (0, whys.to_vec()));
    }
    let same = vec![point(Some("variant=a"))];
    assert_eq!(compare(&[same.clone(), same], &known()).rows.len(), 1);
}

#[test]
fn tainted_samples_are_counted_and_not_judged() {
    let clean = format!("name=a t_us={}", twelve(10.0));
    let before = run(&[&clean]);
    let after = run(&[&clean, "name=a t_us=90,95,99 tainted=shared"]);
    let comparison = compare(&[before, after], &known());
    let row = &comparison.rows[0];
    assert_eq!((row.judgement.call, row.sides.1.samples, row.sides.1.tainted), (Call::Same, 12, 3));
}

#[test]
fn regimes_are_never_mixed_and_limits_are_those_of_the_kernel() {
    let groups = |regime: SampleMode, center: f64| {
        let mut groups = Groups::default();
        for point in run(&[&format!("name=a t_us={}", twelve(center))]) {
            groups.add(point, regime);
        }
        groups
    };
    let sides = vec![groups(SampleMode::Pulse, 10.0), groups(SampleMode::Sustained, 11.0)];
    let refused = compare_groups(sides, &known());
    assert_eq!(refused.rows, []);
    let why = "the other side was measured in pulses, this one sustained";
    assert_eq!(refused.alone[0].why, why);
}

#[test]
fn each_process_counts_once_and_one_alone_only_where_the_noise_is_known() {
    let groups = |centers: &[f64]| {
        let mut groups = Groups::default();
        for center in centers {
            groups.next_process();
            for point in run(&[&format!("name=a t_us={}", twelve(*center))]) {
                groups.add(point, SampleMode::default());
            }
        }
        groups
    };
    let call = |before: &[f64], after: &[f64], terms: &Terms<'_>| {
        let rows = compare_groups(vec![groups(before), groups(after)], terms).rows;
        (rows[0].judgement.call, rows[0].sides.1.processes)
    };
    let terms = Terms::default();
    assert_eq!(call(&[10.0], &[11.0], &terms), (Call::Ambiguous, 1));
    assert_eq!(call(&[10.0], &[11.0], &known()), (Call::Slower, 1));
    let wide = Terms { known: &|_| Some(Spread { deviation: 0.1, freedom: 9.0 }), ..terms };
    assert_eq!(call(&[10.0], &[11.0], &wide), (Call::Ambiguous, 1));
    let (before, after) = ([10.0, 10.1, 9.9, 10.0], [11.0, 11.1, 10.9, 11.0]);
    assert_eq!(call(&before, &after, &Terms::default()), (Call::Slower, 4));
    assert_eq!(call(&before, &before, &Terms::default()), (Call::Ambiguous, 4));
}

#[test]
fn nothing_compares_with_nothing() {
    assert_eq!(compare(&[], &known()), Comparison::default());
    assert_eq!(compare(&[Vec::new(), Vec::new()], &known()), Comparison::default());
}
