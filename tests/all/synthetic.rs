//! Builds the synthetic recordings of `tests/frames`. Their values are made up, move by simple waves
//! and were measured by nobody; host and file names say so. Device names, memory sizes and limits are
//! those of the products, so that columns have their true widths.

use warpscope_kernels::Sm;
use warpscope_probes::driver::{Driver, DriverState};
use warpscope_probes::gpu::{ClockReason, Gpu, MigInstance, NvLink, Presence};
use warpscope_probes::host::{CpuFeature, Host};
use warpscope_probes::process::{Process, Visibility};
use warpscope_probes::units::*;
use warpscope_probes::{Frame, Notice, Origin, Reading, SCHEMA, Severity, Timestamp};

/// 2026-11-21T10:00:00Z.
const START: u64 = 1_795_255_200_000;
const MIB: u64 = 1 << 20;

type Build = fn() -> Vec<Frame>;

/// File name, and the frames in it.
pub(crate) const RECORDINGS: &[(&str, Build)] = &[
    ("synthetic-16.jsonl", sixteen),
    ("synthetic-h100x8.jsonl", h100x8),
    ("synthetic-hosts.jsonl", hosts),
    ("synthetic-none.jsonl", none),
    ("synthetic-t4.jsonl", t4),
];

/// What distinguishes one kind of board.
struct Board {
    name: &'static str,
    architecture: &'static str,
    sm: Sm,
    sm_count: u32,
    device_id: u32,
    memory_mib: u64,
    limit_w: f64,
    clock_max_mhz: u32,
    memory_clock_mhz: u32,
    pcie: (u32, u32),
}

const H100: Board = Board {
    name: "NVIDIA H100 80GB HBM3",
    architecture: "Hopper",
    sm: Sm::new(9, 0),
    sm_count: 132,
    device_id: 0x2330,
    memory_mib: 81_559,
    limit_w: 700.0,
    clock_max_mhz: 1980,
    memory_clock_mhz: 2619,
    pcie: (5, 16),
};

const T4: Board = Board {
    name: "Tesla T4",
    architecture: "Turing",
    sm: Sm::new(7, 5),
    sm_count: 40,
    device_id: 0x1eb8,
    memory_mib: 15_360,
    limit_w: 70.0,
    clock_max_mhz: 1590,
    memory_clock_mhz: 5001,
    pcie: (3, 16),
};

