//! The Bench tab with GPUs: what it shows of a state that was put together here. No figure in this file was measured; every GPU
//! is called synthetic.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use warpscope::features::bench;
use warpscope::features::bench::device::Task;
use warpscope::features::bench::devices::Devices;
use warpscope::shell::draw::{Appearance, draw};
use warpscope::shell::tabs::Tab;
use warpscope::shell::update::update;
use warpscope::shell::{App, Cmd, Msg};
use warpscope::widgets::svg;
use warpscope::widgets::theme::ColorDepth;
use warpscope::worker::scheduler::{BenchMode, Budget};
use warpscope::worker::tuning::{Choice, Situation, TuningCache};
use warpscope::worker::{
    CaseReport, Command, Death, Ending, FirstBad, Hello, Holding, KernelReport, ModelSize,
    PathDtype, PathReport, RangeReport, SampleClocks, Update, WorkerEvent,
};
use warpscope_kernels::Sm;
use warpscope_kernels::gpu::{DeviceFacts, Limiter, Route, Shape};
use warpscope_kernels::model::{golden, text};
use warpscope_probes::gpu::{ClockReason, Gpu, Presence};
use warpscope_probes::process::{Process, ProcessKind};
use warpscope_probes::units::{Bytes, Celsius, MegaHertz, Percent, Watts};
use warpscope_probes::{Frame, Reading, Timestamp};

use crate::screens::{appearance, empty, plain};

fn key(index: u32) -> String {
    format!("GPU-5e17e71c-0000-0000-0000-{index:012}")
}

fn gpu(index: u32) -> Gpu {
    let mut gpu = Gpu { index, key: key(index), presence: Presence::Present, ..Gpu::default() };
    gpu.identity.name = Reading::Value("synthetic GPU".into());
    gpu.identity.compute_mode = Reading::Value("default".into());
    gpu.identity.mig_mode = Reading::Value(false);
    gpu.vitals.util_gpu_pct = Reading::Value(Percent(0.0));
    gpu.vitals.memory_free_bytes = Reading::Value(Bytes(70 << 30));
    gpu.vitals.memory_used_bytes = Reading::Value(Bytes(1 << 30));
    gpu.vitals.power_w = Reading::Value(Watts(111.0));
    gpu.vitals.temperature_c = Reading::Value(Celsius(44.0));
    gpu.vitals.clock_sm_mhz = Reading::Value(MegaHertz(1111));
    gpu.throttle.active = Reading::Value(vec![ClockReason::SwPowerCap]);
    gpu
}

/// A dashboard to which time passes second by second.
struct Scene {
    app: App,
    gpus: Vec<Gpu>,
    processes: Vec<Process>,
    second: u64,
}

impl Scene {
    fn new(gpus: u32) -> Self {
        let mut app = empty();
        app.tab = Tab::Bench;
        app.tabs.bench.devices = Devices::new(BenchMode::Auto, Budget::default());
        let gpus = (0..gpus).map(gpu).collect();
        Self { app, gpus, processes: Vec::new(), second: 1_000_000 }
    }

    /// Frames for so many seconds; what was asked of the children meanwhile.
    fn pass(&mut self, seconds: u64) -> Vec<(String, Task)> {
        let mut tasks = Vec::new();
        for _ in 0..seconds {
            self.second += 1;
            let frame = Frame {
                schema: 1,
                seq: self.second,
                at: Timestamp(self.second * 1000),
                gpus: self.gpus.clone(),
                processes: self.processes.clone(),
                ..Frame::default()
            };
            tasks.extend(self.tell(Msg::Frame(Box::new(frame))));
        }
        tasks
    }

    fn tell(&mut self, msg: Msg) -> Vec<(String, Task)> {
        let gpu = |cmd| match cmd {
            Cmd::Bench(bench::Cmd::Worker(key, task)) if key.starts_with("GPU-") => {
                Some((key, task))
            }
            _ => None,
        };
        update(&mut self.app, msg).into_iter().filter_map(gpu).collect()
    }

    fn said(&mut self, index: u32, event: WorkerEvent) -> Vec<(String, Task)> {
        self.tell(bench::Msg::Worker(key(index), Update::Event(Box::new(event))).into())
    }

