//! Prints what a dashboard costs: starts a program in a pseudo-terminal of 200×50 in front of stand-in
//! GPUs and watches it from `/proc`. Linux only.
//!
//! ```text
//! cargo build --release -p warpscope -p fake-nvml
//! cargo run --release --example cost -- [SCENARIO [SECONDS [PROGRAM [ARGUMENT...]]]]
//! ```
//!
//! To see what the benchmark of the CPU takes while nobody looks at it, name the program without `--no-bench`.
//!
//! SCENARIO is in words of the stand-in library, `h100x8+steady` if not given. CPU time is that of
//! all threads of the program and its children, by the scheduler's own nanoseconds; a wake-up is a
//! voluntary context switch.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{copy, read_dir, read_to_string};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

type Outcome<T> = Result<T, Box<dyn Error>>;

const SIZE: PtySize = PtySize { rows: 50, cols: 200, pixel_width: 0, pixel_height: 0 };
const STARTS: usize = 15;
const KEYS: usize = 40;
/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(10);
/// One of these stands on every screen that shows a GPU of the scenarios measured.
const NAMES: &[&str] = &["H100", "H200", "RTX 4090"];

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let scenario = args.next().unwrap_or_else(|| "h100x8+steady".into());
    let seconds = args.next().map_or(Ok(30), |text| text.parse())?;
    let mut program: Vec<String> = args.collect();
    if program.is_empty() {
        let own = std::env::current_dir()?.join("target/release/warpscope");
        program = vec![own.display().to_string(), "--no-bench".into()];
    }
    let library = tempfile::tempdir()?;
    copy("target/release/libnvidia_ml.so", library.path().join("libnvidia-ml.so.1"))?;
    let start = || Session::start(&program, &scenario, library.path());
    println!("{} in front of {scenario}, 200x50", program.join(" "));
    starts(start)?;
    let mut session = start()?;
    session.wait_for(NAMES).ok();
    session.listen(Duration::from_secs(3));
    steady(&mut session, Duration::from_secs(seconds));
    keys(&mut session)?;
    session.end()
}

/// A program in a terminal of its own.
struct Session {
    child: Box<dyn Child + Send + Sync>,
    _master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    output: Receiver<(Instant, Vec<u8>)>,
    screen: vt100::Parser,
    started: Instant,
}

impl Session {
    fn start(program: &[String], scenario: &str, library: &Path) -> Outcome<Self> {
        let pair = native_pty_system().openpty(SIZE)?;
        let mut command = CommandBuilder::new(&program[0]);
        command.args(&program[1..]);
        command.env("LD_LIBRARY_PATH", library);
        command.env("FAKE_NVML", scenario);
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        command.env("XDG_CONFIG_HOME", library.join("no-configuration"));
        let started = Instant::now();
        let child = pair.slave.spawn_command(command)?;
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader()?;
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send((Instant::now(), buffer[..count].to_vec())).is_err() {
                    return;
                }
            }
        });
        let [rows, cols] = [SIZE.rows, SIZE.cols].map(TryInto::try_into);
        Ok(Self {
            child,
            keyboard: pair.master.take_writer()?,
            _master: pair.master,
            output,
            screen: vt100::Parser::new(rows?, cols?, 0),
            started,
        })
    }

    fn shows(&self, texts: &[&str]) -> bool {
        let contents = self.screen.screen().contents();
        !contents.trim().is_empty() && texts.iter().any(|text| contents.contains(text))
    }

    /// Milliseconds from the start to the first screen that shows one of these.
    fn wait_for(&mut self, texts: &[&str]) -> Outcome<f64> {
        let (mut at, begin) = (Instant::now(), Instant::now());
        while !self.shows(texts) {
            if begin.elapsed() > PATIENCE {
                return Err(format!("none of {texts:?} came").into());
            }
            let waited = self.output.recv_timeout(PATIENCE);
            let (when, bytes) = waited.map_err(|_| format!("none of {texts:?} ever came"))?;
            self.screen.process(&bytes);
            at = when;
        }
        Ok((at - self.started).as_secs_f64() * 1e3)
    }

    /// Takes what is written for a while; tells how many bytes that was.
    fn listen(&mut self, time: Duration) -> usize {
        let end = Instant::now() + time;
        let left = || end.saturating_duration_since(Instant::now());
        let chunks = std::iter::from_fn(|| self.output.recv_timeout(left()).ok());
        chunks.map(|(_, bytes)| bytes.len()).sum()
    }

    fn now(&self) -> Sample {
        Sample::of(self.child.process_id().unwrap_or_default())
    }

    fn end(mut self) -> Outcome<()> {
        self.keyboard.write_all(b"q")?;
        self.listen(Duration::from_millis(300));
        self.child.kill().ok();
        self.child.wait()?;
        Ok(())
    }
}

