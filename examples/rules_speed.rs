//! Prints what reading and asking the rules costs: `cargo run --release --example rules_speed`.
//!
//! The rule files are also multiplied to the size the rule base is meant to have, so that the figures hold then.

use std::path::Path;
use std::time::Instant;

use warpscope::engine::{Assumptions, Target, evaluate, matrix, rows};
use warpscope_kernels::Sm;
use warpscope_probes::rules::{RuleBase, RuleError};

const RULES_WANTED: usize = 350;
const RUNS: u32 = 50;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("probes/rules"))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        files.push((name, std::fs::read_to_string(&path)?));
    }
    let built_in_ms = best_of(|| RuleBase::read_builtin().map(drop))?;
    println!("as built in, from the build script's JSON: read in {built_in_ms:.2} ms");
    report("as written", &files)?;
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
    let parse_ms = best_of(|| RuleBase::parse(&files).map(drop))?;
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
    let mut cells = 0;
    let best = best_of(|| {
        let asked = matrix(&base, &targets, &Assumptions::default());
        cells = asked.cells.iter().map(Vec::len).sum();
        Ok(())
    })?;
    println!(
        "{what}: {} rows for {} GPUs, {cells} outcomes in {best:.1} ms",
        base.configs().len(),
        targets.len()
    );
    let rows = rows(&base, &Assumptions::default());
    let whole_ms = best_of(|| {
        for row in &rows {
            evaluate(&base, &targets[0], &row.question, &[]);
        }
        Ok(())
    })?;
    println!(
        "{what}: a whole answer with its ways out in {:.0} µs",
        whole_ms * 1e3 / rows.len() as f64
    );
    Ok(())
}

/// Milliseconds of the best of many runs: what the work costs when nothing else disturbs it.
fn best_of(mut work: impl FnMut() -> Result<(), RuleError>) -> Result<f64, RuleError> {
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(best)
}
