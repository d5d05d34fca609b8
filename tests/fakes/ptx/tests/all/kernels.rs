//! Every kernel on every architecture: each case of the registry, run on the PTX built into the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ptx_interpreter::{Interpreter, Module, devices};
use warpscope_kernels::gpu::{DeviceFacts, GpuKernel, MachineError, Route, family, run_case};
use warpscope_kernels::image::images;

use crate::machine::machine;

/// Families of instructions that only hardware has.
const HARDWARE_ONLY: [&str; 1] = ["gate_arch"];

#[derive(Default)]
struct Tally {
    cases: u32,
    instructions: u64,
    time: Duration,
    wrong: Vec<String>,
    modules: BTreeMap<String, Module>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.cases += other.cases;
        self.instructions += other.instructions;
        self.time += other.time;
        self.wrong.extend(other.wrong);
        self.modules.extend(other.modules);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (millions, seconds) = (self.instructions as f64 / 1e6, self.time.as_secs_f64());
        write!(f, "{} cases, {millions:.1} M instructions of warps, {seconds:.1} s", self.cases)
    }
}

fn prove(kernel: &GpuKernel, machine: &mut Interpreter, facts: &DeviceFacts, tally: &mut Tally) {
    for case in (kernel.cases)(facts) {
        tally.cases += 1;
        let what = format!("{} on {}, {}", kernel.id, facts.sm, case.name);
        match run_case(machine, &case) {
            Ok(outcome) => {
                tally.wrong.extend(outcome.wrong.map(|wrong| format!("{what}: {wrong}")));
            }
            Err(error @ MachineError::NoImage { .. }) => {
                tally.wrong.push(error.to_string());
                tally.wrong.dedup();
                return;
            }
            Err(error) => tally.wrong.push(format!("{what}: {error}")),
        }
    }
}

/// Cases of all kernels of a family on a device.
fn prove_family(family: &str, facts: &DeviceFacts) -> Tally {
    let (mut tally, begun) = (Tally::default(), Instant::now());
    let mut machine = machine(facts);
    let of_family = || family::kernels().filter(|kernel| kernel.family == family);
    for kernel in of_family() {
        let before = tally.cases;
        prove(kernel, &mut machine, facts, &mut tally);
        let absent = matches!((kernel.route)(facts), Route::Absent { .. });
        if absent != (tally.cases == before) {
            tally
                .wrong
                .push(format!("{} on {}: absent {absent}, yet cases or none", kernel.id, facts.sm));
        }
    }
    tally.instructions = machine.instructions();
    let named =
        |(_, module): (&str, &Module)| (format!("{family} {}", module.target()), module.clone());
    tally.modules = machine.modules().filter(|module| module.0 == family).map(named).collect();
    tally.time = begun.elapsed();
    tally
}

/// Says how much of the code the cases execute, and with `GAPS` set which stretches they do not. A kernel that is launched from no class is wrong.
fn look_for_gaps(modules: &BTreeMap<String, Module>) -> Vec<String> {
    let (mut launched, mut idle) = (BTreeSet::new(), Vec::new());
    for (name, module) in modules {
        let (mut executed, mut all) = (0, 0);
        for entry in module.entries() {
            let (here, there) = entry.coverage();
            (executed, all) = (executed + here, all + there);
            if here == 0 {
                println!("  {name} {}: never launched", entry.name);
                idle.push(entry.name.as_str());
            } else {
                launched.insert(entry.name.as_str());
                if std::env::var_os("GAPS").is_some() && here < there {
                    println!("  {name} {}: not executed: {:?}", entry.name, entry.unexecuted());
                }
            }
        }
        println!("  {name}: {executed} of {all} instructions executed");
    }
    idle.retain(|entry| !launched.contains(entry));
    idle.iter().map(|entry| format!("no case launches {entry}")).collect()
}

/// Two threads a processor would gain nothing; every pair of family and device is a machine of its own.
#[test]
fn every_case_holds_on_every_architecture() {
    let only = std::env::var("FAMILY").ok();
    let mut families: Vec<&str> = family::kernels().map(|kernel| kernel.family).collect();
    families.sort_unstable();
    families.dedup();
    families.retain(|family| only.as_ref().is_none_or(|only| only == family));
    let devices = devices();
    let jobs: Vec<(&str, &DeviceFacts)> = families
        .iter()
        .flat_map(|family| devices.iter().map(move |facts| (*family, facts)))
        .collect();
    let (next, tallies) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<&str, Tally>::new()));
    let work = || {
        while let Some((family, facts)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let done = prove_family(family, facts);
            tallies.lock().unwrap().entry(family).or_default().add(done);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut wrong = Vec::new();
    for (family, tally) in tallies.into_inner().unwrap() {
        println!("{family}: {tally}");
        wrong.extend(look_for_gaps(&tally.modules));
        wrong.extend(tally.wrong);
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(only.is_some() || !jobs.is_empty(), "there are no kernels");
}

/// Instructions the interpreter does not have are an error when the text is read; so this says what is missing before any kernel runs.
#[test]
fn every_image_is_understood() {
    let mut texts = Vec::new();
    if let Ok(folder) = std::env::var("PTX_FOLDER") {
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "ptx") {
                texts.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    println!("hardware only: {}", HARDWARE_ONLY.join(", "));
    for image in images().iter().filter(|image| !HARDWARE_ONLY.contains(&image.family)) {
        texts.extend(image.text().map(|text| (format!("{} {image}", image.family), text)));
    }
    let mut wrong = Vec::new();
    for (name, text) in &texts {
        wrong.extend(Module::parse(text).err().map(|error| format!("{name}: {error}")));
    }
    println!("{} PTX images read", texts.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
