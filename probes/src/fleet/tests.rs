use super::answer::parse;
use super::*;
use crate::gpu::{ClockReason, Presence};
use crate::units::{Bytes, MegaHertz, Percent};

/// A vector of one moment, of labels and values.
fn vector(rows: &[(String, f64)]) -> String {
    let rows: Vec<String> = rows
        .iter()
        .map(|(labels, value)| format!("{{\"metric\":{{{labels}}},\"value\":[1000,\"{value}\"]}}"))
        .collect();
    format!("{{\"status\":\"success\",\"data\":{{\"result\":[{}]}}}}", rows.join(","))
}

fn exporter(name: &str) -> &'static Exporter {
    exporters().iter().find(|exporter| exporter.name == name).expect("is in the table")
}

fn metric(exporter: &'static Exporter, name: &str) -> &'static Metric {
    exporter.metric.iter().find(|metric| metric.name == name).expect("is in the table")
}

/// Labels as dcgm-exporter writes them.
fn dcgm(host: &str, gpu: u32) -> String {
    format!(
        "\"Hostname\":\"{host}\",\"gpu\":\"{gpu}\",\"UUID\":\"GPU-{host}-{gpu}\",\"modelName\":\"NVIDIA A100-SXM4-80GB\",\
         \"DCGM_FI_DRIVER_VERSION\":\"550.54.15\",\"instance\":\"10.0.0.1:9400\",\"namespace\":\"ml\",\"pod\":\"train-{gpu}\""
    )
}

/// Seconds since the epoch at which everything here happens.
const NOW: f64 = 1000.0;

fn fleet(hosts: &[(&str, f64)], before: Option<&Fleet>) -> Fleet {
    let dcgm_exporter = exporter("dcgm-exporter");
    let mut builder = Builder::default();
    let each = |value: fn(f64, u32) -> f64| {
        let gpus = hosts.iter().flat_map(|(host, seen)| [0, 1].map(|gpu| (*host, *seen, gpu)));
        let rows: Vec<_> =
            gpus.map(|(host, seen, gpu)| (dcgm(host, gpu), value(seen, gpu))).collect();
        vector(&rows)
    };
    let members = each(|seen, _| seen);
    let host = builder.members(dcgm_exporter, &parse(members.as_bytes()).expect("a vector"));
    assert_eq!(host, Some("Hostname"));
    for (name, value) in [
        ("DCGM_FI_DEV_GPU_UTIL", (|_, gpu| f64::from(gpu) * 50.0) as fn(f64, u32) -> f64),
        ("DCGM_FI_DEV_FB_USED", |_, _| 1024.0),
        ("DCGM_FI_DEV_FB_FREE", |_, _| 3072.0),
        ("DCGM_FI_DEV_SM_CLOCK", |_, _| 1410.0),
        ("DCGM_FI_DEV_ROW_REMAP_FAILURE", |_, gpu| f64::from(gpu)),
        ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", |_, _| 4.0),
    ] {
        let body = each(value);
        let series = parse(body.as_bytes()).expect("a vector");
        builder.values(dcgm_exporter, metric(dcgm_exporter, name), &series);
    }
    builder.finish(Timestamp((NOW * 1000.0) as u64), Cost::default(), before)
}

#[test]
fn machines_stand_by_name_and_values_with_their_gpus() {
    let fleet = fleet(&[("gpu10", NOW), ("gpu2", NOW)], None);
    let names: Vec<_> = fleet.machines.iter().map(|machine| machine.name.as_str()).collect();
    assert_eq!(names, ["gpu2", "gpu10"]);
    assert_eq!(fleet.machines[1].gpus, 2..4);
    assert_eq!(fleet.value("util_gpu_pct", 3), Some(50.0));
    assert_eq!(fleet.memory_total(0), Some(4096.0 * 1_048_576.0));
    assert_eq!(fleet.model(0), Some("NVIDIA A100-SXM4-80GB"));
    assert_eq!(fleet.owner(3), Some("ml/train-1"));
}

#[test]
fn a_machine_is_a_frame_with_what_was_told_and_no_more() {
    let fleet = fleet(&[("gpu1", NOW)], None);
    let frame = fleet.frame(0).expect("a frame");
    let gpu = &frame.gpus[1];
    assert_eq!((gpu.index, gpu.key.as_str()), (1, "GPU-gpu1-1"));
    assert_eq!(gpu.vitals.util_gpu_pct.value(), Some(&Percent(50.0)));
    assert_eq!(gpu.vitals.memory_used_bytes.value(), Some(&Bytes(1 << 30)));
    assert_eq!(gpu.vitals.clock_sm_mhz.value(), Some(&MegaHertz(1410)));
    assert_eq!(gpu.vitals.rows_failed.value(), Some(&true));
    assert_eq!(gpu.throttle.active.value(), Some(&vec![ClockReason::SwPowerCap]));
    assert_eq!(gpu.vitals.power_w.value(), None);
    assert_eq!(gpu.identity.sm.value().map(|sm| sm.cc()).as_deref(), Some("8.0"));
    assert_eq!(frame.driver.versions.driver.value().map(String::as_str), Some("550.54.15"));
}

#[test]
fn old_values_are_late_and_a_machine_that_is_gone_is_lost() {
    let before = fleet(&[("a", NOW), ("b", NOW - 300.0), ("c", NOW)], None);
    assert_eq!(before.machines[1].state, State::Late);
    let late = before.frame(1).expect("a frame");
    assert!(late.gpus[0].vitals.util_gpu_pct.is_late() && !late.notices.is_empty());
    let after = fleet(&[("a", NOW), ("c", NOW)], Some(&before));
    assert_eq!(after.machines[1].state, State::Lost);
    let lost = after.frame(1).expect("a frame");
    assert_eq!(lost.gpus[1].presence, Presence::Lost);
    assert_eq!(lost.gpus[1].vitals.util_gpu_pct.last(), Some(&Percent(50.0)));
    assert_eq!(after.owner(3), Some("ml/train-1"));
}

/// Where values are collected once a minute or more rarely, an age of two minutes is usual.
#[test]
fn what_is_usual_is_not_late() {
    let ages: Vec<(String, f64)> = (0..9).map(|n| (format!("h{n}"), NOW - 70.0)).collect();
    let hosts: Vec<(&str, f64)> = ages.iter().map(|(name, seen)| (name.as_str(), *seen)).collect();
    let fleet = fleet(&hosts, None);
    assert!(fleet.machines.iter().all(|machine| machine.state == State::Fresh));
}

#[test]
fn two_exporters_on_a_machine_tell_of_the_same_gpus() {
    let (first, second) = (exporter("warpscope"), exporter("nvidia_gpu_exporter"));
    let mut builder = Builder::default();
    let own = "\"host\":\"box\",\"instance\":\"box:9836\",\"uuid\":\"GPU-1\",\"gpu\":\"0\",\"name\":\"Tesla T4\"";
    let other = "\"instance\":\"box:9835\",\"uuid\":\"1\"";
    let members = |labels: &str| vector(&[(labels.to_owned(), NOW)]);
    let bodies = [members(own), members(other)];
    builder.members(first, &parse(bodies[0].as_bytes()).expect("a vector"));
    builder.members(second, &parse(bodies[1].as_bytes()).expect("a vector"));
    let own_value = vector(&[(own.to_owned(), 0.5)]);
    let name = "warpscope_gpu_util_gpu_ratio";
    builder.values(first, metric(first, name), &parse(own_value.as_bytes()).expect("a vector"));
    let other_value = vector(&[(other.to_owned(), 0.75)]);
    for name in ["nvidia_smi_utilization_gpu_ratio", "nvidia_smi_fan_speed_ratio"] {
        let series = parse(other_value.as_bytes()).expect("a vector");
        builder.values(second, metric(second, name), &series);
    }
    let reasons = format!("{own},\"reason\":\"power cap\"");
    let reasons = vector(&[(reasons, 1.0), (format!("{own},\"reason\":\"idle\""), 0.0)]);
    let name = "warpscope_gpu_clock_reason";
    builder.values(first, metric(first, name), &parse(reasons.as_bytes()).expect("a vector"));
    let fleet = builder.finish(Timestamp(1_000_000), Cost::default(), None);
    assert_eq!((fleet.machines.len(), fleet.gpus.len()), (1, 1));
    assert_eq!(fleet.value("util_gpu_pct", 0), Some(50.0), "the first that tells counts");
    assert_eq!(fleet.value("fan_pct", 0), Some(75.0));
    assert_eq!(fleet.value("clock_reasons", 0), Some(4.0));
}
