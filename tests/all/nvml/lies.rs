//! A driver that lies: nothing is allocated, read or shown on its word.

use warpscope_probes::Reading;
use warpscope_probes::gpu::{Identity, Presence, Vitals};
use warpscope_probes::provider::GpuSection;

use super::{Bench, notice_ids, presences};
use crate::fake::OwnNvml;

/// Long enough for every question to be asked of every board.
fn polled(scenario: &str) -> GpuSection {
    let mut bench = Bench::new(scenario);
    (0..12).for_each(|_| drop(bench.poll()));
    bench.poll()
}

#[test]
fn counts_beyond_reason_are_capped_and_said() {
    let section = polled("v100+rtx3090+h100+mig:2+procs+lies:counts");
    assert_eq!(presences(&section), [Presence::Present; 3]);
    let said: Vec<_> = section.notices.iter().map(|notice| notice.what.as_str()).collect();
    assert_eq!(notice_ids(&section), ["driver.implausible"; 4], "{said:?}");
    assert!(said[0].contains("4294967295 GPUs (at most 256 are read)"), "{said:?}");
    assert!(said[2].starts_with("GPU 1 ") && said[2].contains("4294967295 fans"), "{said:?}");
    assert!(said[3].contains("MIG instances"), "{said:?}");
    assert_eq!(section.gpus[2].mig.len(), 2);
    assert!(section.gpus[1].vitals.fan_pct.value().is_some());
}

#[test]
fn lists_longer_than_memory_are_read_as_far_as_they_go() {
    let honest = polled("t4x2+procs");
    for lie in ["lists", "overfull"] {
        let section = polled(&format!("t4x2+procs+lies:{lie}"));
        assert_eq!(section.processes.len(), honest.processes.len(), "{lie}");
        let said: Vec<_> = section.notices.iter().map(|notice| notice.what.as_str()).collect();
        assert_eq!(notice_ids(&section), ["driver.implausible"; 2], "{lie}: {said:?}");
        assert!(
            said[0].contains("4294967295 compute processes (at most 4096 are read)"),
            "{said:?}"
        );
    }
    let pages = &polled("v100+lies:lists").gpus[0].vitals.retired_pages_sbe;
    assert!(matches!(pages, Reading::Failed(_)), "{pages:?}");
}

#[test]
fn texts_without_an_end_or_in_no_encoding_are_absent() {
    for lie in ["endless", "encoding"] {
        let section = polled(&format!("h100x2+mig:1+lies:{lie}"));
        assert_eq!(presences(&section), [Presence::Present; 2], "{lie}");
        let gpu = &section.gpus[0];
        for text in [&gpu.identity.name, &gpu.identity.uuid, &gpu.identity.vbios] {
            assert!(matches!(text, Reading::Failed(_)), "{lie}: {text:?}");
        }
        assert!(matches!(section.driver.versions.driver, Reading::Failed(_)), "{lie}");
        assert!(gpu.vitals.power_w.value().is_some(), "{lie}: numbers are told all the same");
        assert_eq!(gpu.nvlinks.len(), 18, "{lie}");
        assert_ne!(gpu.key, section.gpus[1].key, "{lie}");
        assert_eq!(section.gpus[1].mig.len(), 2, "{lie}");
        assert!(section.gpus[1].mig.iter().all(|instance| instance.uuid.is_none()), "{lie}");
    }
}

#[test]
fn values_no_device_can_have_are_absent() {
    // Told by lists, which are honest here, and by what is no value.
    let honest =
        ["retired_pages_sbe", "retired_pages_dbe", "pcie_replays", "pci_device_id", "cuda_ordinal"];
    for board in ["v100", "t4", "rtx3090", "h100"] {
        let section = polled(&format!("{board}+procs+lies:values"));
        let gpu = &section.gpus[0];
        assert_eq!(gpu.presence, Presence::Present);
        for field in Vitals::FIELDS.iter().filter(|field| !honest.contains(&field.key)) {
            assert_eq!((field.number)(&gpu.vitals), None, "{board}: {}", field.key);
        }
        for field in Identity::FIELDS.iter().filter(|field| !honest.contains(&field.key)) {
            let number = (field.number)(&gpu.identity).filter(|_| field.key != "pci_subsystem_id");
            let catalogue = ["memory_bandwidth_bps", "memory_bus_bit"].contains(&field.key);
            assert!(number.is_none() || catalogue, "{board}: {} {number:?}", field.key);
        }
        assert!(
            gpu.throttle.violations.is_empty() && gpu.nvlinks.iter().all(|it| it.errors.is_none())
        );
        for process in &section.processes {
            let usage = &process.usage;
            assert_eq!(usage.sm_pct.value().map(|it| it.0).filter(|share| *share != 0.0), None);
        }
    }
}

#[test]
fn more_memory_in_use_than_there_is_is_no_use_at_all() {
    let section = polled("t4+lies:memory");
    let vitals = &section.gpus[0].vitals;
    assert_eq!(vitals.memory_total_bytes.value().map(|it| it.0), Some(16 << 30));
    for part in [&vitals.memory_used_bytes, &vitals.memory_free_bytes] {
        assert!(matches!(part, Reading::Failed(_)), "{part:?}");
    }
}

#[test]
fn the_dashboard_and_a_watch_live_with_every_lie() {
    for lie in ["counts", "lists", "overfull", "endless", "encoding", "values", "memory"] {
        let nvml = OwnNvml::new("t4+procs");
        let key = Bench::new("t4").poll().gpus[0].key.clone();
        let watch = warpscope_probes::nvml::Watch::open(Some(&nvml.library()), &key);
        let watch = watch.expect("opens");
        nvml.set(&format!("t4+procs+lies:{lie}"));
        let look = watch.look();
        assert!(look.sm_mhz.is_none_or(|clock| clock < 10_000), "{lie}: {look:?}");
        assert!(look.free_bytes.is_none_or(|free| free <= 16 << 30), "{lie}: {look:?}");
        let strain = watch.strain();
        assert!(strain.power_w.is_none_or(|watts| watts < 1000.0), "{lie}: {strain:?}");
    }
}
