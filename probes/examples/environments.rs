//! Prints the environments of this machine, read from files alone: `cargo run -p warpscope-probes --example environments [PATH]...`.

use std::time::Instant;

use warpscope_probes::inspect::env::{Environment, Places, Progress, find};

fn main() {
    let named = std::env::args().skip(1).map(Into::into).collect();
    let start = Instant::now();
    let mut progress = Progress::silent();
    let inventory = find(&Places::here(named), &mut progress);
    let took = start.elapsed();
    inventory.environments.iter().for_each(print);
    for one in &inventory.unreadable {
        println!("unreadable {}: {}", one.path.display(), one.reason);
    }
    let (environments, seen) = (inventory.environments.len(), progress.seen());
    println!(
        "{environments} environments, {} files, {} bytes read, {took:?}",
        seen.files, seen.bytes
    );
}

fn print(environment: &Environment) {
    let python = environment.python.as_deref().unwrap_or("-");
    let (root, found_by) = (environment.root.display(), &environment.found_by);
    println!("{:?} {root} (Python {python}, by {found_by})", environment.kind);
    for package in &environment.packages {
        let bytes: u64 = package.libraries.iter().map(|one| one.bytes).sum();
        let (name, version, libraries) =
            (&package.name, package.full_version(), package.libraries.len());
        println!("    {name} {version}  {libraries} binaries, {bytes} bytes");
    }
    for one in &environment.cuda {
        let version = one.version.as_deref().unwrap_or("?");
        let mark = if one.wins { "*" } else { " " };
        println!("  {mark} {} {version}  {}  by {}", one.name, one.path.display(), one.via);
    }
    environment.problems.iter().for_each(|problem| println!("  ! {problem}"));
}