/// A wave between 0 and 1 that no platform's mathematics can change: a triangle, with a step beside it.
fn wave(at: u64, period: u64, shift: u64) -> f64 {
    let place = (at + shift) % period;
    let half = period / 2;
    let up = if place < half { place } else { period - place };
    up as f64 / half as f64
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn percent(value: f64) -> Reading<Percent> {
    Percent((value.clamp(0.0, 1.0) * 100.0).round() as f32).into()
}

fn frame(seq: u64) -> Frame {
    let mut host = Host::default();
    let machine = &mut host.machine;
    machine.hostname = "synthetic".to_owned().into();
    machine.kernel = "Linux 6.8.0".to_owned().into();
    machine.cpu_name = "Synthetic CPU".to_owned().into();
    machine.cpu_cores = 8.into();
    machine.cpu_pct = percent(0.1 + 0.5 * wave(seq, 20, 3));
    machine.memory_total_bytes = Bytes(64 * 1024 * MIB).into();
    machine.memory_used_bytes = Bytes((12 * 1024 + seq * 16) * MIB).into();
    machine.swap_total_bytes = Bytes(0).into();
    machine.swap_used_bytes = Bytes(0).into();
    machine.load_1 = rounded(1.0 + 3.0 * wave(seq, 40, 0)).into();
    machine.load_5 = 1.5.into();
    machine.load_15 = 1.2.into();
    machine.uptime_s = Seconds(86_400.0 + seq as f64).into();
    host.cpu_each_pct = (0..8)
        .map(|core| Percent((100.0 * wave(seq, 12 + core, core * 5)).round() as f32))
        .collect();
    host.cpu_features =
        [("avx2", true), ("avx512f", true), ("avx512_bf16", false), ("amx_int8", false)]
            .map(|(id, present)| CpuFeature { id: id.to_owned(), present })
            .to_vec();
    Frame {
        schema: SCHEMA,
        seq,
        at: Timestamp(START + seq * 1000),
        interval_s: 1.0,
        host,
        ..Frame::default()
    }
}

fn driver() -> Driver {
    let mut driver = Driver { status: DriverState::Ready, ..Driver::default() };
    driver.versions.driver = "580.82.07".to_owned().into();
    driver.versions.cuda = "13.0".to_owned().into();
    driver.versions.nvml = "13.580.82.07".to_owned().into();
    driver
}

fn gpu(board: &Board, index: u32, seq: u64) -> Gpu {
    let key = format!("GPU-00000000-0000-0000-0000-{index:012}");
    let mut gpu = Gpu { index, key: key.clone(), presence: Presence::Present, ..Gpu::default() };
    let identity = &mut gpu.identity;
    identity.name = board.name.to_owned().into();
    identity.uuid = key.into();
    identity.pci_bus_id = format!("00000000:{:02X}:00.0", 0x10 + index * 8).into();
    identity.pci_device_id = board.device_id.into();
    identity.architecture = board.architecture.to_owned().into();
    identity.sm = board.sm.into();
    identity.sm_count = board.sm_count.into();
    identity.compute_mode = "default".to_owned().into();
    identity.persistence = true.into();
    identity.ecc_mode = true.into();
    vitals(&mut gpu, board, seq);
    gpu
}

fn vitals(gpu: &mut Gpu, board: &Board, seq: u64) {
    let busy = wave(seq, 24 + u64::from(gpu.index) * 4, u64::from(gpu.index) * 7);
    let vitals = &mut gpu.vitals;
    let total = board.memory_mib * MIB;
    let used = (board.memory_mib as f64 * (0.05 + 0.85 * busy)) as u64 * MIB;
    vitals.util_gpu_pct = percent(busy);
    vitals.util_memory_pct = percent(busy * 0.6);
    vitals.util_encoder_pct = percent(0.0);
    vitals.util_decoder_pct = percent(0.0);
    vitals.memory_total_bytes = Bytes(total).into();
    vitals.memory_used_bytes = Bytes(used).into();
    vitals.memory_free_bytes = Bytes(total - used).into();
    vitals.temperature_c = Celsius((32.0 + 40.0 * busy).round() as f32).into();
    vitals.power_w = Watts(rounded(board.limit_w * (0.12 + 0.88 * busy))).into();
    vitals.power_limit_w = Watts(board.limit_w).into();
    vitals.energy_j = Joules(1e6 + seq as f64 * rounded(board.limit_w * 0.5)).into();
    vitals.clock_sm_mhz =
        MegaHertz(345 + (busy * f64::from(board.clock_max_mhz - 345)) as u32).into();
    vitals.clock_graphics_mhz = vitals.clock_sm_mhz.clone();
    vitals.clock_memory_mhz = MegaHertz(board.memory_clock_mhz).into();
    vitals.clock_sm_max_mhz = MegaHertz(board.clock_max_mhz).into();
    vitals.clock_graphics_max_mhz = MegaHertz(board.clock_max_mhz).into();
    vitals.clock_memory_max_mhz = MegaHertz(board.memory_clock_mhz).into();
    vitals.pstate = if busy > 0.1 { 0u8 } else { 8 }.into();
    vitals.pcie_gen = if busy > 0.1 { board.pcie.0 } else { 1 }.into();
    vitals.pcie_gen_max = board.pcie.0.into();
    vitals.pcie_width = board.pcie.1.into();
    vitals.pcie_width_max = board.pcie.1.into();
    vitals.pcie_rx_bps = BytesPerSecond((busy * 4e9).round()).into();
    vitals.pcie_tx_bps = BytesPerSecond((busy * 1e9).round()).into();
    vitals.ecc_corrected_volatile = 0u64.into();
    vitals.ecc_uncorrected_volatile = 0u64.into();
    let reason = match busy {
        busy if busy < 0.1 => vec![ClockReason::Idle],
        busy if busy > 0.9 => vec![ClockReason::SwPowerCap],
        _ => vec![],
    };
    gpu.throttle.active = reason.into();
}

fn process(pid: u32, gpu: u32, user: &str, command: &str, memory_mib: u64) -> Process {
    let key = format!("GPU-00000000-0000-0000-0000-{gpu:012}");
    let mut process =
        Process { pid, gpu: key, visibility: Visibility::Visible, ..Process::default() };
    process.usage.gpu_memory_bytes = Bytes(memory_mib * MIB).into();
    process.usage.sm_pct = Percent(40.0).into();
    process.host.user = user.to_owned().into();
    let name = command.split([' ', '\u{1b}']).next().unwrap_or_default();
    process.host.name = name.to_owned().into();
    process.host.command = command.to_owned().into();
    process.host.cpu_pct = Percent(100.0).into();
    process.host.memory_bytes = Bytes(4096 * MIB).into();
    process.host.started = "2026-11-21T09:00:00Z".to_owned().into();
    process.started_at = Some(Timestamp(START - 3_600_000));
    process
}

fn hopper_extras(gpu: &mut Gpu, seq: u64) {
    let busy = wave(seq, 24 + u64::from(gpu.index) * 4, u64::from(gpu.index) * 7);
    gpu.vitals.temperature_memory_c = Celsius((40.0 + 45.0 * busy).round() as f32).into();
    gpu.vitals.nvlink_rx_bps = BytesPerSecond((busy * 9e10).round()).into();
    gpu.vitals.nvlink_tx_bps = BytesPerSecond((busy * 8e10).round()).into();
    gpu.vitals.gpm_sm_active_pct = percent(busy * 0.95);
    gpu.vitals.gpm_sm_occupancy_pct = percent(busy * 0.5);
    gpu.vitals.gpm_tensor_pct = percent(busy * 0.7);
    gpu.vitals.gpm_tensor_half_pct = percent(busy * 0.7);
    gpu.vitals.gpm_dram_pct = percent(busy * 0.6);
    gpu.identity.mig_mode = (gpu.index == 7).into();
    if gpu.index < 2 {
        let link =
            |link| NvLink { link, active: true, version: Some(4), remote: None, errors: Some(0) };
        gpu.nvlinks = (0..18).map(link).collect();
    }
    if gpu.index == 7 {
        gpu.mig = (0..2).map(mig).collect();
        gpu.vitals.util_gpu_pct = Reading::Unsupported;
    }
}

fn mig(index: u32) -> MigInstance {
    MigInstance {
        index,
        name: "MIG 3g.40gb".to_owned(),
        uuid: Some(format!("MIG-00000000-0000-0000-0000-{index:012}")),
        gpu_instance: Some(index + 1),
        compute_instance: Some(0),
        sm_count: Some(60),
        memory_total_bytes: Some(Bytes(40_448 * MIB)),
        memory_used_bytes: Some(Bytes(u64::from(index + 1) * 4096 * MIB)),
    }
}

fn h100x8() -> Vec<Frame> {
    (1..=60).map(h100x8_frame).collect()
}

fn h100x8_frame(seq: u64) -> Frame {
    let mut frame = frame(seq);
    frame.driver = driver();
    frame.gpus = (0..8).map(|index| gpu(&H100, index, seq)).collect();
    frame.gpus.iter_mut().for_each(|gpu| hopper_extras(gpu, seq));
    let trainer = |gpu| process(4000 + gpu, gpu, "ada", "python train.py --bf16 --fsdp", 60_000);
    frame.processes = (0..6).map(trainer).collect();
    frame.processes.push(process(5001, 7, "grace", "vllm serve --dtype bfloat16", 12_000));
    let mut outside = process(6001, 7, "", "", 4000);
    outside.visibility = Visibility::OtherNamespace;
    outside.host = Default::default();
    frame.processes.push(outside);
    frame
}

/// One T4: a denied value, a late one, and processes named to take over a terminal.
fn t4() -> Vec<Frame> {
    let one = |seq| {
        let mut frame = frame(seq);
        frame.driver = driver();
        let mut gpu = gpu(&T4, 0, seq);
        gpu.vitals.fan_pct = Reading::Unsupported;
        gpu.vitals.energy_j = Reading::Denied;
        gpu.vitals.pcie_replays = Reading::Failed("NVML error 999".into());
        if seq == 3 {
            gpu.make_late();
        }
        frame.gpus.push(gpu);
        frame.processes = vec![
            process(101, 0, "mallory", "evil\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m --x", 512),
            process(102, 0, "mallory", "r\u{202e}txt.exe\r\nsecond line", 256),
            process(103, 0, "ada", "python -c 'print(\"雪\")'", 1024),
        ];
        frame
    };
    (1..=5).map(one).collect()
}

/// Twelve machines of two GPUs at one moment: one has lost them, one is held back by heat.
fn hosts() -> Vec<Frame> {
    let one = |number: u64| {
        let mut frame = frame(1);
        frame.seq = 1;
        frame.origin = Origin::Remote { host: format!("synthetic{number}") };
        frame.driver = driver();
        let board = if number.is_multiple_of(3) { &T4 } else { &H100 };
        frame.gpus =
            (0..2).map(|index| gpu(board, index, 3 * number + 7 * u64::from(index))).collect();
        for gpu in &mut frame.gpus {
            gpu.key = format!("{}-{number}", gpu.key);
            if number == 4 {
                gpu.throttle.active = vec![ClockReason::HwThermal].into();
            }
        }
        if number == 9 {
            let what = "synthetic9 is not connected: Connection refused.".to_owned();
            let remedy = "`ssh synthetic9` has to work without a question.".to_owned();
            frame.notices.push(Notice {
                id: Notice::HOST_LOST.to_owned(),
                severity: Severity::Error,
                what,
                remedy,
            });
            frame.gpus.iter_mut().for_each(Gpu::make_late);
        }
        frame.processes =
            vec![process(100, 0, ["ada", "grace"][number as usize % 2], "python train.py", 512)];
        for process in &mut frame.processes {
            process.gpu = frame.gpus[0].key.clone();
        }
        frame
    };
    (1..=12).map(one).collect()
}

fn sixteen() -> Vec<Frame> {
    let one = |seq| {
        let mut frame = frame(seq);
        frame.driver = driver();
        frame.gpus = (0..16).map(|index| gpu(&T4, index, seq)).collect();
        frame.gpus[5].presence = Presence::Lost;
        frame.gpus[5].make_late();
        frame
    };
    (1..=3).map(one).collect()
}

/// No driver at all.
fn none() -> Vec<Frame> {
    let one = |seq| {
        let mut frame = frame(seq);
        frame.driver.status = DriverState::LibraryMissing;
        frame.notices.push(Notice {
            id: "driver.library_missing".to_owned(),
            severity: Severity::Warning,
            what: "libnvidia-ml.so.1 is not on this machine.".to_owned(),
            remedy: "Install the NVIDIA driver, or look at any GPU as what-if with --gpu."
                .to_owned(),
        });
        frame
    };
    (1..=3).map(one).collect()
}
