use warpscope_probes::units::Watts;

use super::*;

#[test]
fn absent_is_a_dash_with_its_reason_and_never_a_zero() {
    let style = Style::default();
    let mut gpu = Gpu::default();
    for (reading, want) in [
        (Reading::Value(Watts(70.0)), "70 W"),
        (Reading::Unsupported, "– n/a"),
        (Reading::Denied, "– denied"),
        (Reading::Failed("x".into()), "– failed"),
        (Reading::Late(None), "– late"),
        (Reading::Late(Some(Watts(3.0))), "3 W late"),
    ] {
        gpu.vitals.power_w = reading;
        assert_eq!(power(&gpu, style), want);
    }
}

#[test]
fn an_empty_frame_prints_without_a_number_in_it() {
    let text = frame(&Frame::default(), Style { ascii: true, ..Style::default() });
    let body = text.split_once('\n').expect("two lines").1;
    assert!(!body.contains('0') && text.is_ascii(), "{text}");
}
