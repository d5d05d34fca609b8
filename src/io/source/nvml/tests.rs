use std::io::Cursor;

use warpscope_probes::Gpu;
use warpscope_probes::units::Watts;

use super::*;

fn second() -> Context {
    Context { since_last: Duration::from_secs(1), ..Context::default() }
}

/// A child that is a shell script.
fn script(text: &str) -> NvmlProcess {
    let text = text.to_owned();
    let command = move || {
        let mut command = Command::new("sh");
        command.args(["-c", &text]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::null());
        command
    };
    NvmlProcess::start(command).expect("starts")
}

/// A process and what it last said.
struct Asked(NvmlProcess, GpuSection);

impl Asked {
    fn script(text: &str) -> Self {
        Self(script(text), GpuSection::default())
    }

    fn poll(&mut self) -> GpuSection {
        self.0.ask(&second());
        self.0.take()(&mut self.1);
        self.1.clone()
    }
}

fn what(section: &GpuSection) -> &str {
    section.notices.last().map_or("", |notice| notice.what.as_str())
}

#[test]
fn each_ending_has_its_sentence_and_an_answer_of_its_own() {
    let rows = [
        ("kill -SEGV $$", "NVIDIA's management library crashed (SIGSEGV); restarting it in 1 s."),
        ("kill -BUS $$", "NVIDIA's management library crashed (SIGBUS); restarting it in 1 s."),
        ("kill -ABRT $$", "NVIDIA's management library crashed (SIGABRT); restarting it in 1 s."),
        ("kill -KILL $$", "was killed (SIGKILL); restarting"),
        ("exit 0", "NVIDIA's management library ended its process with code 0; restarting"),
        ("exit 3", "ended its process with code 3; restarting"),
        ("exit 101", "warpscope failed while it asked"),
        ("echo '{\"gpus\":3}'; cat", "is not understood"),
        ("yes | tr -d '\\n'", "a line is too long"),
        ("printf '{\"driver\":'", "ended its process with code 0"),
    ];
    for (text, wanted) in rows {
        let section = Asked::script(text).poll();
        assert!(what(&section).contains(wanted), "{text}: {section:?}");
        assert!(matches!(section.driver.status, DriverState::Failed { .. }), "{section:?}");
    }
}

#[test]
fn rests_grow_and_the_last_values_stay_as_late_ones() {
    let mut gpu = Gpu { key: "GPU-0".into(), ..Gpu::default() };
    gpu.vitals.power_w = Watts(70.0).into();
    let mut answer = GpuSection { gpus: vec![gpu], ..GpuSection::default() };
    answer.driver.status = DriverState::Ready;
    let line = serde_json::to_string(&answer).expect("is JSON");
    let folder = tempfile::tempdir().expect("temporary folder");
    let file = folder.path().join("answer");
    std::fs::write(&file, format!("{line}\n")).expect("is written");
    // Answers once, and crashes at the next request.
    let text = format!("read a; cat {} || kill -SEGV $$; read b; kill -SEGV $$", file.display());
    let mut process = Asked::script(&text);
    assert_eq!(process.poll(), answer);
    std::fs::remove_file(&file).expect("is there");
    let late = process.poll();
    assert!(late.gpus[0].vitals.power_w.is_late());
    assert_eq!(late.gpus[0].vitals.power_w.last(), Some(&Watts(70.0)));
    assert_eq!(late.driver.status, DriverState::Ready);
    assert!(what(&late).contains("in 1 s"), "{late:?}");
    // Without its file the script crashes at each start: after 1, 2, 4 … seconds.
    let mut seen = Vec::new();
    for _ in 0..14 {
        seen.push(what(&process.poll()).rsplit("in ").next().unwrap_or("").to_owned());
    }
    let counted = [2, 1, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1].map(|s| format!("{s} s."));
    assert_eq!(seen, counted);
    std::fs::write(&file, format!("{line}\n")).expect("is written");
    assert_eq!(process.poll(), answer, "recovers, and nothing is late");
}

#[test]
fn a_request_is_one_poll_and_its_time_is_passed_on() {
    struct Counting(Vec<(Duration, bool)>);
    impl Provider for Counting {
        fn name(&self) -> &'static str {
            "counting"
        }
        fn poll(&mut self, context: &Context) -> Section {
            self.0.push((context.since_last, context.brief));
            let gpu = Gpu { index: self.0.len() as u32, ..Gpu::default() };
            Section::Gpu(Box::new(GpuSection { gpus: vec![gpu], ..GpuSection::default() }))
        }
    }
    let mut provider = Counting(Vec::new());
    let mut output = Vec::new();
    let input = "{\"since_last_s\":0.0}\n{\"since_last_s\":1.5,\"brief\":true}\n{\"since_last_s\":";
    serve_nvml(&mut provider, Cursor::new(input), &mut output).expect("ends with its input");
    assert_eq!(provider.0, [(Duration::ZERO, false), (Duration::from_millis(1500), true)]);
    let mut answer = GpuSection::default();
    let answers = output.split_inclusive(|byte| *byte == b'\n').map(|line| {
        serde_json::from_slice::<Changes<'_>>(line).expect("is one").apply(&mut answer);
        answer.gpus[0].index
    });
    assert_eq!(answers.collect::<Vec<_>>(), [1, 2]);
    for input in ["nonsense\n".to_owned(), "x".repeat(5000)] {
        assert!(serve_nvml(&mut provider, Cursor::new(input), Vec::new()).is_err());
    }
}
