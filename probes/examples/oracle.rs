//! Compares the binary scanner with NVIDIA's own tool on real wheels, and shows what follows for some GPUs.
//!
//! `cargo run --release -p warpscope-probes --example oracle -- [REQUIREMENT…]`; without any, on a list of wheels of several gigabytes.
//! Downloads stay under `target/oracle`; remove them when done.

#[path = "../tests/oracle/compare.rs"]
mod compare;
#[path = "../tests/oracle/fetch.rs"]
mod fetch;

use warpscope_kernels::Sm;
use warpscope_probes::inspect::binary::Scan;

use compare::{Outcome, Row};

/// Every toolchain, compression and habit met so far.
const WHEELS: [&str; 13] = [
    "bitsandbytes==0.43.3",
    "bitsandbytes==0.45.0",
    "bitsandbytes==0.50.2",
    "autoawq-kernels==0.0.9",
    "lmdeploy==0.10.2",
    "xformers==0.0.32.post2",
    "onnxruntime-gpu==1.31.0",
    "sgl-kernel==0.3.21",
    "vllm==0.9.2",
    "vllm==0.33.0",
    "nvidia-cufft-cu12==11.4.1.4",
    "torch==2.8.0",
    "torch==2.15.0",
];

/// GPUs to say something about: P100, V100, T4, A100, H100, B200, RTX 5090.
const DEVICES: [(u8, u8); 7] = [(6, 0), (7, 0), (7, 5), (8, 0), (9, 0), (10, 0), (12, 0)];

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let list = if asked.is_empty() { WHEELS.map(str::to_owned).to_vec() } else { asked };
    let tools = match fetch::tools() {
        Ok(tools) => tools,
        Err(why) => return println!("SKIPPED: pip cannot reach its index ({why})"),
    };
    let mut rows = Vec::new();
    for requirement in &list {
        match compare::wheel(requirement, &tools) {
            Ok((scan, more)) => {
                println!("\n{requirement}: {} binaries", more.len());
                show(&scan, &more);
                rows.extend(more);
            }
            Err(why) => println!("\n{requirement}: SKIPPED: {why}"),
        }
    }
    summary(&rows);
}

/// What there is to see of a wheel: files with device code, and files that differ.
fn show(scan: &Scan, rows: &[Row]) {
    for row in rows.iter().filter(|row| row.images > 0 || !row.is_explained()) {
        println!("{row}");
    }
    for member in scan.members.iter().filter(|member| member.has_device_code()) {
        let reach = DEVICES.map(|(major, minor)| {
            let device = Sm::new(major, minor);
            let found = member.coverage(device, None);
            format!(
                "{}: {}+{}/{} {:?}",
                device.cc(),
                found.cubin,
                found.jit,
                found.total(),
                member.reach(device, None)
            )
        });
        println!("    {}\n        {}", member.path.display(), reach.join("   "));
    }
    for warning in scan.members.iter().flat_map(|member| &member.warnings).chain(&scan.warnings) {
        println!("    warning: {warning}");
    }
}

fn summary(rows: &[Row]) {
    let count =
        |wanted: fn(&Outcome) -> bool| rows.iter().filter(|row| wanted(&row.outcome)).count();
    let images: u32 = rows.iter().map(|row| row.images).sum();
    println!(
        "\n{} binaries, {} with device code, {images} images: {} the same, {} the same but for code kept as data, {} refused by the tool, {} different",
        rows.len(),
        rows.iter().filter(|row| row.images > 0).count(),
        count(|outcome| matches!(outcome, Outcome::Same)),
        count(|outcome| matches!(outcome, Outcome::MissesData(_))),
        count(|outcome| matches!(outcome, Outcome::Refused(_))),
        count(|outcome| matches!(outcome, Outcome::Differs { .. })),
    );
}
