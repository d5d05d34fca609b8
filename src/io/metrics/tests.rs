use warpscope_probes::driver::DriverState;
use warpscope_probes::gpu::{ClockReason, NvLink};
use warpscope_probes::process::Process;
use warpscope_probes::units::{Bytes, Celsius, Joules, MegaHertz, Percent};
use warpscope_probes::{Gpu, Reading};

use super::*;

fn frame() -> Frame {
    let mut gpu = Gpu { key: "GPU-1".into(), ..Gpu::default() };
    gpu.presence = warpscope_probes::gpu::Presence::Present;
    gpu.identity.name = "NVIDIA \"H100\"\\\n".to_owned().into();
    gpu.identity.uuid = "GPU-1".to_owned().into();
    gpu.vitals.util_gpu_pct = Percent(37.5).into();
    gpu.vitals.memory_used_bytes = Bytes(1 << 30).into();
    gpu.vitals.temperature_c = Reading::Late(Some(Celsius(50.0)));
    gpu.vitals.clock_sm_mhz = MegaHertz(1980).into();
    gpu.vitals.energy_j = Joules(12.5).into();
    gpu.throttle.active = vec![ClockReason::SwPowerCap].into();
    gpu.nvlinks =
        vec![NvLink { link: 3, active: true, version: None, remote: None, errors: Some(2) }];
    let mut process = Process { gpu: "GPU-1".into(), ..Process::default() };
    process.host.user = "ada".to_owned().into();
    process.usage.gpu_memory_bytes = Bytes(512).into();
    let mut frame =
        Frame { gpus: vec![gpu], processes: vec![process.clone(), process], ..Frame::default() };
    frame.driver.status = DriverState::Ready;
    frame.host.machine.hostname = "box".to_owned().into();
    frame
}

fn value(text: &str, name: &str, label: &str) -> Option<f64> {
    let of = |line: &&str| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{')) && line.contains(label)
    };
    text.lines().find(of)?.rsplit(' ').next()?.parse().ok()
}

#[test]
fn readings_stand_in_base_units_and_only_while_they_are_fresh() {
    let extras = Extras { verdicts: vec![vec![("works", 7)]], users: true };
    let text = exposition(&frame(), &extras, Form::Plain);
    for (name, label, want) in [
        ("warpscope_gpu_up", "gpu=\"0\"", Some(1.0)),
        ("warpscope_gpu_util_gpu_ratio", "host=\"box\"", Some(0.375)),
        ("warpscope_gpu_memory_used_bytes", "", Some(1_073_741_824.0)),
        ("warpscope_gpu_clock_sm_hertz", "", Some(1.98e9)),
        ("warpscope_gpu_energy_joules_total", "", Some(12.5)),
        ("warpscope_gpu_temperature_celsius", "", None),
        ("warpscope_gpu_power_watts", "", None),
        ("warpscope_gpu_clock_reason", "reason=\"power cap\"", Some(1.0)),
        ("warpscope_gpu_clock_reason", "reason=\"idle\"", Some(0.0)),
        ("warpscope_gpu_nvlink_errors_total", "link=\"3\"", Some(2.0)),
        ("warpscope_gpu_processes", "", Some(2.0)),
        ("warpscope_gpu_user_memory_bytes", "user=\"ada\"", Some(1024.0)),
        ("warpscope_gpu_configurations", "outcome=\"works\"", Some(7.0)),
    ] {
        assert_eq!(value(&text, name, label), want, "{name} in {text}");
    }
    let hidden = exposition(&frame(), &Extras::default(), Form::Plain);
    assert!(!hidden.contains("ada"), "users are told only where that is asked");
}

/// Rules of the text forms: prometheus.io/docs/instrumenting/exposition_formats, read 2026-11-23.
#[test]
fn every_line_is_one_of_the_format() {
    for form in [Form::Plain, Form::OpenMetrics] {
        let text = exposition(&frame(), &Extras::default(), form);
        assert!(text.ends_with('\n'));
        assert_eq!(text.ends_with("# EOF\n"), form == Form::OpenMetrics);
        assert!(text.contains(r#"name="NVIDIA \"H100\"\\\n""#), "{text}");
        let mut named = std::collections::BTreeSet::new();
        for line in text.lines().filter(|line| *line != "# EOF") {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let name = rest.split(' ').next().unwrap_or_default().to_owned();
                assert!(named.insert(name), "a family stands once: {line}");
            } else if !line.starts_with("# ") {
                let (series, number) = line.rsplit_once(' ').expect("a value");
                assert!(number.parse::<f64>().is_ok() && series.ends_with('}'), "{line}");
            }
        }
    }
    let text = exposition(&frame(), &Extras::default(), Form::OpenMetrics);
    assert!(text.contains("# TYPE warpscope_gpu_energy_joules counter\n"));
    assert!(text.contains("# UNIT warpscope_gpu_energy_joules joules\n"));
}

#[test]
fn the_form_is_what_is_asked_for() {
    let openmetrics = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
    assert_eq!(Form::accepted(openmetrics), Form::OpenMetrics);
    for header in ["", "*/*", "text/plain", "application/json"] {
        assert_eq!(Form::accepted(header), Form::Plain, "{header}");
    }
}
