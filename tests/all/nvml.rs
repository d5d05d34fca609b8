//! The NVML provider with the real client library against the stand-in.

mod late;
mod lies;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use warpscope_kernels::Sm;
use warpscope_probes::driver::DriverState;
use warpscope_probes::gpu::{ClockReason, Presence, Vitals};
use warpscope_probes::nvml::{Look, NvmlOptions, NvmlProvider, Watch};
use warpscope_probes::process::ProcessKind;
use warpscope_probes::provider::{Context, GpuSection, Provider, Section};
use warpscope_probes::units::*;
use warpscope_probes::{Gpu, Reading};

use crate::fake::{OwnNvml, Sysfs};

/// A provider on a stand-in, with no sysfs unless one is given.
struct Bench {
    nvml: OwnNvml,
    provider: Option<NvmlProvider>,
}

impl Bench {
    fn new(scenario: &str) -> Self {
        Self::with(OwnNvml::new(scenario), "/nonexistent".into())
    }

    fn with(nvml: OwnNvml, sysfs_root: PathBuf) -> Self {
        let options = NvmlOptions {
            library: Some(nvml.library()),
            sysfs_root,
            // A machine under load must not make a GPU late that answers.
            patience: Duration::from_secs(2),
            ..NvmlOptions::default()
        };
        Self { nvml, provider: Some(NvmlProvider::new(options)) }
    }

    fn poll_after(&mut self, seconds: f64) -> GpuSection {
        let context =
            Context { since_last: Duration::from_secs_f64(seconds), ..Context::default() };
        poll(self.provider.as_mut().expect("not closed"), &context)
    }

    fn poll(&mut self) -> GpuSection {
        self.poll_after(1.0)
    }

    /// Shuts NVML down, and tells which calls were made.
    fn calls(mut self) -> impl Fn(&str) -> u64 {
        drop(self.provider.take());
        let calls = self.nvml.calls();
        move |function| calls.get(function).copied().unwrap_or(0)
    }
}

fn poll(provider: &mut NvmlProvider, context: &Context) -> GpuSection {
    match provider.poll(context) {
        Section::Gpu(section) => *section,
        other => panic!("not a GPU section: {other:?}"),
    }
}

fn first(scenario: &str) -> Gpu {
    Bench::new(scenario).poll().gpus.swap_remove(0)
}

fn notice_ids(section: &GpuSection) -> Vec<&str> {
    section.notices.iter().map(|notice| notice.id.as_str()).collect()
}

fn presences(section: &GpuSection) -> Vec<Presence> {
    section.gpus.iter().map(|gpu| gpu.presence).collect()
}

#[test]
fn nothing_is_loaded_before_the_first_poll() {
    let bench = Bench::new("t4");
    assert_eq!(bench.calls()("nvmlInit_v2"), 0);
}

#[test]
fn a_t4_is_read_as_nvidia_describes_it() {
    let mut bench = Bench::new("t4");
    let section = bench.poll();
    assert_eq!(section.driver.status, DriverState::Ready);
    assert_eq!(section.driver.versions.driver, "580.82.07".to_owned().into());
    assert_eq!(section.driver.versions.cuda, "13.0".to_owned().into());
    assert_eq!(section.notices, []);
    let gpu = &section.gpus[0];
    assert_eq!((gpu.presence, gpu.index), (Presence::Present, 0));
    let identity = &gpu.identity;
    assert_eq!(gpu.key, *identity.uuid.value().expect("uuid"));
    assert_eq!(identity.name, "Tesla T4".to_owned().into());
    assert_eq!(identity.architecture, "Turing".to_owned().into());
    assert_eq!(identity.sm, Sm::new(7, 5).into());
    assert_eq!((&identity.sm_count, &identity.cuda_cores), (&40.into(), &2560.into()));
    assert_eq!(identity.pci_bus_id, "00000000:01:00.0".to_owned().into());
    assert_eq!((&identity.pci_device_id, &identity.cuda_ordinal), (&0x1eb8.into(), &0.into()));
    assert_eq!(identity.memory_bandwidth_bps, BytesPerSecond(320e9).into());
    assert_eq!(
        (&identity.compute_mode, &identity.vgpu_mode),
        (&"default".to_owned().into(), &"none".to_owned().into())
    );
    assert_eq!((&identity.ecc_mode, &identity.mig_mode), (&true.into(), &Reading::Unsupported));
    assert_eq!(gpu.vitals.memory_total_bytes, Bytes(16 << 30).into());
    assert_eq!(gpu.vitals.power_limit_w, Watts(70.0).into());
    assert_eq!(
        (&gpu.vitals.fan_pct, &gpu.vitals.rows_pending),
        (&Reading::Unsupported, &Reading::Unsupported)
    );
    assert_eq!(gpu.vitals.fan_rpm, Reading::Unsupported, "cooled by its chassis, not an error");
    assert_eq!(gpu.vitals.gpm_tensor_pct, Reading::Unsupported, "no GPM before Hopper");
    assert_eq!((gpu.nvlinks.len(), gpu.mig.len()), (0, 0));
}

