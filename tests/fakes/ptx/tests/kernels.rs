//! Every kernel on every architecture: each case of the registry, run on the PTX built into the program.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ptx_interpreter::{Interpreter, Module, devices};
use warpscope_kernels::gpu::{DeviceFacts, GpuKernel, family, run_case};
use warpscope_kernels::image::{class_of, images};
use warpscope_kernels::{Sm, Suffix};

/// Families of instructions that only hardware has.
const HARDWARE_ONLY: [&str; 1] = ["gate_arch"];

#[derive(Default)]
struct Tally {
    cases: u32,
    instructions: u64,
    time: Duration,
    wrong: Vec<String>,
}

/// For work on kernels whose images are not built: PTX from a folder, `family.class.ptx`.
fn machine(facts: &DeviceFacts) -> Interpreter {
    let Ok(folder) = std::env::var("PTX_FOLDER") else { return Interpreter::new(facts.clone()) };
    let load = move |family: &str, device: Sm| {
        let class = |class: &Sm| format!("{folder}/{family}.{}{}.ptx", class.major, class.minor);
        let classes: Vec<Sm> = warpscope_kernels::image::CLASSES
            .iter()
            .filter(|sm| std::path::Path::new(&class(sm)).exists())
            .copied()
            .collect();
        let path = class(&class_of(device, &classes).ok_or("no class")?);
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        Module::parse(&text).map_err(|error| format!("{path}: {error}"))
    };
    Interpreter::with_images(facts.clone(), Box::new(load))
}

fn prove(kernel: &GpuKernel, machine: &mut Interpreter, facts: &DeviceFacts, tally: &mut Tally) {
    for case in (kernel.cases)(facts) {
        tally.cases += 1;
        let what = format!("{} on {}, {}", kernel.id, facts.sm, case.name);
        match run_case(machine, &case) {
            Ok(outcome) => {
                tally.wrong.extend(outcome.wrong.map(|wrong| format!("{what}: {wrong}")));
            }
            Err(error) => tally.wrong.push(format!("{what}: {error}")),
        }
    }
}

#[test]
fn every_case_holds_on_every_architecture() {
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let only = std::env::var("FAMILY").ok();
    for facts in devices() {
        let mut machine = machine(&facts);
        for kernel in family::kernels() {
            if only.as_ref().is_some_and(|only| only != kernel.family) {
                continue;
            }
            let tally = tallies.entry(kernel.family).or_default();
            let (begun, before) = (Instant::now(), machine.instructions());
            prove(kernel, &mut machine, &facts, tally);
            tally.time += begun.elapsed();
            tally.instructions += machine.instructions() - before;
        }
    }
    let mut wrong = Vec::new();
    for (family, tally) in tallies {
        let (cases, millions) = (tally.cases, tally.instructions / 1_000_000);
        println!(
            "{family}: {cases} cases, {millions} M warp instructions, {:.1} s",
            tally.time.as_secs_f64()
        );
        wrong.extend(tally.wrong);
    }
    assert!(wrong.is_empty(), "{} cases fail:\n{}", wrong.len(), wrong.join("\n"));
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
    let generic = images().iter().filter(|image| image.target.suffix == Suffix::None);
    for image in generic.filter(|image| !HARDWARE_ONLY.contains(&image.family)) {
        texts.extend(image.text().map(|text| (format!("{} {image}", image.family), text)));
    }
    let mut wrong = Vec::new();
    for (name, text) in &texts {
        wrong.extend(Module::parse(text).err().map(|error| format!("{name}: {error}")));
    }
    println!("{} PTX images read", texts.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
