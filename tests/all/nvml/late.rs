//! GPUs that hang or are slow beside others that answer.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use warpscope_probes::Reading;
use warpscope_probes::gpu::Presence;
use warpscope_probes::provider::GpuSection;

use super::{Bench, notice_ids};
use crate::fake::{OwnNvml, Sysfs};

/// Longer than any test.
const FOR_EVER: &str = "600";

fn hanging(function: &str) -> String {
    format!("h100*8+procs+hang:3@{function}:{FOR_EVER}")
}

/// Polls until the section is as wanted.
fn poll_until(bench: &mut Bench, wanted: impl Fn(&GpuSection) -> bool) -> GpuSection {
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        let section = bench.poll();
        if wanted(&section) {
            return section;
        }
        assert!(Instant::now() < end, "still {:?}", notice_ids(&section));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn is_live(section: &GpuSection, index: usize) -> bool {
    let gpu = &section.gpus[index];
    gpu.presence == Presence::Present && gpu.vitals.power_w.value().is_some()
}

/// All but GPU 3 have answered, and it is named.
fn assert_others_live(section: &GpuSection, about: &str) {
    assert_eq!(section.gpus.len(), 8, "{about}");
    for (index, gpu) in section.gpus.iter().enumerate() {
        assert_eq!(gpu.index, index as u32, "{about}");
        assert_eq!(is_live(section, index), index != 3, "{about}: GPU {index}");
    }
    assert_eq!(notice_ids(section), ["gpu.late"], "{about}");
    let what = &section.notices[0].what;
    assert!(what.starts_with("GPU 3 ") && what.contains("the others are live"), "{about}: {what}");
}

#[test]
fn a_gpu_that_hangs_from_the_start_hides_no_other_whatever_it_hangs_in() {
    let functions = [
        "all",
        "nvmlDeviceGetUUID",
        "nvmlDeviceGetPciInfo_v3",
        "nvmlDeviceGetName",
        "nvmlDeviceGetPowerUsage",
        "nvmlDeviceGetFieldValues",
        "nvmlGpmSampleGet",
        "nvmlDeviceGetComputeRunningProcesses_v3",
    ];
    for function in functions {
        let mut bench = Bench::new(&hanging(function));
        let first = bench.poll();
        assert_others_live(&first, function);
        // The name is the first value that is read.
        let named = functions.iter().position(|one| *one == function) > Some(3);
        let known = if named { Presence::Present } else { Presence::Starting };
        assert_eq!(first.gpus[3].presence, known, "{function}");
        assert!(first.gpus[3].vitals.power_w.is_late(), "{function}");
        assert_others_live(&bench.poll(), function);

        bench.nvml.set("h100*8+procs");
        let after = poll_until(&mut bench, |section| is_live(section, 3));
        assert_eq!(notice_ids(&after), [""; 0], "{function}");
        let uuid = after.gpus[3].identity.uuid.value().expect("told now");
        assert_eq!((after.gpus.len(), &after.gpus[3].key), (8, uuid), "{function}");
    }
}

#[test]
fn a_gpu_that_never_answered_has_the_address_the_kernel_knows() {
    let addresses: Vec<_> =
        (0..8).map(|board| format!("0000:{:02x}:00.0", 1 + board * 8)).collect();
    let gpus: Vec<_> = addresses.iter().map(|it| (it.as_str(), 0x2330, "active")).collect();
    let sysfs = Sysfs::new(&gpus);
    let nvml = OwnNvml::new(&hanging("all"));
    let section = Bench::with(nvml, sysfs.root().into()).poll();
    assert_others_live(&section, "with sysfs");
    assert_eq!(section.gpus[3].key, "pci:00000000:19:00.0");
    assert_eq!(section.gpus[3].identity.pci_bus_id, "00000000:19:00.0".to_owned().into());
    assert_eq!(section.gpus[3].identity.cuda_ordinal, 3.into());
    let without = Bench::new(&hanging("all")).poll();
    assert_eq!(without.gpus[3].key, "nvml:3");
}

#[test]
fn a_gpu_that_hangs_later_keeps_its_last_values_and_recovers() {
    let mut bench = Bench::new("h100*8+procs");
    let before = bench.poll();
    bench.nvml.set(&hanging("nvmlDeviceGetPowerUsage"));
    let during = bench.poll();
    assert_others_live(&during, "first");
    let (then, now) = (&before.gpus[3], &during.gpus[3]);
    assert_eq!((now.presence, &now.key), (Presence::Present, &then.key));
    assert_eq!(now.identity, then.identity);
    assert_eq!(now.vitals.power_w, Reading::Late(then.vitals.power_w.value().copied()));
    let process = during.processes.iter().find(|it| it.gpu == then.key).expect("as last seen");
    assert!(process.usage.gpu_memory_bytes.is_late());
    let later = bench.poll_after(12.0);
    assert_others_live(&later, "later");
    assert!(later.notices[0].what.contains("for 12 s"), "{:?}", later.notices);

    bench.nvml.set("h100*8+procs");
    let after = poll_until(&mut bench, |section| is_live(section, 3));
    assert_eq!((notice_ids(&after), &after.gpus[3].key), (vec![], &then.key));
    let process = after.processes.iter().find(|it| it.gpu == then.key).expect("listed");
    assert!(process.usage.gpu_memory_bytes.value().is_some());
}

#[test]
fn a_slow_gpu_is_updated_when_it_answers() {
    let mut bench = Bench::new("t4x2");
    let energy = |section: &GpuSection| section.gpus[1].vitals.energy_j.value().map(|it| it.0);
    let mut last = energy(&bench.poll()).expect("answers at once");
    bench.nvml.set("t4x2+hang:1@nvmlDeviceGetPowerUsage:3");
    for _ in 0..2 {
        let late = poll_until(&mut bench, |section| !is_live(section, 1));
        assert!(is_live(&late, 0), "the other answers meanwhile");
        let live = poll_until(&mut bench, |section| is_live(section, 1));
        assert!(energy(&live).expect("a value") > last, "and it has moved on");
        last = energy(&live).expect("a value");
    }
}

#[test]
fn a_gpu_that_is_slow_from_the_start_is_found_all_the_same() {
    let mut bench = Bench::new("t4x2+hang:1@nvmlDeviceGetUUID:3");
    let first = bench.poll();
    assert!(is_live(&first, 0) && !is_live(&first, 1));
    let found = poll_until(&mut bench, |section| is_live(section, 1));
    let uuid = found.gpus[1].identity.uuid.value().expect("told");
    assert_eq!((found.gpus.len(), &found.gpus[1].key), (2, uuid));
    assert_eq!(found.gpus[1].identity.cuda_ordinal, 1.into());
}

#[test]
fn a_gpu_that_takes_a_minute_shows_what_it_has_answered_so_far() {
    let mut bench = Bench::new("t4x2+hang:1@all:1.5");
    let named = poll_until(&mut bench, |section| section.gpus[1].identity.name.last().is_some());
    let gpu = &named.gpus[1];
    assert_eq!((gpu.presence, gpu.vitals.power_w.last()), (Presence::Present, None));
    assert!(is_live(&named, 0));
    let what = &named.notices[0].what;
    assert!(what.starts_with("GPU 1 Tesla T4 answers slowly"), "{what}");
    bench.nvml.set("t4x2");
    poll_until(&mut bench, |section| is_live(section, 1));
}

#[test]
fn a_gpu_that_hangs_in_its_first_reading_shows_what_it_answered_before() {
    let mut bench = Bench::new(&format!("t4x2+hang:1@nvmlDeviceGetPowerUsage:{FOR_EVER}"));
    let named = poll_until(&mut bench, |section| section.gpus[1].identity.name.last().is_some());
    let gpu = &named.gpus[1];
    assert_eq!(gpu.identity.name.last().map(String::as_str), Some("Tesla T4"));
    assert!(gpu.vitals.temperature_c.is_late() && gpu.vitals.power_w.last().is_none());
    assert!(is_live(&named, 0));
}

#[test]
fn when_every_gpu_hangs_the_poll_still_ends_and_all_are_listed() {
    let mut bench = Bench::new(&format!("gpus16+hang:nvmlDeviceGetUUID:{FOR_EVER}"));
    for _ in 0..3 {
        let section = bench.poll();
        assert_eq!(section.gpus.len(), 16);
        assert_eq!(notice_ids(&section), ["gpu.late"; 16]);
        assert!(!section.notices[0].what.contains("live"), "{:?}", section.notices[0]);
    }
    bench.nvml.set("gpus16");
    poll_until(&mut bench, |section| (0..16).all(|index| is_live(section, index)));
}

#[test]
fn a_driver_that_goes_while_a_gpu_hangs_comes_back_with_it() {
    let mut bench = Bench::new("t4x2");
    let before = bench.poll();
    bench.nvml.set(&format!("t4x2+hang:1@nvmlDeviceGetPowerUsage:{FOR_EVER}"));
    bench.poll();
    bench.nvml.set(&format!("nodriver+hang:1@nvmlDeviceGetPowerUsage:{FOR_EVER}"));
    poll_until(&mut bench, |section| notice_ids(section) == ["driver.not_loaded"]);
    bench.nvml.set("t4x2");
    let after = poll_until(&mut bench, |section| {
        section.gpus.len() == 2 && is_live(section, 0) && is_live(section, 1)
    });
    assert_eq!(after.gpus[1].key, before.gpus[1].key);
}

#[test]
fn closing_does_not_wait_and_what_hung_shuts_the_library_down_when_it_returns() {
    let mut bench = Bench::new("t4x2");
    bench.poll();
    bench.nvml.set(&format!("t4x2+hang:1@nvmlDeviceGetPowerUsage:{FOR_EVER}"));
    bench.poll();
    drop(bench.provider.take());
    assert_eq!(bench.nvml.calls().get("nvmlShutdown"), None, "a call is under way");
    bench.nvml.set("t4x2");
    let end = Instant::now() + Duration::from_secs(120);
    while bench.nvml.calls().get("nvmlShutdown") != Some(&1) {
        assert!(Instant::now() < end, "shut down when the call is back");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_sleeping_gpu_is_left_alone_while_another_hangs() {
    let sysfs =
        Sysfs::new(&[("0000:01:00.0", 0x1eb8, "suspended"), ("0000:09:00.0", 0x1eb8, "active")]);
    let root: PathBuf = sysfs.root().into();
    let mut bench = Bench::with(OwnNvml::new(&format!("t4x2+hang:1@all:{FOR_EVER}")), root);
    for _ in 0..2 {
        let section = bench.poll();
        let presences: Vec<_> = section.gpus.iter().map(|gpu| gpu.presence).collect();
        assert_eq!(presences, [Presence::Suspended, Presence::Starting]);
        assert_eq!(section.gpus[1].key, "pci:00000000:09:00.0");
    }
}

fn command(nvml: &OwnNvml, words: &[&str]) -> std::process::Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_warpscope"));
    command.args(words).env_clear().env("HOME", "/dev/null").env("LANG", "C.UTF-8");
    command.env("WARPSCOPE_LIBRARY", nvml.library()).output().expect("starts")
}

#[test]
fn one_shot_commands_answer_for_the_gpus_that_do() {
    let nvml = OwnNvml::new(&hanging("all"));
    let output = command(&nvml, &["snapshot", "--json"]);
    assert!(output.status.success());
    let frame: warpscope_probes::Frame = serde_json::from_slice(&output.stdout).expect("a frame");
    let live = |index: usize| frame.gpus[index].vitals.power_w.last().is_some();
    assert_eq!(frame.gpus.len(), 8);
    assert!((0..8).all(|index| live(index) == (index != 3)), "{:?}", frame.gpus);
    assert_eq!(frame.gpus[3].vitals.power_w, Reading::Late(None));
    let table = command(&nvml, &["snapshot"]);
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.contains("GPU 3 has not answered for"), "{table}");
    let check = command(&nvml, &["check", "vllm"]);
    let text = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(text.contains("NVIDIA H100 80GB HBM3 (sm_90)") && text.contains("GPU 3"), "{text}");
    assert_eq!(check.status.code(), Some(4), "one GPU is unknown: {text}");
}
