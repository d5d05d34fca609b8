use std::sync::mpsc::{Receiver, channel};

use warpscope_probes::Gpu;
use warpscope_probes::host::Host;
use warpscope_probes::provider::{GpuSection, HostSection};
use warpscope_probes::units::{Percent, Watts};

use super::*;

/// Answers only when told to, so that no test waits for a clock.
struct Scripted(&'static str, Receiver<Section>);

impl Provider for Scripted {
    fn name(&self) -> &'static str {
        self.0
    }

    fn poll(&mut self, _: &Context) -> Section {
        self.1.recv().expect("the script goes on")
    }
}

fn gpu_section(watts: f64) -> Section {
    let mut gpu = Gpu { key: "GPU-0".into(), ..Gpu::default() };
    gpu.vitals.power_w = Watts(watts).into();
    Section::Gpu(Box::new(GpuSection { gpus: vec![gpu], ..GpuSection::default() }))
}

fn host_section(cpu: f32) -> Section {
    let mut host = Host::default();
    host.machine.cpu_pct = Percent(cpu).into();
    Section::Host(Box::new(HostSection { host, ..HostSection::default() }))
}

#[test]
fn frames_keep_coming_while_the_driver_hangs_and_recover() {
    let (gpu, gpu_script) = channel();
    let (host, host_script) = channel();
    let source = LocalSource::new(
        Box::new(Aside::new(Box::new(Scripted("gpu", gpu_script)))),
        Box::new(Scripted("host", host_script)),
        Duration::from_millis(1),
    );
    let (sent, frames) = channel();
    let _control = Box::new(source).start(Arc::new(move |frame| sent.send(frame).is_ok()));

    host.send(host_section(1.0)).expect("listens");
    let early = frames.recv().expect("a frame without the driver");
    assert!(early.gpus.is_empty());
    assert_eq!(early.notices[0].id, "driver.late");
    assert_eq!(early.host.machine.cpu_pct.value(), Some(&Percent(1.0)));

    gpu.send(gpu_section(70.0)).expect("listens");
    let mut power = None;
    while power.is_none() {
        host.send(host_section(2.0)).expect("listens");
        power = frames
            .recv()
            .expect("a frame")
            .gpus
            .first()
            .and_then(|gpu| gpu.vitals.power_w.value().copied());
    }
    assert_eq!(power, Some(Watts(70.0)));

    host.send(host_section(3.0)).expect("listens");
    let hung = frames.recv().expect("a frame while the driver hangs");
    let power = &hung.gpus[0].vitals.power_w;
    assert!(power.is_late() && power.last() == Some(&Watts(70.0)));
    assert_eq!(hung.host.machine.cpu_pct.value(), Some(&Percent(3.0)));
}

#[test]
fn a_provider_that_panics_is_named_and_asked_again() {
    struct Broken;
    impl Provider for Broken {
        fn name(&self) -> &'static str {
            "nvml"
        }
        fn poll(&mut self, _: &Context) -> Section {
            std::panic::resume_unwind(Box::new("no message, no hook"))
        }
    }
    let (host, host_script) = channel();
    let source = LocalSource::new(
        Box::new(Aside::new(Box::new(Broken))),
        Box::new(Scripted("host", host_script)),
        Duration::from_millis(1),
    );
    let (sent, frames) = channel();
    let _control = Box::new(source).start(Arc::new(move |frame| sent.send(frame).is_ok()));
    for _ in 0..3 {
        host.send(host_section(1.0)).expect("listens");
        let frame = frames.recv().expect("a frame");
        let ids = frame.notices.iter().map(|notice| notice.id.as_str());
        assert_eq!(ids.filter(|id| *id == "provider.nvml").count(), 1, "{:?}", frame.notices);
    }
}

#[test]
fn a_shorter_interval_is_heard_while_waiting_for_a_longer_one() {
    let (gpu, gpu_script) = channel();
    let (host, host_script) = channel();
    let source = LocalSource::new(
        Box::new(Aside::new(Box::new(Scripted("gpu", gpu_script)))),
        Box::new(Scripted("host", host_script)),
        Duration::from_secs(3600),
    );
    let (sent, frames) = channel();
    let mut control = Box::new(source).start(Arc::new(move |frame| sent.send(frame).is_ok()));
    for watts in [70.0, 80.0] {
        gpu.send(gpu_section(watts)).expect("listens");
        host.send(host_section(1.0)).expect("listens");
        let frame = frames.recv().expect("a frame");
        assert_eq!(frame.gpus[0].vitals.power_w.value(), Some(&Watts(watts)));
        control.set_interval(Duration::from_millis(1));
    }
}