#[test]
fn memory_bandwidth_agrees_with_the_published_figure_of_each_board() {
    // GB/s: NVIDIA's data sheets.
    let published = [
        ("gtx1060", 192.0),
        ("v100", 900.0),
        ("t4", 320.0),
        ("rtx3090", 936.0),
        ("h100", 3352.0),
        ("h200", 4800.0),
    ];
    for (board, gb_s) in published {
        let bandwidth = first(board).identity.memory_bandwidth_bps.value().expect(board).0 / 1e9;
        assert!((bandwidth / gb_s - 1.0).abs() < 0.01, "{board}: {bandwidth}");
    }
}

#[test]
fn boards_differ_in_what_they_offer() {
    let (pascal, volta, ampere) = (first("gtx1060"), first("v100"), first("rtx3090"));
    assert_eq!(
        (&pascal.identity.ecc_mode, &pascal.vitals.energy_j),
        (&Reading::Unsupported, &Reading::Unsupported)
    );
    assert!(pascal.vitals.fan_pct.value().is_some());
    assert_eq!(pascal.vitals.power_instant_w, Reading::Unsupported);
    let (mean, instant) = (&ampere.vitals.power_w, &ampere.vitals.power_instant_w);
    let both = mean.value().zip(instant.value()).map(|(mean, instant)| instant.0 - mean.0);
    assert_eq!(both, Some(1.5), "{mean:?} {instant:?}");
    assert_eq!(volta.identity.sm_count, 80.into());
    assert!(volta.vitals.temperature_memory_c.value().is_some());
    assert_eq!(volta.vitals.nvlink_rx_bps, Reading::Unsupported, "links, but no byte counters");
    assert_eq!(volta.vitals.rows_failed, Reading::Unsupported);
    assert_eq!(volta.vitals.ecc_corrected_volatile, 1.into());
    assert_eq!(volta.vitals.ecc_corrected_aggregate, 3.into());
    assert_eq!(ampere.vitals.fan_pct, Percent(39.0).into(), "the faster of two fans at 36 and 39");
    assert_eq!(ampere.vitals.fan_rpm, Rpm(1130).into(), "the faster of two at 1080 and 1130");
}

/// From Ada and Hopper on limits are offsets, in a unit of their own; before, temperatures. Values as nvidia-smi showed them on Ada boards: slowdown
/// at −2, shutdown at −5.
#[test]
fn a_temperature_limit_is_told_in_its_own_unit() {
    for board in ["rtx4090", "h100", "h200", "b200"] {
        let vitals = first(board).vitals;
        let limits = [&vitals.tlimit_slowdown_c, &vitals.tlimit_shutdown_c, &vitals.tlimit_max_c];
        assert_eq!(
            limits.map(|limit| limit.value().copied()),
            [-2, -5, 0].map(|l| Some(TLimit(l)))
        );
        for temperature in [&vitals.temperature_slowdown_c, &vitals.temperature_shutdown_c] {
            assert_eq!(temperature, &Reading::Unsupported, "{board}: not asked");
        }
        let now = vitals.temperature_c.value().expect(board).0;
        let left = vitals.tlimit_c.value().expect(board).0;
        assert_eq!(now + left as f32, 87.0, "{board}: the limit itself does not move");
        assert_eq!(vitals.slowdown_celsius(), Some(89.0), "{board}: two degrees beyond");
    }
    let before = first("a100").vitals;
    assert_eq!(before.temperature_slowdown_c, Celsius(93.0).into());
    assert_eq!(
        (&before.tlimit_c, &before.tlimit_slowdown_c),
        (&Reading::Unsupported, &Reading::Unsupported)
    );
    assert_eq!(before.slowdown_celsius(), Some(93.0));
}

