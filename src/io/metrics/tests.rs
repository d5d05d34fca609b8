use warpscope_probes::driver::DriverState;
use warpscope_probes::gpu::{ClockReason, MigInstance, NvLink, Presence};
use warpscope_probes::process::Process;
use warpscope_probes::units::{Bytes, Celsius, Joules, MegaHertz, Percent};
use warpscope_probes::{Gpu, Reading};

use super::*;

fn frame() -> Frame {
    let mut gpu = Gpu { key: "GPU-1".into(), ..Gpu::default() };
    gpu.presence = Presence::Present;
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
    let other = Process { pid: process.pid + 1, ..process.clone() };
    let mut frame = Frame { gpus: vec![gpu], processes: vec![process, other], ..Frame::default() };
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

/// What is told of a GPU besides readings is as old as they are.
#[test]
fn a_gpu_that_does_not_answer_is_not_up_and_nothing_old_is_told_of_it() {
    let mut late = frame();
    late.gpus[0].make_late();
    let mut lost = frame();
    lost.gpus[0].presence = Presence::Lost;
    let mut asleep = frame();
    asleep.gpus[0].presence = Presence::Suspended;
    for (state, frame) in [("late", late), ("lost", lost), ("asleep", asleep)] {
        let text = exposition(&frame, &Extras { users: true, ..Extras::default() }, Form::Plain);
        assert_eq!(value(&text, "warpscope_gpu_up", ""), Some(0.0), "{state}");
        for name in ["nvlink_up", "nvlink_errors_total", "processes", "user_memory_bytes"] {
            let name = format!("warpscope_gpu_{name}");
            assert_eq!(value(&text, &name, ""), None, "{state}: {name}");
        }
    }
}

#[test]
fn processes_that_could_not_be_listed_are_not_none() {
    let mut frame = frame();
    frame.gpus[0].processes_failed = Some("NVML error 999".into());
    let text = exposition(&frame, &Extras::default(), Form::Plain);
    assert_eq!(value(&text, "warpscope_gpu_processes", ""), None);
    assert_eq!(value(&text, "warpscope_gpu_up", ""), Some(1.0));
}

#[test]
fn a_process_on_two_mig_instances_counts_once_and_each_has_its_memory() {
    let mut frame = frame();
    let instance = |index| MigInstance {
        index,
        name: "MIG 3g.40gb".into(),
        uuid: None,
        gpu_instance: None,
        compute_instance: None,
        sm_count: None,
        memory_total_bytes: Some(Bytes(40 << 30)),
        memory_used_bytes: (index == 1).then_some(Bytes(7)),
    };
    frame.gpus[0].mig = vec![instance(0), instance(1)];
    (frame.processes[0].mig, frame.processes[1].mig) = (Some(0), Some(1));
    frame.processes[1].pid = frame.processes[0].pid;
    let text = exposition(&frame, &Extras { users: true, ..Extras::default() }, Form::Plain);
    for (name, label, want) in [
        ("processes", "", Some(1.0)),
        ("user_memory_bytes", "", Some(1024.0)),
        ("mig_memory_total_bytes", r#"mig="0",profile="3g.40gb""#, Some(42_949_672_960.0)),
        ("mig_memory_used_bytes", r#"mig="1",profile="3g.40gb""#, Some(7.0)),
        ("mig_memory_used_bytes", r#"mig="0""#, None),
    ] {
        assert_eq!(value(&text, &format!("warpscope_gpu_{name}"), label), want, "{name} {label}");
    }
}

#[test]
fn a_driver_that_does_not_answer_is_told_without_a_gpu() {
    for (status, want) in [
        (DriverState::LibraryMissing, Some("0")),
        (DriverState::NoDevice, Some("1")),
        (DriverState::Starting, None),
    ] {
        let mut frame = Frame::default();
        frame.host.machine.hostname = "box".to_owned().into();
        frame.driver.status = status;
        let text = exposition(&frame, &Extras::default(), Form::Plain);
        let told =
            text.lines().find_map(|line| line.strip_prefix("warpscope_driver_up{host=\"box\"} "));
        assert_eq!(told, want, "{text}");
    }
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