    fn press(&mut self, key: &str) -> Vec<(String, Task)> {
        self.tell(Msg::Key(key.parse().expect("is a key")))
    }

    /// A pulse of a child in which everything is measured.
    fn measured(&mut self, index: u32, simulated: bool) {
        let hello = Hello { schema: 1, pid: 70 + index, device: "gpu".into(), ..Hello::default() };
        self.said(index, WorkerEvent::Hello(hello));
        for event in events(index, simulated) {
            self.said(index, event);
        }
        self.finish(&key(index), 50.0);
    }

    /// Ends a burst that took so many milliseconds of the GPU's time.
    fn finish(&mut self, key: &str, mut ms: f64) {
        while self.app.tabs.bench.devices.get(key).is_some_and(|device| device.is_measuring()) {
            let event = WorkerEvent::Finished { busy_ns: std::mem::take(&mut ms) * 1e6 };
            self.tell(bench::Msg::Worker(key.to_owned(), Update::Event(Box::new(event))).into());
        }
    }

    fn drawn(&self, appearance: &Appearance, (width, height): (u16, u16)) -> Buffer {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        draw(&self.app, appearance, area, &mut buffer);
        buffer
    }

    fn text(&self, size: (u16, u16)) -> String {
        svg::text(&self.drawn(&plain(), size))
    }
}

fn holding(index: u32, simulated: bool) -> Holding {
    let device = DeviceFacts {
        name: "synthetic GPU".into(),
        sm: Sm::new(8, 0),
        sms: 111,
        shared_per_block: 48 << 10,
        shared_per_block_optin: 99 << 10,
        l2_bytes: 11 << 20,
        memory_bytes: 70 << 30,
        driver_cuda: 12_080,
        simulated,
        tuned: warpscope_kernels::gpu::TunedConfigs::default(),
    };
    let images = ["alu", "attn", "gemm", "gemv", "mem", "nf4", "w4"];
    Holding {
        device,
        uuid: key(index),
        context_bytes: Some(111 << 20),
        arena_bytes: 11 << 20,
        arena_cap_bytes: 256 << 20,
        busy_ns: 5e7,
        images: images.map(|family| (family.into(), "cubin sm_80".into())).into(),
    }
}

/// Kernels bound by memory, with their share of 1 TB/s.
const MEMORY: &[(&str, f64)] = &[
    ("mem.read", 1.0),
    ("gemv.f16", 0.9),
    ("gemv.bf16", 0.88),
    ("gemv.f32", 0.95),
    ("w4.f16", 0.6),
    ("nf4.f16", 0.5),
];

/// Kernels bound by arithmetic, with their rates.
const ARITHMETIC: &[(&str, f64)] = &[
    ("alu.ffma", 1e13),
    ("alu.mma.f16", 1e14),
    ("alu.mma.bf16", 1e14),
    ("alu.mma.f16acc16", 1e14),
    ("alu.mma.s8", 2e14),
    ("gemm.f32", 8e12),
    ("gemm.f16", 5e13),
    ("gemm.f16acc16", 6e13),
    ("gemm.bf16", 5e13),
    ("gemm.s8", 1e14),
];

/// Round numbers that no GPU ever gave.
fn events(index: u32, simulated: bool) -> Vec<WorkerEvent> {
    let mut events = vec![WorkerEvent::Holding(holding(index, simulated))];
    for (kernel, share) in MEMORY {
        events.push(kernel_report(kernel, Limiter::Memory, 1e12 * share));
    }
    for (kernel, rate) in ARITHMETIC {
        events.push(kernel_report(kernel, Limiter::Arithmetic, *rate));
    }
    events.push(absent("gemm.e4m3", "sm_80 has no fp8 tensor cores"));
    for (at, dtype) in
        [PathDtype::Fp32, PathDtype::Fp16, PathDtype::Bf16, PathDtype::Int4].into_iter().enumerate()
    {
        for profile in ["clean", "glm4"] {
            events.push(WorkerEvent::Report(Box::new(numeric(profile, dtype))));
        }
        events.push(WorkerEvent::Report(Box::new(speed(dtype, 1000.0 * (at + 1) as f64))));
    }
    for (path, kernel, bad, survives) in [
        ("gemv.f16", "gemv.f16", Some(16), true),
        ("gemv.f16 fp32 out", "gemv.f16", None, true),
        ("gemv.bf16", "gemv.bf16", None, true),
        ("awq.f16", "awq.f16", Some(16), false),
    ] {
        events.push(WorkerEvent::Range(RangeReport {
            path: path.into(),
            kernel: kernel.into(),
            first_bad_log2: bad,
            tried_log2: 24,
            survives_cancelling: Some(survives),
        }));
    }
    for (case, wrong) in [("17×33×72 integers", None), ("1×1×8 integers", None)] {
        let error = Some(1.1e-4);
        let kernel = "gemm.f16".into();
        events.push(WorkerEvent::Case(CaseReport {
            kernel,
            case: case.into(),
            error,
            wrong,
            note: None,
        }));
    }
    events
}