#[test]
fn a_v100_tells_links_and_retired_pages_when_its_turn_comes() {
    let mut bench = Bench::new("v100");
    let early = bench.poll();
    assert_eq!(
        early.gpus[0].vitals.retired_pages_sbe,
        Reading::Late(None),
        "not asked yet, not zero"
    );
    let later = bench.poll().gpus.swap_remove(0);
    assert_eq!(
        (&later.vitals.retired_pages_sbe, &later.vitals.retired_pages_dbe),
        (&2.into(), &1.into())
    );
    assert_eq!(later.nvlinks.len(), 6);
    let link = &later.nvlinks[5];
    assert_eq!((link.link, link.active, link.version, link.errors), (5, true, Some(2), Some(1)));
    assert_eq!(link.remote.as_deref(), Some("00000000:C1:00.0"));
    let violations: Vec<_> =
        later.throttle.violations.iter().map(|it| (it.policy.as_str(), it.seconds.0)).collect();
    assert_eq!(violations[..2], [("power", 1.5), ("thermal", 3.0)]);
}

#[test]
fn eight_h100_show_gpm_links_rows_and_two_with_mig() {
    let mut bench = Bench::new("h100x8+procs");
    let start = bench.poll();
    assert_eq!(start.gpus.len(), 8);
    assert_eq!(start.gpus[0].vitals.gpm_tensor_pct, Reading::Late(None), "needs two samples");
    for _ in 0..10 {
        bench.poll();
    }
    let section = bench.poll();
    for (i, gpu) in section.gpus.iter().enumerate() {
        let mig = matches!(i, 1 | 5);
        assert_eq!((gpu.index, gpu.mig.len()), (i as u32, if mig { 2 } else { 0 }));
        assert_eq!(gpu.identity.mig_mode, mig.into());
        assert_eq!(gpu.vitals.util_gpu_pct.value().is_none(), mig);
        assert_eq!(gpu.vitals.gpm_sm_occupancy_pct.value().is_none(), mig, "GPU {i}");
        assert_eq!(gpu.nvlinks.len(), 18);
        assert_eq!(
            (&gpu.vitals.rows_remapped_corrected, &gpu.vitals.rows_pending),
            (&3.into(), &true.into())
        );
        assert_eq!(gpu.vitals.nvlink_rx_bps, BytesPerSecond(3_000_000.0 * 1024.0).into());
        assert!(gpu.vitals.pcie_rx_bps.value().is_some(), "GPU {i} had its turn");
    }
    let slice = &section.gpus[1].mig[0];
    assert_eq!(
        (slice.name.as_str(), slice.sm_count, slice.gpu_instance),
        ("MIG 3g.40gb", Some(60), Some(4))
    );
    assert_eq!(slice.memory_total_bytes, Some(Bytes(40448 << 20)));
    let in_mig: Vec<_> =
        section.processes.iter().filter(|p| p.gpu == section.gpus[1].key).map(|p| p.mig).collect();
    assert_eq!(in_mig, [Some(0), Some(1)]);
}

#[test]
fn sixteen_gpus_have_sixteen_keys_and_each_its_turn() {
    let mut bench = Bench::new("gpus16");
    let mut section = bench.poll();
    for _ in 0..10 {
        section = bench.poll();
    }
    let mut keys: Vec<_> = section.gpus.iter().map(|gpu| gpu.key.clone()).collect();
    keys.dedup();
    assert_eq!(keys.len(), 16);
    for (i, gpu) in section.gpus.iter().enumerate() {
        assert_eq!(gpu.identity.cuda_ordinal, (i as u32).into());
        assert!(gpu.vitals.pcie_tx_bps.value().is_some(), "GPU {i}");
    }
}

#[test]
fn values_move_from_poll_to_poll() {
    let mut bench = Bench::new("t4");
    let loads: Vec<_> =
        (0..6).filter_map(|_| bench.poll().gpus[0].vitals.util_gpu_pct.value().copied()).collect();
    assert!(loads.windows(2).all(|pair| pair[0] != pair[1]), "{loads:?}");
}

#[test]
fn dear_questions_are_asked_in_turn_and_static_ones_once() {
    const POLLS: u64 = 40;
    let mut bench = Bench::new("h100x8");
    for _ in 0..POLLS {
        bench.poll();
    }
    let calls = bench.calls();
    assert_eq!(calls("nvmlInit_v2"), 1);
    assert_eq!(calls("nvmlDeviceGetPowerUsage"), 8 * POLLS);
    // Two directions of eight GPUs, one turn in ten polls, none in the first.
    let throughput = calls("nvmlDeviceGetPcieThroughput");
    assert!((2 * 8 * 3..=2 * 8 * POLLS / 10).contains(&throughput), "{throughput}");
    assert_eq!(calls("nvmlDeviceGetVbiosVersion"), 8);
    assert_eq!(calls("nvmlDeviceGetMaxClockInfo"), 8 * 5, "four clocks, and one for the bandwidth");
    assert_eq!(calls("nvmlGpmSampleAlloc"), calls("nvmlGpmSampleFree"), "no sample is leaked");
}

