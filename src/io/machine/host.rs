//! What the kernel, the device files and the environment of a process say.

use std::path::Path;

use warpscope_probes::Frame;
use warpscope_probes::bounded::{self, Accept};
use warpscope_probes::driver::DriverState;

use super::{SMALL, Variable};
use crate::engine::explain::{Facts, Origin};

/// Folders of LD_LIBRARY_PATH that are looked into.
const FOLDERS: usize = 64;

pub(super) fn facts(facts: &mut Facts, frame: &Frame, variable: Variable<'_>) {
    devices(facts, frame);
    shared_memory(facts);
    main_memory(facts, frame);
    if let Some(visible) = variable("CUDA_VISIBLE_DEVICES") {
        facts.state("visible", if visible.is_empty() { "''" } else { &visible }, Origin::Here);
        let known: Vec<&str> = frame
            .gpus
            .iter()
            .map(|gpu| gpu.identity.uuid.value().map_or("", String::as_str))
            .collect();
        facts.count("visible_wrong", name_nothing(&visible, &known) as f64, Origin::Here);
    }
    if let Some(path) = variable("LD_LIBRARY_PATH") {
        let folders = path.split(':').filter(|folder| !folder.is_empty()).take(FOLDERS);
        let copies = folders.map(Path::new).filter(|folder| has_cuda_library(folder)).count();
        facts.count("loader_copies", copies as f64, Origin::Here);
        facts.state("loader_path", &path, Origin::Here);
    }
}

/// The kernel module and the files through which programs reach the GPUs.
fn devices(facts: &mut Facts, frame: &Frame) {
    let module = bounded::text(Path::new("/proc/driver/nvidia/version"), Accept::Files, SMALL);
    if let Some(version) = module.ok().as_deref().and_then(module_version) {
        facts.state("module_version", version, Origin::Here);
    }
    let is_mismatch = matches!(frame.driver.status, DriverState::VersionMismatch { .. });
    let has_gpu = (0..64).any(|index| Path::new(&format!("/dev/nvidia{index}")).exists());
    let exists = |path: &str| Path::new(path).exists();
    let is_sliced = |gpu: &warpscope_probes::gpu::Gpu| {
        gpu.identity.mig_mode.value() == Some(&true) && gpu.mig.is_empty()
    };
    for (name, is_so) in [
        ("nvml_mismatch", is_mismatch),
        ("gpu_device", has_gpu),
        ("uvm_device", exists("/dev/nvidia-uvm")),
        ("nvswitch", exists("/dev/nvidia-nvswitchctl")),
        ("fabric_manager", exists("/run/nvidia-fabricmanager/nv-fabricmanager.pid")),
        ("mig_without_slice", frame.gpus.iter().any(is_sliced)),
    ] {
        facts.count(name, f64::from(u8::from(is_so)), Origin::Here);
    }
    let groups = std::fs::read_dir("/sys/class/iommu").map_or(0, Iterator::count);
    facts.count("iommu", groups as f64, Origin::Here);
}

fn module_version(text: &str) -> Option<&str> {
    text.split_whitespace().find(|word| {
        word.split('.').count() >= 2 && word.starts_with(|letter: char| letter.is_ascii_digit())
    })
}

fn shared_memory(facts: &mut Facts) {
    if let Ok(shm) = rustix::fs::statvfs("/dev/shm") {
        facts.count("shm_bytes", (shm.f_blocks * shm.f_frsize) as f64, Origin::Here);
        facts.count("shm_free_bytes", (shm.f_bavail * shm.f_frsize) as f64, Origin::Here);
    }
}

/// Memory that programs can have here: of the machine, or of the control group that limits it.
fn main_memory(facts: &mut Facts, frame: &Frame) {
    let machine = &frame.host.machine;
    if let Some(total) = machine.memory_total_bytes.value() {
        facts.count("host_total_bytes", total.0 as f64, Origin::Here);
        if let Some(used) = machine.memory_used_bytes.value() {
            facts.count("host_free_bytes", total.0.saturating_sub(used.0) as f64, Origin::Here);
        }
    }
    let events = Path::new("/sys/fs/cgroup/memory.events");
    let events = bounded::text(events, Accept::Files, SMALL).unwrap_or_default();
    if let Some(kills) = value_of(&events, "oom_kill") {
        facts.count("cgroup_oom_kills", kills, Origin::Here);
    }
}

/// The number behind a word that begins a line.
fn value_of(text: &str, key: &str) -> Option<f64> {
    let words = text.lines().map(str::split_whitespace);
    words
        .filter_map(|mut line| (line.next()? == key).then(|| line.next()?.parse().ok()))
        .flatten()
        .next()
}

/// How many entries of CUDA_VISIBLE_DEVICES name no GPU; CUDA ignores every entry behind the first of them.
fn name_nothing(visible: &str, uuids: &[&str]) -> usize {
    let is_wrong = |entry: &str| match entry.trim() {
        name if name.starts_with("MIG-") => false,
        name if name.starts_with("GPU-") => !uuids.iter().any(|uuid| uuid.starts_with(name)),
        number => number.parse::<usize>().map_or(true, |index| index >= uuids.len()),
    };
    visible.split(',').filter(|entry| is_wrong(entry)).count()
}

/// Whether the loader would find cuBLAS or cuDNN in a folder before a program's own copy.
fn has_cuda_library(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().take(10_000);
    let names = entries.filter_map(Result::ok).map(|entry| entry.file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .any(|name| ["libcublas.so", "libcudnn.so"].iter().any(|start| name.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use warpscope_probes::units::Bytes;

    use super::*;

    #[test]
    fn entries_that_name_no_gpu_are_counted() {
        let uuids = ["GPU-0aa1", "GPU-1bb2"];
        for (visible, want) in [
            ("0,1", 0),
            ("1", 0),
            ("2", 1),
            ("", 1),
            ("-1", 1),
            ("NoDevFiles", 1),
            ("GPU-1b", 0),
            ("GPU-ffff,0", 1),
            ("MIG-12", 0),
        ] {
            assert_eq!(name_nothing(visible, &uuids), want, "{visible}");
        }
    }

    #[test]
    fn memory_is_what_the_frame_tells_of_it() {
        let mut frame = Frame::default();
        frame.host.machine.memory_total_bytes = Bytes(8 << 30).into();
        frame.host.machine.memory_used_bytes = Bytes(3 << 30).into();
        let mut facts = Facts::default();
        main_memory(&mut facts, &frame);
        for (name, gib) in [("host_total_bytes", 8.0), ("host_free_bytes", 5.0)] {
            assert_eq!(facts.number(name), Some(gib * f64::from(1 << 30)), "{name}");
        }
    }

    #[test]
    fn the_number_of_a_key_is_read() {
        assert_eq!(value_of("oom 3\noom_kill 2\noom_group_kill 0\n", "oom_kill"), Some(2.0));
        assert_eq!(value_of("oom_kill max", "oom_kill"), None);
    }

    #[test]
    fn the_version_of_a_module_is_the_first_number_with_a_dot() {
        let line =
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.158.01  Release Build";
        assert_eq!(module_version(line), Some("570.158.01"));
    }
}
