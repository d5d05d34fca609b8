//! Runs the fuzz targets on stable Rust: `cargo run -p warpscope-fuzz -- --seconds 60`.
//!
//! Each group of targets gets a process of its own, so that one that dies is a finding and not the end.

mod arguments;
mod groups;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use arguments::{Arguments, HELP, list};
use warpscope_fuzz::memory::Counting;
use warpscope_fuzz::runner::current::Current;
use warpscope_fuzz::runner::{end_on_silence, folder, hunt};
use warpscope_fuzz::{Trace, targets::Target};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let first = std::env::args().nth(1).unwrap_or_default();
    if let "--list" | "--help" | "-h" = first.as_str() {
        println!("{}", if first == "--list" { list() } else { HELP.to_owned() });
        return ExitCode::SUCCESS;
    }
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("{error}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    let failed = if !arguments.files.is_empty() {
        return repeat(arguments.targets[0], &arguments.files);
    } else if arguments.worker {
        work(&arguments)
    } else {
        groups::run(&arguments)
    };
    ExitCode::from(u8::from(failed > 0))
}

/// Tries inputs one after the other; the first that fails ends it with its panic.
fn repeat(target: &Target, files: &[PathBuf]) -> ExitCode {
    for file in files {
        match fs::read(file) {
            Ok(bytes) => {
                println!("{}: {} bytes of {}", target.name, bytes.len(), file.display());
                let mut trace = Trace::default();
                (target.run)(&bytes, &mut trace);
                println!("{} features", trace.features().len());
            }
            Err(error) => {
                eprintln!("{}: {error}", file.display());
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}

/// Hunts in this process; prints one line for each target and returns how many failed.
fn work(arguments: &Arguments) -> usize {
    std::thread::spawn(end_on_silence);
    let mut current = match Current::create(&groups::current_of(std::process::id())) {
        Ok(current) => current,
        Err(error) => {
            eprintln!("{}: {error}", folder().display());
            return 1;
        }
    };
    let time = Duration::from_secs(arguments.seconds);
    let reports = hunt(&arguments.targets, time, arguments.seed, &folder(), &mut current);
    for report in &reports {
        println!("{report}");
    }
    reports.iter().filter(|report| !report.findings.is_empty()).count()
}
