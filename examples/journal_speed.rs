//! Ten million samples: what it costs to write two journals, to read and to compare them.
//!
//! `cargo run --release --example journal_speed`. Prints times and the most memory the comparison held. `LINES` and `SAMPLES` in the
//! environment change the lines of each kernel and the samples of each line: `LINES=1000` makes journals of about 1 GB.

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use warpscope::config::Environment;
use warpscope::runs::compare::SplitMix;
use warpscope::runs::run_log::{Record, Taken};
use warpscope::runs::samples::{Key, Point, Shape};

/// Kernels, lines of each, samples of each line; two files of them are ten million.
const KERNELS: usize = 100;
const LINES: usize = 50;
const SAMPLES: usize = 1000;

/// A number from the environment.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().expect("is a number"))
}

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    if words.len() > 1 {
        let start = Instant::now();
        let outcome = warpscope::commands::run(words, Environment::of_process());
        eprintln!("{:.2} s, {} at most", start.elapsed().as_secs_f64(), most_memory());
        return if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let folder = tempfile::tempdir().expect("a folder for the journals");
    let files = [(1, 1.0), (2, 1.03)].map(|(seed, factor)| {
        let path = folder.path().join(format!("{seed}.jsonl"));
        let start = Instant::now();
        write(&path, seed, factor);
        let bytes = path.metadata().expect("is there").len();
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{} samples written in {seconds:.2} s, {} MB",
            KERNELS * number("LINES", LINES) * number("SAMPLES", SAMPLES),
            bytes / 1_000_000
        );
        path
    });
    let exe = std::env::current_exe().expect("this program has a name");
    let output = Command::new(exe).arg("compare").args(&files).output().expect("compares");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("compare: {}", text.lines().last().unwrap_or_default());
    print!("{}", String::from_utf8_lossy(&output.stderr));
    ExitCode::SUCCESS
}

fn write(path: &Path, seed: u64, factor: f64) {
    let file = std::fs::File::create(path).expect("creates");
    let mut out = std::io::BufWriter::new(file);
    let mut random = SplitMix::new(seed);
    let mut put = |record: &Record| {
        serde_json::to_writer(&mut out, record).expect("serialises");
        out.write_all(b"\n").expect("writes");
    };
    put(&Record::Run(Box::default()));
    let samples = number("SAMPLES", SAMPLES);
    for line in 0..number("LINES", LINES) * KERNELS {
        let kernel = line % KERNELS;
        let center = factor * 1e4 * (1.0 + kernel as f64);
        // A tenth of a nanosecond is finer than any clock.
        let sample = |_| (center * (1.0 + 0.01 * random.normal()) * 10.0).round() / 10.0;
        let key = Key {
            name: format!("kernel{kernel}"),
            shape: Shape([("m".to_owned(), "4096".to_owned())].into()),
            dtype: Some("bf16".to_owned()),
            device: Some("made up".to_owned()),
        };
        let point = Point { key, t_ns: (0..samples).map(sample).collect(), ..Point::default() };
        put(&Record::Point(Box::new(Taken { at_ms: Some(line as u64), point, window: None })));
    }
}

/// The kernel's own record of the most memory that was resident.
fn most_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "memory unknown".to_owned(), |text| text.trim().to_owned())
}
