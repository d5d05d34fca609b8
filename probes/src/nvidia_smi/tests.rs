use proptest::prelude::*;

use super::*;
use crate::gpu::ClockReason;
use crate::units::Watts;

/// A line as `nvidia-smi --format=csv,noheader,nounits` prints it for these answers; the rest is `[N/A]`.
fn line(old: bool, answers: &[(&str, &str)]) -> String {
    let answer = |name: &str| answers.iter().find(|row| row.0 == name).map_or("[N/A]", |row| row.1);
    let line: Vec<&str> = asked(old).map(|query| answer(query.name)).collect();
    line.join(", ")
}

const T4: &[(&str, &str)] = &[
    ("index", "0"),
    ("uuid", "GPU-6f0f4e0c-8a5e-4f0e-9d3f-6a1b2c3d4e5f"),
    ("pci.bus_id", "00000000:00:04.0"),
    ("pci.device_id", "0x1EB810DE"),
    ("pci.sub_device_id", "0x12A210DE"),
    ("compute_cap", "7.5"),
    ("persistence_mode", "Enabled"),
    ("utilization.gpu", "37"),
    ("memory.total", "15360"),
    ("memory.used", "2048"),
    ("power.draw", "27.51"),
    ("fan.speed", "[N/A]"),
    ("pstate", "P8"),
    ("clocks_throttle_reasons.active", "0x0000000000000004"),
    ("driver_version", "550.54.15"),
    ("name", "Tesla T4, a test"),
];

fn text(old: bool) -> String {
    let heading = if old { Part::OldGpus } else { Part::Gpus }.heading();
    format!(
        "{heading}\n{}\n#processes\nGPU-6f0f4e0c-8a5e-4f0e-9d3f-6a1b2c3d4e5f, 4711, 1024, python, with a comma\n\
         GPU-6f0f4e0c-8a5e-4f0e-9d3f-6a1b2c3d4e5f, 4712, [N/A], [Not Found]\n\
         #owners\n 4711 ana      120 python train.py --lr 1e-4\n\
         #machine\nhostname gpu1\nkernel Linux 6.1.0\ncuda CUDA Version: 12.4\ncores 16\nload 0.50 0.25 0.10 1/200 3000\n\
         uptime 86400.50 100.00\nMemTotal:       32768 kB\nMemAvailable:   16384 kB\n",
        line(old, T4)
    )
}

/// The line is nvidia-smi's.
#[test]
fn an_error_beside_a_gpu_that_answers_is_told() {
    let error = "Unable to determine the device handle for GPU1: 0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU";
    let text = text(false).replace("#processes", &format!("{error}\n#processes"));
    let frame = frame(&text, Timestamp(1_000_000_000));
    assert_eq!((frame.gpus.len(), &frame.driver.status), (1, &DriverState::Ready));
    let [notice] = &frame.notices[..] else { panic!("{:?}", frame.notices) };
    assert!(notice.what.contains(error), "{}", notice.what);
}

#[test]
fn a_t4_with_two_processes_is_read() {
    let frame = frame(&text(false), Timestamp(1_000_000_000));
    let gpu = &frame.gpus[0];
    assert_eq!(gpu.key, "GPU-6f0f4e0c-8a5e-4f0e-9d3f-6a1b2c3d4e5f");
    assert_eq!(gpu.identity.pci_device_id, 0x1eb8.into());
    assert_eq!(gpu.identity.name, "Tesla T4, a test".to_owned().into());
    assert_eq!(gpu.identity.architecture, "Turing".to_owned().into());
    assert_eq!(gpu.vitals.memory_used_bytes, Bytes(2 << 30).into());
    assert_eq!(gpu.vitals.power_w, Watts(27.51).into());
    assert_eq!(gpu.vitals.fan_pct, Reading::Unsupported);
    assert_eq!(gpu.vitals.pstate, 8.into());
    assert_eq!(gpu.throttle.active, vec![ClockReason::SwPowerCap].into());
    assert_eq!(frame.driver.status, DriverState::Ready);
    assert_eq!(frame.driver.versions.driver, "550.54.15".to_owned().into());
    assert_eq!(frame.driver.versions.cuda, "12.4".to_owned().into());
    assert_eq!(frame.host.machine.memory_used_bytes, Bytes(16 << 20).into());
    assert_eq!(frame.host.machine.load_15, 0.1.into());
    let [known, unknown] = &frame.processes[..] else { panic!("{:?}", frame.processes) };
    assert_eq!(known.usage.gpu_memory_bytes, Bytes(1 << 30).into());
    assert_eq!(known.host.user, "ana".to_owned().into());
    assert_eq!(known.host.command, "python train.py --lr 1e-4".to_owned().into());
    assert_eq!(known.started_at, Some(Timestamp(1_000_000_000 - 120_000)));
    assert_eq!(unknown.usage.gpu_memory_bytes, Reading::Unsupported);
    assert_eq!(unknown.visibility, Visibility::Unknown);
}

#[test]
fn an_old_driver_names_no_compute_capability_and_the_catalogue_does() {
    let frame = frame(&text(true), Timestamp(0));
    assert_eq!(
        frame.gpus[0].identity.sm.value().map(ToString::to_string).as_deref(),
        Some("sm_75")
    );
    assert_eq!(frame.gpus[0].identity.mig_mode, Reading::Unsupported);
}

#[test]
fn what_goes_wrong_is_told_in_the_words_of_the_tool() {
    let status = |words: &str| frame(&format!("#gpus\n{words}\n"), Timestamp(0)).driver.status;
    assert_eq!(status("No devices were found"), DriverState::NoDevice);
    let words = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.";
    assert_eq!(status(words), DriverState::Failed { error: words.to_owned() });
    let lost: Vec<_> = T4
        .iter()
        .map(|(name, answer)| match *name {
            "utilization.gpu" => (*name, "[GPU is lost]"),
            "power.draw" => (*name, "[Insufficient Permissions]"),
            _ => (*name, *answer),
        })
        .collect();
    let frame = frame(&format!("#gpus\n{}\n", line(false, &lost)), Timestamp(0));
    assert_eq!(frame.gpus[0].presence, Presence::Lost);
    assert_eq!(frame.gpus[0].vitals.util_gpu_pct, Reading::Failed("GPU is lost".into()));
    assert_eq!(frame.gpus[0].vitals.power_w, Reading::Denied);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(#gpus|#old-gpus|#processes|#owners|#machine|[ -~é]{0,40}|\n){0,20}") {
        frame(&text, Timestamp(0));
    }

    #[test]
    fn a_damaged_answer_harms_no_other(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = text(false).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let read = frame(&String::from_utf8_lossy(&bytes), Timestamp(0));
        prop_assert!(read.gpus.len() <= 2);
    }
}