fn kernel_report(kernel: &str, limiter: Limiter, rate: f64) -> WorkerEvent {
    let (m, n, k) = if limiter == Limiter::Memory { (1, 4096, 4096) } else { (2048, 2048, 2048) };
    let (bytes, flops) =
        (f64::from(n) * f64::from(k) * 2.0, 2.0 * f64::from(m) * f64::from(n) * f64::from(k));
    let work = if limiter == Limiter::Memory { bytes } else { flops };
    WorkerEvent::Kernel(Box::new(KernelReport {
        kernel: kernel.into(),
        route: Route::Native { by: "synthetic".into() },
        shape: Shape { m, n, k, ..Shape::default() },
        variant: None,
        samples_ns: [1.0, 1.01, 0.99].map(|factor| factor * work / rate * 1e9).into(),
        bytes,
        flops,
        limiter,
        l2_resident: false,
        output_hash: Some("0123456789abcdef".into()),
        family: kernel.split('.').next().map(str::to_owned),
        image: "feedface".repeat(8),
        sm_mhz: Some(1111.0),
        clocks: SampleClocks::of(vec![Some(1111.0), Some(1111.0), Some(900.0)], &mut Some(1111.0)),
        convergence: None,
        strain: None,
    }))
}

fn absent(kernel: &str, why: &str) -> WorkerEvent {
    WorkerEvent::Kernel(Box::new(KernelReport {
        kernel: kernel.into(),
        route: Route::Absent { why: why.into() },
        shape: Shape::default(),
        variant: None,
        samples_ns: Vec::new(),
        bytes: 0.0,
        flops: 0.0,
        limiter: Limiter::Arithmetic,
        l2_resident: false,
        output_hash: None,
        family: None,
        image: String::new(),
        sm_mhz: None,
        clocks: SampleClocks::default(),
        convergence: None,
        strain: None,
    }))
}

fn nothing(dtype: PathDtype, profile: &str) -> PathReport {
    PathReport {
        dtype,
        path: None,
        profile: profile.into(),
        device: "gpu".into(),
        tokens: Vec::new(),
        expected_tokens: Vec::new(),
        text: String::new(),
        complete: true,
        non_finite: 0,
        first_bad: None,
        error: None,
        error_limit: 1e-2,
        decode_tokens_per_s: None,
        decode_mad_tokens_per_s: None,
        prefill_gflop_per_s: None,
        gb_per_s: None,
        decode_bytes: None,
        read_gb_per_s: None,
        read_bandwidth_share: None,
        cache_resident: None,
    }
}

/// What the arithmetic of each path comes to by its definition; the CPU's kernels show the same.
fn numeric(profile: &str, dtype: PathDtype) -> PathReport {
    let expected_tokens = golden().tokens();
    let overflows = profile == "glm4" && matches!(dtype, PathDtype::Fp16 | PathDtype::Int4);
    let tokens = if overflows { vec![0; expected_tokens.len()] } else { expected_tokens.clone() };
    let place = FirstBad { layer: 1, op: "o_proj".into(), token: 0, channel: 117 };
    PathReport {
        text: text(&tokens),
        tokens,
        expected_tokens,
        non_finite: u64::from(overflows),
        first_bad: overflows.then_some(place),
        error: (!overflows).then_some(1.1e-3),
        // A stand-in may well say how long it took; nobody wants to know.
        decode_tokens_per_s: Some(11.0),
        ..nothing(dtype, profile)
    }
}

