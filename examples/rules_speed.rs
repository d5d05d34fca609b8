//! Prints what reading and asking the rules costs: `cargo run --release --example rules_speed`.
//!
//! The rule files are also multiplied to the size the rule base is meant to have, so that the figures hold then.

use std::path::Path;
use std::time::Instant;

use warpscope::engine::{Premises, Target, evaluate, matrix, rows};
use warpscope_kernels::Sm;
use warpscope_probes::rules::RuleBase;

const RULES_WANTED: usize = 350;
const RUNS: u32 = 50;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("probes/rules"))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        files.push((name, std::fs::read_to_string(&path)?));
    }
    report("as built in", &files)?;
    let rules = RuleBase::parse(&borrowed(&files))?.rules().len();
    let copies = RULES_WANTED.div_ceil(rules);
    let many: Vec<_> =
        (0..copies).flat_map(|copy| files.iter().map(move |file| renamed(file, copy))).collect();
    report("multiplied", &many)
}

/// The same file under another framework's name.
fn renamed((name, text): &(String, String), copy: usize) -> (String, String) {
    if copy == 0 {
        return (name.clone(), text.clone());
    }
    let new = format!("{name}{copy}");
    let text = text
        .replace(&format!("framework = \"{name}\""), &format!("framework = \"{new}\""))
        .replace(&format!("\"{name}."), &format!("\"{new}."));
    (new, text)
}

fn borrowed(files: &[(String, String)]) -> Vec<(&str, &str)> {
    files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
}

fn report(what: &str, files: &[(String, String)]) -> Result<(), Box<dyn std::error::Error>> {
    let files = borrowed(files);
    let base = RuleBase::parse(&files)?;
    let start = Instant::now();
    for _ in 0..RUNS {
        RuleBase::parse(&files)?;
    }
    let parse_ms = start.elapsed().as_secs_f64() * 1e3 / f64::from(RUNS);
    let bytes: usize = files.iter().map(|file| file.1.len()).sum();
    println!(
        "{what}: {} rules, {} rows, {bytes} bytes: parsed in {parse_ms:.2} ms",
        base.rules().len(),
        base.configs().len()
    );

    const SMS: &[(u8, u8)] =
        &[(6, 1), (7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)];
    // No two alike, so that nothing is saved by asking once for several.
    let targets: Vec<_> = (0_u32..200)
        .zip(SMS.iter().cycle())
        .map(|(at, (major, minor))| Target {
            memory_bytes: Some(u64::from(8 + at) << 30),
            driver: Some(format!("5{}.{at}", 35 + at % 50)),
            ..Target::of_sm(format!("sm_{major}{minor}"), Sm::new(*major, *minor))
        })
        .collect();
    let mut best = f64::INFINITY;
    let mut cells = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        let asked = matrix(&base, &targets, &Premises::default());
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
        cells = asked.cells.iter().map(Vec::len).sum();
    }
    println!(
        "{what}: {} rows for {} GPUs, {cells} outcomes in {best:.1} ms",
        base.configs().len(),
        targets.len()
    );
    let start = Instant::now();
    let whole =
        rows(&base).iter().map(|row| evaluate(&base, &targets[0], &row.question, &[])).count();
    let each = start.elapsed().as_secs_f64() * 1e6 / whole as f64;
    println!("{what}: a whole answer with its ways out in {each:.0} µs");
    Ok(())
}
