use super::answer::parse;
use super::*;
use crate::Reading;
use crate::gpu::{ClockReason, Presence, Vitals};
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
    fleet_at(hosts, NOW, before)
}

/// The same where the clock here says something else.
fn fleet_at(hosts: &[(&str, f64)], here: f64, before: Option<&Fleet>) -> Fleet {
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
    builder.finish(Timestamp((here * 1000.0) as u64), Cost::default(), before)
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

/// Whatever the clock here says, and however few machines there are.
#[test]
fn the_age_of_values_is_counted_in_the_time_of_the_server() {
    for (hosts, late) in [
        (&[("a", NOW - 1.0)][..], &[false][..]),
        (&[("a", NOW - 290.0)], &[true]),
        (&[("a", NOW - 290.0), ("b", NOW - 290.0), ("c", NOW - 1.0)], &[true, true, false]),
    ] {
        for skew in [-3600.0, 0.0, 3600.0] {
            let fleet = fleet_at(hosts, NOW + skew, None);
            assert_eq!(fleet.at, Timestamp((NOW * 1000.0) as u64));
            let states = fleet.machines.iter().map(|machine| machine.state == State::Late);
            assert_eq!(states.collect::<Vec<_>>(), late, "{hosts:?} {skew}");
        }
    }
}

/// Rows of our own exporter: GPU, whether it is up.
fn own(gpus: &[(&str, f64)], before: Option<&Fleet>) -> Fleet {
    let exporter = exporter("warpscope");
    let labels = |gpu: &str| format!("\"host\":\"box\",\"uuid\":\"GPU-{gpu}\",\"gpu\":\"0\"");
    let rows = |value: fn(f64) -> f64| {
        let rows: Vec<_> = gpus.iter().map(|(gpu, up)| (labels(gpu), value(*up))).collect();
        vector(&rows)
    };
    let mut builder = Builder::default();
    builder.members(exporter, &parse(rows(|_| NOW).as_bytes()).expect("a vector"));
    for (name, value) in [
        ("warpscope_gpu_up", (|up| up) as fn(f64) -> f64),
        ("warpscope_gpu_memory_total_bytes", |_| 1e9),
    ] {
        let body = rows(value);
        builder.values(
            exporter,
            metric(exporter, name),
            &parse(body.as_bytes()).expect("a vector"),
        );
    }
    builder.finish(Timestamp(0), Cost::default(), before)
}

#[test]
fn a_gpu_that_its_exporter_calls_lost_or_tells_of_no_more_is_lost() {
    let presences = |fleet: &Fleet| {
        let frame = fleet.frame(0).expect("a frame");
        frame.gpus.iter().map(|gpu| (gpu.key.clone(), gpu.presence)).collect::<Vec<_>>()
    };
    let row = |gpu: &str, presence| (format!("GPU-{gpu}"), presence);
    let (here, lost) = (Presence::Present, Presence::Lost);
    let first = own(&[("a", 1.0), ("b", 0.0), ("c", 1.0)], None);
    assert_eq!(presences(&first), [row("a", here), row("b", lost), row("c", here)]);
    let second = own(&[("a", 1.0), ("b", 1.0)], Some(&first));
    assert_eq!(presences(&second), [row("a", here), row("b", here), row("c", lost)]);
    let total = &second.frame(0).expect("a frame").gpus[2].vitals.memory_total_bytes;
    assert_eq!(*total, Reading::Late(Some(Bytes(1_000_000_000))));
    let third = own(&[("a", 1.0), ("b", 1.0), ("c", 1.0)], Some(&second));
    assert_eq!(presences(&third), [row("a", here), row("b", here), row("c", here)]);
}

/// What dcgm-exporter writes for a T4, whose memory has no sensor, and where DCGM has no value.
#[test]
fn blanks_of_dcgm_are_no_values() {
    let dcgm_exporter = exporter("dcgm-exporter");
    let mut builder = Builder::default();
    let body = |value: f64| vector(&[(dcgm("a", 0), value)]);
    builder.members(dcgm_exporter, &parse(body(NOW).as_bytes()).expect("a vector"));
    const BLANK: f64 = 9_223_372_036_854_775_794.0;
    for (name, value) in [
        ("DCGM_FI_DEV_GPU_UTIL", 40.0),
        ("DCGM_FI_DEV_FB_FREE", BLANK),
        ("DCGM_FI_DEV_MEMORY_TEMP", 0.0),
        ("DCGM_FI_DEV_GPU_TEMP", BLANK),
        ("DCGM_FI_DEV_POWER_USAGE", 140_737_488_355_328.0),
        ("DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", BLANK),
        ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", BLANK),
    ] {
        let body = body(value);
        let series = parse(body.as_bytes()).expect("a vector");
        builder.values(dcgm_exporter, metric(dcgm_exporter, name), &series);
    }
    let fleet = builder.finish(Timestamp(0), Cost::default(), None);
    let gpu = &fleet.frame(0).expect("a frame").gpus[0];
    let told = Vitals::FIELDS.iter().filter(|field| (field.number)(&gpu.vitals).is_some());
    assert_eq!(told.map(|field| field.key).collect::<Vec<_>>(), ["util_gpu_pct"]);
    assert_eq!(gpu.throttle.active, Reading::Unsupported);
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

#[test]
fn names_stand_in_the_order_people_count() {
    let mut names = ["node10", "b10", "b", "node2-9", "B3", "node2", "b99999999999999999999"];
    names.sort_by_cached_key(|name| natural(name));
    assert_eq!(names, ["b", "B3", "b10", "b99999999999999999999", "node2", "node2-9", "node10"]);
}
