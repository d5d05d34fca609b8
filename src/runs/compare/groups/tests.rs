use super::*;
use crate::runs::samples::parse_line;

fn run(lines: &[&str]) -> Vec<Point> {
    lines.iter().map(|line| parse_line(line).expect("a point")).collect()
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
    let comparison = compare(&[before, after], |_| Limits::default());
    let row = &comparison.rows[0];
    assert_eq!((comparison.rows.len(), row.judgement.call), (1, Call::Slower));
    let time = row.judgement.time.expect("samples");
    assert!(time.interval.contains(0.1), "{time:?}");
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
        let comparison = compare(&sides, |_| Limits::default());
        let said: Vec<&str> = comparison.alone.iter().map(|one| &*one.why).collect();
        assert_eq!((comparison.rows.len(), said), (0, whys.to_vec()));
    }
    let same = vec![point(Some("variant=a"))];
    assert_eq!(compare(&[same.clone(), same], |_| Limits::default()).rows.len(), 1);
}

#[test]
fn tainted_samples_are_counted_and_not_judged() {
    let clean = format!("name=a t_us={}", twelve(10.0));
    let before = run(&[&clean]);
    let after = run(&[&clean, "name=a t_us=90,95,99 tainted=shared"]);
    let comparison = compare(&[before, after], |_| Limits::default());
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
    let refused = compare_groups(sides, |_| Limits::default());
    assert_eq!(refused.rows, []);
    let why = "the other side was measured in pulses, this one sustained";
    assert_eq!(refused.alone[0].why, why);
    for (noise, call) in [(0.001, Call::Slower), (0.1, Call::Same)] {
        let sides = vec![groups(SampleMode::Pulse, 10.0), groups(SampleMode::Pulse, 11.0)];
        let row = &compare_groups(sides, |_| Limits::for_noise(noise)).rows[0];
        assert_eq!((row.judgement.call, row.practical), (call, Limits::for_noise(noise).practical));
    }
}

#[test]
fn nothing_compares_with_nothing() {
    assert_eq!(compare(&[], |_| Limits::default()), Comparison::default());
    assert_eq!(compare(&[Vec::new(), Vec::new()], |_| Limits::default()), Comparison::default());
}