#[test]
fn what_gpm_does_not_offer_is_not_asked_again() {
    let mut bench = Bench::new("t4");
    for _ in 0..5 {
        bench.poll();
    }
    let calls = bench.calls();
    assert_eq!((calls("nvmlGpmQueryDeviceSupport"), calls("nvmlGpmSampleGet")), (1, 0));
}

#[test]
fn a_lost_gpu_stays_with_its_identity_and_comes_back() {
    let mut bench = Bench::new("h100x8");
    let before = (0..=10).map(|_| bench.poll()).last().expect("a poll");
    assert_ne!((before.gpus[2].nvlinks.len(), before.gpus[2].throttle.violations.len()), (0, 0));
    for broken in ["h100x8+lost:2", "h100x8+dying:2"] {
        bench.nvml.set(broken);
        let during = bench.poll();
        let lost = &during.gpus[2];
        assert_eq!((lost.presence, &lost.key), (Presence::Lost, &before.gpus[2].key), "{broken}");
        assert_eq!(lost.identity.name, before.gpus[2].identity.name);
        for field in Vitals::FIELDS {
            assert!((field.number)(&lost.vitals).is_none(), "{broken}: {} has a value", field.key);
        }
        assert!(matches!(lost.vitals.power_w, Reading::Failed(_)));
        assert_eq!((lost.nvlinks.len(), lost.throttle.violations.len()), (0, 0), "{broken}");
        assert_eq!(notice_ids(&during), ["gpu.lost"]);
        assert_eq!(during.driver.status, DriverState::Ready);
        assert!(during.gpus.iter().all(|gpu| gpu.index == 2 || gpu.presence == Presence::Present));
        assert_eq!(bench.poll().gpus[2], *lost, "{broken}: and stays so");

        bench.nvml.set("h100x8");
        let after = bench.poll();
        assert_eq!(
            (after.gpus[2].presence, &after.gpus[2].key),
            (Presence::Present, &before.gpus[2].key),
            "{broken}"
        );
        assert!(after.gpus[2].vitals.power_w.value().is_some());
        assert_eq!(notice_ids(&after), [""; 0]);
    }
}

#[test]
fn xid_errors_are_counted_and_those_of_a_gpu_that_is_lost_are_not_missed() {
    let mut bench = Bench::new("t4x2");
    assert!(bench.poll().gpus.iter().all(|gpu| gpu.xids.is_empty()));
    bench.nvml.set("t4x2+xid:1@31+xid:1@31+xid:0@13");
    let counts = |section: &GpuSection, gpu: usize| {
        section.gpus[gpu].xids.iter().map(|one| (one.xid, one.count)).collect::<Vec<_>>()
    };
    let running = bench.poll();
    assert_eq!((counts(&running, 0), counts(&running, 1)), (vec![(13, 1)], vec![(31, 2)]));
    bench.nvml.set("t4x2+xid:1@31+xid:1@31+xid:0@13+xid:1@79+lost:1");
    let lost = bench.poll();
    assert_eq!(lost.gpus[1].presence, Presence::Lost);
    assert_eq!(counts(&lost, 1), [(31, 2), (79, 1)]);
}

#[test]
fn a_gpu_lost_from_the_start_is_shown_as_lost() {
    let section = Bench::new("t4x2+lost:1").poll();
    assert_eq!(presences(&section), [Presence::Present, Presence::Lost]);
    assert!(matches!(section.gpus[1].vitals.temperature_c, Reading::Failed(_)));
    assert_ne!(section.gpus[0].key, section.gpus[1].key);
}

#[test]
fn a_gpu_that_appears_or_goes_is_noticed_and_the_others_keep_their_keys() {
    let mut bench = Bench::new("t4");
    let one = bench.poll();
    bench.nvml.set("t4+v100");
    let two = bench.poll();
    assert_eq!(presences(&two), [Presence::Present; 2]);
    assert_eq!(two.gpus[0].key, one.gpus[0].key);
    bench.nvml.set("t4");
    let gone = bench.poll();
    assert_eq!(presences(&gone), [Presence::Present, Presence::Lost]);
    assert_eq!(gone.gpus[1].identity.name, "Tesla V100-SXM2-16GB".to_owned().into());
}

