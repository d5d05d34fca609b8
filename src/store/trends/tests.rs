use super::*;
use crate::runs::compare::SplitMix;
use crate::runs::run_log::Dirty;

fn past(at: usize, change: impl FnOnce(&mut Identity)) -> RecordedRun {
    let mut identity = Identity { at_ms: at as u64, ..Identity::default() };
    change(&mut identity);
    RecordedRun { hash: at as i64, identity, ..RecordedRun::default() }
}

fn summary(run: usize, median: Option<f64>) -> Summary {
    let quartiles =
        median.map(|median| Quartiles { lower: median * 0.99, median, upper: median * 1.01 });
    let key = Key { name: "gemm".into(), ..Key::default() };
    Summary { run: run as i64, key, clean: 30, quartiles, ..Summary::default() }
}

/// One per cent of noise around a level per run.
fn series(count: usize, level: impl Fn(usize) -> f64) -> Vec<Trend> {
    let mut random = SplitMix::new(3);
    let medians: Vec<f64> =
        (0..count).map(|at| level(at) * (1.0 + 0.01 * random.normal())).collect();
    let summaries = (0..count).map(|at| summary(at, Some(medians[at])));
    trends((0..count).map(|at| past(at, |_| ())).collect(), summaries.collect())
}

#[test]
fn a_step_is_found_where_it_is_with_its_size() {
    let all = series(40, |at| if at < 25 { 100.0 } else { 110.0 });
    let change_points = &all[0].change_points;
    assert_eq!((all.len(), change_points.len()), (1, 1));
    assert!(change_points[0].at.abs_diff(25) <= 2, "{change_points:?}");
    assert!((change_points[0].change - 0.1).abs() < 0.01, "{change_points:?}");
    assert!(series(40, |_| 100.0)[0].change_points.is_empty());
}

#[test]
fn small_steps_count_once_they_add_up() {
    let noise = |at: usize| 1.0 + 0.0002 * f64::from(u8::from(at.is_multiple_of(2)));
    let levels = |steps: usize| {
        move |at: usize| 100.0 * (1.0 + 0.006 * (at / 10).min(steps) as f64) * noise(at)
    };
    let of = |steps: usize| {
        let summaries = (0..40).map(|at| summary(at, Some(levels(steps)(at))));
        trends((0..40).map(|at| past(at, |_| ())).collect(), summaries.collect()).remove(0)
    };
    let (one, three) = (of(1), of(3));
    assert_eq!((one.change_points.len(), one.weak.len()), (0, 1), "{:?}", one.weak);
    assert!(one.weak[0].weak);
    assert!(!three.change_points.is_empty(), "{:?}", three.weak);
    assert!(
        three.change_points.iter().all(|shift| shift.change >= 0.01),
        "{:?}",
        three.change_points
    );
}

#[test]
fn seven_runs_are_too_few_and_eight_are_not() {
    let step = |at: usize| if at < 4 { 100.0 } else { 150.0 };
    assert_eq!(series(7, step)[0].change_points, []);
    assert_eq!(series(8, step)[0].change_points.len(), 1);
}

#[test]
fn runs_without_clean_samples_stay_in_view_and_out_of_the_search() {
    let runs = (0..12).map(|at| past(at, |_| ())).collect();
    let level = |at: usize| if at < 6 { 100.0 + at as f64 } else { 200.0 + at as f64 };
    let known = |at: usize| (at != 5 && at != 6).then(|| level(at));
    let all = trends(runs, (0..12).map(|at| summary(at, known(at))).collect());
    let shift = all[0].change_points[0];
    assert_eq!((all[0].run_medians.len(), shift.last, shift.at), (12, 4, 7));
}

#[test]
fn devices_regimes_and_cold_and_warm_are_never_one_trend() {
    let runs = vec![
        past(0, |_| ()),
        past(1, |one| one.regime = SampleMode::Sustained),
        past(2, |one| one.cold = Some(true)),
        past(3, |one| {
            one.devices =
                vec![crate::runs::run_log::Device { name: "T4".into(), ..Default::default() }];
        }),
    ];
    let all = trends(runs, (0..4).map(|at| summary(at, Some(1.0))).collect());
    let told: Vec<String> = all.iter().map(Trend::circumstances).collect();
    assert_eq!(
        told,
        [
            "T4, external",
            "device not named, external",
            "device not named, external, cold",
            "device not named, sustained"
        ]
    );
}

#[test]
fn what_changed_beside_is_told_from_the_likeliest_cause_on() {
    let first = past(0, |one| {
        one.commit = Some("0123456789abcdef".into());
        one.driver = Some("570".into());
        one.environment.insert("OMP_NUM_THREADS".into(), "4".into());
    });
    let mut second = first.identity.clone();
    assert_eq!(differences(&first.identity, &second), []);
    second.dirty = Dirty::Hash("77".into());
    second.driver = Some("580".into());
    second.environment.clear();
    let told: Vec<String> = differences(&first.identity, &second)
        .into_iter()
        .map(|one| {
            let side = |side: Option<String>| side.unwrap_or("-".into());
            format!("{} {} {}", one.what, side(one.before), side(one.after))
        })
        .collect();
    assert_eq!(told, ["commit 01234567 01234567+", "driver 570 580", "OMP_NUM_THREADS 4 -"]);
    let mut third = second.clone();
    third.dirty = Dirty::Hash("88".into());
    let other = &differences(&second, &third)[0];
    assert_eq!(other.before.as_deref(), Some("01234567+ 77"));
    for (dirty, shown) in
        [(Dirty::NotHashed, "01234567+ not hashed"), (Dirty::Unknown, "01234567? unknown")]
    {
        third.dirty = dirty;
        let other = &differences(&third, &third)[0];
        assert_eq!(other.after.as_deref(), Some(shown), "it may have held anything");
    }
}