fn speed(dtype: PathDtype, rate: f64) -> PathReport {
    PathReport {
        decode_tokens_per_s: Some(rate),
        prefill_gflop_per_s: Some(rate * 10.0),
        gb_per_s: Some(rate / 5.0),
        cache_resident: Some(false),
        ..nothing(dtype, "clean")
    }
}

#[test]
fn an_idle_gpu_is_asked_after_ten_seconds_and_only_while_the_tab_is_open() {
    let mut scene = Scene::new(1);
    assert!(scene.pass(10).is_empty());
    let asked = scene.pass(2);
    let [(gpu, Task::Send(requests))] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(*gpu, key(0));
    assert!(matches!(&requests[0], Command::Acquire(how) if how.arena_bytes == Some(256 << 20)));
    assert!(scene.text((80, 24)).contains("RUNNING"));
    assert_eq!(scene.press("1"), [(key(0), Task::End)], "leaving the tab gives everything back");
    assert!(scene.pass(60).is_empty());
    scene.press("3");
    assert!(!scene.pass(12).is_empty());
    assert_eq!(scene.press("b"), [(key(0), Task::End)], "b pauses");
    assert!(scene.pass(60).is_empty());
}

#[test]
fn a_gpu_is_measured_once_on_request_where_measuring_is_off() {
    let asked = |gpu: fn(&mut Gpu)| {
        let mut scene = Scene::new(1);
        gpu(&mut scene.gpus[0]);
        scene.app.tabs.bench.devices = Devices::new(BenchMode::Off, Budget::default());
        assert!(scene.pass(20).is_empty());
        scene.press("m");
        (scene.text((120, 36)), scene.pass(12).len())
    };
    let (text, tasks) = asked(|_| {});
    assert!(text.contains("It is measured as soon as it has been idle"), "{text}");
    assert_eq!(tasks, 1);
    let (text, tasks) = asked(|gpu| gpu.identity.mig_mode = Reading::Value(true));
    assert!(text.contains("It cannot be measured now: cut into MIG instances."), "{text}");
    assert_eq!(tasks, 0);
}

#[test]
fn variants_chosen_before_run_in_pulses_until_something_changes() {
    let choice = Choice {
        kernel: "gemm.f16".into(),
        shape: Shape { m: 2048, n: 2048, k: 2048, ..Shape::default() },
        usual: "small".into(),
        usual_ns: None,
        candidates: Vec::new(),
        chosen: Some("large".into()),
    };
    let mut cache = TuningCache::default();
    let situation = Situation::of(&gpu(0), None);
    let kept = cache.keep(&situation, ("synthetic GPU", 1), std::slice::from_ref(&choice));
    kept.expect("is kept");
    let mut scene = Scene::new(1);
    scene.app.tabs.bench.devices = Devices::new(BenchMode::Auto, Budget::default()).tuned(cache);
    scene.app.tabs.bench.devices.see(true);
    let picked = |asked: &[(String, Task)]| {
        let [(_, Task::Send(requests))] = asked else { panic!("{asked:?}") };
        let Command::Acquire(hold) = &requests[0] else { panic!("{requests:?}") };
        hold.tuned.choose(&choice.kernel, choice.shape).map(str::to_owned)
    };
    assert_eq!(picked(&scene.pass(12)).as_deref(), Some("large"));
    scene.press("1");
    scene.gpus[0].vitals.power_limit_w = Reading::Value(Watts(333.0));
    scene.press("3");
    assert_eq!(picked(&scene.pass(12)), None, "another power limit");
}

#[test]
fn whoever_comes_is_given_way_to_also_while_the_screen_is_frozen() {
    let mut scene = Scene::new(1);
    scene.pass(12);
    scene.measured(0, false);
    scene.press("space");
    let who = Process { pid: 4242, gpu: key(0), kind: ProcessKind::Compute, ..Process::default() };
    scene.processes.push(who);
    assert_eq!(scene.pass(1), [(key(0), Task::End)]);
    let text = scene.text((80, 24));
    assert!(text.contains("busy: process 4242 computes on it"), "{text}");
}

#[test]
fn its_own_child_is_nobody_else() {
    let mut scene = Scene::new(1);
    scene.pass(12);
    scene.measured(0, false);
    let own = Process { pid: 70, gpu: key(0), kind: ProcessKind::Compute, ..Process::default() };
    scene.processes.push(own);
    scene.gpus[0].vitals.util_gpu_pct = Reading::Value(Percent(30.0));
    let asked = scene.pass(4);
    assert!(matches!(&asked[..], [(_, Task::Send(_))]), "{asked:?}");
}

