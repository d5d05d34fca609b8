//! Prints what ten million samples cost the history: time and memory of import, of the history itself, and of comparing two runs.
//!
//! ```text
//! cargo run --release --example history_speed -- [SAMPLES [RUNS]]
//! ```
//!
//! Each step is a process of its own, so that its peak of memory (`VmHWM`) is its own. Linux only.

use std::error::Error;
use std::fs::{File, read_to_string};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use warpscope::io::sink::history::{FOLDER, History};
use warpscope::runs::compare::{SplitMix, Terms, compare_groups};
use warpscope::runs::run_log::{Identity, Record};

type Outcome<T> = Result<T, Box<dyn Error>>;

const STEPS: [&str; 4] = ["import", "import again", "history", "compare"];
const KERNELS: usize = 5;
/// Samples of one line.
const LINE: usize = 100;

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [step, folder] = args.as_slice()
        && STEPS.contains(&step.as_str())
    {
        return child(step, Path::new(folder));
    }
    let number = |at: usize, default| args.get(at).map_or(Ok(default), |text| text.parse());
    let (samples, runs) = (number(0, 10_000_000)?, number(1, 40)?);
    let folder = tempfile::tempdir()?;
    let written = write(&folder.path().join("runs.jsonl"), samples, runs)?;
    let size = folder.path().join("runs.jsonl").metadata()?.len();
    println!(
        "{written} samples of {KERNELS} kernels in {runs} runs, {} MB of journal",
        size / 1_000_000
    );
    for step in STEPS {
        let own = std::env::current_exe()?;
        let status = Command::new(own).arg(step).arg(folder.path()).status()?;
        if !status.success() {
            return Err(format!("{step} failed").into());
        }
    }
    let files = folder.path().join(FOLDER).read_dir()?;
    let sizes = files.map(|file| Ok(file?.metadata()?.len()));
    let size = sizes.sum::<std::io::Result<u64>>()?;
    println!("{:13} {} MB", "store", size / 1_000_000);
    Ok(())
}

/// One step, in a process of its own.
fn child(step: &str, folder: &Path) -> Outcome<()> {
    let begin = Instant::now();
    let store = folder.join(FOLDER);
    let open = || Ok::<_, Box<dyn Error>>(History::open(&store)?.ok_or("no store")?);
    let said = match step {
        "import" | "import again" => {
            let imported = History::create(&store)?.import(&folder.join("runs.jsonl"))?;
            format!("{} runs, {} of them anew", imported.runs, imported.again)
        }
        "history" => {
            let trends = open()?.trends()?;
            let change_points: usize = trends.iter().map(|trend| trend.change_points.len()).sum();
            format!("{} kernels, {change_points} lasting changes", trends.len())
        }
        _ => {
            let store = open()?;
            let trends = store.trends()?;
            let run_medians = &trends.first().ok_or("no kernel")?.run_medians;
            let ends =
                [run_medians.first(), run_medians.last()].map(|end| end.map(|one| one.run.hash));
            let samples =
                |end: Option<i64>| Ok::<_, Box<dyn Error>>(store.samples(end.ok_or("no run")?)?);
            let runs = vec![samples(ends[0])?, samples(ends[1])?];
            let comparison = compare_groups(runs, &Terms::default());
            let calls: Vec<String> =
                comparison.rows.iter().map(|row| row.judgement.call.to_string()).collect();
            format!("first run with last: {}", calls.join(" "))
        }
    };
    let seconds = begin.elapsed().as_secs_f64();
    println!("{step:13} {seconds:6.3} s {:5} MB  {said}", peak()?);
    Ok(())
}

/// The most memory this process has held, in megabytes.
fn peak() -> Outcome<u64> {
    let status = read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    let kib: u64 = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
    Ok(kib * 1024 / 1_000_000)
}

/// Writes a journal of about so many samples; the first kernel is three per cent slower from the middle on.
fn write(path: &Path, samples: usize, runs: usize) -> Outcome<usize> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut random = SplitMix::new(1);
    let lines = (samples / (runs * KERNELS * LINE)).max(1);
    for run in 0..runs {
        let identity =
            Identity { at_ms: 1_780_000_000_000 + run as u64 * 86_400_000, ..Identity::default() };
        writeln!(out, "{}", serde_json::to_string(&Record::Run(Box::new(identity)))?)?;
        for line in 0..lines * KERNELS {
            let kernel = line % KERNELS;
            let slower = if kernel == 0 && run >= runs / 2 { 1.03 } else { 1.0 };
            let level = 1e4 * (kernel + 1) as f64 * slower;
            write!(
                out,
                "{{\"type\":\"point\",\"name\":\"kernel-{kernel}\",\"device\":\"example\",\"t_ns\":["
            )?;
            for sample in 0..LINE {
                let comma = if sample == 0 { "" } else { "," };
                write!(out, "{comma}{:.1}", level * (1.0 + 0.01 * random.normal()))?;
            }
            writeln!(out, "]}}")?;
        }
    }
    out.flush()?;
    Ok(runs * KERNELS * lines * LINE)
}