#[test]
fn each_way_not_to_start_is_told_apart() {
    let cases = [
        ("nodriver", DriverState::NotLoaded, "driver.not_loaded"),
        ("noperm", DriverState::NoPermission, "driver.no_permission"),
        ("nodevice", DriverState::NoDevice, "driver.no_device"),
    ];
    for (scenario, state, notice) in cases {
        let section = Bench::new(scenario).poll();
        assert_eq!(
            (&section.driver.status, notice_ids(&section)),
            (&state, vec![notice]),
            "{scenario}"
        );
        assert_eq!(section.gpus, []);
    }
}

#[test]
fn a_version_mismatch_names_the_loaded_module() {
    let proc_root = tempfile::tempdir().expect("temporary folder");
    let folder = proc_root.path().join("driver/nvidia");
    std::fs::create_dir_all(&folder).expect("folder");
    let text = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.261.03  Tue Jun 10 18:00:00 UTC 2025\n";
    std::fs::write(folder.join("version"), text).expect("version file");
    let nvml = OwnNvml::new("mismatch");
    let mut provider = NvmlProvider::new(NvmlOptions {
        library: Some(nvml.library()),
        proc_root: proc_root.path().into(),
        sysfs_root: "/nonexistent".into(),
        ..NvmlOptions::default()
    });
    let section = poll(&mut provider, &Context::default());
    assert_eq!(
        section.driver.status,
        DriverState::VersionMismatch { kernel: Some("535.261.03".into()) }
    );
    assert!(section.notices[0].what.contains("535.261.03"));
}

#[test]
fn a_missing_library_is_not_a_broken_one() {
    let ask = |library: PathBuf| {
        let options = NvmlOptions {
            library: Some(library),
            sysfs_root: "/nonexistent".into(),
            ..NvmlOptions::default()
        };
        poll(&mut NvmlProvider::new(options), &Context::default()).driver.status
    };
    assert_eq!(ask("/nonexistent/libnvidia-ml.so.1".into()), DriverState::LibraryMissing);
    let folder = tempfile::tempdir().expect("temporary folder");
    let broken = folder.path().join("libnvidia-ml.so.1");
    std::fs::write(&broken, "not a library").expect("file");
    assert!(matches!(ask(broken), DriverState::Failed { .. }));
}

#[test]
fn a_driver_that_goes_and_comes_back_is_recovered_with_patience() {
    let mut bench = Bench::new("t4x2");
    let before = bench.poll();
    for (scenario, state) in [
        ("nodriver", DriverState::NotLoaded),
        ("mismatch", DriverState::VersionMismatch { kernel: None }),
    ] {
        bench.nvml.set(scenario);
        let during = bench.poll();
        assert_eq!((&during.driver.status, presences(&during)), (&state, vec![Presence::Lost; 2]));
        assert_eq!(during.gpus[0].identity.name, before.gpus[0].identity.name);
        assert_eq!(during.notices.len(), 1, "the driver is the reason, not each GPU");
        bench.nvml.set("t4x2");
        assert_eq!(bench.poll_after(2.0).driver.status, state, "not at once");
        assert_eq!(bench.poll_after(2.0).driver.status, state);
        let after = bench.poll_after(2.0);
        assert_eq!(
            (&after.driver.status, presences(&after)),
            (&DriverState::Ready, vec![Presence::Present; 2])
        );
        assert_eq!(after.gpus[1].key, before.gpus[1].key);
    }
    assert_eq!(bench.calls()("nvmlInit_v2"), 3);
}

#[test]
fn a_driver_that_was_absent_is_found_when_it_comes() {
    let mut bench = Bench::new("nodriver");
    assert_eq!(bench.poll_after(0.0).driver.status, DriverState::NotLoaded);
    bench.nvml.set("t4");
    assert_eq!(bench.poll_after(5.0).driver.status, DriverState::Ready);
}

#[test]
fn a_machine_that_stays_without_a_driver_is_asked_ever_more_rarely() {
    let mut bench = Bench::new("nodriver");
    (0..600).for_each(|_| drop(bench.poll()));
    bench.nvml.set("t4");
    let waited = (1..=60).find(|_| bench.poll().driver.status == DriverState::Ready);
    assert_eq!(
        waited,
        Some(16),
        "tries at second 1, then 5, 10, 20, 40 and every 60 seconds later: 616"
    );
}

