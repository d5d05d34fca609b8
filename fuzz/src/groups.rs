//! Runs each group of targets in a process of its own and adds up what they say.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::{fs, io, thread};

use warpscope_fuzz::runner::{current, folder, save, scratch};
use warpscope_fuzz::targets::Target;

use crate::arguments::Arguments;

/// Where a process puts down the input it tries.
pub(crate) fn current_of(process: u32) -> PathBuf {
    folder().join(format!("current-{process}"))
}

/// Targets that passed and that failed.
#[derive(Default)]
struct Count {
    passed: usize,
    failed: usize,
}

/// Runs all groups, some at a time, and returns how many targets failed.
pub(crate) fn run(arguments: &Arguments) -> usize {
    let mut groups: VecDeque<Vec<&Target>> = VecDeque::new();
    for target in &arguments.targets {
        match groups.iter_mut().find(|group| group[0].group == target.group) {
            Some(group) => group.push(target),
            None => groups.push_back(vec![target]),
        }
    }
    println!(
        "{} targets in {} groups, {} s each, {} at a time, --seed {:x}",
        arguments.targets.len(),
        groups.len(),
        arguments.seconds,
        arguments.jobs,
        arguments.seed
    );
    if let Err(error) = fs::create_dir_all(folder()) {
        eprintln!("{}: {error}", folder().display());
        return 1;
    }
    let (groups, count) = (Mutex::new(groups), Mutex::new(Count::default()));
    thread::scope(|scope| {
        for _ in 0..arguments.jobs {
            scope.spawn(|| {
                let next = || groups.lock().expect("no holder panics").pop_front();
                while let Some(group) = next() {
                    run_group(arguments, &group, &count);
                }
            });
        }
    });
    let count = count.into_inner().expect("no holder panics");
    println!("\n{} passed, {} failed", count.passed, count.failed);
    count.failed
}

fn run_group(arguments: &Arguments, group: &[&Target], count: &Mutex<Count>) {
    let mut child = match start(arguments, group) {
        Ok(child) => child,
        Err(error) => {
            println!("FAILED {}: cannot start: {error}", group[0].group);
            count.lock().expect("no holder panics").failed += group.len();
            return;
        }
    };
    let process = child.id();
    let output = BufReader::new(child.stdout.take().expect("is a pipe"));
    for line in output.lines().map_while(Result::ok) {
        let mut count = count.lock().expect("no holder panics");
        count.passed += usize::from(line.starts_with("ok"));
        count.failed += usize::from(line.starts_with("FAILED"));
        println!("{line}");
    }
    let status = child.wait();
    if let Some(status) = status.ok().filter(|status| !matches!(status.code(), Some(0 | 1))) {
        report_death(group, process, status);
        count.lock().expect("no holder panics").failed += group.len();
    }
    let _ = fs::remove_file(current_of(process));
    scratch::remove_of(process);
}

fn start(arguments: &Arguments, group: &[&Target]) -> io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--worker").args(["--seconds", &arguments.seconds.to_string()]);
    command.args(["--seed", &format!("{:x}", arguments.seed)]);
    group.iter().for_each(|target| {
        command.args(["--target", target.name]);
    });
    command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn()
}

/// A process that ended by a signal or a code of its own: the input it tried last is the finding.
fn report_death(group: &[&Target], process: u32, status: ExitStatus) {
    let how = match status.signal() {
        Some(signal) => format!("was ended by signal {signal}"),
        None => format!("ended with {status}"),
    };
    match current::read(&current_of(process)) {
        Some((name, bytes)) => {
            let file = save(&folder(), &name, &bytes);
            println!("FAILED {name}: its process {how}\n  input: {}", file.display());
        }
        None => println!("FAILED {}: its process {how} on a seed", group[0].group),
    }
}
