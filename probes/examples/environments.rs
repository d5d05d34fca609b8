//! Prints the environments of this machine, read from files alone, with what they would load:
//! `cargo run -p warpscope-probes --example environments [FOLDER | image.tar | PID]...`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use warpscope_probes::inspect::env::{
    Environment, Inventory, Places, Progress, Sweep, read_image, yield_disk,
};

fn main() {
    if let Err(error) = yield_disk() {
        eprintln!("disk priority stays as it is: {error}");
    }
    let (pids, paths): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|argument| argument.parse::<u32>().is_ok());
    let (images, named): (Vec<PathBuf>, Vec<PathBuf>) =
        paths.into_iter().map(PathBuf::from).partition(|path| path.is_file() && is_archive(path));
    images.iter().for_each(|path| image(path));
    let pids = pids.iter().filter_map(|pid| pid.parse().ok()).collect();
    let start = Instant::now();
    let mut progress = Progress::silent();
    let sweep = Sweep { places: Places::here(named), pids, only_named: false };
    let inventory = sweep.run(&mut progress);
    print(&inventory);
    let (environments, seen) = (inventory.environments.len(), progress.seen());
    println!(
        "{environments} environments, {} files, {} bytes read, {:?}",
        seen.files,
        seen.bytes,
        start.elapsed()
    );
}

fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "tar" || end == "gz" || end == "tgz")
}

fn image(path: &Path) {
    let start = Instant::now();
    match read_image(path, &mut Progress::silent()) {
        Ok(image) => {
            let (layers, files) = (image.layers.len(), image.files.len());
            println!(
                "image {} of {layers} layers, {files} binaries, {:?}",
                image.name.as_deref().unwrap_or("-"),
                start.elapsed()
            );
            print(&image.inventory);
        }
        Err(error) => eprintln!("{error}"),
    }
}

fn print(inventory: &Inventory) {
    inventory.environments.iter().for_each(environment);
    for one in &inventory.processes {
        let environment = one.environment.as_deref().map(|root| root.display().to_string());
        let answer = one.hidden.clone().or(environment).unwrap_or_default();
        println!("process {} {answer} {}", one.pid, one.packages.join(" "));
    }
    for one in &inventory.unreadable {
        println!("unreadable {}: {}", one.path.display(), one.reason);
    }
}

fn environment(environment: &Environment) {
    let python = environment.python.as_deref().unwrap_or("-");
    let (root, found_by) = (environment.root.display(), &environment.found_by);
    println!("{:?} {root} (Python {python}, by {found_by})", environment.kind);
    for package in environment.packages.iter().filter(|package| !package.libraries.is_empty()) {
        let bytes: u64 = package.libraries.iter().map(|one| one.bytes).sum();
        let (name, version, libraries) =
            (&package.name, package.full_version(), package.libraries.len());
        println!("    {name} {version}  {libraries} binaries, {bytes} bytes");
    }
    let without =
        environment.packages.iter().filter(|package| package.libraries.is_empty()).count();
    println!("    {without} packages without binaries");
    for one in &environment.cuda {
        let version = one.version.as_deref().unwrap_or("?");
        let mark = if one.wins { "*" } else { " " };
        println!("  {mark} {} {version}  {}  by {}", one.name, one.path.display(), one.via);
    }
    environment.problems.iter().for_each(|problem| println!("  ! {problem}"));
}