#[test]
fn a_gpu_bound_to_the_driver_later_is_found() {
    let sysfs = Sysfs::new(&[("0000:01:00.0", 0x1eb8, "active")]);
    let mut bench = Bench::with(OwnNvml::new("t4"), sysfs.root().into());
    bench.poll();
    sysfs.add("0000:09:00.0", 0x1eb8, "active");
    bench.nvml.set("t4x2");
    let found = (0..11).map(|_| bench.poll().gpus.len()).last();
    assert_eq!(found, Some(2));
    assert_eq!(
        bench.calls()("nvmlInit_v2"),
        2,
        "NVML counts GPUs when it starts, so it is started anew"
    );
}

#[test]
fn symbols_an_old_driver_lacks_are_unsupported_and_older_ones_used() {
    // Not in the R470 driver.
    let newer = [
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetGraphicsRunningProcesses_v3",
        "nvmlDeviceGetMPSComputeRunningProcesses_v3",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetJpgUtilization",
        "nvmlDeviceGetOfaUtilization",
        "nvmlDeviceGetNumGpuCores",
        "nvmlDeviceGetMemoryBusWidth",
        "nvmlDeviceGetNumFans",
        "nvmlDeviceGetFanSpeedRPM",
        "nvmlGpmQueryDeviceSupport",
    ];
    let mut bench = Bench::with(
        OwnNvml::without("rtx3090+procs+driver:470.256.02", &newer),
        "/nonexistent".into(),
    );
    let section = bench.poll();
    assert_eq!(section.driver.status, DriverState::Ready);
    let Gpu { identity, vitals, throttle, .. } = &section.gpus[0];
    assert_eq!(vitals.memory_total_bytes, Bytes(24 << 30).into());
    assert!(vitals.memory_used_bytes.value().is_some());
    assert_eq!(
        vitals.memory_reserved_bytes,
        Reading::Unsupported,
        "the older call counts it as used"
    );
    assert_eq!(
        (&vitals.util_jpeg_pct, &vitals.gpm_dram_pct),
        (&Reading::Unsupported, &Reading::Unsupported)
    );
    assert_eq!(
        (&identity.cuda_cores, &identity.sm_count),
        (&Reading::Unsupported, &Reading::Unsupported)
    );
    assert!(throttle.active.value().is_some());
    assert_eq!(vitals.fan_pct, Percent(36.0).into(), "one fan is assumed");
    assert_eq!(vitals.fan_rpm, Reading::Unsupported);
    assert_eq!(section.processes.len(), 3);
}

/// Deprecated in CUDA 13 (nvml.h 13.0), and announced to go.
#[test]
fn calls_a_newer_driver_has_dropped_cost_their_own_values_only() {
    let gone = ["nvmlDeviceGetApplicationsClock", "nvmlDeviceGetTemperatureThreshold"];
    let read = |board: &str, gone: &[&str]| {
        let nvml = OwnNvml::without(board, gone);
        let section = Bench::with(nvml, "/nonexistent".into()).poll();
        assert_eq!(section.driver.status, DriverState::Ready);
        (section.gpus[0].vitals.clone(), section.notices)
    };
    let ((with, _), (without, notices)) = (read("h200", &[]), read("h200", &gone));
    assert_eq!(notices, []);
    for field in Vitals::FIELDS {
        let (with, without) = ((field.text)(&with), (field.text)(&without));
        let dropped = field.key.ends_with("_app_mhz");
        assert_eq!(without.is_ok(), with.is_ok() && !dropped, "{}: {without:?}", field.key);
    }
    let (old, _) = read("a100", &["nvmlDeviceGetFieldValues", "nvmlDeviceGetMarginTemperature"]);
    assert_eq!((old.tlimit_c, old.tlimit_max_c), (Reading::Unsupported, Reading::Unsupported));
    assert_eq!(old.temperature_slowdown_c, Celsius(93.0).into(), "the older call is asked");
}

#[test]
fn codes_nvml_has_not_invented_are_told_by_number() {
    let gpu = first("h100+weird:4242");
    assert_eq!(gpu.presence, Presence::Present);
    assert_eq!(gpu.identity.name, "NVIDIA H100 80GB HBM3".to_owned().into());
    assert_eq!(gpu.vitals.power_w, Reading::Failed("NVML error 4242".into()));
    assert_eq!(gpu.throttle.active, Reading::Failed("NVML error 4242".into()));
    let denied = first("h100+weird:4");
    assert_eq!(
        (denied.vitals.power_w, denied.vitals.memory_used_bytes),
        (Reading::Denied, Reading::Denied)
    );
    assert_eq!(first("h100+weird:10").vitals.power_w, Reading::Late(None));
}