#[test]
fn a_death_is_told_and_nothing_is_started_again_at_once() {
    let mut scene = Scene::new(1);
    scene.pass(12);
    let sentence = "dynamic range of everything: the process died of SIGSEGV".to_owned();
    let death =
        Death { doing: None, ending: Ending::Signal { signal: 11 }, sentence, given_up: true };
    let tasks = scene.tell(bench::Msg::Worker(key(0), Update::Died(death)).into());
    assert_eq!(tasks, [(key(0), Task::End)]);
    assert!(scene.pass(29).is_empty());
    let text = scene.text((120, 36));
    assert!(text.contains("its process died 29s ago: dynamic range of everything"), "{text}");
}

#[test]
fn no_more_than_two_gpus_are_measured_at_the_same_moment_and_all_come_to_it() {
    let mut scene = Scene::new(8);
    let mut asked = std::collections::BTreeSet::new();
    for _ in 0..60 {
        let tasks = scene.pass(1);
        let now: Vec<_> = tasks.iter().filter(|(_, task)| matches!(task, Task::Send(_))).collect();
        assert!(now.len() <= 2, "{now:?}");
        for (key, _) in now {
            asked.insert(key.clone());
            scene.finish(key, 40.0);
        }
    }
    assert_eq!(asked.len(), 8);
}

#[test]
fn a_stand_in_is_asked_for_no_speeds_and_shows_none() {
    let mut scene = Scene::new(1);
    scene.pass(12);
    scene.measured(0, true);
    for _ in 0..60 {
        for (_, task) in scene.pass(10) {
            let Task::Send(requests) = task else { continue };
            let long = |r: &Command| matches!(r, Command::Decode { model: ModelSize::M1, .. });
            assert!(!requests.iter().any(long), "{requests:?}");
        }
        scene.finish(&key(0), 40.0);
    }
    for size in [(80, 24), (120, 36), (200, 60)] {
        let text = scene.text(size);
        assert!(text.contains("simulated"), "{text}");
        for unit in ["FLOP/s", "GB/s", "TB/s", "roofline", "1.0k", "2.0k"] {
            assert!(!text.contains(unit), "{unit}\n{text}");
        }
        assert!(text.contains("32/32") && text.contains("not finite"), "{text}");
    }
}

/// What somebody asks of a tab that lists four of eleven paths.
#[test]
fn a_key_lists_and_measures_every_path_under_every_profile() {
    let mut scene = Scene::new(1);
    scene.pass(12);
    scene.measured(0, false);
    let selected = |scene: &Scene| {
        let bench = &scene.app.tabs.bench;
        let (_, device) = bench.selected_gpu(&scene.app.shared.frame).expect("is selected");
        device.lines()[bench.cursor.at].path().map(|(profile, way)| (profile, way.id))
    };
    scene.press("down");
    assert_eq!(selected(&scene), Some(("clean", "bf16")));
    let usual = scene.app.tabs.bench.lines(&scene.app.shared.frame);
    scene.press("a");
    assert_eq!(scene.app.tabs.bench.lines(&scene.app.shared.frame), usual - 8 + 55);
    assert_eq!(selected(&scene), Some(("clean", "bf16")), "the cursor stays on its line");
    let text = scene.text((120, 36));
    assert!(text.contains("f16.acc16 clean") && text.contains("nf4.bf16 clean"), "{text}");
    scene.press("p");
    let mut asked = std::collections::BTreeSet::new();
    for _ in 0..90 {
        for (_, task) in scene.pass(10) {
            let Task::Send(requests) = task else { continue };
            asked.extend(requests.into_iter().filter_map(|request| match request {
                Command::Decode { path, profile, model: ModelSize::M0 } => Some((path, profile)),
                _ => None,
            }));
        }
        scene.finish(&key(0), 1.0);
    }
    assert_eq!(asked.len(), 55, "{asked:?}");
    let mut other = numeric("cancel", PathDtype::Fp16);
    other.path = Some("f16.acc16".into());
    scene.said(0, WorkerEvent::Report(Box::new(other)));
    scene.press("home");
    (0..44 + 3).for_each(|_| drop(scene.press("down")));
    assert_eq!(selected(&scene), Some(("cancel", "f16.acc16")));
    let text = scene.text((120, 36));
    assert!(text.contains("partial sums beyond fp16 that cancel"), "{text}");
    for (width, height) in [(20, 5), (80, 24), (120, 36), (200, 60)] {
        for appearance in [plain(), appearance("light", ColorDepth::Indexed256, true)] {
            let text = svg::text(&scene.drawn(&appearance, (width, height)));
            assert!(height < 24 || text.contains("f16.acc16 cancel"), "{text}");
        }
    }
    scene.press("a");
    assert_eq!(scene.app.tabs.bench.lines(&scene.app.shared.frame), usual);
    let mut cpu = Scene::new(0);
    cpu.pass(1);
    cpu.press("a");
    assert!(cpu.text((120, 36)).contains("one path for each number format"));
}

