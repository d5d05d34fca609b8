use super::*;

fn close(got: f64, want: f64) -> bool {
    (got - want).abs() < 1e-9 * want.abs().max(1.0)
}

fn estimate(before: &[f64], after: &[f64], design: Design) -> Estimate {
    Estimate::new(before, after, design, None).expect("medians on both sides")
}

/// scipy 1.17.1: ttest_ind(log b, log a, equal_var=False), its confidence_interval(0.95).
#[test]
fn few_processes_that_ran_apart_are_compared_as_welch_does() {
    let found =
        estimate(&[100.0, 101.0, 103.0, 99.0], &[110.0, 108.0, 113.0, 111.0, 109.0], Design::Apart);
    assert!(close(found.change, 0.089_640_613_735_696_2), "{found:?}");
    assert!(close(found.error.expect("known").freedom, 6.656_553_128_281_946), "{found:?}");
    assert!(close(found.p().expect("known"), 0.000_138_661_250_384_557_54), "{found:?}");
    let interval = found.interval(0.95).expect("known");
    assert!(close(interval.low, 0.062_188_410_343_401_54), "{interval:?}");
    assert!(close(interval.high, 0.117_092_817_127_990_87), "{interval:?}");
}

/// scipy 1.17.1: ttest_ind(log d, log c, equal_var=False, trim=0.2); one process on each side is far off.
#[test]
fn of_many_processes_the_outermost_count_as_yuen_says() {
    let before = [100.0, 102.0, 99.0, 101.0, 104.0, 140.0, 98.0, 100.0];
    let after = [103.0, 104.0, 102.0, 105.0, 104.0, 103.0, 60.0, 106.0];
    let found = estimate(&before, &after, Design::Apart);
    assert!(close(found.change, 0.024_538_081_134_355_85), "{found:?}");
    assert!(close(found.error.expect("known").freedom, 8.001_117_871_749_658), "{found:?}");
    assert!(close(found.p().expect("known"), 0.059_020_531_339_629_67), "{found:?}");
}

/// scipy 1.17.1: ttest_rel(log f, log e), its confidence_interval(0.95).
#[test]
fn processes_that_took_turns_are_compared_with_their_partners() {
    let before = [100.0, 101.0, 103.0, 99.0, 102.0];
    let found = estimate(&before, &[102.0, 104.0, 104.0, 101.0, 105.0], Design::Turns);
    assert!(close(found.change, 0.021_544_624_817_590_12), "{found:?}");
    assert!(close(found.p().expect("known"), 0.003_988_767_026_463_647), "{found:?}");
    let interval = found.interval(0.95).expect("known");
    assert!(close(interval.low, 0.011_501_306_765_126_928), "{interval:?}");
    assert!(close(interval.high, 0.031_587_942_870_053_31), "{interval:?}");
}

#[test]
fn one_process_on_each_side_tells_nothing_unless_the_noise_is_known() {
    let alone = estimate(&[100.0], &[200.0], Design::Apart);
    assert_eq!((alone.error, alone.p(), alone.interval(0.95)), (None, None, None));
    let known = Spread { deviation: 0.02, freedom: 9.0 };
    let found = Estimate::new(&[100.0], &[103.0], Design::Apart, Some(known)).expect("both");
    let interval = found.interval(0.95).expect("known");
    // 2.262157 is the 97.5% point of t with 9 degrees of freedom (NIST table: 2.262).
    let reach = 2.262_157 * 0.02 * 2.0_f64.sqrt();
    assert!((interval.high - (1.03_f64.ln() + reach)).abs() < 1e-6, "{interval:?}");
    // Against two, variances add: 1 + 1/2.
    let reach = 2.262_157 * 0.02 * 1.5_f64.sqrt();
    let change = (104.0_f64.ln() + 102.0_f64.ln()) / 2.0 - 100.0_f64.ln();
    for (before, after, change) in
        [(&[100.0][..], &[102.0, 104.0][..], change), (&[102.0, 104.0], &[100.0], -change)]
    {
        let found = Estimate::new(before, after, Design::Apart, Some(known)).expect("both");
        let interval = found.interval(0.95).expect("known");
        assert!((interval.high - (change + reach)).abs() < 1e-6, "{interval:?}");
    }
    assert_eq!(Estimate::new(&[], &[1.0], Design::Apart, None), None);
}

#[test]
fn the_noise_of_a_command_is_the_spread_of_its_processes() {
    assert_eq!(Spread::of(&[1.0, 2.0]), None);
    let spread = Spread::of(&[100.0, 102.0, 98.0, 100.0]).expect("enough");
    // numpy.std(numpy.log([100, 102, 98, 100]), ddof=1) = 0.0163325.
    assert!((spread.deviation - 0.016_332_5).abs() < 1e-6, "{spread:?}");
    assert!(close(spread.freedom, 3.0));
}