#[test]
fn reasons_without_a_name_are_kept_and_time_is_counted() {
    let mut bench = Bench::new(&format!("t4+reasons:{}", 0x4 | 0x20 | 0x8000_0000_0000u64));
    bench.poll_after(0.0);
    bench.poll_after(2.0);
    bench.nvml.set("t4+reasons:4");
    let throttle = bench.poll_after(3.0).gpus.swap_remove(0).throttle;
    assert_eq!(throttle.active, vec![ClockReason::SwPowerCap].into());
    let seen: Vec<_> =
        throttle.seen.iter().map(|it| (it.reason, it.active_s, it.watched_s)).collect();
    assert_eq!(seen, [(ClockReason::SwPowerCap, 5.0, 5.0), (ClockReason::SwThermal, 2.0, 5.0)]);
    bench.nvml.set(&format!("t4+reasons:{}", 0x8000_0000_0000u64));
    assert_eq!(bench.poll().gpus[0].throttle.unknown_bits, 0x8000_0000_0000);
}

#[test]
fn names_full_of_escape_sequences_are_made_safe() {
    let gpu = first("t4+escapes");
    let name = gpu.identity.name.value().expect("name");
    assert!(name.contains("Tesla T4"), "{name:?}");
    assert!(!name.chars().any(|c| c.is_control() || c == '\u{202e}'), "{name:?}");
}

#[test]
fn processes_are_joined_by_pid_and_foreign_ones_kept() {
    let mut bench = Bench::new("t4+procs");
    let section = bench.poll();
    let own = std::process::id();
    let of = |pid| section.processes.iter().find(|process| process.pid == pid).expect("listed");
    assert_eq!(section.processes.len(), 3);
    assert_eq!(of(own).kind, ProcessKind::ComputeAndGraphics);
    assert_eq!(of(own).gpu, section.gpus[0].key);
    assert_eq!(of(own).usage.gpu_memory_bytes, Bytes(512 << 20).into());
    assert!(of(own).usage.sm_pct.value().expect("a sample").0 > 0.0);
    let foreign = of(4_200_001);
    assert_eq!((foreign.kind, &foreign.usage.sm_pct), (ProcessKind::Compute, &Percent(0.0).into()));
}

#[test]
fn a_list_that_cannot_be_read_is_not_an_empty_one() {
    let failed = |scenario| {
        let section = Bench::new(scenario).poll();
        (section.processes.len(), section.gpus[0].processes_failed.clone())
    };
    for (scenario, count, why) in [
        ("t4+procs", 3, None),
        ("t4", 0, None),
        ("t4+procs+weird:4242", 0, Some("NVML error 4242")),
        ("t4+procs+weird:4", 0, Some("permission denied")),
        ("t4+procs+weird:3", 0, Some("the driver does not list them")),
    ] {
        assert_eq!(failed(scenario), (count, why.map(str::to_owned)), "{scenario}");
    }
}

#[test]
fn a_suspended_laptop_gpu_is_shown_and_not_woken() {
    let sysfs = Sysfs::new(&[("0000:01:00.0", 0x28e0, "suspended")]);
    let mut bench = Bench::with(OwnNvml::new("optimus"), sysfs.root().into());
    for _ in 0..3 {
        let section = bench.poll();
        assert_eq!(
            (&section.driver.status, presences(&section)),
            (&DriverState::AllSuspended, vec![Presence::Suspended])
        );
        assert_eq!(notice_ids(&section), ["driver.all_suspended"]);
        let gpu = &section.gpus[0];
        assert_eq!(gpu.key, "pci:00000000:01:00.0");
        assert_eq!(gpu.identity.pci_bus_id, "00000000:01:00.0".to_owned().into());
        assert_eq!(gpu.identity.pci_device_id, 0x28e0.into());
        assert_eq!(gpu.vitals.power_w, Reading::Late(None));
    }
    assert_eq!(bench.calls()("nvmlInit_v2"), 0);
}