#[test]
fn results_of_another_time_are_grey() {
    let mut scene = Scene::new(1);
    scene.pass(12);
    scene.measured(0, false);
    let fresh = scene.drawn(&plain(), (120, 36));
    scene.processes.push(Process {
        pid: 4242,
        gpu: key(0),
        kind: ProcessKind::Compute,
        ..Process::default()
    });
    scene.pass(120);
    let old = scene.drawn(&plain(), (120, 36));
    let at = |buffer: &Buffer| {
        let row = svg::text(buffer)
            .lines()
            .position(|line| line.contains("bf16 clean") && line.contains("3.0k"));
        let row = row.expect("the path is shown") as u16;
        let column = (0..120).find(|x| buffer[(*x, row)].symbol() == "3").expect("its rate");
        buffer[(column, row)].fg
    };
    assert_ne!(at(&fresh), at(&old));
    assert!(svg::text(&old).contains("2m0"), "{}", svg::text(&old));
}

#[test]
fn samples_below_the_best_clock_are_marked_in_the_details_of_a_kernel() {
    let mut scene = Scene::new(1);
    scene.pass(12);
    scene.measured(0, false);
    scene.pass(1);
    scene.press("home");
    let shown: Vec<String> = (0..60)
        .map(|_| {
            scene.press("down");
            scene.text((120, 36))
        })
        .collect();
    let words = "clock    1 of 3 samples below 95% of the best clock, 1111 MHz";
    let kernel = shown.iter().find(|text| text.contains("reached  ")).expect("one is selected");
    assert!(kernel.contains(words), "{kernel}");
}

#[test]
fn every_size_and_number_of_gpus_is_drawn() {
    for gpus in [0, 1, 8, 16] {
        let mut scene = Scene::new(gpus);
        for _ in 0..gpus.max(1) {
            scene.pass(12);
            (0..gpus).for_each(|index| scene.measured(index, false));
        }
        for ascii in [false, true] {
            let appearance = appearance("dark", ColorDepth::TrueColor, ascii);
            for (width, height) in
                [(20, 5), (40, 12), (60, 15), (80, 24), (120, 36), (200, 60), (300, 100)]
            {
                for key in ["home", "end", "left", "right", "right"] {
                    scene.press(key);
                    let text = svg::text(&scene.drawn(&appearance, (width, height)));
                    assert!(!ascii || text.is_ascii(), "{text}");
                }
            }
        }
    }
}

#[test]
fn the_bench_tab_of_synthetic_gpus() {
    for (gpus, size) in
        [(1, (80, 24)), (1, (120, 36)), (1, (200, 60)), (8, (80, 24)), (16, (200, 60))]
    {
        let mut scene = Scene::new(gpus);
        scene.pass(12);
        scene.measured(0, false);
        scene.pass(1);
        let label = format!("bench-gpu-{gpus}-{}x{}", size.0, size.1);
        insta::assert_snapshot!(label, scene.text(size));
    }
    let mut scene = Scene::new(1);
    scene.pass(12);
    scene.measured(0, true);
    scene.pass(1);
    insta::assert_snapshot!("bench-gpu-simulated-80x24", scene.text((80, 24)));
    let ascii = appearance("dark", ColorDepth::None, true);
    insta::assert_snapshot!("bench-gpu-ascii-120x36", svg::text(&scene.drawn(&ascii, (120, 36))));
}