/// What the kernel has counted of a process and its children so far.
#[derive(Default)]
struct Sample {
    /// CPU time of each process, by its number and the arguments it was started with.
    cpu_ns: BTreeMap<(u32, String), u64>,
    wakeups: u64,
    rss_kb: u64,
    pss_kb: u64,
    threads: u64,
}

impl Sample {
    fn of(pid: u32) -> Self {
        let mut sample = Self::default();
        for member in children(pid).into_iter().chain([pid]) {
            sample.add(member);
        }
        sample
    }

    fn add(&mut self, pid: u32) {
        let text = |path: String| read_to_string(path).unwrap_or_default();
        let words = text(format!("/proc/{pid}/cmdline"));
        let arguments = words.split('\0').skip(1).collect::<Vec<_>>().join(" ");
        let cpu_ns = self.cpu_ns.entry((pid, arguments.trim().to_owned())).or_default();
        self.rss_kb += field(&text(format!("/proc/{pid}/status")), "VmRSS:");
        self.pss_kb += field(&text(format!("/proc/{pid}/smaps_rollup")), "Pss:");
        for task in read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let file = |name: &str| text(task.path().join(name).display().to_string());
            let ran = file("schedstat");
            *cpu_ns += ran.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
            self.wakeups += field(&file("status"), "voluntary_ctxt_switches:");
            self.threads += 1;
        }
    }
}

fn children(parent: u32) -> Vec<u32> {
    let all = read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let of_parent = |pid: &u32| {
        let status = read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        field(&status, "PPid:") == u64::from(parent)
    };
    pids.filter(of_parent).collect()
}

fn field(text: &str, name: &str) -> u64 {
    let row = text.lines().find_map(|line| line.strip_prefix(name));
    row.and_then(|row| row.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn starts(start: impl Fn() -> Outcome<Session>) -> Outcome<()> {
    let (mut paint, mut data) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let mut session = start()?;
        let painted = session.wait_for(&[""])?;
        paint.push(painted);
        if data.len() + 1 == paint.len() {
            let shown = session.shows(NAMES);
            data.extend(if shown { Some(painted) } else { session.wait_for(NAMES).ok() });
        }
        session.end()?;
    }
    let (screen, fastest) = (median(&mut paint), paint[0]);
    println!(
        "first screen      {screen:>8.1} ms  (median of {}; fastest {fastest:.1})",
        paint.len()
    );
    match data.len() {
        STARTS => {
            let (name, fastest) = (median(&mut data), data[0]);
            println!("first GPU name    {name:>8.1} ms  (fastest {fastest:.1})");
        }
        _ => println!("first GPU name        none within {PATIENCE:?}"),
    }
    Ok(())
}

fn steady(session: &mut Session, time: Duration) {
    let (before, start) = (session.now(), Instant::now());
    let bytes = session.listen(time) as f64;
    let (after, seconds) = (session.now(), start.elapsed().as_secs_f64());
    // A process that ended meanwhile took its times with it.
    let ran = |(process, ns): (&(u32, String), &u64)| {
        ns.saturating_sub(before.cpu_ns.get(process).copied().unwrap_or(0))
    };
    let share = |ns: u64| ns as f64 / 1e9 / seconds * 100.0;
    let cpu = share(after.cpu_ns.iter().map(ran).sum());
    let wakeups = (after.wakeups - before.wakeups) as f64 / seconds;
    println!("CPU               {cpu:>8.3}% of a core over {seconds:.0} s");
    for one in &after.cpu_ns {
        let (_, arguments) = one.0;
        println!("  of it           {:>8.3}% {}", share(ran(one)), arguments);
    }
    println!("wake-ups          {wakeups:>8.1} /s");
    println!("to the terminal   {:>8.0} B/s", bytes / seconds);
    println!("RSS               {:>8.1} MB", after.rss_kb as f64 / 1024.0);
    println!("PSS               {:>8.1} MB", after.pss_kb as f64 / 1024.0);
    println!("threads           {:>8} in {} processes", after.threads, after.cpu_ns.len());
}

/// Arrow keys at uneven times; from each to the first byte that answers. One that moves nothing has no
/// answer: the next byte is then that of the next second.
fn keys(session: &mut Session) -> Outcome<()> {
    let mut times = Vec::new();
    for number in 0..KEYS {
        session.listen(Duration::from_millis(250 + (number as u64 * 173) % 500));
        let arrow: &[u8] = if number % 2 == 0 { b"\x1b[B" } else { b"\x1b[A" };
        let pressed = Instant::now();
        session.keyboard.write_all(arrow)?;
        let (at, _) = session.output.recv_timeout(PATIENCE).map_err(|_| "a key had no answer")?;
        times.push((at - pressed).as_secs_f64() * 1e3);
    }
    println!("key to redraw     {:>8.2} ms  (median of {KEYS})", median(&mut times));
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