#[test]
fn a_laptop_gpu_is_read_while_awake_and_left_alone_when_it_sleeps_again() {
    let sysfs = Sysfs::new(&[("0000:01:00.0", 0x28e0, "suspended")]);
    let mut bench = Bench::with(OwnNvml::new("optimus"), sysfs.root().into());
    bench.poll();
    sysfs.set("0000:01:00.0", "active");
    let awake = bench.poll();
    assert_eq!(
        (&awake.driver.status, presences(&awake)),
        (&DriverState::Ready, vec![Presence::Present])
    );
    assert_eq!(awake.gpus[0].key, *awake.gpus[0].identity.uuid.value().expect("uuid"));
    let power = awake.gpus[0].vitals.power_w.value().copied();
    sysfs.set("0000:01:00.0", "suspended");
    for _ in 0..20 {
        let asleep = bench.poll();
        assert_eq!(presences(&asleep), [Presence::Suspended]);
        assert_eq!(asleep.gpus[0].key, awake.gpus[0].key);
        assert_eq!(asleep.gpus[0].vitals.power_w, Reading::Late(power));
    }
    sysfs.set("0000:01:00.0", "active");
    assert_eq!(presences(&bench.poll()), [Presence::Present]);
    assert_eq!(bench.calls()("nvmlDeviceGetPowerUsage"), 2);
}

#[test]
fn beside_a_sleeping_gpu_only_the_others_are_asked() {
    let sysfs =
        Sysfs::new(&[("0000:01:00.0", 0x1eb8, "suspended"), ("0000:09:00.0", 0x1eb8, "active")]);
    let mut bench = Bench::with(OwnNvml::new("t4x2"), sysfs.root().into());
    for _ in 0..15 {
        let section = bench.poll();
        assert_eq!(section.driver.status, DriverState::Ready);
        assert_eq!(presences(&section), [Presence::Suspended, Presence::Present]);
        assert_eq!(section.gpus.iter().map(|gpu| gpu.index).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(section.gpus[1].identity.cuda_ordinal, 1.into());
    }
    let calls = bench.calls();
    assert_eq!(calls("nvmlDeviceGetPowerUsage"), 15);
    assert_eq!(calls("nvmlDeviceGetName"), 1);
}

#[test]
fn the_folder_for_programs_under_test_holds_a_library_that_answers() {
    let library = crate::fake::nvml_dir().join(crate::fake::LIBRARY);
    let options = NvmlOptions {
        library: Some(library),
        sysfs_root: "/nonexistent".into(),
        ..NvmlOptions::default()
    };
    let section = poll(&mut NvmlProvider::new(options), &Context::default());
    assert_eq!(section.driver.status, DriverState::Ready);
}

#[test]
#[ignore = "prints a figure: cargo test --release --test all -- --ignored --nocapture cost"]
fn the_cost_of_a_poll() {
    for scenario in ["1gpu", "h100x8+procs", "gpus16+procs"] {
        let mut bench = Bench::new(scenario);
        let start = Instant::now();
        bench.poll();
        let first = start.elapsed();
        let start = Instant::now();
        (0..1000).for_each(|_| drop(bench.poll()));
        println!("{scenario}: first poll {first:?}, then {:?} a poll", start.elapsed() / 1000);
    }
}

#[test]
fn a_watch_sees_who_else_computes_on_its_device() {
    let nvml = OwnNvml::new("t4x2");
    let uuids: Vec<_> = Bench::new("t4x2").poll().gpus.iter().map(|gpu| gpu.key.clone()).collect();
    let watches = uuids.iter().map(|uuid| Watch::open(Some(&nvml.library()), uuid));
    let watches: Vec<_> = watches.map(|watch| watch.expect("opens")).collect();
    for watch in &watches {
        let look = watch.look();
        assert_eq!((look.computing, look.using), (Some(vec![]), Some(vec![])));
        assert!(look.sm_mhz.is_some() && look.free_bytes.is_some_and(|free| free > 1 << 30));
    }
    nvml.set("t4x2+procs");
    let own = std::process::id();
    let [first, second] = [0, 1].map(|at| watches[at].look());
    let pids = |look: &Look| look.computing.clone().expect("told");
    assert!(pids(&first).len() == 3 && pids(&first).contains(&own), "{first:?}");
    assert!(pids(&second).len() == 1 && !pids(&second).contains(&own), "{second:?}");
    let using = first.using.expect("told");
    assert!(using.iter().any(|(pid, percent)| *pid == own && *percent <= 100), "{using:?}");
    assert_eq!(second.using, Some(vec![]), "who did nothing of late is left out");
}

#[test]
fn a_watch_needs_a_device_that_is_there() {
    let nvml = OwnNvml::new("t4");
    let error = Watch::open(Some(&nvml.library()), "GPU-none").err().expect("no such device");
    assert!(!error.is_empty());
    assert!(Watch::open(Some("/nonexistent/libnvidia-ml.so".as_ref()), "GPU-x").is_err());
}
